"""How near the default comes to the best: -O1, -O2 and the best of many random choices, by the model.

What is compared is looked at thoroughly: choices that seem the best so far are, and count by what they take
then. The few iterations by which many choices can be told apart may make one of them seem twice as fast.

python benchmarks/defaults.py [--kernels mm,mv] [--device 8800gtx] [--candidates 2000] [--seconds 600]

A line a nest: seconds at the sizes at which it is priced, what -O2 takes of the best, and the best where that
is not what -O2 has; then one a program, of all its nests at typical sizes, or at the former where that is too
much to look at. Exit status 1 where it is more than 1.1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.model.decisions import KERNELS, Decision
from polygpu.model.device import Device
from polygpu.offload.seconds import Ledger
from polygpu.offload.typical import typical
from polygpu.perf.effort import THOROUGH
from polygpu.pipeline import File
from polygpu.search.choose import BRIEF, LEFT, Chooser, Effort
from polygpu.search.price import price
from polygpu.search.space import Nest, Space, nests_of
from polygpu.support.diagnostics import Diagnosed

NAMES = "mv,tmv,mvt,mm,transpose,conv2d,jacobi-2d,gemver"


def drawn(
    space: Space, realiser: Realiser, seed: int, kernels: tuple[Decision, ...]
) -> Iterator[tuple[tuple[Decision, ...], CompiledRegion]]:
    """Random choices that are legal, none of them twice, beside the decisions about kernels."""
    for number in space.drawn(random.Random(f"{seed}:{space.nest.place}")):
        if not space.why_not(space[number]):
            choice = space[number].decisions(space.nest)
            try:
                yield choice, realiser.realise((*choice, *kernels))
            except Diagnosed:
                continue


def best_of(
    space: Space, chooser: Chooser, sizes: dict[str, int], chosen: argparse.Namespace, least: float
) -> tuple[float, tuple[Decision, ...], int]:
    """The least seconds of so many choices, or as many as there is time for, that one, and how many; none
    where no choice takes less than the `least` that is known.
    """
    end, count = time.monotonic() + chosen.seconds, 0
    best: tuple[Decision, ...] = ()
    for choice, made in drawn(space, chooser.realiser, chosen.seed, chooser.decisions):
        seconds, each = inf, (made, space.nest.kernel, chooser.device, sizes)
        if price(*each, BRIEF).seconds < least:
            seconds = price(*each, THOROUGH).seconds
        least, best = (seconds, choice) if seconds < least else (least, best)
        count += 1
        if count == chosen.candidates or time.monotonic() > end:
            break
    return least, best, count


def compare(kernel: str, chosen: argparse.Namespace) -> Iterator[tuple[float, float]]:
    """Seconds with what -O2 chooses and with the best of each nest, at sizes at which all are known."""
    file = File(str(programs.source_of(kernel)), Options(device=chosen.device))
    for r in file.realise((), {}).regions:
        if not r.region.name.startswith("polygpu_kernel"):
            continue
        realiser = next(made for scop, made in file.realisers.items() if scop.name == r.scop.name)
        chooser = Chooser(realiser, typical(Ledger(r, file.device), {}), (), effort=Effort(LEFT))
        found = chooser.chosen(r)
        kernels = tuple(d for d in found if d.key in KERNELS)
        both = realiser.realise(kernels), realiser.realise(found)
        alone = replace(chooser, decisions=kernels, effort=Effort())
        compared = [_of_nest(kernel, nest, alone, both, chosen) for nest in nests_of(both[0])]
        typically = [nest.seconds_at(chooser.sizes, file.device) for nest in compared]
        known = all(max(seconds) < inf for seconds in typically)
        yield from typically if known else (nest.seconds for nest in compared)


@dataclass(frozen=True)
class Compared:
    """A kernel with what -O2 chooses and with the best of its nest, and their seconds where it is priced."""

    kernel: int
    made: tuple[CompiledRegion, CompiledRegion]
    seconds: tuple[float, float]

    def seconds_at(self, sizes: Mapping[str, int], device: Device) -> tuple[float, float]:
        """Those at other sizes; inf where that is too much to look at."""
        if self.seconds == (0.0, 0.0):
            return self.seconds
        model, best = (price(r, self.kernel, device, sizes, THOROUGH).seconds for r in self.made)
        return model, min(best, model)


def _of_nest(
    kernel: str, nest: Nest, chooser: Chooser, made: tuple[CompiledRegion, ...], chosen: argparse.Namespace
) -> Compared:
    looked, model = chooser.looked_at(made[0], nest), made[1]
    if looked.seconds == inf:
        return Compared(nest.kernel, (model, model), (0.0, 0.0))
    device, sizes = chooser.realiser.device, looked.sizes
    seconds = tuple(price(r, nest.kernel, device, sizes, THOROUGH).seconds for r in made)
    best, decisions, count = best_of(Space(nest, device), chooser, dict(sizes), chosen, seconds[1])
    times = f"-O1 {seconds[0]:.3g} s, -O2 {seconds[1]:.3g} s, best of {count} {best:.3g} s"
    behind = f", {' '.join(map(str, decisions))}" if decisions else ""
    name = f"{kernel:15} {nest.place!s:8} {', '.join(nest.axes):10}"
    print(f"{name} {times}: {ratio(seconds[1], best):.2f}{behind}", flush=True)
    other = chooser.realiser.realise((*decisions, *chooser.decisions)) if decisions else model
    return Compared(nest.kernel, (model, other), (seconds[1], best))


def ratio(seconds: float, best: float) -> float:
    """What takes so many seconds beside what takes fewer at best."""
    return seconds / best if 0 < best < seconds else 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", default=NAMES, help="names with commas between them, or all")
    parser.add_argument("--device", default="8800gtx")
    parser.add_argument("--candidates", type=int, default=2000, help="of each nest")
    parser.add_argument("--seconds", type=float, default=600, help="at most, of each nest")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    ratios: list[float] = []
    for kernel in programs.chosen_kernels(chosen.kernels):
        seconds = list(compare(kernel, chosen))
        ratios.append(ratio(*(sum(each) for each in zip(*seconds, strict=True))) if seconds else 1.0)
        print(f"{kernel:15} in all: {ratios[-1]:.2f}", flush=True)
    within = sum(r <= 1.1 for r in ratios)
    print(f"{within} of {len(ratios)} programs within 10 % of the best")
    return 0 if within == len(ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
