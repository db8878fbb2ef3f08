"""Schedules in which a loop of the source becomes one of several times the iterations."""

from __future__ import annotations

import pytest

from polygpu.schedule.tree import Band, Node, Sequence
from polygpu.support.isl_idioms import D, pieces
from tests.unit.middle import scheduled

FLUXES = (
    "int n, float u[restrict n][n + 2], float f[restrict n + 2][5], float r[restrict n][n + 2][5]",
    """
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n + 2; i++) {
            f[i][0] = u[j][i];
            f[i][1] = 2 * u[j][i];
        }
        for (int i = 1; i <= n; i++)
            for (int m = 0; m < 5; m++)
                r[j][i][m] = r[j][i][m] - (f[i + 1][m] - f[i - 1][m]);
        for (int i = 1; i < n + 2; i++) {
            f[i][1] = u[j][i] - u[j][i - 1];
            f[i][2] = 2 * u[j][i] - u[j][i - 1];
        }
        for (int i = 1; i <= n; i++) {
            r[j][i][1] = r[j][i][1] + f[i + 1][1] - f[i][1];
            r[j][i][2] = r[j][i][2] + f[i + 1][2] - f[i][2];
        }
    }
    """,
)
PATHS = (
    "int n, float r[restrict n][n]",
    """
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                r[i][j] = r[i][j] < r[i][k] + r[k][j] ? r[i][j] : r[i][k] + r[k][j];
    """,
)


def largest(node: Node) -> int:
    """The largest coefficient of an iterator."""
    match node:
        case Band(members, _, child):
            parts = [f for m in members for row in m.rows.values() for _, f in pieces(row)]
            own = [
                abs(f.get_coefficient_val(D.in_, k).to_python()) for f in parts for k in range(f.dim(D.in_))
            ]
            return max(largest(child), *own)
        case Sequence(children):
            return max(map(largest, children))
    return 0


@pytest.mark.parametrize(("parameters", "body"), [FLUXES, PATHS], ids=["fluxes", "paths"])
def test_a_schedule_is_not_stretched_for_dimensions_that_few_statements_have(
    parameters: str, body: str
) -> None:
    """One of four times the steps has all in one kernel of two dimensions, of which each step is of one."""
    _, found = scheduled(parameters, body)
    assert largest(found.tree) == 1
