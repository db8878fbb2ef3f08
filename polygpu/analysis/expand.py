"""Expansion of temporaries: a scalar or small array gets a dimension for each loop its values stay within.

    before:  for i for j { w = a[i][j]; b[i][j] = w * w; }          w serialises both loops
    after:   for i for j { w[i][j] = a[i][j]; b[i][j] = w[i][j] * w[i][j]; }

Values, not names, decide: accesses of a temporary that exchange values form a web (Feautrier's array
expansion, restricted to whole loops), each web becomes an array of its own, and a loop becomes a dimension
of it when every read of the web gets its value from the same iteration of that loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polygpu.analysis.dependences import Dependences
from polygpu.analysis.final_values import copy_back
from polygpu.analysis.polyhedra import PolyAccess, Polyhedra, PolyStatement, array_tuple
from polygpu.analysis.rewrite import rewrite_body
from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.scop import Array
from polygpu.support.isl_idioms import D, maps, tuple_name, union_of

Node = tuple[str, bool]  # statement, is it its write


@dataclass(frozen=True)
class Expansion:
    """Temporary `array` as web number `web`, expanded by the first `depth` loops of its statements."""

    array: str
    renamed: str
    depth: int
    nodes: frozenset[Node]


def expand(p: Polyhedra, d: Dependences) -> tuple[Polyhedra, tuple[Expansion, ...]]:
    """`p` with its temporaries expanded, and what was done."""
    done: list[Expansion] = []
    copies: list[PolyStatement] = []
    for array in p.arrays:
        found = _expansions_of(p, d, array.name)
        if array.live_out:
            found = _with_final_values(p, array, found, copies)
        done.extend(found)
    done = [e for e in done if e.depth > 0 or e.renamed != e.array]
    for expansion in done:
        p = _apply(p, expansion)
    return replace(p, statements=(*p.statements, *copies)), tuple(done)


def _with_final_values(
    p: Polyhedra, array: Array, found: list[Expansion], copies: list[PolyStatement]
) -> list[Expansion]:
    """The expansion of an array that is live afterwards, if a copy of its last values can be made."""
    if len(found) != 1 or found[0].depth == 0 or len(p.statements) == len(_writers(p, array.name)) == 1:
        return []
    renamed = f"{array.name}_all"
    if any(a.name == renamed for a in p.arrays) or _already_parallel(p, array.name, found[0].depth):
        return []
    copy = copy_back(p, array.name, renamed, found[0].depth)
    if copy is None:
        return []
    copies.append(copy)
    return [replace(found[0], renamed=renamed)]


def _writers(p: Polyhedra, name: str) -> list[PolyStatement]:
    return [s for s in p.statements if any(a.write and a.reference.array == name for a in s.accesses)]


def _already_parallel(p: Polyhedra, name: str, depth: int) -> bool:
    """Whether each iteration of the loops in question has elements of its own: nothing to gain."""
    for s in _writers(p, name):
        for a in s.accesses:
            if a.write and a.reference.array == name:
                outer = a.relation.reverse().project_out(D.out, depth, len(s.iterators) - depth)
                if not outer.is_single_valued():
                    return False
    return True


def _accesses(p: Polyhedra, name: str) -> list[tuple[PolyStatement, PolyAccess]]:
    return [(s, a) for s in p.statements for a in s.accesses if a.reference.array == name]


def _expansions_of(p: Polyhedra, d: Dependences, name: str) -> list[Expansion]:
    accesses = _accesses(p, name)
    if not accesses or any(not a.affine for _, a in accesses):
        return []
    if any(array_tuple(a.reference) == tuple_name(m, D.out) for m in maps(d.live_in) for _, a in accesses):
        return []  # a value from outside the region, or one never written: leave the memory as it is
    flow = _flow_of(p, accesses, d)
    webs = _webs(accesses, flow)
    names = [name] if len(webs) == 1 else [f"{name}_{k}" for k in range(len(webs))]
    taken = {a.name for a in p.arrays}
    if any(n in taken and n != name for n in names):
        return []
    return [
        Expansion(name, renamed, _depth(p, web, flow), web) for renamed, web in zip(names, webs, strict=True)
    ]


def _flow_of(p: Polyhedra, accesses: list[tuple[PolyStatement, PolyAccess]], d: Dependences) -> list[isl.Map]:
    """The flow dependences through this array alone, recomputed: `d` mixes all arrays."""
    reads = union_of([a.relation for _, a in accesses if not a.write])
    must = union_of([a.relation for _, a in accesses if a.write and a.must])
    may = union_of([a.relation for _, a in accesses if a.write and not a.must])
    if reads.is_empty() or must.union(may).is_empty():
        return []
    info = isl.UnionAccessInfo.from_sink(reads).set_must_source(must).set_may_source(may)
    return maps(info.set_schedule_map(p.schedule()).compute_flow().get_may_dependence())


def _webs(accesses: list[tuple[PolyStatement, PolyAccess]], flow: list[isl.Map]) -> list[frozenset[Node]]:
    parent: dict[Node, Node] = {(s.name, a.write): (s.name, a.write) for s, a in accesses}

    def root(node: Node) -> Node:
        while parent[node] != node:
            node = parent[node]
        return node

    for m in flow:
        parent[root((tuple_name(m, D.in_), True))] = root((tuple_name(m, D.out), False))
    groups: dict[Node, list[Node]] = {}
    for node in parent:
        groups.setdefault(root(node), []).append(node)
    return [frozenset(nodes) for nodes in groups.values()]


def _depth(p: Polyhedra, web: frozenset[Node], flow: list[isl.Map]) -> int:
    """How many outer loops all of the web's statements share with every value staying inside them."""
    statements = [p.statement(name) for name, _ in sorted(web)]
    common = 0
    while all(len(s.loops) > common for s in statements) and len({s.loops[common] for s in statements}) == 1:
        common += 1
    inside = [m for m in flow if (tuple_name(m, D.in_), True) in web]
    while common > 0 and not all(_stays_within(m, common) for m in inside):
        common -= 1
    return common


