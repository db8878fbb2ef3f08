"""Changes of single expressions of Kernel IR: guards, thread indices, subscripts, bounds of copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from polygpu.model.expr import Binary, Call, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Declare, For, If, Move, Region, Statement
from polygpu.model.rewrite import children, with_children
from tests.unit.kernel_mutants import all_variants, plus, with_kernel

Swap = Callable[[Expr], Iterable[Expr]]
"""All that an expression may become, its parts apart."""

_OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


def expressions(expr: Expr, swap: Swap) -> Iterator[Expr]:
    """`expr` with one of its parts, or itself, changed."""
    yield from swap(expr)
    parts = children(expr)
    for k, part in enumerate(parts):
        for new in expressions(part, swap):
            yield with_children(expr, (*parts[:k], new, *parts[k + 1 :]))


def _each(s: Statement, swap: Swap) -> Iterator[tuple[Statement, ...]]:
    """A statement with one expression of its own changed."""
    match s:
        case Declare(value=value) if value is not None:
            yield from ((replace(s, value=v),) for v in expressions(value, swap))
        case Assign(target, value):
            yield from ((replace(s, value=v),) for v in expressions(value, swap))
            yield from ((replace(s, target=t),) for t in _references(target, swap))
        case Move(target, source):
            yield from ((replace(s, source=r),) for r in _references(source, swap))
            yield from ((replace(s, target=t),) for t in _references(target, swap))
        case For(_, lower, upper):
            yield from ((replace(s, lower=e),) for e in expressions(lower, swap))
            yield from ((replace(s, upper=e),) for e in expressions(upper, swap))
        case If(test):
            yield from ((replace(s, test=e),) for e in expressions(test, swap))


def _references(target: Reference | Name, swap: Swap) -> Iterator[Reference]:
    return (e for e in expressions(target, swap) if isinstance(e, Reference))


def other_guards(region: Region) -> Iterator[Region]:
    """`<` where `<=` stood, and so on, in tests."""

    def swap(e: Expr) -> Iterator[Expr]:
        if isinstance(e, Binary) and e.op in _OTHER:
            yield replace(e, op=_OTHER[e.op])

    return all_variants(region, lambda s: _each(s, swap) if isinstance(s, If) else ())


def other_threads(region: Region) -> Iterator[Region]:
    """The next thread's index, or that along another axis, where a thread's own stood."""

    def swap(e: Expr) -> Iterator[Expr]:
        if isinstance(e, Name) and e.name.startswith("thread_"):
            yield plus(e, 1)
            yield replace(e, name="thread_y" if e.name == "thread_x" else "thread_x")

    return all_variants(region, lambda s: _each(s, swap))


def _copies(region: Region) -> Callable[[Statement], bool]:
    shared = {s.name for k in region.kernels for s in k.shared}

    def copies(s: Statement) -> bool:
        match s:
            case Move(target, source) | Assign(Reference() as target, Reference() as source, None):
                return bool({target.array, source.array} & shared)
        return False

    return copies


def _shifted(r: Reference) -> Iterator[Reference]:
    for k, subscript in enumerate(r.subscripts):
        for by in (1, -1):
            yield replace(r, subscripts=(*r.subscripts[:k], plus(subscript, by), *r.subscripts[k + 1 :]))


def other_copied_elements(region: Region) -> Iterator[Region]:
    """Copies from or to a neighbour of the element that they should."""
    copies = _copies(region)

    def changes(s: Statement) -> Iterator[tuple[Statement, ...]]:
        match s:
            case Move(target, source) if copies(s):
                yield from ((replace(s, source=r),) for r in _shifted(source))
                yield from ((replace(s, target=r),) for r in _shifted(target))
            case Assign(Reference() as target, Reference() as source) if copies(s):
                yield from ((replace(s, value=r),) for r in _shifted(source))
                yield from ((replace(s, target=r),) for r in _shifted(target))

    return all_variants(region, changes)


def other_copy_bounds(region: Region) -> Iterator[Region]:
    """Bounds of copies off by one: of their loops, their guards, and what their subscripts are clamped to."""
    copies = _copies(region)

    def off(e: Expr) -> Iterator[Expr]:
        yield plus(e, 1)
        yield plus(e, -1)

    def clamp(e: Expr) -> Iterator[Expr]:
        if isinstance(e, Call) and e.function in ("min", "max"):
            *first, last = e.arguments
            yield from (replace(e, arguments=(*first, new)) for new in off(last))

    def guard(e: Expr) -> Iterator[Expr]:
        if isinstance(e, Binary) and e.op in _OTHER:
            yield from (replace(e, right=new) for new in off(e.right))

    def changes(s: Statement) -> Iterator[tuple[Statement, ...]]:
        match s:
            case For(_, lower, upper, _, body) if _any(body, copies):
                yield from ((replace(s, upper=new),) for new in off(upper))
                yield from ((replace(s, lower=new),) for new in off(lower))
            case If(_, then) if _any(then, copies):
                yield from _each(s, guard)
            case Move() | Assign() if copies(s):
                yield from _each(s, clamp)

    return all_variants(region, changes)


def _any(body: tuple[Statement, ...], copies: Callable[[Statement], bool]) -> bool:
    """Whether `body` is copies and what leads to them, and no barrier or computation."""
    return any(copies(s) for s in body) and not any(isinstance(s, For) for s in body)


def other_arrays(region: Region) -> Iterator[Region]:
    """Statements that read or write another array of the same shape: another version, buffer or temporary."""
    for kernel in region.kernels:
        shapes = {a.name: ("global", a.type, len(a.extents)) for a in kernel.arrays}
        shapes |= {s.name: ("shared", s.type, len(s.extents)) for s in kernel.shared}
        alone = replace(region, kernels=(kernel,))
        for variant in all_variants(alone, partial(_each, swap=partial(_of_another, shapes))):
            yield with_kernel(region, variant.kernels[0])


def _of_another(shapes: Mapping[str, tuple[str, str, int]], e: Expr) -> Iterator[Expr]:
    if isinstance(e, Reference) and e.array in shapes:
        alike = (name for name, shape in shapes.items() if name != e.array and shape == shapes[e.array])
        yield from (replace(e, array=name) for name in alike)


def other_buffers_of_tiles(region: Region) -> Iterator[Region]:
    """Statements that use the other one of two buffers, or another one of a ring."""

    def swap(e: Expr) -> Iterator[Expr]:
        if isinstance(e, Reference):
            for k, subscript in enumerate(e.subscripts):
                if isinstance(subscript, Binary) and subscript.op == "%" and isinstance(subscript.right, Int):
                    later = replace(subscript, left=plus(subscript.left, 1))
                    yield replace(e, subscripts=(*e.subscripts[:k], later, *e.subscripts[k + 1 :]))

    return all_variants(region, lambda s: _each(s, swap))


def other_operands(region: Region) -> Iterator[Region]:
    """Statements that read, or write, a neighbour of an element that they should."""

    def swap(e: Expr) -> Iterator[Expr]:
        if isinstance(e, Reference):
            yield from _shifted(e)

    def changes(s: Statement) -> Iterator[tuple[Statement, ...]]:
        if isinstance(s, Assign | Declare) and s.origin is not None:
            yield from _each(s, swap)

    return all_variants(region, changes)
