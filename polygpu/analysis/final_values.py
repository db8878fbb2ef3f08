"""The copy that keeps an expanded array's final values.

    before:  for i { for k { s[k] = f(i, k); } for k { a[i][k] = s[k]; } }           s is live afterwards
    after:   ... s_all[i][k] ...;  for k { s[k] = s_all[n - 1][k]; }

For each element the last write in the original order is found as an integer set (lexicographic maximum).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from polygpu.analysis.elements import existing
from polygpu.analysis.polyhedra import (
    AffineBuilder,
    PolyAccess,
    Polyhedra,
    PolyStatement,
    access_relation,
    named,
    statement_space,
)
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.rewrite import scalars_in
from polygpu.model.scop import Access, Store
from polygpu.support.isl_idioms import D, c_name, coalesced, pieces

_FEW = 16  # writes: the last one of more takes long to find


def copy_back(p: Polyhedra, array: str, expanded: str, levels: tuple[int, ...]) -> PolyStatement | None:
    """The statement `array[e] = expanded[last iterations][e]`; None when the last write has no one form.

    `p` is the program before the expansion.
    """
    writers = [(s, a) for s, a in p.accesses_of(array) if a.write]
    if not writers:
        return None
    writer, access = writers[0]
    if writer.schedule.dim(D.out) < 2 * len(access.reference.subscripts) + 1:
        return None
    last = _last_writes(writers) if len(writers) <= _FEW else None
    if last is not None:
        writer, access, function = last
        outer = _outer_iterations(function, levels, _elements(access))
        if outer is not None:
            return _copy(p, writer, access, function.domain(), expanded, tuple(outer))
    one = _last_iteration(writers, levels)
    return _copy(p, *writers[0], one[0], expanded, one[1]) if one is not None else None


def copy_of_last(p: Polyhedra, array: str, names: Mapping[str, str]) -> PolyStatement | None:
    """The same where each statement has an array of `names` for its values, by all of its iterators."""
    writers = [(s, a) for s, a in p.accesses_of(array) if a.write]
    last = _last_writes(writers)
    if last is None:
        return None
    writer, access, function = last
    elements = _elements(access)
    outer = _outer_iterations(function, tuple(range(len(writer.iterators))), elements)
    if outer is None or writer.schedule.dim(D.out) < 2 * len(elements) + 1:
        return None
    return _copy(p, writer, access, function.domain(), names[writer.name], tuple(outer))


def copy_before(p: Polyhedra, copy: str, reads: Sequence[PolyAccess]) -> PolyStatement:
    """The statement `copy[e] = array[e]` for all elements that are read, before all others.

    The array has them all: extents are affine where data may keep `reads` from happening.
    """
    first, elements = reads[0], _elements(reads[0])
    name = f"B_{copy}"
    space = statement_space(p.parameters, name, elements)
    read = (existing(p, a, a.relation.range()) for a in reads)
    domain = named(space, coalesced(reduce(isl.Set.union, (r for r in read if r is not None))))
    source = replace(first.reference, subscripts=tuple(map(Name, elements)))
    text = f"{first.reference.array} as it was"
    made = copy_at(p, space, domain, source, copy, first, elements, text)
    order = _alone(domain, p.statements[0].schedule.dim(D.out), len(elements), -1)
    return replace(made, schedule=order)


def copy_at(
    p: Polyhedra,
    space: isl.Space,
    domain: isl.Set,
    source: Reference,
    copy: str,
    like: PolyAccess,
    iterators: tuple[str, ...],
    text: str,
) -> PolyStatement:
    """The statement that copies the element `source` in each instance, without a place in any order yet."""
    target = replace(source, array=copy)
    accesses = (
        _access(p, space, domain, source, False, like),
        _access(p, space, domain, target, True, like),
    )
    name, body = domain.get_tuple_name(), (Store(target, source),)
    nowhere = isl.Map.from_domain(domain)
    return PolyStatement(
        name, iterators, (), domain, nowhere, body, accesses, like.position, text, copies=True
    )


def with_versions(p: Polyhedra, array: str, name: str, count: int, last: Expr) -> Polyhedra:
    """`p` with room for `count` versions of an array, and a copy of what version `last` has in the end.

        before:  a[i] = f(a[i - 1], a[i], a[i + 1]), step by step
        after:   ... ; a[i] = a_both[last][i]

    Which steps read and write which version is for the mapped program to say. Of elements that nothing
    writes there are no versions. Raises ValueError where the program has something of that `name`.
    """
    old = p.array(array)
    if name in p.names():
        raise ValueError(f"'{name}' is something else")
    writers = [(s, a) for s, a in p.accesses_of(array) if a.write]
    elements = writers[0][1].relation.range()
    for _, a in writers[1:]:
        elements = elements.union(a.relation.range())
    writer, access = writers[0]
    copy = _copy(p, writer, access, elements, name, (last,))
    new = old.of_region(name, (Int(count), *old.extents))
    return replace(p, statements=(*p.statements, copy), arrays=(*p.arrays, new))


def copy_of_version(
    p: Polyhedra, writer: PolyStatement, access: PolyAccess, elements: isl.Set, version: str
) -> PolyStatement:
    """The statement `array[e] = version[e]` for the elements, after all others."""
    return _copy(p, writer, access, elements, version, ())


def _elements(access: PolyAccess) -> tuple[str, ...]:
    """Names for the subscripts."""
    return tuple(f"{access.reference.array}_e{k}" for k in range(len(access.reference.subscripts)))


def _copy(
    p: Polyhedra,
    writer: PolyStatement,
    access: PolyAccess,
    copied: isl.Set,
    expanded: str,
    outer: tuple[Expr, ...],
) -> PolyStatement:
    """The statement `array[e] = expanded[outer][e]` for the elements `copied`, after all others."""
    array, elements = access.reference.array, _elements(access)
    name = _unused(array, p)
    space = statement_space(p.parameters, name, elements)
    domain = named(space, copied)
    here = tuple(Name(e) for e in elements)
    target = Reference(array, here, access.reference.type, site=access.reference.site)
    source = replace(target, array=expanded, subscripts=(*outer, *here))
    accesses = (
        _access(p, space, domain, source, False, access),
        _access(p, space, domain, target, True, access),
    )
    order = _last(p, domain, writer.schedule.dim(D.out), len(elements))
    text = f"{array} keeps its final values"
    return PolyStatement(
        name, elements, (), domain, order, (Store(target, source),), accesses, writer.position, text
    )


def _unused(array: str, p: Polyhedra) -> str:
    """A name for a copy to the array, of which there may be several: of each loop that is in tiles of time,
    and of expanded elements. It is no other array's.
    """
    taken = {s.name for s in p.statements} | {f"F_{a.name}" for a in p.arrays if a.name != array}
    name = f"F_{array}"
    while name in taken:
        name += "_"
    return name


def _last_writes(
    writers: list[tuple[PolyStatement, PolyAccess]],
) -> tuple[PolyStatement, PolyAccess, isl.PwMultiAff] | None:
    """The statement that writes every element last, and the instance that does."""
    times = [a.relation.reverse().apply_range(s.schedule) for s, a in writers]
    if not times or any(not a.must or not a.affine for _, a in writers):
        return None
    total = times[0]
    for t in times[1:]:
        total = total.union(t)
    final = _maximum(total)
    if final is None:
        return None
    owners = []
    for s, a in writers:
        instances = final.apply_range(s.schedule.reverse())
        instances = instances.intersect(a.relation.reverse())
        if not instances.is_empty():
            owners.append((s, a, instances))
    if len(owners) != 1:
        return None
    s, a, instances = owners[0]
    return s, a, isl.PwMultiAff.from_map(instances)


def _last_iteration(
    writers: Sequence[tuple[PolyStatement, PolyAccess]], levels: tuple[int, ...]
) -> tuple[isl.Set, tuple[Expr, ...]] | None:
    """All elements that are written, and the one iteration of the loops `levels`, which all writers are in,
    that writes each of them last; None where there is no such iteration.
    """
    around = {s.loops[: max(levels) + 1] for s, _ in writers}
    together = len(around) == 1 and len(around.pop()) == max(levels) + 1
    if not together or any(not a.must or not a.affine for _, a in writers):
        return None
    ways = {
        (s.name, tuple(None if isinstance(i, Int) else i for i in a.reference.subscripts)): (s, a)
        for s, a in writers
    }
    found = {_last_of(s, a, levels) for s, a in ways.values()}
    if len(found) != 1 or (iteration := found.pop()) is None:
        return None
    elements = {str(e): e for e in (a.relation.range() for _, a in writers)}
    return coalesced(reduce(isl.Set.union, elements.values())), iteration


def _last_of(s: PolyStatement, access: PolyAccess, levels: tuple[int, ...]) -> tuple[Expr, ...] | None:
    """The last iteration of the loops `levels` in which each element is written, if it is the same one."""
    depth, elements = max(levels) + 1, _elements(access)
    order = s.schedule.project_out(D.out, 2 * depth, s.schedule.dim(D.out) - 2 * depth)
    last = _maximum(access.relation.reverse().apply_range(order))
    if last is None:
        return None
    instances = last.apply_range(order.reverse())
    iterations = instances.project_out(D.out, depth, instances.dim(D.out) - depth)
    if not iterations.is_single_valued():
        return None
    outer = _outer_iterations(isl.PwMultiAff.from_map(iterations), levels, elements)
    return tuple(outer) if outer is not None and not scalars_in(*outer) & {*elements} else None


def _maximum(times: isl.Map) -> isl.Map | None:
    """The largest time of each element; None where isl fails or errs, as with several moduli."""
    try:
        last = times.lexmax()
    except isl.Error:
        return None
    later = isl.Map.lex_lt(times.get_space().range())
    right = times.domain().is_subset(last.domain()) and last.reverse().apply_range(times).is_disjoint(later)
    return last if right else None


def _outer_iterations(
    function: isl.PwMultiAff, levels: tuple[int, ...], elements: tuple[str, ...]
) -> list[Expr] | None:
    whole = isl.MultiPwAff.from_pw_multi_aff(function)
    found: list[Expr] = []
    for k in levels:
        parts = pieces(whole.get_pw_aff(k))
        value = affine_expression(parts[0][1], elements) if len(parts) == 1 else None
        if value is None:
            return None
        found.append(value)
    return found


def affine_expression(aff: isl.Aff, names: tuple[str, ...]) -> Expr | None:
    """An affine function without divisions as an expression."""
    if aff.dim(D.div) or not aff.get_denominator_val().is_one():
        return None
    total: Expr = Int(aff.get_constant_val().to_python())
    for k, name in enumerate(names):
        total = _plus(total, aff.get_coefficient_val(D.in_, k), name)
    for k in range(aff.dim(D.param)):
        total = _plus(total, aff.get_coefficient_val(D.param, k), c_name(aff.get_dim_name(D.param, k) or ""))
    return total


def _plus(total: Expr, coefficient: isl.Val, name: str) -> Expr:
    if coefficient.is_zero():
        return total
    return Binary("+", total, Binary("*", Int(coefficient.to_python()), Name(name)))


def _access(
    p: Polyhedra, space: isl.Space, domain: isl.Set, r: Reference, write: bool, like: PolyAccess
) -> PolyAccess:
    access = Access(r, write, True, True, like.position, like.text)
    relation = access_relation(AffineBuilder(space), domain, access)
    return PolyAccess(r, relation, write, True, True, like.position, like.text)


def _last(p: Polyhedra, domain: isl.Set, length: int, rank: int) -> isl.Map:
    """After all other statements: one past the last position at the top."""
    return _alone(domain, length, rank, p.positions)


def _alone(domain: isl.Set, length: int, rank: int, top: int) -> isl.Map:
    """At position `top` of the source's order, in loops over all dimensions."""
    local = isl.LocalSpace.from_space(domain.get_space())
    order: isl.Map | None = None
    for k in range(length):
        if k % 2 and k // 2 < rank:
            aff = isl.Aff.var_on_domain(local, D.set, k // 2)
        else:
            aff = isl.Aff.zero_on_domain(local).set_constant_val(isl.Val(top if k == 0 else 0))
        part = isl.Map.from_aff(aff)
        order = part if order is None else order.flat_range_product(part)
    assert order is not None
    return order.intersect_domain(domain)
