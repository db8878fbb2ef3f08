"""The README's commands and its example are what the project does; `pytest --update` renews the example."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from polygpu import cli

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
EXAMPLE = ROOT / "benchmarks/kernels/mv.c"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)


def expect_block(language: str, number: int, text: str, update: bool) -> None:
    """The README's block is `text`; with `update` it becomes so."""
    if update:
        parts = re.split(rf"(^```{language}\n.*?^```$)", README.read_text(), flags=re.DOTALL | re.MULTILINE)
        parts[2 * number + 1] = f"```{language}\n{text}```"
        README.write_text("".join(parts))
    assert blocks(language)[number] == text


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The example in the current directory, as the README's commands name it."""
    shutil.copy(EXAMPLE, tmp_path)
    monkeypatch.chdir(tmp_path)
    return EXAMPLE.name


def test_ci_runs_the_command_of_the_readme() -> None:
    install, test = blocks("sh")[:2]
    assert test.strip() == (ROOT / ".ci/run").read_text().strip().splitlines()[-1]
    assert (ROOT / install.split()[install.split().index("--check") + 1]).is_file()


def test_the_example_is_the_kernel_in_the_benchmarks() -> None:
    assert blocks("c")[0] in EXAMPLE.read_text()


def test_the_kernel_it_became(source: str, update: bool) -> None:
    assert cli.invoke(["compile", "--device", "8800gtx", source]) == 0
    text = Path("mv_cuda.cu").read_text()
    kernel = text[text.index("// mv.c:17") :].partition("\n}\n")[0] + "\n}\n"
    expect_block("cuda", 0, kernel, update)


def test_the_report_of_inspect(source: str, update: bool, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["inspect", "--target", "emulator", source]) == 0
    explained, _, predicted = capfd.readouterr().out.partition("\npredicted for ")
    expect_block("text", 0, explained, update)
    assert predicted.startswith("m = 4096, n = 4096; --size NAME=N for others\n")


def test_the_report_of_tune(
    update: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(EXAMPLE.with_name("mm.c"), tmp_path)
    monkeypatch.chdir(tmp_path)
    command = re.search(r"`polygpu (tune --target .*?)`", README.read_text(), re.DOTALL)
    assert command is not None
    assert cli.invoke([*command[1].split(), "--workers", "1"]) == 0
    expect_block("text", 2, capfd.readouterr().out, update)


def test_the_report_of_run(source: str, update: bool, capfd: pytest.CaptureFixture[str]) -> None:
    """All its numbers are counted or modelled, none is measured."""
    assert cli.invoke(["run", "--target", "emulator", "--check", source, "--", "512"]) == 0
    expect_block("text", 1, capfd.readouterr().err, update)
