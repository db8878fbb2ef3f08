"""Loop headers and affine tests become domains and schedules."""

from __future__ import annotations

from pathlib import Path

import islpy as isl
import pytest

from polygpu.analysis.conditions import conditions
from polygpu.analysis.polyhedra import build
from tests.unit.frontend_text import bodies, domain, errors, region, shown

V = "int n, int m, float *a"


def first_domain(directory: Path, loops: str, parameters: str = V, head: str = "") -> list[str]:
    return domain(region(directory, parameters, f"{loops} a[0] = 1;", head).statements[0])


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("for (int i = 0; i < n; i++)", ["(i >= 0)", "(i < n)"]),
        ("for (int i = 1; i <= n - 2; ++i)", ["(i >= 1)", "(i <= (n - 2))"]),
        ("for (int i = 0; n > i; i += 1)", ["(i >= 0)", "(n > i)"]),
        ("for (int i = m; i < n; i = i + 4)", ["(i >= m)", "(i < n)", "(((i - m) % 4) == 0)"]),
        ("for (int i = 0; i < n; i = 3 + i)", ["(i >= 0)", "(i < n)", "((i % 3) == 0)"]),
        ("for (int i = n - 1; i >= 0; i--)", ["(i <= (n - 1))", "(i >= 0)"]),
        ("for (int i = n; i > 0; i -= 2)", ["(i <= n)", "(i > 0)", "(((n - i) % 2) == 0)"]),
        ("for (int i = 0; i < n && i < m; i++)", ["(i >= 0)", "(i < n)", "(i < m)"]),
        ("for (int i = 0; 2 * i < n; i++)", ["(i >= 0)", "((2 * i) < n)"]),
        ("for (int i = 0; i < n && m > 3; i++)", ["(i >= 0)", "(i < n)", "(m > 3)"]),
        ("for (int i = n / 2; i < n % 7; i++)", ["(i >= (n / 2))", "(i < (n % 7))"]),
        ("for (int i = n >> 1; i < 3 << 2; i++)", ["(i >= floord(n, 2))", "(i < 12)"]),
        ("for (short i = 0; i < 10; i++)", ["(i >= 0)", "(i < 10)"]),
        ("for (unsigned long i = 0; i < 10ul; i++)", ["(i >= 0)", "(i < 10)"]),
        ("for (unsigned i = 9; i-- > 0;)", ["(i <= 8)", "(i > -1)"]),
        ("for (int i = n; i-- > 0;)", ["(i <= (n - 1))", "(i >= 0)"]),
        ("for (unsigned i = n - 1; i < n; i--)", ["(i <= (n - 1))", "((n - 1) < n)", "(i > -1)"]),
        ("for (unsigned long i = 9; 12 > i; --i)", ["(i <= 9)", "(9 < 12)", "(i > -1)"]),
        ("for (int i = -n; i < ~m; i++)", ["(i >= (-n))", "(i < ((-m) - 1))"]),
        ("for (int i = 0; i < (n < m ? n : m); i++)", ["(i >= 0)", "(i < min(n, m))"]),
        ("for (int i = n > 0 ? n : 0; i < 9; i++)", ["(i >= max(n, 0))", "(i < 9)"]),
        ("for (int i = 0; i < (m > 3 ? n : 7); i++)", ["(i >= 0)", "(i < ((m > 3) ? n : 7))"]),
    ],
)
def test_header(header: str, expected: list[str], tmp_path: Path) -> None:
    assert first_domain(tmp_path, header) == expected


@pytest.mark.parametrize(
    "header",
    [
        "for (int i = n - 1; i < n; i--)",
        "for (unsigned char i = n - 1; i < n; i--)",
        "for (unsigned i = n - 1; i < w; i--)",
        "for (unsigned i = n - 1; i < n; i -= 2)",
        "for (unsigned i = n - 1; i < n - i; i--)",
    ],
    ids=["signed", "narrow", "wider bound", "step", "own bound"],
)
def test_what_is_not_beyond_its_bound_when_it_has_passed_zero(header: str, tmp_path: Path) -> None:
    text = f"void f({V}, unsigned long w)\n{{\n#pragma scop\n{header} a[0] = 1;\n#pragma endscop\n}}\n"
    assert {e.id for e in errors(tmp_path, text)} == {"PG104"}


