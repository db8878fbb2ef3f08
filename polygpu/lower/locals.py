"""Locals of instances in one scope: each has a name of its own.

before:  int v = a[0]; b[0] = v; for i { int v = a[i]; b[i] = v; }
after:   int v = a[0]; b[0] = v; for i { int v_2 = a[i]; b[i] = v_2; }

Instances of a statement that are taken apart, as the first of a loop, declare its locals in several
places, and one may be where another's are known; so do tiles, one of which is between loops over others.
"""

from __future__ import annotations

from dataclasses import replace

from polygpu.lower.tidy import with_origin
from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.kernel import Assign, Declare, DeclareArray, For, Move, Statement
from polygpu.model.kernel_walk import (
    Body,
    bodies,
    fresh_name,
    hidden_names,
    map_operands,
    names_used,
    statements,
    with_bodies,
)
from polygpu.model.rewrite import rewrite
from polygpu.support.dataclass import dataclass


def named_apart(body: Body) -> Body:
    """`body` where nothing that is declared has the name of what is known there."""
    if next(hidden_names(body), None) is None:
        return body
    declared = {s.name for s in statements(body) if isinstance(s, Declare | DeclareArray)}
    return _apart(body, _Scope(frozenset(), {}, {*names_used(body), *declared}))


@dataclass(frozen=True)
class _Scope:
    """`names` are the new ones of what is declared `around`; all those of the kernel are `taken`."""

    around: frozenset[str]
    names: dict[str, str]
    taken: set[str]

    def declaring(self, name: str) -> tuple[_Scope, str]:
        """Behind a declaration, and the name it gets."""
        new = fresh_name(name, self.taken) if name in self.around else name
        return _Scope(self.around | {name, new}, {**self.names, name: new}, self.taken), new


def _apart(body: Body, here: _Scope) -> Body:
    found: list[Statement] = []
    for s in body:
        new, inside = _renamed(s, here.names), here
        match new:
            case Declare(name) | DeclareArray(name):
                here, name = here.declaring(name)
                new, inside = replace(new, name=name), here
            case For(index):
                inside, index = here.declaring(index)
                new = replace(new, index=index)
        found.append(with_bodies(new, [_apart(inner, inside) for inner in bodies(new)]))
    return tuple(found)


def _renamed(s: Statement, names: dict[str, str]) -> Statement:
    def place(r: Reference) -> Reference:
        return replace(r, array=names.get(r.array, r.array))

    def named(e: Expr) -> Expr | None:
        match e:
            case Name(name, ctype) if name in names:
                return Name(names[name], ctype)
            case Reference(array=array, subscripts=subscripts) if array in names:
                return replace(place(e), subscripts=tuple(map(put, subscripts)))
        return None

    def put(e: Expr) -> Expr:
        return rewrite(e, named)

    if not names:
        return s
    new = with_origin(map_operands(s, put, put), put)
    match new:
        case Assign(Name(name, ctype)):
            return replace(new, target=Name(names.get(name, name), ctype))
        case Assign(Reference() as target, Reference() as value):
            return replace(new, target=place(target), value=place(value))
        case Assign(Reference() as target):
            return replace(new, target=place(target))
        case Move(target, source):
            return replace(new, target=place(target), source=place(source))
    return new
