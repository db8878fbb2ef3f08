"""Programs whose arrays the host measures, built and run: results, and what crosses the bus."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import programs
from polygpu.printing import host, measured
from tests.test_resident_programs import GPU, built, output, profile, require

TARGETS = ["emulator", pytest.param("opencl", marks=pytest.mark.slow), GPU]
KERNELS = """\
#include <stdio.h>
#include <string.h>
struct matrix { int n; int *row, *column; float *value; };
struct cell { float a; int next; };
static char pool[1 << 18];
static size_t used;
static void *room(size_t bytes)
{
    void *p = pool + used;
    used += (bytes + 15) / 16 * 16;
    return p;
}
static void show(const char *name, int n, const float *y)
{
    printf("%s", name);
    for (int i = 0; i < n; i++) printf(" %g", y[i]);
    puts("");
}
void sparse(const struct matrix *m, const float *x, float *y)
{
    const int *row = m->row;
#pragma scop
    for (int i = 0; i < m->n; i++) {
        float s = 0;
        for (int k = row[i]; k < row[i + 1]; k++)
            s += m->value[k] * x[m->column[k]];
        y[i] = s;
    }
#pragma endscop
}
void neighbours(int n, const int *next, const float *area, const float *u, float *flux)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        float f = 0;
        for (int j = 0; j < 4; j++) {
            int nb = next[i + j * n];
            if (nb >= 0)
                f += area[i + j * n] * u[nb];
            else if (nb == -1)
                f += 0.5f * u[i];
        }
        flux[i] = f;
    }
#pragma endscop
}
void ragged(int n, const int *length, const int *start, const float *v, float *r)
{
#pragma scop
    for (int i = n - 1; i >= 0; i--) {
        r[i] = 0;
        for (int k = 0; k < length[i]; k++)
            r[i] += v[start[i] + k];
    }
#pragma endscop
}
void cells(int n, const unsigned short *kind, const struct cell *c, const float (*p)[3], float *r)
{
#pragma scop
    for (int i = 0; i < n; i++)
        r[i] = c[kind[i]].a * p[c[kind[i]].next][i % 3];
#pragma endscop
}
void chains(int n, const int *head, const int *next, const float *w, float *r)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int k = head[i]; k >= 0; k = next[k])
            s += w[k];
        r[i] = s;
    }
#pragma endscop
}
void rows(int n, const int *which, const float *a, float *r)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        r[i] = 0;
        for (int j = 0; j < n - 10; j++)
            r[i] += a[which[i] * n + j];
    }
#pragma endscop
}
void take(int n, const long *from, const int *by, const int *table, int *r)
{
#pragma scop
    for (int i = 0; i < n; i++)
        if (by[i] > 0)
            r[i] = table[from[i] / by[i]];
#pragma endscop
}
"""
MAIN = """\
int main(void)
{
    enum { N = 70 };
    int row[N + 1] = {0}, length[N], next[4 * N], by[N], taken[N];
    long from[N];
    unsigned short kind[N];
    float x[N + 1], y[N];
    int *column = room(4 * N * sizeof *column), *table = room(N * sizeof *table);
    float *value = room(4 * N * sizeof *value), (*p)[3] = room(7 * sizeof *p);
    float *wide = room((4 * N + 60) * sizeof *wide);
    struct cell *c = room(11 * sizeof *c);
    for (int i = 0; i < N; i++) {
        length[i] = i * 7 % 5;
        row[i + 1] = row[i] + length[i];
        x[i] = i % 9 + 1, x[N] = 5;
        kind[i] = i % 11;
        by[i] = i % 5 - 1;
        from[i] = 3 * i;
        table[i] = 100 + i;
        taken[i] = -i;
    }
    for (int k = 0; k < 4 * N; k++) {
        column[k] = k * 13 % N;
        value[k] = k % 8;
        wide[k] = k % 6, wide[k % 60 + 4 * N] = 3;
        next[k] = k % 13 == 0 ? -1 : k % 17 == 3 ? -2 : k * 5 % N;
    }
    for (int k = 0; k < 11; k++) c[k].a = k, c[k].next = k % 7;
    for (int k = 0; k < 7; k++) p[k][0] = k, p[k][1] = 2 * k, p[k][2] = 3 * k;
    struct matrix m = {N, row, column, value};
    sparse(&m, x, y), show("sparse", N, y);
    neighbours(N, next, value, x, y), show("neighbours", N, y);
    ragged(N, length, row, value, y), show("ragged", N, y);
    cells(N, kind, c, (const float (*)[3])p, y), show("cells", N, y);
    for (int k = 0; k < 4 * N; k++) next[k] = k % 7 ? k / 2 - 1 : -1;
    chains(N, table, next, value, y), show("chains", N, y);
    rows(N, length, wide, y), show("rows", N, y);
    take(N, from, by, table, taken);
    for (int i = 0; i < N; i++) printf("%d\\n", taken[i]);
OTHER
    return 0;
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_arrays_are_copied_up_to_the_last_element_that_is_read(tmp_path: Path, target: str) -> None:
    """Of 70 rows with 0, 2, 4, 1 or 3 elements each: row pointers, 140 columns and values, all of x."""
    require(target)
    original, compiled = built(tmp_path, target, KERNELS + MAIN.replace("OTHER", ""))
    assert output(compiled) == output(original)
    regions = {r["name"]: r for r in profile(compiled)["regions"]}
    assert {name: r["calls"] for name, r in regions.items()} == {
        f"polygpu_{name}_0": 1
        for name in ("sparse", "neighbours", "ragged", "cells", "chains", "rows", "take")
    }
    assert regions["polygpu_sparse_0"]["bytes_in"] == 4 * (71 + 140 + 140 + 70)
    assert regions["polygpu_cells_0"]["bytes_in"] == 70 * 2 + 11 * 8 + 7 * 3 * 4
    assert regions["polygpu_rows_0"]["bytes_in"] == 70 * 4 + (4 * 70 + 60) * 4


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        ("column[9] = -1; sparse(&m, x + 1, y);", "a subscript of 'x' is below 0"),
        ("row[70] = 0, row[0] = -1, sparse(&m, x, y);", "a subscript of 'm->value' is below 0"),
        ("sparse(&m, y, y);", "'x' and 'y' overlap"),
        ("take(N, from, by, taken, taken);", "'r' and 'table' overlap"),
        ("take(N, from, taken, table, taken);", "'by' and 'r' overlap"),
    ],
)
def test_the_loop_runs_on_the_host_otherwise(tmp_path: Path, statements: str, why: str) -> None:
    """What a subscript is made of may be stored to where arrays overlap: then nothing is measured by it."""
    text = KERNELS + MAIN.replace("OTHER", f'{statements} show("y", N, y);')
    original, compiled = built(tmp_path, "emulator", text.replace("= room(4 * N", "= 4 + room(4 * N"))
    assert output(compiled) == output(original)
    assert why in programs.call((compiled,)).stderr


