"""Arrays that may be the same memory: one is read only where, and before, the other is written."""

from __future__ import annotations

from polygpu.model.expr import Binary, Expr, Int, Name
from polygpu.model.scop import Array, Scop, Statement, Store


def in_step(scop: Scop, a: Array, b: Array) -> bool:
    """Whether the region does the same where both pointers are equal, with one copy of the memory or two.

        r[i][j] = v[i][j] - f(...)

    A single statement uses them, at the same subscripts, and stores last; no two of its instances share an
    element. So no order of instances tells one array from two.
    """
    if a.element != b.element or a.extents[1:] != b.extents[1:] or a.structure or b.structure:
        return False
    users = [s for s in scop.statements if any(x.reference.array in (a.name, b.name) for x in s.accesses)]
    return len(users) == 1 and _in_step(users[0], {a.name, b.name})


def _in_step(s: Statement, names: set[str]) -> bool:
    accesses = [x for x in s.accesses if x.reference.array in names]
    places = {(x.reference.subscripts, x.reference.field) for x in accesses}
    last = s.body[-1]
    if len(places) != 1 or len({x.reference.array for x in accesses if x.write}) != 1:
        return False
    stores = sum(x.write for x in accesses)
    if not isinstance(last, Store) or last.target.array not in names or stores != 1:
        return False
    ((subscripts, _),) = places
    return all(x.affine for x in accesses) and set(s.iterators) <= set(map(_iterator, subscripts))


def _iterator(subscript: Expr) -> str:
    """The iterator that a subscript is, but for a constant; "" where it is another form."""
    match subscript:
        case Name(name):
            return name
        case Binary("+" | "-", Name(name), Int()) | Binary("+", Int(), Name(name)):
            return name
    return ""
