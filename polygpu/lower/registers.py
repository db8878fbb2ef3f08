"""Registers that hold array elements while a kernel runs: their loads and stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

import islpy as isl

from polygpu.lower.context import KernelContext, several
from polygpu.lower.points import names_in
from polygpu.lower.scan import test_of, value_of
from polygpu.mapping.program import Axis, HeldArray
from polygpu.model.expr import SIZES, Cast, Expr, Int, Literal, Name, Reference
from polygpu.model.kernel import Assign, Declare, DeclareArray, If, Move, Statement
from polygpu.model.linear import conjunction, divides, linear
from polygpu.model.rewrite import substitute
from polygpu.support.isl_idioms import D, single_space


def loads(c: KernelContext, held: Iterable[HeldArray]) -> Iterator[Statement]:
    """The registers, with the elements that are loaded, or cleared."""
    for h in held:
        nothing = zero(c.layouts[h.array].buffer.type)
        if not h.load:
            yield from cleared(c, h, nothing)
            continue
        load = Assign(c.register(h), element(c, h))
        yield _declaration(c, h, None)
        yield from at_points(c, c.owners(h), h.points, load, Assign(c.register(h), nothing))


def cleared(c: KernelContext, h: HeldArray, value: Expr) -> Iterator[Statement]:
    """The registers, each with the value."""
    yield _declaration(c, h, value)
    axes = several(c.owners(h))
    if axes:
        yield from c.points.open(axes, (Assign(c.register(h), value),), guarded=False)


def _declaration(c: KernelContext, h: HeldArray, value: Expr | None) -> Declare | DeclareArray:
    ctype = c.layouts[h.array].buffer.type
    extents = tuple(a.per_thread for a in several(c.owners(h)))
    return DeclareArray(h.name, ctype, extents) if extents else Declare(h.name, ctype, value, mutable=True)


def stores(c: KernelContext, held: Iterable[HeldArray]) -> Iterator[Statement]:
    for h in held:
        if h.store:
            yield from at_points(c, c.owners(h), h.points, Assign(element(c, h), c.register(h)))


def at_points(
    c: KernelContext,
    axes: tuple[Axis, ...],
    points: isl.Set,
    action: Assign,
    otherwise: Assign | None = None,
) -> tuple[Statement, ...]:
    """`action` at the thread's points along `axes` that are among `points`, `otherwise` at its other ones."""
    tests = [t for a in axes for t in c.points.guards(c.m.axes.index(a))]
    mine = here(points.align_params(c.points.hull.get_space()), [a.name for a in axes])
    owned = test_of(mine.params(), c.points.box)
    test = conjunction([*tests, *([owned] if owned is not None else [])])
    if test is None:
        return _everywhere(c, axes, action)
    body = (If(test, (action,), (otherwise,) if otherwise else (), uniform=False),)
    tested = c.points.open(several(axes), body, guarded=False)
    full = _full_tile(c, axes, mine.params()) if c.m.outer and several(axes) else None
    if full is None:
        return tested
    # launches in a loop of the host have little else to do: loads behind tests would wait for each other
    return (If(full, _everywhere(c, axes, action), tested, uniform=True),)


def _everywhere(c: KernelContext, axes: tuple[Axis, ...], action: Assign) -> tuple[Statement, ...]:
    """`action` at all of the thread's points, at several along the last axis at once where a lane can."""
    target, value, mine = action.target, action.value, several(axes)
    width = _width(c, mine[-1], target, value) if mine else 1
    if width < 2 or not isinstance(target, Reference) or not isinstance(value, Reference):
        return c.points.open(mine, (action,), guarded=False)
    some = range(0, _group(c, mine[-1]), width)
    return c.points.open(mine, (Move(target, value, width),), False, {mine[-1].name: some})


