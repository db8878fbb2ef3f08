"""Running totals, which iterations hand on and keep: prefix sums, and the like of products and extremes.

    for i: { s = s + a[i];  b[i] = s; }       the total so far is read in each iteration
    for i: b[i] = b[i - 1] + a[i]             or stands in the element before, so also b[i] += b[i - 1]

No order of the terms makes them sums that threads may share: each total is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polygpu.analysis.dependences import Dependences
from polygpu.analysis.polyhedra import Polyhedra, PolyStatement
from polygpu.model.expr import Expr, Reference
from polygpu.model.rewrite import references, rewrite, scalars_in
from polygpu.model.scop import Store
from polygpu.model.updates import update
from polygpu.support.isl_idioms import D, maps, tuple_name


def running_totals(p: Polyhedra, d: Dependences) -> Iterator[tuple[str, str]]:
    """The array of each, and the iterator of the loop that hands it on."""
    passes = {(tuple_name(m, D.in_), tuple_name(m, D.out)) for m in maps(d.flow) if not m.is_empty()}
    for s in p.statements:
        for store in (a for a in s.actions.values() if isinstance(a, Store)):
            read = {t.name for t in p.statements if t.name != s.name and _keeps(t, store.target)}
            handed = (s.name, s.name) in passes
            kept = any((s.name, t) in passes for t in read)
            if handed and (_goes_on(s, store) or (kept and _adds_up(s, store))):
                yield store.target.array, s.iterators[-1]


def _adds_up(s: PolyStatement, store: Store) -> bool:
    """Whether the innermost loop stays at one element, and each iteration adds a term to it."""
    return bool(s.iterators) and s.iterators[-1] not in _names(store.target) and update(store) is not None


def _keeps(t: PolyStatement, total: Reference) -> bool:
    """Whether each iteration stores something of the total elsewhere."""
    return any(
        isinstance(a, Store)
        and t.iterators
        and t.iterators[-1] in _names(a.target)
        and t.iterators[-1] not in _names(total)
        and any(r.array == total.array for r in references(a.value))
        for a in t.actions.values()
    )


def _goes_on(s: PolyStatement, store: Store) -> bool:
    """Whether each iteration adds a term, its own element maybe, to one other element than it stores to."""
    target = replace(store.target, site=-1)
    old = {replace(r, site=-1) for r in references(store.value) if r.array == target.array} - {target}
    if len(old) != 1 or not s.iterators or s.iterators[-1] not in _names(target):
        return False

    def same(e: Expr) -> Expr | None:
        if not isinstance(e, Reference) or e.array != target.array:
            return None
        return replace(e, array=f"{e.array} before") if replace(e, site=-1) == target else store.target

    alike = all(_names(one) == _names(target) for one in old)
    return alike and update(Store(store.target, rewrite(store.value, same))) is not None


def _names(*found: Reference) -> set[str]:
    return set(scalars_in(*(e for r in found for e in r.subscripts)))
