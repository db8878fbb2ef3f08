"""Arrays of a loop's body get a value where data say which elements are written, and where they need one."""

from __future__ import annotations

import pytest
from pycparser import c_ast, c_parser

from polygpu.frontend.names.scopes import Scope
from polygpu.frontend.normal.scratch import with_first_values
from polygpu.frontend.text.nodes import nodes


def given(body: str) -> bool:
    """Whether `v` has a first value."""
    tree = c_parser.CParser().parse(f"void f(int n, int *a, int *b) {{ {body} }}")
    made = with_first_values(tree.ext[0].body.block_items, Scope())
    (found,) = (n for item in made for n in nodes(item) if isinstance(n, c_ast.Decl) and n.name == "v")
    return found.init is not None


@pytest.mark.parametrize(
    ("before", "body", "expected"),
    [
        ("int v[8];", "int k = 0; while (a[k]) v[k++] = k;", True),
        ("int v[8];", "for (int k = 0; k < n; k++) v[a[k]]++;", True),
        (
            "int v[4];",
            "int m = 0; while (m < n) m += a[m]; v[0] = 1; { int j = 0; while (j < m) v[j++]--; }",
            True,
        ),
        ("int v[8];", "for (int k = 0; k < 8; k++) v[k] = a[k]; v[a[i]] = 0;", False),  # filled first
        ("int v[8];", "for (int k = 0; k < 8; k++) v[k] = v[a[k]]; v[a[i]] = 0;", True),
        ("int v[8];", "for (int k = 0; k < 8; k++) v[k] = a[k]; b[i] = v[a[i]];", False),  # iterators say
        ("int v[8] = {1};", "v[a[i]] = 0;", True),
        ("int v[n];", "v[a[i]] = 0;", False),
        ("int v[1000];", "v[a[i]] = 0;", False),
        ("static int v[8];", "v[a[i]] = 0;", False),  # lives on
    ],
)
def test_first_values(before: str, body: str, expected: bool) -> None:
    assert given(f"for (int i = 0; i < n; i++) {{ {before} {body} }}") == expected


def test_what_the_region_declares_outside_of_loops_lives_on() -> None:
    assert not given("int v[8]; for (int i = 0; i < n; i++) { v[a[i]] = i; b[i] = v[0]; }")
