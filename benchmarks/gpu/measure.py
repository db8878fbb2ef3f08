"""Builds, checks, sanitizes and times the CUDA programs that generate.py made; run by run.sh.

Only the standard library, nvcc, gcc and a CUDA device. Exit status 1 when a build, a check, a limit or the
sanitizer failed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import programs
from benchmarks.programs import ProgramError, Sizes

Result: TypeAlias = dict[str, Any]

DRIVER = Path(__file__).resolve().parent / "each.c"
SANITIZED = (1, 2, 33, 70)
TOOLS = ("memcheck", "racecheck")

# (kernel, sizes, most milliseconds of kernel time on an H100; 0: no limit). A size that no tile divides may
# take a quarter more than the size beside it.
JOBS: tuple[tuple[str, Sizes, float], ...] = (
    ("mm", (4096,), 4.0), ("mm", (4097,), 5.0),
    ("tmv", (16384,), 0.6), ("tmv", (16383,), 0.75),
    ("mv", (16384,), 0.6), ("mv", (16383,), 0.75),
    ("jacobi-2d", (8192, 100), 42.0), ("jacobi-2d", (8191, 100), 52.5),
    ("transpose", (8192,), 0.23), ("transpose", (8191,), 0.2875),
    ("gemm", (4096,), 0), ("mvt", (16384,), 0), ("conv2d", (8192,), 0), ("saxpy", (1 << 26,), 0),
    ("vecadd", (1 << 26,), 0), ("jacobi-1d", (1 << 24, 20), 0), ("heat-3d", (400, 10), 0),
    ("fdtd-2d", (8192, 8192, 10), 0), ("seidel-2d", (1000, 2), 0), ("2mm", (2048,), 0), ("3mm", (2048,), 0),
    ("gemver", (16384,), 0), ("gesummv", (11585,), 0), ("atax", (2048,), 0), ("bicg", (16384,), 0),
    ("syrk", (2048,), 0), ("syr2k", (2048,), 0), ("trmm", (1024,), 0), ("symm", (1024,), 0),
    ("doitgen", (256,), 0), ("covariance", (2048,), 0), ("lu", (1000,), 0), ("cholesky", (1000,), 0),
    ("trisolv", (4096,), 0), ("floyd-warshall", (1000,), 0),
)  # fmt: skip


class Builder:
    """Builds into `binaries` from the generated files in `generated`."""

    def __init__(self, generated: Path, binaries: Path, architecture: str) -> None:
        self.generated, self.binaries, self.architecture = generated, binaries, architecture
        binaries.mkdir(parents=True, exist_ok=True)

    def original(self, kernel: str) -> Path:
        program = self.binaries / f"{kernel}_original"
        flags = ("-O1", "-Dmain=program_main", *programs.CFLAGS)
        self._with_driver(program, ("gcc",), self._object(programs.source_of(kernel), program, *flags))
        return program

    def cuda(self, kernel: str, version: str, *flags: str) -> Path:
        """With `-fmad=false` the results are the original's to the bit; without, the times are the user's."""
        program = self.binaries / f"{kernel}_{version}"
        device = program.with_suffix(".device.o")
        source = self.generated / f"{kernel}_host.c"
        host = self._object(source, program, "-O2", "-Dmain=program_main", *programs.CFLAGS)
        programs.compile_cuda(self.generated / f"{kernel}_cuda.cu", device, self.architecture, *flags)
        self._with_driver(program, (*programs.nvcc(), f"-arch={self.architecture}"), host, device)
        return program

    def _object(self, source: Path, program: Path, *flags: str) -> Path:
        compiled = program.with_suffix(".host.o")
        programs.call(("gcc", *flags, "-c", source, "-o", compiled))
        return compiled

    def _with_driver(self, program: Path, linker: programs.Command, *objects: Path) -> None:
        driver = program.with_suffix(".driver.o")
        programs.call(("gcc", "-O1", "-Wall", "-c", DRIVER, "-o", driver))
        programs.call((*linker, driver, *objects, "-o", program, "-lm"))


def groups(vectors: Iterable[Sizes]) -> tuple[str, ...]:
    """The arguments with which the driver runs one problem after another."""
    words: list[str] = []
    for sizes in vectors:
        words += [",", *map(str, sizes)]
    return tuple(words[1:])


def runs_of(output: str) -> dict[str, str]:
    """What each problem printed, by its sizes."""
    parts = [part.partition("\n") for part in output.split("# ")[1:]]
    return {title: printed for title, _, printed in parts}


def check(builder: Builder, kernel: str) -> Result:
    """The same text as the original's at all sizes, or numbers that agree."""
    large = programs.large_sizes(kernel)
    arguments = groups((*programs.size_vectors(kernel), large))
    found = programs.call((builder.cuda(kernel, "exact", "-fmad=false"), *arguments))
    if "polygpu" in found.stderr:
        return {"kernel": kernel, "failures": [found.stderr.splitlines()[0]]}
    expected = runs_of(programs.call((builder.original(kernel), *arguments)).stdout)
    printed = runs_of(found.stdout)
    if expected.keys() != printed.keys():
        return {"kernel": kernel, "failures": ["it did not run every problem"]}
    compared = {title: programs.compare(text, printed[title]) for title, text in expected.items()}
    return {
        "kernel": kernel,
        "runs": len(compared),
        "identical": sum(c.identical for c in compared.values()),
        "error": max(c.error for c in compared.values()),
        "failures": [
            f"{title}: error {c.error:.1e} at {c.place}" for title, c in compared.items() if not c.agrees
        ],
    }


