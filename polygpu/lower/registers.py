"""Registers that hold array elements while a kernel runs: their loads and stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import islpy as isl

from polygpu.lower.context import KernelContext
from polygpu.lower.scan import test_of, value_of
from polygpu.mapping.program import HeldArray
from polygpu.model.expr import Cast, Expr, Int, Literal, Reference
from polygpu.model.kernel import Assign, Declare, DeclareArray, If, Statement
from polygpu.model.linear import conjunction
from polygpu.support.isl_idioms import D


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
            yield from _at_points(c, h, load, Assign(c.register(h), zero))
        elif extents:
            clear = (Assign(c.register(h), zero),)
            yield from c.points.open(c.registers(), clear, guarded=False)


def stores(c: KernelContext, held: Iterable[HeldArray]) -> Iterator[Statement]:
    for h in held:
        if h.store:
            yield from _at_points(c, h, Assign(_element(c, h), c.register(h)), None)


def _at_points(
    c: KernelContext, h: HeldArray, action: Assign, otherwise: Assign | None
) -> tuple[Statement, ...]:
    """`action` at the points that own an element, `otherwise` at the thread's other points."""
    tests = [t for k in range(len(c.m.axes)) for t in c.points.guards(k)]
    owned = test_of(_here(c, h.points.align_params(c.points.hull.get_space())).params(), c.points.box)
    test = conjunction([*tests, *([owned] if owned is not None else [])])
    if test is None:
        body: tuple[Statement, ...] = (action,)
    else:
        body = (If(test, (action,), (otherwise,) if otherwise else (), uniform=False),)
    return c.points.open(c.registers(), body, guarded=False)


def _here(c: KernelContext, points: isl.Set) -> isl.Set:
    """Of `points` the current one, in terms of the points' names."""
    for d, axis in enumerate(c.m.axes):
        local = isl.LocalSpace.from_space(points.get_space())
        position = points.find_dim_by_name(D.param, axis.name)
        here = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.param, position))
        points = points.intersect(isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.set, d)).eq_set(here))
    return points


def _element(c: KernelContext, h: HeldArray) -> Reference:
    """The array element the current point owns."""
    everywhere = isl.Set.universe(h.points.get_space()).align_params(c.points.hull.get_space())
    elements = _here(c, everywhere).apply(isl.Map.from_pw_multi_aff(h.element))
    subscripts: list[Expr] = []
    for k in range(elements.dim(D.set)):
        line = elements.project_out(D.set, k + 1, elements.dim(D.set) - k - 1).project_out(D.set, 0, k)
        line = line.reset_tuple_id()
        subscripts.append(value_of(line.dim_max(0), c.points.hull))
    return Reference(h.array, tuple(subscripts), c.layouts[h.array].buffer.type, site=c.site(h.tuple_name))


def _zero(ctype: str) -> Expr:
    if ctype == "float":
        return Literal("0.0f", "float")
    return Literal("0.0", "double") if ctype == "double" else Cast(ctype, Int(0))
