"""The choices there are for a nest: which loop the lanes follow, tiles, threads, points, staging, code.

A space is a product of dimensions; a choice is one value of each, and has a number. Choices are decisions, so
that whatever is found can be replayed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from math import prod
from random import Random
from typing import Any, TypeAlias

from polygpu.analysis.polyhedra import array_tuple
from polygpu.lower.realise import CompiledRegion
from polygpu.mapping.owned import written_arrays
from polygpu.mapping.wanted import source_arrays
from polygpu.model.decisions import Decision, Place, Value
from polygpu.model.device import Device
from polygpu.model.fragments import ACROSS, EACH, POLICIES
from polygpu.support.dataclass import dataclass

Items: TypeAlias = tuple[tuple[str, Value], ...]

THREADS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
POINTS = (1, 2, 4, 8, 16)
WIDTHS = (4, 8, 16, 32, 64)
DEALS = (("cyclic", "cyclic"), ("blocked", "cyclic"), ("grouped", "grouped"))  # of other loops, of the lanes'
UNROLLED: tuple[Value, ...] = ("auto", "full", 4)
ROWS = (8, 16, 32, 64)  # of threads with fragments of tensor cores
EVEN = (2, 4, 8, 16, 32)  # points of theirs
_SUMS = 128  # registers of a thread that hold them
_OF_FRAGMENTS = ("tile", "threads", "deal", "buffer")


@dataclass(frozen=True)
class Nest:
    """What of a nest choices are about: `axes` in grid order, lanes last; `loops` in tiles, outermost first;
    `arrays` that it only reads, by their names in the source; what is decided now.
    """

    kernel: int
    place: Place
    axes: tuple[str, ...]
    loops: tuple[str, ...]
    arrays: tuple[str, ...]
    taken: Mapping[str, Decision]

    @property
    def depth(self) -> int:
        return len(self.axes)

    @property
    def policy(self) -> str:
        """That of the tensor cores that multiply, "" for none."""
        return str(self.taken["tensor"].value) if "tensor" in self.taken else ""


def is_taken(nest: Nest, changes: Mapping[str, Items]) -> bool:
    """Whether rules choose these: all that is staged, and the order of the axes. How points are dealt says
    nothing of axes of which a thread has one.
    """
    alone = {*nest.taken["tile"].items} & {*nest.taken["threads"].items}

    def is_so(key: str, items: Items) -> bool:
        taken = nest.taken[key].items if key in nest.taken else ()
        match key:
            case "order" | "stage":
                return items == taken
            case "deal":
                return {name for name, _ in {*items} - {*taken}} <= {name for name, _ in alone}
        return {*items} <= {*taken}

    return all(is_so(key, items) for key, items in changes.items())


def nests_of(r: CompiledRegion) -> Iterator[Nest]:
    """The nests of a region that have parallel loops. Of those at one place the first: decisions for a place
    are for all of them.
    """
    places: set[Place] = set()
    for k, (taken, grid) in enumerate(zip(r.taken, r.grids, strict=True)):
        decided = {t.decision.key: t.decision for t in taken}
        if "order" not in decided:
            continue
        axes = decided["order"].names
        tiled = tuple(n for n in decided["tile"].names if n not in {a.removeprefix("-") for a in axes})
        inner = decided["inner"].names[:1] if "inner" in decided else ()
        sources, written = source_arrays(grid.p, grid.statements), written_arrays(grid)
        read = (a for s in grid.statements for a in grid.p.statement(s).accesses if a.reference.subscripts)
        arrays = {sources[a.reference.array] for a in read if array_tuple(a.reference) not in written}
        place = decided["order"].place
        assert place is not None
        if place in places:
            continue
        places.add(place)
        yield Nest(k, place, axes, tiled or inner, tuple(sorted(arrays)), decided)


def of_fragments(nest: Nest, items: Mapping[str, Items]) -> dict[str, Items]:
    """What may be decided where tensor cores multiply, which they have to go on doing."""
    decided = {key: found for key, found in items.items() if key in _OF_FRAGMENTS}
    return {"tensor": nest.taken["tensor"].items, **decided}


@dataclass(frozen=True)
class Choice:
    """One value of each dimension, for the nest's axes in the `order` that is chosen, lanes last."""

    order: tuple[str, ...]
    threads: tuple[int, ...]
    points: tuple[int, ...]
    deal: tuple[Value, Value]
    width: int
    staged: tuple[str, ...]
    buffer: str
    wide: int
    unroll: Value

    def decisions(self, nest: Nest) -> tuple[Decision, ...]:
        """Those about copies and code are the rules' where tensor cores multiply."""
        names = tuple(a.removeprefix("-") for a in self.order)
        tiles = [t * p for t, p in zip(self.threads, self.points, strict=True)]
        widths = [(loop, self.width) for loop in nest.loops]
        items: dict[str, Items] = {
            "order": tuple((a, None) for a in self.order),
            "tile": (*zip(names, tiles, strict=True), *widths),
            "threads": tuple(zip(names, self.threads, strict=True)),
            "deal": tuple((n, self.deal[n == names[-1]]) for n in names),
            "stage": tuple((a, None) for a in self.staged),
            "buffer": (("", self.buffer),),
            "wide": (("", self.wide),),
            "unroll": (("", self.unroll),),
        }
        if nest.policy:
            items = of_fragments(nest, items)
        return tuple(Decision(key, found, nest.place) for key, found in items.items())