def test_bounds_through_macros_and_functions(tmp_path: Path) -> None:
    head = """
#include <math.h>
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define floord(n, d) floor(((double)(n)) / ((double)(d)))
#define ceild(n, d) ceil(((double)(n)) / ((double)(d)))
#define FLOORD(n, d) (((n) < 0) ? -((-(n) + (d) - 1) / (d)) : (n) / (d))
static int largest(int a, int b) { if (a > b) return a; else return b; }
"""
    loops = "for (int i = largest(0, ceild(m, 32)); i <= min(floord(n, 32), FLOORD(n - 1, 8)); i++)"
    quotient = "(((n - 1) < 0) ? (-((((-(n - 1)) + 8) - 1) / 8)) : ((n - 1) / 8))"
    assert first_domain(tmp_path, loops, V, head) == [
        "(i >= max(0, floord((m + 31), 32)))",
        f"(i <= min(floord(n, 32), {quotient}))",
    ]


def test_nest_with_statements_at_every_level(tmp_path: Path) -> None:
    scop = region(
        tmp_path,
        V,
        """
        a[0] = 0;
        for (int i = 0; i < n; i++) {
            a[i] = 1;
            for (int j = i; j > 0; j--)
                a[j] = 2;
            a[i + 1] = 3;
        }
        for (int i = 0; i < m; i++) a[i] = 4;""",
    )
    assert [s.schedule for s in scop.statements] == [
        (0,),
        (1, "i", 0),
        (1, "i", 1, "-j", 0),
        (1, "i", 2),
        (2, "i_2", 0),
    ]
    assert [s.iterators for s in scop.statements] == [(), ("i",), ("i", "j"), ("i",), ("i_2",)]
    assert [s.loops for s in scop.statements] == [(), (0,), (0, 1), (0,), (2,)]
    assert [(loop.iterator, loop.step) for loop in scop.loops] == [("i", 1), ("j", -1), ("i", 1)]
    assert scop.loops[1].text == "for (int j = i; j > 0; j--)"
    assert domain(scop.statements[2]) == ["(i >= 0)", "(i < n)", "(j <= i)", "(j > 0)"]


def test_affine_tests_bound_the_domain(tmp_path: Path) -> None:
    scop = region(
        tmp_path,
        V,
        """
        for (int i = 0; i < n; i++)
            if (i % 2 == 0 && i != m) a[i] = 0;
            else if (i > 3 || !(i < n - 5)) a[i] = 1;
            else a[i] = 2;""",
    )
    loop = ["(i >= 0)", "(i < n)"]
    both = "(!(((i % 2) == 0) && (i != m)))"
    either = "((i > 3) || (i >= (n - 5)))"
    assert [domain(s) for s in scop.statements] == [
        [*loop, "((i % 2) == 0)", "(i != m)"],
        [*loop, both, either],
        [*loop, both, f"(!{either})"],
    ]
    assert [s.schedule for s in scop.statements] == [(0, "i", 0), (0, "i", 1), (0, "i", 2)]


def test_affine_part_of_a_data_dependent_test_bounds_the_domain(tmp_path: Path) -> None:
    scop = region(tmp_path, V, "for (int i = 0; i < n; i++) if (i > 0 && a[i - 1] > 0 && i < m) a[i] = 0;")
    assert domain(scop.statements[0]) == ["(i >= 0)", "(i < n)", "(i > 0)"]
    assert bodies(scop) == ["if ((a[(i - 1)] > 0) && (i < m)) { a[i] = 0; }"]


def test_each_case_of_a_mixed_test_reads_only_its_own_elements(tmp_path: Path) -> None:
    scop = region(
        tmp_path,
        V,
        "for (int i = 0; i < n; i++)"
        " if (i > m || (i > 0 && a[i - 1] > 0)) { float t = 2; a[i] = t; } else a[i] = 1;",
    )
    assert [domain(s)[2:] for s in scop.statements] == [
        ["(i > m)"],
        ["(i <= m)", "(i > 0)"],
        ["(i <= m)", "(i <= 0)"],
    ]
    assert bodies(scop) == [
        "float t = 2; a[i] = t;",
        "if (a[(i - 1)] > 0) { float t = 2; a[i] = t; } else { a[i] = 1; }",
        "a[i] = 1;",
    ]


