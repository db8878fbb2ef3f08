"""Whole programs whose regions read members once: where a store may change what was read, the loop stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.pipeline import compile_file
from tests.unit.emulated import printed

PROGRAM = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct { int n; float s; int m; } size;
typedef struct link { int count; double *u; struct link *next; double w[8]; } link;
typedef struct { int w, h; unsigned char *data; } image;
typedef struct { link inner; link *other; int k; double t[4][5]; } group;
void ints(size *p, int *q) { for (int i = 0; i < p->n; i++) q[i] = 3; }
void own(int *n, int *q) { for (int i = 0; i < *n; i++) q[i] = 2; }
void floats(size *p, float *x) { for (int i = 0; i < p->n; i++) x[i] = x[i] + p->s; }
void bytes(image *p) { for (int i = 0; i < p->w * p->h; i++) p->data[i] = 1; }
void moved(link *f, link *g, int n) { for (int i = 0; i < n; i++) { f->u[i] = i; f->u = g->u; } }
void twice(size s, size t, float *x)
{
#pragma scop
    for (int i = 0; i < 9; i++) x[i] += s.s;
    s = t;
    for (int i = 0; i < 7; i++) x[i] *= s.s;
#pragma endscop
}
"""
CALLS = """
int main(void)
{
    size s = {10, 1.5f, 3}, v[8];
    int a[20];
    for (int i = 0; i < 20; i++) a[i] = 8;
    for (int i = 0; i < 8; i++) v[i].n = 5, v[i].s = i + 0.5f, v[i].m = 0;
    ints(&s, &s.n); own(a + 3, a); floats(&v[1], &v[1].s);
    printf("%d %d %g %g\\n", s.n, a[7], v[1].s, v[2].s);
    image p = {4, 1, 0};
    p.data = (unsigned char *)&p.w;
    bytes(&p);
    double m1[40] = {0}, m2[40] = {0};
    link f2 = {4, m2, 0, {0}}, f1 = {6, m1, &f2, {1, 2, 3, 4, 5, 6, 7, 8}};
    group g = {f1, &f2, 5, {{1, 2, 3}}};
    linked(&g, 9); nothing(0, 0); nothing(&f1, 3); swap(&g, &g); level(&f1, 0, 0, 7);
    test(0, m1); test(&f1, m1);
    printf("%d %g %g %g %g\\n", p.w & 255, m1[1], m1[3], g.t[0][0], f1.w[3]);
    return 0;
}
"""
MORE = """
void linked(group *g, int n)
{
    for (int i = 0; i < n; i++) { g->inner.u[i] += g->other->u[i] + g->k; g->k += i; }
}
void nothing(link *f, int n) { for (int i = 0; i < n; i++) f->u[i] += 1; }
void swap(group *g, group *h)
{
    for (int i = 0; i < 4; i++) for (int j = 0; j < 5; j++) g->t[i][j] = h->t[3 - i][4 - j] + 1;
}
void level(link *f, int l, int k, int n) { for (int i = 0; i < n; i++) f[l].w[i] = f[k].w[i + 1] + 1; }
void test(link *f, double *y) { for (int i = 0; i < 20; i++) y[i] += f && f->count > 2 ? 1 : 2; }
"""


@pytest.mark.parametrize("target", ["emulator"])
def test_programs_print_what_the_original_prints(target: str, tmp_path: Path) -> None:
    text = PROGRAM.replace("#pragma scop\n", "").replace("#pragma endscop\n", "") + MORE + CALLS
    (tmp_path / "program.c").write_text(text)
    done = compile_file(str(tmp_path / "program.c"), Options(target=target, offload="always"))
    for suffix, made in done.files.items():
        (tmp_path / f"program{suffix}").write_text(made)

    found, said = printed(tmp_path, "program_host.c", f"program_{target}.c")
    assert found == printed(tmp_path, "program.c")[0]
    refused = [line.rpartition("host: ")[2] for line in said.splitlines()]
    assert [line.split(" overlap")[0] for line in refused] == [
        "'p->n' and 'q'",
        "'n[0]' and 'q'",
        "'p->s' and 'x'",
        "'p->w' and 'p->data'",
        "'g->t' and 'h->t'",
        "'f[l].w' and 'f[k].w'",
    ]
