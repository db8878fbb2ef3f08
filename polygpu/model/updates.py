"""Stores that update what they write: `s[i] = s[i] + a - b` combines the old value with terms by +."""

from __future__ import annotations

from dataclasses import replace

from polygpu.model.expr import Binary, Call, Expr, Reference, is_floating, type_of
from polygpu.model.rewrite import references
from polygpu.model.scop import Store

FUNCTIONS = frozenset({"fmin", "fmax", "fminf", "fmaxf"})
OPERATORS = frozenset({"+", "*", "&", "|", "^"}) | FUNCTIONS
"""Commutative, and associative up to rounding, in each type that `update` lets them have."""


def update(store: Store) -> str | None:
    """The operator by which `store` combines the old value of its target, an operand once, with terms.

    Terms do not read the array. Integers wrap around, so what is computed in a wider type may be cut at
    each step or at the end; what is computed in a floating type is not of an integer.
    """
    target = store.target
    if target.type == "_Bool" or is_floating(target.type) != is_floating(type_of(store.value)):
        return None
    operators = set(_path(store.value, target) or ())
    found = operators.pop() if len(operators) == 1 else None
    plain = found not in FUNCTIONS or type_of(store.value) == target.type
    return found if plain else None


def _path(value: Expr, target: Reference) -> tuple[str, ...] | None:
    """The operators around `target` in `value`, None where others are or it is not there just once."""
    match value:
        case Reference() if replace(value, site=-1) == replace(target, site=-1):
            return ()
        case Binary("-", left, right):
            return _step("+", left, right, target)
        case Binary(op, left, right) | Call(op, (left, right), _) if op in OPERATORS:
            return _step(op, left, right, target) or _step(op, right, left, target)
    return None


def _step(op: str, old: Expr, term: Expr, target: Reference) -> tuple[str, ...] | None:
    path = _path(old, target)
    if path is None or any(r.array == target.array for r in references(term)):
        return None
    return (op, *path)
