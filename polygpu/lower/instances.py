"""Statement instances as kernel statements, each reference in its memory space."""

from __future__ import annotations

from dataclasses import replace

from polygpu.lower.context import KernelContext, local_index
from polygpu.lower.mirrors import found_in
from polygpu.lower.scan import ScanLeaf
from polygpu.mapping.program import ELEMENT
from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.kernel import Assign, Declare, If, Origin, Statement, While
from polygpu.model.linear import conjunction, simplify
from polygpu.model.rewrite import references, rewrite, substitute
from polygpu.model.scop import Action, Branch, Let, Repeat, Store
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True)
class Instance:
    """One instance of a statement; `guarded` says whether tests keep points outside the nest from it.

    It is `claimed` only where that holds.
    """

    c: KernelContext
    leaf: ScanLeaf
    guarded: bool
    claimed: Expr | None = None

    def code(self) -> tuple[Statement, ...]:
        s = self.c.m.p.statement(self.leaf.statement)
        values = dict(zip(s.iterators, self.leaf.arguments, strict=True))
        arguments = tuple(simplify(a) for a in self.leaf.arguments)
        inside = None if self.guarded else self._inside(arguments)
        inside = conjunction([test for test in (inside, self.claimed) if test is not None])
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
            return values.get(e.name) if isinstance(e, Name) else self._made(e, values)

        return rewrite(expr, change)

    def _made(self, expr: Expr, values: dict[str, Expr]) -> Expr | None:
        """Where the value of `expr` is that a box holds of the only element in it."""
        read = references(expr) if self.c.has_forms else ()
        found = self.c.box_of(self.leaf.statement, read[0]) if len(read) == 1 else None
        form = found[0].form if found is not None else None
        same = form is not None and substitute(form, {ELEMENT: read[0]}) == expr
        return self._place(read[0], values) if same else None

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
        mirror = self.c.mirrors.get(box.name)
        if mirror is not None:
            return replace(found_in(self.c, mirror, self.leaf.statement, r), site=r.site)
        stored = tuple(local[k] for k in box.order)
        if tiles is not None and self.c.slots(tiles) > 1:
            stored = (Name(tiles.slot), *stored)
        return Reference(box.name, stored, r.type, site=r.site)

    def _affine(self, r: Reference) -> bool:
        """Whether polyhedra know what the subscripts are; others are computed as C does."""
        return r in self.c.m.p.statement(self.leaf.statement).affine
