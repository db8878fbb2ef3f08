"""How much memory arrays and expanded temporaries take, and which expansions there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from polygpu import pipeline
from polygpu.analysis.volumes import Volume, iterations
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Int, Name
from polygpu.verify.certificate import certify
from tests.unit.middle import analysed
from tests.unit.test_expand import levels


def test_volumes_are_ordered_by_the_extents_that_are_not_known() -> None:
    n = Volume().times([Name("n")])
    assert n == Volume(1, 1) and n.times([Int(3), 5]) == Volume(1, 15)
    assert Volume().times([10**9]) < n < n.times([Int(2)]) < n.times([None])


@pytest.mark.parametrize(
    ("parameters", "bounds", "count"),
    [
        ("float x[restrict 20]", "int i = 3; i < 10", 7),
        ("int n, float x[restrict 20]", "int i = 0; i < n", 20),
        ("int n, float x[restrict 20]", "int i = 5; i < n", 15),
        ("int n, float x[restrict n]", "int i = 0; i < n", None),
        ("int n, float x[restrict 20]", "int i = 25; i < n", 0),
    ],
)
def test_sizes_of_arrays_bound_loops(parameters: str, bounds: str, count: int | None) -> None:
    p = analysed(parameters, f"for ({bounds}; i++) x[i] = 1;")
    assert iterations(p, [s.name for s in p.statements], 0) == count


ROWS = (
    "for (int r = 0; r < R; r++) for (int q = 0; q < Q; q++) { for (int p = 0; p < P; p++) { s[p] = 0;"
    " for (int t = 0; t < P; t++) s[p] += V[r][q][t] * W[t][p]; }"
    " for (int p = 0; p < P; p++) V[r][q][p] = s[p]; }"
)


@pytest.mark.parametrize(
    ("sizes", "bounds", "expanded"),
    [
        (tuple("RQP"), tuple("RQP"), {"s_all": (0, 1)}),
        ((6, 5, 4), tuple("RQP"), {"s_all": (0, 1)}),
        ((6, 5, 4), (6, 5, 4), {"s_all": (0, 1)}),
        ((6, 5, 4), (5, 4, 3), {"s_all": (0, 1)}),
    ],
)
def test_final_values_of_arrays_whose_sizes_are_known(
    sizes: Sequence[int | str], bounds: Sequence[int | str], expanded: dict[str, tuple[int, ...]]
) -> None:
    r, q, p = sizes
    arrays = f"float V[restrict {r}][{q}][{p}], float W[restrict {p}][{p}], float s[restrict {p}]"
    body = ROWS
    for name, bound in zip("RQP", bounds, strict=True):
        body = body.replace(f"< {name}", f"< {bound}")
    assert levels(f"int R, int Q, int P, {arrays}", body) == expanded


def test_no_more_memory_than_the_largest_array() -> None:
    """Ten values of each of a hundred iterations are more than a hundred elements."""
    body = "for (int i = 0; i < 100; i++) { for (int k = 0; k < 10; k++) s[k] = x[i]; z[i] = s[i % 10]; }"
    assert levels("float x[restrict 100], float z[restrict 100], float s[restrict 10]", body) == {}
    assert levels("float x[restrict 1000], float z[restrict 100], float s[restrict 10]", body) == {
        "s_all": (0,)
    }


def test_generous_expansion_knows_how_small_arrays_are() -> None:
    body = (
        "float t; for (int i = 1; i < 90; i++) for (int j = 0; j < 90; j++) { t = x[i - 1]; x[i] = t + j; }"
    )
    assert levels("float x[restrict 90]", body, generous=True) == levels("float x[restrict 90]", body)
    taller = "float x[restrict 90], float A[restrict 90][90]"
    assert levels(taller, body.replace("+ j", "+ A[i][j]"), generous=True) == {"t": (0, 1)}


PROGRAM = """
void f(int n, int m, float C[restrict n][m], const float A[restrict n][n], const float B[restrict n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float t = 0;
            for (int k = 0; k < i; k++) {
                C[k][j] += B[i][j] * A[i][k];
                t += B[k][j] * A[i][k];
            }
            C[i][j] += t;
        }
#pragma endscop
}
"""


def compiled(directory: Path, *decisions: str) -> CompiledRegion:
    (directory / "s.c").write_text(PROGRAM)
    options = Options(target="emulator", level=1, decisions=decisions)
    (found,) = pipeline.compile_file(str(directory / "s.c"), options).regions
    return found


def test_what_stays_within_iterations_of_a_sequential_loop_is_computed_in_parallel(tmp_path: Path) -> None:
    """A temporary of both loops, and it is in a register all the same."""
    made = compiled(tmp_path)
    assert [len(grid.axes) for grid in made.grids] == [2, 2]
    assert [e.levels for e in made.prepared.expansions] == [(0, 1)]
    assert "t" not in {a.name for kernel in made.region.kernels for a in kernel.arrays}
    assert [{h.array for h in grid.held} for grid in made.grids] == [{"t"}, {"C"}]  # C is stored once
    assert certify(made).holds
    assert [len(grid.axes) for grid in compiled(tmp_path, "expand(t: j)").grids] == [1, 2]
