"""What a step reads of elements that later steps store over, kept as it was when that step read it.

    before:  for k { for i for j { p[i][j] = f(p[i][j], p[i][k], p[k][j]) } }        where j > k in row i < k
    after:   for k { for j { p_before[k][j] = p[k][j] }
                     for i { ... p[i][k] ...; p_after[i][k] = p[i][k] }
                     for i for j { p[i][j] = f(p[i][j], p_after[i][k], p_before[k][j]) } }

Who reads such versions need not be done when later steps store over the array: what stores over it may run
many steps first. A version is from before all that its step does, or from behind the step's only store to the
element. All reads of a version are in one step, which the element tells, so it has the shape of the array.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, reduce
from itertools import product

import islpy as isl

from polygpu.analysis.elements import existing
from polygpu.analysis.final_values import copy_at
from polygpu.analysis.index_sets import divided
from polygpu.analysis.old_values import free_name, redirected
from polygpu.analysis.polyhedra import (
    PolyAccess,
    Polyhedra,
    PolyStatement,
    array_tuple,
    named,
    statement_space,
)
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, coalesced, in_order

Sides = tuple[tuple[int, int], ...]
"""For each loop around a step the subscript that tells its iteration, and how far it is ahead of that."""


@dataclass(frozen=True)
class _Read:
    statement: PolyStatement
    access: PolyAccess
    after: bool  # the step's own store
    sides: tuple[Sides, ...]  # any of these will do


@dataclass(frozen=True)
class _Version:
    array: str
    name: str
    after: bool
    sides: Sides
    reads: tuple[_Read, ...]

    def has(self, statement: str, reference: Reference) -> bool:
        return any(r.statement.name == statement and r.access.reference == reference for r in self.reads)


def with_step_versions(p: Polyhedra, rows: Mapping[str, isl.PwAff]) -> Polyhedra:
    """`p` with versions by step of the loop whose value `rows` give, and itself where there are none.

    Raises isl.Error.
    """
    loop = _loop(p, rows)
    versions = loop.versions() if loop is not None else []
    if loop is None or not versions:
        return p
    length = max(2 * len(v.reads[0].access.reference.subscripts) + 1 for v in versions)
    doubled = replace(p, statements=tuple(_doubled(_lengthened(s, length)) for s in p.statements))
    inner = replace(loop, p=doubled)
    copies = [_copy(inner, v) for v in versions]
    if not all(c.schedule.is_single_valued() and c.domain.is_subset(c.schedule.domain()) for c in copies):
        return p
    arrays = (p.array(v.array).of_region(v.name) for v in versions)
    statements = (*(_reading(s, versions) for s in doubled.statements), *copies)
    found = replace(p, statements=statements, arrays=(*p.arrays, *arrays))
    for v, copy in zip(versions, copies, strict=True):
        sets = inner.storers(v, copy)
        found = divided(found, copy.name, sets) if v.after and len(sets) > 1 else found
    return found


@dataclass(frozen=True)
class _Loop:
    """A loop of the source around statements, `depth` - 1 loops around it."""

    p: Polyhedra
    names: tuple[str, ...]
    depth: int

    @cached_property
    def statements(self) -> tuple[PolyStatement, ...]:
        return tuple(self.p.statement(name) for name in self.names)

    def writes(self, array: str) -> Iterator[tuple[PolyStatement, PolyAccess]]:
        return (
            (s, a)
            for s in self.statements
            for a in s.accesses
            if a.write and array_tuple(a.reference) == array
        )

    def step(self, instances: isl.Set) -> isl.Map:
        """From instances to their iterations of the loop, and of those around it."""
        count = instances.dim(D.set)
        return instances.identity().project_out(D.out, self.depth, count - self.depth).reset_tuple_id(D.out)

    def stores(self, v: _Version, copy: PolyStatement) -> Iterator[tuple[PolyStatement, isl.Map]]:
        """Statements, and instances of a copy to theirs that store in the same step what it copies."""
        place = copy.accesses[0].relation
        for x, w in self.writes(v.array):
            yield x, place.apply_range(w.relation.reverse()).intersect(self._same_step(copy, x))

    def storers(self, v: _Version, copy: PolyStatement) -> list[isl.Set]:
        """Instances of a copy whose elements a statement stores, for each that stores some: it may do so in
        several of its assignments.
        """
        found: dict[str, isl.Set] = {}
        for x, pairs in self.stores(v, copy):
            mine = pairs.domain()
            found[x.name] = found[x.name].union(mine) if x.name in found else mine
        return [coalesced(each) for each in found.values() if not each.is_empty()]

    def versions(self) -> list[_Version]:
        found: list[_Version] = []
        p = self.p
        reads = (r for s in self.statements for a in s.accesses if (r := self._read(s, a)) is not None)
        for r in sorted(reads, key=lambda r: len(r.sides)):
            array = r.access.reference.array
            same = [v for v in found if (v.array, v.after) == (array, r.after) and v.sides in r.sides]
            if same:
                found[found.index(same[0])] = replace(same[0], reads=(*same[0].reads, r))
                continue
            told = "_".join(str(d) for d, _ in r.sides[0])
            name = free_name(p, f"{array}_{'after' if r.after else 'before'}_{told}")
            p = replace(p, arrays=(*p.arrays, replace(p.array(array), name=name)))
            found.append(_Version(array, name, r.after, r.sides[0], (r,)))
        return found

    def _read(self, s: PolyStatement, a: PolyAccess) -> _Read | None:
        """What is known of a read that later steps store over; None where it is none, or has no version."""
        writes = [*self.writes(array_tuple(a.reference))]
        if not _is_plain(s, a) or not all(w.affine for _, w in writes):
            return None
        stored = [(x, w.relation.apply_range(a.relation.reverse())) for x, w in writes]
        if not any(self._comes_later(s, x, pairs.reverse()) for x, pairs in stored):
            return None
        sides = tuple(self._sides(s, a))
        if not sides or existing(self.p, a, a.relation.range()) is None:
            return None
        if self._meets_others(s, a):
            return None
        here = [(x, pairs.intersect(self._same_step(x, s))) for x, pairs in stored]
        before = [pairs.intersect(in_order(x.schedule, s.schedule)) for x, pairs in here]
        if all(pairs.is_empty() for pairs in before):
            return _Read(s, a, False, sides)
        behind = (pairs.subtract(early) for (_, pairs), early in zip(here, before, strict=True))
        found = reduce(isl.Set.union, (pairs.range() for pairs in before))
        if all(pairs.is_empty() for pairs in behind) and s.domain.is_subset(found):
            return _Read(s, a, True, sides)
        return None

    def _meets_others(self, s: PolyStatement, a: PolyAccess) -> bool:
        """Whether a statement that the schedule has in another loop stores to it earlier in the step."""
        for x in self.p.statements:
            if x.name not in self.names and x.loops[: self.depth] == s.loops[: self.depth]:
                same = self._same_step(x, s)
                for w in x.accesses:
                    if w.write and array_tuple(w.reference) == array_tuple(a.reference):
                        pairs = w.relation.apply_range(a.relation.reverse()).intersect(same)
                        if not pairs.intersect(in_order(x.schedule, s.schedule)).is_empty():
                            return True
        return False

    def _comes_later(self, s: PolyStatement, x: PolyStatement, pairs: isl.Map) -> bool:
        """Whether what is in `pairs` with an instance is in a later step for some."""
        later = pairs.subtract(self._same_step(s, x)).intersect(in_order(s.schedule, x.schedule))
        return not later.is_empty()

    def _same_step(self, x: PolyStatement, s: PolyStatement) -> isl.Map:
        return self.step(x.domain).apply_range(self.step(s.domain).reverse())

    def _sides(self, s: PolyStatement, a: PolyAccess) -> Iterator[Sides]:
        """Subscripts that tell the step which reads an element."""
        place = isl.PwMultiAff.from_map(a.relation)
        local = isl.LocalSpace.from_space(s.domain.get_space())
        options: list[list[tuple[int, int]]] = []
        for k in range(self.depth):
            iterator = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.set, k))
            ahead = ((d, place.get_pw_aff(d).sub(iterator)) for d in range(place.dim(D.out)))
            known = ((d, _constant(s.domain, by)) for d, by in ahead)
            options.append([(d, by) for d, by in known if by is not None])
        yield from (sides for sides in product(*options) if len({d for d, _ in sides}) == self.depth)


def _loop(p: Polyhedra, rows: Mapping[str, isl.PwAff]) -> _Loop | None:
    """The loop of the source that a loop of the schedule is."""
    names = tuple(s.name for s in p.statements if s.name in rows)
    levels = [set(_levels(p.statement(name), rows[name])) for name in names]
    depth = min(set.intersection(*levels), default=-1) + 1
    loops = {p.statement(name).loops[:depth] for name in names}
    return _Loop(p, names, depth) if depth and len(loops) == 1 and len(loops.pop()) == depth else None


def _levels(s: PolyStatement, row: isl.PwAff) -> Iterator[int]:
    """The loops around a statement whose iterations a row counts, in either direction."""
    local = isl.LocalSpace.from_space(s.domain.get_space())
    for k in range(len(s.iterators)):
        iterator = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.set, k))
        if any(_constant(s.domain, value) is not None for value in (row.sub(iterator), row.add(iterator))):
            yield k


def _is_plain(s: PolyStatement, a: PolyAccess) -> bool:
    """Whether an access only reads, at a known place, what its instance does not write."""
    same = s.accesses_of.get((a.reference, False), [])
    if a.write or not a.affine or a.reference.field or not a.reference.subscripts:
        return False
    own = (w for w in s.accesses if w.write and array_tuple(w.reference) == array_tuple(a.reference))
    return all(b.exposed for b in same) and not any(w.relation.is_equal(a.relation) for w in own)


def _constant(domain: isl.Set, value: isl.PwAff) -> int | None:
    """The only value of a function on a set."""
    values = domain.apply(isl.Map.from_pw_aff(value))
    low, high = values.dim_min_val(0), values.dim_max_val(0)
    return int(low.to_python()) if low.is_int() and low.eq(high) else None


def _lengthened(s: PolyStatement, length: int) -> PolyStatement:
    """With at least so many rows of its schedule: a copy may have more loops than any statement."""
    missing = length - s.schedule.dim(D.out)
    if missing <= 0:
        return s
    order = s.schedule.add_dims(D.out, missing)
    for k in range(missing):
        order = order.fix_val(D.out, length - missing + k, isl.Val(0))
    return replace(s, schedule=order)


def _doubled(s: PolyStatement) -> PolyStatement:
    """With room behind each place in the source's order."""
    last = s.schedule.dim(D.out) - 1
    space = s.schedule.get_space().range()
    rows = isl.MultiAff.identity_on_domain_space(space)
    doubled = rows.set_aff(last, rows.get_aff(last).scale_val(isl.Val(2)))
    return replace(s, schedule=s.schedule.apply_range(isl.Map.from_multi_aff(doubled)))


