"""Pointers that are NULL where nothing is read through them: nothing is copied from there or to there."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu import cli
from tests.support_kernels import require_opencl

PROGRAM = Path(__file__).parent / "realcode" / "weights_that_may_be_missing.c"
KERNELS = Path(__file__).parent.parent / "benchmarks" / "kernels"


@pytest.mark.parametrize("target", ["emulator", "opencl"])
def test_the_output_is_the_originals(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if target == "opencl":
        require_opencl()
    monkeypatch.chdir(tmp_path)
    status = cli.invoke(["run", "--target", target, "--offload", "always", "--check", str(PROGRAM)])
    assert status == 0, capfd.readouterr().err


@pytest.mark.parametrize("target", [pytest.param("cuda", marks=pytest.mark.slow), "opencl", "emulator"])
def test_only_pointers_that_data_decide_about_are_tested(target: str, tmp_path: Path) -> None:
    """Floyd-Warshall reads some of `path` where data say so, and others always."""
    tests = {"cuda": "if ({})", "opencl": "if ({})", "emulator": "if ({} != NULL)"}
    for source, tested, others in (
        (PROGRAM, ("w", "l_bias", "h_net_scales_a"), ("has",)),
        (KERNELS / "floyd-warshall.c", (), ("path",)),
    ):
        folder = tmp_path / source.stem
        folder.mkdir()
        command = ["compile", "-t", target, "--offload", "always", "--certify", "off", "-o", f"{folder}/"]
        assert cli.invoke([*command, str(source)]) == 0
        ending = "cu" if target == "cuda" else "c"
        text = (folder / f"{source.stem}_{target}.{ending}").read_text()
        lines = [line.strip() for line in text.splitlines()]
        found = {name for name in (*tested, *others) if tests[target].format(name) in lines}
        assert found == set(tested)
