"""Statements: what is stored, what is read, what stays within one statement, and the user's functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.model.expr import Binary, Call, Cast, Name, Reference
from polygpu.model.scop import Store
from tests.unit.frontend_text import access_text, bodies, domain, errors, only_scop, region


def body(
    directory: Path, text: str, parameters: str = "float *a, float *b, int *k, float s", head: str = ""
) -> list[str]:
    scop = region(directory, parameters, f"for (int i = 0; i < 9; i++) {{ {text} }}", head)
    return bodies(scop)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[i] += b[i] - 1;", ["a[i] = (a[i] + (b[i] - 1));"]),
        ("a[i] /= 2;", ["a[i] = (a[i] / 2);"]),
        ("k[i] <<= 1; k[i] ^= ~k[i];", ["k[i] = (k[i] << 1);", "k[i] = (k[i] ^ (~k[i]));"]),
        ("a[i]++; --k[i];", ["a[i] = (a[i] + 1);", "k[i] = (k[i] - 1);"]),
        ("a[i] = b[i] = s;", ["b[i] = s;", "a[i] = b[i];"]),
        ("a[i] = b[i] += s;", ["b[i] = (b[i] + s);", "a[i] = b[i];"]),
        ("a[i] = 1, b[i] = 2;", ["a[i] = 1;", "b[i] = 2;"]),
        ("{ ; } (void)s; a[i] = (s);", ["a[i] = s;"]),
        ("a[i] = 'x' + '\\n' + 0x10 + 010;", ["a[i] = (((120 + 10) + 16) + 8);"]),
        ("a[i] = 7u + 3L + 1.5f + 2e3;", ["a[i] = (((7u + 3l) + 1.5f) + 2e3);"]),
        ("a[i] = b[i] > 0 ? b[i] : -b[i];", ["a[i] = ((b[i] > 0) ? b[i] : (-b[i]));"]),
        ("a[i] = sizeof(double);", ["a[i] = (unsigned long)8;"]),
        ("a[i] = true && !k[i];", ["a[i] = (1 && (!k[i]));"]),
    ],
)  # fmt: skip
def test_expression_statements(text: str, expected: list[str], tmp_path: Path) -> None:
    assert body(tmp_path, text) == expected


def test_a_data_dependent_if_is_one_statement(tmp_path: Path) -> None:
    text = """
        if (a[i] > s) {
            float t = a[i] * 2;
            int twice = 2 * i;
            if (i > 3) { t += 1; k[i] = twice; }
            b[i] = t;
        } else if (k[i])
            b[i] = 0;"""
    assert body(tmp_path, text) == [
        "if (a[i] > s) { float t = (a[i] * 2); if (i > 3) { t = (t + 1); k[i] = (2 * i); } b[i] = t; }"
        " else { if k[i] { b[i] = 0; } }"
    ]


def test_accesses_know_what_surely_happens(tmp_path: Path) -> None:
    scop = region(
        tmp_path,
        "float *a, float *b, int *k",
        "for (int i = 0; i < 9; i++)"
        " { if (a[i] > 0 && b[i] > 1) b[i] = a[i + 1]; a[i] = k[i] ? b[i] : b[k[i]]; }",
    )
    assert [[access_text(a) for a in s.accesses] for s in scop.statements] == [
        ["R must a[i]", "R may b[i]", "R may a[(i + 1)]", "W may b[i]"],
        ["R must k[i]", "R may b[i]", "R may k[i]", "R may b[k[i]] data", "W must a[i]"],
    ]


def test_sites_number_the_accesses_of_the_source(tmp_path: Path) -> None:
    scop = only_scop(
        tmp_path,
        "#define AT(i, j) A[(i)][(j)]\n"
        "void f(int n, float A[n][n])\n"
        "{\n"
        "#pragma scop\n"
        "    for (int i = 1; i < n; i++)\n"
        "        AT(i, 0) += /* left */ A[i - 1] [0] * AT(i, 1);\n"
        "#pragma endscop\n"
        "}\n",
    )
    (statement,) = scop.statements
    places = {a.reference.site: (a.position.line, a.position.column, a.write) for a in statement.accesses}
    assert places == {0: (6, 9, True), 1: (6, 9, False), 2: (6, 32, False), 3: (6, 47, False)}
    assert statement.text == "AT(i, 0) += /* left */ A[i - 1] [0] * AT(i, 1);"
    assert [a.text for a in statement.accesses] == ["A[i][0]", "A[i - 1][0]", "A[i][1]", "A[i][0]"]


def test_split_statements_share_their_sites(tmp_path: Path) -> None:
    scop = region(tmp_path, "float *a", "for (int i = 0; i < 9; i++) a[i] = i > 0 ? a[i - 1] : a[0];")
    first, second = scop.statements
    assert domain(first)[2:] == ["(i > 0)"]
    assert domain(second)[2:] == ["(i <= 0)"]
    writes = [a.reference.site for s in scop.statements for a in s.accesses if a.write]
    assert writes == [0, 0]


def test_types_of_iterators(tmp_path: Path) -> None:
    scop = region(tmp_path, "double *a", "for (unsigned long i = 0; i < 9; i++) a[i] = i * 0.5;")
    (store,) = scop.statements[0].body
    assert isinstance(store, Store)
    assert store.target.subscripts == (Name("i"),)
    assert isinstance(store.value, Binary)
    assert store.value.left == Cast("unsigned long", Name("i"))


def test_library_functions_get_arguments_of_their_type(tmp_path: Path) -> None:
    """In C++ `sqrt` of a float would be another function."""
    head = "#include <math.h>"
    assert body(tmp_path, "a[i] = sqrt(a[i]) + sqrtf(s) + pow(2, i);", head=head) == [
        "a[i] = ((sqrt((double)a[i]) + sqrtf(s)) + pow((double)2, (double)i));"
    ]
    assert body(tmp_path, "a[i] = fmaxf(s, 1.0) + abs(k[i]);", head=head) == [
        "a[i] = (fmaxf(s, (float)1.0) + abs(k[i]));"
    ]


def test_macros_of_the_mathematical_header(tmp_path: Path) -> None:
    found = body(
        tmp_path, "a[i] = isnan(b[i]) ? INFINITY : M_PI;", head="#define _GNU_SOURCE\n#include <math.h>"
    )
    assert found == ["a[i] = (isnan(b[i]) ? INFINITY : 3.14159265358979323846);"]


def test_user_functions(tmp_path: Path) -> None:
    scop = region(
        tmp_path,
        "float *a, int *k",
        "for (int i = 0; i < 9; i++)"
        " { a[i] = magnitude(a[i]) + clamp(a[i], 0, TOP); k[i] = largest(k[i], i); }",
        """
