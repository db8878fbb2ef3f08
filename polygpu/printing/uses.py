"""What kernels and host code use, asked of the IR: what a file has to include, define or allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polygpu.model.expr import Call, Cast, Expr, Literal, Name, Reference
from polygpu.model.kernel import (
    Barrier,
    CommitCopies,
    Declare,
    DeclareArray,
    For,
    HostFor,
    HostIf,
    HostStatement,
    If,
    Kernel,
    Launch,
    Move,
    Region,
    WaitCopies,
)
from polygpu.model.kernel_walk import Body, operands, statements
from polygpu.model.rewrite import walk
from polygpu.printing.printer import quotient


def launches(body: Iterable[HostStatement]) -> Iterator[Launch]:
    """Those of a host body, at any depth."""
    for s in body:
        if isinstance(s, Launch):
            yield s
        else:
            yield from launches(s.body)


def host_expressions(body: Iterable[HostStatement]) -> Iterator[Expr]:
    """The bounds, tests, grids and arguments of a host body."""
    for s in body:
        match s:
            case HostFor():
                yield from (s.lower, s.upper, *host_expressions(s.body))
            case HostIf():
                yield from (s.test, *host_expressions(s.body))
            case Launch():
                yield from (*s.grid, *s.scalars)


def kernel_expressions(kernel: Kernel) -> Iterator[Expr]:
    """The expressions of its statements, and those that offsets into its arrays are computed of."""
    for s in statements(kernel.body):
        yield from operands(s)
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


def types(kernel: Kernel) -> frozenset[str]:
    """The types of what it declares, and of all that its expressions name, call and convert."""
    declared = (s.type for s in statements(kernel.body) if isinstance(s, Declare | DeclareArray))
    nodes = (e for expression in kernel_expressions(kernel) for e in walk(expression))
    named = (e.type for e in nodes if isinstance(e, Call | Cast | Literal | Name | Reference))
    arrays = (*(a.type for a in kernel.arrays), *(a.type for a in kernel.shared))
    return frozenset((*(s.type for s in kernel.scalars), *arrays, *declared, *named))


def doubles(region: Region) -> bool:
    """Whether the device holds a double; one that only comes up within an expression does not count."""
    held = {b.type for b in region.buffers} | {s.type for s in region.scalars}
    for kernel in region.kernels:
        held |= {a.type for a in kernel.shared}
        held |= {s.type for s in statements(kernel.body) if isinstance(s, Declare | DeclareArray)}
    return "double" in held


def asynchronous(kernel: Kernel) -> bool:
    """Whether it copies without waiting."""
    return any(
        isinstance(s, CommitCopies | WaitCopies) or (isinstance(s, Move) and s.asynchronous)
        for s in statements(kernel.body)
    )


def policies(kernel: Kernel) -> frozenset[str]:
    """Those of the tensor cores that it uses."""
    return frozenset(s.fragments for s in statements(kernel.body) if isinstance(s, For) and s.fragments)


def conditional_barrier(body: Body) -> bool:
    """Whether a barrier stands under a test, outside of loops."""
    inner = (part for s in body if isinstance(s, If) for part in (s.then, s.otherwise))
    return any(conditional_barrier(part) or any(isinstance(s, Barrier) for s in part) for part in inner)
