"""Tiles of time: several steps of a sequential loop in one launch, where points read only their neighbours.

before: for t { kernel(i) { B[i] = f(A[i - 1 .. i + 1]); }  kernel(i) { A[i] = f(B[i - 1 .. i + 1]); } }
after:  for t / 4 { kernel(i) { four steps of a tile, at its rim what other blocks compute as well } }
        A = A_next, where the last tile stored there

A point is the element that its statement writes. What a point reads of arrays that the loop writes lies a
bounded distance away, so that each side of a tile loses a few points with each statement, the same number in
each step from some step on: the cone of its dependences. Tiles overlap by what is lost (Holewinski et al.,
ICS'12). Arrays whose values go from tile to tile have a second version: even tiles read the array and store
to that, odd ones the other way round, since blocks read what their neighbours overwrite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Row
from dataclasses import replace
from functools import cached_property, reduce

import islpy as isl

from polygpu.analysis.dependences import Dependences
from polygpu.analysis.final_values import affine_expression, copy_of_version
from polygpu.analysis.places import holds
from polygpu.analysis.polyhedra import AffineBuilder, PolyAccess, Polyhedra, PolyStatement
from polygpu.model.decisions import Decision
from polygpu.model.expr import Expr
from polygpu.schedule.nests import host_sequence, nests
from polygpu.schedule.tree import (
    Band,
    Carried,
    Host,
    HostLoop,
    HostSequence,
    Leaf,
    Member,
    Nest,
    Node,
    Phase,
    Sequence,
    Side,
    Steps,
    between,
    sequence,
)
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import D, coalesced, maps, pieces, tuple_name

_CONE = 8  # points lost in a step, on each side
MOST = 3  # dimensions of a tile


class RefusedStepsError(Exception):
    """Why the steps of a loop cannot be tiled."""


def never(_: Cone) -> int:
    """No tiles of time where nobody asks for them."""
    return 0


@dataclass(frozen=True)
class TimeTiles:
    """Loops of a region in tiles of so many steps: what decisions say, or as many as `usual`."""

    p: Polyhedra
    dependences: Dependences
    decisions: Row[Decision]
    usual: Callable[[Cone], int]

    def host(self, host: Host) -> tuple[Polyhedra, Host]:
        """The region with tiles of time; the same values where there are none.

        Raises Diagnosed for a loop that someone wants tiled.
        """
        match host:
            case HostLoop():
                return self._loop(host)
            case HostSequence(children):
                p, made = self.p, []
                for child in children:
                    p, other = replace(self, p=p).host(child)
                    made.append(other)
                return (p, host_sequence(made)) if p is not self.p else (p, host)
        return self.p, host

    def _loop(self, loop: HostLoop) -> tuple[Polyhedra, Host]:
        decision, asked = self._asked(loop)
        if asked == 0:
            return self.p, loop
        try:
            found = Cone(self.p, self.dependences, loop)
            width = asked or self._usual(found)
            return found.tiled(width) if width else (self.p, loop)
        except RefusedStepsError as problem:
            if decision is not None and decision.place is not None and not decision.place.function:
                position = self.p.statement(loop.member.statements[0]).position
                why = f"'{decision}': {problem}"
                raise Diagnosed(Diagnostic("PG304", "error", why, position, "decide steps(0)")) from None
        return self.p, loop

    def _usual(self, cone: Cone) -> int:
        """The steps of a tile where nobody decides; 0 where someone decides how the kernels of a step run."""
        sources = self.p.source_names()
        loops = {sources.get(i, i) for s in cone.statements for i in s.iterators}
        for d in (d for d in self.decisions if d.key != "steps"):
            named = {name.partition("@")[0].removeprefix("-") for name in d.names} & loops
            if any(holds(d.place, self.p, s) for s in cone.order) if d.place is not None else named:
                return 0
        return self.usual(cone)

    def _asked(self, loop: HostLoop) -> tuple[Decision | None, int | None]:
        """The steps of a tile that a decision wants, and the decision."""
        names = [s for nest in nests(loop) for s in nest.statements]
        sources = self.p.source_names()
        called = {sources.get(i, i) for s in names for i in self.p.statement(s).iterators[:1]}
        for d in reversed(self.decisions):
            here = d.place is None or any(holds(d.place, self.p, s) for s in names)
            if d.key == "steps" and here:
                value = next((v for name, v in d.items if name in called), d.value)
                if isinstance(value, int):
                    return d, value
        return None, None


@dataclass(frozen=True)
class Cone:
    """What the steps of a loop read of each other. Raises RefusedStepsError where that has no bound."""

    p: Polyhedra
    dependences: Dependences
    loop: HostLoop

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The statements of a step."""
        found = nests(self.loop.child)
        if _has_loops(self.loop.child):
            raise RefusedStepsError("a step has sequential loops of its own")
        return tuple(s for nest in found for s in _leaves(nest.body))

    @cached_property
    def statements(self) -> tuple[PolyStatement, ...]:
        return tuple(self.p.statement(s) for s in self.order)

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        """Those that the loop writes."""
        return tuple(sorted({a.reference.array for s in self.statements for a in s.accesses if a.write}))

    @cached_property
    def rank(self) -> int:
        ranks = {len(a.reference.subscripts) for s in self.statements for a in s.accesses if a.write}
        if len(ranks) != 1 or not 0 < max(ranks) <= MOST:
            raise RefusedStepsError("the arrays that steps write differ in their dimensions")
        return max(ranks)

    @cached_property
    def points(self) -> dict[str, isl.Map]:
        """Instances of each statement to the elements that they write, without a name."""
        return {s.name: self._points(s) for s in self.statements}

    def _points(self, s: PolyStatement) -> isl.Map:
        writes = [a for a in s.accesses if a.write]
        if any(not a.affine or not a.must or a.reference.field for a in writes):
            raise RefusedStepsError(f"'{s.text}' may write anywhere, or nothing")
        found = [a.relation.reset_tuple_id(D.out) for a in writes]
        if any(not found[0].is_equal(other) for other in found[1:]):
            raise RefusedStepsError(f"'{s.text}' writes several elements")
        both = self._times(s.name).flat_range_product(found[0])
        if not both.is_injective():
            raise RefusedStepsError(f"'{s.text}' writes an element several times in a step")
        return found[0]

    def _times(self, statement: str) -> isl.Map:
        """Instances to their step."""
        row = isl.Map.from_pw_aff(self.loop.member.rows[statement])
        return row.intersect_domain(self.p.statement(statement).domain).reset_tuple_id(D.out)

    def written(self, array: str) -> isl.Map:
        """Steps to the elements that they write of an array."""
        return self._of_steps((s.name, a) for s in self.statements for a in s.accesses if _is(a, array, True))

    def _of_steps(self, accesses: Iterable[tuple[str, PolyAccess]]) -> isl.Map:
        parts = [self._times(s).reverse().apply_range(a.relation) for s, a in accesses]
        return coalesced(reduce(isl.Map.union, parts))

    def elements(self, array: str) -> isl.Set:
        """All that steps write of an array. Raises RefusedStepsError where steps differ in that."""
        writes = self.written(array)
        times = reduce(isl.Set.union, (self._times(s).range() for s in self.order))
        every = isl.Map.from_domain_and_range(coalesced(times), writes.range())
        if not every.is_subset(writes):
            raise RefusedStepsError(f"steps differ in what they write of '{array}'")
        return coalesced(writes.range())

    @cached_property
    def times(self) -> isl.Set:
        return coalesced(reduce(isl.Set.union, (self._times(s).range() for s in self.order)))

    @cached_property
    def first(self) -> Expr:
        """The first step."""
        found = pieces(self.times.dim_min(0).coalesce())
        value = affine_expression(found[0][1], ()) if len(found) == 1 else None
        if value is None:
            raise RefusedStepsError("the first step is no sum of sizes")
        return value

    @cached_property
    def _within(self) -> isl.UnionMap:
        """The dependences between instances of one step."""
        mine = between(
            self.dependences.all, self.order, self.order, {s.name: s.domain for s in self.p.statements}
        )
        return self.loop.member.at_one_value(mine)

    def _depends(self, source: str, sink: str) -> bool:
        names = ((tuple_name(m, D.in_), tuple_name(m, D.out)) for m in maps(self._within) if not m.is_empty())
        return (source, sink) in names

    @cached_property
    def meets(self) -> tuple[bool, ...]:
        """Before which statements threads of a block wait for each other: where one of two since then writes
        what the other reads of other points, be it for points of the tile that are no instances.
        """
        found: list[bool] = []
        since: list[str] = []
        for k, s in enumerate(self.order):
            if any(self._depends(s, other) for other in self.order[: k + 1]):
                raise RefusedStepsError(f"'{self.p.statement(s).text}' depends on itself in a step")
            found.append(any(self._depends(other, s) or self._exchange(other, s) for other in since))
            since = [s] if found[-1] else [*since, s]
        return tuple(found)

    def _exchange(self, one: str, other: str) -> bool:
        written = {
            s: {a.reference.array for a in self.p.statement(s).accesses if a.write} for s in (one, other)
        }
        return bool(self._far.get(other, set()) & written[one] or self._far.get(one, set()) & written[other])

    @cached_property
    def _far(self) -> dict[str, set[str]]:
        """By statement, the arrays that it reads at other points than its own."""
        found: dict[str, set[str]] = {}
        for s, array, distances in self._distances():
            if any(d != range(1) for d in distances):
                found.setdefault(s, set()).add(array)
        return found

    def _distances(self) -> Iterator[tuple[str, str, tuple[range, ...]]]:
        """Statement, array that it reads there, and how far away along each dimension."""
        for s in self.statements:
            for a in s.accesses:
                if a.write or a.reference.array not in self.arrays:
                    continue
                if not a.affine or a.reference.field:
                    raise RefusedStepsError(f"'{a.text}' may be any element")
                yield s.name, a.reference.array, self._distance(s.name, a)

    def _distance(self, statement: str, a: PolyAccess) -> tuple[range, ...]:
        apart = self.points[statement].reverse().apply_range(a.relation.reset_tuple_id(D.out)).deltas()
        low = [apart.dim_min_val(k) for k in range(self.rank)]
        high = [apart.dim_max_val(k) for k in range(self.rank)]
        if not all(v.is_int() for v in (*low, *high)):
            raise RefusedStepsError(f"'{a.text}' is at no bounded distance from what is written")
        return tuple(
            range(one.to_python(), other.to_python() + 1) for one, other in zip(low, high, strict=True)
        )

    @cached_property
    def margins(self) -> dict[str, tuple[tuple[Side, Side], ...]]:
        """By statement, along each dimension before and behind: points of a tile that it leaves out."""
        distances = list(self._distances())
        sides = [
            (
                self._side([(s, b, -d[k].start) for s, b, d in distances]),
                self._side([(s, b, d[k].stop - 1) for s, b, d in distances]),
            )
            for k in range(self.rank)
        ]
        return {s: tuple((low[s], high[s]) for low, high in sides) for s in self.order}

    def _side(self, reads: Row[tuple[str, str, int]]) -> dict[str, Side]:
        """Of each statement the points at the start, and how many more in each step: the fewest there are."""
        for slope in range(_CONE + 1):
            found = self._starts(reads, slope)
            if found is not None:
                return {s: Side(start, slope) for s, start in found.items()}
        raise RefusedStepsError(f"more than {_CONE} points of each side are lost in a step")

    def _starts(self, reads: Row[tuple[str, str, int]], slope: int) -> dict[str, int] | None:
        """Longest paths along what is read (Bellman and Ford); None where they have no end."""
        place = {s: k for k, s in enumerate(self.order)}
        writers = {a: [s.name for s in self.statements if _writes(s, a)] for a in self.arrays}
        starts = dict.fromkeys(self.order, 0)
        for _ in range(len(self.order) + 1):
            before = dict(starts)
            for s, array, distance in reads:
                ends = [starts[w] - slope * (place[w] >= place[s]) for w in writers[array]]
                starts[s] = max(starts[s], distance, *(end + distance for end in ends))
            if starts == before:
                return starts
        return None

    def tiled(self, width: int) -> tuple[Polyhedra, Host]:
        """The region with tiles of so many steps."""
        _ = self.rank, self.points  # which tell whether each instance surely writes one element, as all do
        carried = [self._carried(array) for array in self.arrays]
        phases = tuple(
            Phase(s, meet, self.margins[s]) for s, meet in zip(self.order, self.meets, strict=True)
        )
        member = Member({s: self._tile_of(s, width) for s in self.order})
        tiles = coalesced(self.times.apply(isl.Map.from_pw_aff(self._floor(self.times.get_space(), width))))
        if not isl.Set.from_basic_set(tiles.convex_hull().remove_divs()).is_subset(tiles):
            raise RefusedStepsError("some steps are left out")
        last = tiles.lexmax()
        p, copies = self._with_versions(carried, last)
        steps = Steps(self.loop.member, self.first, width, phases, tuple(carried), last)
        body = sequence(Leaf((s,)) for s in self.order)
        rows = tuple(Member({s.name: _coordinate(s, k) for s in self.statements}) for k in range(self.rank))
        return p, host_sequence([HostLoop(member, Nest(rows, body, steps=steps)), *copies])

    def _tile_of(self, statement: str, width: int) -> isl.PwAff:
        row = self.loop.member.rows[statement]
        first = AffineBuilder(row.get_domain_space()).value(self.first)
        return row.sub(first).scale_down_val(isl.Val(width)).floor()

    def _floor(self, space: isl.Space, width: int) -> isl.PwAff:
        """Steps to tiles."""
        local = isl.LocalSpace.from_space(space)
        row = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.set, 0))
        first = AffineBuilder(space).value(self.first)
        return row.sub(first).scale_down_val(isl.Val(width)).floor()

    def _carried(self, array: str) -> Carried:
        elements = self.elements(array)
        live = self._is_live(array)
        mine = [(s.name, a) for s in self.statements for a in s.accesses if a.reference.array == array]
        other = _free(f"{array}_next", self.p) if live else ""
        used = existing(self._of_steps(mine).range(), self.p.array(array).extents)
        reads = [(s.name, a) for s in self.statements for a in s.accesses if _is(a, array, False)]
        apart = {(s, a.reference.subscripts): self._distance(s, a) for s, a in reads}
        constant = all(len(line) == 1 for d in apart.values() for line in d)
        distances = {key: tuple(line[0] for line in d) for key, d in apart.items()} if constant else {}
        lines = [[d[k] for d in apart.values()] for k in range(self.rank)]
        reach = tuple(
            (max(0, *(-d.start for d in line), 0), max(0, *(d.stop - 1 for d in line), 0)) for line in lines
        )
        return Carried(array, elements, used, live, self._is_kept(array), distances, reach, other)

    def _is_live(self, array: str) -> bool:
        """Whether steps read what those before them wrote, or what was there before the loop."""
        elements = self.elements(array)
        for k, s in enumerate(self.statements):
            before = [(w.name, a) for w in self.statements[:k] for a in w.accesses if _is(a, array, True)]
            for a in (a for a in s.accesses if _is(a, array, False)):
                read = self._of_steps([(s.name, a)]).intersect_range(elements)
                supplied = before and read.is_subset(self._of_steps(before))
                if not supplied and not read.is_empty():
                    return True
        return False

    def _is_kept(self, array: str) -> bool:
        """Whether something reads the array after the loop."""
        if self.p.array(array).live_out:
            return True
        others = {s.name for s in self.p.statements} - set(self.order)
        domains = {s.name: s.domain for s in self.p.statements}
        return not between(self.dependences.flow, self.order, others, domains).is_empty() if others else False

    def _with_versions(self, carried: Row[Carried], last: isl.Set) -> tuple[Polyhedra, list[Nest]]:
        """Second versions of arrays, and what copies them in the end, where the last tile is an even one."""
        p, copies = self.p, []
        even = last.intersect(isl.Set("{ [k] : k mod 2 = 0 }")).params()
        for c in (c for c in carried if c.other):
            old = p.array(c.array)
            writer, access = next(
                (s, a) for s in self.statements for a in s.accesses if _is(a, c.array, True)
            )
            new = old.of_region(c.other)
            p = replace(p, arrays=(*p.arrays, new))
            copied = c.elements.intersect_params(even)
            if copied.intersect_params(p.context).is_empty():
                if None in old.extents:
                    raise RefusedStepsError(f"'{c.array}' has no size")
                continue
            copy = copy_of_version(p, writer, access, copied, c.other)
            p = replace(p, statements=(*p.statements, copy))
            rows = tuple(Member({copy.name: _dimension(copy, k)}) for k in range(self.rank))
            copies.append(Nest(rows, Leaf((copy.name,))))
        return p, copies


