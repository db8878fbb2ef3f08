"""Which loops are parallel, and the two places a dependence joins."""

from __future__ import annotations

from pathlib import Path

from polygpu.analysis.verdicts import loop_verdicts
from polygpu.compilation import Options
from polygpu.model.facts import LoopVerdict
from polygpu.pipeline import compile_file
from tests.unit.middle import MATRICES, VECTORS, expanded


def verdicts(parameters: str, body: str) -> tuple[LoopVerdict, ...]:
    p, d, _ = expanded(parameters, body)
    return loop_verdicts(p, d)


def test_independent_loops() -> None:
    found = verdicts(MATRICES, "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] = B[i][j];")
    assert [(v.iterator, v.parallel, v.why) for v in found] == [("i", True, ""), ("j", True, "")]


def test_the_loop_that_carries_the_dependence_is_sequential() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 1; j < m; j++) A[i][j] = A[i][j - 1];"
    outer, inner = verdicts(MATRICES, body)
    assert outer.parallel
    assert not inner.parallel
    assert inner.text == "for (int j = 1; j < m; j++)"


def test_both_ends_of_a_flow_dependence() -> None:
    body = "for (int i = 1; i < n; i++) {\nx[i] = y[i];\nz[i] = x[i - 1]; }"
    (loop,) = verdicts(VECTORS, body)
    assert not loop.parallel
    assert loop.why.startswith("flow")
    assert loop.source is not None
    assert loop.target is not None
    assert loop.target.line == loop.source.line + 1
    assert (loop.source.column, loop.target.column) == (1, 8)


def test_flow_is_told_by_its_write_and_its_read() -> None:
    """The pairs (i, i + 1) are an anti dependence too: of x[i + 1], read before it is written."""
    (loop,) = verdicts(VECTORS, "for (int i = 1; i < n - 1; i++)\nx[i] = x[i + 1] + x[i - 1];")
    assert loop.why.startswith("flow")
    assert loop.source is not None
    assert loop.target is not None
    assert (loop.source.column, loop.target.column) == (1, 19)


def test_kinds() -> None:
    (anti,) = verdicts(VECTORS, "for (int i = 0; i < n - 1; i++) x[i] = x[i + 1];")
    (output,) = verdicts(VECTORS, "for (int i = 0; i < n; i++) x[i / 2] = y[i];")
    assert anti.why.startswith("anti")
    assert output.why.startswith("output")


def test_expanded_scalars_do_not_count() -> None:
    (loop,) = verdicts(VECTORS, "float t; for (int i = 0; i < n; i++) { t = x[i]; y[i] = t; }")
    assert loop.parallel


def test_a_dependence_between_two_loops_is_carried_by_neither() -> None:
    body = "for (int i = 0; i < n; i++) x[i] = y[i]; for (int i = 0; i < n; i++) z[i] = x[n - 1 - i];"
    assert [v.parallel for v in verdicts(VECTORS, body)] == [True, True]


def test_a_dependence_of_an_outer_loop_leaves_the_inner_one_parallel() -> None:
    body = "for (int t = 0; t < 9; t++) for (int i = 0; i < n; i++) x[i] = x[i] + y[i];"
    assert [v.parallel for v in verdicts(VECTORS, body)] == [False, True]


def test_warnings_name_variables_of_functions_as_the_source_does(tmp_path: Path) -> None:
    """The loop of a function that is called twice is told of once, whatever its variables became."""
    path = tmp_path / "f.c"
    path.write_text("""
static void decayed(int n, const float *a, float *b)
{
    float total = 0;
    for (int i = 0; i < n; i++) {
        total = total * 0.5f + a[i];
        b[i] = total;
    }
}
void f(int n, const float *restrict a, float *restrict b, float *restrict c)
{
#pragma scop
    decayed(n, a, b);
    decayed(n, a, c);
#pragma endscop
}
""")
    done = compile_file(str(path), Options(target="emulator"))
    (message,) = (d.message for d in done.diagnostics if d.id == "PG330")
    assert message.endswith("flow dependence: total is written, then read by a later iteration")
