"""Single changes to the Kernel IR of a compiled region, for tests of what verification notices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from polygpu.lower.tidy import substituted
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import (
    ArraySpace,
    Assign,
    Barrier,
    Buffer,
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
    SharedArray,
    Statement,
    WaitCopies,
)

Change = Callable[[Statement], tuple[Statement, ...] | None]
"""What a statement becomes, or None where the change does not apply."""


Changes = Callable[[Statement], Iterable[tuple[Statement, ...]]]
"""All that a statement may become."""


def variants(body: tuple[Statement, ...], changes: Changes) -> Iterator[tuple[Statement, ...]]:
    """`body` with one statement changed, for each that can be."""
    for k, s in enumerate(body):
        for new in _one(s, changes):
            yield (*body[:k], *new, *body[k + 1 :])


def _one(s: Statement, changes: Changes) -> Iterator[tuple[Statement, ...]]:
    yield from changes(s)
    match s:
        case For():
            yield from ((replace(s, body=b),) for b in variants(s.body, changes))
        case If():
            yield from ((replace(s, then=b),) for b in variants(s.then, changes))
            yield from ((replace(s, otherwise=b),) for b in variants(s.otherwise, changes))


def kernel_variants(region: Region, change: Change) -> Iterator[Region]:
    """`region` with one statement of one kernel changed."""

    def changes(s: Statement) -> tuple[tuple[Statement, ...], ...]:
        changed = change(s)
        return () if changed is None else (changed,)

    return all_variants(region, changes)


def all_variants(region: Region, changes: Changes) -> Iterator[Region]:
    """`region` with one statement of one kernel changed, in each way that it can be."""
    for kernel in region.kernels:
        for body in variants(kernel.body, changes):
            yield with_kernel(region, replace(kernel, body=body))


def with_kernel(region: Region, kernel: Kernel) -> Region:
    return replace(region, kernels=tuple(kernel if k.name == kernel.name else k for k in region.kernels))


def with_shared(region: Region, name: str, change: Callable[[SharedArray], SharedArray]) -> Region:
    for kernel in region.kernels:
        shared = tuple(change(s) if s.name == name else s for s in kernel.shared)
        region = with_kernel(region, replace(kernel, shared=shared))
    return region


def without_barrier(s: Statement) -> tuple[Statement, ...] | None:
    return () if isinstance(s, Barrier) else None


def barriers_of_some(kernel: Kernel) -> Iterator[Change]:
    """Barriers that are there for small values of an argument only, for each of a kernel's integers."""
    for scalar in kernel.scalars:
        if scalar.type == "int":
            yield partial(_guarded, Binary("<", Name(scalar.name), Int(64)))


def _guarded(test: Expr, s: Statement) -> tuple[Statement, ...] | None:
    return (If(test, (s,), (), uniform=True),) if isinstance(s, Barrier) else None


def later_wait(s: Statement) -> tuple[Statement, ...] | None:
    """A wait that leaves one more group of copies unfinished."""
    return (WaitCopies(s.pending + 1),) if isinstance(s, WaitCopies) else None


def without_guard(s: Statement) -> tuple[Statement, ...] | None:
    return s.then if isinstance(s, If) else None


def shifted_copy(s: Statement) -> tuple[Statement, ...] | None:
    """A copy whose source is one element further."""
    match s:
        case Move(_, source) if len(source.subscripts) > 1:
            return (replace(s, source=_shift(source, 0)),)
        case Assign(Reference(), Reference() as source, None):
            return (replace(s, value=_shift(source, len(source.subscripts) - 1)),)
    return None


def _shift(r: Reference, k: int) -> Reference:
    subscripts = list(r.subscripts)
    subscripts[k] = plus(subscripts[k], 1)
    return replace(r, subscripts=tuple(subscripts))


def plus(expr: Expr, value: int) -> Expr:
    return Binary("+", expr, Int(value))


def later_loop(s: Statement) -> tuple[Statement, ...] | None:
    """A loop that leaves out its first iteration."""
    return (replace(s, lower=plus(s.lower, s.step)),) if isinstance(s, For) else None


def shorter_loop(s: Statement) -> tuple[Statement, ...] | None:
    """A loop that leaves out its last iterations."""
    return (replace(s, upper=plus(s.upper, -1)),) if isinstance(s, For) and s.step == 1 else None


def swapped_loops(s: Statement) -> tuple[Statement, ...] | None:
    """Two loops, one directly inside the other, the other way round."""
    match s:
        case For(body=(For() as inner,)):
            return (replace(inner, body=(replace(s, body=inner.body),)),)
    return None


def host_variants(
    body: tuple[HostStatement, ...], change: Callable[[HostStatement], HostStatement | None]
) -> Iterator[tuple[HostStatement, ...]]:
    """A host program with one statement changed."""
    for k, s in enumerate(body):
        changed = change(s)
        if changed is not None:
            yield (*body[:k], changed, *body[k + 1 :])
        if isinstance(s, HostFor | HostIf):
            for inner in host_variants(s.body, change):
                yield (*body[:k], replace(s, body=inner), *body[k + 1 :])


def another_scalar(region: Region, name: str, by: int) -> Iterator[Region]:
    """`region` with one launch passing a value for scalar argument `name` that is off by `by`."""
    kernels = {k.name: k for k in region.kernels}

    def change(s: HostStatement) -> HostStatement | None:
        if not isinstance(s, Launch) or all(a.name != name for a in kernels[s.kernel].scalars):
            return None
        names = [a.name for a in kernels[s.kernel].scalars]
        scalars = tuple(
            plus(value, by) if n == name else value for n, value in zip(names, s.scalars, strict=True)
        )
        return replace(s, scalars=scalars)

    for body in host_variants(region.body, change):
        yield replace(region, body=body)


