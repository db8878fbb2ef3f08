"""Whether what a kernel does, its results apart, depends on the data that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygpu.model.expr import Binary, Expr, Name, Reference, Select
from polygpu.model.kernel import Assign, Declare, For, If, Kernel, Statement
from polygpu.model.kernel_walk import operands, statements
from polygpu.model.rewrite import names_in, reads_memory, walk
from polygpu.perf.elements import reloaded


def is_oblivious(kernel: Kernel) -> bool:
    """Whether its addresses, tests and bounds are functions of its scalars and its indices alone."""
    inside = tuple(statements(kernel.body))
    data = _data_names(inside)
    return not any(_reads(expr, data) for expr in _steering(inside))


def _reads(expr: Expr, data: set[str]) -> bool:
    return reads_memory(expr) or not data.isdisjoint(names_in(expr))


def _steering(inside: Sequence[Statement]) -> Iterator[Expr]:
    """What decides where a statement goes and what it touches: of tests within expressions, those on which it
    depends whether something is loaded that they have not loaded themselves.
    """
    for s in inside:
        if isinstance(s, For | If):
            yield from operands(s)
        for expr in operands(s):
            for part in walk(expr):
                match part:
                    case Reference(subscripts=subscripts):
                        yield from subscripts
                    case Select(test, yes, no) if _loads_more(test, yes) or _loads_more(test, no):
                        yield test
                    case Binary("&&" | "||", left, right) if _loads_more(left, right):
                        yield left


def _loads_more(test: Expr, side: Expr) -> bool:
    return reads_memory(reloaded(test, side))


def _data_names(inside: Sequence[Statement]) -> set[str]:
    """Locals whose values come from memory, directly or by way of others."""
    found: set[str] = set()
    while more := {name for name, value in _values(inside) if _reads(value, found)} - found:
        found |= more
    return found


def _values(inside: Sequence[Statement]) -> Iterator[tuple[str, Expr]]:
    for s in inside:
        match s:
            case Declare(name, _, value) if value is not None:
                yield name, value
            case Assign(Name(name), value):
                yield name, value