@dataclass(frozen=True)
class Space:
    """All choices for a nest on a device, by number."""

    nest: Nest
    device: Device

    @cached_property
    def dimensions(self) -> tuple[Sequence[Any], ...]:
        nest, device = self.nest, self.device
        if nest.policy:
            return self._of_fragments()
        lanes = [tuple([a for a in nest.axes if a != last] + [last]) for last in reversed(nest.axes)]
        wide = (0, device.widest_access) if device.rule == "sector" else (0,)
        buffers = ("none", "prefetch", "ring") if device.asynchronous_copies else ("none", "prefetch")
        subsets = product((False, True), repeat=len(nest.arrays)) if nest.arrays else [()]
        staged = [tuple(a for a, yes in zip(nest.arrays, chosen, strict=True) if yes) for chosen in subsets]
        return (
            lanes,
            self._shapes(THREADS, device.max_threads_per_block),
            self._shapes(POINTS, max(POINTS) * 2),
            DEALS if device.rule == "sector" else DEALS[:2],
            WIDTHS if nest.loops else (0,),
            staged,
            buffers if nest.loops and nest.arrays else ("none",),
            wide,
            UNROLLED,
        )

    def _of_fragments(self) -> tuple[Sequence[Any], ...]:
        """Rows of a block and of a thread, its columns, terms of a tile, and how tiles are copied."""
        nest, terms = self.nest, POLICIES[self.nest.policy].terms
        front = (1,) * (nest.depth - 2)
        return (
            (nest.axes,),
            [(*front, rows, ACROSS) for rows in ROWS],
            [(*front, rows, columns) for rows, columns in product(EVEN, EVEN) if rows * columns <= _SUMS],
            (("cyclic", EACH),),
            [width for width in WIDTHS if width % terms == 0],
            (nest.arrays,),
            ("none", "prefetch", "double", *(("ring",) if self.device.asynchronous_copies else ())),
            (self.device.widest_access,),
            UNROLLED[:1],
        )

    def _shapes(self, each: Sequence[int], most: int) -> list[tuple[int, ...]]:
        """Of the axes, the first ones of many being alone."""
        front = max(0, self.nest.depth - 3)
        found = product(each, repeat=self.nest.depth - front)
        return [(*(1,) * front, *shape) for shape in found if prod(shape) <= most]

    def __len__(self) -> int:
        return prod(map(len, self.dimensions))

    def __getitem__(self, number: int) -> Choice:
        values = []
        for dimension in self.dimensions:
            number, k = divmod(number, len(dimension))
            values.append(dimension[k])
        return Choice(*values)

    def drawn(self, chance: Random) -> Iterator[int]:
        """The numbers of all choices in random order."""
        seen: set[int] = set()
        while len(seen) < len(self):
            number = chance.randrange(len(self))
            if number not in seen:
                seen.add(number)
                yield number

    def why_not(self, choice: Choice) -> str:
        """Why a choice is not worth making, or ""."""
        device, threads = self.device, prod(choice.threads)
        if threads < device.warp:
            return "less than a warp"
        if threads > device.max_threads_per_block:
            return "more threads than a block has"
        shape = [*reversed(choice.threads), 1, 1][:3]
        if any(t > most for t, most in zip(shape, device.max_block, strict=True)):
            return "a block too long"
        several = choice.points if choice.deal[1] != "cyclic" else choice.points[:-1]
        if choice.deal != DEALS[0] and max(several, default=1) == 1:
            return "another name of a choice"
        if not choice.staged and (choice.buffer != "none" or choice.wide):
            return "nothing is copied"
        if choice.buffer == "ring" and not choice.wide:
            return "nothing is copied ahead"
        return ""
