"""The copy of an expanded array's last values: which element comes from which iteration."""

from __future__ import annotations

import pytest

from polygpu.analysis.final_values import copy_back
from polygpu.analysis.polyhedra import PolyStatement
from tests.unit.frontend_text import shown_action
from tests.unit.middle import MATRICES, VECTORS, analysed, same_map, same_set


def copy(parameters: str, body: str, array: str, levels: tuple[int, ...]) -> PolyStatement | None:
    return copy_back(analysed(parameters, body), array, f"{array}_all", levels)


def test_the_last_iteration_wrote_it() -> None:
    s = copy(VECTORS, "for (int i = 0; i < n; i++) x[0] = y[i];", "x", (0,))
    assert s is not None
    assert same_set(s.domain, "[n] -> { F_x[e] : e = 0 and n >= 1 }")
    assert [shown_action(a) for a in s.body] == ["x[x_e0] = x_all[(-1 + (1 * n))][x_e0];"]
    read, write = s.accesses
    assert (read.write, write.write) == (False, True)
    assert same_map(read.relation, "[n] -> { F_x[0] -> x_all[n - 1, 0] : n >= 1 }")
    assert same_map(write.relation, "[n] -> { F_x[0] -> x[0] : n >= 1 }")


def test_each_element_has_a_last_iteration_of_its_own() -> None:
    """A[0][j] is written for i <= j: last for i = j."""
    body = "for (int i = 0; i < n; i++) for (int j = i; j < n; j++) A[0][j] = B[i][j];"
    s = copy(MATRICES, body, "A", (0,))
    assert s is not None
    read = s.accesses[0]
    assert same_map(read.relation, "[n, m] -> { F_A[0, j] -> A_all[j, 0, j] : 0 <= j < n }")


def test_of_several_loops_those_at_the_levels_count() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[0][0] = B[i][j];"
    s = copy(MATRICES, body, "A", (1,))
    assert s is not None
    assert same_map(
        s.accesses[0].relation, "[n, m] -> { F_A[0, 0] -> A_all[m - 1, 0, 0] : n >= 1 and m >= 1 }"
    )


def test_it_runs_after_everything_else() -> None:
    p = analysed(VECTORS, "for (int i = 0; i < n; i++) x[0] = y[i]; for (int i = 0; i < n; i++) z[i] = y[i];")
    s = copy_back(p, "x", "x_all", (0,))
    assert s is not None
    others = p.schedule().range()
    both = others.lex_lt_union_set(s.schedule.range().to_union_set())
    assert not others.is_empty()
    assert both.domain().is_equal(others)
    assert s.schedule.range().to_union_set().lex_lt_union_set(others).is_empty()


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; i++) if (y[i] > 0) x[0] = y[i];",  # who wrote last depends on data
        "x[0] = 1; for (int i = 0; i < n; i++) x[0] = y[i];",  # S0 when n is 0, else S1
        "for (int i = 0; i < n; i++) x[i / 2] = y[i];",  # the last one of two is no affine function
    ],
)
def test_no_copy_where_the_last_write_has_no_single_form(body: str) -> None:
    assert copy(VECTORS, body, "x", (0,)) is None


def test_several_statements_write_the_elements_in_one_iteration() -> None:
    """Two of them, of which no one writes all that is last, in the same last iteration of i."""
    body = "for (int i = 0; i < n; i++) { x[0] = y[i]; for (int j = 1; j < n; j++) x[j] = y[j] + i; }"
    s = copy(VECTORS, body, "x", (0,))
    assert s is not None
    assert same_map(s.accesses[0].relation, "[n] -> { F_x[j] -> x_all[n - 1, j] : 0 <= j < n }")


def test_statements_with_other_last_iterations_have_no_copy() -> None:
    """x[0] is written once less often."""
    body = (
        "for (int i = 0; i < n; i++) {"
        " if (i < n - 1) x[0] = y[i]; for (int j = 1; j < n; j++) x[j] = y[j] + i; }"
    )
    assert copy(VECTORS, body, "x", (0,)) is None
