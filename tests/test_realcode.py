"""Programs as people write them: what should be on the device is there, and they print what they printed.

A program's first line names the functions whose loops belong on the device; `// open: REASON` below it says
why they are not there yet, and `// with: FILE.c` names its other files.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polygpu import cli
from polygpu.frontend import FrontendOptions, lift
from polygpu.runtime import toolchain
from polygpu.support.diagnostics import Diagnosed

PROGRAMS = sorted((Path(__file__).parent / "realcode").glob("*.c"))


def said(path: Path, word: str) -> str | None:
    found = re.search(rf"^// {word}:(.*)$", path.read_text(), re.MULTILINE)
    return found and found[1].strip()


def others(path: Path) -> tuple[str, ...]:
    return tuple(str(path.parent / name) for name in (said(path, "with") or "").split())


def lifted(path: Path) -> set[str]:
    """The functions that loops of are regions."""
    try:
        return {scop.function for scop in lift(str(path), FrontendOptions(others=others(path))).scops}
    except Diagnosed:
        return set()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_what_belongs_on_the_device_is_there(path: Path) -> None:
    wanted = said(path, "device")
    assert wanted is not None
    missing = set(wanted.split()) - lifted(path)
    assert bool(missing) == bool(said(path, "open")), missing


@pytest.mark.slow
@pytest.mark.parametrize("target", ["emulator", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_output_is_the_originals(
    path: Path,
    target: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if target == "cuda" and not toolchain.has_cuda_device():
        pytest.skip("no CUDA device")
    monkeypatch.chdir(tmp_path)
    flags = (said(path, "flags") or "").split()
    flags += [word for other in others(path) for word in ("--with", other)]
    command = ["run", "--target", target, "--offload", "always", "--check", *flags, str(path)]
    status = cli.invoke(command)
    found = capfd.readouterr()
    nothing = bool(said(path, "open")) or not said(path, "device")
    assert status == 0 or (nothing and re.search(r"\[PG(100|907)\]", found.err)), found.err
