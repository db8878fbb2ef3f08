"""What the host tests before it calls the device, as sets of parameters."""

from __future__ import annotations

import islpy as isl
import pytest

from polygpu.analysis.conditions import conditions
from polygpu.support.diagnostics import Diagnosed
from tests.unit.middle import analysed, same_set


def held(parameters: str, body: str) -> list[tuple[isl.Set, str]]:
    """For each test the parameters it accepts, and the reason."""
    return [(c.holds.from_params(), c.reason) for c in conditions(analysed(parameters, body))]


ROWS = "int n, int m, float A[restrict n][m], float x[restrict n]"


def test_accesses_inside_their_array_need_no_test() -> None:
    assert held(ROWS, "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] = x[i];") == []


def test_a_subscript_that_may_leave_the_array() -> None:
    """Columns up to n of rows of m: fine unless n > m, or nothing runs."""
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = 0;"
    ((holds, reason),) = held(ROWS, body)
    assert same_set(holds, "[n, m] -> { [] : n <= m or n <= 0 }")
    assert reason == "subscript 2 of 'A[i][j]' must stay inside the array"


def test_below_the_start() -> None:
    ((holds, _),) = held(ROWS + ", int k", "for (int i = 0; i < n; i++) x[i] = A[i][k];")[:1]
    assert same_set(holds, "[n, m, k] -> { [] : 0 <= k < m or n <= 0 }")


def test_what_other_tests_imply_is_not_tested() -> None:
    """A row below the last one is inside where that is."""
    body = "for (int i = 0; i < n; i++) { x[i] = x[i + 1]; x[i + 2] = x[i + 3]; }"
    ((holds, _),) = held("int n, float x[restrict 99]", body)
    assert same_set(holds, "[n] -> { [] : n <= 96 }")


def test_equal_tests_are_made_once() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = A[i][j] + A[j][j];"
    assert len(held(ROWS, body)) == 1


def test_the_outermost_extent_of_a_pointer_is_not_known() -> None:
    assert held("int n, float *restrict x", "for (int i = 0; i < n; i++) x[2 * i + 5] = 0;") == []


def test_guessed_rows_are_tested() -> None:
    """A[i * m + j] is A[i][j] only while 0 <= j < m."""
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < k; j++) A[i * m + j] = 0;"
    ((holds, _),) = held("int n, int m, int k, float *restrict A", body)
    assert same_set(holds, "[n, m, k] -> { [] : k <= m or k <= 0 or n <= 0 }")


@pytest.mark.parametrize(
    ("access", "number", "place"),
    [("x[i + 4]", 1, "x[i + 4]"), ("A[0][9 + i]", 2, "A[0][9 + i]"), ("x[-1 - i]", 1, "x[-1 - i]")],
)
def test_what_is_always_outside_is_an_error(access: str, number: int, place: str) -> None:
    arrays = "int n, float x[restrict 4], float A[restrict 3][9]"
    with pytest.raises(Diagnosed) as caught:
        conditions(analysed(arrays, f"for (int i = 0; i < n; i++) {access} = 0;"))
    (error,) = caught.value.diagnostics
    assert (error.id, error.severity) == ("PG302", "error")
    assert error.message.startswith(f"subscript {number} of '{place}' is outside")
    assert error.position is not None
    assert error.position.line == 5