STEPS = """\
#include <stdio.h>
static char pool[1 << 14];
static void *room(int at) { return pool + at; }
static void move(int n, int *place)
{
    for (int i = 0; i < n; i++)
        place[i] = (place[i] * 5 + i + 3) & 511;
}
static void take(int n, const int *place, const float *from, float *to)
{
    for (int i = 0; i < n; i++)
        to[i] += from[place[i]];
}
int main(void)
{
    int n = 300, *place = room(0);
    float *from = room(4096), *to = room(8192);
    for (int i = 0; i < 512; i++) {
        from[i] = i;
        if (i == 7) printf("%g\\n", from[i]);
    }
BEFORE
    for (int t = 0; t < 8; t++) {
        move(n, place);
        take(n, place, from, to);
    }
AFTER
    for (int i = 0; i < n; i++) printf("%g\\n", to[i]);
    return 0;
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_the_host_reads_subscripts_that_the_device_has_stored(tmp_path: Path, target: str) -> None:
    require(target)
    text = STEPS.replace("BEFORE", "").replace("AFTER", "")
    original, compiled = built(tmp_path, target, text)
    assert output(compiled) == output(original)
    found = profile(compiled)
    assert {r["name"].rpartition("_")[0]: r["calls"] for r in found["regions"] if r["calls"] > 1} == {
        "polygpu_file0_move": 8,
        "polygpu_file0_take": 8,
    }
    because = "subscripts tell how much of an array is read"
    assert {c["array"] for c in found["copies"] if c["because"] == because} == {"place"}


SOLVER = """\
static void grow(int n, const float *y, float *x)
{
    for (int i = 0; i < n; i++)
        x[i] += 0.01f * y[i];
}
int main(void)
{
    int *row = room(256), *column = room(1024);
    float *value = room(1024), *x = room(256), *y = room(256);
    struct matrix m = {40, row, column, value};
    row[0] = 0;
    for (int i = 0; i < 40; i++) {
        row[i + 1] = row[i] + 1 + i % 5;
        x[i] = i % 9 + 1;
        if (i == 7) printf("%d\\n", row[i]);
    }
    for (int k = 0; k < 160; k++) column[k] = k * 13 % 31, value[k] = k % 8;
    for (int t = 0; t < 10; t++) {
        if (t == 5) column[77] = 39;
        sparse(&m, x, y);
        grow(40, y, x);
    }
    show("x", 40, x);
    return 0;
}
"""
COUNTED = """\
#include <stdio.h>
static int reached;
__attribute__((destructor)) static void tell(void) { fprintf(stderr, "reached %d\\n", reached); }
"""


def test_the_host_measures_again_what_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first call, and at the second, when arrays are on the device: by both ends of 40 rows of two
    arrays, and by 120 columns; twice again as the host has changed one through a pointer.
    """
    counting = measured.HELPERS.replace("{\n", "{\n    ++reached;\n", 1)
    monkeypatch.setattr(host, "HELPERS", COUNTED + counting)
    text = KERNELS.replace("#pragma scop\n", "").replace("#pragma endscop\n", "") + SOLVER
    original, compiled = built(tmp_path, "emulator", text)
    assert output(compiled) == output(original)
    calls = {r["name"]: r["calls"] for r in profile(compiled)["regions"]}
    assert calls["polygpu_sparse_0"] == calls["polygpu_file0_grow_0"] == 10
    assert programs.call((compiled,)).stderr == f"reached {4 * (4 * 40 + 120)}\n"


def test_what_pragmas_map_is_not_measured_on_the_host(tmp_path: Path) -> None:
    """The device would read the subscripts that it has there, the host others."""
    text = STEPS.replace("BEFORE", "#pragma omp target enter data map(to: place[0:n])")
    text = text.replace("AFTER", "#pragma omp target exit data map(delete: place)")
    text = text.replace(
        "    for (int i = 0; i < n; i++)\n        to",
        "#pragma omp target parallel for\n    for (int i = 0; i < n; i++)\n        to",
    )
    text = text.replace(
        "    for (int i = 0; i < n; i++)\n        place",
        "#pragma omp target parallel for\n    for (int i = 0; i < n; i++)\n        place",
    )
    original, compiled = built(tmp_path, "emulator", text)
    assert output(compiled) == output(original)
    assert "a pragma maps what tells how much of an array is read" in programs.call((compiled,)).stderr
