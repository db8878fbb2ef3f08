"""Integer expressions of hosts as functions: those of loops that launch kernels have many values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import TypeAlias

from polygpu.model.expr import Expr, Int
from polygpu.perf.lanes import BINARY, Arithmetic, uniform

_OFTEN = 8  # values of an expression that are found without a function, which takes longer to make than one
_DEEP = 90  # parentheses in each other: Python's parser takes no more than 200

_Function: TypeAlias = Callable[[Mapping[str, int]], int]


class Uniform:
    """`uniform` of expressions in which names are integers, for many values of each."""

    def __init__(self) -> None:
        self._asked: dict[Expr, int] = {}
        self._functions: dict[Expr, _Function | None] = {}

    def __call__(self, expr: Expr, values: Mapping[str, int]) -> int | None:
        if isinstance(expr, Int):
            return expr.value
        if expr not in self._functions:
            self._asked[expr] = asked = self._asked.get(expr, 0) + 1
            if asked <= _OFTEN:
                return uniform(expr, values)
            self._functions[expr] = _function(expr)
        function = self._functions[expr]
        if function is not None:
            try:
                return int(function(values))
            except KeyError:  # data decide, if the other operands do not
                pass
        return uniform(expr, values)


class _Names(dict[str, str | None]):
    """The text of any name."""

    def get(self, name: str, default: object = None) -> str:
        return f"v[{name!r}]"


def _unary(op: str, operand: str | None) -> str | None:
    return None if operand is None else f"(not {operand})" if op == "!" else f"({op}{operand})"


def _binary(op: str, left: str | None, right: str | None) -> str | None:
    if left is None or right is None:
        return None
    if op == "&&":
        return f"(1 if {left} and {right} else 0)"
    return f"({left} {op} {right})" if op in _PYTHON else f"{_HELPERS[op]}({left}, {right})"


def _select(test: str | None, yes: str | None, no: str | None) -> str | None:
    return None if test is None or yes is None or no is None else f"({yes} if {test} else {no})"


_PYTHON = {"+", "-", "*", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="}
_HELPERS = {op: f"f{number}" for number, op in enumerate(BINARY)}
_TEXTS = Arithmetic("({})".format, _unary, _binary, _select)


def _function(expr: Expr) -> _Function | None:
    """None where its value depends on more than names, or it is too deep."""
    text = _TEXTS.evaluate(expr, _Names())
    if text is None or max(accumulate((c == "(") - (c == ")") for c in text)) > _DEEP:
        return None
    helpers = {_HELPERS[op]: function for op, function in BINARY.items()}
    found: _Function = eval(f"lambda v: {text}", helpers)
    return found
