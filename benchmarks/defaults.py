"""How near the default comes to the best: -O1, -O2 and the best of many choices, by the model.

python benchmarks/defaults.py [--kernels mm,mv] [--device 8800gtx,gtx285] [--candidates 2000] [--jobs 16]
       [--json FILE] [--seconds 540] [--again] [--polybench DIRECTORY] [--list]

Candidates of a nest are points that an expert would try (`experts.py`) and random ones, so many that the
device can run. A line a nest: seconds at the sizes at which it is priced, what -O2 takes of the best, and the
best where that is not what -O2 has; then one a program, of all its nests at typical sizes, or at the former
where that is too much to look at, and the seconds of processors for it. Exit status 1 where it is more than
1.1, 2 where there was no time for all.

With --json what was found is kept in FILE, and a later call with the same options goes on from there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import programs
from benchmarks.candidates import Share, look_at
from benchmarks.polybench import Suite

NAMES = "mv,tmv,mvt,mm,transpose,conv2d,jacobi-2d,gemver"
WITHIN = 1.1  # of the best
TERM = 600  # seconds that the search for a program may take

Found: TypeAlias = dict[str, Any]


def shares(chosen: argparse.Namespace) -> Iterator[Share]:
    """Those of all programs on all devices, one of each first: these find the most."""
    suite = Suite(Path(chosen.polybench)).sources() if chosen.polybench else {}
    everything = tuple(sorted(suite)) or programs.kernel_names()
    names = everything if chosen.kernels == "all" else tuple(chosen.kernels.split(","))
    for number in range(chosen.shares):
        for name in names:
            for device in chosen.device.split(","):
                each = name, device, number, chosen.shares, chosen.candidates, chosen.seed
                yield Share(*each, chosen.polybench)


def is_done(found: Sequence[Found] | None) -> bool:
    return found is not None and all(nest["done"] for nest in found)


@dataclass
class Search:
    """What was `found` for each share, kept in a file, if any, whenever one has done what it could."""

    chosen: argparse.Namespace
    found: dict[str, list[Found]]
    failed: dict[str, str]

    @classmethod
    def of(cls, chosen: argparse.Namespace) -> Search:
        known = chosen.json is not None and chosen.json.exists()
        return cls(chosen, json.loads(chosen.json.read_text()) if known else {}, {})

    def go_on(self) -> None:
        """Until all is done, or there is no time left."""
        end = time.monotonic() + self.chosen.seconds
        again = self.chosen.again
        each = shares(self.chosen)
        left = [share for share in each if again or not is_done(self.found.get(share.name))]
        if self.chosen.jobs == 1:
            for share in left:
                self._keep(share, look_at(share, self.found.get(share.name, ()), end, again))
            return
        fresh = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.chosen.jobs, fresh, max_tasks_per_child=None) as pool:
            work: dict[Future[list[Found] | None], Share] = {}
            for share in left:
                work[pool.submit(look_at, share, self.found.get(share.name, ()), end, again)] = share
            for done in as_completed(work):
                try:
                    self._keep(work[done], done.result())
                except Exception as problem:  # noqa: BLE001 - one program must not end the search for others
                    self.failed[work[done].name] = f"{type(problem).__name__}: {problem}"

    def _keep(self, share: Share, found: list[Found] | None) -> None:
        if found is None:
            return
        self.found[share.name] = found
        if self.chosen.json is not None:
            other = self.chosen.json.with_suffix(".part")
            other.write_text(json.dumps(self.found))
            other.replace(self.chosen.json)


@dataclass(frozen=True)
class Compared:
    """A nest with what all shares found for it."""

    each: Sequence[Found]

    @property
    def best(self) -> Found:
        return min(self.each, key=lambda found: float(found["best"]))

    @property
    def counts(self) -> Counter[str]:
        return sum((Counter(found["counts"]) for found in self.each), Counter())

    @property
    def seconds(self) -> tuple[float, float]:
        return self.best["default"], self.best["best"]

    @property
    def typically(self) -> tuple[float, float]:
        """At typical sizes; what was the best elsewhere may be no better there."""
        default, best = self.best["typically"] if self.best["default"] else (0.0, 0.0)
        return default, min(default, best)

    def __str__(self) -> str:
        found, counts = self.best, self.counts
        default, best = self.seconds
        times = f"-O1 {found['rules']:.3g} s, -O2 {default:.3g} s, best of {counts['looked']} {best:.3g} s"
        experts = [seconds for one in self.each for _, seconds in one["experts"] if seconds < inf]
        tried = f"{len(experts)} of experts"
        tried += f" {min(experts):.3g} s" if experts else ""
        behind = f", {found['decisions']}" if found["decisions"] else ""
        name = f"{found['place']:8} {found['axes']:10}"
        return f"{name} {times} ({tried}): {ratio(default, best):.2f}{behind}"


def ratio(seconds: float, best: float) -> float:
    """What takes so many seconds beside what takes fewer at best."""
    return seconds / best if 0 < best < seconds else 1.0


def of_program(each: Sequence[Sequence[Found]], listed: bool, name: str) -> float:
    """Prints what all shares of a program found, and returns what the default takes of the best."""
    nests = [Compared(found) for found in zip(*each, strict=True)]
    seconds: list[tuple[float, float]] = []
    for region in dict.fromkeys(nest.best["region"] for nest in nests):
        mine = [nest for nest in nests if nest.best["region"] == region]
        known = all(max(nest.typically) < inf for nest in mine)
        seconds += [nest.typically if known else nest.seconds for nest in mine]
    for nest in nests:
        print(f"{name:24} {nest}", flush=True)
        for found in nest.each if listed else ():
            for point, time_ in found["experts"]:
                print(f"    {time_:10.4g} s  {point}")
    spent = sum(nest["spent"] for found in each for nest in found)
    whole = ratio(*(sum(column) for column in zip(*seconds, strict=True))) if seconds else 1.0
    late = f", over {TERM} s" if spent > TERM else ""
    print(f"{name:24} in all: {whole:.2f}, in {spent:.0f} s{late}", flush=True)
    return whole


def shown(search: Search) -> int:
    """Prints what was found, also of programs that are not done; the exit status."""
    mine: dict[str, list[str]] = defaultdict(list)
    for share in shares(search.chosen):
        mine[share.name.rpartition(" ")[0]].append(share.name)
    ratios, open_ = [], 0
    for name, each in sorted(mine.items()):
        left = sum(not is_done(search.found.get(one)) for one in each)
        open_ += left > 0
        found = [search.found[one] for one in each if one in search.found]
        if found:
            ratios.append(of_program(found, search.chosen.list, f"{name}{' (not done)' if left else ''}"))
    for name, problem in search.failed.items():
        print(f"{name}: {problem}")
    within = sum(each <= WITHIN for each in ratios)
    print(f"{within} of {len(ratios)} programs within 10 % of the best; {open_} of {len(mine)} not done")
    return 2 if open_ else 0 if within == len(ratios) else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", default=NAMES, help="names with commas between them, or all")
    parser.add_argument("--device", default="8800gtx", help="names with commas between them")
    parser.add_argument("--candidates", type=int, default=2000, help="of each nest that a device can run")
    parser.add_argument("--seconds", type=float, default=inf, help="that this call may take, about")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--shares", type=int, default=4, help="parts of a program's search")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep what is found, and go on from there")
    parser.add_argument("--polybench", default="", metavar="DIRECTORY", help="its programs for the kernels")
    parser.add_argument("--again", action="store_true", help="defaults anew, after a change of the compiler")
    parser.add_argument("--list", action="store_true", help="the points of experts with their seconds")
    search = Search.of(parser.parse_args())
    search.go_on()
    return shown(search)


if __name__ == "__main__":
    sys.exit(main())