def _copy(loop: _Loop, v: _Version) -> PolyStatement:
    """The statement that makes a version, in all instances of it that are read."""
    first = v.reads[0]
    rank = len(first.access.reference.subscripts)
    told = {d: (k, by) for k, (d, by) in enumerate(v.sides)}
    free = [d for d in range(rank) if d not in told]
    around = first.statement.iterators[: loop.depth]
    iterators = (*around, *(f"{v.array}_e{d}" for d in free))
    here = tuple(
        _ahead(around[told[d][0]], told[d][1]) if d in told else Name(f"{v.array}_e{d}") for d in range(rank)
    )
    name = f"V_{v.name}"
    read = (_instances(loop, r, [*told]) for r in v.reads)
    space = statement_space(loop.p.parameters, name, iterators)
    domain = named(space, coalesced(reduce(isl.Set.union, read)))
    source = replace(first.access.reference, subscripts=here)
    text = f"{v.array} as a step {'leaves' if v.after else 'finds'} it"
    made = copy_at(loop.p, space, domain, source, v.name, first.access, iterators, text)
    order = _behind(loop, v, made) if v.after else _in_front(loop, made)
    return replace(made, loops=first.statement.loops[: loop.depth], schedule=order)


def _ahead(iterator: str, by: int) -> Expr:
    return Binary("+", Name(iterator), Int(by)) if by else Name(iterator)


