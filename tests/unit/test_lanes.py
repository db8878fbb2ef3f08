"""Expressions of kernel code for all threads of a block at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from polygpu.perf.lanes import binary

VALUES = list(range(-40, 41))
OPERATORS: dict[str, Callable[[int, int], int]] = {
    "min": min,
    "max": max,
    "floord": lambda a, b: math.floor(Fraction(a, b)),
    "/": lambda a, b: math.trunc(Fraction(a, b)),
    "%": lambda a, b: a - b * math.trunc(Fraction(a, b)),
}


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("by", [1, 2, 7, 16, -3])
def test_of_all_threads_by_a_number(op: str, by: int) -> None:
    """As C has it, by any number, and by the same of each thread."""
    expected = [OPERATORS[op](v, by) for v in VALUES]
    assert binary(op, VALUES, by) == expected
    assert binary(op, VALUES, [by] * len(VALUES)) == expected
    assert [binary(op, v, by) for v in VALUES] == expected


@pytest.mark.parametrize("op", ["/", "%", "floord"])
def test_an_idle_thread_divides_by_zero(op: str) -> None:
    assert binary(op, [5, -5], 0) == [binary(op, 5, 0), binary(op, -5, 0)]
