"""PolyBench/C programs, untouched, through the compiler: what each target prints against the original.

python benchmarks/polybench.py DIRECTORY [--targets emulator,opencl] [--datasets MINI,SMALL]
       [--types float,double] [--programs gemm,lu] [--c99 1,0] [--device 8800gtx] [--list]

DIRECTORY is a checkout of PolyBench/C 4.2.1; nothing is written there.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import programs

_LINKED = {"emulator": ("-fopenmp",), "opencl": ("-lOpenCL",), "cuda": ()}
_SUFFIX = {"emulator": "_emulator.c", "opencl": "_opencl.c", "cuda": "_cuda.cu"}


@dataclass(frozen=True)
class Variant:
    """One way to build a program of the suite."""

    dataset: str
    type: str
    c99: bool

    @property
    def macros(self) -> tuple[str, ...]:
        c99 = ("-DPOLYBENCH_USE_C99_PROTO",) if self.c99 else ()
        chosen = (f"-D{self.dataset}_DATASET", f"-DDATA_TYPE_IS_{self.type.upper()}")
        return (*chosen, *c99, "-DPOLYBENCH_DUMP_ARRAYS")

    def __str__(self) -> str:
        return f"{self.dataset} {self.type}{' c99' if self.c99 else ''}"


@dataclass(frozen=True)
class Suite:
    """A checkout of the suite."""

    root: Path

    @property
    def utilities(self) -> Path:
        return self.root / "utilities"

    def sources(self) -> dict[str, Path]:
        listed = (self.utilities / "benchmark_list").read_text().split()
        return {Path(name).stem: self.root / name for name in listed}

    def includes(self, source: Path) -> tuple[str, ...]:
        return ("-I", str(self.utilities), "-I", str(source.parent))


def original(suite: Suite, source: Path, variant: Variant, directory: Path) -> Path:
    program = directory / f"{source.stem}_original"
    flags = ("-O2", "-ffp-contract=off", "-w", *suite.includes(source), *variant.macros)
    programs.call(("gcc", *flags, source, suite.utilities / "polybench.c", "-o", program, "-lm"))
    return program


def translate(
    suite: Suite, source: Path, variant: Variant, target: str, device: str, directory: Path
) -> float:
    """Writes the program's two files into `directory`; the seconds that took."""
    chosen = ("--offload", "always", *(("--device", device) if device else ()))
    options = (*suite.includes(source), *variant.macros, "--target", target, *chosen)
    command = (sys.executable, "-m", "polygpu", "compile", source, *options, "-o", f"{directory}/")
    start = time.perf_counter()
    programs.call(command, timeout=60, PYTHONPATH=str(programs.ROOT))
    return time.perf_counter() - start


def build(suite: Suite, source: Path, variant: Variant, target: str, directory: Path) -> Path:
    program = directory / f"{source.stem}_{target}"
    host, device = directory / f"{source.stem}_host.c", directory / f"{source.stem}{_SUFFIX[target]}"
    flags = ("-O2", "-ffp-contract=off", "-w", *suite.includes(source), *variant.macros)
    files = (host, device, suite.utilities / "polybench.c")
    programs.call(("gcc", *flags, *files, "-o", program, *_LINKED[target], "-lm"))
    return program


def dump(program: Path) -> str:
    """What the program dumps on stderr. A note of the generated code there means it took a fall-back."""
    lines = programs.call((program,), timeout=300).stderr.splitlines()
    lines = [line for line in lines if not line.startswith("polygpu: warning:")]
    for line in lines:
        if line.startswith("polygpu:"):
            raise programs.ProgramError(line)
    return "\n".join(lines)


def error_of(expected: str, found: str) -> float:
    """The largest difference of two dumps relative to the number, or to the mean where that is more."""
    left, right = expected.split(), found.split()
    if len(left) != len(right):
        return float("inf")
    pairs = [(_number(a), _number(b)) for a, b in zip(left, right, strict=True) if a != b]
    if any(a is None or b is None for a, b in pairs):
        return float("inf")
    sizes = [abs(v) for v in map(_number, left) if v is not None]
    scale = sum(sizes) / len(sizes) / 10 if sizes else 0.0
    worst = 0.0
    for a, b in pairs:
        assert a is not None and b is not None
        error = abs(a - b) / max(abs(a), scale)
        worst = max(worst, float("inf") if math.isnan(error) else error)
    return worst


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def checked(
    suite: Suite, source: Path, variant: Variant, targets: list[str], device: str
) -> Iterator[tuple[str, str, float]]:
    """For each target its name, the verdict, and the seconds the compiler took."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        expected = dump(original(suite, source, variant, directory))
        for target in targets:
            seconds = 0.0
            try:
                seconds = translate(suite, source, variant, target, device, directory)
                found = dump(build(suite, source, variant, target, directory))
                error = error_of(expected, found)
                verdict = "identical" if expected == found else f"differs by {error:.1e}"
            except programs.ProgramError as problem:
                verdict = f"FAILED {str(problem)[:300]}"
            yield target, verdict, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--targets", default="emulator,opencl")
    parser.add_argument("--datasets", default="MINI,SMALL")
    parser.add_argument("--types", default="float,double")
    parser.add_argument("--programs", default="all")
    parser.add_argument("--c99", default="1", help="1: with POLYBENCH_USE_C99_PROTO, 0: without, 1,0: both")
    parser.add_argument("--device", default="")
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    suite = Suite(chosen.directory)
    sources = suite.sources()
    names = sorted(sources) if chosen.programs == "all" else chosen.programs.split(",")
    variants = [
        Variant(dataset, kind, c99 == "1")
        for dataset, kind, c99 in itertools.product(
            chosen.datasets.split(","), chosen.types.split(","), chosen.c99.split(",")
        )
    ]
    good = total = 0
    seconds = 0.0
    with ThreadPoolExecutor(chosen.jobs) as pool:
        tasks = [(name, variant) for name in names for variant in variants]
        results = pool.map(
            lambda task: list(
                checked(suite, sources[task[0]], task[1], chosen.targets.split(","), chosen.device)
            ),
            tasks,
        )
        for (name, variant), result in zip(tasks, results, strict=True):
            for target, verdict, took in result:
                total += 1
                good += verdict == "identical"
                seconds += took
                print(f"{name:15} {variant!s:18} {target:9} {took:5.2f} s  {verdict}", flush=True)
    print(f"{good} of {total} identical; compiled in {seconds:.1f} s")
    return 0 if good == total else 1


if __name__ == "__main__":
    sys.exit(main())
