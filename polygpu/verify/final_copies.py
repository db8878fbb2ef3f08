"""Copies `a[e] = a[e]` after the source program, which change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import islpy as isl

from polygpu.analysis.polyhedra import (
    AffineBuilder,
    PolyAccess,
    Polyhedra,
    PolyStatement,
    access_relation,
    array_tuple,
    statement_space,
)
from polygpu.model.expr import Name, Reference
from polygpu.model.kernel import Assign, For, If, Region, Statement
from polygpu.model.scop import Access, Store
from polygpu.support.isl_idioms import D


def with_final_copies(p: Polyhedra, region: Region) -> Polyhedra:
    """`p`, followed by `a[e] = a[e]` for arrays whose final values the region copies from a temporary.

    Such a copy changes nothing in the source, so that the generated one can be held against it.
    """
    wanted = sorted({n for k in region.kernels for n in _statements(k.body)} - {s.name for s in p.statements})
    for number, name in enumerate(wanted):
        array = name.removeprefix("F_")
        if name.startswith("F_") and any(a.name == array for a in p.arrays):
            p = replace(p, statements=(*p.statements, _final_copy(p, array, name, number)))
    return p


def _statements(body: tuple[Statement, ...]) -> Iterator[str]:
    for s in body:
        match s:
            case For():
                yield from _statements(s.body)
            case If():
                yield from _statements((*s.then, *s.otherwise))
            case Assign() if s.origin is not None:
                yield s.origin.statement


def _final_copy(p: Polyhedra, array: str, name: str, number: int) -> PolyStatement:
    writes = [
        (s, a) for s in p.statements for a in s.accesses if a.write and array_tuple(a.reference) == array
    ]
    like, access = writes[0]
    rank = len(access.reference.subscripts)
    elements = tuple(f"{array}_e{k}" for k in range(rank))
    space = statement_space(p.parameters, name, elements)
    domain = isl.Set.empty(space)
    for _, a in writes:
        domain = domain.union(a.relation.range().reset_tuple_id().set_tuple_name(name))
    for k, e in enumerate(elements):  # a union forgets the names
        domain = domain.set_dim_name(D.set, k, e)
    reference = replace(access.reference, subscripts=tuple(Name(e) for e in elements))
    accesses = tuple(_access(space, domain, reference, write, access) for write in (False, True))
    top = p.positions
    order = isl.Map.from_domain(domain)
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(domain.get_space()))
    order = isl.Map.from_aff(zero.set_constant_val(isl.Val(top + number)))
    for _ in range(like.schedule.dim(D.out) - 1):
        order = order.flat_range_product(isl.Map.from_aff(zero))
    body = (Store(reference, reference),)
    text = f"{array} keeps its final values"
    return PolyStatement(
        name, elements, (), domain, order.intersect_domain(domain), body, accesses, like.position, text
    )


def _access(space: isl.Space, domain: isl.Set, r: Reference, write: bool, like: PolyAccess) -> PolyAccess:
    access = Access(r, write, True, True, like.position, like.text)
    relation = access_relation(AffineBuilder(space), domain, access)
    return PolyAccess(r, relation, write, True, True, like.position, like.text)