def _width(c: KernelContext, axis: Axis, *places: Expr) -> int:
    """How many elements of a global array next to each other, in rows that are pitched, belong to a thread's
    points next to each other along the axis: of two places, one of which is a register.
    """
    registers = {h.name for h in c.m.held}
    found = [e for e in places if isinstance(e, Reference) and e.array not in registers]
    layout = c.layouts.get(found[0].array) if len(found) == 1 else None
    if layout is None or axis.group == 1 or not found[0].subscripts:
        return 1
    *outer, last = found[0].subscripts
    if dict(linear(last).terms).get(Name(axis.name)) != 1 or any(axis.name in names_in(e) for e in outer):
        return 1
    first = substitute(c.points.expand(last), {c.points.register_names(axis)[-1]: Int(0)})
    multiples = {a.origin: a.aligned for a in c.m.axes}
    width = min(_group(c, axis), c.m.widest // SIZES.get(layout.buffer.type, c.m.widest or 1))
    while width > 1 and not (
        _group(c, axis) % width == 0 and layout.is_pitched(width) and divides(width, first, multiples)
    ):
        width //= 2
    return width


def _group(c: KernelContext, axis: Axis) -> int:
    """The points of a thread that are next to each other along the axis."""
    return axis.group if len(c.points.register_names(axis)) > 1 else axis.per_thread


def _full_tile(c: KernelContext, axes: tuple[Axis, ...], mine: isl.Set) -> Expr | None:
    """Whether all of a block's points are inside the nest and among `mine`."""
    guards = c.points.full_tile(axes)
    outside = c.points.box.subtract(mine)
    if outside.is_empty():
        return guards
    known = c.block_context()
    inside = test_of(known.subtract(c.points.origins_of(outside)), known)
    return conjunction([t for t in (guards, inside) if t is not None])


def here(points: isl.Set, names: Sequence[str]) -> isl.Set:
    """Of `points` the one whose dimensions have the values of the parameters `names`."""
    for d, name in enumerate(names):
        points = points.align_params(single_space(points.get_space().params(), name))
        local = isl.LocalSpace.from_space(points.get_space())
        position = points.find_dim_by_name(D.param, name)
        value = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.param, position))
        points = points.intersect(isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.set, d)).eq_set(value))
    return points


def element(c: KernelContext, h: HeldArray) -> Reference:
    """The array element the current point owns."""
    ctype, owners = c.layouts[h.array].buffer.type, c.owners(h)
    others = [a.name for a in c.m.axes if a not in owners]  # of which no point is the current one
    known = reduce(_forgotten, others, c.points.hull)
    indices = values(h.element, [a.name for a in owners], known)
    return Reference(h.array, indices, ctype, site=c.site(h.tuple_name))


def _forgotten(points: isl.Set, name: str) -> isl.Set:
    position = points.find_dim_by_name(D.param, name)
    return points if position < 0 else points.project_out(D.param, position, 1)


def subscripts(c: KernelContext, axes: tuple[Axis, ...], element: isl.PwMultiAff) -> tuple[Expr, ...]:
    """Where a function of points along `axes` has the current one."""
    return values(element, [a.name for a in axes], c.points.hull)


def values(function: isl.PwMultiAff, names: Sequence[str], context: isl.Set) -> tuple[Expr, ...]:
    """A function of as many dimensions as there are `names`, in terms of these, where `context` holds."""
    domain = isl.Set.universe(function.get_space().domain()).align_params(context.get_space())
    image = here(domain, names).apply(isl.Map.from_pw_multi_aff(function))
    found: list[Expr] = []
    for k in range(image.dim(D.set)):
        line = image.project_out(D.set, k + 1, image.dim(D.set) - k - 1).project_out(D.set, 0, k)
        found.append(value_of(line.reset_tuple_id().dim_max(0), context))
    return tuple(found)


def zero(ctype: str) -> Expr:
    if ctype == "float":
        return Literal("0.0f", "float")
    return Literal("0.0", "double") if ctype == "double" else Cast(ctype, Int(0))
