"""What schedules add up and multiply fits into int, or the host tests it."""

from __future__ import annotations

from pathlib import Path

import islpy as isl
import pytest

from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.pipeline import compile_file
from tests.unit.emulated import assert_same, compiled

SUMS = "int does not hold what kernels compute"
HEAT = """for (int t = t0; t < t0 + 4; t++)
        for (int i = 1; i < n - 1; i++)
            x[i] = (x[i - 1] + x[i + 1]) * 0.5f + 1;"""


def region_of(directory: Path, parameters: str, body: str) -> CompiledRegion:
    text = f"void f({parameters})\n{{\n#pragma scop\n    {body}\n#pragma endscop\n}}\n"
    (directory / "f.c").write_text(text)
    (region,) = compile_file(str(directory / "f.c"), Options(target="cuda", device="h100")).regions
    return region


def test_a_skewed_nest_is_tested(tmp_path: Path) -> None:
    region = region_of(tmp_path, "int t0, int n, float *x", HEAT)
    (condition,) = (c for c in region.conditions if SUMS in c.reason)
    fits = isl.Set("[t0, n] -> { : -500000000 <= t0 <= 500000000 and 3 <= n <= 100000000 }")
    beyond = isl.Set("[t0, n] -> { : n >= 3 and (2t0 + n > 2147483647 or 2t0 < -2147483647) }")
    assert fits.is_subset(condition.holds)
    assert condition.holds.intersect(beyond).is_empty()


@pytest.mark.parametrize(
    ("parameters", "body"),
    [
        ("int n, float x[restrict n]", "for (int i = 0; i < n; i++) x[i] = 1;"),
        ("int n, float x[restrict n][n]", "for (int i = n - 1; i >= 0; i--) x[i][0] += x[i][1];"),
        ("float *x", "int n = 50, t0 = 0;\n" + HEAT),
        ("short t0, short n, float *x", HEAT),
    ],
)
def test_what_certainly_fits_is_not(parameters: str, body: str, tmp_path: Path) -> None:
    assert [c for c in region_of(tmp_path, parameters, body).conditions if SUMS in c.reason] == []


PROGRAM = r"""
#include <stdio.h>

void wave(int n, int m, float A[20][20])
{
#pragma scop
    for (int i = n + 1; i < n + 19; i++)
        for (int j = m + 1; j < m + 19; j++)
            A[i - n][j - m] = A[i - n - 1][j - m] + A[i - n][j - m - 1] * 0.5f + 1;
#pragma endscop
}

int main(void)
{
    static const int offsets[] = {0, 1500000000, -1500000000, 1000000000};
    for (int k = 0; k < 16; k++) {
        static float A[20][20];
        wave(offsets[k % 4], offsets[k / 4], A);
        printf("%.9g %.9g\n", A[1][1], A[18][18]);
    }
}
"""


def test_results_are_the_originals_at_any_offset(tmp_path: Path) -> None:
    compiled(tmp_path, PROGRAM)
    said = assert_same(tmp_path)
    assert said.count("the loop runs on the host") == 1
