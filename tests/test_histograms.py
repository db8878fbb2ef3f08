"""Histograms: threads add to copies of their own; what they can have none of is refused with a reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign
from polygpu.model.kernel_walk import map_statements
from polygpu.model.rewrite import rewrite
from polygpu.schedule.nests import host_loops
from polygpu.support.diagnostics import Diagnosed
from polygpu.verify.certificate import certify
from tests.test_shared_sums import assert_same, compiled, one

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
static TYPE h[SIZE];
static void count(int n, const int *restrict a, const float *restrict w)
{
#pragma scop
    for (int i = 0; i < n; i++)
        BODY
#pragma endscop
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), k = 0;
    int *a = malloc(n * sizeof *a + 4);
    float *w = malloc(n * sizeof *w + 4);
    while (k < n) { a[k] = (k * 7919 + k / 7) % 2011; w[k] = k % 13; k++; }
    for (k = 0; k < 64; k++) h[k] = k % 5;
    count(n, a, w);
    for (k = 0; k < 64; k++) printf("%g\\n", (double)h[k]);
    return 0;
}
"""
PLAIN = "h[a[i] & 63]++;"
BODIES = {
    "a count": ("int", PLAIN),
    "of what passes a test": ("unsigned char", "if (a[i] % 3) h[a[i] % 64] += a[i];"),
    "the largest": ("int", "if (a[i] > h[i * 5 & 63]) h[i * 5 & 63] = a[i];"),
    "by a value of its own": ("long", "{ int k = a[i] / 40; h[k] -= i; }"),
    "by a value with a bound": ("int", "{ int k = a[i] / 20; if (k > 63) k = 63; h[k]++; }"),
    "of floating-point numbers": ("float", "h[a[i] & 63] += w[i];"),
    "of the two ends of an edge": ("float", "{ h[a[i] & 63] += w[i]; h[a[i] / 7 & 63] -= 2 * w[i]; }"),
    "of locals at two places": ("int", "{ int k = a[i] & 63; h[k] += i; h[63 - k] -= k; h[5] += 3; }"),
    "of a local that tests change": (
        "float",
        "{ float t = w[i]; if (a[i] % 3) t = -t; if (t > 5) t = 5; h[a[i] & 63] += t; }",
    ),
    "of every third": ("int", "if (a[i] > 9) if (i % 3 == 1) h[a[i] & 63] += i;"),
    "of some of a nest": (
        "int",
        "for (int k = 0; k < 5; k++) if (a[i] > k) if ((i + k) % 3 == 1) h[a[i] & 63] += k;",
    ),
    "of some at two places": ("int", "{ if (a[i] > 9) h[a[i] & 63]++; if (a[i] % 3) h[a[i] % 61] -= i; }"),
}


def program(body: str = PLAIN, ctype: str = "int", size: str = "64") -> str:
    return PROGRAM.replace("BODY", body).replace("TYPE", ctype).replace("SIZE", size)


def test_each_thread_has_a_copy(tmp_path: Path) -> None:
    made = one(compiled(program(), tmp_path, reassociate=False))
    own = next(a for a in made.scop.arrays if a.name == "h_own")
    assert own.extents == (Int(64), Int(4096))
    assert not made.prepared.alone


def test_a_clause_says_how_many_elements_there_are(tmp_path: Path) -> None:
    text = """
void count(int n, int bins, const int *restrict a, const float *restrict w, float *restrict h)
{
#pragma omp parallel for reduction(+: h[:bins])
    for (int i = 0; i < n; i++)
        h[a[i]] += w[i];
}
"""
    made = one(compiled(text, tmp_path, reassociate=False))
    assert next(a for a in made.scop.arrays if a.name == "h").extents == (Name("bins"),)
    assert not made.prepared.alone
    assert any("more elements than threads have copies of" in a.reason for a in made.scop.assumptions)


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_what_is_counted(name: str, tmp_path: Path) -> None:
    ctype, body = BODIES[name]
    made = compiled(program(body, ctype), tmp_path, reassociate=ctype == "float")
    assert not certify(one(made)).failures
    assert_same(made, tmp_path, 0, 1, 5000)


