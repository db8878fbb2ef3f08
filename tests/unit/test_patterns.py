"""How accesses move along a dimension of the schedule, with steps worked out by hand."""

from __future__ import annotations

import islpy as isl
import pytest

from polygpu.analysis.patterns import access_matrix, coefficients, direction, patterns
from tests.unit.middle import analysed

PARAMETERS = "int n, float A[restrict 4 * n][4 * n], float x[restrict 4 * n], int k[restrict n]"


def kinds(access: str, rows: tuple[str, str] = ("i", "j")) -> list[str]:
    """The kinds of a read along both rows, in a nest over i and j."""
    p = analysed(PARAMETERS, f"for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[0] = {access};")
    (s,) = p.statements
    schedule = [isl.PwAff(f"[n] -> {{ S0[i, j] -> [({row})] }}") for row in rows]
    found = next(f for f in patterns(s, schedule, 2, 0) if f.access.text == access)
    return [found.kind(0), found.kind(1)]


@pytest.mark.parametrize(
    ("access", "along"),
    [
        ("A[i][j]", ["strided", "unit"]),
        ("A[j][i]", ["unit", "strided"]),
        ("A[i][n - j]", ["strided", "reverse"]),
        ("A[i][2 * j]", ["strided", "strided"]),
        ("A[0][i + j]", ["unit", "unit"]),
        ("A[i][i]", ["strided", "broadcast"]),
        ("x[j]", ["broadcast", "unit"]),
        ("x[3]", ["broadcast", "broadcast"]),
        ("x[j / 2]", ["strided", "strided"]),
        ("x[k[i]]", ["strided", "strided"]),
    ],
)
def test_kinds(access: str, along: list[str]) -> None:
    assert kinds(access) == along


def test_skewed_schedules() -> None:
    """With rows i + j and i, a step of the second keeps i + j: j goes down."""
    assert kinds("A[0][j]", ("i + j", "i")) == ["unit", "reverse"]
    assert kinds("A[0][i + j]", ("i + j", "i")) == ["unit", "broadcast"]
    assert kinds("A[0][i]", ("-i", "j")) == ["reverse", "broadcast"]


def test_steps_that_are_no_whole_iterations() -> None:
    assert kinds("A[0][i]", ("2i", "j")) == ["strided", "broadcast"]


def test_directions() -> None:
    assert direction([(1, 0), (0, 1)], 1) == (0, 1)
    assert direction([(1, 1), (1, 0)], 0) == (0, 1)
    assert direction([(1, 1), (1, 0)], 1) == (1, -1)
    assert direction([(2, 0), (0, 1)], 0) is None
    assert direction([(1, 0)], 0) is None  # the other iterator is free
    assert direction([(1,), (1,)], 0) is None  # both rows would have to move
    assert direction([], 0) is None


def test_coefficients_and_matrices() -> None:
    assert coefficients(isl.PwAff("[n] -> { S[i, j] -> [(2i - j + n)] }")) == (2, -1)
    assert coefficients(isl.PwAff("[n] -> { S[i, j] -> [(floor(i/2))] }")) is None
    assert coefficients(isl.PwAff("[n] -> { S[i, j] -> [(i)] : i < 3; S[i, j] -> [(j)] : i >= 3 }")) is None
    p = analysed(PARAMETERS, "for (int i = 0; i < n; i++) A[2 * i][n - i] = x[k[i]];")
    found = {a.text: access_matrix(a) for a in p.statements[0].accesses}
    assert found["A[2 * i][n - i]"] == [(2,), (-1,)]
    assert found["x[k[i]]"] == [None]