def sanitize(builder: Builder, kernel: str) -> Result:
    """compute-sanitizer's memcheck and racecheck over small problems."""
    program = builder.cuda(kernel, "sanitized", "-fmad=false", "-lineinfo")
    arguments = groups(programs.size_vectors(kernel, SANITIZED))
    failures = []
    for tool in TOOLS:
        options = ("--tool", tool, "--error-exitcode", "9", "--print-limit", "3")
        try:
            programs.call(("compute-sanitizer", *options, program, *arguments), timeout=120)
        except ProgramError as error:
            failures.append(f"{tool}: {error}")
    return {"kernel": kernel, "failures": failures}


def profile(program: Path, sizes: Sizes, repeats: int) -> Result:
    place = program.with_suffix(".profile.json")
    place.unlink(missing_ok=True)
    command: programs.Command = (program, *groups([sizes] * repeats))
    programs.call(command, POLYGPU_PROFILE=str(place), CUDA_MODULE_LOADING="EAGER")
    found: Result = json.loads(place.read_text())
    # Without a pragma the loops of the helper functions are regions too.
    return found | {"regions": [r for r in found["regions"] if r["name"].startswith("polygpu_kernel_")]}


def kernel_times(found: Result) -> dict[str, float]:
    """Milliseconds of all launches together, by kernel."""
    return {f"{r['name']}/{k['name']}": k["ms"] for r in found["regions"] for k in r["kernels"]}


def measure(program: Path, kernel: str, sizes: Sizes, limit: float, repeats: int) -> Result:
    """Kernel time of one call, the first left out: (time of 1 + repeats calls - time of 1 call) / repeats."""
    once, often = profile(program, sizes, 1), profile(program, sizes, 1 + repeats)
    first, total = kernel_times(once), kernel_times(often)
    times = {name: (total[name] - first[name]) / repeats for name in total}
    best = sum(k["ms_min"] * k["launches"] for r in often["regions"] for k in r["kernels"]) / (1 + repeats)
    ms = sum(times.values())
    return {
        "kernel": kernel,
        "sizes": sizes,
        "device": often["device"],
        "ms": ms,
        "ms_first": sum(first.values()),
        "ms_best": best,
        "limit": limit,
        "kernels": times,
        "profile": often,
        "failures": [f"{ms:.3f} ms, not {limit:g}"] if limit and ms > limit else [],
    }


def guarded(work: Callable[[], Result], kernel: str) -> Result:
    try:
        return work()
    except (ProgramError, OSError, KeyError, ValueError) as error:
        return {"kernel": kernel, "failures": [f"{type(error).__name__}: {error}"]}


