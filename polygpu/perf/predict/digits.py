"""Large arrays of few distinct values, combined by way of tables of the values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from polygpu.perf.predict.masks import distinct_rows
from polygpu.perf.predict.values import SORTED, Integers, distinct, fitting, spend, together
from polygpu.support.dataclass import dataclass

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
    values, number = _distinct(array)
    return Digits(values if table is None else table[values], number)


def _distinct(array: npt.NDArray[np.generic]) -> tuple[Table, Integers]:
    """`array`'s values in order, and the place of each element among them.

    As np.unique, which sorts places too: that takes ten times as long as to sort numbers and look places up.
    """
    values = distinct(array)
    least, span = (int(values[0]), int(values[-1]) - int(values[0])) if len(values) else (0, 0)
    if span > 4 * array.size:
        return values, np.searchsorted(values, array)
    places = np.empty(span + 1, np.int64)
    places[values.astype(np.int64) - least] = np.arange(len(values))
    return values, places[array.astype(np.int64) - least]


def combined(terms: Sequence[Digits], function: Callable[[Any, Any], Table], neutral: Digits) -> Digits:
    """All `terms` by a commutative and associative `function`, those first that make the smallest array."""
    left = list(terms) or [neutral]
    while len(left) > 1:
        a, b = min(combinations(range(len(left)), 2), key=lambda pair: _size(left[pair[0]], left[pair[1]]))
        second, first = left.pop(b), left.pop(a)
        left.append(_pair(first, second, function))
    return left[0]


def _size(a: Digits, b: Digits) -> int:
    return prod(together(a.number.shape, b.number.shape))


def _pair(a: Digits, b: Digits, function: Callable[[Any, Any], Table]) -> Digits:
    """The table of all pairs of values, and of those that are the same one."""
    spend(SORTED * a.radix * b.radix)
    table = function(a.values[:, None], b.values[None])
    table = table.reshape(-1, *table.shape[2:])
    if table.ndim > 1:
        first, place = distinct_rows(table)
        values = table[first]
    else:
        values, place = _distinct(table)
    fitting(a.number.shape, b.number.shape)
    return Digits(values, place[a.number * b.radix + b.number])
