"""Published against modelled: errors, their means, and the order within groups of variants."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import exp, log
from statistics import fmean

from benchmarks.published.counted import Counted, count_all
from benchmarks.published.figures import Binding, Figure, bound, in_unit, seconds
from polygpu import devices
from polygpu.model.device import Device
from polygpu.perf.occupancy import occupancy

STRUCTURE = frozenset({"conflict_in_issue", "row_stripe", "page", "partitions", "interleave"})
"""Costs that say how the chip is built, not how long something takes; counting has used them already."""
TIE = 0.01
"""Published times that differ by less have no order."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A figure with the kernels that stand for it."""

    figure: Figure
    binding: Binding
    counted: Counted

    @property
    def published(self) -> float:
        """Seconds."""
        return seconds(self.figure, self.binding)

    def modelled(self, device: Device | None = None) -> float:
        """Seconds, on the figure's device or on one with other costs."""
        device = device or devices.load(self.figure.device)
        return self.counted.seconds(device) + (device.costs["launch"] if self.binding.launch else 0.0)

    def limited_by(self) -> str:
        longest = max(self.counted.times(devices.load(self.figure.device)), key=lambda time: time.seconds)
        return longest.limited_by

    def in_unit(self, time: float) -> float:
        return in_unit(time, self.figure, self.binding)


@dataclass(frozen=True, slots=True)
class Resident:
    """A figure of resident threads, and what occupancy says."""

    figure: Figure
    modelled: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """`unbound` are figures that no binding matches."""

    timed: tuple[Timed, ...]
    resident: tuple[Resident, ...]
    unbound: tuple[Figure, ...]


def compare(figures: Iterable[Figure], known: tuple[Binding, ...]) -> Comparison:
    pairs = [(figure, bound(figure, known)) for figure in figures]
    wanted = [(f, b) for f, b in pairs if b is not None and f.unit != "threads"]
    counted = count_all((binding, figure.device) for figure, binding in wanted)
    return Comparison(
        tuple(Timed(f, b, c) for (f, b), c in zip(wanted, counted, strict=True)),
        tuple(Resident(f, threads(f, b)) for f, b in pairs if b is not None and f.unit == "threads"),
        tuple(f for f, b in pairs if b is None),
    )


def threads(figure: Figure, binding: Binding) -> int:
    """Threads that the chip holds of blocks of `binding.block`."""
    device = devices.load(figure.device)
    key = figure.keys[-1]
    registers = figure.row["registers_per_thread"][key]
    shared = figure.row["shared_bytes_per_thread"][key] * binding.block
    return device.multiprocessors * occupancy(device, binding.block, registers, round(shared)).threads


def error(published: float, modelled: float) -> float:
    """|ln(modelled / published)|."""
    return abs(log(modelled / published))


def as_factor(mean: float) -> float:
    """A mean of errors as the factor less 1 that it is: 0.06 is 6 %."""
    return exp(mean) - 1


def mean_error(timed: Sequence[Timed], changed: dict[str, Device] | None = None) -> float:
    """The mean error as a factor less 1, with devices `changed` by name."""
    changed = changed or {}
    return as_factor(fmean(error(t.published, t.modelled(changed.get(t.figure.device))) for t in timed))


@dataclass(frozen=True, slots=True)
class Order:
    """Of a group of variants: pairs that the published times order, and those that the model orders alike."""

    group: str
    pairs: int
    right: int


def orders(timed: Sequence[Timed]) -> list[Order]:
    groups: dict[str, list[Timed]] = {}
    for t in timed:
        groups.setdefault(t.binding.group, []).append(t)
    return [_order(name, members) for name, members in groups.items() if len(members) > 1]


def _order(name: str, members: list[Timed]) -> Order:
    times = [(t.published, t.modelled()) for t in members]
    pairs = [(a, b) for a, b in combinations(times, 2) if error(a[0], b[0]) > TIE]
    right = sum((a[0] - b[0]) * (a[1] - b[1]) > 0 for a, b in pairs)
    return Order(name, len(pairs), right)


def perturbed(timed: Sequence[Timed], draws: int, share: float = 0.2, seed: int = 1) -> list[float]:
    """Mean errors, sorted, with every cost of every device moved at random by up to `share`."""
    source = random.Random(seed)
    names = sorted({t.figure.device for t in timed})
    found = []
    for _ in range(draws):
        changed = {name: _moved(devices.load(name), source, share) for name in names}
        found.append(mean_error(timed, changed))
    return sorted(found)


def _moved(device: Device, source: random.Random, share: float) -> Device:
    costs = {
        name: value if name in STRUCTURE else value * source.uniform(1 - share, 1 + share)
        for name, value in sorted(device.costs.items())
    }
    return replace(device, costs=costs)
