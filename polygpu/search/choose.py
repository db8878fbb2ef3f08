"""The model's choice for each nest: rules propose a few, the cheapest is taken.

Nests that persons decide on are left as they are. Of a region, those with the most loops around their
statements are looked at first: they take the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from polygpu.lower.points import extent_of
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.mapping.owned import nest_patterns
from polygpu.mapping.rules import is_rectangular
from polygpu.mapping.wanted import RefusedError, source_arrays
from polygpu.model.decisions import Decision
from polygpu.model.device import Device
from polygpu.perf.effort import Patience
from polygpu.search.price import price
from polygpu.search.space import Items, Nest, nests_of
from polygpu.support.isl_idioms import D

BRIEF = Patience(2**12, 2**8, 10**6)
GAIN = 0.97  # of the time of what rules choose: less is no reason to leave it
_CHOSEN = frozenset({"order", "tile", "threads", "deal", "stage", "buffer", "wide", "unroll"})
_SMALLEST, _BENT = 64, 512
_NESTS = 3  # of a region

Shape: TypeAlias = tuple[tuple[int, int], tuple[int, int], str]
"""Threads and points a thread of the last two axes, and how those of the outer one are dealt."""
Changes: TypeAlias = Mapping[str, Items]

# For chips whose memory wants aligned rows of a half-warp: a thread's points share what it loads.
_LOOPED: tuple[Shape, ...] = (
    ((1, 64), (16, 1), "cyclic"),
    ((2, 128), (8, 1), "blocked"),
    ((8, 32), (4, 1), "cyclic"),
    ((8, 32), (8, 4), "blocked"),
)
_PLAIN: tuple[Shape, ...] = (
    ((2, 128), (8, 1), "blocked"),
    ((16, 16), (4, 4), "cyclic"),
    ((8, 32), (4, 1), "cyclic"),
    ((8, 16), (1, 8), "cyclic"),
)


@dataclass(frozen=True)
class Chooser:
    """Chooses for the nests of a region, at the `sizes` of a typical call."""

    realiser: Realiser
    sizes: Mapping[str, int]
    decisions: tuple[Decision, ...]
    budget: float

    @property
    def device(self) -> Device:
        return self.realiser.device

    def chosen(self, r: CompiledRegion) -> tuple[Decision, ...]:
        """What to decide beside what is decided already, of the region as that has it."""
        free = [n for n in nests_of(r) if not _decided_by_persons(r, n)]
        found: list[Decision] = []
        for nest in sorted(free, key=lambda n: -_depth(r, n))[:_NESTS]:
            if nest.depth >= 2 and _depth(r, nest) == max(_depth(r, n) for n in free):
                found.extend(self._of_nest(r, nest))
        return tuple(found)

    def _of_nest(self, r: CompiledRegion, nest: Nest) -> tuple[Decision, ...]:
        sizes = self._looked_at(r, nest)
        if sizes is None:
            return ()
        least = GAIN * price(r, nest.kernel, self.device, sizes, BRIEF).seconds
        best: Changes = {}
        taken = best
        for propose in (_staged, _shapes):
            for change in propose(r, nest, best):
                seconds = self._price(nest, {**best, **change}, sizes)
                if seconds < least:
                    least, taken = seconds, {**best, **change}
            best = taken
        return _decisions(nest, best)

    def _looked_at(self, r: CompiledRegion, nest: Nest) -> Mapping[str, int] | None:
        """The sizes, or smaller ones at which a kernel is soon looked at; None where there are none.

        Blocks of nests that are no boxes differ, and launches of loops: there are fewer of them at `_BENT`.
        """
        sizes = dict(self.sizes)
        grid = r.grids[nest.kernel]
        if grid.outer or extent_of(grid).corner_test is not None or not is_rectangular(grid):
            sizes = {name: min(size, _BENT) for name, size in sizes.items()}
        while price(r, nest.kernel, self.device, sizes, BRIEF).seconds == inf:
            if max(sizes.values(), default=0) <= _SMALLEST:
                return None
            sizes = {name: min(size, max(_SMALLEST, size // 2)) for name, size in sizes.items()}
        return sizes

    def _price(self, nest: Nest, changes: Changes, sizes: Mapping[str, int]) -> float:
        try:
            made = self.realiser.realise((*_decisions(nest, changes), *self.decisions), 0, self.budget)
        except RefusedError:
            return inf
        return price(made, nest.kernel, self.device, sizes, BRIEF).seconds


def _decisions(nest: Nest, changes: Changes) -> tuple[Decision, ...]:
    return tuple(Decision(key, items, nest.place) for key, items in changes.items())


def _decided_by_persons(r: CompiledRegion, nest: Nest) -> bool:
    return any(t.by == "person" and t.decision.key in _CHOSEN for t in r.taken[nest.kernel])


def _depth(r: CompiledRegion, nest: Nest) -> int:
    """Loops around the nest's deepest statement."""
    grid = r.grids[nest.kernel]
    return max(grid.p.statement(s).domain.dim(D.set) for s in grid.statements)


def _shapes(r: CompiledRegion, nest: Nest, best: Changes) -> Iterator[Changes]:
    """Threads, and points that a thread has: in loops, these share what it loads once."""
    names = [a.removeprefix("-") for a in nest.axes]
    front, few = [1] * (nest.depth - 2), _uncoalesced(r, nest)
    stage: Changes = {} if "stage" in best or not (nest.loops and few) else {"stage": _items(few)}
    for threads, points, deal in _LOOPED if nest.loops else _PLAIN:
        each = list(zip(names, [*front, *threads], [*front, *points], strict=True))
        yield {
            **stage,
            "threads": tuple((n, t) for n, t, _ in each),
            "tile": tuple((n, t * p) for n, t, p in each),
            "deal": tuple((n, deal if n != names[-1] else "cyclic") for n in names),
        }


def _staged(r: CompiledRegion, nest: Nest, best: Changes) -> Iterator[Changes]:
    """All that is only read in shared memory, what does not coalesce, or nothing."""
    for arrays in dict.fromkeys((nest.arrays, _uncoalesced(r, nest), ())):
        yield {"stage": _items(arrays)}


def _items(arrays: tuple[str, ...]) -> Items:
    return tuple((a, None) for a in arrays)


def _uncoalesced(r: CompiledRegion, nest: Nest) -> tuple[str, ...]:
    grid = r.grids[nest.kernel]
    lanes, sources = len(grid.axes) - 1, source_arrays(grid.p, grid.statements)
    found = {sources[p.access.reference.array] for p in nest_patterns(grid) if p.kind(lanes) != "unit"}
    return tuple(a for a in nest.arrays if a in found)
