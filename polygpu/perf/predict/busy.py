"""Iterations of a loop in which some thread may do something: of them a part stands for all.

A tile may be longer than what there is of a loop. Most of its iterations then fail a test, and one of these
would say that a kernel does nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from polygpu.model.expr import Binary, Expr, Name
from polygpu.model.kernel import Assign, Declare, For, If, Statement
from polygpu.perf.predict.values import Environment, Integers, Value, evaluate, plus

_MOST = 1 << 12  # iterations that are told apart

Flags = npt.NDArray[np.bool_]


def busy(loop: For, lower: Value, trips: int, axes: int, values: Environment) -> Flags | None:
    """Which of `trips` iterations some point of `axes` axes may do something in: None where all may."""
    if trips > _MOST:
        return None
    steps = np.arange(trips).reshape(-1, *[1] * axes) * loop.step
    known = dict(values) | {loop.index: plus(lower, Value((steps,)))}
    found = np.ones(trips, np.bool_)
    for test in _tests(loop.body, known):
        found &= _may_hold(test, trips, axes, known)
    return None if found.all() or not found.any() else found


def _tests(body: tuple[Statement, ...], known: dict[str, Value | None]) -> Iterator[Expr]:
    """The tests around all that a body does; `known` also gets the values of its scalars."""
    for s in body:
        match s:
            case Declare(name, _, value):
                known[name] = None if value is None else evaluate(value, known)
            case If(test, then, ()) if s is body[-1]:
                yield from _both(test)
                yield from _tests(then, known)
            case For() if s is body[-1]:
                known[s.index] = None
                yield from _tests(s.body, known)
            case Assign(Name(name)):
                known[name] = None
            case _:
                return


def _both(test: Expr) -> Iterator[Expr]:
    if isinstance(test, Binary) and test.op == "&&":
        yield from _both(test.left)
        yield from _both(test.right)
    else:
        yield test


def _may_hold(test: Expr, trips: int, axes: int, known: Environment) -> Flags:
    """In which iterations a comparison may hold somewhere."""
    match test:
        case Binary("<" | "<=" | ">" | ">=", left, right):
            small, large = (left, right) if test.op[0] == "<" else (right, left)
            a, b = evaluate(small, known), evaluate(large, known)
            if a is not None and b is not None:
                return _least(plus(a, b, -1), trips, axes) < (len(test.op) == 2)
    return np.ones(trips, np.bool_)


def _least(value: Value, trips: int, axes: int) -> Integers:
    """A lower bound in each iteration, whose number is the first of `axes` and one more axes."""
    found = np.zeros(trips, np.int64)
    for inner, terms in ((0, value.points), (2, value.threads)):
        for term in terms:
            found += _of_each(term) if term.ndim - inner > axes else term.min()
    return found


def _of_each(term: npt.NDArray[Any]) -> Integers:
    found: Integers = term.min(axis=tuple(range(1, term.ndim)))
    return found
