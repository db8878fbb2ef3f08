"""Structures that are given as lists of values."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.frontend_text import bodies, errors, region

TYPES = """typedef struct { float re, im; } cplx;
typedef struct { cplx a; int k[2]; } rec;"""


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("a[i] = (cplx){0, 1};", ["a[i].re = 0;", "a[i].im = 1;"]),
        ("a[i] = (cplx){.im = i};", ["a[i].re = 0;", "a[i].im = i;"]),
        ("a[i] = (cplx){a[i].re, a[i].im};", ["a[i].re = a[i].re;", "a[i].im = a[i].im;"]),
        ("cplx t = {a[i].im, a[i].re}; a[i] = t;",
         ["t.re = a[i].im;", "t.im = a[i].re;", "a[i].re = t.re;", "a[i].im = t.im;"]),
        ("r[i] = (rec){{1, 2}, .k = {i}};",
         ["r[i].a.re = 1;", "r[i].a.im = 2;", "r[i].k[0] = i;", "r[i].k[1] = 0;"]),
    ],
)  # fmt: skip
def test_lists(statement: str, expected: list[str], tmp_path: Path) -> None:
    loop = f"for (int i = 0; i < n; i++) {{ {statement} }}"
    assert bodies(region(tmp_path, "int n, cplx *a, rec *r", loop, TYPES)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("(cplx){2 * x[i], i}.re", "x[i] = (2 * x[i]);"),
        ("(cplx){2 * x[i], i}.im", "x[i] = (float)i;"),
        ("((cplx){.im = x[i]}).re", "x[i] = (float)0;"),
        ("(rec){{1, x[i]}, .k = {i}}.a.im", "x[i] = x[i];"),
        ("(cplx){((cplx){1, x[i]}).im, 3}.re + 1", "x[i] = (x[i] + 1);"),
    ],
)
def test_a_member_of_a_list_is_its_value(value: str, expected: str, tmp_path: Path) -> None:
    loop = f"for (int i = 0; i < n; i++) x[i] = {value};"
    assert bodies(region(tmp_path, "int n, float *x", loop, TYPES)) == [expected]


def test_a_list_that_changes_a_variable_is_no_value(tmp_path: Path) -> None:
    loop = (
        "#pragma scop\nfor (int i = 0; i < n; i++) { int k = i; x[k] = (cplx){k++, 1}.im; }\n#pragma endscop"
    )
    (error,) = errors(tmp_path, f"{TYPES} void f(int n, float *x) {{\n{loop}\n}}")
    assert error.id == "PG152"


@pytest.mark.parametrize(
    "statement",
    [
        "a[i] = (cplx){a[i].im, a[i].re};",  # the second value is that before the first store
        "r[i] = (rec){1, 2, 3, 4};",
        "a[i] = (cplx){1, 2, 3};",
    ],
)
def test_lists_that_are_refused(statement: str, tmp_path: Path) -> None:
    loop = f"#pragma scop\nfor (int i = 0; i < n; i++) {{ {statement} }}\n#pragma endscop"
    (error,) = errors(tmp_path, f"{TYPES} void f(int n, cplx *a, rec *r) {{\n{loop}\n}}")
    assert error.id == "PG152"