def show(title: str, results: list[Result]) -> None:
    good = sum(not result["failures"] for result in results)
    print(f"== {title}: {good} of {len(results)} good")
    for result in results:
        for failure in result["failures"]:
            print(
                f"  {result['kernel']:15} {' '.join(map(str, result.get('sizes', ())))} FAIL {failure[:300]}"
            )


def show_checks(results: list[Result]) -> None:
    show("check", results)
    inexact = [
        f"{r['kernel']} {r['error']:.1e}" for r in results if r.get("identical", 0) != r.get("runs", 0)
    ]
    print("  not identical to the bit without fused multiply-adds:", ", ".join(inexact) or "none")


def show_times(results: list[Result]) -> None:
    show("time", results)
    print(f"  {'kernel':15} {'sizes':16} {'ms':>9} {'best':>9} {'first':>9} {'limit':>7}  launches")
    for r in results:
        if "ms" in r:
            sizes = " ".join(map(str, r["sizes"]))
            launches = " ".join(
                f"{k['launches'] // region['calls']}x{k['grid']}x{k['block']}"
                for region in r["profile"]["regions"]
                for k in region["kernels"][:4]
            )
            times = f"{r['ms']:9.3f} {r['ms_best']:9.3f} {r['ms_first']:9.3f} {r['limit'] or '-':>7}"
            print(f"  {r['kernel']:15} {sizes:16} {times}  {launches}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="check,sanitize,time")
    parser.add_argument("--kernels", default="all", help="names with commas between them, or all")
    parser.add_argument("--generated", type=Path, default=programs.ROOT / "build" / "gpu")
    parser.add_argument("--architecture", default="sm_90")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limits-only", action="store_true", help="time only the problems that have a limit")
    parser.add_argument("--jobs", type=int, default=16, help="processes at a time; timing takes one")
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    output = Path(os.environ.get("OUT") or chosen.generated / "results")
    output.mkdir(parents=True, exist_ok=True)
    builder = Builder(
        chosen.generated, Path(os.environ.get("TMPDIR", "/tmp")) / "polygpu-gpu", chosen.architecture
    )
    kernels = programs.chosen_kernels(chosen.kernels)
    steps: dict[str, list[Result]] = {}
    only = chosen.only.split(",")

    def save() -> bool:
        (output / "gpu.json").write_text(json.dumps(steps, indent=1))
        return not any(result["failures"] for results in steps.values() for result in results)

    def all_kernels(work: Callable[[Builder, str], Result], jobs: int) -> list[Result]:
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(lambda k: guarded(lambda: work(builder, k), k), kernels))

    if "check" in only:
        steps["check"] = all_kernels(check, chosen.jobs)
        show_checks(steps["check"])
        save()
    if "time" in only:
        steps["time"] = time_all(builder, kernels, chosen)
        show_times(steps["time"])
        save()
    if "sanitize" in only:
        steps["sanitize"] = all_kernels(sanitize, min(chosen.jobs, 6))
        show("sanitize", steps["sanitize"])
    return 0 if save() else 1


def time_all(builder: Builder, kernels: tuple[str, ...], chosen: argparse.Namespace) -> list[Result]:
    """Builds side by side, then times one problem after another."""
    jobs = [job for job in JOBS if job[0] in kernels and (job[2] or not chosen.limits_only)]
    built: dict[str, Result] = {}

    def build(kernel: str) -> None:
        built[kernel] = guarded(lambda: {"program": builder.cuda(kernel, "timed"), "failures": []}, kernel)

    with ThreadPoolExecutor(chosen.jobs) as pool:
        list(pool.map(build, sorted({job[0] for job in jobs})))
    results = []
    for kernel, sizes, limit in jobs:
        if built[kernel]["failures"]:
            results.append(built[kernel])
            continue
        program = built[kernel]["program"]
        results.append(timed(program, kernel, sizes, limit, chosen.repeats))
    return results


def timed(program: Path, kernel: str, sizes: Sizes, limit: float, repeats: int) -> Result:
    return guarded(lambda: measure(program, kernel, sizes, limit, repeats), kernel)


if __name__ == "__main__":
    sys.exit(main())
