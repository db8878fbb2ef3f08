"""The benchmark kernels as programs: their sizes, how each version is built and run, how outputs compare.

Only the standard library, so that it also works on a machine without the compiler's dependencies.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).resolve().parent.parent
KERNELS = Path(__file__).resolve().parent / "kernels"
SMALL = (0, 1, 2, 31, 32, 33, 100)
CFLAGS = ("-std=c99", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-ffp-contract=off")
GENERATED = ("-Wall", "-Werror", "-Wno-unknown-pragmas", "-ffp-contract=off")
CHECKED = ("-DPOLYGPU_CHECK=1", "-fsanitize=signed-integer-overflow", "-fno-sanitize-recover")
TOLERANCE = 1e-5

Sizes: TypeAlias = tuple[int, ...]
Command: TypeAlias = Sequence[str | Path]

# One large problem a kernel: seconds at most for the sequential program, no extent a multiple of 16.
_LARGE: dict[str, Sizes] = {
    "saxpy": (1000003,), "vecadd": (1000003,), "jacobi-1d": (100003, 100), "conv2d": (1999, 2001),
    "increment": (1000003, 5),
    "mv": (3001, 2999), "tmv": (3001, 2999), "mvt": (3001,), "transpose": (3001, 2999), "gemver": (3001,),
    "gesummv": (3001,), "bicg": (3001, 2999), "atax": (2001, 1999), "trisolv": (3001,),
    "jacobi-2d": (1501, 20), "heat-3d": (151, 10), "fdtd-2d": (1301, 1199, 20), "seidel-2d": (801, 10),
    "doitgen": (121, 119, 123), "floyd-warshall": (301,), "adi": (801, 10), "deriche": (1999, 2001),
    "durbin": (3001,), "gramschmidt": (401, 199), "nussinov": (501,),
}  # fmt: skip
_LARGE_CUBIC: Sizes = (701, 699, 703, 698, 705)


class ProgramError(Exception):
    """A step that had to succeed did not; the message is the first lines of what it printed."""


def kernel_names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in KERNELS.glob("*.c")))


def chosen_kernels(names: str) -> tuple[str, ...]:
    """The kernels of a command line option: names with commas between them, or "all"."""
    return kernel_names() if names == "all" else tuple(names.split(","))


def source_of(kernel: str) -> Path:
    return KERNELS / f"{kernel}.c"


def parameters_of(kernel: str) -> tuple[str, ...]:
    """The names of the sizes a kernel's program takes, as the usage line in its source has them."""
    usage = re.search(r"usage: \S+((?: \[\w+)+)", source_of(kernel).read_text())
    if usage is None:
        raise ProgramError(f"{kernel}.c has no usage line")
    return tuple(usage[1].replace("[", "").split())


def extents_of(kernel: str) -> int:
    """How many of the sizes are extents of arrays; the other one is a number of time steps."""
    return sum(name != "steps" for name in parameters_of(kernel))


def large_sizes(kernel: str) -> Sizes:
    return _LARGE.get(kernel, _LARGE_CUBIC[: extents_of(kernel)])


def size_vectors(kernel: str, sizes: Iterable[int] = SMALL, mixed: bool = True) -> tuple[Sizes, ...]:
    """Each size for all extents; `mixed` adds extents that differ, each extent 0 in turn, 0 and 1 steps."""
    vectors: list[Sizes] = [(size,) for size in sizes]
    extents = extents_of(kernel)
    if mixed and extents > 1:
        vectors += [(33, 31, 32, 5, 4)[:extents], (3, 65, 17, 40, 9)[:extents]]
        vectors += [tuple(0 if k == zero else 5 + k for k in range(extents)) for zero in range(extents)]
    if mixed and extents < len(parameters_of(kernel)):
        vectors += [(33,) * extents + (steps,) for steps in (0, 1)]
    return tuple(vectors)


def call(command: Command, timeout: float = 600, **environment: str) -> subprocess.CompletedProcess[str]:
    """The finished process. Raises ProgramError if it cannot start, fails, or takes more than `timeout` s."""
    merged = os.environ | environment
    merged.pop("PYTHONDONTWRITEBYTECODE", None)  # with it each process compiles the package, for a second
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=timeout, env=merged
        )
    except subprocess.TimeoutExpired:
        raise ProgramError(f"{Path(command[0]).name}: no end after {timeout:g} s") from None
    except FileNotFoundError:
        raise ProgramError(f"{command[0]}: not found") from None
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        telling = [line for line in lines if "error" in line] or lines or ["(silent)"]
        raise ProgramError(f"{Path(command[0]).name}: status {done.returncode}: {' | '.join(telling[:3])}")
    return done


def run(program: Path, sizes: Sizes, timeout: float = 600, **environment: str) -> str:
    """What the program prints. A message of the generated code on stderr is an error: it took a fall-back."""
    done = call((program, *map(str, sizes)), timeout, **environment)
    if "polygpu" in done.stderr:
        raise ProgramError(done.stderr.splitlines()[0])
    return done.stdout


