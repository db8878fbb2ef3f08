"""Parameters whose value the user states: a region compiled for it, and tested for it where it is called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from polygpu.model.expr import Cast, Expr, Int, Name, Reference, is_floating, limits
from polygpu.model.rewrite import rewrite, substitute
from polygpu.model.scop import (
    LARGEST_SIZE,
    Access,
    Action,
    Array,
    Branch,
    Let,
    Scalar,
    Scop,
    Statement,
    Store,
)
from polygpu.support.diagnostics import Diagnosed, Diagnostic

_ASSUMPTION = re.compile(r"([A-Za-z_]\w*)=(-?\d+)")


def parse_assumptions(texts: tuple[str, ...]) -> dict[str, int]:
    """Values by parameter from `n=4096`. Raises Diagnosed (PG312) for another form."""
    found: dict[str, int] = {}
    for text in texts:
        match = _ASSUMPTION.fullmatch(text)
        if match is None:
            raise _diagnosed(f"'{text}' is no assumption; write NAME=NUMBER")
        found[match[1]] = int(match[2])
    return found


def check_known(values: Mapping[str, int], scops: tuple[Scop, ...]) -> None:
    """Raises Diagnosed (PG312) for a name that no region has as an integer it only reads, or for a value that
    this cannot have or kernels do not count to.
    """
    known = {(s.name, s.type) for scop in scops for s in scop.scalars if not is_floating(s.type)}
    for name, value in values.items():
        types = sorted(ctype for other, ctype in known if other == name)
        if not types:
            raise _diagnosed(f"no region reads an integer '{name}' that it could be assumed to be")
        for ctype in types:
            low, high = limits(ctype)
            if not max(low, -LARGEST_SIZE) <= value <= min(high, LARGEST_SIZE):
                raise _diagnosed(f"{value} is no value of '{name}', of type {ctype}, that kernels count to")


def assume(scop: Scop, values: Mapping[str, int]) -> tuple[Scop, dict[Scalar, int]]:
    """i < n  ->  i < 4096: the scop without the scalars that `values` fixes, and the values of these."""
    fixed = {s: values[s.name] for s in scop.scalars if s.name in values and not is_floating(s.type)}
    if not fixed:
        return scop, {}
    plain: dict[str, Expr] = {s.name: Int(v) for s, v in fixed.items()}
    scop = replace(
        scop,
        scalars=tuple(s for s in scop.scalars if s not in fixed),
        arrays=tuple(_array(a, plain) for a in scop.arrays),
        statements=tuple(_statement(s, plain) for s in scop.statements),
        context=tuple(substitute(e, plain) for e in scop.context),
        assumptions=tuple(
            replace(a, value=substitute(a.value, plain), bound=substitute(a.bound, plain))
            for a in scop.assumptions
        ),
        conversions=tuple(
            replace(c, domain=tuple(substitute(e, plain) for e in c.domain), value=substitute(c.value, plain))
            for c in scop.conversions
        ),
    )
    return scop, fixed


def _array(a: Array, values: dict[str, Expr]) -> Array:
    return replace(a, extents=tuple(substitute(e, values) if e is not None else None for e in a.extents))


def _statement(s: Statement, plain: dict[str, Expr]) -> Statement:
    return replace(
        s,
        domain=tuple(substitute(e, plain) for e in s.domain),
        body=tuple(_action(a, plain) for a in s.body),
        accesses=tuple(_access(a, plain) for a in s.accesses),
    )


def _access(a: Access, plain: dict[str, Expr]) -> Access:
    guards = tuple(substitute(e, plain) for e in a.guards)
    return replace(a, reference=_reference(a.reference, plain), guards=guards)


def _action(a: Action, plain: dict[str, Expr]) -> Action:
    match a:
        case Store(target, value):
            return Store(_reference(target, plain), _value(value, plain))
        case Let():
            return replace(a, value=_value(a.value, plain))
        case Branch(test, then, otherwise):
            sides = (tuple(_action(x, plain) for x in side) for side in (then, otherwise))
            return Branch(_value(test, plain), *sides)


def _reference(r: Reference, plain: dict[str, Expr]) -> Reference:
    return replace(r, subscripts=tuple(_value(s, plain) for s in r.subscripts))


def _value(expr: Expr, plain: dict[str, Expr]) -> Expr:
    """`expr` with the values in it, of the type that their names have there: arithmetic may ask for it."""

    def change(e: Expr) -> Expr | None:
        if not isinstance(e, Name) or e.name not in plain:
            return None
        return plain[e.name] if e.type == "int" else Cast(e.type, plain[e.name])

    return rewrite(expr, change)


def _diagnosed(message: str) -> Diagnosed:
    return Diagnosed(Diagnostic("PG312", "error", message, None, "see `polygpu explain PG312`"))