def test_selects_with_affine_tests_split_the_statement(tmp_path: Path) -> None:
    scop = region(
        tmp_path, V, "for (int i = 0; i < n; i++) a[i] = 2 * (i > 0 ? a[i - 1] : 0) + (i < m ? 1 : 2);"
    )
    assert [domain(s)[2:] for s in scop.statements] == [["(i > 0)"], ["(i <= 0)"]]
    assert bodies(scop) == [
        "a[i] = ((2 * a[(i - 1)]) + ((i < m) ? 1 : 2));",
        "a[i] = ((2 * (float)0) + ((i < m) ? 1 : 2));",
    ]


def test_iterators_declared_before(tmp_path: Path) -> None:
    scop = region(tmp_path, V, "int i, j;\nfor (i = 0; i < n; i++) for (j = 0; j < i; j++) a[j] = i;")
    assert scop.statements[0].iterators == ("i", "j")
    assert [a.name for a in scop.arrays] == ["a"]


def test_unsigned_differences_stay_in_the_statement(tmp_path: Path) -> None:
    """In C `u - 1 < 5u` is false for u = 0: only the statement's own arithmetic knows that."""
    scop = region(tmp_path, "unsigned u, float *a", "for (int i = 0; i < 9; i++) if (u - 1 < 5u) a[i] = 0;")
    assert bodies(scop) == ["if ((u - 1) < 5u) { a[i] = 0; }"]


def test_names_that_clash(tmp_path: Path) -> None:
    """An iterator gives way to a parameter of the same name that another part of the region uses."""
    scop = region(
        tmp_path, "int i, float *a", "for (int k = 0; k < i; k++) for (int i = 0; i < k; i++) a[i] = k;"
    )
    (statement,) = scop.statements
    assert statement.iterators == ("k", "i_2")
    assert domain(statement) == ["(k >= 0)", "(k < i)", "(i_2 >= 0)", "(i_2 < k)"]
    assert bodies(scop) == ["a[i_2] = k;"]


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("for (int i = 0; i < n; i += m) a[i] = 0;", ["m"]),
        ("for (int i = n; i > 0; i -= m) a[i] = 0;", ["m"]),
        ("for (int i = 0; i < n; i += m) { a[i] = 1; a[i + m] = 2; }", ["m"]),
        ("int k = m; for (int i = 0; i < n; i += k) a[i] = 0;", ["m"]),
        ("int k = 3; for (int i = 0; i < n; i += k) a[i] = 0;", []),
        ("for (int i = 0; i < n; i++) for (int j = 0; j < i; j += m) a[i] += j;", []),
    ],
)
def test_steps_that_are_read_are_taken_to_be_one(text: str, units: list[str], tmp_path: Path) -> None:
    """At each call, also where nothing runs: iterators have their values behind loops. Inner loops are run
    with any step.
    """
    scop = region(tmp_path, V, text)
    found = [a for a in scop.assumptions if not a.statement]
    assert [(shown(a.value), shown(a.bound)) for a in found] == [(f"({name} - 1)", "1") for name in units]
    tests = [c.holds for c in conditions(build(scop)) if "by which a loop steps" in c.reason]
    assert len(tests) == len(units)
    assert all(holds.is_equal(isl.Set("[m, n] -> { : m = 1 }")) for holds in tests)


@pytest.mark.parametrize(
    "text",
    [
        "for (int k = 1; k < n; k *= 2) REGION(for (int i = 0; i < n; i += k) a[i] = 0;)",
        "while (m++ < n) REGION(for (int i = 0; i < n; i += m) a[i] = 0;)",
        "REGION(for (int i = 0; i < n; i += m) { a[i] = m; m = 2; })",
        "REGION(for (int i = 0; i < n; i += i) a[i] = m;)",
        "REGION(for (int i = 0; i < n; i += (int)a[i]) a[i] = m;)",
    ],
)
def test_steps_that_change_are_refused(text: str, tmp_path: Path) -> None:
    """Those that a loop of the host counts are seldom 1."""
    body = text.replace("REGION(", "{\n#pragma scop\n").removesuffix(")") + "\n#pragma endscop\n}"
    assert {e.id for e in errors(tmp_path, f"void f({V})\n{{\n{body}\n}}\n")} == {"PG103"}