def dropped(s: Statement) -> tuple[Statement, ...] | None:
    """A copy, or an assignment, that is not made."""
    return () if isinstance(s, Move | Assign) else None


def launches_dropped(region: Region) -> Iterator[Region]:
    """`region` without one of the launches of its host program."""
    for body in _without(region.body):
        yield replace(region, body=body)


def _without(body: tuple[HostStatement, ...]) -> Iterator[tuple[HostStatement, ...]]:
    for k, s in enumerate(body):
        if isinstance(s, Launch):
            yield (*body[:k], *body[k + 1 :])
        else:
            yield from ((*body[:k], replace(s, body=inner), *body[k + 1 :]) for inner in _without(s.body))


def launches_swapped(region: Region) -> Iterator[Region]:
    """`region` with two neighbours of its host program the other way round."""
    for body in _swapped(region.body):
        yield replace(region, body=body)


def _swapped(body: tuple[HostStatement, ...]) -> Iterator[tuple[HostStatement, ...]]:
    for k in range(len(body) - 1):
        yield (*body[:k], body[k + 1], body[k], *body[k + 2 :])
    for k, s in enumerate(body):
        if isinstance(s, HostFor | HostIf):
            for inner in _swapped(s.body):
                yield (*body[:k], replace(s, body=inner), *body[k + 1 :])


def backwards(s: Statement) -> tuple[Statement, ...] | None:
    """A loop that runs from its last iteration to its first."""
    if not isinstance(s, For) or s.step != 1:
        return None
    last = Binary("-", Binary("+", s.lower, s.upper), Int(1))
    return (replace(s, body=substituted(s.body, {s.index: Binary("-", last, Name(s.index))})),)


def diverging(s: Statement) -> tuple[Statement, ...] | None:
    """A barrier that threads 0 of a row go around."""
    if not isinstance(s, Barrier):
        return None
    return (If(Binary(">", Name("thread_x"), Int(0)), (s,), (), uniform=True),)


def another_instance(s: Statement) -> tuple[Statement, ...] | None:
    """An action that claims to be the next instance."""
    if not isinstance(s, Assign) or s.origin is None:
        return None
    *outer, last = s.origin.arguments
    return (replace(s, origin=replace(s.origin, arguments=(*outer, plus(last, 1)))),)


def padding_on_one_side(region: Region) -> Iterator[Region]:
    """Rows of an array that the host, or a copy, takes for longer or shorter than the rest of the kernel."""
    for name in sorted({a.name for k in region.kernels for a in k.scalars if a.name.endswith("_pitch")}):
        yield from another_scalar(region, name, 32)
    padded = {s.name: s for k in region.kernels for s in k.shared if len(s.extents) == 2 and s.padding}

    def unpadded(s: Statement) -> tuple[Statement, ...] | None:
        match s:
            case Assign(Reference(array) as target) | Move(Reference(array) as target) if array in padded:
                return (replace(s, target=_as_if_unpadded(target, padded[array])),)
        return None

    yield from kernel_variants(region, unpadded)


def _as_if_unpadded(r: Reference, s: SharedArray) -> Reference:
    width = s.extents[-1]
    place = Binary("+", Binary("*", r.subscripts[0], Int(width)), r.subscripts[1])
    row, column = (Binary(op, place, Int(width + s.padding)) for op in "/%")
    return replace(r, subscripts=(row, column))


def other_buffers(region: Region) -> Iterator[Region]:
    """Arrays of which too little is copied, or with host rows of another length, or in one direction only."""
    for k, b in enumerate(region.buffers):
        for new in _other_layouts(b) if b.host and b.extents else ():
            yield replace(region, buffers=(*region.buffers[:k], new, *region.buffers[k + 1 :]))


def _other_layouts(b: Buffer) -> Iterator[Buffer]:
    yield replace(b, extents=(*b.extents[:-1], plus(b.extents[-1], -1)))
    *rows, last = b.host_extents
    if rows and last is not None:
        yield replace(b, host_extents=(*rows, plus(last, 1)))
    if b.copy_in:
        yield replace(b, copy_in=False)
    if b.copy_out:
        yield replace(b, copy_out=False)


def other_caches(region: Region) -> Iterator[Region]:
    """Arrays that a kernel reads through a cache which sees no stores."""
    spaces: tuple[ArraySpace, ...] = ("texture", "constant")
    for kernel in region.kernels:
        for k, array in enumerate(kernel.arrays):
            for space in spaces:
                arrays = (*kernel.arrays[:k], replace(array, space=space), *kernel.arrays[k + 1 :])
                yield with_kernel(region, replace(kernel, arrays=arrays))


def other_types(region: Region) -> Iterator[Region]:
    """Shared arrays, registers and scalar arguments of a floating type that is not the source's."""
    other = {"float": "double", "double": "float"}
    for kernel in region.kernels:
        for k, s in enumerate(kernel.shared):
            if s.type in other:
                new = (*kernel.shared[:k], replace(s, type=other[s.type]), *kernel.shared[k + 1 :])
                yield with_kernel(region, replace(kernel, shared=new))
        for k, a in enumerate(kernel.scalars):
            if a.type in other:
                arguments = (*kernel.scalars[:k], replace(a, type=other[a.type]), *kernel.scalars[k + 1 :])
                yield with_kernel(region, replace(kernel, scalars=arguments))

    def declared(s: Statement) -> tuple[Statement, ...] | None:
        match s:
            case Declare(type=ctype) | DeclareArray(type=ctype) if ctype in other:
                return (replace(s, type=other[ctype]),)
        return None

    yield from kernel_variants(region, declared)
