"""Schedule rows for given directions of adjacency: ICS'08, equations (1) and (2), on coefficient vectors.

With a step d for each statement that has one, the lane row must satisfy u . d = 1 and every other row
u . d = 0; then d is the lane's column of the inverse transformation, whatever the other rows are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from polygpu.schedule.farkas import Cone, Layout, constant_along, schedule_objectives, time_rows
from polygpu.schedule.integer_system import (
    Constraint,
    IntegerSystem,
    Vector,
    dot,
    null_basis,
    rank,
    small_solutions,
)
from polygpu.support.dataclass import dataclass

LANE_BOUND = 4  # of the coefficients of a lane row that no dependence restrains


@dataclass(frozen=True)
class AdjacentRows:
    """`space` (outer rows, then the lane) encloses `time` when `outer_parallel`, else the other way round."""

    space: tuple[Vector, ...]
    time: tuple[Vector, ...]
    outer_parallel: bool


@dataclass(frozen=True)
class RowFinder:
    """Finds rows for one component with dependences `cones`; systems are kept between calls."""

    layout: Layout
    cones: tuple[Cone, ...]
    systems: dict[tuple[Cone, ...], IntegerSystem] = field(default_factory=dict)

    def find(self, steps: Mapping[str, Vector]) -> AdjacentRows | None:
        """Rows under which the lane moves each statement by its step; None when there are none."""
        return self.communication_free(steps) or self.time_first(steps)

    def communication_free(self, steps: Mapping[str, Vector]) -> AdjacentRows | None:
        """Space rows without any dependence distance, the lane among them; the rest is time."""
        lane = self.parallel_lane(steps)
        if lane is None:
            return None
        time = self.time(steps)
        if time is None:
            return None
        outer = self.parallel_rows(steps, lane)
        rest = self.completion([*outer, lane, *time], steps)
        return AdjacentRows((*outer, lane), (*time, *rest), True)

    def time_first(self, steps: Mapping[str, Vector]) -> AdjacentRows | None:
        """Time rows that carry every dependence; within them space is free."""
        time = self.time(steps)
        lane = None if time is None else self.free_lane(steps, time)
        if time is None or lane is None:
            return None
        outer = self.completion([*time, lane], steps)
        return AdjacentRows((*outer, lane), time, False)

    def time(self, steps: Mapping[str, Vector]) -> tuple[Vector, ...] | None:
        return time_rows(self.layout, self.cones, self.moving(steps, 0), self.systems)

    def moving(self, steps: Mapping[str, Vector], distance: int) -> list[Constraint]:
        """u . d == distance for every statement with a step."""
        return [Constraint(self.layout.along(n, d), -distance, equality=True) for n, d in steps.items()]

    @cached_property
    def dependent(self) -> tuple[Vector, ...]:
        """What every communication-free row is orthogonal to."""
        return constant_along(self.layout, self.cones)

    @cached_property
    def parallel_system(self) -> IntegerSystem:
        constraints = (
            Constraint({k: a for k, a in enumerate(row) if a}, equality=True) for row in self.dependent
        )
        objectives = schedule_objectives(self.layout, {}, prefer_inner=True)
        return IntegerSystem.build(self.layout.width, 0, objectives, constraints)

    def parallel_lane(self, steps: Mapping[str, Vector]) -> Vector | None:
        """A communication-free row with u . d = 1, not constant on the other statements where possible."""
        system = self.parallel_system.restrict(self.moving(steps, 1))
        lane = system.minimum()
        for name in self.layout.names:
            if lane is not None and not any(self.part(name, lane)):
                system, lane = self._moved(system, lane, name)
        return lane

    def _moved(self, system: IntegerSystem, lane: Vector, name: str) -> tuple[IntegerSystem, Vector]:
        for column in reversed(self.layout.iterators(name)):
            for sign in (1, -1):
                narrower = system.restrict([Constraint({column: sign}, -1)])
                better = narrower.minimum()
                if better is not None:
                    return narrower, better
        return system, lane

    def parallel_rows(self, steps: Mapping[str, Vector], lane: Vector) -> list[Vector]:
        """As many communication-free rows as are independent of the lane and each other, with u . d = 0."""
        still = [self._dense(self.layout.along(n, d)) for n, d in steps.items()]
        basis = [self._upright(b) for b in null_basis([*self.dependent, *still], self.layout.width)]
        rows: list[Vector] = []
        while (row := self._widest(basis, [lane, *rows])) is not None:
            rows.append(row)
        return rows

    def _widest(self, basis: Iterable[Vector], rows: Sequence[Vector]) -> Vector | None:
        """A sum of basis vectors that is independent of `rows` in as many statements as greed can reach."""
        best, raised = (0,) * self.layout.width, 0
        before = {name: self.rank(name, rows) for name in self.layout.names}
        for vector in basis:
            total = tuple(a + b for a, b in zip(best, vector, strict=True))
            count = sum(self.rank(name, [*rows, total]) > known for name, known in before.items())
            if count > raised:
                best, raised = total, count
        return best if raised else None

    def free_lane(self, steps: Mapping[str, Vector], time: Sequence[Vector]) -> Vector | None:
        """A row with u . d = 1; on other statements the innermost iterator that time leaves free."""
        lane: dict[int, int] = {}
        for name in self.layout.names:
            own = _across(steps[name]) if name in steps else self._innermost_free(name, time)
            if own is None:
                return None
            lane.update(zip(self.layout.iterators(name), own, strict=True))
        return self._dense(lane)

    def _innermost_free(self, name: str, time: Sequence[Vector]) -> Vector:
        parts = [self.part(name, row) for row in time]
        units = _units(len(self.layout.iterators(name)))
        free = [unit for unit in units if rank([*parts, unit]) > rank(parts)]
        return free[-1] if free else (0,) * len(units)

    def completion(self, rows: Sequence[Vector], steps: Mapping[str, Vector]) -> list[Vector]:
        """Rows with u . d = 0 that give every statement full rank, in the order of the source's loops."""
        missing = {name: self._missing(name, rows, steps.get(name)) for name in self.layout.names}
        completed: list[Vector] = []
        for k in range(max(map(len, missing.values()))):
            terms: dict[int, int] = {}
            for name, vectors in missing.items():
                if k < len(vectors):
                    terms.update(zip(self.layout.iterators(name), vectors[k], strict=True))
            completed.append(self._dense(terms))
        return completed

    def _missing(self, name: str, rows: Sequence[Vector], step: Vector | None) -> list[Vector]:
        depth = len(self.layout.iterators(name))
        parts, added = [self.part(name, row) for row in rows], list[Vector]()
        still = [step] if step else []
        for vector in (*_units(depth), *null_basis(still, depth)):
            keeps = not any(dot(vector, s) for s in still)
            if keeps and rank([*parts, *added, vector]) > rank([*parts, *added]):
                added.append(vector)
        return added

    def part(self, name: str, row: Vector) -> Vector:
        columns = self.layout.iterators(name)
        return row[columns.start : columns.stop]

    def rank(self, name: str, rows: Iterable[Vector]) -> int:
        return rank(self.part(name, row) for row in rows)

    def _dense(self, terms: Mapping[int, int]) -> Vector:
        return tuple(terms.get(k, 0) for k in range(self.layout.width))

    def _upright(self, row: Vector) -> Vector:
        """`row` or its opposite: the first coefficient of an iterator is positive."""
        first = next((a for name in self.layout.names for a in self.part(name, row) if a), 0)
        return tuple(-a for a in row) if first < 0 else row


def _across(step: Vector) -> Vector | None:
    """The simplest u with u . step = 1, inner iterators first."""
    return next(iter(small_solutions([step], [1], len(step), LANE_BOUND)), None)


def _units(depth: int) -> list[Vector]:
    return [tuple(int(k == c) for c in range(depth)) for k in range(depth)]
