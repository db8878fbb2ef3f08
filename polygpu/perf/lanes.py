"""Integer expressions of kernel code, evaluated for all threads of a block at once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import TypeAlias

from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Literal, Name, Select, Unary

Value: TypeAlias = int | list[int] | None
"""The same in all threads, one a thread, or unknown: it depends on data."""

Environment: TypeAlias = Mapping[str, Value]


def evaluate(expr: Expr, values: Environment) -> Value:
    """The value of `expr` where names have `values`. A division by zero, of an idle thread, gives 0."""
    match expr:
        case Name():
            return values.get(expr.name)
        case Int():
            return expr.value
        case Binary():
            return _binary(expr.op, evaluate(expr.left, values), evaluate(expr.right, values))
        case Call() if expr.function in _CALLS:
            return _call(expr, values)
        case Unary():
            return _apply(_UNARY[expr.op], evaluate(expr.operand, values))
        case Select():
            parts = (evaluate(part, values) for part in (expr.test, expr.yes, expr.no))
            return _select(*parts)
        case Cast() if "int" in expr.type or "long" in expr.type:
            return evaluate(expr.operand, values)
        case Literal(text, "int") if text[0].isdigit():
            return int(text, 8 if text.isdigit() and text[0] == "0" else 0)
    return None


def uniform(expr: Expr, values: Environment) -> int | None:
    """The value of `expr` if it is known and the same in all threads."""
    value = evaluate(expr, values)
    return value if isinstance(value, int) else None


def _call(call: Call, values: Environment) -> Value:
    first, *others = (evaluate(a, values) for a in call.arguments)
    for other in others:
        first = _pairs(_CALLS[call.function], first, other)
    return first


def _binary(op: str, left: Value, right: Value) -> Value:
    if op == "&&" and 0 in (left, right):
        return 0  # whatever the other side is
    return _pairs(_BINARY[op], left, right)


def _pairs(function: Callable[[int, int], int], left: Value, right: Value) -> Value:
    if left is None or right is None:
        return None
    if isinstance(left, int):
        if isinstance(right, int):
            return int(function(left, right))
        return list(map(function, repeat(left), right))
    return list(map(function, left, repeat(right) if isinstance(right, int) else right))


def _apply(function: Callable[[int], int], value: Value) -> Value:
    if value is None:
        return None
    return function(value) if isinstance(value, int) else list(map(function, value))


def _select(test: Value, yes: Value, no: Value) -> Value:
    if test is None or isinstance(test, int):
        return None if test is None else yes if test else no
    if yes is None or no is None:
        return None
    yes, no = spread(yes, len(test)), spread(no, len(test))
    return [y if t else n for t, y, n in zip(test, yes, no, strict=True)]


def spread(value: int | list[int], threads: int) -> list[int]:
    """One value a thread."""
    return [value] * threads if isinstance(value, int) else value


def _quotient(left: int, right: int) -> int:
    """C's division, which truncates towards zero."""
    if left >= 0 and right > 0:
        return left // right
    if right == 0:
        return 0
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


_CALLS: dict[str, Callable[[int, int], int]] = {
    "min": min,
    "max": max,
    "floord": lambda a, b: a // b if b else 0,
}
_UNARY: dict[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "!": operator.not_,
}
_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "%": lambda a, b: a - b * _quotient(a, b),
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "&&": lambda a, b: bool(a and b),
    "||": lambda a, b: bool(a or b),
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