LATER = """
#include <stdio.h>
#include <stdlib.h>
static int h[64], g[32];
static void count(int n, const int *restrict a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        h[a[i] & 63] += a[i];
    for (int i = 0; i < n; i++)
        g[a[i] & 31] += h[i & 63];
    for (int i = 0; i < n; i++)
        h[a[i] & 7] += g[i & 31];
#pragma endscop
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), k = 0;
    int *a = malloc(n * sizeof *a + 4);
    while (k < n) { a[k] = (k * 7919 + k / 7) % 2011; k++; }
    count(n, a);
    for (k = 0; k < 64; k++) printf("%d %d\\n", h[k], g[k / 2]);
    return 0;
}
"""


def test_a_later_histogram_comes_later(tmp_path: Path) -> None:
    made = compiled(LATER, tmp_path, reassociate=False)
    assert not one(made).prepared.alone
    assert_same(made, tmp_path, 500)


MEANS = """
#include <stdio.h>
#include <stdlib.h>
typedef struct { double x, y; long points; } cluster;
typedef struct { double x, y; int group; } point;
static cluster means[10];
static void add(int n, const point *restrict p)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        int c = p[i].group;
        means[c].x += p[i].x;
        if (p[i].y > 2)
            means[c].y += p[i].y;
        means[c].points++;
    }
#pragma endscop
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), k = 0;
    point *p = malloc(n * sizeof *p + 4);
    while (k < n) { p[k] = (point){k % 7, k % 11, k * k % 10}; k++; }
    add(n, p);
    for (k = 0; k < 10; k++) printf("%g %g %ld\\n", means[k].x, means[k].y, means[k].points);
    return 0;
}
"""


def test_what_a_loop_changes_behind_its_use_tells_no_element(tmp_path: Path) -> None:
    text = LATER.replace(
        "        h[a[i] & 63] += a[i];", "    {int was = g[0]; g[0] = a[i] & 63; h[was]++; }"
    )
    with pytest.raises(Diagnosed, match="changes what tells the element, or what is added: 'was'"):
        compiled(text, tmp_path)


def test_updates_of_several_members_are_several_histograms(tmp_path: Path) -> None:
    made = compiled(MEANS, tmp_path)
    own = {a.name: a.element for a in one(made).scop.arrays if "_own" in a.name}
    assert sorted(own.values()) == ["double", "double", "long"]
    assert not one(made).prepared.alone
    assert_same(made, tmp_path, 500)


@pytest.mark.parametrize(
    "name",
    ["of every third", "of some of a nest", "of the two ends of an edge", "of a local that tests change"],
)
def test_updates_are_histograms(name: str, tmp_path: Path) -> None:
    ctype, body = BODIES[name]
    made = compiled(program(body, ctype), tmp_path)
    assert len([a for a in one(made).scop.arrays if "_own" in a.name]) == body.count("h[")
    assert not one(made).prepared.alone
    assert_same(made, tmp_path, 0, 500)


def test_a_local_and_members_that_read_each_other_stay_one(tmp_path: Path) -> None:
    with pytest.raises(Diagnosed, match=r"the write to .means.c..x. is not affine"):
        compiled(MEANS.replace("+= p[i].x;", "+= means[c].y;"), tmp_path)


