"""What a choice costs: tiles and staging of regions prepared once are realised, counted and timed.

python benchmarks/choices.py [--kernels mm,heat-3d,covariance] [--device h100] [--choices 200] [--size 256]

Processor time a choice. Choices of threads, tiles and staging of all nests are random, and alike in each run.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.mapping.wanted import RefusedError
from polygpu.model.decisions import Decision, parse
from polygpu.perf.effort import QUICK, look
from polygpu.perf.launches import Calls
from polygpu.perf.profile_time import from_profile
from polygpu.perf.resources import resident
from polygpu.pipeline import File

T = TypeVar("T")
THREADS = {1: ((64, 128, 256),), 2: ((4, 8, 16), (8, 16, 32)), 3: ((1, 2), (2, 4, 8), (16, 32))}
"""By the number of parallel loops, lanes last."""


@dataclass
class Cost:
    """Seconds of processor time."""

    realised: float = 0.0
    counted: float = 0.0
    refused: int = 0


def timed(work: Callable[[], T]) -> tuple[T, float]:
    start = time.process_time()
    return work(), time.process_time() - start


def choices(region: CompiledRegion, count: int) -> Iterator[tuple[Decision, ...]]:
    """Random choices for all nests of the region."""
    chance = random.Random(3)
    nests = [{t.decision.key: t.decision for t in nest} for nest in region.taken]
    for _ in range(count):
        yield tuple(d for taken in nests if "tile" in taken for d in _choice(taken, chance))


def _choice(taken: dict[str, Decision], chance: random.Random) -> tuple[Decision, ...]:
    axes = taken["threads"].names
    threads = dict(zip(axes, map(chance.choice, THREADS[len(axes)]), strict=True))
    tile = {
        n: threads[n] * chance.choice((1, 2, 4)) if n in threads else chance.choice((8, 16, 32))
        for n in taken["tile"].names
    }
    sizes = f"{_sizes('tile', tile)} {_sizes('threads', threads)}"
    return tuple(parse(f"{taken['tile'].place}: {sizes} {chance.choice(('stage()', '', ''))}"))


def _sizes(key: str, sizes: dict[str, int]) -> str:
    return f"{key}({', '.join(f'{name}: {size}' for name, size in sizes.items())})"


def seconds(region: CompiledRegion, realiser: Realiser, size: int) -> float:
    """The modelled time of a call."""
    device = realiser.device
    sizes = {s.name: size for s in region.region.integers}
    (found,), _ = look([(region.region, (Calls(1, sizes),))], device, QUICK)
    kernels = zip(found.kernels, region.region.kernels, strict=True)
    return sum(
        from_profile(record, device, resident(kernel, device).blocks).seconds * record["launches"]
        for record, kernel in kernels
    )


def measured(kernel: str, chosen: argparse.Namespace) -> Cost:
    """Of the kernel's first region."""
    file = File(str(programs.source_of(kernel)), Options(device=chosen.device))
    region, realiser = file.realise((), {}).regions[0], next(iter(file.realisers.values()))
    cost = Cost()
    for number, choice in enumerate(choices(region, chosen.choices)):
        if sys.stderr.isatty():
            print(f"\r{kernel} {number}/{chosen.choices}", end="\r", file=sys.stderr, flush=True)
        try:
            made, spent = timed(partial(realiser.realise, choice))
        except RefusedError:
            cost.refused += 1
            continue
        cost.realised += spent
        cost.counted += timed(partial(seconds, made, realiser, chosen.size))[1]
    return cost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", default="mm,heat-3d,covariance", help="names with commas between them")
    parser.add_argument("--device", default="h100")
    parser.add_argument("--choices", type=int, default=200)
    parser.add_argument("--size", type=int, default=256, help="of every extent, and of time")
    chosen = parser.parse_args()
    for kernel in chosen.kernels.split(","):
        cost = measured(kernel, chosen)
        made = max(1, chosen.choices - cost.refused)
        realised, counted = (1e3 * spent / made for spent in (cost.realised, cost.counted))
        parts = f"{realised:.1f} to realise, {counted:.1f} to count and time; {cost.refused} refused"
        print(f"{kernel:15} {realised + counted:6.1f} ms a choice   ({parts})", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
