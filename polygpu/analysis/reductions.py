"""Reductions: statements that only update elements, by terms that may be taken in any order.

    for i: s = s + a[i]                       a sum: all iterations may run at the same time
    for i: if (a[i] > t) t = a[i];            a maximum, once it is `t = a[i] > t ? a[i] : t;`

Terms of integers may always be reordered, those of floating-point numbers where the scop says so of an array
in a loop: they round differently then, and of -0.0 and 0.0 another one may be the first of equals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import islpy as isl

from polygpu.analysis.dependences import Dependences, compute
from polygpu.analysis.flow import conflicts
from polygpu.analysis.polyhedra import Polyhedra, PolyStatement
from polygpu.model.expr import Reference, Select, is_floating
from polygpu.model.rewrite import scalars_in
from polygpu.model.scop import Access, Branch, Scop, Statement, Store
from polygpu.model.updates import update
from polygpu.support.isl_idioms import union_of


@dataclass(frozen=True)
class Reduction:
    """`statement` updates elements of `array`, which it does not access otherwise, by `operator`."""

    statement: str
    array: str
    operator: str
    target: Reference


def reassociated(scop: Scop) -> Scop:
    """`scop` with leave to reorder all terms."""
    everything = ((k, a.name) for k in range(len(scop.loops)) for a in scop.arrays)
    return replace(scop, reassociated=frozenset(everything))


def selected(scop: Scop) -> Scop:
    """`scop` with conditional updates that may be reordered as unconditional ones.

    before: if (a[i] > t) t = a[i];        if (b[i]) s += a[i];
    after:  t = a[i] > t ? a[i] : t;       s = b[i] ? s + a[i] : s;
    """
    return replace(scop, statements=tuple(_selected(scop, s) for s in scop.statements))


def _selected(scop: Scop, s: Statement) -> Statement:
    match s.body:
        case (Branch(test, (Store(target, value),), ()),) if _repeats(s.iterators, target):
            store = Store(target, Select(test, value, target))
            if update(store) is None or not _may(scop, s.loops, target.array, target.type):
                return s
            return replace(s, body=(store,), accesses=tuple(_unconditional(s, target)))
    return s


def _unconditional(s: Statement, target: Reference) -> Iterator[Access]:
    """The accesses of a conditional update once it is none: the old value is read, and written back."""
    write = next(a for a in s.accesses if a.write)
    reads = [a for a in s.accesses if not a.write]
    yield from reads
    if target not in [a.reference for a in reads]:
        yield replace(write, write=False)
    yield replace(write, must=True)


def _repeats(iterators: tuple[str, ...], target: Reference) -> bool:
    """Whether the innermost loop stays at one element."""
    return bool(iterators) and iterators[-1] not in scalars_in(*target.subscripts)


def _may(scop: Scop, loops: tuple[int, ...], array: str, ctype: str) -> bool:
    """Whether updates of an array in these loops may be reordered."""
    return not is_floating(ctype) or any((k, array) in scop.reassociated for k in loops)


def reductions(p: Polyhedra, sources: Mapping[str, str], permitted: bool = True) -> Iterator[Reduction]:
    """Those of `p` that may be reordered, or all of them unless only the `permitted` ones are asked for.

    `sources` are the arrays of the source that temporaries with other names stand for.
    """
    for s in p.statements:
        for store in (a for a in s.body if isinstance(a, Store)):
            array, operator = store.target.array, update(store)
            if operator is None or not _updates_only(s, store):
                continue
            if not permitted or _may(p.scop, s.loops, sources.get(array, array), store.target.type):
                yield Reduction(s.name, array, operator, store.target)


def _updates_only(s: PolyStatement, store: Store) -> bool:
    """Whether nothing else in the statement uses the array, and some loop comes back to an element."""
    mine = [a for a in s.accesses if a.reference.array == store.target.array]
    here = replace(store.target, site=-1)
    same = all(a.affine and replace(a.reference, site=-1) == here for a in mine)
    stores = [a for a in mine if a.write]
    return same and len(stores) == 1 and stores[0].must and not store.target.field


def relaxed(p: Polyhedra, d: Dependences, found: list[Reduction]) -> isl.UnionMap:
    """The dependences that are left where the terms of reductions may come in any order.

    What else uses their elements stays before or behind all terms that it was before or behind.
    """
    arrays: dict[str, set[str]] = {}
    for r in found:
        arrays.setdefault(r.statement, set()).add(r.array)
    statements = tuple(_without(s, arrays.get(s.name, set())) for s in p.statements)
    left = compute(replace(p, statements=statements)).all
    for array in sorted({r.array for r in found}):
        left = left.union(_around(p, array, {r.statement for r in found if r.array == array}))
    return left


def _without(s: PolyStatement, arrays: set[str]) -> PolyStatement:
    return replace(s, accesses=tuple(a for a in s.accesses if a.reference.array not in arrays))


def _around(p: Polyhedra, array: str, names: set[str]) -> isl.UnionMap:
    """The conflicts over an array between updates and all that are not of the same statement."""
    order, found = p.schedule(), isl.UnionMap("{ }")
    for name in sorted(names):
        updates = _touched(p.statement(name), array, True)
        for other in (s for s in p.statements if s.name != name):
            for write in (True, False):
                there = _touched(other, array, write)
                found = found.union(conflicts(updates, there, order)).union(conflicts(there, updates, order))
    return found


def _touched(s: PolyStatement, array: str, write: bool) -> isl.UnionMap:
    return union_of([a.relation for a in s.accesses if a.reference.array == array and a.write == write])
