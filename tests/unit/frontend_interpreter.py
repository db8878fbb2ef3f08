"""Runs a scop as it is defined: every instance of every domain, in the order of the schedule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, TypeAlias

from polygpu.model.expr import (
    Binary,
    Call,
    Cast,
    Expr,
    Int,
    Literal,
    Name,
    Reference,
    Select,
    Unary,
    is_floating,
    limits,
    type_of,
)
from polygpu.model.scop import Action, Branch, Let, Repeat, Scop, Statement, Store

Number: TypeAlias = int | float
Memory: TypeAlias = dict[tuple[Any, ...], Number]
_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "min": min, "max": max, "sqrt": math.sqrt, "fabs": abs, "abs": abs, "floor": math.floor,
    "floord": lambda a, b: a // b,
}  # fmt: skip


class Interpreter:
    """Iterators range over [-bound, bound]; all floating arithmetic is double's."""

    def __init__(self, scop: Scop, scalars: dict[str, Number], memory: Memory, bound: int) -> None:
        self.scop = scop
        self.scalars = scalars
        self.memory = memory
        self.bound = bound

    def run(self) -> None:
        assert self.scop.context == () or all(self.value(c, {}) for c in self.scop.context)
        instances = [pair for s in self.scop.statements for pair in self.instances(s)]
        width = max((len(key) for key, _, _ in instances), default=0)
        for _, statement, names in sorted(instances, key=lambda i: (*i[0], *[-1] * (width - len(i[0])))):
            for action in statement.body:
                self.act(action, names)

    def instances(
        self, statement: Statement
    ) -> Iterator[tuple[tuple[int, ...], Statement, dict[str, Number]]]:
        for point in product(range(-self.bound, self.bound + 1), repeat=len(statement.iterators)):
            names: dict[str, Number] = dict(zip(statement.iterators, point, strict=True))
            if all(self.value(condition, names) for condition in statement.domain):
                key = tuple(self.place(part, names) for part in statement.schedule)
                yield key, statement, names

    def place(self, part: int | str, names: dict[str, Number]) -> int:
        if isinstance(part, int):
            return part
        return -int(names[part[1:]]) if part.startswith("-") else int(names[part])

    def act(self, action: Action, names: dict[str, Number]) -> None:
        match action:
            case Store(target, value):
                result = self.value(value, names)
                self.memory[self.cell(target, names)] = convert(result, target.type)
            case Let(name, ctype, value, _):
                names[name] = convert(self.value(value, names), ctype)
            case Branch(test, then, otherwise):
                for inner in then if self.value(test, names) else otherwise:
                    self.act(inner, names)
            case Repeat(test, body):
                while self.value(test, names):
                    for inner in body:
                        self.act(inner, names)

    def cell(self, reference: Reference, names: dict[str, Number]) -> tuple[Any, ...]:
        return (reference.array, reference.field, *(self.value(s, names) for s in reference.subscripts))

    def value(self, expr: Expr, names: dict[str, Number]) -> Number:
        match expr:
            case Int(value):
                return value
            case Literal(text, ctype):
                return float(text.rstrip("fF")) if is_floating(ctype) else int(text.rstrip("uUlL"), 0)
            case Name(name, _):
                return names[name] if name in names else self.scalars[name]
            case Unary(op, operand):
                operated = self.value(operand, names)
                return {"-": -operated, "+": operated, "!": int(not operated)}[op]
            case Binary():
                return self.binary(expr, names)
            case Select(test, yes, no):
                return convert(self.value(yes if self.value(test, names) else no, names), type_of(expr))
            case Call(name, arguments, _):
                return _FUNCTIONS[name](*(self.value(a, names) for a in arguments))
            case Cast(ctype, operand):
                return convert(self.value(operand, names), ctype)
            case Reference():
                return self.memory[self.cell(expr, names)]

    def binary(self, expr: Binary, names: dict[str, Number]) -> Number:
        left = self.value(expr.left, names)
        if expr.op in ("&&", "||") and bool(left) == (expr.op == "||"):
            return int(bool(left))
        right = self.value(expr.right, names)
        match expr.op:
            case "/" | "%" if not is_floating(type_of(expr)):
                quotient = abs(int(left)) // abs(int(right)) * (1 if (left < 0) == (right < 0) else -1)
                return quotient if expr.op == "/" else left - quotient * right
            case "&&" | "||":
                return int(bool(right))
        result: Number = eval(f"left {expr.op} right", {"left": left, "right": right})
        return int(result) if isinstance(result, bool) else result


def convert(value: Number, ctype: str) -> Number:
    if is_floating(ctype):
        return float(value)
    low, high = limits(ctype)
    return (int(value) - low) % (high - low + 1) + low
