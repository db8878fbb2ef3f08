"""Tiles of time as grids: a block copies its tile with what it reads around it, and runs all steps on that.

before:  for t { kernel(i) S0; kernel(i) S1; }             four of these in a tile, by `schedule.time_tiles`
after:   for step: a block of 256 points, of which 240 are its own
             Filled B_s Copied A_s Stored { for t: Run S0 within 254 - 4t points; Meet; Run S1 ...; Meet }

Where numbers are floating-point ones, all points of a tile run all steps, those beyond the cone on garbage:
in blocks inside of the arrays no thread tests anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, reduce

import islpy as isl

from polygpu.analysis.polyhedra import AffineBuilder, Polyhedra, PolyStatement, parameter_space
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.footprint import Side
from polygpu.mapping.program import (
    Axis,
    Block,
    Box,
    Copied,
    Filled,
    Meet,
    Mirror,
    Mirrored,
    Run,
    Series,
    Stored,
    StoredBox,
    Tiles,
    Version,
    reference_key,
)
from polygpu.model.expr import COMPARISONS, SIZES, Binary, Expr, Unary, is_floating, type_of
from polygpu.model.rewrite import references, walk
from polygpu.model.scop import Let, Store
from polygpu.schedule.time_tiles import Cone
from polygpu.schedule.tree import Carried, Leaf, Phase, Steps
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, identifier, single_space

STEPS: Mapping[int, int] = {1: 25, 2: 8}
"""Of a tile, at most; single steps of three dimensions are faster than tiles with their rims on an H100."""
_SECTOR = 32  # bytes that memory is read in
_REGISTERS = 96  # of a thread for its own elements of all arrays: two blocks of 256 threads are resident then
_WORD = 4  # bytes of a register


def shape(rank: int, words: int) -> tuple[tuple[int, int], ...]:
    """Threads along each axis and points of a thread, which are one piece: of arrays of so many words.

    Along lanes they are one or an odd number, which meets all banks.
    """
    most = max(_REGISTERS // words, 1)
    if rank == 1:
        return ((256, min(15, most - 1 + most % 2)),)
    if rank == 2:
        return (8, min(16, max(most // 3, 1))), (32, 3)
    return (1, 16), (16, 1), (32, 1)


def words(p: Polyhedra, arrays: Iterable[str]) -> int:
    """What an element of each of the arrays takes of registers."""
    return sum(-(-SIZES.get(p.array(name).element, _WORD) // _WORD) for name in arrays)


def usual(cone: Cone) -> int:
    """The steps of a tile where nobody decides: so many that a quarter of each side is lost; 0 for none."""
    tile = [threads * points for threads, points in shape(cone.rank, words(cone.p, cone.arrays))]
    margins = cone.margins.values()
    for count in range(STEPS.get(cone.rank, 0), 0, -1):
        lost = (
            max(m[k][0].at(count - 1) for m in margins) + max(m[k][1].at(count - 1) for m in margins)
            for k in range(cone.rank)
        )
        if all(4 * overlap <= size for overlap, size in zip(lost, tile, strict=True)):
            return count
    return 0


def overlaps(steps: Steps) -> tuple[tuple[int, int], ...]:
    """Points of a tile along each axis that are not its own, before and behind."""
    last, each = steps.count - 1, [phase.margins for phase in steps.phases]
    return tuple(
        (max(m[k][0].at(last) for m in each), max(m[k][1].at(last) for m in each))
        for k in range(len(each[0]))
    )


@dataclass(frozen=True)
class TimeTile:
    """The block of a nest of steps, in tiles along `axes`; `step` is the loop over tiles of time.

    Threads hold their own elements of the arrays `held` in registers, and what is around them of others'.
    """

    p: Polyhedra
    steps: Steps
    axes: tuple[Axis, ...]
    step: Fixed
    time: str
    held: frozenset[str] = frozenset()

    def block(self) -> Block:
        boxes = [(self._box(c), c) for c in self.steps.carried]
        copied = tuple(box for box, c in boxes if c.copied and not self._is_direct(c))
        filled = tuple(box for box, c in boxes if box not in copied)
        loop: Block = Tiles(self.steps.member, self.time, 1, Series(tuple(self._phases())))
        mirrors = tuple(self._mirror(box, c) for box, c in boxes if self._is_held(c))
        loop = Mirrored(mirrors, loop) if mirrors else loop
        found: Block = Stored(tuple(s for box, c in boxes for s in self._stored(box, c)), loop)
        found = Copied(copied, found) if copied else found
        return Filled(filled, found) if filled else found

    @cached_property
    def beyond(self) -> bool:
        """Whether all points of a tile compute, those at its rim of what is no value."""
        return all(_is_harmless(self.p.statement(phase.statement)) for phase in self.steps.phases)

    def _is_held(self, c: Carried) -> bool:
        several = any(axis.per_thread > 1 for axis in self.axes)
        return several and c.array in self.held and bool(c.distances)

    def _is_direct(self, c: Carried) -> bool:
        """Whether threads load and store their own elements, of which a sector of memory has all in a row."""
        size = SIZES.get(self.p.array(c.array).element, _SECTOR)
        return self.beyond and self._is_held(c) and size * self.axes[-1].per_thread <= _SECTOR

    def _phases(self) -> Iterator[Block]:
        for phase in self.steps.phases:
            if phase.meets:
                yield Meet()
            yield Run(Leaf((phase.statement,)), self._within(phase), self.beyond)
        yield Meet()

    def _box(self, c: Carried) -> Box:
        mine = [(s.statement, a) for s in self.steps.phases for a in self.p.statement(s.statement).accesses]
        keys = frozenset(reference_key(s, a.reference) for s, a in mine if a.reference.array == c.array)
        held = self._is_held(c)
        rims = c.reach if self.beyond or held else ((0, 0),) * len(self.axes)
        sides = tuple(
            Side(self._value(axis.origin).add_constant_val(isl.Val(-before)), axis.tile + before + behind)
            for axis, (before, behind) in zip(self.axes, rims, strict=True)
        )
        before = self._version(c, c.elements.intersect_params(self._parity(1))) if c.live else None
        return Box(
            c.array,
            c.array,
            f"{c.array}_s",
            sides,
            tuple(range(len(sides))),
            f"{self.steps.count} steps",
            keys,
            versions=(before,) if before is not None else (),
            only=c.used,
            without=None if c.live else c.elements,
            along=tuple(axis.name for axis in self.axes),
            zeros=(held or not c.live) and any(map(any, rims)) and not self._is_direct(c),
        )

    def _mirror(self, box: Box, c: Carried) -> Mirror:
        distances = {(s, box.tuple_name, subscripts): d for (s, subscripts), d in c.distances.items()}
        kept = c.live or c.kept
        return Mirror(box, f"{c.array}_r", distances, c.copied, kept, self._is_direct(c))

    def _stored(self, box: Box, c: Carried) -> Iterator[StoredBox]:
        """Even tiles store the other version, odd ones the array; what only one step needs, the last one."""
        points = c.elements.reset_tuple_id()
        element = _renamed(points, "", c.array)
        sides = tuple(
            Side(self._value(axis.origin).add_constant_val(isl.Val(before)), axis.stride)
            for axis, (before, _) in zip(self.axes, overlaps(self.steps), strict=True)
        )
        if c.live:
            version = self._version(c, isl.Set.universe(c.elements.get_space()))
            yield StoredBox(box, element, points.intersect_params(self._parity(0)), version, sides)
            yield StoredBox(box, element, points.intersect_params(self._parity(1)), None, sides)
        elif c.kept:
            yield StoredBox(box, element, points.intersect_params(self._last), None, sides)

    def _version(self, c: Carried, where: isl.Set) -> Version:
        return Version(c.other, where, _renamed(where, c.array, c.other))

    def _within(self, phase: Phase) -> isl.Set:
        """The points of a tile at which a statement finds all that it reads."""
        gone = self._value(self.time).sub(self._start)
        found = isl.Set.universe(self._space)
        for axis, (before, behind) in zip(self.axes, phase.margins, strict=True):
            inside = self._value(axis.name).sub(self._value(axis.origin))
            low = gone.scale_val(isl.Val(before.slope)).add_constant_val(isl.Val(before.start))
            high = gone.scale_val(isl.Val(behind.slope)).add_constant_val(isl.Val(behind.start))
            last = inside.neg().add_constant_val(isl.Val(axis.tile - 1))
            found = found.intersect(inside.ge_set(low)).intersect(last.ge_set(high))
        return found

    @cached_property
    def _start(self) -> isl.PwAff:
        """The first step of the tile."""
        first = AffineBuilder(self._space).value(self.steps.first)
        return self._value(self.step.name).scale_val(isl.Val(self.steps.count)).add(first)

    def _parity(self, odd: int) -> isl.Set:
        """That the tile's number is even, or odd."""
        step = self._value(self.step.name)
        return step.mod_val(isl.Val(2)).eq_set(step.sub(step).add_constant_val(isl.Val(odd)))

    @cached_property
    def _last(self) -> isl.Set:
        """That the tile is the last one."""
        last = self.steps.last
        position = last.dim(D.param)
        moved = last.move_dims(D.param, position, D.set, 0, 1)
        return moved.set_dim_id(D.param, position, identifier(self.step.name)).params()

    @cached_property
    def _space(self) -> isl.Space:
        """Of parameters, points, and what is around them."""
        names = (name for a in self.axes for name in (a.name, a.origin))
        return reduce(single_space, (*names, self.step.name, self.time), parameter_space(self.p.parameters))

    def _value(self, name: str) -> isl.PwAff:
        local = isl.LocalSpace.from_space(self._space)
        return isl.PwAff.from_aff(
            isl.Aff.var_on_domain(local, D.param, self._space.find_dim_by_name(D.param, name))
        )


def _is_harmless(s: PolyStatement) -> bool:
    """Whether garbage does no harm: floating-point numbers and comparisons are all that comes of data."""
    plain = [a for a in s.body if isinstance(a, Store | Let)]
    if len(plain) < len(s.body) or not all(a.affine for a in s.accesses):
        return False
    made = (part for a in plain for part in (*([a.target] if isinstance(a, Store) else ()), *walk(a.value)))
    return all(is_floating(type_of(e)) or _compares(e) for e in made if references(e)) and not any(
        isinstance(a, Let) and not is_floating(a.type) for a in plain
    )


def _compares(e: Expr) -> bool:
    return (isinstance(e, Unary) and e.op == "!") or (isinstance(e, Binary) and e.op in COMPARISONS)


def _renamed(elements: isl.Set, source: str, target: str) -> isl.PwMultiAff:
    """Elements of one array, or points, to the elements of another with the same subscripts."""
    space = isl.Set.universe(elements.reset_tuple_id().get_space())
    same = space.identity().set_tuple_name(D.out, target)
    return isl.PwMultiAff.from_map(same.set_tuple_name(D.in_, source) if source else same)
