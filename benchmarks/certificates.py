"""Certificates of all regions of C files, or of suites of them; what is refuted or open, and how many.

python benchmarks/certificates.py FILE.c... [-I DIR] [-D NAME] [--devices generic,h100] [--seconds 60]
python benchmarks/certificates.py --polybench DIRECTORY [--datasets LARGE] [--types float] [--bounds constant]
python benchmarks/certificates.py --tsvc DIRECTORY

DIRECTORY is a checkout of PolyBench/C 4.2.1 or TSVC_2, whose sizes are constants; nothing is written there.
Exit status 1 if anything is refuted, else 2 if a file does not compile or has no region.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.polybench import Suite, Variant
from polygpu import pipeline
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.support.diagnostics import Diagnosed
from polygpu.verify.certificate import certify
from polygpu.verify.verdict import Certificate

PROVED, OPEN, REFUTED = "proved", "open", "refuted"
# PolyBench's loops end at the constants of the dataset, or at parameters that have the same values.
BOUNDS = {"constant": ("POLYBENCH_USE_SCALAR_LB",), "parameter": ()}


@dataclass(frozen=True, slots=True)
class Task:
    """One file for one device. `variant` tells tasks of the same file apart."""

    source: Path
    device: str
    seconds: float
    includes: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    variant: str = ""

    @property
    def title(self) -> str:
        return " ".join(filter(None, (self.source.name, self.variant, self.device)))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict on a region, and what of it is refuted or open: property, kernel and message."""

    place: str
    verdict: str
    findings: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.verdict:7} {self.place}: {'; '.join(self.findings)}"


def outcome_of(place: str, certificate: Certificate) -> Outcome:
    refuted = [f"{f.property}: {f.title()} ({count})" for f, count in certificate.distinct]
    undecided = [": ".join(filter(None, (u.property, u.kernel, u.reason))) for u in certificate.unproved]
    verdict = REFUTED if refuted else OPEN if undecided else PROVED
    return Outcome(place, verdict, (*refuted, *undecided))


def outcomes_of(task: Task) -> list[Outcome]:
    """Of each region of the file. Raises Diagnosed if it does not compile."""
    start = time.monotonic()
    options = Options(device=task.device, includes=task.includes, defines=task.defines)
    regions = pipeline.compile_file(str(task.source), options).regions
    _progress(task, f"{len(regions)} regions compiled in {time.monotonic() - start:.1f} s")
    return [_certified(task, region) for region in regions]


def _certified(task: Task, region: CompiledRegion) -> Outcome:
    certificate = certify(region, task.seconds)
    outcome = outcome_of(f"{task.title} {region.scop.function}:{region.scop.position.line}", certificate)
    _progress(task, f"{region.scop.name} {outcome.verdict} in {certificate.seconds:.1f} s")
    return outcome


def _progress(task: Task, text: str) -> None:
    print(f"{task.title}: {text}", file=sys.stderr, flush=True)


def attempted(task: Task) -> list[Outcome] | str:
    """The outcomes, or why there are none: plain values, which pass between processes."""
    try:
        return outcomes_of(task) or f"{task.title}: no region"
    except Diagnosed as error:
        return f"{task.title}: {error.diagnostics[0].message}"


def certified(tasks: list[Task], jobs: int) -> Iterator[list[Outcome] | str]:
    """What each task comes to, as they end."""
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(attempted, task): task for task in tasks}
        for done in as_completed(futures):
            error = done.exception()
            yield f"{futures[done].title}: {error!r}" if error else done.result()


def report(tasks: list[Task], jobs: int) -> int:
    """Prints what is refuted or open, and the summary; the exit status."""
    verdicts: Counter[str] = Counter()
    without = 0
    for result in certified(tasks, jobs):
        if isinstance(result, str):
            without += 1
            print(f"none    {result}", flush=True)
            continue
        verdicts.update(outcome.verdict for outcome in result)
        for outcome in result:
            if outcome.verdict != PROVED:
                print(outcome, flush=True)
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in (PROVED, OPEN, REFUTED))
    print(f"{verdicts.total()} regions: {counts}; {without} of {len(tasks)} compilations without a region")
    return 1 if verdicts[REFUTED] else 2 if without else 0


def sources_of(chosen: argparse.Namespace) -> Iterator[Task]:
    """A task for each file, without a device."""
    task = Task(Path(), "", chosen.seconds, tuple(chosen.includes), tuple(chosen.defines))
    yield from (replace(task, source=source) for source in chosen.files)
    if chosen.polybench:
        yield from polybench(chosen, task)
    if chosen.tsvc:
        directory = chosen.tsvc / "src"
        yield replace(task, source=directory / "tsvc.c", includes=(*task.includes, str(directory)))


def polybench(chosen: argparse.Namespace, task: Task) -> Iterator[Task]:
    """Arrays have the extents of the dataset, without POLYBENCH_USE_C99_PROTO."""
    suite = Suite(chosen.polybench)
    lists = (text.split(",") for text in (chosen.datasets, chosen.types, chosen.bounds))
    for source, dataset, kind, bounds in itertools.product(suite.sources().values(), *lists):
        variant = Variant(dataset, kind, c99=False)
        macros = (macro.removeprefix("-D") for macro in variant.macros)
        yield replace(
            task,
            source=source,
            includes=(*task.includes, str(suite.utilities), str(source.parent)),
            defines=(*task.defines, *macros, *BOUNDS[bounds]),
            variant=f"{variant} {bounds}",
        )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.c")
    parser.add_argument("-I", dest="includes", action="append", default=[], metavar="DIR")
    parser.add_argument("-D", dest="defines", action="append", default=[], metavar="NAME[=VALUE]")
    parser.add_argument("--polybench", type=Path, metavar="DIRECTORY")
    parser.add_argument("--datasets", default="LARGE")
    parser.add_argument("--types", default="float")
    parser.add_argument("--bounds", default="constant", help="of PolyBench's loops: constant,parameter")
    parser.add_argument("--tsvc", type=Path, metavar="DIRECTORY")
    parser.add_argument("--devices", default="generic,h100")
    parser.add_argument("--seconds", type=float, default=60.0, help="for the proof of each region")
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    if not (chosen.files or chosen.polybench or chosen.tsvc):
        parser.error("no FILE.c, and no suite")
    return chosen


def main() -> int:
    chosen = arguments()
    devices = chosen.devices.split(",")
    tasks = [replace(task, device=device) for task in sources_of(chosen) for device in devices]
    return report(tasks, chosen.jobs)


if __name__ == "__main__":
    sys.exit(main())
