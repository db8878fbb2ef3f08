"""What a complex number meets in an operation keeps its own type (C99 6.3.1.1, 6.3.1.8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_shared_sums import assert_same, compiled

PROGRAM = """
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
struct numbers { unsigned char c; short h; unsigned u; };
int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    float complex *z = malloc(n * sizeof *z + 1);
    struct numbers *a = malloc(n * sizeof *a + 1);
    for (int i = 0; i < n; i++) {
        z[i] = CMPLXF(i, -2);
        a[i] = (struct numbers){i * 37, -i * 991, i * 2654435761u};
    }
#pragma scop
    for (int i = 0; i < n; i++) {
        STATEMENT;
    }
#pragma endscop
    for (int i = 0; i < n; i++)
        printf("%a %a\\n", crealf(z[i]), cimagf(z[i]));
    return 0;
}
"""


@pytest.mark.parametrize(
    "statement",
    [
        "z[i] *= -a[i].c",
        "z[i] = ~a[i].c * z[i] + z[i]",
        "z[i] *= -a[i].h",
        "z[i] *= -a[i].u",
        "z[i] *= 3000000000 + a[i].c",
        "z[i] /= 0xffffffff - a[i].c",
        "z[i] *= a[i].c ? a[i].c : -a[i].c",
        "z[i] *= 'a' - 'b' * a[i].c",
        "z[i] /= !a[i].c + 1.5",
    ],
)
def test_results_are_the_sources(statement: str, tmp_path: Path) -> None:
    made = compiled(PROGRAM.replace("STATEMENT", statement), tmp_path, reassociate=False)
    assert_same(made, tmp_path, 0, 40)
