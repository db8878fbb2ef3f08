"""Distances between iterations that touch one element, by subscripts alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import TypeAlias

from polygpu.model.expr import Expr, Name
from polygpu.model.linear import Linear, linear

Subscripts: TypeAlias = tuple[Expr, ...]


def fixed(subscripts: Subscripts, iterators: Sequence[str]) -> frozenset[str]:
    """The loops of which two iterations may touch one element, all others being equal."""
    left = set(iterators)
    sums = [linear(s) for s in subscripts]
    names = [s.names for s in sums if all(isinstance(atom, Name) for atom, _ in s.terms)]
    while any(len(left & found) == 1 for found in names):
        left -= next(left & found for found in names if len(left & found) == 1)
    return frozenset(left)


def differ(one: Subscripts, other: Subscripts) -> bool:
    """Whether a subscript is never the same, whatever the iterations: 0 and 1, or 4 * i and 4 * j + 1."""
    return any(_never_equal(linear(a), linear(b)) for a, b in zip(one, other, strict=True))


def _never_equal(a: Linear, b: Linear) -> bool:
    distance, step = a.constant - b.constant, gcd(*(factor for _, factor in (*a.terms, *b.terms)))
    return bool(distance % step if step else distance)


def onward(source: Subscripts, target: Subscripts, order: Sequence[str]) -> bool:
    """Whether no iteration touches as `target` what a later one touches as `source`.

    `order` has the iterators, outermost first, "-i" for one that counts down. So it is with a[i] and
    a[i - 1], which touches in iteration i + 1 what a[i] touches in iteration i.
    """
    if differ(source, target):
        return True
    steps: dict[str, int] = {}
    for a, b in zip(source, target, strict=True):
        one, other = linear(a), linear(b)
        if one.terms != other.terms or len(one.terms) > 1:
            return False
        for atom, factor in one.terms:
            if not isinstance(atom, Name):
                return False
            steps[atom.name] = (one.constant - other.constant) * (1 if factor > 0 else -1)
    ways = [steps.get(i.removeprefix("-")) for i in order]
    if None in ways:
        return False
    signed = (-way if i.startswith("-") else way for i, way in zip(order, ways, strict=True) if way)
    return next(signed, 1) > 0
