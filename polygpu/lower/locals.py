"""Locals of instances in one scope: each has a name of its own.

before:  int v = a[0]; b[0] = v; for i { int v = a[i]; b[i] = v; }
after:   int v = a[0]; b[0] = v; for i { int v_2 = a[i]; b[i] = v_2; }

Instances of a statement that are taken apart, as the first of a loop, declare its locals in several
places, and one may be where another's are known.
"""

from __future__ import annotations

from dataclasses import replace

from polygpu.lower.tidy import with_origin
from polygpu.model.expr import Expr, Name
from polygpu.model.kernel import Assign, Declare, Statement
from polygpu.model.kernel_walk import (
    Body,
    bodies,
    fresh_name,
    map_operands,
    names_used,
    statements,
    with_bodies,
)
from polygpu.model.rewrite import substitute


def named_apart(body: Body) -> Body:
    """`body` where no declaration of a scalar has the name of one that is known there."""
    declared = [s.name for s in statements(body) if isinstance(s, Declare)]
    if len({*declared}) == len(declared):
        return body
    return _apart(body, frozenset(), {}, {*names_used(body), *declared})


def _apart(body: Body, around: frozenset[str], names: dict[str, Expr], taken: set[str]) -> Body:
    """`names` are the new ones of what is declared `around`; those that are found are `taken`."""
    found: list[Statement] = []
    for s in body:
        new = _renamed(s, names)
        if isinstance(new, Declare):
            name = fresh_name(new.name, taken) if new.name in around else new.name
            names = {**names, new.name: Name(name, new.type)}
            around |= {new.name, name}
            new = replace(new, name=name)
        found.append(with_bodies(new, [_apart(inner, around, names, taken) for inner in bodies(new)]))
    return tuple(found)


def _renamed(s: Statement, names: dict[str, Expr]) -> Statement:
    def put(e: Expr) -> Expr:
        return substitute(e, names)

    new = with_origin(map_operands(s, put, put), put) if names else s
    if isinstance(new, Assign) and isinstance(new.target, Name):
        target = put(new.target)
        assert isinstance(target, Name)
        return replace(new, target=target)
    return new
