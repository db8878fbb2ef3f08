"""Elimination, null spaces and sequential minima, compared with enumeration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygpu.schedule import integer_system
from polygpu.schedule.integer_system import (
    Constraint,
    IntegerSystem,
    OperationsExceededError,
    dot,
    eliminate,
    null_basis,
    rank,
    small_solutions,
)
from polygpu.support.recent import Recent

MATRICES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(-3, 3)] * width), min_size=1, max_size=4)
)
BOX = range(-4, 5)


@given(MATRICES)
def test_null_space_and_rank(rows: list[tuple[int, ...]]) -> None:
    width = len(rows[0])
    basis = null_basis(rows, width)
    assert all(dot(row, x) == 0 for row in rows for x in basis)
    assert rank(basis) == len(basis) == width - rank(rows)


@given(MATRICES)
def test_elimination_keeps_the_row_space(rows: list[tuple[int, ...]]) -> None:
    reduced, pivots = eliminate(rows)
    assert rank([*rows, *reduced]) == len(reduced) == rank(rows)
    for row, pivot in zip(reduced, pivots, strict=True):
        assert row[pivot] > 0
        assert not any(row[:pivot])
        assert [r[pivot] for r in reduced if r is not row] == [0] * (len(reduced) - 1)


@given(MATRICES, st.data())
@settings(max_examples=60, deadline=None)
def test_small_solutions_are_found_in_the_order_of_size(
    rows: list[tuple[int, ...]], data: st.DataObject
) -> None:
    width = len(rows[0])
    right = data.draw(st.lists(st.integers(-2, 2), min_size=len(rows), max_size=len(rows)))
    found = small_solutions(rows, right, width, 4)
    solves = {
        x for x in product(BOX, repeat=width) if all(dot(r, x) == b for r, b in zip(rows, right, strict=True))
    }
    assert set(found) <= solves
    sizes = [sum(map(abs, x)) for x in found]
    assert sizes == sorted(sizes)
    if width - rank(rows) <= 2:
        assert set(found) == solves


@given(
    st.lists(st.tuples(st.tuples(*[st.integers(-2, 2)] * 2), st.integers(-3, 3), st.booleans()), max_size=3),
    st.integers(-2, 2),
)
@settings(max_examples=80, deadline=None)
def test_minimum_agrees_with_enumeration(rows: list[tuple[tuple[int, int], int, bool]], slack: int) -> None:
    """Two free unknowns x, y and one slack z; first z is made small, then |x| + |y|."""
    constraints = [Constraint({0: a, 1: b, 2: slack}, c, equality) for (a, b), c, equality in rows] + [
        Constraint({k: s}, 4) for k in (0, 1, 2) for s in (1, -1)
    ]
    found = IntegerSystem.build(2, 1, [{2: 1}, {0: 1, 1: 1}], constraints).minimum()
    feasible = [
        (z, abs(x) + abs(y))
        for x, y, z in product(BOX, BOX, range(5))
        if all(
            (a * x + b * y + slack * z + c == 0) if equality else (a * x + b * y + slack * z + c >= 0)
            for (a, b), c, equality in rows
        )
    ]
    if found is None:
        assert feasible == []
    else:
        assert (found[2], abs(found[0]) + abs(found[1])) == min(feasible)


def test_restriction_adds_constraints() -> None:
    system = IntegerSystem.build(1, 0, [{0: 1}], [Constraint({0: 1}, 3)])
    assert system.minimum() == (0,)
    assert system.restrict([Constraint({0: -1}, -2)]).minimum() == (-2,)
    assert system.restrict([Constraint({0: -1}, -4)]).minimum() is None


def test_a_minimum_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_system, "_MINIMA", Recent(2))
    systems = [IntegerSystem.build(1, 0, [{0: 1}], [Constraint({0: 1}, 3)]) for _ in range(2)]
    systems += [s.restrict([Constraint({0: -1}, -2)]) for s in systems]
    assert [s.minimum() for s in systems[::2]] == [(0,), (-2,)]
    monkeypatch.setattr(integer_system, "OPERATIONS", 1)  # of which another search would need more
    assert [s.minimum() for s in systems[1::2]] == [(0,), (-2,)]
    with pytest.raises(OperationsExceededError):
        systems[0].restrict([Constraint({0: -1}, -1)]).minimum()


def test_of_two_equal_sizes_the_positive_is_chosen() -> None:
    far = IntegerSystem.build(2, 0, [{0: 1, 1: 1}], [Constraint({0: 1, 1: -1}, -2, True)])
    assert far.minimum() == (2, 0)


def test_a_runaway_call_is_stopped_and_the_context_stays_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_system, "OPERATIONS", 1)
    system = IntegerSystem.build(2, 0, [{0: 1, 1: 1}], [Constraint({0: 3, 1: 5}, -7)])
    with pytest.raises(OperationsExceededError):
        system.minimum()
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0
    monkeypatch.undo()
    assert system.minimum() is not None


def wide(unknowns: int = 80) -> IntegerSystem:
    """x_k = k for so many unknowns, but that the last may be more."""
    lines = [Constraint({k: 1}, -k, equality=k < unknowns - 1) for k in range(unknowns)]
    return IntegerSystem.build(unknowns, 0, [dict.fromkeys(range(unknowns), 1)], lines)


def test_a_wide_system_is_solved_in_a_copy_all_the_same() -> None:
    assert wide().minimum() == tuple(range(80))
    assert wide().restrict([Constraint({79: -1}, 78)]).minimum() is None


@pytest.mark.parametrize("unknowns", [21, 80])
def test_a_wide_system_may_take_so_long(unknowns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_system, "_MINIMA", Recent(1))
    monkeypatch.setattr(integer_system, "_SECONDS", 0)
    with pytest.raises(OperationsExceededError):
        wide(unknowns).minimum()


def test_a_wider_system_gets_fewer_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    most: list[int] = []

    @contextmanager
    def limited(operations: int) -> Iterator[None]:
        most.append(operations)
        yield

    monkeypatch.setattr(integer_system, "in_helper", lambda work, question, _: work(question))
    monkeypatch.setattr(integer_system, "limited", limited)
    for unknowns in (80, 110, 300):
        IntegerSystem.build(unknowns, 0, [dict.fromkeys(range(unknowns), 1)], []).minimum()
    assert most[0] > most[1] > most[2] >= 1000  # what has no solution shows in so many


def test_a_system_that_isl_takes_seconds_to_read_is_given_up() -> None:
    with pytest.raises(OperationsExceededError):
        IntegerSystem.build(1000, 0, [], [])  # 2,000 columns, each at least 0
