"""Registers that hold array elements while a kernel runs: their loads and stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import islpy as isl

from polygpu.lower.context import KernelContext
from polygpu.lower.scan import test_of, value_of
from polygpu.mapping.program import HeldArray
from polygpu.model.expr import Cast, Expr, Int, Literal, Reference
from polygpu.model.kernel import Assign, Declare, DeclareArray, If, Statement
from polygpu.model.linear import conjunction
from polygpu.support.isl_idioms import D, single_space


def loads(c: KernelContext, held: Iterable[HeldArray]) -> Iterator[Statement]:
    """The registers, with the elements that are loaded, or cleared."""
    for h in held:
        ctype = c.layouts[h.array].buffer.type
        extents = tuple(a.per_thread for a in c.registers())
        zero = _zero(ctype)
        if extents:
            yield DeclareArray(h.name, ctype, extents)
        else:
            yield Declare(h.name, ctype, None if h.load else zero, mutable=True)
        if h.load:
            load = Assign(c.register(h), _element(c, h))
            yield from at_points(c, h.points, load, Assign(c.register(h), zero))
        elif extents:
            clear = (Assign(c.register(h), zero),)
            yield from c.points.open(c.registers(), clear, guarded=False)


def stores(c: KernelContext, held: Iterable[HeldArray]) -> Iterator[Statement]:
    for h in held:
        if h.store:
            yield from at_points(c, h.points, Assign(_element(c, h), c.register(h)), None)


def at_points(
    c: KernelContext, points: isl.Set, action: Assign, otherwise: Assign | None
) -> tuple[Statement, ...]:
    """`action` at the thread's points that are among `points`, `otherwise` at its other ones."""
    tests = [t for k in range(len(c.m.axes)) for t in c.points.guards(k)]
    mine = here(points.align_params(c.points.hull.get_space()), [a.name for a in c.m.axes])
    owned = test_of(mine.params(), c.points.box)
    test = conjunction([*tests, *([owned] if owned is not None else [])])
    if test is None:
        body: tuple[Statement, ...] = (action,)
    else:
        body = (If(test, (action,), (otherwise,) if otherwise else (), uniform=False),)
    return c.points.open(c.registers(), body, guarded=False)


def here(points: isl.Set, names: Sequence[str]) -> isl.Set:
    """Of `points` the one whose dimensions have the values of the parameters `names`."""
    for d, name in enumerate(names):
        points = points.align_params(single_space(points.get_space().params(), name))
        local = isl.LocalSpace.from_space(points.get_space())
        position = points.find_dim_by_name(D.param, name)
        value = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.param, position))
        points = points.intersect(isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.set, d)).eq_set(value))
    return points


def _element(c: KernelContext, h: HeldArray) -> Reference:
    """The array element the current point owns."""
    ctype = c.layouts[h.array].buffer.type
    return Reference(h.array, subscripts(c, h.element), ctype, site=c.site(h.tuple_name))


def subscripts(c: KernelContext, element: isl.PwMultiAff) -> tuple[Expr, ...]:
    """Where a function of points has the current one."""
    return values(element, [a.name for a in c.m.axes], c.points.hull)


def values(function: isl.PwMultiAff, names: Sequence[str], context: isl.Set) -> tuple[Expr, ...]:
    """A function of as many dimensions as there are `names`, in terms of these, where `context` holds."""
    domain = isl.Set.universe(function.get_space().domain()).align_params(context.get_space())
    image = here(domain, names).apply(isl.Map.from_pw_multi_aff(function))
    found: list[Expr] = []
    for k in range(image.dim(D.set)):
        line = image.project_out(D.set, k + 1, image.dim(D.set) - k - 1).project_out(D.set, 0, k)
        found.append(value_of(line.reset_tuple_id().dim_max(0), context))
    return tuple(found)


def _zero(ctype: str) -> Expr:
    if ctype == "float":
        return Literal("0.0f", "float")
    return Literal("0.0", "double") if ctype == "double" else Cast(ctype, Int(0))
