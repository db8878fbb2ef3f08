"""Updates that a branch does beside other things: shared by threads where they may be, and always right.

Terms are integers, or floating-point numbers that are some: their sums are the same in any order.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.support.diagnostics import Diagnosed
from polygpu.verify.certificate import certify
from tests.support_kernels import some_by_default
from tests.test_shared_sums import assert_same, blocks, compiled, one

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
static int h[64], c1, c2;
static double sx, sy, y[5001];
static void count(int n, const int *restrict a, const double *restrict x)
{
    int i, b;
    double t, u;
#pragma scop
    for (i = 0; i < n; i++) {
        BODY
    }
#pragma endscop
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), k = 0;
    int *a = malloc(n * sizeof *a + 4);
    double *x = malloc(n * sizeof *x + 8), s = 0;
    while (k < n) { a[k] = (k * 7919 + k / 7) % 61; x[k] = k * 37 % 10; k++; }
    count(n, a, x);
    printf("%d %d %.17g %.17g\\n", c1, c2, sx, sy);
    for (k = 0; k < 64; k++) printf("%d\\n", h[k]);
    for (k = 0; k < n; k++) s += y[k] * (k % 9);
    printf("%.17g\\n", s);
    return 0;
}
"""
SHARED = {
    "two sums": "if (a[i] > 9) { sx += x[i]; c1++; }",
    "a local": "if (a[i] > 9) { double v = x[i] * 2; sx += v; sy -= v * v; }",
    "a variable of the function": "if (a[i] > 9) { t = x[i] + 1; sx += t; t = t * 2; sy += t; }",
    "both sides": "if (x[i] > 4) { t = x[i]; sx += t; c1 += 2; } else { sy += x[i]; c1 -= a[i]; c2++; }",
    "a chain of tests": "if (a[i] > 40) { c1++; sx += 1; } else if (a[i] > 20) { c2 += a[i]; sy -= x[i]; }",
    "what is stored, too": "if (a[i] > 9) { t = x[i] * 3; sx += t; y[i] = t; }",
    "a value with bounds": "if (a[i] > 9) { t = x[i]; if (t > 7) t = 7; if (t < 2) t = 2; sx += t; c1++; }",
    "a histogram of what is computed": "if (a[i] > 9) { t = x[i] * 6; b = (int)t; h[b]++; sx += t; }",
    "a place with a bound": "if (a[i] % 3) { b = a[i] * 2; if (b > 63) b = 63; h[b] += a[i]; c1 += b; }",
    "a place that a test bounds": "b = a[i] * 3 - 40; if (b >= 0 && b < 64) h[b]++;",
    "a place that a test bounds, beside others": "b = a[i] * 3 - 40; if (b > 0 && b < 9) { h[b]++; c1++; }",
    "a place that is counted down": "b = a[i]; if (b > 3) { b = b - 1; h[b]++; c1 += b; }",
    "a test within": "if (a[i] > 9) { t = x[i] + 1; if (t > 4) { h[(int)t] += 2; c1++; } sx += t; }",
    "narrow types": "if (a[i] > 9) { unsigned char q = a[i] * 9; c1 += q; h[q & 63] += (short)(q * 300); }",
    "what changes behind": "u = x[i]; if (a[i] > 9) { sx += u; u = u * 2; y[i] = u; }",
}
ALONE = {
    "a sum of a count": "if (a[i] > 9) { c1++; sx += c1; }",
    "a test of a count": "if (a[i] > 9) { c1 += 2; if (c1 > 50) c2++; sx += 1; }",
    "two operators": "if (a[i] > 9) { c1 += 2; c1 = c1 * 3; sx += 1; }",
    "set between": "if (a[i] > 9) { c1 += 2; c2 = c1; c1 = 5; sx += 1; }",
    "an element that was stored": "if (a[i] > 9) { y[i / 2] = 2; sx += y[i / 3]; c1++; }",
}
REFUSED = {
    "a place that a count tells": "if (a[i] > 9) { c1++; h[c1 & 63] += 2; }",
    "a histogram that is read": "if (a[i] > 9) { h[a[i]]++; c1 += h[2]; }",
    "a histogram that was read": "if (a[i] > 9) { b = h[a[i] & 7]; h[a[i]]++; c1 += b; }",
    "a histogram that tells": "if (h[3] < 50) { h[a[i]]++; c1++; }",
}


@pytest.mark.parametrize("name", some_by_default([(name,) for name in (*SHARED, *ALONE)], one_in=2))
def test_updates_beside_other_things(name: str, tmp_path: Path) -> None:
    made = compiled(PROGRAM.replace("BODY", {**SHARED, **ALONE}[name]), tmp_path)
    assert ((1, 1, 1) in blocks(made)) == (name in ALONE)
    assert not certify(one(made)).failures
    assert_same(made, tmp_path, 0, 1, 700)


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_to_stay_in_order(name: str, tmp_path: Path) -> None:
    with pytest.raises(Diagnosed, match="is not affine"):
        compiled(PROGRAM.replace("BODY", REFUSED[name]), tmp_path)


NOT_THERE = """
#include <stdio.h>
#include <stdlib.h>
struct found { int *most; int at; };
static void look(struct found *f, int n, const int *restrict a)
{
#pragma scop
    for (int i = n - 1; i >= 0; i--)
        if (a[i] > f->most[1]) {
            f->most[1] = a[i];
            f->at = i;
        }
#pragma endscop
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), most[2] = {0, 3}, *a = malloc(n * sizeof *a + 4);
    struct found f = {n > 0 ? most : NULL, -1};
    for (int k = 0; k < n; k++) a[k] = k * 7919 % 1000;
    look(&f, n, a);
    printf("%d %d\\n", f.at, most[1]);
    return 0;
}
"""


def test_what_no_iteration_uses_need_not_exist(tmp_path: Path) -> None:
    made = compiled(NOT_THERE, tmp_path)
    assert set(blocks(made)) != {(1, 1, 1)}
    assert certify(one(made)).holds
    assert_same(made, tmp_path, 0, 1, 700)


def test_floating_point_sums_stay_in_order_unless_asked(tmp_path: Path) -> None:
    text = PROGRAM.replace("BODY", SHARED["a local"])
    assert (1, 1, 1) in blocks(compiled(text, tmp_path, reassociate=False))
    assert (1, 1, 1) not in blocks(compiled(text, tmp_path))
