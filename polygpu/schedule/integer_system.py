"""Exact linear algebra over the integers, and small integer programs solved by isl.

Rows are sequences of ints; an elimination keeps them integral and primitive (content 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from itertools import product, repeat
from math import gcd, lcm
from typing import TypeAlias

import islpy as isl

from polygpu.support.child import in_helper
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import TooLongError, bounded
from polygpu.support.recent import Recent

Vector: TypeAlias = tuple[int, ...]
Sparse: TypeAlias = dict[int, int]  # what is not zero, by its column

OPERATIONS = 5_000  # steps of isl for one call, a second where it is hard; known kernels need less than 2000
_APART = 40  # columns of a system that a copy solves, in time; of 83 one took hours, in a single step
_WIDE = 150  # columns of a system that isl may search for hours, with the same steps; known kernels: 138
_FEWEST = 1_500  # steps where a system is wide, whose steps take longer; what has no solution shows in 1000
_SECONDS = 1.0
_NEXT, _NONE = "\n\n", "none"  # between matrices of a question, and the answer where there is no solution
_LARGE = 400_000  # coefficients: of systems with more, none was solved in time; known kernels: 13,000
_MINIMA: Recent[Vector | None] = Recent(64)  # regions and orders of their statements ask for the same ones


class OperationsExceededError(Exception):
    """isl gave up on one call."""


@contextmanager
def limited(operations: int) -> Iterator[None]:
    """Raises OperationsExceededError after so many steps of isl, which are the same on every machine."""
    try:
        with bounded(operations):
            yield
    except TooLongError as error:
        raise OperationsExceededError from error


def dot(left: Sequence[int], right: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True))


def primitive(row: Sequence[int]) -> Vector:
    """`row` divided by the greatest common divisor of its entries; zero stays zero."""
    content = gcd(*row)
    return tuple(a // content for a in row) if content > 1 else tuple(row)


def eliminate(rows: Iterable[Sequence[int]]) -> tuple[tuple[Vector, ...], tuple[int, ...]]:
    """The reduced echelon form of `rows` without zero rows, and the pivot column of each row.

    Pivots are positive and need not be 1; every other row is zero in a pivot's column.
    """
    distinct = dict.fromkeys(map(tuple, rows))
    width = max(map(len, distinct), default=0)
    return eliminated(({k: a for k, a in enumerate(row) if a} for row in distinct), width)


def eliminated(rows: Iterable[Sparse], width: int) -> tuple[tuple[Vector, ...], tuple[int, ...]]:
    """The same of rows of which only the entries that are not 0 are said."""
    found: dict[int, Sparse] = {}  # by the first column of each
    for row in {frozenset(row.items()): row for row in rows}.values():
        left = _primitive(row)
        while left:
            column = min(left)
            if column not in found:
                found[column] = left
                break
            left = _cleared(left, found[column], column)
    pivots = tuple(sorted(found))
    for pivot in reversed(pivots):  # rows below have no other pivot's column left
        row = found[pivot]
        for column in [k for k in row if k != pivot and k in found]:
            row = _cleared(row, found[column], column)
        found[pivot] = row if row[pivot] > 0 else {k: -a for k, a in row.items()}
    return tuple(tuple(map(found[p].get, range(width), repeat(0))) for p in pivots), pivots


def _cleared(row: Sparse, pivot: Sparse, column: int) -> Sparse:
    """A multiple of `row`, with as much of `pivot` as leaves nothing in the column."""
    factor, entry = pivot[column], row[column]
    if factor != 1:
        row = {k: a * factor for k, a in row.items()}
    total = row | {k: row.get(k, 0) - b * entry for k, b in pivot.items()}
    return _primitive({k: a for k, a in total.items() if a})


def _primitive(row: Sparse) -> Sparse:
    content = gcd(*row.values())
    return {k: a // content for k, a in row.items()} if content > 1 else row


def rank(rows: Iterable[Sequence[int]]) -> int:
    return len(eliminate(rows)[0])


def null_basis(rows: Iterable[Sequence[int]], width: int) -> tuple[Vector, ...]:
    """Primitive integer vectors that span { x in Q^width : rows x = 0 }, one a column without pivot."""
    reduced, pivots = eliminate(rows)
    return tuple(_null_vector(reduced, pivots, f, width) for f in range(width) if f not in pivots)


def _null_vector(reduced: Sequence[Vector], pivots: Sequence[int], free: int, width: int) -> Vector:
    scale = lcm(*(row[p] for row, p in zip(reduced, pivots, strict=True)))
    vector = [0] * width
    vector[free] = scale
    for row, pivot in zip(reduced, pivots, strict=True):
        vector[pivot] = -row[free] * scale // row[pivot]
    return primitive(vector)


def small_solutions(
    rows: Sequence[Sequence[int]], right: Sequence[int], width: int, bound: int
) -> tuple[Vector, ...]:
    """Integer x with rows x = right, every |x_k| <= bound; smallest sum of |x_k| first.

    Ties go to the vector whose nonzero entries come last. Empty when there is none.
    """
    reduced, pivots = eliminate([*row, -r] for row, r in zip(rows, right, strict=True))
    if width in pivots:
        return ()
    free = [k for k in range(width) if k not in pivots]
    reach = bound if len(free) <= 2 else 1
    found: list[Vector] = []
    for values in product(range(-reach, reach + 1), repeat=len(free)):
        x = _complete(reduced, pivots, dict(zip(free, values, strict=True)), width)
        if x is not None and all(abs(a) <= bound for a in x):
            found.append(x)
    return tuple(sorted(found, key=lambda x: (sum(map(abs, x)), [abs(a) for a in x], [-a for a in x])))


def _complete(
    reduced: Sequence[Vector], pivots: Sequence[int], free: Mapping[int, int], width: int
) -> Vector | None:
    x = [free.get(k, 0) for k in range(width)]
    for row, pivot in zip(reduced, pivots, strict=True):
        value = -row[width] - sum(row[k] * v for k, v in free.items())
        if value % row[pivot]:
            return None
        x[pivot] = value // row[pivot]
    return tuple(x)


@dataclass(frozen=True, slots=True)
class Constraint:
    """`coefficients . x + constant >= 0`, or `== 0` when `equality`."""

    coefficients: Mapping[int, int]
    constant: int = 0
    equality: bool = False


@dataclass(frozen=True, slots=True)
class IntegerSystem:
    """Integers x_0, x_1, ... under constraints, and objectives to minimise one after the other.

    The first `free` unknowns may be negative, the `slack` ones after them may not. An objective weighs
    |x_k|; a negative x_k costs a little more than its opposite. Every unknown should be in an objective,
    else the minimum may leave it at any value.
    Columns of `points`: objective values, positive parts, negative parts, slack. The `lines` say them, first
    those that it was made of, then those of each restriction.
    """

    free: int
    slack: int
    objectives: int
    points: isl.BasicSet
    lines: tuple[str, ...] = ()  # PolyLib's matrices

    @staticmethod
    def build(
        free: int, slack: int, objectives: Sequence[Mapping[int, int]], constraints: Iterable[Constraint]
    ) -> IntegerSystem:
        """The system of `constraints`; each objective maps an unknown to its positive weight.

        Raises OperationsExceededError where isl would take seconds to read it.
        """
        empty = IntegerSystem(free, slack, len(objectives), isl.BasicSet("{ : }"))
        first = len(objectives)
        lines = [empty._line({k: 1}, 0, False) for k in range(first, empty._columns)]
        for k, weights in enumerate(objectives):
            lines.append(empty._line({k: -1} | empty._cost(weights), 0, True))
        return empty._with(lines + [empty._text(c) for c in constraints])

    def restrict(self, constraints: Iterable[Constraint]) -> IntegerSystem:
        more = self._with([self._text(c) for c in constraints])
        points = self.points.intersect(more.points)
        return replace(more, points=points, lines=(*self.lines, *more.lines))

    def minimum(self) -> Vector | None:
        """Values of all unknowns, or None when the constraints contradict each other.

        Raises OperationsExceededError.
        """
        key = self.free, self.slack, self.objectives, self.lines
        return _MINIMA.get(key, self._minimum)

    def _minimum(self) -> Vector | None:
        if self._columns > _APART:
            return self._in_time()
        with limited(OPERATIONS):
            found = _optimum(self.points, self.objectives)
        return None if found is None else self._values(found)

    def _in_time(self) -> Vector | None:
        most = min(OPERATIONS, max(_FEWEST, OPERATIONS * _WIDE**2 // self._columns**2))
        try:
            found = in_helper(_solved, _NEXT.join([f"{most} {self.objectives}", *self.lines]), _SECONDS)
        except TimeoutError:
            found = None
        if not found:
            raise OperationsExceededError
        return None if found == _NONE else self._values(tuple(map(int, found.split())))

    def _values(self, at: Sequence[int]) -> Vector:
        """Those of unknowns, of columns."""
        at = at[self.objectives :]
        free = [at[k] - at[self.free + k] for k in range(self.free)]
        return tuple(free + list(at[2 * self.free :]))

    @property
    def _columns(self) -> int:
        return self.objectives + 2 * self.free + self.slack

    def _parts(self, unknown: int) -> tuple[int, int | None]:
        """The columns of the positive and the negative part of an unknown."""
        first = self.objectives + unknown
        return (first, first + self.free) if unknown < self.free else (first + self.free, None)

    def _cost(self, weights: Mapping[int, int]) -> dict[int, int]:
        cost: dict[int, int] = {}
        for unknown, weight in weights.items():
            positive, negative = self._parts(unknown)
            cost[positive] = 4 * weight
            if negative is not None:
                cost[negative] = 4 * weight + 1
        return cost

    def _text(self, constraint: Constraint) -> str:
        terms: dict[int, int] = {}
        for unknown, value in constraint.coefficients.items():
            positive, negative = self._parts(unknown)
            terms[positive] = value
            if negative is not None:
                terms[negative] = -value
        return self._line(terms, constraint.constant, constraint.equality)

    def _line(self, terms: Mapping[int, int], constant: int, equality: bool) -> str:
        row = ["0"] * (self._columns + 2)  # most stay
        row[0], row[-1] = str(int(not equality)), str(constant)
        for column, value in terms.items():
            row[1 + column] = str(value)
        return " ".join(row)

    def _with(self, lines: Sequence[str]) -> IntegerSystem:
        if len(lines) * self._columns > _LARGE:
            raise OperationsExceededError
        lines = [*dict.fromkeys(lines)]  # pieces of a dependence have many in common
        # of all ways to hand isl a hundred constraints, PolyLib's matrix text is the fastest
        text = f"{len(lines)} {self._columns + 2}\n" + "\n".join(lines) + "\n"
        return replace(self, points=isl.BasicSet(text), lines=(text.rstrip(),))


def _optimum(points: isl.BasicSet, objectives: int) -> Vector | None:
    """A point with the least objectives, one after the other; None where there is none."""
    # lexmin over everything can take seconds where one minimum after the other takes milliseconds, and
    # that takes hours, in one step of isl, where a smaller objective leaves equalities that nobody said
    left = isl.Set.from_basic_set(points)
    for k in range(objectives):
        least = left.remove_redundancies().dim_min_val(k)
        if not least.is_int():
            return None
        left = left.fix_val(isl.dim_type.set, k, least)
    # there may be one point left, which equalities give at once and a search does not find
    point = left.detect_equalities().sample_point()
    if point.is_void():
        return None
    columns = range(left.dim(isl.dim_type.set))
    return tuple(point.get_coordinate_val(isl.dim_type.set, c).to_python() for c in columns)


def _solved(question: str) -> str:
    """The optimum of a system as matrices, whose points are those of all, behind how many steps it may take
    and how many objectives it has. Raises OperationsExceededError.
    """
    limits, *matrices = question.split(_NEXT)
    most, objectives = map(int, limits.split())
    points = reduce(isl.BasicSet.intersect, map(isl.BasicSet, matrices))
    with limited(most):
        found = _optimum(points, objectives)
    return _NONE if found is None else " ".join(map(str, found))
