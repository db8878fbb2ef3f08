"""Members, elements and products that a region cannot change are read once before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.model.scop import Scop
from tests.unit.frontend_text import assumptions, bodies, domain, errors, extents, lifted, region

TYPES = """
typedef struct { int n; float s; unsigned char flag; } dim;
typedef struct image { int w, h; unsigned char *data; struct image *next; double t[4][5]; } image;
typedef struct { image inner; float *v[3]; struct { int k; float *u; }; } group;
"""


def scalars(scop: Scop) -> dict[str, str]:
    """What the host reads, by the names that the region has for it."""
    return {s.name: s.source for s in scop.scalars if s.host}


def arrays(scop: Scop) -> dict[str, str]:
    return {a.name: a.host for a in scop.arrays}


@pytest.mark.parametrize(
    ("parameters", "bound", "name", "host"),
    [
        ("dim d", "d.n", "d_n", "d.n"),
        ("const dim d", "d.n", "d_n", "d.n"),
        ("dim *d", "d->n", "d_n", "d->n"),
        ("dim *d", "(*d).n", "d_n", "d->n"),
        ("dim *d", "d[2].n", "d_2_n", "d[2].n"),
        ("group *g", "g->inner.w", "g_inner_w", "g->inner.w"),
        ("group *g", "g->inner.next->w", "g_inner_next_w", "g->inner.next->w"),
        ("group *g", "g->k", "g_k", "g->k"),
        ("const int *d", "*d", "d_0", "d[0]"),
        ("const int *d, int l", "d[l + 1]", "d_l_1", "d[l + 1]"),
        ("int n, int m", "n * m", "n_m", "(n * m)"),
        ("int n, long m", "(n - 1) * m", "n_1_m", "((n - 1) * m)"),
        ("int n, int m", "(long)n * m", "n_m", "((long)n * m)"),
        ("int n, int m", "n / m", "n_m", "(m ? n / m : 0)"),
        ("image p", "p.w * p.h", "p_w_p_h", "(p.w * p.h)"),
        ("double f", "(int)(f * 10)", "f_10", "(int)(f * 10)"),
    ],
)
def test_bounds(parameters: str, bound: str, name: str, host: str, tmp_path: Path) -> None:
    scop = region(
        tmp_path, f"{parameters}, float *restrict a", f"for (int i = 0; i < {bound}; i++) a[i] = 1;", TYPES
    )
    assert scalars(scop) == {name: host}
    assert domain(scop.statements[0])[-1] == f"(i < {name})"
    assert [s.name for s in scop.scalars if s.affine] == [name]


def test_a_product_beside_rows_of_one_factor(tmp_path: Path) -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) if (i < n * m) a[i * m + j] = n * m;"
    scop = region(tmp_path, "int n, int m, float *a", body)
    assert extents(scop) == {"a": [None, "m"]}
    assert assumptions(scop) == ["S0: 0 <= j < m"]
    assert bodies(scop) == ["a[i][j] = (n * m);"]


def test_what_a_product_is_made_of_is_no_parameter_of_its_own(tmp_path: Path) -> None:
    scop = region(tmp_path, "int n, int m, float *a", "for (int i = 0; i < n * m; i++) a[i] = 1;")
    assert [s.name for s in scop.scalars] == ["n_m"]
    assert [s.name for s in scop.whole] == ["n", "m"]


def test_values_of_members(tmp_path: Path) -> None:
    scop = region(
        tmp_path,
        "dim d, dim *p, float *restrict a",
        "for (int i = 0; i < p->n; i++) a[i] = d.s * p->s;",
        TYPES,
    )
    assert bodies(scop) == ["a[i] = (d_s * p_s);"]
    assert scalars(scop) == {"p_n": "p->n", "d_s": "d.s", "p_s": "p->s"}


def test_pointers_and_arrays_in_structures(tmp_path: Path) -> None:
    body = """
    for (int i = 0; i < g->inner.w; i++) {
        g->inner.data[i] = g->inner.next->data[i];
        g->v[1][i] = g->v[0][i] + g->inner.t[1][i] + g->u[i];
        g->inner.next->t[i][0] = 1;
        g->inner.h += i;
    }"""
    scop = region(tmp_path, "group *g", body, TYPES)
    assert arrays(scop) == {
        "g_inner_data": "g->inner.data",
        "g_inner_next_data": "(0 < g->inner.w ? g->inner.next->data : 0)",
        "g_v_1": "g->v[1]",
        "g_v_0": "g->v[0]",
        "g_inner_t": "&g->inner.t[0][0]",
        "g_u": "g->u",
        "g_inner_next_t": "(0 < g->inner.w ? &g->inner.next->t[0][0] : 0)",
        "g_inner_h": "&g->inner.h",
    }
    assert extents(scop)["g_inner_t"] == ["4", "5"]
    assert {a.storage for a in scop.arrays} == {"parameter"}
    assert not any(a.restrict for a in scop.arrays)


def test_parts_of_declared_variables(tmp_path: Path) -> None:
    body = (
        "for (int i = 0; i < 4; i++) for (int j = 0; j < 5; j++) global.t[i][j] = own.t[i][j] + v[k].t[i][j];"
    )
    head = f"{TYPES} image global, v[7];"
    scop = region(tmp_path, "int k, image own", body, head)
    assert {a.name: a.storage for a in scop.arrays} == {
        "global_t": "global",
        "own_t": "local",
        "v_k_t": "parameter",  # which is any of the elements
    }


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("dim *p, int *q", "for (int i = 0; i < p->n; i++) q[i] = 3;"),
        ("int *n, int *q", "for (int i = 0; i < *n; i++) q[i] = 3;"),
        ("image *p", "for (int i = 0; i < p->w; i++) p->data[i] = 3;"),
    ],
)
def test_stores_that_may_change_what_is_read_once(parameters: str, body: str, tmp_path: Path) -> None:
    scop = region(tmp_path, parameters, body, TYPES)
    assert scop.exposed
    assert all(e.pointed for e in scop.exposed)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("for (int i = 0; i < h[0]; i++) h[i] = 1;", "it depends on the data in 'h[0]'"),
        ("for (int i = 0; i < h[n]; i++) h[i + 1] = 1;", "it depends on the data in 'h[n]'"),
        ("int *q = h; for (int i = 0; i < h[0]; i++) q[i] = 1;", "it depends on the data in 'h[0]'"),
        ("for (int i = 0; i < d.n; i++) d.n = n;", "is changed in the region"),
        (
            "for (int k = 0; k < 2; k++) { for (int i = 0; i < d.n; i++) a[i] = 1; d = c; }",
            "is changed in the region",
        ),
    ],
)
def test_what_the_region_changes_is_no_parameter(body: str, reason: str, tmp_path: Path) -> None:
    text = (
        f"{TYPES} void f(int n, int *h, dim d, dim c, float *a) {{\n#pragma scop\n{body}\n#pragma endscop\n}}"
    )
    (error,) = errors(tmp_path, text)
    assert reason in error.message


def test_other_elements_may_be_written(tmp_path: Path) -> None:
    scop = region(tmp_path, "int *h", "for (int i = 0; i < h[0]; i++) h[1] = i;")
    assert scalars(scop) == {"h_0": "h[0]"}
    scop = region(tmp_path, "dim *p", "for (int i = 0; i < p->n; i++) p[i].s = 1;", TYPES)
    assert scalars(scop) == {"p_n": "p->n"}


@pytest.mark.parametrize(
    ("body", "host"),
    [
        ("for (int i = 0; i < n; i++) p->data[i] = 1;", "(0 < n ? p->data : 0)"),
        (
            "for (int i = 1; i <= n; i++) for (int j = m; j > 0; j--) p->data[i + j] = 1;",
            "(1 <= n && ((int) m) > 0 ? p->data : 0)",
        ),
        ("for (int i = 0; i < p->w; i++) if (i > 2) p->data[i] = 1;", "p->data"),
        (
            "for (int i = 0; i < n; i++) if (n > 5 || m) p->data[i] = 1;",
            "(0 < n && (n > 5 || m) ? p->data : 0)",
        ),
        ("for (char i = 3; i < n; i++) p->data[i] = 1;", "(((char) 3) < n ? p->data : 0)"),
    ],
)
def test_pointers_are_followed_where_the_source_does(body: str, host: str, tmp_path: Path) -> None:
    assert arrays(region(tmp_path, "image *p, int n, int m", body, TYPES)) == {"p_data": host}


def test_tests_for_null(tmp_path: Path) -> None:
    body = "for (int i = 0; i < n; i++) { if (x && p->w > 2) a[i] = x[i]; if (y == 0) a[i] += 1; }"
    scop = region(tmp_path, "image *p, int n, float *x, float *y, float *a", body, f"{TYPES}")
    assert scalars(scop) == {"x_given": "(x != 0)", "p_w": "(0 < n && x ? p->w : 0)", "y_given": "(y != 0)"}
    assert len(scop.context) == 2


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) p->data[j] = 1;",
            "'p->data' may not be there",
        ),
        ("for (int i = 0; i < n; i++) if (x[i] > 1) x[i] = p->t[1][i];", "'p->t' may not be there"),
        (
            "for (int i = 0; i < n; i++) { p->data[i] = 1; p->data = 0; }",
            "'p->data' is changed in the region",
        ),
        ("for (int i = 0; i < n; i++) p[i].data[i] = 1;", "'p[i].data' is another one in each iteration"),
    ],
)
def test_reasons(body: str, reason: str, tmp_path: Path) -> None:
    text = f"{TYPES} void f(int n, image *p, double *x) {{\n#pragma scop\n{body}\n#pragma endscop\n}}"
    error, *_ = errors(tmp_path, text)
    assert (error.id, reason in error.message) == ("PG146", True)


def test_unions_and_volatile_members_are_refused(tmp_path: Path) -> None:
    head = "typedef struct { volatile int n; union { int a; float b; } u; } odd;"
    for bound, identity in (("p->n", "PG142"), ("p->u.a", "PG146")):
        loop = f"for (int i = 0; i < {bound}; i++) x[i] = 1;"
        text = f"{head} void f(odd *p, float *x) {{\n#pragma scop\n{loop}\n#pragma endscop\n}}"
        (error,) = errors(tmp_path, text)
        assert error.id == identity


def test_loops_over_all_elements_are_no_region_with_those_over_rows(tmp_path: Path) -> None:
    text = """void f(int w, int h, float *x) {
        for (int i = 0; i < w * h; i++) x[i] = i;
        for (int i = 0; i < h; i++) for (int j = 0; j < w; j++) x[i * w + j] += 1;
    }"""
    first, second = lifted(tmp_path, text).scops
    assert (extents(first), extents(second)) == ({"x": [None]}, {"x": [None, "w"]})


def test_names_are_new_to_the_file(tmp_path: Path) -> None:
    head = f"{TYPES} int d_n, d_n_;"
    scop = region(tmp_path, "dim d, float *a", "for (int i = 0; i < d.n; i++) a[i] = d_n;", head)
    assert scalars(scop) == {"d_n__": "d.n"}


def test_labels_and_messages_are_those_of_the_source(tmp_path: Path) -> None:
    scop = region(tmp_path, "image *p", "rows: for (int i = 0; i < p->w; i++) p->data[i] = 1;", TYPES)
    assert [loop.label for loop in scop.loops] == ["rows"]
    assert [a.text for a in scop.statements[0].accesses] == ["p->data[i]"]


def test_what_decides_about_reading_is_read_once_too(tmp_path: Path) -> None:
    body = "for (int i = 0; i < n; i++) if (w[0] > 0.5f) { y[i] = p->s; }"
    scop = region(tmp_path, "dim *p, int n, const float *w, float *y", body, TYPES)
    assert scalars(scop) == {"p_s": "(0 < n && w[0] > 0.5f ? p->s : 0)"}
    assert [e.name for e in scop.exposed] == ["p->s", "w[0]"]


def test_pointers_in_an_array_that_are_tested_are_no_rows(tmp_path: Path) -> None:
    head = "typedef struct { float *row[4]; } rows;"
    loop = "for (int i = 0; i < n; i++) if (r->row[i]) k[i] = 1;"
    text = f"{head}\nvoid f(int n, rows *r, int *k) {{\n#pragma scop\n{loop}\n#pragma endscop\n}}"
    assert [d.id for d in errors(tmp_path, text)] == ["PG146"]
