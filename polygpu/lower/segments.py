"""Segments with their copies and barriers.

segment ::= copies, barrier, stage | for each step tile: copies, barrier, stage, barrier
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TypeAlias

import islpy as isl

from polygpu.lower.checked_scan import scan
from polygpu.lower.scan import (
    Scan,
    ScanBlock,
    ScanFor,
    ScanIf,
    ScanLeaf,
)
from polygpu.lower.stages import Stages
from polygpu.lower.staging import Copy
from polygpu.lower.tidy import substituted
from polygpu.mapping.footprint import Side
from polygpu.mapping.mapped import Fixed
from polygpu.mapping.place import Segment, Staged, reference_key, step_of
from polygpu.model.expr import (
    Binary,
    Expr,
    Int,
    Name,
)
from polygpu.model.kernel import (
    Barrier,
    CommitCopies,
    Declare,
    For,
    If,
    Statement,
    WaitCopies,
)
from polygpu.model.linear import add
from polygpu.support.isl_idioms import D

Leaf: TypeAlias = Callable[[ScanLeaf], tuple[Statement, ...]]


@dataclass(frozen=True)
class Segments(Stages):
    """Code of segments."""

    def _segment(self, number: int, segment: Segment) -> list[Statement]:
        staged = [s for s in self.placement.staged if s.segment == number]
        fixed_copies = [s for s in staged if not s.stepped]
        stepped = [s for s in staged if s.stepped]
        found: list[Statement] = []
        found.extend(self._copies(fixed_copies))
        if not stepped:
            found.extend([Barrier()] if fixed_copies else [])
            found.extend(self._stage(number, segment, None))
            return found
        step = step_of(self.m, segment)
        assert step is not None
        if not _one_loop(self._steps(segment, step, ()), step):
            return [*found, *self._plain(number, segment, step, stepped)]
        if self._in_ring(segment):
            return [*found, *self._ring(number, segment, step, stepped)]
        if self.m.mapping.buffering == "prefetch":
            return [*found, *self._prefetched(number, segment, step, stepped)]
        return [*found, *self._plain(number, segment, step, stepped)]

    @cached_property
    def _rings(self) -> tuple[bool, ...]:
        return tuple(
            super(Segments, self)._in_ring(segment)
            and (step := step_of(self.m, segment)) is not None
            and _one_loop(self._steps(segment, step, ()), step)
            for segment in self.placement.segments
        )

    def _in_ring(self, segment: Segment) -> bool:
        """Tiles that several loops visit, one after the other, or that some are left out of, have no
        common number.
        """
        return self._rings[self.placement.segments.index(segment)]

    def _plain(
        self, number: int, segment: Segment, step: Fixed, stepped: list[Staged]
    ) -> tuple[Statement, ...]:
        """Each tile is copied, then used."""
        stage = self._stage(number, segment, step)
        inner = (*self._copies(stepped), Barrier(), *stage, Barrier())
        return self._steps(segment, step, inner)

    def _copies(self, staged: list[Staged]) -> tuple[Statement, ...]:
        """The tiles of `staged` copied one after another.

        Where few loads are in flight, those of one element a thread are on their way during the others.
        """
        copies = [self._copy(s) for s in staged]
        ahead = [c for c in copies if c.loads and c.single and len(copies) > 1]
        return (
            *(s for c in ahead for s in (c.registers(), *c.fetch())),
            *(s for c in copies if c not in ahead for s in c.direct()),
            *(s for c in ahead for s in c.put()),
        )

    def _prefetched(
        self, number: int, segment: Segment, step: Fixed, stepped: list[Staged]
    ) -> tuple[Statement, ...]:
        """The next tile travels in registers while this one is used."""
        copies = [self._copy(s, 1) for s in stepped]
        ahead = {step.name: add(Name(step.name), step.width)}
        body = [x for c in copies for x in c.put()]
        body.append(Barrier())
        body.extend(substituted(tuple(x for c in copies for x in c.fetch()), ahead))
        body.extend([*self._stage(number, segment, step), Barrier()])
        loop = self._steps(segment, step, tuple(body))
        head: list[Statement] = [c.registers() for c in copies]
        first = self._first_of(loop)
        before = [self._copy(s) for s in stepped]
        start = substituted(tuple(x for c in before for x in c.fetch()), {step.name: first})
        return (*head, *_unless_empty(loop, (*start, *loop)))

    def _first_of(self, loop: tuple[Statement, ...]) -> Expr:
        """Where the loop over tiles starts: its lower bound, or the only value."""
        match loop[0]:
            case For(_, lower, _, _, _, _, _):
                return lower
            case Declare(_, _, value, _) if value is not None:
                return value
            case If(_, then, _, _):
                return self._first_of(then)
        return Int(0)

    def _ring(
        self, number: int, segment: Segment, step: Fixed, stepped: list[Staged]
    ) -> tuple[Statement, ...]:
        """Tiles in flight: `stages` slots, each filled `stages - 1` tiles before it is used."""
        stages, width = self.m.mapping.stages, step.width
        copies = [self._copy(s, stages - 1) for s in stepped]
        here = Binary("%", Binary("/", Name(step.name), Int(width)), Int(stages))

        def fill(tiles_ahead: int, base: Expr) -> tuple[Statement, ...]:
            moves = tuple(x for c in copies for x in c.in_flight(here))
            return (*substituted(moves, {step.name: add(base, tiles_ahead * width)}), CommitCopies())

        body = (
            WaitCopies(stages - 2),
            Barrier(),
            *fill(stages - 1, Name(step.name)),
            Declare(self._slot(segment), "int", here),
            *self._stage(number, segment, step),
        )
        loop = self._steps(segment, step, body)
        first = self._first_of(loop)
        start = tuple(x for k in range(stages - 1) for x in fill(k, first))
        return _unless_empty(loop, (*start, *loop, WaitCopies(0)))

    def _copy(self, s: Staged, ahead: int = 0) -> Copy:
        """The copy of a tile, or of one up to `ahead` tiles further on."""
        offsets = tuple(self._offset(side.offset) for side in s.sides)
        multiples = {a.origin: a.tile for a in self.m.mapping.axes}
        segment = self.placement.segments[s.segment]
        # an asynchronous copy moves consecutive elements to consecutive places
        single = s.stepped and self._in_ring(segment) and s.transposed
        step = step_of(self.m, segment) if s.stepped else None
        positive = self._positive
        if step is not None:
            multiples[step.name] = step.width
            positive = positive | ({step.name} if self._starts_positive(step) else set())
        places = self._copy_context(step, ahead)
        return Copy(
            s,
            offsets,
            self.layouts[s.array],
            self.threads,
            self._site(s.tuple_name),
            positive,
            multiples,
            0 if single or (self.m.mapping.loads and s.transposed) else self.m.mapping.widest,
            self.m.mapping.loads,
            tuple(
                _stays_inside(side, self.layouts[s.array].extent(k), places) for k, side in enumerate(s.sides)
            ),
            self._always_used(s),
        )

    def _always_used(self, s: Staged) -> bool:
        """Whether some block uses the box wherever it is copied, whatever the data are."""
        users = {
            name
            for name in {statement for statement, _, _ in s.references}
            for a in self.m.p.statement(name).accesses
            if a.must and not a.write and reference_key(name, a.reference) in s.references
        }
        around = self.placement.segments[s.segment].node.statements if s.stepped else self.m.statements
        return bool(users) and self._happens(around).is_subset(self._happens(users))

    def _happens(self, statements: Iterable[str]) -> isl.Set:
        return reduce(isl.Set.union, (self.m.domain(name, ()).params() for name in sorted(statements)))

    def _copy_context(self, step: Fixed | None, ahead: int) -> isl.Set:
        """What holds of the tile origins, and of the tile of `step`, where something is copied.

        The last iterations also copy up to `ahead` tiles behind the last one. Loops of other segments say
        nothing: they may have the same name, or visit no tile.
        """
        places = self._block_context()
        for axis in self.m.mapping.axes:
            position = places.find_dim_by_name(D.param, axis.origin)
            local = isl.LocalSpace.from_space(places.get_space())
            origin = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.param, position))
            rest = origin.mod_val(isl.Val(axis.tile))
            places = places.intersect(rest.eq_set(rest.sub(rest)))
        return places if step is None else places.intersect(self._visits(step, ahead))

    def _steps(self, segment: Segment, step: Fixed, inner: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """The uniform loop over the step's tiles that any point of the block needs."""
        starts = self._visited(step).set_tuple_name("tile")
        order = isl.UnionMap.from_map(starts.identity().reset_tuple_id(D.out))
        tree = scan(order, self._block_context(), (step.name,))

        def leaf(found: ScanLeaf) -> tuple[Statement, ...]:
            value = found.arguments[0]
            return inner if value == Name(step.name) else (Declare(step.name, "int", value), *inner)

        return self._emit_uniform(tree, leaf)

    def _emit_uniform(self, tree: Scan, leaf: Leaf) -> tuple[Statement, ...]:
        match tree:
            case ScanBlock(children):
                return tuple(s for c in children for s in self._emit_uniform(c, leaf))
            case ScanFor(index, lower, upper, step, body):
                return (For(index, lower, upper, step, self._emit_uniform(body, leaf), uniform=True),)
            case ScanIf(test, then, otherwise):
                other = self._emit_uniform(otherwise, leaf) if otherwise is not None else ()
                return (If(test, self._emit_uniform(then, leaf), other, uniform=True),)
            case ScanLeaf():
                return leaf(tree)