@pytest.mark.parametrize(
    ("body", "ctype", "size", "why"),
    [
        ("h[a[i] & 63] += w[i];", "float", "64", "floating-point numbers, which are added in order"),
        (PLAIN, "int", "1 << 20", "has 1,048,576 elements, of which threads cannot have copies"),
        ("{ h[a[i] & 63]++; h[i & 7] = 2; }", "int", "64", "the loop uses 'h' elsewhere"),
        ("{ h[a[i] & 63]++; h[a[i] & 7] |= 2; }", "int", "64", "the loop uses 'h' elsewhere"),
        ("{ h[a[i] & 63]++; h[a[i] & 7] += h[9]; }", "int", "64", "it depends on the data in 'a"),
        ("h[a[i] & 63] = h[a[i] & 63] || i > 9;", "int", "64", "more than an update of one element"),
        ("h[a[i] & 63] = i;", "int", "64", "it depends on the data in 'a"),
    ],
)
def test_reasons_for_none(body: str, ctype: str, size: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(Diagnosed) as caught:
        compiled(program(body, ctype, size), tmp_path, reassociate=False)
    assert why in str(caught.value.diagnostics[0].message)


def test_a_copy_that_two_threads_share_is_refuted(tmp_path: Path) -> None:
    made = one(compiled(program(), tmp_path, reassociate=False))

    def shared(e: Expr) -> Expr | None:
        if isinstance(e, Reference) and e.array == "h_own":
            element, copy = e.subscripts
            return replace(e, subscripts=(element, Binary("/", copy, Int(2))))
        return None

    def changed(s: object) -> object:
        if isinstance(s, Assign) and s.origin is not None and isinstance(s.target, Reference):
            new = shared(s.target) or s.target
            assert isinstance(new, Reference)
            return replace(s, target=new, value=rewrite(s.value, shared))
        return s

    region = made.region
    k = next(k for k, x in enumerate(region.kernels) if "a[i]" in " ".join(x.comment))
    body = map_statements(region.kernels[k].body, changed)  # type: ignore[arg-type]
    kernels = tuple(replace(x, body=body) if n == k else x for n, x in enumerate(region.kernels))
    assert certify(replace(made, region=replace(region, kernels=kernels))).failures


FRAMES = """
#include <stdio.h>
#include <stdlib.h>
static void count(int frames, int pixels, unsigned char a[restrict frames][pixels],
    int out[restrict frames][16])
{
    int h[16];
#pragma scop
    for (int f = 0; f < frames; f++) {
        for (int b = 0; b < 16; b++)
            h[b] = 0;
        for (int p = 0; p < pixels; p++)
            h[a[f][p] & 15] += 1;
        for (int b = 0; b < 16; b++)
            out[f][b] = h[b];
    }
#pragma endscop
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), k = 0;
    unsigned char *a = malloc(n * 70 + 1);
    int *out = malloc(n * 16 * sizeof *out + 4);
    while (k < 70 * n) { a[k] = k * k / 5 % 251; k++; }
    count(n, 70, (void *)a, (void *)out);
    for (k = 0; k < 16 * n; k++) printf("%d\\n", out[k]);
    return 0;
}
"""


@pytest.mark.parametrize("device", ["h100", "8800gtx"])
def test_frames_have_a_histogram_each(device: str, tmp_path: Path) -> None:
    """All of it is set to 0 before anything is counted: frames pass nothing on."""
    made = compiled(FRAMES, tmp_path, reassociate=False, device=device)
    region = one(made)
    assert not region.prepared.alone
    assert not host_loops(region.prepared.scheduled.host)
    assert not certify(region).failures
    assert_same(made, tmp_path, 1, 2, 33)


@pytest.mark.parametrize(
    "change", [("b = 0; b < 16; b++)\n            h", "b = 1; b < 16; b++)\n            h")]
)
def test_frames_that_pass_something_on_are_counted_in_order(change: tuple[str, str], tmp_path: Path) -> None:
    text = FRAMES.replace("int h[16];", "int h[16]; for (int b = 0; b < 16; b++) h[b] = 1;").replace(*change)
    made = compiled(text, tmp_path, reassociate=False)
    assert not certify(one(made)).failures
    assert_same(made, tmp_path, 1, 2, 5)


def test_a_histogram_that_two_frames_share_is_refuted(tmp_path: Path) -> None:
    made = one(compiled(FRAMES, tmp_path, reassociate=False))

    def shared(e: Expr) -> Expr | None:
        if isinstance(e, Reference) and e.array == "h":
            return replace(e, subscripts=(Binary("/", e.subscripts[0], Int(2)), *e.subscripts[1:]))
        return None

    def changed(s: object) -> object:
        if isinstance(s, Assign) and isinstance(s.target, Reference):
            new = shared(s.target) or s.target
            assert isinstance(new, Reference)
            return replace(s, target=new, value=rewrite(s.value, shared))
        return s

    kernels = tuple(replace(k, body=map_statements(k.body, changed)) for k in made.region.kernels)  # type: ignore[arg-type]
    assert certify(replace(made, region=replace(made.region, kernels=kernels))).failures
