"""`python -m tests.fuzz`: compiles random programs and compares them with the original."""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import cycle
from pathlib import Path

from polygpu.runtime import toolchain
from tests.fuzz.compilation import Setup
from tests.fuzz.examine import Failure, Outcome
from tests.fuzz.kinds import FORMS, STAYING, described
from tests.fuzz.program import Program
from tests.fuzz.report import Report, Shown
from tests.fuzz.text import source
from tests.fuzz.work import Job, describe, examine, reduced, start

FOUND = Path(__file__).parent / "found"


def jobs(arguments: argparse.Namespace) -> Iterator[Job]:
    """Batches, of the forms that are asked for in turn."""
    end, forms = arguments.first + arguments.programs, cycle(arguments.only or ("",))
    wanted = (("opencl", arguments.opencl), ("cuda", arguments.cuda))
    for first, form in zip(range(arguments.first, end, arguments.batch), forms, strict=False):
        number = first // arguments.batch
        others = tuple(target for target, every in wanted if every and number % every == every - 1)
        yield Job(arguments.seed, first, min(arguments.batch, end - first), others, form)


def fuzz(arguments: argparse.Namespace) -> Report:
    """Runs all jobs, or starts those that fit into the time."""
    end = time.monotonic() + arguments.minutes * 60 if arguments.minutes else float("inf")
    report, shown = Report(arguments.verbose), Shown()
    waiting = jobs(arguments)
    running: set[Future[tuple[Job, Outcome]]] = set()
    with ProcessPoolExecutor(arguments.jobs, initializer=start, max_tasks_per_child=40) as pool:
        while True:
            while len(running) <= arguments.jobs and time.monotonic() < end and (job := next(waiting, None)):
                running.add(pool.submit(examine, job))
            if not running:
                return report
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                report.add(*future.result())
            if shown.due():
                shown.say(report.progress())
                store(report, arguments.json)


def store(report: Report, path: Path | None) -> None:
    if path:
        path.write_text(report.json())


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
        if failure.kind != "invalid" and job.form != STAYING and done[failure.kind] <= arguments.most:
            chosen.append((job, failure))
    with ProcessPoolExecutor(arguments.jobs, initializer=start) as pool:
        futures = [pool.submit(reduced, *pair, arguments.shrink) for pair in chosen]
        for (job, failure), future in zip(chosen, futures, strict=True):
            program, setup, text = future.result()
            path = write(program, setup, failure, text)
            print(f"{describe(job, failure)}\n  shrunk to {path.relative_to(Path.cwd())}", flush=True)


def forms(text: str) -> tuple[str, ...]:
    """Those named in the argument of --only."""
    names = tuple(text.split(","))
    if "help" in names:
        print(described(), end="")
        sys.exit()
    if unknown := [name for name in names if name not in FORMS]:
        raise argparse.ArgumentTypeError(f"no form '{unknown[0]}' (there are {', '.join(FORMS)})")
    return names


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
    option("--only", type=forms, metavar="FORM,...", help="only programs of these forms (help: lists them)")
    option("--cuda", type=int, default=0, metavar="N", help="every Nth batch on the GPU too; 0: none")
    option("--shrink", type=float, default=60, metavar="SECONDS", help="for each failure; 0: none")
    option("--most", type=int, default=5, help="how many failures of a kind are shrunk")
    option("--json", type=Path, metavar="FILE", help="writes what was found, as far as it goes, to FILE")
    option("-v", "--verbose", action="store_true", help="name refused programs too")
    return made


def main() -> int:
    made = parser()
    arguments = made.parse_args()
    arguments.programs = arguments.programs or (10**6 if arguments.minutes else 1000)
    if arguments.opencl and not toolchain.opencl_devices(("gcc",)):
        print("no OpenCL device, or nothing to build programs for it: the emulator alone", flush=True)
        arguments.opencl = 0
    if arguments.cuda and not toolchain.has_cuda_device():
        made.error("--cuda: no CUDA device to run on")
    report = fuzz(arguments)
    store(report, arguments.json)
    print(report.summary())
    if arguments.shrink:
        shrink_all(report.failures, arguments)
    return int(bool(report.failures))


if __name__ == "__main__":
    sys.exit(main())
