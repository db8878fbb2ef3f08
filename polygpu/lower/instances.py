"""Statement instances as kernel statements, each reference in its memory space."""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polygpu.lower.context import KernelContext
from polygpu.lower.scan import ScanLeaf
from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.kernel import Assign, Declare, If, Origin, Statement, While
from polygpu.model.linear import conjunction, simplify, subtract
from polygpu.model.rewrite import rewrite
from polygpu.model.scop import Action, Branch, Let, Repeat, Store


@dataclass(frozen=True)
class Instance:
    """One instance of a statement; `guarded` says whether tests keep points outside the nest from it."""

    c: KernelContext
    leaf: ScanLeaf
    guarded: bool

    def code(self) -> tuple[Statement, ...]:
        s = self.c.m.p.statement(self.leaf.statement)
        values = dict(zip(s.iterators, self.leaf.arguments, strict=True))
        arguments = tuple(simplify(a) for a in self.leaf.arguments)
        inside = None if self.guarded else self._inside(arguments)
        code = [(number, out) for number, a in enumerate(s.body) for out in self._action(a, values)]
        if s.combines or s.copies:
            return tuple(out for _, out in code)
        return tuple(
            replace(out, origin=Origin(s.whole or s.name, number, arguments, inside)) for number, out in code
        )

    def _inside(self, arguments: tuple[Expr, ...]) -> Expr | None:
        """Whether the point is one of the nest's, as far as `arguments` leave that open."""
        points = self.c.points
        axes = [k for k, a in enumerate(self.c.m.axes) if Name(a.name) not in arguments]
        tests = [test for k in axes for test in points.guards(k)]
        if axes and points.corner_test is not None:
            tests.append(points.corner_test)
        return conjunction(tests)

    def _action(self, a: Action, values: dict[str, Expr]) -> tuple[Assign | Declare | If | While, ...]:
        match a:
            case Store(target, value):
                place = self._place(target, values)
                assert isinstance(place, Reference | Name)
                return (Assign(place, self._value(value, values)),)
            case Let(name, ctype, value, assign):
                new = self._value(value, values)
                if assign:
                    return (Assign(Name(name, ctype), new),)
                return (Declare(name, ctype, new, mutable=True),)
            case Branch(test, then, otherwise):
                first = tuple(o for x in then for o in self._action(x, values))
                second = tuple(o for x in otherwise for o in self._action(x, values))
                return (If(self._value(test, values), first, second, uniform=False),)
            case Repeat(test, body):
                inner = tuple(o for x in body for o in self._action(x, values))
                return (While(self._value(test, values), inner),)

    def _value(self, expr: Expr, values: dict[str, Expr]) -> Expr:
        def change(e: Expr) -> Expr | None:
            if isinstance(e, Reference):
                return self._place(e, values)
            return values.get(e.name) if isinstance(e, Name) else None

        return rewrite(expr, change)

    def _place(self, r: Reference, values: dict[str, Expr]) -> Expr:
        """Where `r` lives in this kernel: a register, a shared or a global element."""
        held = self.c.held_for(self.leaf.statement, r)
        if held is not None:
            register = self.c.register(held)
            return replace(register, site=r.site) if isinstance(register, Reference) else register
        subscripts = tuple(self._value(s, values) for s in r.subscripts)
        if self._affine(r):
            subscripts = tuple(map(simplify, subscripts))
        found = self.c.box_of(self.leaf.statement, r)
        if found is None:
            return replace(r, subscripts=subscripts)
        box, tiles = found
        local = [local_index(self.c, s, side.offset) for s, side in zip(subscripts, box.sides, strict=True)]
        stored = tuple(local[k] for k in box.order)
        if tiles is not None and self.c.in_ring(tiles):
            stored = (Name(tiles.slot), *stored)
        return Reference(box.name, stored, r.type, site=r.site)

    def _affine(self, r: Reference) -> bool:
        """Whether polyhedra know what the subscripts are; others are computed as C does."""
        return r in self.c.m.p.statement(self.leaf.statement).affine


def local_index(c: KernelContext, subscript: Expr, offset: isl.PwAff) -> Expr:
    """A subscript as an index of a box that begins at `offset`."""
    return c.points.expand(subtract(subscript, c.offset(offset)))
