"""How near the default comes to the best: -O1, -O2 and the best of many random choices, by the model.

python benchmarks/defaults.py [--kernels mm,mv] [--device 8800gtx] [--candidates 2000] [--seconds 600]

A line a nest: seconds at the sizes at which it is priced, what -O2 takes of the best, and the best where that
is not what -O2 has; then one a program, of all its nests. Exit status 1 where that is more than 1.1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.model.decisions import KERNELS, Decision
from polygpu.offload.seconds import Ledger
from polygpu.offload.typical import typical
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
    space: Space, chooser: Chooser, sizes: dict[str, int], chosen: argparse.Namespace
) -> tuple[float, tuple[Decision, ...], int]:
    """The least seconds of so many choices, or as many as there is time for, that one, and how many."""
    end, count, least, best = time.monotonic() + chosen.seconds, 0, inf, ()
    for choice, made in drawn(space, chooser.realiser, chosen.seed, chooser.decisions):
        seconds = price(made, space.nest.kernel, chooser.device, sizes, BRIEF).seconds
        least, best = (seconds, choice) if seconds < least else (least, best)
        count += 1
        if count == chosen.candidates or time.monotonic() > end:
            break
    return least, best, count


def compare(kernel: str, chosen: argparse.Namespace) -> Iterator[tuple[float, float]]:
    """Seconds with what -O2 chooses and with the best of each nest."""
    file = File(str(programs.source_of(kernel)), Options(device=chosen.device))
    for r in file.realise((), {}).regions:
        if not r.region.name.startswith("polygpu_kernel"):
            continue
        realiser = next(made for scop, made in file.realisers.items() if scop.name == r.scop.name)
        chooser = Chooser(realiser, typical(Ledger(r, file.device), {}), (), effort=Effort(LEFT))
        found = chooser.chosen(r)
        kernels = tuple(d for d in found if d.key in KERNELS)
        both = realiser.realise(kernels), realiser.realise(found)
        for nest in nests_of(both[0]):
            yield _of_nest(kernel, nest, replace(chooser, decisions=kernels, effort=Effort()), both, chosen)


def _of_nest(
    kernel: str, nest: Nest, chooser: Chooser, made: tuple[CompiledRegion, ...], chosen: argparse.Namespace
) -> tuple[float, float]:
    looked = chooser.looked_at(made[0], nest)
    sizes, rules = looked.sizes, looked.seconds
    if rules == inf:
        return 0.0, 0.0
    device = chooser.realiser.device
    model = price(made[1], nest.kernel, device, sizes, BRIEF).seconds
    best, decisions, count = best_of(Space(nest, device), chooser, dict(sizes), chosen)
    times = f"-O1 {rules:.3g} s, -O2 {model:.3g} s, best of {count} {best:.3g} s"
    behind = f", {' '.join(map(str, decisions))}" if best < model else ""
    name = f"{kernel:15} {nest.place!s:8} {', '.join(nest.axes):10}"
    print(f"{name} {times}: {ratio(model, best):.2f}{behind}", flush=True)
    return model, min(best, model)


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