def _instances(loop: _Loop, r: _Read, told: Collection[int]) -> isl.Set:
    """The step and the other subscripts of what is read."""
    elements = existing(loop.p, r.access, r.access.relation.range())
    assert elements is not None
    place = r.access.relation.intersect_range(elements).reset_tuple_id(D.out)
    found = loop.step(r.statement.domain).flat_range_product(place).range()
    for d in sorted(told, reverse=True):
        found = found.project_out(D.set, loop.depth + d, 1)
    return found


def _in_front(loop: _Loop, copy: PolyStatement) -> isl.Map:
    """Before all else of its step."""
    length, prefix = loop.statements[0].schedule.dim(D.out), 2 * loop.depth
    steps = (  # of all: a statement may be a piece of one, and not in each step
        loop.step(s.domain).reverse().apply_range(s.schedule).project_out(D.out, prefix, length - prefix)
        for s in loop.statements
    )
    order = loop.step(copy.domain).apply_range(coalesced(reduce(isl.Map.union, steps)))
    local = isl.LocalSpace.from_space(copy.domain.get_space())
    rest = [isl.Aff.zero_on_domain(local) for _ in range(length - prefix)]
    rest[0] = rest[0].set_constant_val(isl.Val(-1))
    for k in range(loop.depth, len(copy.iterators)):
        rest[2 * (k - loop.depth) + 1] = isl.Aff.var_on_domain(local, D.set, k)
    return reduce(isl.Map.flat_range_product, map(isl.Map.from_aff, rest), order).intersect_domain(
        copy.domain
    )


def _behind(loop: _Loop, v: _Version, copy: PolyStatement) -> isl.Map:
    """Right behind the store of its step."""
    times = (pairs.apply_range(x.schedule) for x, pairs in loop.stores(v, copy))
    order = coalesced(reduce(isl.Map.union, times))
    last = order.dim(D.out) - 1
    space = order.get_space().range()
    rows = isl.MultiAff.identity_on_domain_space(space)
    moved = rows.set_aff(last, rows.get_aff(last).add_constant_val(isl.Val(1)))
    return order.apply_range(isl.Map.from_multi_aff(moved))


def _reading(s: PolyStatement, versions: Iterable[_Version]) -> PolyStatement:
    """`s` with reads of versions."""

    def changed(r: Reference, write: bool) -> Reference:
        name = next((v.name for v in versions if v.has(s.name, r)), None)
        return r if write or name is None else replace(r, array=name)

    return redirected(s, changed)
