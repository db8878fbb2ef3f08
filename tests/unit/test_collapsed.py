"""Loops whose iterator is divided by sizes are a loop for each dimension."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu import cli
from polygpu.model.scop import Scop
from tests.unit.frontend_text import bodies, errors, region, shown

ROWS = "int n, int m, float *a, const float *row, const float *col"


def iterators(scop: Scop) -> tuple[str, ...]:
    return scop.statements[-1].iterators


def required(scop: Scop) -> list[str]:
    """What the host tests to be at least 0 before it calls the region."""
    return [shown(c.value) for c in scop.conversions if not c.iterators and c.type == "unsigned int"]


def test_rows_and_columns(tmp_path: Path) -> None:
    scop = region(tmp_path, ROWS, "for (int t = 0; t < n * m; t++) a[t] = row[t % m] * col[t / m];")
    assert iterators(scop) == ("t_outer", "t_inner")
    assert bodies(scop)[0] == "a[t_outer][t_inner] = (row[t_inner] * col[t_outer]);"
    assert required(scop) == ["(m - 1)"]


def test_three_dimensions(tmp_path: Path) -> None:
    body = "for (int t = 0; t < l * m * n; t++) a[t] += z[t / (m * n)] + y[t / n % m] + x[t % n];"
    scop = region(tmp_path, "int l, int m, int n, float *a, float *x, float *y, float *z", body)
    assert iterators(scop) == ("t_outer_outer", "t_outer_inner", "t_inner")
    assert bodies(scop)[0].startswith("a[t_outer_outer][t_outer_inner][t_inner] = ")
    assert sorted(required(scop)) == ["(m - 1)", "(n - 1)"]


ANY = "int all, int m, float *a, const float *row, const float *col"
UNKNOWN = "for (int t = 0; t < all; t++) a[t] = a[t] + row[t % m] * col[t / m];"


def test_a_number_that_is_no_multiple(tmp_path: Path) -> None:
    """Without the nest the loop could not be a region; the last row is shorter."""
    scop = region(tmp_path, ANY, UNKNOWN)
    rows, rest = (s for s in scop.statements if s.iterators)
    assert rows.iterators == ("t_outer", "t_inner")
    assert rest.iterators == ("t_inner_2",)
    assert required(scop) == ["(m - 1)"]
    sources = {s.name: s.source for s in scop.scalars}
    assert sources["all_m"] == "(m ? all / m : 0)"
    assert sources["all_m_2"] == "(m ? all % m : 0)"
    assert bodies(scop)[1] == "a[all_m][t_inner_2] = (a[all_m][t_inner_2] + (row[t_inner_2] * col[all_m]));"


def test_a_number_that_has_to_be_a_multiple(tmp_path: Path) -> None:
    """A directive is about one loop."""
    scop = region(tmp_path, ANY, f"\n#pragma omp parallel for\n{UNKNOWN}")
    assert [s.iterators for s in scop.statements] == [("t_outer", "t_inner")]
    assert required(scop) == ["(m - 1)", "(-all_m_2)"]


def test_what_is_tested_is_said_in_the_words_of_the_source(tmp_path: Path) -> None:
    parameters = ANY.replace("int all", "unsigned long all")
    scop = region(tmp_path, parameters, UNKNOWN.replace("int t", "unsigned long t"))
    texts = {c.text for c in scop.conversions}
    assert {"m - 1", "t < all"} <= texts
    assert not any("<" in text and "_" in text for text in texts)


@pytest.mark.parametrize(
    "body",
    [
        "for (int t = 0; t < n * m; t++) { if (t > 9) break; a[t] = t / m; }",
        "for (int t = 0; t < n * m; t++) { a[t] = t / m; m++; }",
        "for (int t = 1; t < n * m; t++) a[t] = t / m;",
        "for (int t = 0; t < n * m; t += 2) a[t] = t / m;",
        "for (int t = 0; t < n * m; t++) a[t] = t / m + t / n;",
        "for (int t = 0; t < n * 8; t++) a[t] = t / 8 + t % 8;",
        "for (int t = 0; t < n; t++) a[t] = t / row[0];",
    ],
)
def test_what_stays_one_loop(body: str, tmp_path: Path) -> None:
    try:
        scop = region(tmp_path, ROWS, body)
    except Exception:  # noqa: BLE001 - it may be no region at all
        assert errors(tmp_path, (tmp_path / "in.c").read_text())
    else:
        assert not any("_outer" in name for s in scop.statements for name in s.iterators)


PROGRAM = """#include <stdio.h>
static void fill(int all, int m, int *a, const int *row)
{
    for (int t = 0; t < all; t++) a[t] = row[t / m] + 10 * row[t % m];
}
static int last(int n, int m, int *a)
{
    int t;
    for (t = 0; t < n * m; t++) a[n * m - 1 - t] = t / m - t % m;
    return t;
}
int main(void)
{
    int a[60] = { 0 }, row[60];
    for (int i = 0; i < 60; i++) row[i] = i * i;
    int given[][2] = { { 30, 5 }, { 31, 5 }, { 0, 3 }, { -6, 3 },
                       { 30, -5 }, { -6, -3 }, { 0, 0 }, { 3, 9 } };
    for (int k = 0; k < 8; k++) {
        fill(given[k][0], given[k][1], a, row);
        printf("%d\\n", last(given[k][0] / 6, given[k][1], a));
        for (int i = 0; i < 60; i++) printf("%d\\n", a[i]);
    }
    return 0;
}
"""


def test_sizes_that_are_no_multiple(tmp_path: Path) -> None:
    """Sizes of 0 and below among them: where the nest would do something else the original loop runs."""
    (tmp_path / "in.c").write_text(PROGRAM.replace("row[t / m]", "row[(t / m) & 31]"))
    arguments = ["run", "--target", "emulator", "--check", "--certify", "full", str(tmp_path / "in.c")]
    assert cli.invoke(arguments) == 0
