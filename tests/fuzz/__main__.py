"""`python -m tests.fuzz`: compiles random programs and compares them with the original."""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

from tests.fuzz.examine import Failure, Outcome, Setup
from tests.fuzz.program import Program
from tests.fuzz.text import source
from tests.fuzz.work import Job, describe, examine, ignore_interrupts, reduced

FOUND = Path(__file__).parent / "found"
HARMLESS = ("refused",)


def jobs(arguments: argparse.Namespace) -> Iterator[Job]:
    for number, first in enumerate(
        range(arguments.first, arguments.first + arguments.programs, arguments.batch)
    ):
        count = min(arguments.batch, arguments.first + arguments.programs - first)
        every = arguments.opencl
        yield Job(arguments.seed, first, count, bool(every) and number % every == every - 1)


def fuzz(arguments: argparse.Namespace) -> tuple[Counter[str], list[tuple[Job, Failure]]]:
    """Runs all jobs, or those that fit into the time."""
    end = time.monotonic() + arguments.minutes * 60 if arguments.minutes else float("inf")
    counts: Counter[str] = Counter()
    failures: list[tuple[Job, Failure]] = []
    start, shown = time.monotonic(), 0.0
    pool = ProcessPoolExecutor(arguments.jobs, initializer=ignore_interrupts, max_tasks_per_child=40)
    waiting = jobs(arguments)
    running: set[Future[tuple[Job, Outcome]]] = set()
    with pool:
        while True:
            while (
                len(running) < arguments.jobs + 1 and time.monotonic() < end and (job := next(waiting, None))
            ):
                running.add(pool.submit(examine, job))
            if not running:
                return counts, failures
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                job, outcome = future.result()
                counts += outcome.counts
                for failure in outcome.failures:
                    failures.append((job, failure))
                    if failure.kind not in HARMLESS or arguments.verbose:
                        print(f"\r{describe(job, failure)}", flush=True)
            if time.monotonic() - shown > 1 and (sys.stdout.isatty() or time.monotonic() - shown > 30):
                shown = time.monotonic()
                spent = shown - start
                text = f"{counts['programs']} programs, {counts['programs'] / spent:.1f} a second"
                print(
                    f"\r{text}, {len(failures)} failures", end="" if sys.stdout.isatty() else "\n", flush=True
                )


def write(program: Program, setup: Setup, failure: Failure, text: str) -> Path:
    """A file of `found` with the program, and how it was compiled in its first line."""
    content = source([program], setup.pragmas)
    name = f"{failure.kind}-{hashlib.sha256((content + setup.words()).encode()).hexdigest()[:8]}.c"
    said = "".join(f"// {line}\n" for line in text.strip().splitlines()[-4:])
    path = FOUND / name
    FOUND.mkdir(exist_ok=True)
    path.write_text(f"// flags: {setup.words()}\n// {failure.kind}\n{said}{content}")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first program of the seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8, help="programs in one C file")
    parser.add_argument("--minutes", type=float, default=0, help="start nothing after so long")
    parser.add_argument(
        "--opencl", type=int, default=10, metavar="N", help="every Nth batch on OpenCL too; 0: none"
    )
    parser.add_argument(
        "--shrink", type=float, default=60, metavar="SECONDS", help="for each failure; 0: none"
    )
    parser.add_argument("--most", type=int, default=5, help="how many failures of a kind are shrunk")
    parser.add_argument("-v", "--verbose", action="store_true", help="name refused programs too")
    arguments = parser.parse_args()
    start = time.monotonic()
    counts, failures = fuzz(arguments)
    print(summary(counts, failures, time.monotonic() - start))
    real = [(job, f) for job, f in failures if f.kind not in HARMLESS]
    if arguments.shrink:
        shrink_all(real, arguments)
    return int(bool(real))


def shrink_all(failures: list[tuple[Job, Failure]], arguments: argparse.Namespace) -> None:
    """Writes a small program for the first failures of each kind."""
    done: Counter[str] = Counter()
    chosen = []
    for job, failure in failures:
        done[failure.kind] += 1
        if failure.kind != "invalid" and done[failure.kind] <= arguments.most:
            chosen.append((job, failure))
    with ProcessPoolExecutor(arguments.jobs, initializer=ignore_interrupts) as pool:
        futures = [pool.submit(reduced, *pair, arguments.shrink) for pair in chosen]
        for (job, failure), future in zip(chosen, futures, strict=True):
            program, setup, text = future.result()
            path = write(program, setup, failure, text)
            print(f"{describe(job, failure)}\n  shrunk to {path.relative_to(Path.cwd())}", flush=True)


def summary(counts: Counter[str], failures: list[tuple[Job, Failure]], seconds: float) -> str:
    kinds = Counter(f.kind for _, f in failures)
    found = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())) or "no failure"
    rest = ", ".join(f"{n} {key}" for key, n in sorted(counts.items()) if key != "programs" and n)
    return f"{counts['programs']} programs in {seconds:.0f} s ({rest}): {found}"


if __name__ == "__main__":
    sys.exit(main())
