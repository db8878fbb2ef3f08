"""Dependences of small programs, against relations written by hand."""

from __future__ import annotations

import islpy as isl
import pytest

from polygpu.analysis import flow
from polygpu.analysis.dependences import carried, compute
from polygpu.support.isl_idioms import bounded, maps, union_of
from polygpu.support.recent import Recent
from tests.unit.middle import MATRICES, VECTORS, analysed, dependent, same_map


def test_flow_is_from_the_last_write() -> None:
    _, d = dependent(VECTORS, "for (int i = 1; i < n; i++) x[i] = x[i - 1];")
    assert same_map(d.flow, "[n] -> { S0[i] -> S0[i + 1] : 1 <= i < n - 1 }")
    assert d.memory.is_empty()
    assert same_map(d.live_in, "[n] -> { S0[1] -> x[0] : n >= 2 }")


def test_anti_dependences() -> None:
    _, d = dependent(VECTORS, "for (int i = 0; i < n - 1; i++) x[i] = x[i + 1];")
    assert d.flow.is_empty()
    assert same_map(d.memory, "[n] -> { S0[i] -> S0[i + 1] : 0 <= i < n - 2 }")


def test_output_dependences_join_neighbours() -> None:
    _, d = dependent(VECTORS, "for (int i = 0; i < n; i++) x[0] = y[i];")
    assert d.flow.is_empty()
    assert same_map(d.memory, "[n] -> { S0[i] -> S0[i + 1] : 0 <= i < n - 1 }")


def test_reduction() -> None:
    _, d = dependent(
        MATRICES,
        "for (int i = 0; i < n; i++) { A[i][0] = 0; for (int j = 0; j < m; j++) A[i][0] += B[i][j]; }",
    )
    assert same_map(
        d.flow,
        "[n, m] -> { S0[i] -> S1[i, 0] : 0 <= i < n and m >= 1;"
        " S1[i, j] -> S1[i, j + 1] : 0 <= i < n and 0 <= j < m - 1 }",
    )
    assert not any(name == "A" for name in _live_arrays(d.live_in))


def test_a_write_that_may_not_happen_keeps_older_values_alive() -> None:
    body = "for (int i = 0; i < n; i++) { x[0] = y[i]; if (y[i] > 0) x[0] = 1; z[i] = x[0]; }"
    _, d = dependent(VECTORS, body)
    into = d.flow.intersect_range(isl.UnionSet("{ S2[i] }"))
    assert same_map(into, "[n] -> { S0[i] -> S2[i] : 0 <= i < n; S1[i] -> S2[i] : 0 <= i < n }")


def test_order_of_a_descending_loop() -> None:
    _, d = dependent(VECTORS, "for (int i = n - 2; i >= 0; i--) x[i] += x[i + 1];")
    assert same_map(d.flow, "[n] -> { S0[i] -> S0[i - 1] : 1 <= i <= n - 2 }")


def test_conflicts_where_dataflow_would_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    p = analysed(VECTORS, "for (int i = 0; i < n; i++) { x[0] = y[i]; z[i] = x[0]; }")
    exact = compute(p)
    monkeypatch.setattr(flow, "_STEPS", 1)
    monkeypatch.setattr(flow, "_FLOWS", Recent(1))  # which has the exact answer
    rough = compute(p)
    assert same_map(
        rough.flow, "[n] -> { S0[i] -> S1[j] : 0 <= i <= j < n }"
    )  # every earlier write, not only the last one
    assert exact.all.is_strict_subset(rough.all)
    assert rough.live_in.is_equal(p.relation(write=False))
    assert compute(analysed(VECTORS, "for (int i = 0; i < n; i++) x[i] = 0;")).all.is_empty()


def test_carried() -> None:
    relation = isl.Map("[n] -> { S[i, j] -> T[a, b] : a = i and b = j + 1 or a = i + 1 and b = j }")
    assert carried(relation, 0).is_equal(isl.Map("[n] -> { S[i, j] -> T[i + 1, j] }"))
    assert carried(relation, 1).is_equal(isl.Map("[n] -> { S[i, j] -> T[i, j + 1] }"))
    assert carried(isl.Map("{ S[i, j] -> T[i, j] }"), 1).is_empty()
    assert carried(isl.Map("{ S[i, j] -> T[i + 1, j + 1] }"), 1).is_empty()


def test_what_is_carried_of_many_pieces() -> None:
    """Pieces that overlap are not compared with each other, which takes millions of steps."""
    pieces = [
        f"a >= i and {k % 5 + 1}j + {k} <= {k % 3 + 1}a and exists (e : 3e = i + {k} - b)" for k in range(100)
    ]
    (relation,) = maps(union_of([isl.Map(f"[n] -> {{ S[i, j] -> S[a, b] : {piece} }}") for piece in pieces]))
    with bounded(500_000):
        outer, inner = (carried(relation, level) for level in range(2))
    assert outer.is_equal(relation.intersect(isl.Map("{ S[i, j] -> S[a, b] : a != i }")))
    assert inner.is_equal(relation.intersect(isl.Map("{ S[i, j] -> S[i, b] : b != j }")))


def _live_arrays(live_in: isl.UnionMap) -> set[str]:
    found: set[str] = set()
    live_in.range().foreach_set(lambda s: found.add(s.get_tuple_name()))
    return found


SCATTER = "for (int i = 0; i < n; i++) {{ x[(int)y[i]] = i; {more} }}"


def test_an_independent_loop_carries_no_dependence_that_data_hide() -> None:
    body = "\n#pragma omp parallel for\n" + SCATTER.format(more="z[i] = x[i];")
    _, d = dependent(VECTORS, body)
    assert same_map(d.flow, "[n] -> { S0[i] -> S1[i] : 0 <= i < n }")
    assert d.memory.is_empty()
    assert "x" in _live_arrays(d.live_in)


def test_loops_around_an_independent_one_carry_what_data_hide() -> None:
    body = "for (int t = 0; t < n; t++)\n#pragma omp parallel for\n" + SCATTER.format(more="")
    _, d = dependent(VECTORS, body)
    assert same_map(d.memory, "[n] -> { S0[t, i] -> S0[u, j] : 0 <= t < u < n and 0 <= i, j < n }")


def test_an_independent_loop_carries_what_can_be_seen() -> None:
    body = "\n#pragma omp parallel for\n" + SCATTER.format(more="z[i] = z[i - 1]; x[i] = x[i - 1];")
    _, d = dependent(VECTORS, body)
    into = d.flow.intersect_range(isl.UnionSet("{ S1[i] }"))
    assert same_map(into, "[n] -> { S1[i] -> S1[i + 1] : 0 <= i < n - 1 }")
    into = d.flow.intersect_range(isl.UnionSet("{ S2[i] }"))
    # x[-1], which the first iteration reads, is no element that data can tell
    assert same_map(into, "[n] -> { S2[i] -> S2[i + 1] : 0 <= i < n - 1; S0[i] -> S2[i] : 0 < i < n }")
