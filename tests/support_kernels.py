"""What the tests of the benchmark kernels share: their tools, and the numbers the programs start from."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

import pytest

from benchmarks import programs
from polygpu.cli import invoke
from polygpu.runtime import toolchain
from polygpu.support.diagnostics import Diagnosed

ARCHITECTURES = ("sm_75", "sm_90")
DRIVER_FLAGS = "POCL_EXTRA_BUILD_FLAGS"  # the driver of OpenCL on the CPU builds all kernels with them
FAST = ("-O0", "-Wno-maybe-uninitialized")  # gcc sees what is initialised only where it optimises
_HEADER = re.compile(r"^#include <.*>$", re.MULTILINE)
_SHARED = (
    "assumption_failed", "profiled_regions", "images", "scopes", "pool", "reasons", "locked", "keep",
    "release", "host_reads", "host_writes", "forget", "pause", "resume", "write_kept", "had", "lacked",
    "table", "staging", "staged", "mappings", "map", "unmap", "update",
)  # fmt: skip
_WEAK = tuple(f"polygpu_{name}" for name in _SHARED)  # what all device files define


@cache
def require_opencl() -> None:
    if not toolchain.opencl_devices(("gcc",)):
        unavailable("no OpenCL device, or no headers and library to build a program with")


def require_nvcc() -> None:
    try:
        os.environ.setdefault("NVCC", shlex.join(toolchain.find_nvcc()))
    except Diagnosed as error:
        unavailable(str(error))


def some_by_default(cases: Sequence[tuple[object, ...]], one_in: int) -> list[object]:
    """The cases, of which all but one in `one_in` are slow; it shares no factor with what varies fastest."""
    marks = [() if number % one_in == 0 else (pytest.mark.slow,) for number in range(len(cases))]
    return [pytest.param(*case, marks=mark) for case, mark in zip(cases, marks, strict=True)]


def in_turns(cases: Iterable[object], devices: Sequence[str]) -> list[object]:
    """Each case with each device; by default with one of them, which take turns."""
    count = len(devices)
    pairs = [(case, devices[(n + k) % count]) for n, case in enumerate(cases) for k in range(count)]
    return some_by_default(pairs, one_in=count)


def unavailable(reason: str) -> None:
    """Skips the test with `reason`; in CI, where every check has to run, the test fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI has to run this check: {reason}")
    pytest.skip(reason)


def translate(kernel: str, target: str, device: str | None, directory: Path, *options: str) -> None:
    """What `programs.translate` does, in this process: starting another takes longer than most kernels."""
    arguments = ["compile", str(programs.source_of(kernel)), "--target", target, "--offload", "always"]
    arguments += ["--device", device] if device else []
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as errors:
        status = invoke([*arguments, "-o", f"{directory}/", *options])
    if status:
        raise programs.ProgramError(errors.getvalue())


def build_checked(kernel: str, directory: Path, *flags: str) -> Path:
    """The program for the emulator, with its checks; it runs for less time than it takes to optimise it."""
    return programs.build_emulator(kernel, directory, True, *FAST, *flags)


def compile_cuda(source: Path, architecture: str, optimised: bool = True) -> None:
    """Without a warning; of the host's code, and of the optimiser, that is asked for one architecture."""
    first = architecture == ARCHITECTURES[0]
    brief = () if first and optimised else ("-Xcicc", "-O1", "-Xptxas", "-O1", "-Xcompiler", "-O0")
    device = () if first else ("-cubin",)
    programs.compile_cuda(source, source.with_suffix(".o"), architecture, *device, *brief)


def together(sources: Iterable[Path], file: Path, own: tuple[str, ...] = ()) -> Path:
    """`file` with CUDA sources in it, a namespace each: nvcc reads CUDA's own headers once for all.

    `own` are functions that each of them defines for C.
    """
    texts = {source: source.read_text() for source in sources}
    headers = sorted({header for text in texts.values() for header in _HEADER.findall(text)})
    lines = list(headers)
    for number, source in enumerate(texts):
        lines += [f"#define {name} {name}_{number}" for name in (*_WEAK, *own)]
        lines += [f"namespace file_{number} {{", f'#include "{source}"', "}"]
        lines += [f"#undef {name}" for name in (*_WEAK, *own)]
    file.write_text("\n".join(lines) + "\n")
    return file


def initial_values(count: int, seed: int) -> list[float]:
    """What `new_array` in the kernels makes; each number is a float exactly."""
    return [(((t * 2654435761 + seed * 2246822519) % 2**32) >> 16) / 65536 for t in range(count)]


def printed_arrays(output: str) -> dict[str, list[float]]:
    """The arrays that a kernel's program printed element by element."""
    arrays: dict[str, list[float]] = {}
    for line in output.splitlines():
        place, value = line.split()
        arrays.setdefault(place.split("[")[0], []).append(float(value))
    return arrays


def rows(values: list[float], columns: int) -> list[list[float]]:
    return [values[start : start + columns] for start in range(0, len(values), columns)]