def existing(elements: isl.Set, extents: Row[Expr | None]) -> isl.Set:
    """All elements of an array whose extents are known, and else those whose subscripts `elements` have."""
    rank = elements.dim(D.set)
    found = isl.Set.universe(elements.get_space())
    local = isl.LocalSpace.from_space(elements.get_space())
    builder = AffineBuilder(elements.get_space())
    for k, extent in enumerate(extents):
        subscript = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.set, k))
        try:
            end = builder.value(extent) if extent is not None else None
        except ValueError:  # no affine extent
            end = None
        if end is not None:
            found = found.intersect(subscript.nonneg_set()).intersect(subscript.lt_set(end))
        else:
            others = (d for d in range(rank) if d != k)
            found = found.intersect(reduce(lambda line, d: line.eliminate(D.set, d, 1), others, elements))
    return coalesced(found)


def _has_loops(host: Host) -> bool:
    match host:
        case HostLoop():
            return True
        case HostSequence(children):
            return any(map(_has_loops, children))
    return False


def _leaves(node: Node) -> tuple[str, ...]:
    """The statements in the order of the code."""
    match node:
        case Leaf(statements):
            return statements
        case Band(_, _, child):
            return _leaves(child)
        case Sequence(children):
            return tuple(s for child in children for s in _leaves(child))


def _is(a: PolyAccess, array: str, write: bool) -> bool:
    return a.write == write and a.reference.array == array


def _writes(s: PolyStatement, array: str) -> bool:
    return any(_is(a, array, True) for a in s.accesses)


def _coordinate(s: PolyStatement, k: int) -> isl.PwAff:
    """Subscript k of what the statement writes."""
    write = next(a for a in s.accesses if a.write)
    return AffineBuilder(s.domain.get_space()).value(write.reference.subscripts[k])


def _dimension(s: PolyStatement, k: int) -> isl.PwAff:
    local = isl.LocalSpace.from_space(s.domain.get_space())
    return isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.set, k))


def _free(name: str, p: Polyhedra) -> str:
    taken = p.names() | {n for s in p.statements for n in (s.name, *s.iterators)}
    while name in taken:
        name += "_"
    return name
