"""Which addresses are only lent to what is called."""

from __future__ import annotations

import pytest
from pycparser import c_ast, c_parser

from polygpu.frontend.names.lending import mark_lent
from polygpu.frontend.names.liveness import address_kept, address_taken, assigned_names
from polygpu.frontend.names.scopes import Hidden, file_scope

CALLS = "void f(void) { double v; v = 1; g(&v); }"
LENT = {
    "read and written": "double g(double *p) { *p = *p * 2; return p[0]; }",
    "tested": "void g(double *p) { if (p != 0 && !p) p[0] = 1; }",
    "passed on": "void h(double *q) { *q = 1; } void g(double *p) { h(p); }",
    "an array parameter": "void g(double p[]) { p[0] += 1; }",
}
KEPT = {
    "stored": "double *all; void g(double *p) { all = p; }",
    "returned": "double *g(double *p) { return p; }",
    "an address of it": "double *all; void g(double *p) { all = &p[1]; }",
    "copied": "void g(double *p) { double *q = p; *q = 1; }",
    "moved": "void g(double *p) { p++; *p = 1; }",
    "passed to what keeps it": "double *all; void h(double *q) { all = q; } void g(double *p) { h(p); }",
    "passed to what is not known": "void h(double *q); void g(double *p) { h(p); }",
    "passed round": "void g(double *p) { g(p); }",
    "not defined": "void g(double *p);",
    "any type": "void g(void *p) { }",
    "a pointer to it": "void g(double **p) { *p = 0; }",
    "hidden": "void g(double *p) { *p = 1; } void k(void (*g)(double *)) { }",
    "assembly": "void g(double *p) { *p = 1; __asm__(); }",
}


def body_of(text: str) -> c_ast.Compound:
    root = c_parser.CParser().parse(f"{text} {CALLS}")
    mark_lent(root, file_scope(root, Hidden()))
    body: c_ast.Compound = root.ext[-1].body
    return body


@pytest.mark.parametrize("name", [*LENT, *KEPT])
def test_an_address_is_kept_or_not(name: str) -> None:
    body = body_of({**LENT, **KEPT}[name])
    assert address_kept(body, "v") == (name in KEPT)
    assert address_taken(body, "v") and "v" in assigned_names(body)


def test_an_address_that_is_taken_elsewhere_is_kept() -> None:
    text = LENT["read and written"]
    root = c_parser.CParser().parse(f"{text} double *all; void f(void) {{ double v; g(&v); all = &v; }}")
    mark_lent(root, file_scope(root, Hidden()))
    assert address_kept(root.ext[-1].body, "v")