#include <math.h>
typedef float real;
enum { TOP = 12 };
#define SQUARE(x) ((x) * (x))
static inline real half(real x) { return x / 2; }
static real magnitude(real x)
{ register int steps = TOP; while (steps-- > 0) x = half(SQUARE(x)); return sqrt(x); }
static float clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
static int largest(int a, int b) { return a > b ? a : b; }
""",
    )
    assert bodies(scop) == [
        "a[i] = (magnitude(a[i]) + user_clamp(a[i], 0, 12));",
        "k[i] = max(k[i], i);",
    ]
    assert [text.split("(")[0] for text in scop.functions] == [
        "float half",
        "float magnitude",
        "float user_clamp",
    ]
    assert scop.functions[1] == (
        "float magnitude(float x)\n{\n  int steps = 12;\n  while (steps-- > 0)\n    x = half(x * x);\n\n"
        "  return sqrt((double) (x));\n}\n"
    )


def test_an_integer_function_can_bound_a_loop(tmp_path: Path) -> None:
    scop = region(
        tmp_path,
        "int n, float *a",
        "for (int i = 0; i < rounded(n); i++) a[i + rounded(i)] = rounded(3);",
        "static int rounded(int x) { return (x + 3) / 4 * 4; }",
    )
    assert domain(scop.statements[0]) == ["(i >= 0)", "(i < (((n + 3) / 4) * 4))"]
    assert bodies(scop) == ["a[(i + (((i + 3) / 4) * 4))] = rounded(3);"]


@pytest.mark.parametrize(
    "definition",
    [
        "static float g(float x) { static int n; n++; return x; }",
        "static float g(float x) { volatile float y = x; return y; }",
        "static float h(float);\nstatic float g(float x) { return h(x); }\n"
        "static float h(float x) { return g(x); }",
        "#include <stdlib.h>\nstatic float g(float x) { return x + rand(); }",
        "static float g(float x) { again: x = x / 2; if (x > 1) goto again; return x; }",
        "static float g(float x) { for (int i = 0; i < 9; i++) if (i > x) return *(&x); return x; }",
        "static long double g(float x) { return x; }",
        "static float g(float x, ...) { return x; }",
    ],
)
def test_functions_that_are_neither_pure_nor_written_out(definition: str, tmp_path: Path) -> None:
    loop = "#pragma scop\nfor (int i = 0; i < 9; i++) a[i] = g(a[i]);\n#pragma endscop"
    text = f"{definition}\nvoid f(float *a)\n{{\n{loop}\n}}\n"
    assert [e.id for e in errors(tmp_path, text)] == ["PG130"]


@pytest.mark.parametrize(
    ("head", "text", "expected"),
    [
        ("", "for (int j = max(0, i - n); j < min(i, n); j++) a[j] = 0;", ["(j >= max(0, (i - n)))"]),
        (
            "int imin(int, int);",
            "for (int j = 0; j < imin(i, 2 * n); j++) a[j] = 0;",
            ["(j < min(i, (2 * n)))"],
        ),
        (
            "int ceild(int a, int b);",
            "for (int j = ceild(i, 4); j < n; j++) a[j] = 0;",
            ["(j >= floord((i + 3), 4))"],
        ),
        ("long max(long, long);", "k[i] = max(k[i], 3);", []),
    ],
)  # fmt: skip
def test_well_known_functions_of_other_files(
    head: str, text: str, expected: list[str], tmp_path: Path
) -> None:
    scop = region(tmp_path, "int n, float *a, int *k", f"for (int i = 0; i < n; i++) {{ {text} }}", head)
    assert set(expected) <= set(domain(scop.statements[0]))


@pytest.mark.parametrize(
    ("head", "text"),
    [
        ("", "a[i] = max(a[i], 1);"),
        ("float max(float, float);", "a[i] = max(a[i], 1);"),
        ("int max(int, float);", "k[i] = max(k[i], 1);"),
        ("int floord(int, int);", "k[i] = floord(i, k[i]);"),
        ("", "k[i] = min(i);"),
    ],
)
def test_functions_of_other_files(head: str, text: str, tmp_path: Path) -> None:
    loop = f"#pragma scop\nfor (int i = 0; i < 9; i++) {{ {text} }}\n#pragma endscop"
    found = errors(tmp_path, f"{head}\nvoid f(float *a, int *k)\n{{\n{loop}\n}}\n")
    assert [e.id for e in found] == ["PG130"]


def test_integer_extremes_are_one_call(tmp_path: Path) -> None:
    scop = region(
        tmp_path,
        "int *k",
        "for (int i = 0; i < 9; i++) k[i] = smaller(k[i], k[i + 1]);",
        "static int smaller(int a, int b) { if (a < b) return a; return b; }",
    )
    (store,) = scop.statements[0].body
    assert isinstance(store, Store)
    assert isinstance(store.value, Call)
    assert (store.value.function, store.value.type) == ("min", "int")
    assert all(isinstance(argument, Reference) for argument in store.value.arguments)
    assert scop.functions == ()