def _stays_inside(side: Side, extent: Expr | None, places: isl.Set) -> bool:
    """Whether nothing at `places` moves the side out of an array dimension of constant `extent`."""
    if not isinstance(extent, Int):
        return False
    beyond = side.offset.add_constant_val(isl.Val(side.size - extent.value)).pos_set()
    outside = beyond.union(side.offset.neg().pos_set())
    return bool(outside.intersect(places).is_empty())


def _one_loop(loop: tuple[Statement, ...], step: Fixed) -> bool:
    """Whether tiles are visited by one loop that leaves none out, perhaps behind a test, or are just one.

    Only then is the next tile one width ahead. `loop` is the one around nothing.
    """
    match loop:
        case (For(step.name, _, _, step.width, (), _, _),) | (Declare(),):
            return True
        case (If(_, then, (), True),):
            return _one_loop(then, step)
    return False


def _unless_empty(loop: tuple[Statement, ...], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """`body` where the loop over tiles has any: what is fetched ahead of it must exist."""
    match loop[0]:
        case For(_, Int(lower), Int(upper), _, _, _, _):
            return body if lower < upper else ()
        case For(_, lower, upper, _, _, _, _):
            return (If(Binary("<", lower, upper), body, (), uniform=True),)
        case If(test, then, (), True) if isinstance(then[0], For | If):
            return (If(test, _unless_empty(then, body), (), uniform=True),)
    return body
