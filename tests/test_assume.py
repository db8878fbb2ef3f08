"""Parameters compiled for one value: no guards are left, and other values run the original loop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import programs
from polygpu import pipeline
from polygpu.compilation import Options
from polygpu.support.diagnostics import Diagnosed
from tests.support_kernels import build_checked, translate

KERNELS = programs.ROOT / "benchmarks" / "kernels"


def options(*values: str) -> Options:
    return Options(target="emulator", device="8800gtx", assume=values)


@pytest.mark.parametrize(
    ("kernel", "sizes"),
    [
        ("mm", (64, 32, 48)),
        ("mm", (33, 17, 20)),
        ("mv", (96, 64)),
        ("trmm", (40, 32)),
        ("jacobi-2d", (50, 4)),
    ],
)
def test_the_output_is_the_originals(kernel: str, sizes: tuple[int, ...], tmp_path: Path) -> None:
    names = programs.parameters_of(kernel)
    assumed = [w for n, v in zip(names, sizes, strict=True) for w in ("--assume", f"{n}={v}")]
    translate(kernel, "emulator", "8800gtx", tmp_path, *assumed)
    program = build_checked(kernel, tmp_path)
    original = programs.build_original(kernel, tmp_path)
    assert programs.run(program, sizes) == programs.run(original, sizes)
    other = tuple(v + 1 for v in sizes)
    with pytest.raises(programs.ProgramError, match="the loop runs on the host"):
        programs.run(program, other)
    assert programs.call((program, *map(str, other))).stdout == programs.run(original, other)


def test_full_tiles_need_neither_guards_nor_clamps() -> None:
    full = replace(options("n=64", "m=64", "p=64"), target="cuda", decisions=("tile(i: 16, j: 16)",))
    made = pipeline.compile_file(str(KERNELS / "mm.c"), full)
    kernel = made.files["_cuda.cu"].partition("__global__")[2].partition("\n}\n")[0]
    assert "if" not in kernel
    assert "min(" not in kernel
    assert made.unit.regions[0].scalars == ()


@pytest.mark.parametrize(
    "value", ["n", "n=x", "3=n", "q=4", "n%16=0", "n=4294967296", "n=2147483647", "n=4,", "n=4,m"]
)
def test_what_is_no_parameter_is_refused(value: str) -> None:
    with pytest.raises(Diagnosed) as caught:
        pipeline.compile_file(str(KERNELS / "mm.c"), options(value))
    assert caught.value.diagnostics[0].id == "PG312"


def test_several_values_may_be_stated_at_once() -> None:
    apart = pipeline.compile_file(str(KERNELS / "mm.c"), options("n=64", "m=32"))
    together = pipeline.compile_file(str(KERNELS / "mm.c"), options("n=64, m=32"))
    assert together.files == apart.files
