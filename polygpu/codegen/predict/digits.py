"""Large arrays of few distinct values, combined by way of tables of the values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from polygpu.codegen.predict.masks import distinct_rows
from polygpu.codegen.predict.values import SORTED, Integers, fitting, spend

Table: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class Digits:
    """`number` has the place of each element in `values`, whose elements are numbers or rows."""

    values: Table
    number: Integers

    @property
    def radix(self) -> int:
        return len(self.values)

    @staticmethod
    def constant(value: Table | np.generic) -> Digits:
        return Digits(np.asarray(value)[None], np.zeros((), np.int64))


def digits_of(array: npt.NDArray[np.generic], table: Table | None = None) -> Digits:
    """`array` as digits; with a `table`, its elements are places in that."""
    spend(SORTED * array.size)
    values, number = np.unique(array, return_inverse=True)
    return Digits(values if table is None else table[values], number.reshape(array.shape))


def combined(terms: Sequence[Digits], function: Callable[[Any, Any], Table], neutral: Digits) -> Digits:
    """All `terms` by a commutative and associative `function`, those first that make the smallest array."""
    left = list(terms) or [neutral]
    while len(left) > 1:
        a, b = min(combinations(range(len(left)), 2), key=lambda pair: _size(left[pair[0]], left[pair[1]]))
        second, first = left.pop(b), left.pop(a)
        left.append(_pair(first, second, function))
    return left[0]


def _size(a: Digits, b: Digits) -> int:
    return prod(np.broadcast_shapes(a.number.shape, b.number.shape))


def _pair(a: Digits, b: Digits, function: Callable[[Any, Any], Table]) -> Digits:
    """The table of all pairs of values, and of those that are the same one."""
    spend(SORTED * a.radix * b.radix)
    table = function(a.values[:, None], b.values[None])
    table = table.reshape(-1, *table.shape[2:])
    if table.ndim > 1:
        first, place = distinct_rows(table)
        values = table[first]
    else:
        values, place = np.unique(table, return_inverse=True)
    fitting(a.number.shape, b.number.shape)
    return Digits(values, place[a.number * b.radix + b.number])