def build_original(kernel: str, directory: Path) -> Path:
    program = directory / f"{kernel}_original"
    call(("gcc", "-O1", *CFLAGS, source_of(kernel), "-o", program, "-lm"))
    return program


def translate(kernel: str, target: str, device: str | None, directory: Path, *options: str) -> None:
    """Runs `polygpu compile`, which writes into `directory`; raises ProgramError with its first errors."""
    translate_file(source_of(kernel), target, device, directory, *options)


def translate_file(source: Path, target: str, device: str | None, directory: Path, *options: str) -> None:
    chosen = ("--offload", "always", *(("--device", device) if device else ()))
    command = (sys.executable, "-m", "polygpu", "compile", source, "--target", target, *chosen)
    call((*command, "-o", f"{directory}/", *options), PYTHONPATH=str(ROOT))


def build_emulator(kernel: str, directory: Path, check: bool = False, *flags: str) -> Path:
    program = directory / f"{kernel}_emulator"
    chosen = ("-O2", "-fopenmp", "-march=native", *GENERATED, *(CHECKED if check else ()))
    sources = (directory / f"{kernel}_host.c", directory / f"{kernel}_emulator.c")
    call(("gcc", *chosen, *flags, *sources, "-o", program, "-lm"))
    return program


def build_opencl(kernel: str, directory: Path, *flags: str) -> Path:
    program = directory / f"{kernel}_opencl"
    sources = (directory / f"{kernel}_host.c", directory / f"{kernel}_opencl.c")
    call(("gcc", "-O2", *GENERATED, *flags, *sources, "-o", program, "-lOpenCL", "-lm"))
    return program


def build_cuda(kernel: str, directory: Path, architecture: str, *flags: str) -> Path:
    """nvcc compiles the device file without a warning; the host file stays with the C compiler."""
    program = directory / f"{kernel}_cuda"
    host, device = directory / f"{kernel}_host.o", directory / f"{kernel}_{architecture}.o"
    call(("gcc", "-O2", "-Werror", *CFLAGS, "-c", directory / f"{kernel}_host.c", "-o", host))
    compile_cuda(directory / f"{kernel}_cuda.cu", device, architecture, *flags)
    call((*nvcc(), f"-arch={architecture}", host, device, "-o", program, "-lm"))
    return program


def nvcc() -> tuple[str, ...]:
    return tuple(shlex.split(os.environ.get("NVCC", "nvcc")))


def compile_cuda(source: Path, output: Path, architecture: str, *flags: str) -> None:
    warnings = ("-Werror", "all-warnings", "-Xcompiler", "-Wall")
    call((*nvcc(), "-O3", f"-arch={architecture}", *warnings, *flags, "-c", source, "-o", output))


@dataclass(frozen=True, slots=True)
class Comparison:
    """`error` is the largest difference relative to the number, or to a tenth of its array's mean magnitude
    where that is more: the rounding errors of a result near 0 are those of the numbers it came from.
    """

    identical: bool
    error: float
    place: str = ""

    @property
    def agrees(self) -> bool:
        return self.error <= TOLERANCE


def compare(expected: str, found: str) -> Comparison:
    """Compares what two versions of a kernel's program print: lines `array[place] number...`."""
    if expected == found:
        return Comparison(True, 0.0)
    left, right = _numbers(expected), _numbers(found)
    if left.keys() != right.keys():
        missing = min(left.keys() ^ right.keys())
        return Comparison(False, math.inf, f"{missing}: on one side only")
    scales = _scales(left)
    worst = Comparison(False, 0.0)
    for place, values in left.items():
        for column, (a, b) in enumerate(zip(values, right[place], strict=True)):
            error = _error(a, b, scales[place.split("[")[0], column])
            if error > worst.error:
                worst = Comparison(False, error, f"{place}: {a:.9g} became {b:.9g}")
    return worst


def _error(expected: float, found: float, scale: float) -> float:
    if expected == found:
        return 0.0
    if math.isnan(expected) or math.isnan(found):
        return math.inf
    return abs(expected - found) / max(abs(expected), scale / 10)


def _numbers(output: str) -> dict[str, tuple[float, ...]]:
    rows = (line.split() for line in output.splitlines())
    return {row[0]: tuple(map(float, row[1:])) for row in rows}


def _scales(numbers: dict[str, tuple[float, ...]]) -> dict[tuple[str, int], float]:
    """The mean magnitude of each array's numbers, column by column; 1 for an array of zeros."""
    total: dict[tuple[str, int], float] = defaultdict(float)
    count: dict[tuple[str, int], int] = defaultdict(int)
    for place, values in numbers.items():
        for column, value in enumerate(values):
            total[place.split("[")[0], column] += abs(value)
            count[place.split("[")[0], column] += 1
    return {key: total[key] / count[key] or 1.0 for key in total}
