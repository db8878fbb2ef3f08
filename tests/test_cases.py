"""Each file of tests/cases becomes the schedule and the kernels beside it; `pytest --update` rewrites them.

The first line of a case holds the options, the lines after it say what is to be seen.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polygpu.pipeline import Compilation, Options, compile_file
from polygpu.schedule.tree import describe

CASES = sorted((Path(__file__).parent / "cases").glob("*.c"))
KERNEL = re.compile(
    r"^(?:// [^\n]*\n)+(?:template <[^\n]*\n)?static __global__ .*?^}\n", re.MULTILINE | re.DOTALL
)


def options_of(text: str) -> Options:
    """`// flags: --device NAME [--assume-no-alias]` as options; the target is CUDA."""
    flags = text.splitlines()[0].removeprefix("// flags:").split()
    device = flags[flags.index("--device") + 1]
    return Options(target="cuda", device=device, assume_no_alias="--assume-no-alias" in flags)


def shown(compilation: Compilation) -> str:
    """The schedule of every region, then the kernels."""
    lines = [line for r in compilation.regions for line in describe(r.prepared.scheduled.host)]
    kernels = KERNEL.findall(compilation.files["_cuda.cu"])
    return "\n".join(["schedule", *(f"  {line}" for line in lines), "", *kernels])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_case(case: Path, update: bool) -> None:
    text = shown(compile_file(str(case), options_of(case.read_text())))
    golden = case.with_suffix(".txt")
    if update:
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_output_is_the_same_twice(case: Path) -> None:
    options = options_of(case.read_text())
    first = compile_file(str(case), options)
    assert first.files == compile_file(str(case), options).files


def test_every_golden_text_has_its_source() -> None:
    assert {p.stem for p in CASES[0].parent.glob("*.txt")} == {case.stem for case in CASES}
