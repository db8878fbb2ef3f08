"""Random affine programs: schedules are legal, and the emulator's output is the original's to the bit."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from benchmarks import programs as benchmark_programs
from polygpu.compilation import Compilation, Options
from polygpu.pipeline import compile_file
from tests.legality import broken
from tests.random_programs import Array, Program, programs, source

SIZES = ("0", "1", "2", "5", "17", "33")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
QUIET = "-w"  # self-comparisons and the like are what random programs are made of
FEW = settings(
    max_examples=1, derandomize=True, database=None, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
MANY = settings(max_examples=150, derandomize=False, database=None, suppress_health_check=list(HealthCheck))
LEGAL = settings(max_examples=6, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
BATCH = st.lists(programs(), min_size=5, max_size=5)  # in one C file, so that few compilers start


# Programs that once came out wrong, in few lines.
FOUND = [
    # an inner host loop whose values are a range for even steps and one value for odd ones
    Program(
        (Array("A0", "double", (1, 2)), Array("A1", "double", (1, 1))),
        (),
        (
            "for (int i = 1; i < n; i++) {",
            "    for (int j = n - 1; j >= 0; j--) {",
            "        A0[n - j + 1][j + j + 1] = 0.5 * A0[j][i + j + 1];",
            "        A0[n - i + 1][j + n - i + 1] = 0.5 * A1[j + 1][j + 2];",
            "    }",
            "    for (int j = n - 1; j >= i + 1; j--)",
            "        A1[i + 2][j + 1] = 0.5 * A1[i + 2][j + 1];",
            "}",
        ),
    ),
    # a temporary in registers that a later launch of the same kernel reads
    Program(
        (Array("A0", "int", (1, 1)), Array("A2", "int", (1,))),
        (),
        (
            "for (int i = 0; i < n - 1; i++) {",
            "    for (int j = 1; j < n; j += 3) {",
            "        int t = (A2[i + 1] & 1023) + 3;",
            "        A0[n - j][j] = t & 1023;",
            "    }",
            "    A2[2] = (A2[2] & 4095) + (A0[i + 1][i + 1] & 1023) + (A2[i + 2] & 1023);",
            "}",
        ),
    ),
]


def gcc(directory: Path, *arguments: str) -> Path:
    program = directory / "program"
    flags = ("-O0", "-ffp-contract=off", QUIET)
    benchmark_programs.call(("gcc", *flags, *arguments, "-o", program, "-lm"))
    return program


def output(program: Path) -> str:
    """What the program prints; the generated code falls back to nothing and finds no fault."""
    done = subprocess.run((program, *SIZES), capture_output=True, text=True, check=False, timeout=300)
    said = [line for line in done.stderr.splitlines() if line]
    assert (done.returncode, said) == (0, [])
    return done.stdout


def compiled(directory: Path, text: str, device: str) -> Compilation:
    path = directory / "random.c"
    path.write_text(text)
    return compile_file(str(path), Options(target="emulator", device=device))


def check_output(batch: list[Program]) -> None:
    with tempfile.TemporaryDirectory(prefix="polygpu-") as name:
        directory, text = Path(name), source(batch)
        (directory / "original.c").write_text(text)
        expected = output(gcc(directory, *SANITIZED, f"{directory}/original.c"))
        for device in ("8800gtx", "h100"):
            compilation = compiled(directory, text, device)
            assert compilation.offloaded == len(batch)
            for suffix, content in compilation.files.items():
                (directory / f"random{suffix}").write_text(content)
            flags = ("-fopenmp", "-DPOLYGPU_CHECK=1")
            found = output(
                gcc(directory, *flags, *(f"{directory}/random{suffix}" for suffix in compilation.files))
            )
            assert found == expected, device


def check_legal(program: Program) -> None:
    with tempfile.TemporaryDirectory(prefix="polygpu-") as name:
        for region in compiled(Path(name), source([program]), "h100").regions:
            assert broken(region.polyhedra, region.prepared.scheduled.host) == []


def test_output_of_programs_that_were_wrong() -> None:
    check_output(FOUND)


@FEW
@given(BATCH)
def test_output_is_the_original(batch: list[Program]) -> None:
    check_output(batch)


@pytest.mark.slow
@MANY
@given(BATCH)
def test_output_is_the_original_of_many(batch: list[Program]) -> None:
    check_output(batch)


@LEGAL
@given(programs())
def test_schedules_are_legal(program: Program) -> None:
    check_legal(program)


@pytest.mark.slow
@MANY
@given(programs())
def test_schedules_of_many_are_legal(program: Program) -> None:
    check_legal(program)
