"""Loops that count down, as the loops of the source that they are.

Schedules only go forwards, so a loop of the source from the last iteration to the first is one over its
iterator's opposite, which all that it touches is told by:

    before: for (int c2 = -2; c2 < -j; ++c2) { b[-c2] = a[n - c2]; }
    after:  for (int k = 2; k > j; --k) { b[k] = a[n + k]; }
"""

from __future__ import annotations

from dataclasses import replace

from polygpu.model.expr import Binary, Call, Expr, Int, Name, Unary
from polygpu.model.kernel import For, Statement
from polygpu.model.kernel_walk import Body, map_operands, map_statements
from polygpu.model.linear import affine, subtract
from polygpu.model.rewrite import children, scalars_in, with_children

_OPPOSITE = {"min": "max", "max": "min"}


def counted_down(body: Body) -> Body:
    """The body with steps of less than zero: `for (index = lower; index > upper; index += step)`."""
    return map_statements(body, lambda s: _turned(s) if isinstance(s, For) and s.opposite else s)


def _turned(loop: For) -> For:
    def put(e: Expr) -> Expr:
        return _with_opposite(e, loop.index, Name(loop.opposite))

    def change(s: Statement) -> Statement:
        return map_operands(s, put, put)

    match loop.upper:
        case Binary("+", last, Int(1)):
            upper = subtract(_opposite(last), Int(1))
        case _:
            upper = _opposite(loop.upper)
    body, lower = map_statements(loop.body, change), _opposite(loop.lower)
    return replace(
        loop, index=loop.opposite, lower=lower, upper=upper, step=-loop.step, body=body, opposite=""
    )


def _opposite(e: Expr) -> Expr:
    match e:
        case Unary("-", operand):
            return operand
        case Call("min" | "max" as function, arguments, "int"):
            return Call(_OPPOSITE[function], tuple(map(_opposite, arguments)), "int")
    return subtract(Int(0), e) if affine(e) else Unary("-", e)


def _with_opposite(e: Expr, index: str, opposite: Name) -> Expr:
    """The expression told by the index's opposite, without signs that cancel."""
    if index not in scalars_in(e):
        return e
    if isinstance(e, Name):
        return Unary("-", opposite)
    match with_children(e, tuple(_with_opposite(child, index, opposite) for child in children(e))):
        case Unary("-", Unary("-", operand)):
            return operand
        case Binary("+", left, Unary("-", right)):
            return Binary("-", left, right)
        case Binary("+", Unary("-", left), right):
            return Binary("-", right, left)
        case Binary("-", left, Unary("-", right)):
            return Binary("+", left, right)
        case Binary("*", Int(value), Unary("-", other)) | Binary("*", Unary("-", other), Int(value)):
            return Binary("*", Int(-value), other)
        case new:
            return new
