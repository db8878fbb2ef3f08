"""`python -m tests.fuzz.texts`: a line for each batch of random programs with a digest of what it becomes.

Two trees whose lines agree write the same code for a batch, so what was seen of one holds for the other:

    python -m tests.fuzz.texts --seed 5 --programs 4000 > before      # then in the other tree > after
    diff before after
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from polygpu.printing.emit import emit_device
from tests.fuzz.compilation import Refused, Setup, fitting
from tests.fuzz.examine import apart, for_part
from tests.fuzz.program import Program
from tests.fuzz.text import source
from tests.fuzz.work import Job, start

TARGETS = ("cuda", "opencl")  # beside the emulator


def jobs(arguments: argparse.Namespace) -> Iterator[Job]:
    end = arguments.first + arguments.programs
    for first in range(arguments.first, end, arguments.batch):
        yield Job(arguments.seed, first, min(arguments.batch, end - first))


def digest(job: Job) -> str:
    """Of the files for all targets, of refusals, or of the exception without where it was raised."""
    sha = hashlib.sha256()
    with tempfile.TemporaryDirectory(prefix="polygpu-fuzz-") as name:
        for text in texts(job.programs(), job.setup(), Path(name)):
            sha.update(text.replace(name, "").encode() + b"\0")
    return f"{job.seed}:{job.first} {sha.hexdigest()}"


def texts(programs: Sequence[Program], setup: Setup, directory: Path) -> Iterator[str]:
    """What is written for the programs in one file; for those beside refused ones, in one of theirs."""
    file = directory / "fuzz.c"
    file.write_text(source(programs, setup.pragmas))
    try:
        made, _ = fitting(file, setup)
        if isinstance(made, Refused):
            yield made.text
            for part in apart(made, programs, setup) if len(programs) > 1 else ():
                yield from texts([programs[k] for k in part], for_part(setup, part), directory)
            return
        files = dict(made.files)
        for target in TARGETS if files else ():
            files.update(emit_device(made.unit, made.device, target))
    except Exception as problem:  # noqa: BLE001 - any exception is an outcome
        yield traceback.format_exception_only(problem)[0]
        return
    yield from (part for suffix in sorted(files) for part in (suffix, files[suffix]))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m tests.fuzz.texts", description=__doc__)
    made.formatter_class = argparse.RawDescriptionHelpFormatter
    option = made.add_argument
    option("--programs", type=int, default=1000)
    option("--seed", type=int, default=1)
    option("--first", type=int, default=0, help="number of the first program of the seed")
    option("--jobs", type=int, default=2)
    option("--batch", type=int, default=8, help="programs in one C file")
    return made


def main() -> None:
    arguments = parser().parse_args()
    with ProcessPoolExecutor(arguments.jobs, initializer=start, max_tasks_per_child=40) as pool:
        for line in pool.map(digest, jobs(arguments)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
