"""Subscripts that data choose among affine forms: rows are told apart, and no more is taken than is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.frontend_text import assumptions, errors, extents, only_scop, shown

UPWIND = """void f(int n, int m, const double *flux, const double *q, double *out)
{{
    int j, k, from, to;
    for (k = 0; k < n; k++)
        for (j = 2; j < m - 2; j++) {{
            {choice}
            out[k * m + j] = q[{read}];
        }}
}}
"""
SIDES = "if (flux[k * m + j] > 0) from = j - 2; else from = j + 1;"


def forms(directory: Path, choice: str, read: str) -> list[list[str]]:
    """What each subscript of the read of q may be."""
    scop = only_scop(directory, UPWIND.format(choice=choice, read=read))
    (found,) = {a.forms for s in scop.statements for a in s.accesses if a.reference.array == "q"}
    return [[shown(form) for form in each] for each in found]


@pytest.mark.parametrize(
    ("choice", "read", "column"),
    [
        (SIDES, "k * m + from", ["(j - 2)", "(j + 1)"]),
        (f"{SIDES} to = from;", "k * m + to + 1", ["((j - 2) + 1)", "((j + 1) + 1)"]),
        ("from = j; if (flux[k * m + j] > 0) from = j - 1;", "k * m + from", ["(j - 1)", "j"]),
        (f"to = j; {SIDES} if (from > flux[0]) to = from;", "k * m + to", ["(j - 2)", "(j + 1)", "j"]),
        (
            "from = j; if (flux[0] > 0) { from--; to = from; } else to = j + 1;",
            "k * m + to",
            ["(j - 1)", "(j + 1)"],
        ),
    ],
)
def test_the_forms_of_a_choice(choice: str, read: str, column: list[str], tmp_path: Path) -> None:
    assert forms(tmp_path, choice, read) == [["k"], column]


def test_each_form_stays_in_its_row(tmp_path: Path) -> None:
    scop = only_scop(tmp_path, UPWIND.format(choice=SIDES, read="k * m + from"))
    assert extents(scop)["q"] == [None, "m"]
    assert {a.partition(": ")[2] for a in assumptions(scop)} == {
        "0 <= j < m", "0 <= (j - 2) < m", "0 <= (j + 1) < m"
    }  # fmt: skip


@pytest.mark.parametrize(
    "choice",
    [
        "from = flux[j]; if (flux[0] > 0) from = j;",
        "if (flux[0] > 0) from = j;",
        "while (flux[from] > 0) from++;",
        "from = j; for (int t = 0; t < 3; t++) if (flux[t] > 0) from = from + 1;",
        "if (flux[0] > 0) from = j * j; else from = j;",
    ],
)
def test_what_may_be_anything_tells_no_rows(choice: str, tmp_path: Path) -> None:
    text = UPWIND.format(choice=choice, read="k * m + from")
    marked = text.replace("for (k", "#pragma scop\n    for (k").replace(
        "        }\n}", "        }\n#pragma endscop\n}"
    )
    assert [d.id for d in errors(tmp_path, marked)] == ["PG161"]
