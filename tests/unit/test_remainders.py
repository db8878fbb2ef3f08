"""Subscripts that go round: remainders by a number that is known at run time, in rows of a flat array."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.verify.certificate import certify
from tests.test_shared_sums import assert_same, compiled

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
static void step(int n, int m, const int *g, int *h)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            int on = g[i * m + j];
            BODY
        }
#pragma endscop
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), m = n > 3 ? n - 3 : 2 * n;
    int *g = malloc(4 * n * m + 1), *h = calloc(n * m + 1, 4), *room = calloc(n * m + 99, 4);
    for (int k = 0; k < n * m; k++)
        g[k] = k * 7919 % 5;
    for (int t = 0; t < 3; t++) {
        step(n, m, g, h);
        int *s = g;
        g = h, h = s;
    }
    for (int k = 0; k < n * m; k++)
        printf("%d\\n", g[k]);
    return room[0];
}
"""
AROUND = "h[i * m + j] = on + g[(i + n - 1) % n * m + j] + g[(i + 1) % n * m + (j + m - 1) % m];"
LIFE = """
            int s = 0;
            for (int p = -1; p <= 1; p++)
                for (int q = -1; q <= 1; q++)
                    s += (p || q) && g[(i + p + n) % n * m + (j + q + m) % m];
            h[i * m + j] = s == 3 || (s == 2 && g[i * m + j]);
"""
BELOW = "h[i * m + j] = i > 0 ? on + g[i * m + (j - 1) % m] : on;"  # the last of the row before, where j is 0


@pytest.mark.parametrize("body", [AROUND, LIFE])
def test_rows_that_are_met_again_are_told_apart(body: str, tmp_path: Path) -> None:
    made = compiled(PROGRAM.replace("BODY", body), tmp_path, reassociate=False)
    assert_same(made, tmp_path, 0, 1, 2, 3, 9, 40)
    (region,) = made.regions
    assert region.region.kernels[0].block != (1, 1, 1)
    assert not certify(region).failures
    host = made.files["_host.c"]
    assert (
        "% n" in host and "% m" not in host.split("step_0(")[1].split("#line")[0]
    )  # rows alone are measured


def test_remainders_below_0_are_of_the_row_before(tmp_path: Path) -> None:
    """The host runs the loop: what C has there is no element of the row."""
    made = compiled(PROGRAM.replace("BODY", BELOW), tmp_path, reassociate=False)
    assert_same(made, tmp_path, 0, 1, 2, 9)
    assert "is taken to have rows of its stride's length" in made.files["_host.c"]


def test_columns_that_rows_do_not_bound_are_refused(tmp_path: Path) -> None:
    text = PROGRAM.replace("BODY", "h[i * m + j] = on + g[i * m + (j + 1) % n];")
    (said,) = (d for d in _said(text, tmp_path) if d == "PG161")
    assert said


def _said(text: str, directory: Path) -> list[str]:
    made = compiled(text.replace("#pragma scop", "").replace("#pragma endscop", ""), directory)
    return [d.id for d in made.diagnostics for d in (d, *d.notes)]
