"""Each file of tests/cases becomes the schedule and the kernels beside it; `pytest --update` rewrites them.

The first line of a case holds the options, the lines after it say what is to be seen.
"""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from polygpu.compilation import Compilation, Options
from polygpu.pipeline import compile_file
from polygpu.schedule.tree import describe

CASES = sorted((Path(__file__).parent / "cases").glob("*.c"))
KERNELS = {
    "cuda": ("_cuda.cu", r"^(?:// [^\n]*\n)+(?:template <[^\n]*\n)?static __global__ .*?^}\n"),
    "opencl": ("_opencl.cl", r"^(?:// [^\n]*\n)+__kernel .*?^}\n"),
    "emulator": ("_emulator.c", r"^static void polygpu_\w+_k\d+\(polygpu_worker .*?^}\n"),
}


def options_of(text: str) -> Options:
    """`// flags: --device NAME [--target TARGET] [--assume-no-alias] [--decide DECISION]` as options."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", required=True)
    parser.add_argument("--target", choices=KERNELS, default="cuda")
    parser.add_argument("--assume-no-alias", action="store_true")
    parser.add_argument("--decide", action="append", default=[])
    found = parser.parse_args(shlex.split(text.splitlines()[0].removeprefix("// flags:")))
    return Options(
        target=found.target,
        device=found.device,
        assume_no_alias=found.assume_no_alias,
        decisions=tuple(found.decide),
    )


def shown(compilation: Compilation, target: str) -> str:
    """The schedule of every region, then the kernels."""
    lines = [line for r in compilation.regions for line in describe(r.prepared.scheduled.host)]
    suffix, kernel = KERNELS[target]
    kernels = re.findall(kernel, compilation.files[suffix], re.MULTILINE | re.DOTALL)
    assert len(kernels) == sum(len(r.region.kernels) for r in compilation.regions)
    return "\n".join(["schedule", *(f"  {line}" for line in lines), "", *kernels])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_case(case: Path, update: bool) -> None:
    """Its schedule and its kernels are the golden ones, and all files are the same the second time."""
    options = options_of(case.read_text())
    first = compile_file(str(case), options)
    text = shown(first, options.target)
    golden = case.with_suffix(".txt")
    if update:
        golden.write_text(text)
    assert text == golden.read_text()
    assert first.files == compile_file(str(case), options).files


def test_every_golden_text_has_its_source() -> None:
    assert {p.stem for p in CASES[0].parent.glob("*.txt")} == {case.stem for case in CASES}
