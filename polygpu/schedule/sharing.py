"""Threads that share the terms of sums: loops that only reductions keep from being parallel, in few threads.

before: for i { s = s + a[i]; }                                                  one thread
after:  kernel(c) { threads share i of chunk c: s_part[c] = the sum of a[i] }    a block a chunk
        kernel    { threads share c: s = s + the sum of s_part[c] }              one block

The chunks are so many iterations of loops, whatever their bounds are: what is added to what depends on sizes
alone. Where there are few chunks, or rows enough, a block a row combines all of its terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, reduce
from math import prod

import islpy as isl

from polygpu.analysis.places import holds
from polygpu.analysis.polyhedra import (
    AffineBuilder,
    PolyAccess,
    Polyhedra,
    PolyStatement,
    access_relation,
    named,
    statement_space,
)
from polygpu.analysis.reductions import Reduction, reductions, relaxed
from polygpu.model.decisions import OF_ONE_THREAD, Decision
from polygpu.model.expr import Call, Expr, Int, Name, Reference
from polygpu.model.rewrite import map_references, scalars_in, substitute
from polygpu.model.scop import TYPICAL_EXTENTS, Access, Array, Store
from polygpu.model.updates import alike, combined
from polygpu.schedule.fusion import Scope
from polygpu.schedule.nests import AXES, host_sequence, nests
from polygpu.schedule.tree import (
    Band,
    Host,
    HostLoop,
    HostSequence,
    Leaf,
    Member,
    Nest,
    Node,
    Shared,
    Update,
    band,
    has_zero_distance,
    parts,
    sequence,
    single_iterator,
)
from polygpu.support.child import patience
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, c_name, coalesced
from polygpu.support.recent import Recent, Same

FEW = 2048  # threads
SHORT = 64  # terms that a thread adds up by itself
LEAST, MOST = 2048, 1 << 14  # terms of a block
BLOCKS = 2048
_SECONDS = 5.0  # for dependences, as they take at most before a schedule is found
_RELAXED: Recent[isl.UnionMap] = Recent(8)  # which other kernels of the same region have, too


@dataclass
class Sharing:
    """A region and what of it threads share: `found` are the reductions whose terms may be reordered.

    `sizes` are typical values of parameters.
    """

    p: Polyhedra
    found: Sequence[Reduction]
    sizes: Mapping[str, int]
    decisions: Sequence[Decision] = ()
    new: list[PolyStatement] = field(default_factory=list)

    @cached_property
    def dependences(self) -> isl.UnionMap:
        """Those that are left where terms come in any order."""
        key = Same(self.p), *((r.statement, r.array) for r in self.found)
        with patience(_SECONDS):
            return _RELAXED.get(key, lambda: relaxed(self.p, self.found))

    def host(self, host: Host, outer: tuple[Member, ...] = ()) -> Host:
        """`host` with nests whose terms are shared; itself where there are none."""
        match host:
            case Nest():
                return self._nest(host, outer)
            case HostLoop(member, child):
                inner = self.host(child, (*outer, member))
                return host if inner is child else self._loop(member, inner, len(outer))
            case HostSequence(children):
                made = [self.host(child, outer) for child in children]
                alike = all(a is b for a, b in zip(made, children, strict=True))
                return host if alike else host_sequence(made)

    def _loop(self, member: Member, inner: Host, depth: int) -> HostLoop:
        """A loop of the host, around statements that combine partial results, too."""
        names = {s for nest in nests(inner) for s in nest.statements}
        rows = {s.name: _dimension(s, depth) for s in self.new if s.name in names}
        return HostLoop(Member({**member.rows, **rows}), inner)

    def _nest(self, nest: Nest, outer: tuple[Member, ...]) -> Host:
        """The parts of a nest, each that is shared by itself."""
        if nest.batch is not None or nest.waves is not None:
            return nest
        made: list[Host] = []
        left: list[Node] = []
        for part in parts(nest.body):
            shared = self._part(nest, part, outer)
            if shared is None:
                left.append(part)
            else:
                made += [*_rest(nest, left), shared]
                left = []
        return host_sequence([*made, *_rest(nest, left)]) if made else nest

    def _part(self, nest: Nest, part: Node, outer: tuple[Member, ...]) -> Host | None:
        if not isinstance(part, Band) or len(nest.parallel) > AXES:  # which are points enough
            return None
        names = part.statements
        rows = tuple(m.restricted(names) for m in nest.parallel)
        around = tuple(m.restricted(names) for m in outer)
        if not _Shared(self, around, rows, (), part).may_pay:
            return None
        loops, inner = _shareable(part, self._scope(*around, *rows).between(names, names))
        if not loops:
            return None if nest.parallel else self._in_turn(part, outer)
        made = _Shared(self, around, rows, loops, inner)
        return made.host() if made.is_possible and made.pays else None

    def _in_turn(self, part: Band, outer: tuple[Member, ...]) -> Host | None:
        """A loop of the host around what can be shared inside of it."""
        first, rest = part.members[0], band(part.members[1:], part.permutable, part.child)
        nest = Nest((), rest)
        inner = self._nest(nest, (*outer, first))
        return None if inner is nest else self._loop(first, inner, len(outer))

    def _scope(self, *members: Member) -> Scope:
        scope = Scope({s.name: s for s in self.p.statements}, self.dependences)
        return scope.inside(*members)


def sharing(
    p: Polyhedra,
    sources: Mapping[str, str],
    sizes: Mapping[str, int],
    decisions: Sequence[Decision],
) -> Sharing:
    """What may be shared of a region, whose temporaries stand for the arrays of `sources`."""
    return Sharing(p, list(reductions(p, sources)), sizes, decisions)


def _rest(nest: Nest, left: list[Node]) -> list[Host]:
    if not left:
        return []
    body = sequence(left)
    return [Nest(tuple(m.restricted(body.statements) for m in nest.parallel), body)]


def _shareable(part: Band, pairs: isl.UnionMap) -> tuple[tuple[Member, ...], Node]:
    """The outermost loops that no dependence of `pairs` crosses, and what is inside of them."""
    found: list[Member] = []
    node: Node = part
    while isinstance(node, Band):
        for k, member in enumerate(node.members):
            if not has_zero_distance(pairs, member, member):
                return tuple(found), band(node.members[k:], node.permutable, node.child)
            found.append(member)
        node = node.child
    return tuple(found), node


@dataclass(frozen=True)
class _Shared:
    """Loops that threads share, in the loops of the host `outer` and for each point of `rows`."""

    sharing: Sharing
    outer: tuple[Member, ...]
    rows: tuple[Member, ...]
    loops: tuple[Member, ...]
    inner: Node

    @property
    def p(self) -> Polyhedra:
        return self.sharing.p

    @property
    def mine(self) -> list[Reduction]:
        names = self.inner.statements
        return [r for r in self.sharing.found if r.statement in names]

    @property
    def is_possible(self) -> bool:
        """Whether the elements that are updated are those of rows."""
        return bool(self.mine) and all(self._elements(r) is not None for r in self.mine)

    @property
    def may_pay(self) -> bool:
        """Whether there is something to share, and rows are few or someone asks for it."""
        asked = any(d.key == "share" for d in self.sharing.decisions)
        return bool(self.mine) and (asked or prod(self._extents(self.rows)) < FEW)

    @property
    def pays(self) -> bool:
        """Whether it is asked for, or else there are few rows of many terms."""
        if self._asked is not None:
            return bool(self._asked.items)
        if any(d.key in OF_ONE_THREAD and self._is_here(d) for d in self.sharing.decisions):
            return False
        rows, terms = prod(self._extents(self.rows)), prod(self._extents(self.loops))
        return rows < FEW and terms > (SHORT if not self.outer else LEAST)

    @cached_property
    def _asked(self) -> Decision | None:
        mine = (d for d in reversed(self.sharing.decisions) if d.key == "share")
        return next((d for d in mine if self._is_here(d) and self._names_loop(d)), None)

    def _is_here(self, d: Decision) -> bool:
        """Whether a decision is for a statement of these, at its place; one for all nests is for none."""
        names = self.inner.statements
        if d.place is None:
            return d.key == "share"
        return any(holds(d.place, self.p, s) for s in names)

    def _names_loop(self, d: Decision) -> bool:
        return not d.items or any(name in d.names for loop in self.loops for name in self._called(loop))

    def _called(self, loop: Member) -> frozenset[str]:
        """What the source calls a loop."""
        sources = self.p.source_names()
        found = {sources.get(i, i) for s in loop.statements if (i := _iterator(loop, s))}
        lines = {self.p.statement(s).position.line for s in loop.statements}
        return frozenset(found | {f"{name}@{line}" for name in found for line in lines})

    def host(self) -> Host:
        """The kernels that share the terms."""
        widths = self._widths() if self._asked is None else self._asked_widths(self._asked)
        extents = self._extents(self.loops)
        cut = [k for k, (extent, width) in enumerate(zip(extents, widths, strict=True)) if extent > width]
        free = 3 - len(self.rows)  # dimensions of a grid
        rows = prod(self._extents(self.rows))
        if not cut or len(cut) > free or (rows > FEW and self._asked is None) or not self._is_named(cut):
            return Nest(self.rows, self._body(), Shared(self.loops, self._updates()))
        return self._chunked({k: widths[k] for k in cut})

    def _is_named(self, cut: Iterable[int]) -> bool:
        """Whether chunks and elements can be written down: by single iterators."""
        if not all(
            _iterator(m, s) for m in (*self.rows, *(self.loops[k] for k in cut)) for s in m.statements
        ):
            return False
        return all(self._used(r) <= self._names(r).keys() for r in self.mine)

    def _used(self, r: Reduction) -> frozenset[str]:
        """The iterators in the subscripts of what is updated."""
        return scalars_in(*r.target.subscripts) & {*self.p.statement(r.statement).iterators}

    def _names(self, r: Reduction) -> dict[str, int]:
        """Iterators that rows and the host's loops are, by the numbers of these."""
        found = (_iterator(m, r.statement) for m in (*self.outer, *self.rows))
        return {name: k for k, name in enumerate(found) if name}

    def _chunked(self, widths: Mapping[int, int]) -> Host:
        """Partial results of chunks, so many iterations of loops, and what combines them."""
        names = self.inner.statements
        chunks = tuple(
            Member({s: _quotient(self.loops[k].rows[s], width) for s in names}) for k, width in widths.items()
        )
        updates, ends = self._updates(), []
        for r in self.mine:
            ends.append(self._split(r, widths, chunks))
        self.sharing.new += ends
        self.sharing.p = replace(self.p, statements=(*self.p.statements, *ends))
        depth = len(self.outer)
        rows = tuple(_dimensions(ends, depth + k) for k in range(len(self.rows)))
        loops = tuple(_dimensions(ends, depth + len(self.rows) + k) for k in range(len(chunks)))
        last = sequence(Leaf((s.name,)) for s in ends)
        parts = [next(a.reference.array for a in s.accesses[1:]) for s in ends]
        first = tuple(replace(u, array=part) for u, part in zip(updates, parts, strict=True))
        final = tuple(replace(u, statement=s.name) for u, s in zip(updates, ends, strict=True))
        whole = tuple(widths.get(k, 0) for k in range(len(self.loops)))
        return HostSequence(
            (
                Nest((*self.rows, *chunks), self._body(), Shared(self.loops, first, whole)),
                Nest(rows, band(loops, False, last), Shared(loops, final)),
            )
        )

    def _updates(self) -> tuple[Update, ...]:
        return tuple(Update(r.statement, r.array, r.operator) for r in self.mine)

    def _body(self) -> Node:
        return band(self.loops, False, self.inner)

    def _split(self, r: Reduction, widths: Mapping[int, int], chunks: tuple[Member, ...]) -> PolyStatement:
        """Changes a statement to update elements of a new array of partial results; what combines these."""
        s, p = self.p.statement(r.statement), self.p
        name = free_name(f"{r.array}_part", p)
        mine = [_iterator(m, s.name) for m in self.rows]
        cut = [_chunk(_iterator(self.loops[k], s.name), width) for k, width in widths.items()]
        place = Reference(name, (*map(Name, mine), *cut), r.target.type, site=r.target.site)
        new = retargeted(s, r.target, place)
        statements = tuple(new if x is s else x for x in p.statements)
        old = p.array(r.array)
        array = Array(
            name, old.element, (None,) * len(place.subscripts), "region", old.position, live_out=False
        )
        self.sharing.p = replace(p, statements=statements, arrays=(*p.arrays, array))
        cut_loops = (f"{_iterator(self.loops[k], s.name)}_chunk" for k in widths)
        return self._end(s, r, name, chunks, tuple(cut_loops))

    def _end(
        self, s: PolyStatement, r: Reduction, array: str, chunks: tuple[Member, ...], called: tuple[str, ...]
    ) -> PolyStatement:
        """`element = element op partial result`, for all rows and chunks."""
        p, name = self.sharing.p, free_name(f"{s.name}_{r.array}", self.sharing.p)
        members = (*self.outer, *self.rows, *chunks)
        plain = (*(f"{_iterator(m, s.name)}_sum" for m in (*self.outer, *self.rows)), *called)
        names = tuple(free_name(f"{n}_{r.array}", p) for n in plain)
        space = statement_space(p.parameters, name, names)
        points = _points(s, members)
        domain = named(space, coalesced(s.domain.apply(points)))
        inside = len(self.outer)
        part = Reference(array, tuple(map(Name, names[inside:])), r.target.type, site=r.target.site)
        values: dict[str, Expr] = {i: Name(names[k]) for i, k in self._names(r).items()}
        element = replace(r.target, subscripts=tuple(substitute(e, values) for e in r.target.subscripts))
        builder = AffineBuilder(space)

        def access(reference: Reference, write: bool) -> PolyAccess:
            text = f"{r.array} of chunks" if reference is part else r.array
            a = Access(reference, write, True, True, s.position, text)
            relation = access_relation(builder, domain, a)
            return PolyAccess(reference, relation, write, True, True, s.position, text)

        body = (Store(element, combined(r.operator, element, part)),)
        order = isl.Map.from_domain_and_range(domain, isl.Set.universe(s.schedule.range().get_space()))
        for k in range(order.dim(D.out)):
            order = order.fix_val(D.out, k, isl.Val(0))
        accesses = (access(element, False), access(part, False), access(element, True))
        text = f"{r.array}: what chunks of it add up to"
        return PolyStatement(name, names, (), domain, order, body, accesses, s.position, text, combines=True)

    def _elements(self, r: Reduction) -> isl.Map | None:
        """Points of rows to the elements they update; None where these are several, or not affine."""
        s = self.p.statement(r.statement)
        a = next(a for a in s.accesses if a.write and a.reference.array == r.array)
        found = coalesced(_points(s, (*self.outer, *self.rows)).reverse().apply_range(a.relation))
        return found if found.is_single_valued() else None

    def _extents(self, members: Iterable[Member]) -> list[int]:
        return [max(self._extent(m, s) for s in m.statements) for m in members]

    def _extent(self, member: Member, statement: str) -> int:
        """The values of a loop at typical sizes: a parameter that it starts from is 0 if others are not."""
        sizes = self.sharing.sizes
        starts = (name for name in self.p.parameters if name not in sizes)
        found = self._extent_at(member, statement, sizes)
        if found > 1:
            return found
        return max((found, *(self._extent_at(member, statement, {**sizes, n: 0}) for n in starts)))

    def _extent_at(self, member: Member, statement: str, sizes: Mapping[str, int]) -> int:
        s = self.p.statement(statement)
        unknown = TYPICAL_EXTENTS.get(max(len(s.iterators), 1), 64)
        domain = s.domain
        for name in self.p.parameters:
            position = domain.find_dim_by_name(D.param, name)
            if position >= 0:
                domain = domain.fix_val(D.param, position, isl.Val(sizes.get(name, unknown)))
        values = domain.apply(isl.Map.from_pw_aff(member.rows[statement]))
        if values.is_empty():
            return unknown
        low, high = values.dim_min_val(0), values.dim_max_val(0)
        return high.to_python() - low.to_python() + 1 if low.is_int() and high.is_int() else unknown

    def _asked_widths(self, d: Decision) -> list[int]:
        """Iterations of each loop in a chunk; all of them where none are named."""
        values = {name: value for name, value in d.items if isinstance(value, int)}
        named = (next((values[n] for n in self._called(loop) if n in values), None) for loop in self.loops)
        return [width or n for n, width in zip(self._extents(self.loops), named, strict=True)]

    def _widths(self) -> list[int]:
        """Iterations of each loop in a chunk, most of the innermost."""
        extents = self._extents(self.loops)
        wanted = min(max(_power(prod(extents) // BLOCKS), LEAST), MOST)
        found: list[int] = []
        for extent in reversed(extents):
            width = min(_power(extent), 1024 if len(extents) > 1 and not found else wanted, wanted)
            wanted = max(1, wanted // width)
            found.append(width)
        return found[::-1]


def _iterator(member: Member, statement: str) -> str:
    """The iterator of the source that a loop is; "" for none."""
    name = single_iterator(member.rows[statement])
    return c_name(name) if name is not None else ""


def _chunk(iterator: str, width: int) -> Expr:
    return Call("floord", (Name(iterator), Int(width)), "int") if width > 1 else Name(iterator)


def _quotient(row: isl.PwAff, width: int) -> isl.PwAff:
    return row.scale_down_val(isl.Val(width)).floor()


def _dimension(s: PolyStatement, k: int) -> isl.PwAff:
    local = isl.LocalSpace.from_space(s.domain.get_space())
    return isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.set, k))


def _dimensions(statements: Iterable[PolyStatement], k: int) -> Member:
    return Member({s.name: _dimension(s, k) for s in statements})


def _points(s: PolyStatement, members: Iterable[Member]) -> isl.Map:
    """Instances of `s` to the values of the members."""
    nowhere = isl.Map.from_domain_and_range(s.domain, isl.Set("{ [] }"))
    return reduce(isl.Map.flat_range_product, (isl.Map.from_pw_aff(m.rows[s.name]) for m in members), nowhere)


def retargeted(s: PolyStatement, target: Reference, place: Reference) -> PolyStatement:
    """`s` with updates of `place` instead of `target`."""

    def moved(reference: Reference) -> Reference:
        return replace(place, site=reference.site) if alike(reference, target) else reference

    def access(a: PolyAccess) -> PolyAccess:
        new = moved(a.reference)
        if new is a.reference:
            return a
        relation = access_relation(builder, s.domain, Access(new, a.write, a.must, True, a.position, a.text))
        return replace(a, reference=new, relation=relation)

    builder = AffineBuilder(s.domain.get_space())
    body = map_references(s.body, lambda reference, _: moved(reference))
    return replace(s, body=body, accesses=tuple(map(access, s.accesses)))


def free_name(name: str, p: Polyhedra) -> str:
    """`name`, or the like where there is something of that name."""
    taken = p.names() | {n for s in p.statements for n in (s.name, *s.iterators)}
    while name in taken:
        name += "_"
    return name


def _power(n: int) -> int:
    """The least power of two that is no less."""
    return 1 << max(n - 1, 0).bit_length()
