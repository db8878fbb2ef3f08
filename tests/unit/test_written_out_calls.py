"""Calls of functions of the file that are no functions of numbers: their statements stand in their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.frontend_text import bodies, errors, lifted, only_scop

PARAMETERS = "int n, int m, float *a, float *b, int *k, float (*r)[8], struct P *p, float s"
HEAD = "struct P { float x; int c; }; struct Q { struct P p; float v[2]; }; float g;"


def called(function: str, text: str) -> str:
    loop = f"#pragma scop\nfor (int i = 0; i < n; i++) {{ {text} }}\n#pragma endscop"
    return f"{HEAD}\n{function}\nvoid caller({PARAMETERS})\n{{\n{loop}\n}}\n"


@pytest.mark.parametrize(
    ("function", "text", "expected"),
    [
        ("void f(float *x, float v) { *x += v; }", "f(&a[i], b[i]);", ["a[i] = (a[i] + b[i]);"]),
        ("void f(float *x, int v) { x[v] = v; }", "f(a + i, 2);", ["a[(i + 2)] = 2;"]),
        # arguments and results are converted
        ("void f(float *x, int v) { *x = v; }", "f(&a[i], s);", ["a[i] = (int)s;"]),
        ("int f(const float *x) { return x[1]; }", "a[i] = f(&b[i]) / 2;", ["a[i] = ((int)b[(i + 1)] / 2);"]),
        ("float f(float *x) { double t = *x; return t; }", "a[i] = f(b);", ["t = b[0];", "a[i] = (float)t;"]),
        # a name is another one where it is taken, in the caller or by another call
        (
            "void f(float *x) { float s = *x; x[1] = s; }",
            "f(&a[i]); f(&b[i]); a[i] = s;",
            ["s_2 = a[i];", "a[(i + 1)] = s_2;", "s_3 = b[i];", "b[(i + 1)] = s_3;", "a[i] = s;"],
        ),
        (
            "void h(float *a, float *b) { a[0] = b[0]; } void f(float *b, float *a) { h(a, b); }",
            "f(&a[i], &b[i]);",
            ["b[i] = a[i];"],
        ),
        # variables and members by their addresses
        ("void f(float *x) { *x += g; }", "float t = b[i]; f(&t); a[i] = t;", ["t = b[i];", "t = (t + g);"]),
        ("void f(struct P *q) { q->x = q->c; }", "f(&p[i]);", ["p[i].x = p[i].c;"]),
        ("void f(float *x) { x[0] = 1; }", "f(&p[2 * i].x);", ["p[(2 * i)].x = 1;"]),
        (
            "float h(float *x, int j) { return x[j]; } float f(float *x, int n) { return h(x, n - 1); }",
            "a[i] = f(b, n);",
            ["a[i] = b[(n - 1)];"],
        ),
        # several ends
        ("void f(float *x) { if (*x < 0) return; *x = 1; }", "f(&a[i]);", ["if (!(a[i] < 0)) { a[i] = 1; }"]),
        (
            "float f(const float *x, int i) { if (i < 1) return 2; return x[i]; }",
            "a[i] = f(b, i);",
            ["a[i] = (float)2;", "a[i] = b[i];"],
        ),
        # what is computed under a condition alone
        (
            "float f(const float *x) { float t = *x; return t * t; }",
            "a[i] = k[i] && f(&b[i]) > 1;",
            [
                "f_value = 0;",
                "if k[i] { float t = b[i]; f_value = (t * t); }",
                "a[i] = (k[i] && (f_value > 1));",
            ],
        ),
        (
            "float f(const float *x) { return x[1]; }",
            "a[i] = k[i] ? f(b + i) : 1;",
            ["a[i] = (k[i] ? b[(i + 1)] : 1);"],
        ),
        ("float *f(float *x, int j) { return x + j; }", "*f(a, i) = f(b, i)[1];", ["a[i] = b[(i + 1)];"]),
        (
            "float f(const float *x, int c) { static const float w[2] = {1, 2}; return x[0] * w[c]; }",
            "a[i] = f(&b[i], 1);",
            ["w[0] = 1;", "w[1] = 2;", "a[i] = (b[i] * w[1]);"],
        ),
        ("int f(float *x) { *x = 1; return 3; }", "f(&a[i]); if (f(&b[i])) k[i] = 1;", ["a[i] = 1;"]),
    ],
)  # fmt: skip
def test_statements_of_calls(function: str, text: str, expected: list[str], tmp_path: Path) -> None:
    found = bodies(only_scop(tmp_path, called(function, text)))
    assert found[: len(expected)] == expected


@pytest.mark.parametrize(
    ("function", "text", "reason"),
    [
        ("int h(float *x); int f(float *x) { return h(x); }", "k[i] = f(a);", "it calls 'h'"),
        ("int f(int c, ...) { return c; }", "k[i] = f(1, 2);", "a variable number of arguments"),
        ("int f(float *x, int (*h)(int)) { return h(1); }", "k[i] = f(a, 0);", "is a function"),
        ("int f(volatile float *x) { return *x; }", "k[i] = f(a);", "volatile"),
        ("int f(float *x) { again: if (*x > 1) goto again; return 1; }", "k[i] = f(a);", "with 'goto'"),
        ("int f(float *x) { struct T { int t; } v; v.t = *x; return v.t; }", "k[i] = f(a);", "a type"),
        (
            "float f(float *x) { float y = g; { float g = *x; y += g; } return y; }",
            "a[i] = f(b);",
            "two things",
        ),
        ("void f(float *x) {\n#pragma omp parallel\n{ *x += 1; } }", "f(&a[i]);", "threads of OpenMP"),
        ("void f(unsigned *c) { *c = *c / 2; }", "f((unsigned *)&k[i]);", "memory is read as another type"),
        ("void f(unsigned *c) { *c = *c / 2; }", "int t = k[i]; f(&t);", "address of an object"),
        ("float f(float *x) { return *x * g; }", "float g = 1; a[i] = f(b) + g;", "means something else"),
        ("int f(float *x) { x[1] = 2; return 1; }", "k[i] = f(a) + k[i];", "changes memory within"),
        ("int f(float *x) { x[1] = 2; return 1; }", "k[k[i]] = f(a);", "changes memory within"),
        ("int f(int *x) { *x = 2; return 1; }", "int t = 0; k[t] = f(&t);", "changes memory within"),
        (
            "struct P f(struct P *q) { struct P t = *q; t.c = 1; return t; }",
            "a[i] = k[i] ? f(p).x : 1;",
            "where a condition holds",
        ),
        ("void f(float *x, int j) { x[j] = 1; }", "f(a);", "takes 2 arguments, not 1"),
        (
            "int h(int c) { return c; } typedef int (*F)(int); int f(float *x, F h) { return h(*x); }",
            "k[i] = f(a, 0);",
            "through a pointer",
        ),
        (
            "typedef float *V; int f(V x) { V y = x; y[1] = 2; return 1; }",
            "k[i] = f(a) + k[i];",
            "changes memory within",
        ),
        ("int f(float *x) { *x = 1; return 1; }", "float t = f(&t);", "changes memory within"),
        ("void f(float *x); void h(float *x);", "f(&a[i]);", "not defined in this file"),
    ],
)  # fmt: skip
def test_calls_that_cannot_be_written_out(function: str, text: str, reason: str, tmp_path: Path) -> None:
    assert any(reason in e.message for e in errors(tmp_path, called(function, text)))


def test_rows_of_another_length_are_no_rows(tmp_path: Path) -> None:
    head = "void f(int n, int m, float a[n][m])\n"
    head += "{ for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] = 0; }\n"
    caller = "void g(int n, int m, float a[n][m])\n{\n#pragma scop\nf(%s);\n#pragma endscop\n}\n"
    assert bodies(only_scop(tmp_path, head + caller % "n, m, a")) == ["a[i][j] = 0;"]
    assert [e.id for e in errors(tmp_path, head + caller % "m, n, a")] == ["PG149"]


def test_loops_of_a_function_are_found_where_it_is_called(tmp_path: Path) -> None:
    found = lifted(
        tmp_path,
        "static void row(int m, float *r) { for (int j = 0; j < m; j++) r[j] *= 2; }\n"
        "void f(int n, int m, float *a) { for (int i = 0; i < n; i++) row(m, a + i * m); }\n",
    )
    assert [bodies(scop) for scop in found.scops] == [["r[j] = (r[j] * 2);"], ["a[i][j] = (a[i][j] * 2);"]]


def test_names_that_are_not_declared_yet(tmp_path: Path) -> None:
    text = """void f(float *x);
    void caller(int n, float *a) { for (int i = 0; i < n; i++) f(&a[i]); }
    float late;
    void f(float *x) { *x = late; }
    void other(int n, float *a) { for (int i = 0; i < n; i++) f(&a[i]); }
    """
    found = lifted(tmp_path, text)
    assert [scop.function for scop in found.scops] == ["other"]
    (refused,) = [d for d in found.diagnostics if d.id == "PG181"]
    assert "'late' is declared behind where it is called" in refused.notes[0].message


def test_pointers_to_functions_are_not_the_functions_they_hide(tmp_path: Path) -> None:
    text = """static void f(float *x) { *x = 1; }
    void caller(int n, float *a, void (*g)(float *)) {
        void (*f)(float *) = g;
        for (int i = 0; i < n; i++) f(&a[i]);
    }
    """
    assert [e.id for e in errors(tmp_path, text)] == ["PG100"]
