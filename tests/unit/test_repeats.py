"""Loops within an instance, which data bound or end: their results, their kernels, what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.model.kernel import While
from polygpu.model.kernel_walk import statements
from polygpu.model.rewrite import again, precedes
from polygpu.perf.charges import lockstep
from polygpu.perf.oblivious import is_oblivious
from polygpu.perf.predict import predict
from polygpu.pipeline import compile_file
from polygpu.support.diagnostics import Diagnosed
from polygpu.verify.certificate import certify
from tests.unit.emulated import assert_same, compiled

PROGRAM = """
#include <stdio.h>
enum { n = 99, m = 12 };
static int first[n + 1], k[n], c[n];
static float x[n], y[n], z[n], a[n][m];
void f(void)
{
    int j, l;
    float s;
#pragma scop
    for (int i = 0; i < n; i++) { %s }
#pragma endscop
}
int main(void)
{
    for (int i = 0; i <= n; i++)
        first[i] = i * (m - 5);
    for (int i = 0; i < n; i++) {
        k[i] = i * 37 %% n, x[i] = i %% 7 - 1, y[i] = i, z[i] = i %% 5;
        for (int j = 0; j < m; j++)
            a[i][j] = (i * 31 + j * 17) %% 101 * 0.07f;
    }
    f();
    for (int i = 0; i < n; i++)
        printf("%%g %%g %%d %%g\\n", y[i], z[i], c[i], a[i][0]);
}
"""

BODIES = {
    "bounds": "s = 0; for (j = k[i] / 2; j < k[i]; j++) s += x[j] * z[k[j]]; y[i] = s;",
    "in place": "for (j = 0; j < k[i] % 9; j++) y[i] = 0.5f * y[i] + a[i][j];",
    "first": "for (j = 0; j < m; j++) if (a[i][j] > 6) break; c[i] = j;",
    "while": "s = z[i]; l = 0; while (s < 90 && l < 40) { s += s * 0.5f + x[l]; l++; } c[i] = l; y[i] = s;",
    "do": "l = k[i]; do { l = l % 2 ? 3 * l + 1 : l / 2; c[i]++; } while (l > 1);",
    "in tests": """if (x[i] > 2) { s = 0; for (j = 0; j < m; j++) s += a[i][j]; y[i] = s; }
        else for (j = m - 1; j > x[i]; j--) { if (a[i][j] < 0.5f) continue; z[i] += a[i][j]; }""",
    "nested": """for (j = 0; j < k[i] % m; j++) { s = 0; for (l = j; l >= 0; l--) { if (a[i][l] > 5) break;
        s += a[i][l]; } if (s > 40) break; y[i] += s; }""",
    "in a sum": """z[i] = 0; for (int h = 0; h < 5; h++) { s = 0; for (l = h; l < k[i] % m; l += 2)
        s += a[i][l]; z[i] += s * h; }""",
}


@pytest.mark.slow
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_the_result_and_the_proof(body: str, tmp_path: Path) -> None:
    made = compiled(tmp_path, PROGRAM % body)
    assert assert_same(tmp_path) == ""
    assert [certify(r).holds for r in made.regions] == [True]
    (region,) = made.regions
    assert any(isinstance(s, While) for k in region.region.kernels for s in statements(k.body))


SUMS = """
void f(int n, int m, const int first[restrict n + 1], const float x[restrict m], float y[restrict n])
{
    int i, j;
    float s;
    for (i = 0; i < n; i++) {
        s = 0;
        for (j = first[i]; j < first[i + 1]; j++)
            s += x[j];
        y[i] = s;
    }
}
"""


def made(directory: Path, text: str) -> Path:
    file = directory / "in.c"
    file.write_text(text)
    return file


def test_what_a_loop_counts_with_are_locals(tmp_path: Path) -> None:
    (region,) = compile_file(str(made(tmp_path, SUMS)), Options(target="cuda")).regions
    assert [b.name for b in region.region.buffers] == ["first", "x", "y"]
    assert len(region.region.kernels) == 1


def test_what_is_counted_depends_on_data(tmp_path: Path) -> None:
    compilation = compile_file(str(made(tmp_path, SUMS)), Options(target="emulator"))
    (region,) = compilation.regions
    found = predict(region.region, compilation.device, {"n": 100, "m": 500})
    (kernel,) = region.region.kernels
    assert found.inexact == found.turning == (kernel.name,)
    assert not is_oblivious(lockstep(kernel, True))


SERIAL = """
float f(int n, int t, const float x[restrict n], float y[restrict n])
{
    float s = 0;
    %s
    for (int k = 0; k < t; k++) {
        float error = s;
        while (error > 1) {
            for (int i = 0; i < n; i++)
                %s;
            error = 0.5f * error;
        }
        s += error;
    }
    %s
    return s;
}
"""


def test_a_loop_in_no_parallel_one_stays_on_the_host(tmp_path: Path) -> None:
    made(tmp_path, SERIAL % ("", "error += x[i]", ""))
    said = compile_file(str(tmp_path / "in.c"), Options(target="cuda")).diagnostics
    assert "PG172" in [note.id for d in said for note in d.notes]


def test_a_parallel_loop_in_it_is_a_region(tmp_path: Path) -> None:
    made(tmp_path, SERIAL % ("", "y[i] += x[i]", ""))
    regions = compile_file(str(tmp_path / "in.c"), Options(target="cuda", offload="always")).regions
    assert [s.text for r in regions for s in r.scop.statements] == ["y[i] += x[i];"]


def test_a_marked_one_is_refused(tmp_path: Path) -> None:
    made(tmp_path, SERIAL % ("#pragma scop", "error += x[i]", "#pragma endscop"))
    with pytest.raises(Diagnosed) as caught:
        compile_file(str(tmp_path / "in.c"), Options(target="cuda"))
    assert [d.id for d in caught.value.diagnostics] == ["PG172"]


ROWS = """
void f(int n, int m, const float %s, int *restrict c)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        int j = 0;
        while (j < m && a%s > 0)
            j++;
        c[i] = j;
    }
