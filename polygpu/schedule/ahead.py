"""Terms of sums ahead of the steps of a host loop: what waits for nothing in a tile of steps goes before it.

before: for c { kernel(i) { S; for k: t[i][i + c] = max(t[i][i + c], t[i][k] + t[k][i + c]) } }
after:  for each tile of steps c {
            kernel(i, c) { part[c][i] = least; for some k: part[c][i] = max(part[c][i], t[i][k] + ...) }
            for c of the tile {
                kernel(i) { S; rest = part[c][i]; for other k: rest = max(rest, t[i][k] + t[k][i + c]);
                            t[i][i + c] = max(t[i][i + c], rest) }
            }
        }

The index set of the sum is split where the sources of its terms lie: terms that read nothing that is stored
in their own tile of steps are a product over all points of the tile at once, whose operands are reused. What
is left of a sum in each step, few terms, is as in the source. Values of partial results are in a temporary,
and are combined with the element behind its last term, so terms of integers may come in this order.
Optimal parenthesizations, search trees and foldings are such loops over fronts of intervals (Galil, Park:
Parallel algorithms for dynamic programming recurrences with more than O(1) dependency, JPDC 21 (1994)).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, reduce

import islpy as isl

from polygpu.analysis.dependences import Dependences
from polygpu.analysis.final_values import affine_expression
from polygpu.analysis.flow import conflicts
from polygpu.analysis.index_sets import cut
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
from polygpu.analysis.reductions import Reduction, element_reductions
from polygpu.model.decisions import Decision
from polygpu.model.expr import Expr, Reference
from polygpu.model.rewrite import references, scalars_in
from polygpu.model.scop import Access, Array, Store
from polygpu.model.updates import alike, combined, neutral
from polygpu.schedule.fusion import Scope
from polygpu.schedule.loop_names import loop_names
from polygpu.schedule.nests import host_sequence
from polygpu.schedule.sharing import free_name, retargeted
from polygpu.schedule.tree import (
    Band,
    Host,
    HostLoop,
    HostSequence,
    Leaf,
    Member,
    Nest,
    Node,
    parts,
    sequence,
    single_iterator,
)
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, c_name, coalesced, identifier, pieces, union_of


@dataclass(frozen=True)
class _Sum:
    """A loop over the terms of elements, one a point of `nest`, in the steps `member` of a host loop."""

    p: Polyhedra
    outer: tuple[Member, ...]
    member: Member
    nest: Nest
    loop: Band
    reduction: Reduction

    @property
    def statement(self) -> PolyStatement:
        return self.p.statement(self.reduction.statement)

    @property
    def term(self) -> str:
        """The iterator of the loop over terms; "" where that is none."""
        return single_iterator(self.loop.members[0].rows[self.reduction.statement]) or ""

    @cached_property
    def is_plain(self) -> bool:
        """Whether a point of a step has all terms of its element, in one loop."""
        s, target = self.statement, self.reduction.target
        position = s.domain.find_dim_by_name(D.set, self.term) if self.term else -1
        if position < 0 or c_name(self.term) in scalars_in(*target.subscripts):
            return False
        members = (*self.outer, self.member, *self.nest.parallel)
        if any(m.rows[s.name].involves_dims(D.in_, position, 1) for m in members):
            return False
        if len(s.iterators) - 1 != len(members):
            return False
        if None in self.coordinates:
            return False
        outer = _values(s, self.outer)
        points = _values(s, members)
        mine = outer.flat_range_product(self._of_target(write=True).relation)
        return bool(points.reverse().apply_range(mine).is_injective())

    @cached_property
    def coordinates(self) -> tuple[Expr | None, ...]:
        """The step and the point of a term; None where that is no expression of its iterators."""
        s = self.statement
        rows = (pieces(m.rows[s.name]) for m in (self.member, *self.nest.parallel))
        return tuple(affine_expression(row[0][1], s.iterators) if len(row) == 1 else None for row in rows)

    def _of_target(self, write: bool) -> PolyAccess:
        return next(a for a in self.statement.accesses if a.write == write and self.is_target(a.reference))

    def is_target(self, reference: Reference) -> bool:
        return alike(reference, self.reduction.target)

    @cached_property
    def before(self) -> isl.UnionMap:
        """Instances that store what terms read, to those terms; only of statements of the host loop."""
        order, names = self.p.schedule(), self.member.statements
        accesses = [(s, a) for s in map(self.p.statement, names) for a in s.accesses]
        stores = union_of([a.relation for _, a in accesses if a.write])
        reads = [a for a in self.statement.accesses if not a.write and not self.is_target(a.reference)]
        return conflicts(stores, union_of([a.relation for a in reads]), order)

    def waiting(self, width: int) -> isl.Set | None:
        """The terms that read what their own tile of `width` steps stores; None where some read their own
        element.
        """
        scope = Scope({s.name: s for s in self.p.statements}, self.before).inside(*self.outer)
        within = scope.inside(self.member).inside(*self.nest.parallel)
        name = self.reduction.statement
        if within.follows([name], [name]):
            return None
        tile = scope.inside(quotient(self.member, width)).dependences.range()
        return coalesced(self.statement.domain.intersect(tile.extract_set(self.statement.domain.get_space())))

    def is_short(self, terms: isl.Set) -> bool:
        """Whether these are a limited number of terms of each element, for all sizes."""
        position = terms.find_dim_by_name(D.set, self.term)
        for part in terms.get_basic_sets():
            pairs = isl.BasicMap.from_domain_and_range(part, part)
            for k in range(part.dim(D.set)):
                pairs = pairs.equate(D.in_, k, D.out, k) if k != position else pairs
            if not pairs.deltas().dim_max_val(position).is_int():
                return False
        return True


def _values(s: PolyStatement, members: Iterable[Member]) -> isl.Map:
    """Instances to the values of the members."""
    nowhere = isl.Map.from_domain_and_range(s.domain, isl.Set("{ [] }"))
    return reduce(isl.Map.flat_range_product, (isl.Map.from_pw_aff(m.rows[s.name]) for m in members), nowhere)


def quotient(member: Member, width: int) -> Member:
    return Member({s: row.scale_down_val(isl.Val(width)).floor() for s, row in member.rows.items()})


@dataclass
class Ahead:
    """A region in the course of terms of sums going ahead of tiles of `width` steps, where no decisions say
    of how many. `sources` are the arrays of the source that temporaries stand for.

    `tiled` has the loops over terms of which some go ahead, and the steps of their tiles, by statements;
    `followed` the decisions that were.
    """

    p: Polyhedra
    d: Dependences
    width: int
    sources: Mapping[str, str]
    decisions: Sequence[Decision] = ()
    tiled: dict[str, tuple[Member, int]] = field(default_factory=dict)
    followed: set[Decision] = field(default_factory=set)
    new: dict[str, _Statements] = field(default_factory=dict)

    @property
    def whole(self) -> frozenset[str]:
        """The sums that are in two now."""
        return frozenset(made.whole for made in self.new.values())

    def host(self, host: Host, outer: tuple[Member, ...] = ()) -> Host:
        """`host` with terms that go ahead wherever they can, outside first; itself where nowhere."""
        match host:
            case Nest():
                return host
            case HostSequence(children):
                made = [self.host(child, outer) for child in children]
                same = all(a is b for a, b in zip(made, children, strict=True))
                return host if same else host_sequence(made)
            case HostLoop(member, child):
                found = self._ahead(host, outer)
                if found is not None:
                    return found
                inner = self.host(child, (*outer, member))
                return host if inner is child else HostLoop(self._with_new(member, inner), inner)

    def _ahead(self, host: HostLoop, outer: tuple[Member, ...]) -> Host | None:
        """The loop in tiles of steps, the first sum of it that has such terms ahead of each."""
        for nest in _steps(host):
            for one in self._sums(host, outer, nest):
                width = self._width(one)
                waiting = one.waiting(width) if width > 1 and one.is_plain else None
                if waiting is None:
                    continue
                first = one.statement.domain.subtract(waiting).coalesce()
                if not (first.is_empty() or waiting.is_empty()) and (
                    self._asked(one) or self._pays(one, waiting)
                ):
                    return self._made(host, one, first, waiting, width)
        return None

    def _pays(self, one: _Sum, waiting: isl.Set) -> bool:
        """Whether few terms are left in each step, of elements that are the source's: a certificate knows no
        chain of terms from others of one scalar in a tile of steps.
        """
        return one.reduction.array not in self.sources and one.is_short(waiting)

    def _sums(self, host: HostLoop, outer: tuple[Member, ...], nest: Nest) -> Iterator[_Sum]:
        """The loops over terms in the body of a nest, each of one statement."""
        if not nest.parallel or nest.shared or nest.steps or nest.batch or nest.waves:
            return
        found = {r.statement: r for r in element_reductions(self.p, self.sources)}
        for part in parts(nest.body):
            match part:
                case Band((_,), _, Leaf((name,))) if name in found:
                    yield _Sum(self.p, outer, host.member, nest, part, found[name])

    def _asked(self, one: _Sum) -> list[tuple[int, Decision]]:
        """The steps of a tile that decisions want of a loop over terms, the one that counts last."""
        names = loop_names(self.p, one.loop.members[0])
        return [
            (value, d)
            for d in self.decisions
            if d.place is None
            or any(holds(replace(d.place, number=0), self.p, s) for s in one.nest.statements)
            for name, value in d.items
            if name in names and isinstance(value, int)
        ]

    def _width(self, one: _Sum) -> int:
        """The steps of a tile. Decisions about a single step are followed by that."""
        asked = self._asked(one)
        width = asked[-1][0] if asked else self.width
        self.followed |= {d for value, d in asked if value == width == 1}
        return width

    def _made(self, host: HostLoop, one: _Sum, first: isl.Set, waiting: isl.Set, width: int) -> Host:
        """The tiles of steps: a nest of the terms that go ahead, and the steps with what is left."""
        self.followed |= {d for value, d in self._asked(one) if value == width}
        made = _Statements.of(self.p, self.d, one, (first, waiting))
        self.p, self.d = made.p, made.d
        member, nest, loop = (made.member(host.member), one.nest, made.member(one.loop.members[0]))
        ahead, left = made.ahead, made.left
        rows = tuple(made.member(m) for m in (*nest.parallel, host.member))
        terms = sequence((Leaf((made.start,)), _over(loop, ahead)))
        early = Nest(tuple(m.restricted((made.start, ahead)) for m in rows), terms)
        own = (Leaf((made.copy,)), _over(loop, left), Leaf((made.end,)))
        body = sequence(node for part in parts(nest.body) for node in (own if part is one.loop else (part,)))
        late = Nest(tuple(m.restricted(body.statements) for m in rows[:-1]), body)
        steps = host_sequence([late if child is nest else child for child in _steps(host)])
        names = [s for s in member.statements if s not in (made.start, ahead)]
        self.new |= dict.fromkeys(made.names, made)
        self.tiled |= dict.fromkeys((ahead, left), (loop, width))
        return HostLoop(
            quotient(member, width), host_sequence([early, HostLoop(member.restricted(names), steps)])
        )

    def _with_new(self, member: Member, inner: Host) -> Member:
        """A loop of the host around statements of which some are new."""
        for made in {id(made): made for made in self.new.values()}.values():
            if made.whole in member.rows:
                member = made.member(member)
        return member


def _steps(host: HostLoop) -> tuple[Nest, ...]:
    """The nests of each step; none where there are loops of the host around some."""
    children = host.child.children if isinstance(host.child, HostSequence) else (host.child,)
    found = tuple(child for child in children if isinstance(child, Nest))
    return found if len(found) == len(children) else ()


def _over(loop: Member, statement: str) -> Node:
    return Band((loop.restricted((statement,)),), False, Leaf((statement,)))


@dataclass(frozen=True)
class _Statements:
    """A sum `whole` in two: of terms `ahead`, which begin from `start`, and those `left`, from a `copy` of
    what these add up to, up to the `end`, which updates the element. All but these two are new.
    """

    p: Polyhedra
    d: Dependences
    whole: str
    position: int  # of the iterator over terms
    ahead: str
    left: str
    start: str
    copy: str
    end: str

    @property
    def names(self) -> tuple[str, ...]:
        return self.ahead, self.left, self.start, self.copy, self.end

    def member(self, member: Member) -> Member:
        """The same of the new statements, those for whole elements if it is no loop over terms."""
        row = member.rows[self.whole]
        rows = {s: other for s, other in member.rows.items() if s != self.whole}
        rows |= {s: row.set_tuple_id(D.in_, identifier(s)) for s in (self.ahead, self.left)}
        if not row.involves_dims(D.in_, self.position, 1):
            less = row.drop_dims(D.in_, self.position, 1)
            rows |= {s: less.set_tuple_id(D.in_, identifier(s)) for s in (self.start, self.copy, self.end)}
        return Member(rows)

    @staticmethod
    def of(p: Polyhedra, d: Dependences, one: _Sum, sets: tuple[isl.Set, isl.Set]) -> _Statements:
        s, r = one.statement, one.reduction
        p, d = cut(p, d, {s.name: sets})
        ahead, left = f"{s.name}_0", f"{s.name}_1"
        position = s.domain.find_dim_by_name(D.set, one.term)
        element, old = r.target, p.array(r.array)
        at = tuple(e for e in one.coordinates if e is not None)
        places = []
        for kind in ("ahead", "sum"):
            name = free_name(f"{r.array}_{kind}", p)
            unknown = (None,) * len(at)
            array = Array(name, old.element, unknown, "region", old.position, live_out=False)
            p = replace(p, arrays=(*p.arrays, array))
            places.append(replace(element, array=name, subscripts=at))
        part, rest = places
        start, copy, end = (free_name(f"{s.name}_{kind}", p) for kind in ("start", "copy", "end"))
        points = _Points(p, s, position)
        new = (
            points.statement(start, part, neutral(r.operator, element.type)),
            points.statement(copy, rest, part),
            points.statement(end, element, combined(r.operator, element, rest)),
        )
        where = {ahead: part, left: rest}
        mine = (retargeted(x, r.target, where[x.name]) if x.name in where else x for x in p.statements)
        p = replace(p, statements=(*mine, *new))
        return _Statements(p, d, s.name, position, ahead, left, start, copy, end)


@dataclass(frozen=True)
class _Points:
    """The elements that a statement updates, by all of its iterators but that over terms."""

    p: Polyhedra
    of: PolyStatement
    position: int

    def statement(self, name: str, target: Reference, value: Expr) -> PolyStatement:
        """`target = value` for each element."""
        s = self.of
        iterators = tuple(i for k, i in enumerate(s.iterators) if k != self.position)
        space = statement_space(self.p.parameters, name, iterators)
        domain = named(space, coalesced(s.domain.project_out(D.set, self.position, 1)))
        builder = AffineBuilder(space)

        def access(reference: Reference, write: bool) -> PolyAccess:
            text = f"{reference.array} of a sum"
            a = Access(reference, write, True, True, s.position, text)
            relation = access_relation(builder, domain, a)
            return PolyAccess(reference, relation, write, True, True, s.position, text)

        order = isl.Map.from_domain_and_range(domain, isl.Set.universe(s.schedule.range().get_space()))
        for k in range(order.dim(D.out)):
            order = order.fix_val(D.out, k, isl.Val(0))
        read = dict.fromkeys(references(value))
        accesses = (*(access(r, False) for r in read), access(target, True))
        body = (Store(target, value),)
        text = f"{target.array}: what some terms add up to"
        return PolyStatement(
            name, iterators, (), domain, order, body, accesses, s.position, text, combines=True
        )
