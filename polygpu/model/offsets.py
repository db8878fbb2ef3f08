"""Offsets into arrays as expressions: sums and products kept as written, for addresses that people read.

`polygpu.model.linear` has the normal form instead, in which terms cancel.
"""

from __future__ import annotations

from collections.abc import Iterable

from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Unary, type_of
from polygpu.model.kernel import Buffer
from polygpu.model.linear import subtract


def linear_offset(indices: Iterable[Expr], sizes: Iterable[Expr | None], ctype: str = "") -> Expr:
    """`(i0 * size1 + i1) * size2 + ...`, computed in `ctype`; with no indices 0."""
    first, *others = indices or (Int(0),)
    total = Cast(ctype, first) if ctype and others and first != Int(0) else first
    for index, size in zip(others, sizes, strict=True):
        assert size is not None, "only the outermost extent of an array may be unknown"
        total = sum_of(product_of(total, size), index)
    return total


def sum_of(left: Expr, right: Expr) -> Expr:
    """`left + right` without zeros. What is not of int may wrap around: such a `right` stays whole."""
    match left, right:
        case (Int(a), Int(b)):
            return Int(a + b)
        case (Int(0), other) | (other, Int(0)):
            return other
        case (Int(), _):
            return sum_of(right, left)
        case (_, Unary("-", operand)) if type_of(right) == "int":
            return Binary("-", left, operand)
        case (Binary("+", inner, Int(a)), Int(b)):
            return sum_of(inner, Int(a + b))
        case (Binary("-", inner, Int(a)), Int(b)):
            return sum_of(inner, Int(b - a))
        case (_, Binary("+" | "-" as op, inner, Int() as last)) if type_of(right) == "int":
            return Binary(op, sum_of(left, inner), last)
    return Binary("+", left, right)


def negated(expr: Expr) -> Expr:
    """`-expr`."""
    match expr:
        case Int(value):
            return Int(-value)
        case Unary("-", operand):
            return operand
    return Unary("-", expr)


def product_of(left: Expr, right: Expr) -> Expr:
    """`left * right` without zeros and ones."""
    match left, right:
        case (Int(a), Int(b)):
            return Int(a * b)
        case (Int(0), _) | (_, Int(0)):
            return Int(0)
        case (Int(1), other) | (other, Int(1)):
            return other
        case (Int(-1), other) | (other, Int(-1)):
            return negated(other)
    return Binary("*", left, right)


def extent_of(expr: Expr) -> Expr:
    """An extent as a count of elements: host code reads it as 0 where it is negative."""
    return expr if isinstance(expr, Int) else Call("polygpu_extent", (expr,), "long long")


def product(factors: Iterable[Expr]) -> Expr:
    """All of `factors` multiplied; 1 for none."""
    result: Expr = Int(1)
    for factor in factors:
        result = product_of(result, factor)
    return result


def last_row(buffer: Buffer) -> tuple[Expr, Expr]:
    """The number of the row of the last element that is copied, and how much of it is."""
    origin = buffer.origin or (Int(0),) * len(buffer.extents)
    places = [subtract(at, first) for at, first in zip(buffer.last, origin, strict=True)]
    return linear_offset(places[:-1], map(extent_of, buffer.extents[1:-1])), sum_of(places[-1], Int(1))
