"""Checks kernels x targets x sizes: what each generated program prints against what the original prints.

    python benchmarks/matrix.py --targets emulator,opencl --kernels mm,lu --sizes 0,1,33 --check

Exit status 1 when anything failed. CUDA without a GPU is compiled only, for sm_75 and sm_90.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import programs
from benchmarks.programs import ProgramError, Sizes

ARCHITECTURES = ("sm_75", "sm_90")


@dataclass(frozen=True, slots=True)
class Case:
    kernel: str
    target: str
    device: str | None

    @property
    def title(self) -> str:
        return f"{self.kernel:15} {self.target:9} {self.device or '-':10}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One cell of the matrix: `sizes` is "compile" or "build" for those steps."""

    case: Case
    sizes: str
    failure: str = ""
    identical: bool = True
    error: float = 0.0


def build(case: Case, directory: Path, check: bool) -> Path | None:
    """The program to run, or None where it can only be compiled."""
    match case.target:
        case "emulator":
            return programs.build_emulator(case.kernel, directory, check)
        case "opencl":
            return programs.build_opencl(case.kernel, directory)
        case _ if shutil.which("nvidia-smi"):
            # Without fused multiply-adds the results can be compared to the bit.
            return programs.build_cuda(case.kernel, directory, "native", "-fmad=false")
        case _:
            source = directory / f"{case.kernel}_cuda.cu"
            for architecture in ARCHITECTURES:
                programs.compile_cuda(source, source.with_suffix(f".{architecture}.o"), architecture)
            return None


def outcomes_of(case: Case, vectors: tuple[Sizes, ...], check: bool) -> Iterator[Outcome]:
    with tempfile.TemporaryDirectory(prefix="polygpu-matrix-") as place:
        directory = Path(place)
        try:
            programs.translate(case.kernel, case.target, case.device, directory)
        except ProgramError as error:
            yield Outcome(case, "compile", str(error))
            return
        try:
            original = programs.build_original(case.kernel, directory)
            program = build(case, directory, check)
        except ProgramError as error:
            yield Outcome(case, "build", str(error))
            return
        yield Outcome(case, "build")
        for sizes in vectors if program else ():
            yield compare_runs(case, original, program, sizes) if program else Outcome(case, "build")


def compare_runs(case: Case, original: Path, program: Path, sizes: Sizes) -> Outcome:
    title = " ".join(map(str, sizes))
    try:
        comparison = programs.compare(programs.run(original, sizes), programs.run(program, sizes))
    except ProgramError as error:
        return Outcome(case, title, str(error))
    failure = "" if comparison.agrees else f"error {comparison.error:.1e} at {comparison.place}"
    return Outcome(case, title, failure, comparison.identical, comparison.error)


def show(case: Case, outcomes: list[Outcome], seconds: float) -> None:
    failures = [outcome for outcome in outcomes if outcome.failure]
    runs = [outcome for outcome in outcomes if outcome.sizes not in ("compile", "build")]
    identical = sum(outcome.identical and not outcome.failure for outcome in runs)
    worst = max((outcome.error for outcome in runs), default=0.0)
    verdict = "FAIL" if failures else "ok"
    agreement = f"{identical:3}/{len(runs):<3} identical, largest error {worst:7.1e}"
    print(f"{case.title} {verdict:4} {agreement}, {seconds:5.1f} s")
    for outcome in failures:
        print(f"    {outcome.sizes}: {outcome.failure}")
    sys.stdout.flush()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--targets", default="emulator,opencl,cuda")
    parser.add_argument("--kernels", default="all", help="names with commas between them, or all")
    parser.add_argument("--sizes", default=",".join(map(str, programs.SMALL)), help="each for all extents")
    parser.add_argument("--device", action="append", help="may be repeated; default: the target's own")
    parser.add_argument("--large", action="store_true", help="also one large problem a kernel")
    parser.add_argument("--uniform", action="store_true", help="no problems whose extents differ")
    parser.add_argument(
        "--check", action="store_true", help="the emulator looks for races and stray accesses"
    )
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    kernels = programs.chosen_kernels(chosen.kernels)
    devices = chosen.device or [None]
    cases = [Case(k, t, d) for t in chosen.targets.split(",") for d in devices for k in kernels]
    sizes = tuple(int(size) for size in chosen.sizes.split(",") if size)

    def work(case: Case) -> bool:
        vectors = programs.size_vectors(case.kernel, sizes, mixed=not chosen.uniform)
        large = (programs.large_sizes(case.kernel),) if chosen.large else ()
        start = time.monotonic()
        outcomes = list(outcomes_of(case, vectors + large, chosen.check))
        show(case, outcomes, time.monotonic() - start)
        return not any(outcome.failure for outcome in outcomes)

    with ThreadPoolExecutor(chosen.jobs) as pool:
        passed = list(pool.map(work, cases))
    print(f"{sum(passed)} of {len(passed)} passed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
