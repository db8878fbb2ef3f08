"""Variables that pointers may point into: the original loop runs where a store through one could matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.compilation import Compilation, Options
from polygpu.pipeline import compile_file
from polygpu.printing.calls import overlaps
from tests.unit.emulated import printed
from tests.unit.frontend_text import errors, only_scop

HEAD = """
#include <stdio.h>

struct cell { float v[4]; float w; };
float scale = 2;
int count = 8;
const float fixed = 3;
"""
MAIN = """
int main(void)
{
    float x[40], y[40], sum = 0;
    int n[40];
    for (int i = 0; i < 40; i++)
        x[i] = i % 7, y[i] = i % 5, n[i] = i;
    CALLS
    for (int i = 0; i < 40; i++)
        sum += (x[i] + 3 * y[i] + n[i]) * (i + 1);
    printf("%.9g %.9g %d\\n", sum, scale, count);
}
"""


def built(folder: Path, text: str, **options: object) -> Compilation:
    (folder / "program.c").write_text(text)
    done = compile_file(str(folder / "program.c"), Options(target="emulator", **options))  # type: ignore[arg-type]
    for suffix, content in done.files.items():
        (folder / f"program{suffix}").write_text(content)
    return done


def region(parameters: str, declarations: str, loop: str, after: str = "") -> str:
    pragmas = f"#pragma scop\n    {loop}\n#pragma endscop\n"
    return f"void region({parameters})\n{{\n    {declarations}\n{pragmas}    {after}\n}}\n"


LOCALS = [
    ("float a[50] = {1}, *p = a + 1;", "for (int i = 2; i < 40; i++) a[i] = p[i - 2] * 0.5f + 1;", "a[39]"),
    ("float a[50] = {1}, *p = &a[1];", "for (int i = 2; i < 40; i++) p[i] = a[i] * 0.5f + 1;", "p[39]"),
    (
        "float a[9][10] = {1}, *row = a[0] + 1;",
        "for (int i = 0; i < 8; i++) for (int j = 1; j < 10; j++) a[i][j] = row[10 * i + j - 2] + 1;",
        "a[7][9]",
    ),
    (
        "float a[100] = {1}, (*q)[10] = (float (*)[10])(a + 1);",
        "for (int i = 2; i < 40; i++) a[i] = q[0][i % 8] * 0.5f + 1;",
        "a[39]",
    ),
    ("float s = 1, *p = &s;", "for (int i = 0; i < 40; i++) s += p[0] * 0.5f;", "s"),
    ("struct cell c = {{1, 2, 3, 4}, 5}; float *p = c.v;", "for (int i = 0; i < 9; i++) c.w += p[4];", "c.w"),
    (
        "struct cell c[2] = {{{1}}}; float *p = c[1].v;",
        "for (int i = 0; i < 9; i++) c[1].v[0] += p[0];",
        "*p",
    ),
]


@pytest.mark.parametrize(("declarations", "loop", "result"), LOCALS)
def test_a_local_variable_and_a_pointer_into_it(
    declarations: str, loop: str, result: str, tmp_path: Path
) -> None:
    text = region("float *x", declarations, loop, f"x[0] = {result};")
    built(tmp_path, HEAD + text + MAIN.replace("CALLS", "region(x);"))
    original, _ = printed(tmp_path, "program.c")
    found, said = printed(tmp_path, "program_host.c", "program_emulator.c")
    assert found == original
    assert "overlap" in said


def test_a_local_structure_whose_array_is_read_through_a_pointer_later(tmp_path: Path) -> None:
    declarations = "struct cell c = {{1, 2, 3, 4}, 5}; float *p = c.v;"
    text = region("float *x", declarations, "for (int i = 0; i < 9; i++) c.v[1] += 2;", "x[0] = p[1];")
    built(tmp_path, HEAD + text + MAIN.replace("CALLS", "region(x);"))
    original, _ = printed(tmp_path, "program.c")
    assert printed(tmp_path, "program_host.c", "program_emulator.c") == (original, "")


SCALARS = [
    ("float *x, float *y", "", "for (int i = 0; i < 1; i++) { x[i] = 7; y[i] = scale; }", "(&scale, y)"),
    ("int *n, float *y", "", "for (int i = 0; i < count; i++) { n[i] = 3; y[i] = i; }", "(&count, y)"),
    ("unsigned *n, float *y", "", "for (int i = 0; i < count; i++) { n[i] = 3; y[i] = i; }", "(&count, y)"),
    ("char *n, float *y", "", "for (int i = 0; i < 4; i++) { n[i] = 0; y[i] = scale; }", "(&scale, y)"),
    ("float s, float *x", "float *p = &s;", "for (int i = 0; i < 9; i++) { *p = 3; x[i] = s; }", "(5, x)"),
    (
        "float *x",
        "float s = 4; float *p = &s;",
        "for (int i = 0; i < 1; i++) { p[i] = x[9]; x[i] = s; }",
        "(x)",
    ),
]


@pytest.mark.parametrize(("parameters", "declarations", "loop", "arguments"), SCALARS)
def test_a_scalar_that_a_store_through_a_pointer_changes(
    parameters: str, declarations: str, loop: str, arguments: str, tmp_path: Path
) -> None:
    text = region(parameters, declarations, loop)
    done = built(tmp_path, HEAD + text + MAIN.replace("CALLS", f"region{arguments};"))
    assert any("overlap" in reason for reason in overlaps(done.regions[0]))
    original, _ = printed(tmp_path, "program.c")
    found, said = printed(tmp_path, "program_host.c", "program_emulator.c")
    assert found == original
    assert "overlap" in said


def test_a_scalar_whose_value_is_assumed_may_change_too(tmp_path: Path) -> None:
    parameters, _, loop, arguments = SCALARS[1]
    text = HEAD + region(parameters, "", loop) + MAIN.replace("CALLS", f"region{arguments};")
    built(tmp_path, text, assume=("count=8",))
    original, _ = printed(tmp_path, "program.c")
    assert printed(tmp_path, "program_host.c", "program_emulator.c")[0] == original


RESTRICTED = [
    ("float *restrict x", "const float *y = x + 1;", "x[i] = y[i - 2] * 0.5f + 1;", "(x)"),
    ("float *x", "float *restrict p = x, *q = p + 1;", "p[i] = q[i - 2] * 0.5f + 1;", "(x)"),
    ("float *restrict x, float *y", "y = x + 1;", "x[i] = y[i - 2] * 0.5f + 1;", "(x, y)"),
]


@pytest.mark.parametrize(("parameters", "declarations", "assignment", "arguments"), RESTRICTED)
def test_a_pointer_made_from_a_restricted_one(
    parameters: str, declarations: str, assignment: str, arguments: str, tmp_path: Path
) -> None:
    text = region(parameters, declarations, f"for (int i = 2; i < 40; i++) {assignment}")
    built(tmp_path, HEAD + text + MAIN.replace("CALLS", f"region{arguments};"))
    original, _ = printed(tmp_path, "program.c")
    found, said = printed(tmp_path, "program_host.c", "program_emulator.c")
    assert found == original
    assert "overlap" in said


@pytest.mark.parametrize(
    ("parameters", "declarations", "assignment"),
    [
        ("float *restrict x, float *y", "", "x[i] = y[i];"),
        ("float *x, float *restrict y", "", "x[i] = y[i];"),
        ("float *x", "float *restrict p = x, *restrict q = x + 20;", "p[i] = q[i];"),
        ("float *x", "float a[20]; a[3] = x[3];", "x[i] = a[3];"),
        ("float *x", "struct cell c; c.v[3] = x[3];", "x[i] = c.v[3];"),
        ("float *x", "float s = x[3];", "x[i] = s;"),
        ("float *x", "", "x[i] = fixed;"),
        ("float *x", "", "x[i] = count;"),
        ("float *restrict x", "", "x[i] = scale;"),
        ("", "float a[20];", "a[i] = scale;"),
        ("const float *x", "static float a[20];", "a[i] = count;"),
    ],
)
def test_what_no_pointer_reaches_is_not_tested(
    parameters: str, declarations: str, assignment: str, tmp_path: Path
) -> None:
    text = region(parameters or "void", declarations, f"for (int i = 0; i < 20; i++) {assignment}")
    done = built(tmp_path, HEAD + text)
    assert overlaps(done.regions[0]) == ()
    assert "polygpu_disjoint" not in done.files["_host.c"]


def test_no_alias_drops_the_tests_of_scalars(tmp_path: Path) -> None:
    parameters, _, loop, _ = SCALARS[0]
    done = built(tmp_path, HEAD + region(parameters, "", loop), assume_no_alias=True)
    assert "polygpu_disjoint" not in done.files["_host.c"]


ROWS = """
int rows = 6;
const int fixed = 6;
void shrink(void);
static int half(int k) {{ return k / 2; }}
static void clear(float *x) {{ for (int rows = 0; rows < 9; rows++) x[rows] = half(rows); }}
static void count(void) {{ rows++; }}
static void twice(void (*what)(void)) {{ what(); what(); }}
static void again(void) {{ clear(0); count(); }}
void f({0})
{{
    {1};
#pragma scop
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            a[i][j] = i * 10 + j;
#pragma endscop
}}
"""
GLOBAL = "float a[rows][rows]"


@pytest.mark.parametrize(
    ("parameters", "before"),
    [
        (GLOBAL, "shrink()"),
        (GLOBAL, "count()"),
        (GLOBAL, "again()"),
        (GLOBAL, "twice(0)"),
        (GLOBAL, "void (*g)(void) = shrink; g()"),
        (GLOBAL, "(*&shrink)()"),
        ("void", "float (*a)[rows] = 0; shrink()"),
    ],
)
def test_a_row_size_that_a_called_function_may_change(parameters: str, before: str, tmp_path: Path) -> None:
    (error,) = errors(tmp_path, ROWS.format(parameters, before))
    assert error.id == "PG160"
    assert "'rows' may be changed by what the function calls" in error.message


@pytest.mark.parametrize(
    ("parameters", "before"),
    [
        (GLOBAL, "half(3)"),
        (GLOBAL, "clear(a[0])"),
        (GLOBAL, 'printf("%d", rows)'),
        ("float a[fixed][fixed]", "shrink()"),
        ("int n, float a[n][n]", "shrink()"),
        ("int rows, float a[rows][rows]", "shrink()"),
    ],
)
def test_a_row_size_that_no_called_function_changes(parameters: str, before: str, tmp_path: Path) -> None:
    assert only_scop(tmp_path, ROWS.format(parameters, before)).arrays
