"""The model's choice for each nest: rules propose a few, the cheapest is taken.

Nests that persons decide on are left as they are. Of a region, those with the most loops around their
statements are looked at first: they take the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from math import inf
from random import Random
from typing import TypeAlias

from polygpu.lower.points import extent_of
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.mapping.owned import nest_patterns
from polygpu.mapping.rules import is_rectangular
from polygpu.mapping.wanted import array_of, source_arrays
from polygpu.model.decisions import Decision
from polygpu.model.device import Device
from polygpu.offload.seconds import Ledger
from polygpu.offload.typical import typical
from polygpu.perf.effort import Patience
from polygpu.search.price import price
from polygpu.search.space import Items, Nest, Space, nests_of
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.isl_idioms import D

BRIEF = Patience(2**10, 2**4, 2 * 10**5, 4)  # tens of milliseconds
GAIN = 0.97  # of the time of what rules choose: less is no reason to leave it
_CHOSEN = frozenset({"order", "tile", "threads", "deal", "stage", "buffer", "wide", "unroll"})
_BENT = 256  # sizes at which nests are priced whose blocks or launches differ, which takes longer
_NESTS, _FEW = 3, 2  # of a region; where launches differ only few, and few shapes of them
MANY = 1000  # choices of a nest

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


def choose(
    r: CompiledRegion,
    realiser: Realiser,
    decisions: tuple[Decision, ...],
    stated: Mapping[str, int],
    thorough: bool = False,
) -> tuple[Decision, ...]:
    """What the model prefers for a region at typical sizes, some of them `stated`: among a few choices, or
    among a thousand for each nest. Nothing on a device whose model is not calibrated.
    """
    if not realiser.device.calibrated or not any(_free(r)):
        return ()
    sizes = typical(Ledger(r, realiser.device), stated)
    return Chooser(realiser, sizes, decisions, MANY if thorough else 0).chosen(r)


def _free(r: CompiledRegion) -> Iterator[Nest]:
    """The nests with several parallel loops for which persons have decided nothing that is chosen here."""
    for nest in nests_of(r):
        if nest.depth >= 2 and not _decided_by_persons(r, nest):
            yield nest


@dataclass(frozen=True)
class Chooser:
    """Chooses for the nests of a region at the `sizes` of a typical call, beside its other `decisions`.

    After the few choices that rules propose, `drawn` ones are looked at.
    """

    realiser: Realiser
    sizes: Mapping[str, int]
    decisions: tuple[Decision, ...]
    drawn: int = 0

    @property
    def device(self) -> Device:
        return self.realiser.device

    def chosen(self, r: CompiledRegion) -> tuple[Decision, ...]:
        nests = list(_free(r))
        deepest = max((_depth(r, n) for n in nests), default=0)
        found: list[Decision] = []
        looked_at = [n for n in nests if self.drawn or _depth(r, n) == deepest]
        most = _FEW if any(_launches_differ(r, n) for n in looked_at) else _NESTS
        for nest in looked_at if self.drawn else looked_at[:most]:
            found.extend(self._of_nest(r, nest))
        return tuple(found)

    def _of_nest(self, r: CompiledRegion, nest: Nest) -> tuple[Decision, ...]:
        sizes = self.looked_at(r, nest)
        if sizes is None:
            return ()
        least = GAIN * price(r, nest.kernel, self.device, sizes, BRIEF).seconds
        best: Changes = {}
        taken = best
        for propose in (_staged, _shapes):
            for change in propose(r, nest, best):
                seconds = self._price(nest, _decisions(nest, {**best, **change}), sizes)
                if seconds < least:
                    least, taken = seconds, {**best, **change}
            best = taken
        found = _decisions(nest, best)
        for choice in self._drawn(nest):
            seconds = self._price(nest, choice, sizes)
            if seconds < least:
                least, found = seconds, choice
        return found

    def _drawn(self, nest: Nest) -> Iterator[tuple[Decision, ...]]:
        """Some of all choices there are, the same ones each time."""
        space = Space(nest, self.device)
        for number in islice(space.drawn(Random(0)), self.drawn):
            if not space.why_not(space[number]):
                yield space[number].decisions(nest)

    def looked_at(self, r: CompiledRegion, nest: Nest) -> Mapping[str, int] | None:
        """The sizes, or smaller ones at which a kernel is soon looked at; None where there are none.

        Blocks of nests that are no boxes differ, and launches of loops: there are fewer of them at `_BENT`.
        """
        sizes = dict(self.sizes)
        grid = r.grids[nest.kernel]
        if _launches_differ(r, nest) or extent_of(grid).corner_test is not None or not is_rectangular(grid):
            sizes = {name: min(size, _BENT) for name, size in sizes.items()}
        while price(r, nest.kernel, self.device, sizes, BRIEF).seconds == inf:
            if max(sizes.values(), default=0) <= _BENT:
                return None
            sizes = {name: min(size, max(_BENT, size // 2)) for name, size in sizes.items()}
        return sizes

    def _price(self, nest: Nest, more: tuple[Decision, ...], sizes: Mapping[str, int]) -> float:
        try:
            made = self.realiser.realise((*more, *self.decisions))
        except Diagnosed:  # refused, or isl finds no code for it
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


def _launches_differ(r: CompiledRegion, nest: Nest) -> bool:
    """Whether the kernel's code depends on loops of the host around it."""
    names = {f.name for f in r.grids[nest.kernel].outer}
    return any(s.name in names for s in r.region.kernels[nest.kernel].scalars)


def _shapes(r: CompiledRegion, nest: Nest, best: Changes) -> Iterator[Changes]:
    """Threads, and points that a thread has: in loops, these share what it loads once."""
    names = [a.removeprefix("-") for a in nest.axes]
    front, few = [1] * (nest.depth - 2), _uncoalesced(r, nest)
    stage: Changes = {} if "stage" in best or not (nest.loops and few) else {"stage": _items(few)}
    shapes = _LOOPED if nest.loops else _PLAIN
    for threads, points, deal in shapes[:_FEW] if _launches_differ(r, nest) else shapes:
        each = list(zip(names, [*front, *threads], [*front, *points], strict=True))
        yield {
            **stage,
            "threads": tuple((n, t) for n, t, _ in each),
            "tile": tuple((n, t * p) for n, t, p in each),
            "deal": tuple((n, deal if n != names[-1] else "cyclic") for n in names),
        }


def _staged(r: CompiledRegion, nest: Nest, best: Changes) -> Iterator[Changes]:
    """All that is only read in shared memory, what does not coalesce, or nothing; but for what is so now."""
    few = _uncoalesced(r, nest)
    now = {*map(array_of, nest.taken["stage"].names)}
    some = (nest.arrays,) if _launches_differ(r, nest) else (nest.arrays, few)
    nothing = () if nest.loops and few else ((),)
    for arrays in dict.fromkeys((*some, *nothing)):
        if {*arrays} != now:
            yield {"stage": _items(arrays)}


def _items(arrays: tuple[str, ...]) -> Items:
    return tuple((a, None) for a in arrays)


def _uncoalesced(r: CompiledRegion, nest: Nest) -> tuple[str, ...]:
    grid = r.grids[nest.kernel]
    lanes, sources = len(grid.axes) - 1, source_arrays(grid.p, grid.statements)
    found = {sources[p.access.reference.array] for p in nest_patterns(grid) if p.kind(lanes) != "unit"}
    return tuple(a for a in nest.arrays if a in found)
