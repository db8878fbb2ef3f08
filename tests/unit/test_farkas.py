"""Generators of dependences and carrying rows, compared with enumeration."""

from __future__ import annotations

from itertools import product

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygpu.schedule.farkas import Layout, constant_along, dependence_cones, time_rows
from polygpu.schedule.integer_system import Constraint, dot
from tests.unit.adjacency_programs import pairs

TRIANGLE = "[N] -> { S[i,j] -> T[i] : 0 <= i < N and 0 <= j <= i and N >= 1 }"
BOTH = Layout(("S", "T"), (2, 1), 1)


PAIRS = [(n, x, y) for n in (1, 2, 20) for x, y in pairs(isl.Map(TRIANGLE), n)]


def holds(row: tuple[int, ...]) -> bool:
    """phi_T(y) - phi_S(x) >= 0 on every pair, for sizes small and large."""
    return all(dot(row[4:], (*y, n, 1)) >= dot(row[:4], (*x, n, 1)) for n, x, y in PAIRS)


@given(st.tuples(*[st.integers(-2, 2)] * 7))
@settings(max_examples=200, deadline=None)
def test_a_form_is_non_negative_on_a_piece_iff_it_is_on_its_generators(row: tuple[int, ...]) -> None:
    (cone,) = dependence_cones(isl.UnionMap(TRIANGLE), ("S", "T"), ("N",))
    assert cone.lines == ()
    at = [sum(row[k] * a for k, a in BOTH.distance(cone, g).items()) for g in cone.rays]
    assert (min(at) >= 0) == holds(row)


def test_communication_free_rows_vanish_on_the_whole_piece() -> None:
    cones = dependence_cones(isl.UnionMap(TRIANGLE), ("S", "T"), ("N",))
    orthogonal = constant_along(BOTH, cones)
    free = [
        row
        for row in product((-1, 0, 1), repeat=7)
        if all(dot(orthogonal_row, row) == 0 for orthogonal_row in orthogonal)
    ]
    # u_S = (a, 0) and u_T = a; both statements move alike with N and with the constant
    assert sorted(free) == sorted((a, 0, n, c, a, n, c) for a, n, c in product((-1, 0, 1), repeat=3))


def test_a_line_of_dependences_allows_both_signs() -> None:
    (cone,) = dependence_cones(isl.UnionMap("{ S[i] -> S[i+1] }"), ("S",), ())
    layout = Layout(("S",), (1,), 0)
    (direction,) = cone.lines
    assert layout.distance(cone, direction) == {}
    assert time_rows(layout, [cone], [], {}) == ((1, 0),)


def test_existentials_only_enlarge_a_piece() -> None:
    exact = isl.Map("{ S[i,j] -> T[i] : 0 <= i < 9 and 0 <= j < 9 and (i + j) mod 3 = 0 }")
    (cone,) = dependence_cones(isl.UnionMap.from_map(exact), ("S", "T"), ())
    layout = Layout(("S", "T"), (2, 1), 0)
    (row,) = time_rows(layout, [cone], [], {}) or ()
    assert all(dot(row[3:], (*y, 1)) - dot(row[:3], (*x, 1)) >= 1 for x, y in pairs(exact, 0))


def test_dependences_of_other_statements_do_not_count() -> None:
    edges = isl.UnionMap("{ S[i] -> S[i+1]; S[i] -> U[i]; U[i] -> S[i] }")
    assert [(c.source, c.target) for c in dependence_cones(edges, ("S",), ())] == [("S", "S")]


def test_an_unknown_parameter_is_an_error() -> None:
    edges = isl.UnionMap("[M] -> { S[i] -> S[i+1] : i < M }")
    with pytest.raises(ValueError, match="parameter"):
        dependence_cones(edges, ("S",), ("N",))


def test_time_needs_two_rows_where_one_cannot_carry_everything() -> None:
    """Every instance of a row depends on every instance of the row before, and on its left neighbour."""
    edges = isl.UnionMap(
        "[N] -> { S[i,j] -> S[i+1,k] : 0 <= i < N-1 and 0 <= j,k < N;"
        " S[i,j] -> S[i,j+1] : 0 <= i < N and 0 <= j < N-1 }"
    )
    layout = Layout(("S",), (2,), 1)
    cones = dependence_cones(edges, ("S",), ("N",))
    assert time_rows(layout, cones, [], {}) == ((1, 0, 0, 0), (0, 1, 0, 0))
    standing = [Constraint({1: 1}, equality=True)]
    assert time_rows(layout, cones, standing, {}) is None


def test_rows_do_not_depend_on_the_order_of_a_union() -> None:
    parts = [f"S[i,j] -> S[i+{a},j+{b}]" for a, b in ((1, 0), (0, 1), (1, -1), (2, 1))]
    edges = [isl.UnionMap("{ " + "; ".join(order) + " }") for order in (parts, parts[::-1])]
    first, second = (dependence_cones(e, ("S",), ()) for e in edges)
    assert first == second
    assert len(first) == 4
