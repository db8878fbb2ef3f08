"""Dataflow where isl's analysis fails: no answer, and never a wrong one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import islpy as isl
import pytest

from polygpu.analysis import flow
from polygpu.analysis.dependences import compute
from polygpu.analysis.flow import conflicts, dataflow
from polygpu.compilation import Options
from polygpu.pipeline import compile_file
from polygpu.support.child import dismiss
from polygpu.support.isl_idioms import bounded, empty_union_map, maps
from polygpu.support.recent import Recent
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


@pytest.fixture
def helper_of_its_own() -> Iterator[None]:
    """A helper is a copy of the process as it is when somebody asks first."""
    dismiss()
    yield
    dismiss()


@pytest.mark.usefixtures("helper_of_its_own")
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


CONVOLUTION = """
for (int n = 0; n < N; n++) for (int k = 0; k < K; k++)
for (int y = 0; y < H; y++) for (int x = 0; x < H; x++) {
    float s = 0;
    for (int c = 0; c < C; c++) for (int r = 0; r < 3; r++) for (int t = 0; t < 3; t++)
        s += in[n][c][y + r][x + t] * w[k][c][r][t];
    out[n][k][y][x] = s;
}"""
MEAN = """
for (int i = 0; i < N; i++) for (int j = 0; j < K; j++) {
    float s = 0;
    int c = 0;
    for (int p = -1; p <= 1; p++) for (int q = -1; q <= 1; q++)
        if (i + p >= 0 && i + p < N && j + q >= 0 && j + q < K) {
            s += a[i + p][j + q];
            c += 1;
        }
    b[i][j] = s / c;
}"""


@pytest.mark.parametrize(
    ("arrays", "body"),
    [
        ("float in[N][C][H + 2][H + 2], float w[K][C][3][3], float out[N][K][H][H]", CONVOLUTION),
        ("float a[N][K], float b[N][K]", MEAN),
    ],
)
def test_sums_of_their_own_leave_loops_parallel(arrays: str, body: str, tmp_path: Path) -> None:
    """Dataflow of many loops ends: a sum that each iteration starts is its own."""
    head = f"void f(int N, int K, int C, int H, {arrays})"
    (tmp_path / "f.c").write_text(f"{head}\n{{\n#pragma scop{body}\n#pragma endscop\n}}\n")
    done = compile_file(str(tmp_path / "f.c"), Options(target="cuda", device="h100"))
    assert done.offloaded == 1
    assert [d.message for d in done.diagnostics if d.id == "PG330"] == []


def test_an_array_is_analysed_again_only_where_it_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(sinks: isl.UnionMap, *rest: isl.UnionMap) -> isl.UnionFlow:
        asked.extend(sorted(m.get_tuple_name(isl.dim_type.out) for m in maps(sinks)))
        return computed(sinks, *rest)

    computed = flow._computed
    monkeypatch.setattr(flow, "_computed", counted)
    monkeypatch.setattr(flow, "_FLOWS", Recent(8))
    text = "for (int i = 1; i < n; i++) {{ x[i] = x[i - 1]; y[i] = y[i - {}]; }}"
    found = []
    for distance in (1, 1, 2):
        p = analysed("int n, float x[restrict n], float y[restrict n + 1]", text.format(distance))
        reads, must, may = p.relation(False), p.relation(True, True), p.relation(True, False)
        found.append(dataflow(reads, must, may, p.schedule()).dependence)
    assert asked == ["x", "y", "y"]
    expected = "[n] -> {{ S0[i] -> S0[i + 1] : 0 < i < n - 1; S1[i] -> S1[i + {0}] : 0 < i < n - {0} }}"
    assert [same_map(f, expected.format(d)) for f, d in zip(found, (1, 1, 2), strict=True)] == [True] * 3


def test_what_took_too_long_is_tried_again_only_with_much_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    p = analysed(VECTORS, STRIDED)
    tried: list[float] = []

    def late(_work: object, _question: str, seconds: float) -> str:
        tried.append(seconds)
        raise TimeoutError

    monkeypatch.setattr(flow, "in_helper", late)
    monkeypatch.setattr(flow, "_FLOWS", Recent(8))
    monkeypatch.setattr(flow, "_TOO_FEW", Recent(8))

    def asked(seconds: float) -> int:
        monkeypatch.setattr(flow, "_SECONDS", seconds)
        with pytest.raises(isl.Error):
            dataflow(p.relation(False), p.relation(True, True), empty_union_map(), p.schedule())
        return len(tried)

    assert [asked(seconds) for seconds in (1.0, 1.0, 1.5, 3.0, 2.0)] == [1, 1, 1, 2, 2]


def test_an_order_of_parts_is_one_piece_where_that_tells_every_time() -> None:
    parts = "S[i, j = 1] -> [i, 1] : 0 <= i <= n; S[i, j = -1] -> [i, -1] : 0 <= i < 5"
    bent = "T[i] -> [i, 0] : i < 0; T[i] -> [2i, 1] : i >= 0"
    given = isl.UnionMap(f"[n] -> {{ {parts}; {bent} }}")
    found = flow._in_few_pieces(given)
    assert found.intersect_domain(given.domain()).is_equal(given)
    assert found.is_single_valued()
    assert {m.get_tuple_name(isl.dim_type.in_): m.n_basic_map() for m in maps(found)} == {"S": 1, "T": 2}


def test_cells_around_a_cell_are_added_up_in_each_step(tmp_path: Path) -> None:
    """A torus in one dimension of memory, from one array to another and back: cells are independent."""
    step = """
        for (int y = 0; y < 50; y++)
            for (int x = 0; x < 70; x++) {{
                int s = 0;
                for (int dy = -1; dy <= 1; dy++)
                    for (int dx = -1; dx <= 1; dx++)
                        if (dx || dy)
                            s += {0}[(y + dy + 50) % 50 * 70 + (x + dx + 70) % 70];
                {1}[y * 70 + x] = s == 3 || (s == 2 && {0}[y * 70 + x]);
            }}"""
    steps = step.format("a", "b") + step.format("b", "a")
    (tmp_path / "life.c").write_text(
        f"void f(int n, char a[restrict 3500], char b[restrict 3500]) {{\n"
        f"    for (int t = 0; t < n; t++) {{{steps}\n    }}\n}}\n"
    )
    made = compile_file(str(tmp_path / "life.c"), Options(target="emulator", offload="always", level=1))
    assert [d.message for d in made.diagnostics if d.severity != "note"] == []


def test_what_is_found_before_time_is_over_is_kept() -> None:
    """Of many problems the first are solved, and the last have too few steps left."""
    part = "S[i] -> A[i] : 0 <= i < n"
    relations = (f"[n] -> {{ {part} }}", f"[n] -> {{ {part.replace('S', 'T')} }}", "{ }")
    easy = flow._BETWEEN.join((*relations, "[n] -> { S[i] -> [1, i]; T[i] -> [0, i] }"))
    with bounded(flow._FEW + 20_000):
        found = flow._some_solutions(flow._NEXT.join([easy] * 300)).split(flow._BETWEEN)
    assert len(found) == 300
    assert (found[0][:3], found[-1]) == ("[n]", "?")
