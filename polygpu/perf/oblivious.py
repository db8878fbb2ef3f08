"""Whether what a kernel does, its results apart, depends on the data that it reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polygpu.model.expr import Binary, Expr, Reference, Select
from polygpu.model.kernel import Assign, Declare, For, If, Kernel, Statement
from polygpu.model.kernel_walk import operands
from polygpu.model.rewrite import children, names_in, references
from polygpu.perf.elements import reloaded


def is_oblivious(kernel: Kernel) -> bool:
    """Whether its addresses, tests and bounds are functions of its scalars and its indices alone."""
    data = _data_names(kernel.body)
    return not any(_reads(expr, data) for expr in _steering(kernel.body))


def _reads(expr: Expr, data: set[str]) -> bool:
    return bool(names_in(expr) & data) or any(True for _ in references(expr))


def _steering(statements: Iterable[Statement]) -> Iterator[Expr]:
    """What decides where a statement goes and what it touches."""
    for statement in statements:
        for expr in operands(statement):
            yield from _choices(expr)
            for reference in references(expr):
                yield from reference.subscripts
        match statement:
            case For(lower=lower, upper=upper, body=body):
                yield from (lower, upper)
                yield from _steering(body)
            case If(test=test, then=then, otherwise=otherwise):
                yield test
                yield from _steering((*then, *otherwise))


def _choices(expr: Expr) -> Iterator[Expr]:
    """Tests on which it depends whether something is loaded that they have not loaded themselves."""
    for part in children(expr):
        yield from _choices(part)
    match expr:
        case Select(test, yes, no) if any(True for s in (yes, no) for _ in references(reloaded(test, s))):
            yield test
        case Binary("&&" | "||", left, right) if any(True for _ in references(reloaded(left, right))):
            yield left


def _data_names(statements: tuple[Statement, ...]) -> set[str]:
    """Locals whose values come from memory, directly or by way of others."""
    found: set[str] = set()
    while True:
        more = {name for name, value in _values(statements) if _reads(value, found)} - found
        if not more:
            return found
        found |= more


def _values(statements: Iterable[Statement]) -> Iterator[tuple[str, Expr]]:
    for statement in statements:
        match statement:
            case Declare(name=name, value=value) if value is not None:
                yield name, value
            case Assign(target, value) if not isinstance(target, Reference):
                yield target.name, value
            case For(body=body):
                yield from _values(body)
            case If(then=then, otherwise=otherwise):
                yield from _values((*then, *otherwise))