def _stays_within(flow: isl.Map, depth: int) -> bool:
    equal = flow
    for k in range(depth):
        equal = equal.equate(D.in_, k, D.out, k)
    return bool(flow.is_subset(equal))


def _apply(p: Polyhedra, e: Expansion) -> Polyhedra:
    statements = tuple(_expand_statement(s, e) for s in p.statements)
    old = p.array(e.array)
    extents = (None,) * e.depth + old.extents
    new = replace(old, name=e.renamed, extents=extents, storage="region", live_out=False)
    arrays = [a for a in p.arrays if a.name != e.renamed]
    return replace(p, statements=statements, arrays=(*arrays, new))


def _uses(s: PolyStatement, array: str) -> bool:
    return any(a.reference.array == array for a in s.accesses)


def _expand_statement(s: PolyStatement, e: Expansion) -> PolyStatement:
    prefix: tuple[Expr, ...] = tuple(Name(i) for i in s.iterators[: e.depth])

    def renamed(reference: Reference, write: bool) -> Reference:
        if reference.array != e.array or (s.name, write) not in e.nodes:
            return reference
        return replace(reference, array=e.renamed, subscripts=prefix + reference.subscripts)

    def access(a: PolyAccess) -> PolyAccess:
        reference = renamed(a.reference, a.write)
        if reference is a.reference:
            return a
        identity = isl.Map.identity(s.domain.get_space().map_from_set()).intersect_domain(s.domain)
        outer = identity.project_out(D.out, e.depth, len(s.iterators) - e.depth)
        outer = outer.set_tuple_name(D.out, "") if outer.has_tuple_name(D.out) else outer
        plain = a.relation.reset_tuple_id(D.out)
        relation = outer.reset_tuple_id(D.out).flat_range_product(plain) if e.depth else plain
        return replace(
            a, reference=reference, relation=relation.set_tuple_name(D.out, array_tuple(reference))
        )

    if not _uses(s, e.array):
        return s
    return replace(s, accesses=tuple(access(a) for a in s.accesses), body=rewrite_body(s.body, renamed))
