"""Dataflow where isl's analysis fails: no answer, and never a wrong one."""

from __future__ import annotations

import islpy as isl
import pytest

from polygpu.analysis.dependences import compute
from polygpu.analysis.flow import conflicts, dataflow
from polygpu.support.isl_idioms import empty_union_map
from tests.unit.middle import analysed, same_map

STRIDED = "for (int i = 0; i < n; i += 2) { x[i] = y[i]; z[i] = x[i]; }"
VECTORS = "int n, float x[restrict n], float y[restrict n], float z[restrict n]"
CRASH = """
for (int i = n - 1; i >= 0; i--)
    for (int j = (m + 1 < n - i - 1 ? m + 1 : n - i - 1); j >= 1; j--)
        for (int k = 0; k < n - j; k += 2) {
            A[0][k][k + 1] = A[-i + n - 1][k][i - j + m + 1] ^ A[j - 1][j][j - 1];
            A[i + k][i][i + 2] = A[i + k][i][i + 2] + B[i + 2][2 * i];
        }
"""


def test_strided_accesses_are_followed() -> None:
    p = analysed(VECTORS, STRIDED)
    found = dataflow(p.relation(False), p.relation(True, True), p.relation(True, False), p.schedule())
    assert same_map(found.dependence, "[n] -> { S0[i] -> S1[i] : 0 <= i < n and i mod 2 = 0 }")
    assert found.unsupplied.range().is_subset(isl.UnionSet("[n] -> { y[i] }"))


def test_a_missing_source_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An analysis that finds nothing is found out, also in a child."""
    p = analysed(VECTORS, STRIDED)
    order = p.schedule()

    def nothing(sinks: isl.UnionMap, *_: isl.UnionMap) -> isl.UnionFlow:
        return isl.UnionAccessInfo.from_sink(sinks).set_schedule_map(order).compute_flow()

    monkeypatch.setattr("polygpu.analysis.flow._computed", nothing)
    with pytest.raises(isl.Error):
        dataflow(p.relation(False), p.relation(True, True), empty_union_map(), order)


def test_where_isl_ends_the_process() -> None:
    """isl's dataflow analysis of this region reads memory that is not there."""
    p = analysed(
        "int n, int m, int A[restrict n + m][n + m + 2][n + m + 2], int B[restrict n + 2][2 * n]", CRASH
    )
    found = compute(p)
    reads, writes, order = p.relation(False), p.relation(True), p.schedule()
    closure, exact = found.all.transitive_closure()
    assert exact or closure.is_equal(found.all)
    assert conflicts(writes, reads, order).is_subset(closure)
