"""Whether what a kernel does, its results apart, depends on the data that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygpu.model.expr import Expr, Name
from polygpu.model.kernel import Assign, Declare, For, If, Statement, While
from polygpu.model.kernel_walk import operands, statements
from polygpu.model.rewrite import names_in, reads_memory
from polygpu.perf.lockstep import Lockstep


def is_oblivious(tree: Lockstep) -> bool:
    """Whether its addresses, tests and bounds are functions of its scalars and its indices alone."""
    inside = tuple(statements(tree.kernel.body))
    data = _data_names(inside)
    steering = [subscript for access in tree.accesses for subscript in access.element.subscripts]
    steering += [choice.test.source for choice in tree.choices if choice.then or choice.otherwise]
    steering += [expr for s in inside if isinstance(s, For | If) for expr in operands(s)]
    return not any(isinstance(s, While) for s in inside) and not any(_reads(expr, data) for expr in steering)


def _reads(expr: Expr, data: set[str]) -> bool:
    return reads_memory(expr) or not data.isdisjoint(names_in(expr))


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
