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

from polygpu.runtime import toolchain
from tests.fuzz.compilation import Setup
from tests.fuzz.examine import Failure, Outcome
from tests.fuzz.program import Program
from tests.fuzz.text import source
from tests.fuzz.work import Job, describe, examine, ignore_interrupts, reduced

FOUND = Path(__file__).parent / "found"
HARMLESS = ("refused",)


def jobs(arguments: argparse.Namespace) -> Iterator[Job]:
    end = arguments.first + arguments.programs
    for first in range(arguments.first, end, arguments.batch):
        every = arguments.opencl
        opencl = bool(every) and first // arguments.batch % every == every - 1
        yield Job(
            arguments.seed,
            first,
            min(arguments.batch, end - first),
            opencl,
            arguments.constant,
            arguments.sums,
            arguments.held,
            arguments.carried,
        )


class Progress:
    """What was found so far, said now and then."""

    def __init__(self, verbose: bool) -> None:
        self.counts: Counter[str] = Counter()
        self.failures: list[tuple[Job, Failure]] = []
        self.verbose = verbose
        self.start = self.shown = time.monotonic()

    def add(self, job: Job, outcome: Outcome) -> None:
        self.counts += outcome.counts
        for failure in outcome.failures:
            self.failures.append((job, failure))
            if failure.kind not in HARMLESS or self.verbose:
                print(f"\r{describe(job, failure)}", flush=True)
        terminal, now = sys.stdout.isatty(), time.monotonic()
        if now - self.shown > (1 if terminal else 30):
            self.shown = now
            rate = self.counts["programs"] / (now - self.start)
            text = f"{self.counts['programs']} programs, {rate:.1f} a second, {len(self.real)} failures"
            print(f"\r{text}" if terminal else text, end="" if terminal else "\n", flush=True)

    @property
    def real(self) -> list[tuple[Job, Failure]]:
        return [(job, f) for job, f in self.failures if f.kind not in HARMLESS]

    def summary(self) -> str:
        kinds = Counter(f.kind for _, f in self.real)
        found = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())) or "no failure"
        rest = ", ".join(f"{n} {key}" for key, n in sorted(self.counts.items()) if key != "programs" and n)
        seconds = time.monotonic() - self.start
        return f"{self.counts['programs']} programs in {seconds:.0f} s ({rest}): {found}"


def fuzz(arguments: argparse.Namespace) -> Progress:
    """Runs all jobs, or starts those that fit into the time."""
    end = time.monotonic() + arguments.minutes * 60 if arguments.minutes else float("inf")
    progress = Progress(arguments.verbose)
    waiting = jobs(arguments)
    running: set[Future[tuple[Job, Outcome]]] = set()
    with ProcessPoolExecutor(arguments.jobs, initializer=ignore_interrupts, max_tasks_per_child=40) as pool:
        while True:
            while len(running) <= arguments.jobs and time.monotonic() < end and (job := next(waiting, None)):
                running.add(pool.submit(examine, job))
            if not running:
                return progress
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                progress.add(*future.result())


def write(program: Program, setup: Setup, failure: Failure, text: str) -> Path:
    """A file of `found` with the program, and how it was compiled in its first line."""
    content = source([program], setup.pragmas)
    name = f"{failure.kind}-{hashlib.sha256((content + setup.words()).encode()).hexdigest()[:8]}.c"
    said = "".join(f"// {line}\n" for line in text.strip().splitlines()[-4:])
    path = FOUND / name
    FOUND.mkdir(exist_ok=True)
    path.write_text(f"// flags: {setup.words()}\n// {failure.kind}\n{said}{content}")
    return path


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


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    option = made.add_argument
    option("--programs", type=int, help="default: 1000, or what fits into --minutes")
    option("--seed", type=int, default=1)
    option("--first", type=int, default=0, help="number of the first program of the seed")
    option("--jobs", type=int, default=2)
    option("--batch", type=int, default=8, help="programs in one C file")
    option("--minutes", type=float, default=0, help="start nothing after so long")
    option("--opencl", type=int, default=3, metavar="N", help="every Nth batch on OpenCL too; 0: none")
    option("--constant", action="store_true", help="only programs whose sizes are constant")
    option("--sums", action="store_true", help="only programs of sums")
    option("--carried", action="store_true", help="only programs that pass subscripts on in scalars")
    option("--held", action="store_true", help="only programs that hold sizes in structures and the like")
    option("--shrink", type=float, default=60, metavar="SECONDS", help="for each failure; 0: none")
    option("--most", type=int, default=5, help="how many failures of a kind are shrunk")
    option("-v", "--verbose", action="store_true", help="name refused programs too")
    return made


def main() -> int:
    arguments = parser().parse_args()
    arguments.programs = arguments.programs or (10**6 if arguments.minutes else 1000)
    if arguments.opencl and not toolchain.opencl_devices(("gcc",)):
        print("no OpenCL device, or nothing to build programs for it: the emulator alone", flush=True)
        arguments.opencl = 0
    progress = fuzz(arguments)
    print(progress.summary())
    if arguments.shrink:
        shrink_all(progress.real, arguments)
    return int(bool(progress.real))


if __name__ == "__main__":
    sys.exit(main())
