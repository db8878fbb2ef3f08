"""Rows behind pointers: read as arrays of two or three dimensions, packed by the host around the call."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.pipeline import compile_file
from tests.unit.frontend_text import bodies, errors, extents, region

TYPES = """
typedef struct { int n, m; double **row; double *few[4]; } matrix;
typedef struct { float x, y; } point;
"""


@pytest.mark.parametrize(
    ("parameters", "place", "array", "element"),
    [
        ("float **a", "a[i][j]", "a", "a[i][j]"),
        ("float **a", "(*(a + i))[j]", "a", "a[i][j]"),
        ("float **a", "*(*(a + i) + j)", "a", "a[i][j]"),
        ("float *a[]", "a[i][j]", "a", "a[i][j]"),
        ("float *const *a", "a[i + 1][j]", "a", "a[(i + 1)][j]"),
        ("double ***a", "a[i][j][i]", "a", "a[i][j][i]"),
        ("point **a", "a[i][j].y", "a", "a[i][j].y"),
        ("point **a", "a[i]->y", "a", "a[i][0].y"),
        ("matrix *m", "m->row[i][j]", "m_row", "m_row[i][j]"),
        ("matrix m", "m.row[i][j]", "m_row", "m_row[i][j]"),
        ("matrix *m", "m->few[i][j]", "m_few", "m_few[i][j]"),
    ],
)
def test_places(parameters: str, place: str, array: str, element: str, tmp_path: Path) -> None:
    body = f"for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {place} = 1;"
    scop = region(tmp_path, f"int n, {parameters}", body, TYPES)
    assert bodies(scop)[0].startswith(f"{element} =")
    found = next(a for a in scop.arrays if a.name == array)
    assert (found.pointers, found.storage) == (len(found.extents) - 1, "parameter")
    assert set(extents(scop)[array]) == {None}


def test_a_pointer_to_a_row_is_followed(tmp_path: Path) -> None:
    body = "for (int i = 0; i < n; i++) { float *r = a[i]; for (int j = 0; j < n; j++) *r++ = j; }"
    assert bodies(region(tmp_path, "int n, float **a", body))[0].startswith("a[i][j] =")


def test_a_row_that_stands_still_is_one_of_the_table_where_others_move(tmp_path: Path) -> None:
    body = "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) m->row[i][j] -= m->row[0][j];"
    scop = region(tmp_path, "int n, matrix *m", body, TYPES)
    assert [a.name for a in scop.arrays] == ["m_row"]


@pytest.mark.parametrize(
    ("parameters", "statement", "reason"),
    [
        ("float **a, float *b", "a[i] = b;", "is a pointer in memory"),
        ("float *(*a)[4]", "a[i][0][1] = 1;", "its rows lie anywhere in memory"),
    ],
)
def test_refusals(parameters: str, statement: str, reason: str, tmp_path: Path) -> None:
    loop = f"#pragma scop\nfor (int i = 0; i < n; i++) {statement}\n#pragma endscop\n"
    found = errors(tmp_path, f"void f(int n, {parameters}) {{\n{loop}}}")
    assert any(reason in d.message for d in found)


def host(tmp_path: Path, source: str) -> str:
    path = tmp_path / "t.c"
    path.write_text(source)
    return compile_file(str(path), Options(target="emulator", offload="always")).files["_host.c"]


def test_the_host_copies_what_the_region_touches_of_each_row(tmp_path: Path) -> None:
    text = host(
        tmp_path,
        "void f(int n, double **u, double **v) {\n"
        "for (int i = 1; i < n; i++) for (int j = 1; j <= i; j++) v[i][j] = u[i - 1][j]; }",
    )
    copies = [re.sub(r"\s+", " ", line) for line in text.splitlines() if "polygpu_copy_row(" in line]
    packed_v, packed_u, unpacked = (line for line in copies if "void *to" not in line)
    assert "v[polygpu_0] + (1), (polygpu_0) * (long long)sizeof(double)" in packed_v
    assert "u[polygpu_0] + (1), (polygpu_0 + 1) * (long long)sizeof(double)" in packed_u
    assert "(void *)(v[polygpu_0] + (1))" in unpacked


def test_rows_that_are_only_read_need_no_test(tmp_path: Path) -> None:
    text = host(
        tmp_path,
        "void f(int n, float **a) { float s[100]; \n"
        "for (int i = 0; i < 100; i++) s[i] = a[i][0] + a[0][i];\n"
        "float t = 0; for (int i = 0; i < n; i++) t += s[i]; a[0][0] = t; }",
    )
    assert "polygpu_listed_apart()" not in text


PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
void add(int n, int m, double **a, double **b, double **c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            c[i][j] = a[i][j] + b[i][j];
}
void lower(int n, double **l, double *y)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            y[i] += 2 * l[i][j];
}
void apart(int n, double **a)
{
    for (int i = 1; i < n; i++)
        if (a[0][i] > 1)
            a[i][i] = a[i + n + 1][0];
}
double **rows(int n, int m)
{
    double **a = malloc(n * sizeof *a);
    for (int i = n - 1; i >= 0; i--) {
        a[i] = malloc((m ? m : i + 1) * sizeof **a);
        for (int j = 0; j < (m ? m : i + 1); j++)
            a[i][j] = (i * 3 + j) % 7;
    }
    return a;
}
int main(void)
{
    double **a = rows(9, 5), **b = rows(9, 5), **c = rows(9, 5), **l = rows(8, 0), y[8] = {0}, s = 0;
    add(9, 5, a, b, c);
    lower(8, l, y);
    add(3, 2, a, a, a);
    c[4] = c[5];
    add(9, 5, a, b, c);
    lower(8, l, l[7]);
    l[3] = l[4] = 0;
    l[0] = l[6];
    apart(3, l);
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 5; j++)
            s += c[i][j] * (i + 2 * j);
    printf("%g %g %g %g %g %g\\n", s, y[0], y[4], y[7], l[2][2], l[7][3]);
    return 0;
}
"""


