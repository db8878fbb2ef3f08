"""Arrays that are declared within loops: each iteration has its own, so that no other one reads its values.

before:  S[i, j] -> t[]        after:  S[i, j] -> t[i, j], where t is declared in the body of j
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra, PolyStatement
from polygpu.support.isl_idioms import D, maps, tuple_name, union_of


def scoped(p: Polyhedra) -> Polyhedra:
    """The program with the iterations around its declaration in front of each subscript of such an array."""
    depths = depths_of(p)
    if not depths:
        return p
    return replace(p, statements=tuple(_scoped(s, depths) for s in p.statements))


def unscoped(p: Polyhedra, touched: isl.UnionMap) -> isl.UnionMap:
    """Instances to elements of `p`, of those of `scoped(p)`."""
    depths = depths_of(p)
    each = (a for s in p.statements for a in s.accesses if a.reference.array in depths)
    added = {tuple_name(a.relation, D.out): depths[a.reference.array] for a in each}
    if not added:
        return touched
    return union_of([_without(m, added.get(tuple_name(m, D.out), 0)) for m in maps(touched)])


def depths_of(p: Polyhedra) -> Mapping[str, int]:
    """How many loops are around the declarations, of arrays that nothing accesses outside of these."""
    found = {a.name: a.within for a in p.arrays if a.within and a.storage == "region"}
    for s in p.statements if found else ():
        for a in s.accesses:
            name = a.reference.array
            if name in found and s.loops[: len(found[name])] != found[name]:
                del found[name]
    return {name: len(loops) for name, loops in found.items()}


def _scoped(s: PolyStatement, depths: Mapping[str, int]) -> PolyStatement:
    if not any(a.reference.array in depths for a in s.accesses):
        return s
    made: dict[int, isl.Map] = {}  # by identity of relations, of which many accesses have the same
    for a in s.accesses:
        if id(a.relation) not in made and (depth := depths.get(a.reference.array)) is not None:
            made[id(a.relation)] = in_iterations(s, a.relation, depth)
    accesses = (replace(a, relation=made.get(id(a.relation), a.relation)) for a in s.accesses)
    return replace(s, accesses=tuple(accesses))


def in_iterations(s: PolyStatement, relation: isl.Map, depth: int) -> isl.Map:
    """Instances to elements, these with the values of so many loops in front of their subscripts."""
    around = isl.Map.identity(s.domain.get_space().map_from_set()).intersect_domain(s.domain)
    around = around.project_out(D.out, depth, around.dim(D.out) - depth).reset_tuple_id(D.out)
    found = around.flat_range_product(relation.reset_tuple_id(D.out))
    return found.set_tuple_name(D.out, tuple_name(relation, D.out))


def _without(m: isl.Map, depth: int) -> isl.Map:
    return m.project_out(D.out, 0, depth).set_tuple_name(D.out, tuple_name(m, D.out)) if depth else m
