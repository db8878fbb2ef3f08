"""Integer expressions of kernel code, evaluated for all threads of a block at once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any, Generic, TypeAlias, TypeVar

from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Literal, Name, Select, Unary
from polygpu.support.dataclass import dataclass

Value: TypeAlias = int | list[int] | None
"""The same in all threads, one a thread, or unknown: it depends on data."""

Environment: TypeAlias = Mapping[str, Value]
V = TypeVar("V")


@dataclass(frozen=True)
class Arithmetic(Generic[V]):
    """What expressions are evaluated by: `constant` makes a value, the others combine values by an operator.

    Values of operands may be None, unknown; minima, maxima and `floord` are operators of two operands.
    """

    constant: Callable[[int], V]
    unary: Callable[[str, V | None], V | None]
    binary: Callable[[str, V | None, V | None], V | None]
    select: Callable[[V | None, V | None, V | None], V | None]

    def evaluate(self, expr: Expr, values: Mapping[str, V | None]) -> V | None:
        """The value of `expr` where names have `values`; None when it depends on data."""
        match expr:
            case Name():
                return values.get(expr.name)
            case Int():
                return self.constant(expr.value)
            case Binary():
                left, right = self.evaluate(expr.left, values), self.evaluate(expr.right, values)
                return self.binary(expr.op, left, right)
            case Call("min" | "max" | "floord"):
                first, *others = (self.evaluate(a, values) for a in expr.arguments)
                for other in others:
                    first = self.binary(expr.function, first, other)
                return first
            case Unary():
                return self.unary(expr.op, self.evaluate(expr.operand, values))
            case Select():
                return self.select(*(self.evaluate(part, values) for part in (expr.test, expr.yes, expr.no)))
            case Cast() if "int" in expr.type or "long" in expr.type:
                return self.evaluate(expr.operand, values)
            case Literal(text, "int") if text[0].isdigit():
                return self.constant(int(text, 8 if text.isdigit() and text[0] == "0" else 0))
        return None


def uniform(expr: Expr, values: Environment) -> int | None:
    """The value of `expr` if it is known and the same in all threads."""
    value = evaluate(expr, values)
    return value if isinstance(value, int) else None


def binary(op: str, left: Value, right: Value) -> Value:
    """The values of two operands by an operator, `min`, `max` or `floord`."""
    if op == "&&" and 0 in (left, right):
        return 0  # whatever the other side is
    if left is None or right is None:
        return None
    function = BINARY[op]
    if isinstance(left, int):
        if isinstance(right, int):
            return int(function(left, right))
        return list(map(function, repeat(left), right))
    if not isinstance(right, int):
        return list(map(function, left, right))
    if right > 0 and op in _BY_POSITIVE:
        return _BY_POSITIVE[op](left, right)
    return list(map(function, left, repeat(right)))


def _unary(op: str, value: Value) -> Value:
    if value is None:
        return None
    function = _UNARY[op]
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


_UNARY: dict[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "!": operator.not_,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "min": min,
    "max": max,
    "floord": lambda a, b: a // b if b else 0,
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

# The same of all threads by a number above 0, such as an extent: these are most divisions, and no calls.
_BY_POSITIVE: dict[str, Callable[[list[int], int], list[int]]] = {
    "floord": lambda values, by: [v // by for v in values],
    "/": lambda values, by: [v // by if v >= 0 else -(-v // by) for v in values],
    "%": lambda values, by: [v % by if v >= 0 else -(-v % by) for v in values],
}

_LISTS: Arithmetic[int | list[int]] = Arithmetic(int, _unary, binary, _select)
evaluate = _LISTS.evaluate  # a division by zero, of an idle thread, gives 0
