"""Normal forms of statements: C text in, C text out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pycparser import c_ast, c_generator, c_parser

from polygpu.frontend.names.liveness import assigned_names
from polygpu.frontend.names.scopes import Hidden, Scope, file_scope, function_scope
from polygpu.frontend.normal.breaks import without_break
from polygpu.frontend.normal.continues import without_continue
from polygpu.frontend.normal.gotos import jumps_to, without_goto
from polygpu.frontend.normal.guarded import Guards
from polygpu.frontend.normal.memory import as_loops
from polygpu.frontend.normal.nulls import with_tests_done
from polygpu.frontend.normal.sequences import in_sequence
from polygpu.frontend.normal.structures import without_structures
from polygpu.frontend.normal.switches import without_switch
from polygpu.frontend.normal.trees import Names, blocks, declared_names, renamed, used_names
from polygpu.frontend.normal.unrolled import Unroller

HEAD = """
struct P { float x, y; };
struct N { struct P p; int m[2]; };
struct B { int b : 3; };
union U { int k; float x; };
struct V { float v[3], m[2][2]; } V[8];
enum { ONE = 1 };
double C[4][5];
char bytes[9];
int ints[6];
"""
PARAMETERS = "int n, int m, int k, int i, float *a, float *b, struct P *p, struct P *q, float (*r)[m]"


def formed(form: Callable[[list[Any], Scope, Names, Any], list[Any]], text: str) -> str:
    """The body of a function in a normal form, in one line."""
    root = c_parser.CParser().parse(f"{HEAD}\nvoid f({PARAMETERS})\n{{ {text} }}\n")
    function = root.ext[-1]
    scope = function_scope(function, file_scope(root, Hidden()))
    names = Names({*declared_names(root), *used_names(root)})
    body = list(function.body.block_items)
    before = shown(body)
    made = blocks(body, scope, lambda items, inner: form(items, inner, names, function))
    assert shown(body) == before, "the tree was changed in place"
    return shown(made)


def shown(items: list[Any]) -> str:
    text = c_generator.CGenerator(reduce_parentheses=True).visit(c_ast.Compound(items))
    return " ".join(text.split())[2:-2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for (;;) { if (n) continue; a[0] = 1; }", "for (;;) { if (!n) { a[0] = 1; } }"),
        ("while (n) { if (n > 1 && !k) continue; m; }", "while (n) { if (!(n > 1) || k) { m; } }"),
        (
            "do { if (n) { m; continue; } else k; i; } while (k);",
            "do { if (n) { m; } else { k; i; } } while (k);",
        ),
        (
            "for (;;) { if (n) { if (m) continue; k; } i; }",
            "for (;;) { if (n) { if (!m) { k; i; } } else { i; } }",
        ),
        # what an inner loop goes on with is its own, and nothing behind a jump runs
        ("for (;;) { for (;;) continue; m; }", "for (;;) { for (;;) { } m; }"),
        ("for (;;) { if (n) m; continue; k; }", "for (;;) { if (n) m; }"),
        # a variable of a branch does not hide what stands behind it
        (
            "for (;;) { if (n) { int k = 1; if (m) continue; i = k; } i = k; }",
            "for (;;) { if (n) { int k_2 = 1; if (!m) { i = k_2; i = k; } } else { i = k; } }",
        ),
        ("for (;;) { switch (n) { case 1: continue; } m; }", None),
        ("continue;", None),
    ],
)
def test_continue(text: str, expected: str | None) -> None:
    found = formed(lambda items, _, names, __: without_continue(items, names), text)
    assert found == (expected or formed(lambda items, *_: items, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "if (a[i] > 1) for (int j = 0; j < n; j++) b[j] = 0;",
            "{ int test = a[i] > 1; for (int j = 0; j < n; j++) { if (test) { b[j] = 0; } } }",
        ),
        # what stands beside the loop, variables of a branch, and the other branch
        (
            "if (a[i]) { k; float t = a[0]; for (int j = 0; j < n; j++) b[j] = t; m; } else k;",
            "{ int test = !(!a[i]); { if (test) { k; } float t = (test) ? (a[0]) : (0); "
            "for (int j = 0; j < n; j++) { if (test) { b[j] = t; } } if (test) { m; } } if (!test) { k; } }",
        ),
        # within another one, and within one that iterators decide
        (
            "if (!a[0]) if (n > 2) { for (int j = 0; j < n; j++) if (a[j]) for (int l = 0; l < j; l++) k; }",
            "{ int test_2 = !a[0]; if (n > 2) { for (int j = 0; j < n; j++) { "
            "int test = (test_2) ? (!(!a[j])) : (0); "
            "for (int l = 0; l < j; l++) { if (test_2) { if (test) { k; } } } } } }",
        ),
        # a loop that data bound stays under the test
        (
            "if (a[i]) { for (int j = 0; j < ints[j]; j++) k; for (int j = n > 2 ? 0 : 1; j < n; j++) m; }",
            "{ int test = !(!a[i]); if (test) { for (int j = 0; j < ints[j]; j++) k; } "
            "for (int j = (n > 2) ? (0) : (1); j < n; j++) { if (test) { m; } } }",
        ),
        # variables of iterators and parameters alone, and pointers to elements that they tell
        (
            "if (a[i]) { int from = n - i; float *p = &a[n * i]; for (int j = from; j < n; j++) p[j] = 0; }",
            "{ int test = !(!a[i]); { int from = n - i; float *p = &a[n * i]; "
            "for (int j = from; j < n; j++) { if (test) { p[j] = 0; } } } }",
        ),
        # headers that read memory, may fail or know what is only set under the condition
        ("if (a[i]) for (int j = ints[0]; j < n; j++) k;", None),
        ("if (a[i]) for (int j = 0; j < n / m; j++) k;", None),
        ("if (a[i]) { n = 4; for (int j = 0; j < n; j++) k; }", None),
        # what counts is used behind the loop; a jump out of it; an array of the branch
        ("if (a[m]) for (i = 0; i < n; i++) k; m = i;", None),
        ("if (a[i]) for (int j = 0; j < n; j++) if (b[j]) break;", None),
        ("if (a[i]) { int x[2] = {1}; for (int j = 0; j < n; j++) k; }", None),
        # iterators and parameters decide
        ("if (n > 2 && i < m) for (int j = 0; j < n; j++) k;", None),
    ],
)
def test_loops_within_an_if_that_depends_on_data(text: str, expected: str | None) -> None:
    def form(items: list[Any], scope: Scope, names: Names, function: Any) -> list[Any]:
        return Guards(assigned_names(function.body), names, (function.body,)).around(items, scope)

    found = formed(form, text)
    assert found == (expected or formed(lambda items, *_: items, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if (n) goto e; m; e: k;", "if (!n) { m; } k;"),
        ("i; if (n) goto a; m; goto e; a: k; e: ;", "i; if (n) { k; } else { m; } ;"),
        ("if (n) { i; goto e; } if (m) { goto e; } k; e: i;", "if (n) { i; } else { if (!m) { k; } } i;"),
        ("if (n) goto a; m; a: if (k) goto b; i; b: ;", "if (!n) { m; } if (!k) { i; } ;"),
        ("if (n) if (m) goto e; k; e: i;", "if (n) { if (!m) { k; } } else { k; } i;"),
        # back, into a block, out of a loop, and over a declaration that is used behind the label
        ("a: m; if (n) goto a;", None),
        ("goto a; if (n) { a: m; }", None),
        ("for (;;) goto a; a: m;", None),
        ("if (n) goto a; int x = 1; a: m = x;", None),
        ("if (n) goto a; m; a: if (k) goto a;", None),
    ],
)
def test_goto(text: str, expected: str | None) -> None:
    found = formed(
        lambda items, _, names, function: without_goto(items, names, jumps_to(function.body)), text
    )
    assert found == (expected or formed(lambda items, *_: items, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("switch (n) { case 1: m; break; default: k; }", "if (n == 1) { m; } else { k; }"),
        ("switch (n) { case 1: case -2: m; }", "if (n == 1 || n == -2) { m; }"),
        ("switch (n) { default: k; break; case ONE: m; }", "if (n == ONE) { m; } else { k; }"),
        (
            "switch (n) { case 0: m; case 1: if (k) break; i; default: 5; }",
            "if (n == 0) { m; if (!k) { i; 5; } } else { if (n == 1) { if (!k) { i; 5; } } else { 5; } }",
        ),
        ("switch (n) { case 0: for (;;) break; }", "if (n == 0) { for (;;) break; }"),
        ("switch (n) { case 0: switch (m) { case 1: break; } k; }", "if (n == 0) { if (m == 1) { } k; }"),
        (
            "switch (n) { case 0: for (;;) { switch (m) { case 1: k; } } break; case 1: i; }",
            "if (n == 0) { for (;;) { if (m == 1) { k; } } } else { if (n == 1) { i; } }",
        ),
        ("switch (f(n)) { case 0: m; }", "long value = f(n); if (value == 0) { m; }"),
        (
            "switch (n) { case 0: int x = 1; m = x; case 1: m; }",
            "if (n == 0) { ; int x = 1; m = x; m; } else { if (n == 1) { m; } }",
        ),
        ("switch (n) { case 0: int x = 1; m = x; case 1: m = x; }", None),
        ("switch (n) { case 3000000000: m; }", None),
        ("switch (n) { case 0: if (m) case 1: k; }", None),
        ("switch (n) { int x; case 0: x = m; }", None),
    ],
)
def test_switch(text: str, expected: str | None) -> None:
    found = formed(lambda items, scope, names, _: without_switch(items, scope, names), text)
    assert found == (expected or formed(lambda items, *_: items, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "for (i = 0; i < n; i++) { if (i > m) break; k; }",
            "for (i = 0; i < n && !(i > m); i++) { k; }",
        ),
        ("for (i = n;; i--) { if (i < m || k) break; k; }", None),
        (
            "for (i = n;; i--) { if (i < m || k > 3) { break; } k; }",
            "for (i = n; !(i < m) && !(k > 3); i--) { k; }",
        ),
        (
            "for (i = m; i < n; i += 2) { k; if (2 * i - m >= k) break; }",
            "for (i = m; i < n; i += 2) { if (i == m || !(2 * (i - 2) - m >= k)) { k; } }",
        ),
        (
            "for (int j = n; j > 0; j--) { k; if (j <= m) break; i; }",
            "for (int j = n; j > 0; j--) { if (j == n || !(j + 1 <= m)) { k; if (!(j <= m)) { i; } } }",
        ),
        (
            "for (i = 0; i < n; i++) { if (i > m) break; if (i > k) break; if (m) continue; k; }",
            "for (i = 0; i < n && !(i > m) && !(i > k); i++) { if (m) continue; k; }",
        ),
        # does not go on holding, depends on data, is changed, or is not reached each time
        ("for (i = 0; i < n; i++) { k; if (i < m) break; }", None),
        ("for (i = 0; i < n; i++) { k; if (i == m) break; }", None),
        ("for (; i < n; i++) { k; if (i > m) break; }", None),
        ("for (i = 0, k = 1; i < n; i++) { k; if (i > m) break; }", None),
        ("for (i = 0; i < n; i++) { k; if (k * i > m) break; }", None),
        ("for (i = 0; i < n; i++) { if (a[i] > 0) break; }", None),
        ("for (i = 0; i < n; i++) { if (m > 0) break; m = i; }", None),
        ("for (i = k; i < n; i++) { k = 2; if (i > m) break; }", None),
        ("for (i = 0; i < n; i++) { if (k) continue; if (i > m) break; }", None),
        ("for (i = 0; i < n; i++) { if (k) { if (i > m) break; } }", None),
    ],
)
def test_break(text: str, expected: str | None) -> None:
    found = formed(lambda items, scope, *_: without_break(items, scope), text)
    assert found == (expected or formed(lambda items, *_: items, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n ? f() : g();", "if (n) { f(); } else { g(); }"),
        ("n ? 0 : f();", "if (!n) { f(); }"),
        ("n && f(); n || f();", "if (n) { f(); } if (!n) { f(); }"),
        ("f(), n ? g() : h(), 0;", "f(); if (n) { g(); } else { h(); }"),
        ("m = (f(), k, n);", "f(); m = n;"),
        ("int x = (f(), n); if (f(), n) m;", "f(); int x = n; f(); if (n) m;"),
        ("m = 1, n = 2;", "m = 1, n = 2;"),
        ("for (i = n = k = 0; i < 9; i++) a[i] = n;", "k = 0; n = k; for (i = n; i < 9; i++) a[i] = n;"),
        ("for (i = n = k++; i < 9; i++) a[i] = n;", "for (i = (n = k++); i < 9; i++) a[i] = n;"),
    ],
)
def test_sequences(text: str, expected: str) -> None:
    assert formed(lambda items, scope, *_: in_sequence(items, scope), text) == expected


def loop(iterator: str, count: str, body: str) -> str:
    return f"for (long {iterator} = 0; {iterator} < {count}; {iterator}++) {{ {body} }}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("memset(a, 0, n * sizeof *a);", loop("k_2", "n", "a[k_2] = 0;")),
        ("memset(a + i, 0, sizeof(float));", loop("k_2", "1", "(a + i)[k_2] = 0;")),
        ("memset(C, 0, sizeof C);", loop("k_2", "4", loop("k_3", "5", "C[k_2][k_3] = 0;"))),
        ("memset(C[i], 0, sizeof C[0]);", loop("k_2", "5", "C[i][k_2] = 0;")),
        ("memset(r, 0, 4 * n * m);", loop("k_2", "n", loop("k_3", "m", "r[k_2][k_3] = 0;"))),
        ("memset(bytes, n, 7);", loop("k_2", "7", "bytes[k_2] = (unsigned char) n;")),
        ("memset(ints, -1, sizeof ints);", loop("k_2", "6", "ints[k_2] = -1;")),
        ("(void) memset(&ints[1], 128, 8);", loop("k_2", "2", "(&ints[1])[k_2] = -2139062144;")),
        ("memcpy(a, (void *) b, m * sizeof(*b));", loop("k_2", "m", "a[k_2] = b[k_2];")),
        ("memcpy(&p[i], q, sizeof(struct P));", loop("k_2", "1", "(&p[i])[k_2] = q[k_2];")),
        ("memmove(a, b + n, 8);", loop("k_2", "2", "a[k_2] = (b + n)[k_2];")),
        # no whole elements, of unlike types, with a value that is no element, rows of another length, overlap
        ("memset(a, 0, n);", None),
        ("memset(a, 0, 6);", None),
        ("memset(a, 0, n + sizeof *a);", None),
        ("memset(r, 0, 4 * n * n);", None),
        ("memset(a, 1, 4);", None),
        ("memset(p, 0, sizeof *p);", None),
        ("memset(&a[ints[0]], 0, 4);", None),
        ("memcpy(a, C, 8);", None),
        ("memcpy(a, ints, 8);", None),
        ("memmove(a, a + n, 8);", None),
    ],
)
def test_memory(text: str, expected: str | None) -> None:
    found = formed(lambda items, scope, names, _: as_loops(items, scope, names), text)
    assert found == (expected or formed(lambda items, *_: items, text))


def test_names_of_members_stay() -> None:
    tree = (
        c_parser.CParser().parse("void f(void) { int x = 1; p->x = x + s.x; { float x[2] = {x}; } }").ext[0]
    )
    assert shown(renamed(tree.body, {"x": "y"}).block_items) == (
        "int y = 1; p->x = y + s.x; { float y[2] = {y}; }"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "for (int d = 0; d < 3; d++) V[i].v[d] += d;",
            "{ { V[i].v[0] += 0; } { V[i].v[1] += 1; } { V[i].v[2] += 2; } }",
        ),
        ("for (k = 2; 0 <= k; k -= 2) V[k].v[k] = 0;", "{ { V[2].v[2] = 0; } { V[0].v[0] = 0; } }"),
        (
            "for (unsigned long d = ONE; d != 3; d++) V[i].v[2 - d] = 0;",
            "{ { V[i].v[2 - 1ul] = 0; } { V[i].v[2 - 2ul] = 0; } }",
        ),
        # rows of a member, with a variable in each copy
        (
            "for (int d = 0; d < 2; d++) { float s = V[i].m[d][1]; "
            "for (k = 0; k < 1; k++) V[n].m[d][k] = s; }",
            "{ { { float s = V[i].m[0][1]; { { V[n].m[0][0] = s; } } } } "
            "{ { float s = V[i].m[1][1]; { { V[n].m[1][0] = s; } } } } }",
        ),
        # no members, other uses of the iterator, ends that are not known, too many or below 0, and jumps
        ("for (int d = 0; d < 3; d++) a[d] = 0;", None),
        ("for (k = 0; k < 3; k++) V[i].v[k] = 0; m = k;", None),
        ("for (int d = 0; d < n; d++) V[i].v[d] = 0;", None),
        ("for (int d = 0; d < 3; d++) { V[i].v[d] = 0; d++; }", None),
        ("for (int d = 0; d < 99; d++) V[i].v[d % 3] = 0;", None),
        ("for (int d = -1; d < 2; d++) V[i].v[d + 1] = 0;", None),
        ("for (int d = 0; d < 3; d++) { V[i].v[d] = 0; if (n) break; }", None),
        ("for (float d = 0; d < 3; d++) V[i].v[(int)d] = 0;", None),
    ],
)
def test_loops_over_members(text: str, expected: str | None) -> None:
    found = formed(
        lambda items, scope, _, function: Unroller((function.body,)).written_out(items, scope), text
    )
    assert found == (expected or formed(lambda items, *_: items, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # copies of it and into it, as lists and as a whole
        (
            "{ struct P s = *p; s.x *= 2; q[i] = s; }",
            "{ float s_x = (*p).x; float s_y = (*p).y; s_x *= 2; { q[i].x = s_x; q[i].y = s_y; } }",
        ),
        (
            "{ const struct P s = {1, n}; struct P t = s; p->x = t.y; }",
            "{ float s_x = 1; float s_y = n; float t_x = s_x; float t_y = s_y; p->x = t_y; }",
        ),
        (
            "{ struct P s; s = (struct P){.y = 2}; a[0] = s.y; }",
            "{ float s_x; float s_y; { float s_x_2 = 0; float s_y_2 = 2; "
            "s_x = s_x_2; s_y = s_y_2; } a[0] = s_y; }",
        ),
        (
            "{ struct P s = p[-i + ints[k]]; q[-i] = s; }",
            "{ float s_x = p[-i + ints[k]].x; float s_y = p[-i + ints[k]].y; "
            "{ q[-i].x = s_x; q[-i].y = s_y; } }",
        ),
        # what is set from itself is read before
        (
            "{ struct P s = {1, 2}; s = (struct P){s.y, s.x}; q->x = s.x; }",
            "{ float s_x = 1; float s_y = 2; { float s_x_2 = s_y; float s_y_2 = s_x; "
            "s_x = s_x_2; s_y = s_y_2; } q->x = s_x; }",
        ),
        # arrays and structures in it
        (
            "{ struct N s = {{1}, {2, 3}}; a[0] = s.m[1] + s.p.y; }",
            "{ float s_p_x = 1; float s_p_y = 0; int s_m_0 = 2; int s_m_1 = 3; a[0] = s_m_1 + s_p_y; }",
        ),
        # its address, its size, a place that data choose, a target that its members may choose
        ("{ struct P s = *p; q = &s; }", None),
        ("{ struct P s = *p; n = sizeof s; }", None),
        ("{ struct N s = {{1}}; n = s.m[k]; }", None),
        ("{ struct P s = *p; q[ints[0]] = s; }", None),
        ("{ struct P s = n ? *p : *q; a[0] = s.x; }", None),
        # bits, members that share memory, another variable of the name, and what the region itself declares
        ("{ struct B s = {1}; n = s.b; }", None),
        ("{ union U s = {1}; n = s.k; }", None),
        ("{ struct P s = *p; { int s = 1; n = s; } a[0] = s.x; }", None),
        ("struct P s = *p; a[0] = s.x;", None),
    ],
)
def test_structures_as_variables(text: str, expected: str | None) -> None:
    root = c_parser.CParser().parse(f"{HEAD}\nvoid f({PARAMETERS})\n{{ {text} }}\n")
    function = root.ext[-1]
    scope = function_scope(function, file_scope(root, Hidden()))
    names = Names({*declared_names(root), *used_names(root)})
    body = list(function.body.block_items)
    before = shown(body)
    made = without_structures(body, scope, names)
    assert shown(body) == before
    assert shown(made) == (expected or before)


@pytest.mark.parametrize(
    ("text", "null", "there"),
    [
        ("if (a) m; else n;", "n;", "m;"),
        ("if (!a) m;", "m;", ""),
        ("b[0] = a != NULL ? a[n] : 0;", "b[0] = 0;", "b[0] = a[n];"),
        ("if (0 == a || n) m; m = a && k;", "m; m = 0;", "if (0 || n) m; m = a && k;"),
        ("if (n > 1 && a) m;", "", "if (n > 1 && a) m;"),
        ("if (f() && a) m;", "if (f() && a) m;", "if (f() && a) m;"),
        ("g(a, a + 1, a ? 1 : 2);", "g((void *) 0, a + 1, 2);", "g(a, a + 1, 1);"),
        ("if (a == b) m; if (a[0]) n;", "if (a == b) m; if (a[0]) n;", "if (a == b) m; if (a[0]) n;"),
    ],
)
def test_pointers_that_are_null_or_there(text: str, null: str, there: str) -> None:
    zero = c_parser.CParser().parse("int *p = (void *)0;").ext[0].init

    def done(pointer: Any) -> str:
        with_pointer = text.replace("NULL", "(void *)0")
        made = formed(lambda items, *_: [with_tests_done(i, "a", pointer) for i in items], with_pointer)
        return made.strip("; ")

    assert (done(zero), done(None)) == (null.strip("; "), there.strip("; "))
