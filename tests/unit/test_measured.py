"""What is left of a region's statements to measure the arrays that it reads where data tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.analysis.measured import measured, read_by
from polygpu.compilation import Options
from polygpu.model.expr import Name
from polygpu.model.scop import Action, Branch, Let, Repeat, Store
from polygpu.pipeline import compile_file
from polygpu.support.diagnostics import Diagnosed
from polygpu.verify.certificate import certify
from tests.unit.frontend_text import region, shown

SPARSE = """
    for (int i = 0; i < n; i++) {
        float s = 0;
        for (int k = row[i]; k < row[i + 1]; k++)
            s += value[k] * x[column[k]];
        y[i] = s;
    }"""
POINTERS = "int n, const int *row, const int *column, const float *value, const float *x, float *y"


def text(body: tuple[Action, ...]) -> str:
    """`x: k` for what is stored in the extent of x, or in another scalar."""
    parts = []
    for a in body:
        match a:
            case Store(target, value):
                parts.append(f"{target.array.removesuffix('_extent')}: {shown(value)};")
            case Let(name, _, value, assign):
                parts.append(f"{'' if assign else 'let '}{name} = {shown(value)};")
            case Branch(test, then, otherwise):
                other = f" else {{ {text(otherwise)} }}" if otherwise else ""
                parts.append(f"if ({shown(test)}) {{ {text(then)} }}{other}")
            case Repeat(test, inner):
                parts.append(f"while ({shown(test)}) {{ {text(inner)} }}")
    return " ".join(parts)


def measures(directory: Path, parameters: str, body: str) -> list[list[str]]:
    """Of each measure its statements."""
    found = measured(region(directory, parameters, body))
    return [[text(s.body) for s in m.statements] for m in found.measures]


def test_of_a_loop_that_counts_only_its_ends_are_left(tmp_path: Path) -> None:
    """The subscripts of `value` and `column` grow with k, those of x do not."""
    scop = measured(region(tmp_path, POINTERS, SPARSE))
    first, second = scop.measures
    assert [name for name, _ in first.extents] == ["value", "column"] and read_by(first) == ("row",)
    assert [name for name, _ in second.extents] == ["x"] and read_by(second) == ("column", "row")
    assert measures(tmp_path, POINTERS, SPARSE) == [
        [
            "let k = row[i]; if ((k < row[(i + 1)])) { value: k; column: k; "
            "value: (row[(i + 1)] - 1); column: (row[(i + 1)] - 1); }"
        ],
        ["let k = row[i]; while ((k < row[(i + 1)])) { x: column[k]; k = (k + 1); }"],
    ]
    extents = {a.name: a.extents for a in scop.arrays}
    assert extents["x"] == (Name("x_extent"),) and extents["row"] == (None,)


CASES = {
    "loop_to_the_last": (
        "int n, const int *e, const float *x, float *y",
        "for (int i = 0; i < n; i++) { y[i] = 0; for (int k = 2; k <= e[i]; k++) y[i] += x[i + k]; }",
        ["let k = 2; if ((k <= e[i])) { x: (i + k); x: (i + e[i]); }"],
    ),
    "counter_that_may_wrap": (
        "int n, const int *e, const float *x, float *y",
        "for (int i = 0; i < n; i++) {"
        " y[i] = 0; for (unsigned char k = 0; k < e[i]; k++) y[i] += x[(unsigned char)(k + 7)]; }",
        ["let k = 0; while ((k < e[i])) { x: (unsigned char)(k + 7); k = (k + 1); }"],
    ),
    "tests_on_the_way": (
        "int n, const int *c, const float *v, const float *x, float *y",
        "for (int i = 0; i < n; i++) y[i] = v[i] > 1 || c[i] > x[c[i]] ? 2 : 1;\n"
        "for (int i = 0; i < n; i++) if (v[i] > 2) { if (c[i]) y[i] += 1; else y[i] = x[2 * i]; }",
        ["if ((!(v[i] > 1))) { x: c[i]; }", "if ((v[i_2] > 2)) { if (c[i_2]) {  } else { x: (2 * i_2); } }"],
    ),
    "elements_that_no_store_reaches": (
        "int n, const int *head, const int *next, const float *x, float *y",
        "for (int i = 0; i < n; i++) { y[i] = 0; for (int k = head[i]; k >= 0; k = next[k]) y[i] += x[k]; }",
        ["let k = head[i]; while ((k >= 0)) { x: k; next: k; k = next[k]; }"],
    ),
    "all_accesses_of_an_array": (
        "int n, const int *c, const float *x, float *y",
        "for (int i = 0; i < n; i++) y[i] = x[c[i]];\nfor (int i = 0; i < n; i++) y[i] += x[n - i];",
        ["x: c[i];", "x: (n - i_2);"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_slices(case: str, tmp_path: Path) -> None:
    """Of all arrays together."""
    parameters, body, expected = CASES[case]
    assert measures(tmp_path, parameters, body) == [expected]


REFUSED = {
    "stored_subscripts": ("int *c", "c[i] = i / 2; y[i] = x[c[i]];"),
    "stored_elements": ("const int *c", "y[i] = y[c[i]] + x[c[i]];"),
    "elements_that_stores_reach": ("const int *c", "y[i] = x[(int)x[c[i]]];"),
    "rounding": ("const float *c", "y[i] = x[(int)(c[i] * 3)];"),
    "functions": ("const double *c", "y[i] = x[(int)floor(c[i])];"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_hosts_cannot_tell_is_refused(case: str, tmp_path: Path) -> None:
    parameter, body = REFUSED[case]
    text = (
        f"#include <math.h>\nvoid f(int n, {parameter}, const float *x, float *y)\n{{\n#pragma scop\n"
        f"for (int i = 0; i < n; i++) {{ {body} }}\n#pragma endscop\n}}\n"
    )
    (tmp_path / "k.c").write_text(text)
    with pytest.raises(Diagnosed) as caught:
        compile_file(str(tmp_path / "k.c"), Options(target="emulator"))
    assert {d.id for d in caught.value.diagnostics} == {"PG301"}


def test_an_array_that_is_read_is_not_empty(tmp_path: Path) -> None:
    """Where a size that is assumed says what data told, a region that reads is not for an extent of 0."""
    (tmp_path / "rings.c").write_text("""
void rings(int n, int m, float y[restrict n], const float *restrict x)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 3; j >= 0; j--)
            y[i] += x[(2 * j + 1) / 3 % (m + 1) * 97 + i];
}
""")
    options = Options(target="emulator", device="generic", level=1, assume=("n=96", "m=96"))
    made = compile_file(str(tmp_path / "rings.c"), options)
    (region,) = made.regions
    assert region.scop.measures
    assert not certify(region).failures
    assert "x_extent == 0" not in made.files["_host.c"]
