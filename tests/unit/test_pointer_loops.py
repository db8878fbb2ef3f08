"""Loops over pointers, loops that step in their bodies, and `do`: they have a counter of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.pipeline import compile_file
from tests.unit.frontend_text import bodies, domain, errors, region


@pytest.mark.parametrize(
    ("parameters", "loop", "last", "store"),
    [
        ("int n, int *a", "for (int *p = a; p < a + n; p++) *p = 1;", "(p_at < n)", "a[p_at]"),
        ("int n, int *a", "for (int *p = a; a + n != p; ++p) p[0] = 1;", "(p_at < n)", "a[p_at]"),
        ("int n, int *a", "for (int *p = a; p < a + n; p += 2) *p = 1;", "((2 * p_at) < n)", "a[(2 * p_at)]"),
        (
            "int n, int *a",
            "for (int *p = a + n; p > a; p--) p[-1] = 1;",
            "((n - p_at) > 0)",
            "a[((n - p_at) - 1)]",
        ),
        ("int *p, int *end", "while (p < end) *p++ = 1;", "(p_at < end_p)", "p[p_at]"),
        ("int *p, int *end", "while (p != end) { int *q = p++; *q = 1; }", "(p_at < end_p)", "p[p_at]"),
        ("int *a, int n", "int i = 0; do a[i] = 1; while (++i < n);", "(i_at < n)", "a[i_at]"),
        ("int *a, int n", "do { *a++ = 1; } while (--n);", "(n_at < n)", "a[n_at]"),
        ("int *a, int n", "for (int i = n; i-- > 0;) a[i] = 1;", "(i >= 0)", "a[i]"),
        ("int *a, int n, int m", "while (n-- > m) a[n] = 1;", "(n_2 >= m)", "a[n_2]"),
    ],
)
def test_loops(parameters: str, loop: str, last: str, store: str, tmp_path: Path) -> None:
    scop = region(tmp_path, parameters, loop)
    assert domain(scop.statements[0])[-1] == last
    assert bodies(scop)[0] == f"{store} = 1;"


def test_the_host_says_how_far_two_pointers_are_apart(tmp_path: Path) -> None:
    scop = region(tmp_path, "int *p, const int *end", "for (; p != end; p++) *p = 1;")
    assert [(s.name, s.type, s.source) for s in scop.scalars] == [("end_p", "long", "(end - p)")]
    assert [a.name for a in scop.arrays] == ["p"]


def test_pointers_in_structures(tmp_path: Path) -> None:
    head = "typedef struct { int *begin, *end; } range;"
    scop = region(tmp_path, "range r", "for (int *p = r.begin; p < r.end; p++) *p = 1;", head)
    assert [s.source for s in scop.scalars] == ["(r.end - r.begin)"]


def host(tmp_path: Path, source: str) -> str:
    path = tmp_path / "t.c"
    path.write_text(source)
    return compile_file(str(path), Options(target="emulator", offload="always")).files["_host.c"]


def test_the_first_iteration_of_a_do_is_sure_to_be_made(tmp_path: Path) -> None:
    """Where its condition does not hold before it, the loop stays on the host; it goes there as a whole."""
    text = host(tmp_path, "void f(int *a, int n) { int i = 0; do { a[i] = i; i++; } while (i < n); }")
    assert "!(n >= 1) ?" in text
    assert "do { a[i] = i; i++; } while (i < n);\n    }\n}" in text


def test_a_loop_that_ends_where_pointers_are_equal_reaches_that(tmp_path: Path) -> None:
    text = host(tmp_path, "void f(int *p, int *e) { while (p != e) *p++ = 0; }")
    assert "(e - p) >= 0" in text


def test_a_while_that_does_not_count_is_called_that(tmp_path: Path) -> None:
    text = "void f(int *a, int n) {\n#pragma scop\nwhile (n > 1) { a[n] = 0; n /= 2; }\n#pragma endscop\n}"
    assert [d.id for d in errors(tmp_path, text)] == ["PG124"]


def test_a_pointer_whose_value_matters_later_is_refused(tmp_path: Path) -> None:
    text = (
        "int f(int *p, int *e) {\nint *q = p;\n#pragma scop\nwhile (p < e) *p++ = 0;\n#pragma endscop\n"
        "return p - q;\n}"
    )
    assert [d.id for d in errors(tmp_path, text)] == ["PG157"]
