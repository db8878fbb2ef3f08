"""Whether loops in a row see an array in different ways: one all of its elements, others its rows.

    for (k = 0; k < n; k++) a[k] = 0;
    for (i = 0; i < h; i++) for (j = 0; j < w; j++) a[i * w + j] += b[j];

Together they are one region in which k is taken to be below w, which fails at run time; apart each is right.
"""

from __future__ import annotations

from collections.abc import Iterator

from polygpu.frontend.shape.affine import polynomial
from polygpu.model.expr import Binary, Expr, Int, Name
from polygpu.model.scop import Assumption, Scop, Statement


def sees_rows_otherwise(scop: Scop) -> bool:
    """Whether one of several loops goes over what may be more than the first row of an array in one
    dimension, of which others tell rows apart.
    """
    statements = {s.name: s for s in scop.statements}
    guessed = ((a, statements[a.statement]) for a in scop.assumptions if a.statement in statements)
    return any(not _is_sure(a, s) and _is_flat(scop, a, s) for a, s in guessed)


def _is_flat(scop: Scop, assumed: Assumption, s: Statement) -> bool:
    """Whether the loop around a statement has the array that is assumed about in one dimension alone."""
    names = {
        a.reference.array
        for a in s.accesses
        if a.reference.subscripts[1:] and a.reference.subscripts[-1] == assumed.value and a.affine
    }
    for name in names:
        uses = [
            (x, a.reference.subscripts)
            for x in scop.statements
            for a in x.accesses
            if a.reference.array == name
        ]
        mine = [subscripts for x, subscripts in uses if x.schedule[:1] == s.schedule[:1]]
        if len(mine) < len(uses) and all(e == Int(0) for subscripts in mine for e in subscripts[:-1]):
            return True
    return False


def _is_sure(assumed: Assumption, s: Statement) -> bool:
    """Whether a bound of the loops around the statement keeps the value below what is assumed."""
    return any(_least(polynomial(Binary("-", assumed.bound, above))) for above in _above(assumed.value, s))


def _least(difference: dict[tuple[Expr, ...], int]) -> bool:
    """Whether it is a constant that is not negative."""
    return set(difference) <= {()} and difference.get((), 0) >= 0


def _above(value: Expr, s: Statement) -> Iterator[Expr]:
    """What is above the value by the conditions of the statement's domain."""
    for test in s.domain:
        match test:
            case Binary("<" | "<=" as op, left, right) | Binary(">" | ">=" as op, right, left):
                beyond: Expr = right if op in ("<", ">") else Binary("+", right, Int(1))
                if isinstance(left, Name):
                    yield Binary("+", beyond, Binary("-", value, left))