BAND = """
#include <stdio.h>
#include <stdlib.h>
void band(unsigned n, double **a)
{
#pragma scop
    for (int i = n - 1; i >= 0; i--)
        for (int j = 2; j < i; j++) {
            a[j - 1][j - 1] = 1;
            for (int k = 0; k < n - j && k < n - 1; k++)
                a[j - 1][j - 1] += a[j - k + n - 1][j] + a[n + 1 - i][n - 1 - k];
        }
#pragma endscop
}
int main(void)
{
    double *a[12];
    for (int i = 0; i < 12; i++) {
        a[i] = malloc(7 * sizeof **a);
        for (int j = 0; j < 7; j++)
            a[i][j] = (i * 3 + j) % 7;
    }
    band(0, a);
    band(7, a);
    printf("%g %g %g %g\\n", a[1][1], a[2][2], a[4][4], a[6][6]);
    return 0;
}
"""


def outputs(program: str, tmp_path: Path) -> list[subprocess.CompletedProcess[str]]:
    """What the original and what polygpu makes of it do."""
    path = tmp_path / "t.c"
    path.write_text(program)
    files = compile_file(str(path), Options(target="emulator", offload="always")).files
    for suffix, text in files.items():
        (tmp_path / f"t{suffix}").write_text(text)
    found = []
    for sources in (["t.c"], ["t_host.c", "t_emulator.c"]):
        command = [
            "cc",
            "-O1",
            "-fsanitize=address,undefined",
            "-DPOLYGPU_COUNTERS=0",
            *sources,
            "-lm",
            "-o",
            "t",
        ]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        found.append(
            subprocess.run([str(tmp_path / "t")], env=environment, capture_output=True, text=True, check=True)
        )
    return found


def test_a_program(tmp_path: Path) -> None:
    """Rows that are written where others are, or that another array is part of, are left to the loop."""
    original, made = outputs(PROGRAM, tmp_path)
    assert made.stdout == original.stdout
    assert made.stderr.count("rows of an array are not apart") == 2


def test_sizes_that_are_unsigned(tmp_path: Path) -> None:
    """A row's first element is computed of them as of integers with a sign."""
    original, made = outputs(BAND, tmp_path)
    assert (made.stdout, made.stderr) == (original.stdout, "")
