"""What kernels and host code use, asked of the IR: what a file has to include, define or allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polygpu.model.expr import Call, Cast, Expr, Literal, Name, Reference
from polygpu.model.kernel import (
    Barrier,
    CommitCopies,
    Declare,
    DeclareArray,
    HostFor,
    HostIf,
    HostStatement,
    If,
    Kernel,
    Launch,
    Move,
    Statement,
    WaitCopies,
)
from polygpu.model.rewrite import walk
from polygpu.model.walk import expressions_of
from polygpu.perf.names import bodies
from polygpu.printing.printer import quotient


def statements(body: Iterable[Statement]) -> Iterator[Statement]:
    """Those of `body`, at any depth."""
    for statement in body:
        yield statement
        yield from statements(bodies(statement))


def host_statements(body: Iterable[HostStatement]) -> Iterator[HostStatement]:
    """Those of `body`, at any depth."""
    for statement in body:
        yield statement
        if isinstance(statement, HostFor | HostIf):
            yield from host_statements(statement.body)


def host_expressions(body: Iterable[HostStatement]) -> Iterator[Expr]:
    """The bounds, tests, grids and arguments of a host body."""
    for statement in host_statements(body):
        match statement:
            case HostFor(lower=lower, upper=upper):
                yield from (lower, upper)
            case HostIf(test=test):
                yield test
            case Launch(grid=grid, scalars=scalars):
                yield from (*grid, *scalars)


def kernel_expressions(kernel: Kernel) -> Iterator[Expr]:
    """The expressions of its statements, and those that offsets into its arrays are computed of."""
    for statement in statements(kernel.body):
        yield from expressions_of(statement)
    for array in kernel.arrays:
        sizes = (*array.extents[1:-1], array.pitch)
        yield from (*array.origin, *(size for size in sizes if size is not None))


def functions(expressions: Iterable[Expr]) -> frozenset[str]:
    """The functions that are called, `floord_long` beside `floord`; a `min` of one value calls nothing."""
    calls = (e for expression in expressions for e in walk(expression) if isinstance(e, Call))
    return frozenset(
        quotient(c) if c.function == "floord" else c.function
        for c in calls
        if len(c.arguments) > 1 or c.function not in ("min", "max")
    )


def names(expressions: Iterable[Expr]) -> frozenset[str]:
    """The names of scalars and arrays."""
    nodes = [e for expression in expressions for e in walk(expression)]
    arrays = (e.array for e in nodes if isinstance(e, Reference))
    return frozenset((*(e.name for e in nodes if isinstance(e, Name)), *arrays))


def types(kernel: Kernel) -> frozenset[str]:
    """The types of what it declares, and of all that its expressions name, call and convert."""
    declared = (s.type for s in statements(kernel.body) if isinstance(s, Declare | DeclareArray))
    nodes = (e for expression in kernel_expressions(kernel) for e in walk(expression))
    named = (e.type for e in nodes if isinstance(e, Call | Cast | Literal | Name | Reference))
    arrays = (*(a.type for a in kernel.arrays), *(a.type for a in kernel.shared))
    return frozenset((*(s.type for s in kernel.scalars), *arrays, *declared, *named))


def asynchronous(kernel: Kernel) -> bool:
    """Whether it copies without waiting."""
    return any(
        isinstance(s, CommitCopies | WaitCopies) or (isinstance(s, Move) and s.asynchronous)
        for s in statements(kernel.body)
    )


def conditional_barrier(kernel: Kernel) -> bool:
    """Whether a barrier stands under a test, outside of loops."""
    return any(isinstance(s, If) and _outside_loops(s) for s in kernel.body)


def _outside_loops(branch: If) -> bool:
    inner = (*branch.then, *branch.otherwise)
    return any(isinstance(s, Barrier) or (isinstance(s, If) and _outside_loops(s)) for s in inner)
