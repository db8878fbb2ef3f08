"""Registers that hold array elements while a kernel runs: their loads and stores."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polygpu.lower.context import NestContext
from polygpu.lower.scan import (
    test_of,
    value_of,
)
from polygpu.mapping.owned import Promoted
from polygpu.model.expr import (
    Cast,
    Expr,
    Int,
    Literal,
    Reference,
)
from polygpu.model.kernel import (
    Assign,
    Declare,
    DeclareArray,
    If,
    Statement,
)
from polygpu.model.linear import conjunction
from polygpu.support.isl_idioms import D


@dataclass(frozen=True)
class Registers(NestContext):
    """Code around the segments."""

    def _promoted_loads(self) -> list[Statement]:
        found: list[Statement] = []
        for p in self.placement.promoted:
            ctype = self.layouts[p.array].buffer.type
            extents = tuple(a.per_thread for a in self._registers())
            zero = _zero(ctype)
            if extents:
                found.append(DeclareArray(p.name, ctype, extents))
            else:
                found.append(Declare(p.name, ctype, None if p.load else zero, mutable=True))
            if p.load:
                load = Assign(self._register(p), self._element(p))
                found.extend(self._at_points(p, load, Assign(self._register(p), zero)))
            elif extents:
                clear = (Assign(self._register(p), zero),)
                found.extend(self.points.open(self._registers(), clear, guarded=False))
        return found

    def _promoted_stores(self) -> list[Statement]:
        found: list[Statement] = []
        for p in self.placement.promoted:
            if p.store:
                found.extend(self._at_points(p, Assign(self._element(p), self._register(p)), None))
        return found

    def _at_points(self, p: Promoted, action: Assign, otherwise: Assign | None) -> tuple[Statement, ...]:
        """`action` at the points that own an element, `otherwise` at the thread's other points."""
        tests = [t for k in range(len(self.m.mapping.axes)) for t in self.points.guards(k)]
        owned = test_of(self._points_as_parameters(p.points), self.points.box)
        test = conjunction([*tests, *([owned] if owned is not None else [])])
        if test is None:
            body: tuple[Statement, ...] = (action,)
        else:
            body = (If(test, (action,), (otherwise,) if otherwise else (), uniform=False),)
        return self.points.open(self._registers(), body, guarded=False)

    def _points_as_parameters(self, points: isl.Set) -> isl.Set:
        for d, axis in enumerate(self.m.mapping.axes):
            points = points.align_params(self.points.hull.get_space())
            local = isl.LocalSpace.from_space(points.get_space())
            position = points.find_dim_by_name(D.param, axis.name)
            here = isl.Aff.var_on_domain(local, D.param, position)
            points = points.intersect(_equal(isl.Aff.var_on_domain(local, D.set, d), here))
        return points.params()

    def _element(self, p: Promoted) -> Reference:
        """The array element the current point owns."""
        whole = self._points_set(p)
        elements = whole.apply(isl.Map.from_pw_multi_aff(p.element))
        subscripts: list[Expr] = []
        for k in range(elements.dim(D.set)):
            line = elements.project_out(D.set, k + 1, elements.dim(D.set) - k - 1).project_out(D.set, 0, k)
            line = line.reset_tuple_id()
            subscripts.append(value_of(line.dim_max(0), self.points.hull))
        return Reference(
            p.array, tuple(subscripts), self.layouts[p.array].buffer.type, site=self._site(p.tuple_name)
        )

    def _points_set(self, p: Promoted) -> isl.Set:
        """The set of the one current point, in terms of the points' names."""
        points = isl.Set.universe(p.points.get_space()).align_params(self.points.hull.get_space())
        for d, axis in enumerate(self.m.mapping.axes):
            local = isl.LocalSpace.from_space(points.get_space())
            position = points.find_dim_by_name(D.param, axis.name)
            here = isl.Aff.var_on_domain(local, D.param, position)
            points = points.intersect(_equal(isl.Aff.var_on_domain(local, D.set, d), here))
        return points


def _zero(ctype: str) -> Expr:
    if ctype == "float":
        return Literal("0.0f", "float")
    return Literal("0.0", "double") if ctype == "double" else Cast(ctype, Int(0))


def _equal(a: isl.Aff, b: isl.Aff) -> isl.Set:
    return isl.PwAff.from_aff(a).eq_set(isl.PwAff.from_aff(b))
