"""Tests of the step of a loop whose threads wait for each other: from which step on, and up to which.

before:  for step { if (a <= i && step >= i + j && step + 3 * t >= c && i + j + 127 >= step) ...; barrier }
after:   step_from = max(i + j, c - 3 * t), step_to = i + j + 127
         for step { if (a <= i && step >= step_from && step_to >= step) ...; barrier }

Each step waits for the slowest thread, so what a thread tests in every step takes the time of the block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polygpu.model.expr import Binary, Expr, Name
from polygpu.model.kernel import Barrier, Declare, For, If, Statement
from polygpu.model.kernel_walk import bodies, fresh_name, names_used, statements, with_bodies, written
from polygpu.model.linear import add, affine, conjunction, linear, maximum, minimum, subtract
from polygpu.model.rewrite import scalars_in


def with_stretches(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """`body` with the bounds of several tests of a step computed before its loop."""
    return _with_stretches(body, set(names_used(body)))


def _with_stretches(body: tuple[Statement, ...], taken: set[str]) -> tuple[Statement, ...]:
    """`taken` are the names that mean something else, to which those of the bounds are added."""
    found: list[Statement] = []
    for s in body:
        inner = with_bodies(s, [_with_stretches(part, taken) for part in bodies(s)])
        if isinstance(inner, For) and any(isinstance(part, Barrier) for part in inner.body):
            found.extend(_bounded(inner, taken))
        else:
            found.append(inner)
    return tuple(found)


def _bounded(loop: For, taken: set[str]) -> Iterator[Statement]:
    """The loop behind the bounds of the first test that has several of one side."""
    given = _given(loop)
    for k, s in enumerate(loop.body):
        if not isinstance(s, If) or s.origin is not None:
            continue
        lower, upper, tests = _sides(s.test, loop.index, given)
        if max(len(lower), len(upper)) < 2:
            continue
        index = Name(loop.index)
        if lower:
            least = Name(fresh_name(f"{loop.index}_from", taken))
            yield Declare(least.name, "int", maximum(*lower))
            tests.append(Binary(">=", index, least))
        if upper:
            most = Name(fresh_name(f"{loop.index}_to", taken))
            yield Declare(most.name, "int", minimum(*upper))
            tests.append(Binary(">=", most, index))
        test = conjunction(tests)
        assert test is not None
        loop = replace(loop, body=(*loop.body[:k], replace(s, test=test), *loop.body[k + 1 :]))
        break
    yield loop


def _given(loop: For) -> set[str]:
    """The names that the loop gives values, beside its index."""
    changed = (written(s) for s in statements(loop.body))
    names = {target.name for target in changed if isinstance(target, Name)}
    return names | {s.name for s in statements(loop.body) if isinstance(s, Declare)}


def _sides(test: Expr, index: str, given: set[str]) -> tuple[list[Expr], list[Expr], list[Expr]]:
    """What the index is at least and at most, of which the loop changes nothing, and the other tests."""
    lower: list[Expr] = []
    upper: list[Expr] = []
    others: list[Expr] = []
    for part in _conjuncts(test):
        distance = _at_least_zero(part)
        factor = 0 if distance is None else dict(linear(distance).terms).get(Name(index), 0)
        if distance is None or abs(factor) != 1:
            others.append(part)
            continue
        rest = subtract(Name(index), distance) if factor == 1 else add(distance, Name(index))
        if scalars_in(rest) & (given | {index}):
            others.append(part)
        else:
            (lower if factor == 1 else upper).append(rest)
    return lower, upper, others


def _conjuncts(test: Expr) -> Iterator[Expr]:
    match test:
        case Binary("&&", left, right):
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield test


def _at_least_zero(test: Expr) -> Expr | None:
    """A sum that is at least 0 where the comparison holds; None for what is none."""
    match test:
        case Binary(">=", left, right) if affine(left) and affine(right):
            return subtract(left, right)
        case Binary(">", left, right) if affine(left) and affine(right):
            return subtract(subtract(left, right), 1)
        case Binary("<=", left, right) if affine(left) and affine(right):
            return subtract(right, left)
        case Binary("<", left, right) if affine(left) and affine(right):
            return subtract(subtract(right, left), 1)
    return None
