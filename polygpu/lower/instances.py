"""Statement instances as kernel statements, each reference in its memory space."""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polygpu.analysis.polyhedra import array_tuple
from polygpu.lower.context import NestContext
from polygpu.lower.scan import (
    ScanLeaf,
)
from polygpu.mapping.mapped import Fixed
from polygpu.model.expr import (
    Expr,
    Name,
    Reference,
)
from polygpu.model.kernel import (
    Assign,
    Declare,
    If,
    Origin,
    Statement,
)
from polygpu.model.linear import conjunction, simplify, subtract
from polygpu.model.rewrite import rewrite
from polygpu.model.scop import Action, Branch, Let, Store


@dataclass(frozen=True)
class Stage:
    """Where code is being emitted: the segment, its step, and whether points need guards here."""

    segment: int
    step: Fixed | None
    guarded: bool
    statement: str = ""


@dataclass(frozen=True)
class Instances(NestContext):
    """Code of single instances."""

    def _instance(self, leaf: ScanLeaf, stage: Stage) -> tuple[Statement, ...]:
        s = self.m.p.statement(leaf.statement)
        values = dict(zip(s.iterators, leaf.arguments, strict=True))
        here = replace(stage, statement=s.name)
        arguments = tuple(simplify(a) for a in leaf.arguments)
        inside = None if stage.guarded else self._inside(arguments)
        return tuple(
            replace(out, origin=Origin(s.whole or s.name, number, arguments, inside))
            for number, a in enumerate(s.body)
            for out in self._action(a, values, here)
        )

    def _inside(self, arguments: tuple[Expr, ...]) -> Expr | None:
        """Whether the point is one of the nest's, as far as `arguments` leave that open."""
        axes = [(k, a) for k, a in enumerate(self.m.mapping.axes) if Name(a.name) not in arguments]
        tests = [test for k, _ in axes for test in self.points.guards(k)]
        if axes and self.points.corner_test is not None:
            tests.append(self.points.corner_test)
        return conjunction(tests)

    def _action(self, a: Action, values: dict[str, Expr], stage: Stage) -> tuple[Assign | Declare | If, ...]:
        match a:
            case Store(target, value):
                place = self._place(target, values, stage)
                assert isinstance(place, Reference | Name)
                return (Assign(place, self._value(value, values, stage)),)
            case Let(name, ctype, value, assign):
                new = self._value(value, values, stage)
                if assign:
                    return (Assign(Name(name, ctype), new),)
                return (Declare(name, ctype, new, mutable=True),)
            case Branch(test, then, otherwise):
                first = tuple(o for x in then for o in self._action(x, values, stage))
                second = tuple(o for x in otherwise for o in self._action(x, values, stage))
                return (If(self._value(test, values, stage), first, second, uniform=False),)

    def _value(self, expr: Expr, values: dict[str, Expr], stage: Stage) -> Expr:
        def change(e: Expr) -> Expr | None:
            if isinstance(e, Reference):
                return self._place(e, values, stage)
            return values.get(e.name) if isinstance(e, Name) else None

        return rewrite(expr, change)

    def _place(self, r: Reference, values: dict[str, Expr], stage: Stage) -> Expr:
        """Where `r` lives in this kernel: a register, a shared or a global element."""
        array = array_tuple(r)
        promoted = self.placement.promotion(array)
        if promoted is not None:
            register = self._register(promoted)
            return replace(register, site=r.site) if isinstance(register, Reference) else register
        subscripts = tuple(self._value(s, values, stage) for s in r.subscripts)
        if self._affine(r, stage):
            subscripts = tuple(map(simplify, subscripts))
        staged = self.placement.staged_for(stage.statement, r)
        if staged is None:
            return replace(r, subscripts=subscripts)
        local = [
            self._local(subscript, side.offset)
            for subscript, side in zip(subscripts, staged.sides, strict=True)
        ]
        stored = tuple(local[k] for k in staged.order)
        if staged.stepped and self._in_ring(self.placement.segments[stage.segment]):
            stored = (Name(self._slot(self.placement.segments[stage.segment])), *stored)
        return Reference(staged.name, stored, r.type, site=r.site)

    def _affine(self, r: Reference, stage: Stage) -> bool:
        """Whether polyhedra know what the subscripts are; others are computed as C does."""
        return any(a.affine for a in self.m.p.statement(stage.statement).accesses if a.reference == r)

    def _local(self, subscript: Expr, offset: isl.PwAff) -> Expr:
        return self.points.expand(subtract(subscript, self._offset(offset)))