#pragma endscop
}
"""


def test_rows_that_are_known_are_copied(tmp_path: Path) -> None:
    made(tmp_path, ROWS % ("(*restrict a)[m]", "[i][j]"))
    (region,) = compile_file(str(tmp_path / "in.c"), Options(target="cuda")).regions
    assert certify(region).holds


IN_A_ROW = """
void f(int n, int m, unsigned p[restrict n][m], unsigned t[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        p[i][0] = p[i][t[i] & 7] * 3u;
    for (int i = 0; i < n; i++)
        t[i] = p[0][t[i] & 7] & 63;
#pragma endscop
}
"""


def test_rows_that_are_known_are_apart(tmp_path: Path) -> None:
    made(tmp_path, IN_A_ROW)
    (region,) = compile_file(str(tmp_path / "in.c"), Options(target="cuda")).regions
    assert [len(grid.axes) for grid in region.grids] == [1, 1]
    assert certify(region).holds


def test_elements_of_an_unknown_number_are_refused(tmp_path: Path) -> None:
    """They may be in the memory that the region stores to."""
    made(tmp_path, ROWS.replace("int *restrict c", "float *c") % ("*a", "[j]"))
    with pytest.raises(Diagnosed) as caught:
        compile_file(str(tmp_path / "in.c"), Options(target="cuda"))
    assert [d.id for d in caught.value.diagnostics] == ["PG301"]


def test_the_order_of_actions_in_a_loop() -> None:
    test, first, second, behind = (1,), (1, 2, 0), (1, 2, 1), (2,)
    assert precedes(second, first)
    assert precedes(first, second)
    assert precedes(second, test)
    assert precedes(second, behind)
    assert not precedes(behind, second)
    assert not again((1, 0, 0), (1, 0, 1))
    assert precedes((1, 2, 0, 1, 0), (1, 2, 0, 0, 0))  # branches of a test that is made again
    assert not precedes((1, 1, 0), (1, 0, 0))
