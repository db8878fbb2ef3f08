"""`switch` around regions: what its cases read is live, and what they declare is visible in later ones."""

from __future__ import annotations

from pathlib import Path

from polygpu.compilation import Options
from polygpu.pipeline import compile_file
from tests.unit.emulated import assert_same, compiled

PROGRAM = r"""
#include <stdio.h>

float array(const float *x, int k)
{
    float t[60];
    for (int i = 0; i < 60; i++)
        t[i] = x[i] * 2;
    switch (k) {
    case 0:
        return 0;
    case 1:
        return t[4] + 1;
    }
    return 7;
}

float scalar(const float *x, int k)
{
    float s = 0;
    for (int i = 0; i < 60; i++)
        s += x[i];
    switch (k) {
        while (k < 9) {
        case 0:
            s = 1;
            break;
        case 1:
            k = 20;
            s += 1;
        }
        return s;
    }
    return s;
}

void declared(float *x, int n, int k)
{
    int t = 7;
    switch (k) {
    case 0:
        n++;
        float t;
    case 1:
        t = 2.5f;
        for (int i = 0; i < n; i++)
            x[i] += t;
    }
}

int main(void)
{
    float x[60];
    for (int i = 0; i < 60; i++)
        x[i] = i;
    declared(x, 8, 1);
    for (int k = 0; k < 3; k++)
        printf("%.9g %.9g\n", array(x, k), scalar(x, k));
    for (int i = 0; i < 60; i++)
        printf("%.9g\n", x[i]);
}
"""


def test_results_are_the_originals(tmp_path: Path) -> None:
    done = compiled(tmp_path, PROGRAM)
    assert {r.scop.function for r in done.regions} >= {"array", "declared"}
    assert_same(tmp_path)


def test_an_iterator_that_a_later_case_reads(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text("""
int f(float *restrict x, int k)
{
    int i;
#pragma scop
    for (i = 0; i < 50; i++)
        x[i] = 0;
#pragma endscop
    switch (k) {
    case 0: i = 0; break;
    case 1: return i + 1;
    }
    return 7;
}
""")
    done = compile_file(str(tmp_path / "program.c"), Options(target="emulator"))
    assert "if (!polygpu_f_0((int *)&i, (float *)x)) {" in done.files["_host.c"]


def test_a_gather_leaves_other_nests_alone(tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text("""
void f(float *y, const float *x, int n)
{
    for (int i = 0; i < n; i++)
        y[i] += 1;
    for (int i = 0; i < n; i++)
        y[i] = x[(int)y[i]];
}
""")
    done = compile_file(str(tmp_path / "program.c"), Options(target="cuda"))
    (warning,) = (d for d in done.diagnostics if d.id == "PG181")
    assert warning.position is not None and warning.position.line == 6 and done.offloaded == 1
    assert warning.notes[0].id == "PG301"
