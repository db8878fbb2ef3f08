"""Parameters of types other than int: kernels count in int, computations see the types of the source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.pipeline import compile_file
from tests.unit.emulated import printed

PROGRAM = r"""
#include <stddef.h>
#include <stdio.h>

void region(size_t n, unsigned m, long q, float *restrict x, double *restrict y, unsigned *restrict z)
{
#pragma scop
    for (int i = 0; i < 40; i++) {
        x[i] = m - 5;
        if (i + 2 > m)
            y[i] = 0.5 * (m - i) + q;
        else
            z[i] = z[i] + n - 3 * m;
        if (q + i < 7)
            z[i] -= q;
    }
    for (unsigned i = 3; i < m; i++)
        for (size_t j = 0; j + 2 < n; j++)
            z[i] += x[j] > m ? m - 7 : m;
#pragma endscop
}

int main(void)
{
    for (unsigned n = 0; n < 70; n += n < 9 ? 1 : 29) {
        float x[70];
        double y[70], sum = 0;
        unsigned z[70];
        for (int i = 0; i < 70; i++)
            x[i] = i, y[i] = 2 * i, z[i] = i;
        region(n, n, (long)n - 5, x, y, z);
        for (int i = 0; i < 70; i++)
            sum += x[i] * (i + 1) + y[i] + z[i];
        printf("%u %.17g\n", n, sum);
    }
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("unsigned")
    (directory / "program.c").write_text(PROGRAM)
    for target in ("emulator", "cuda"):
        done = compile_file(str(directory / "program.c"), Options(target=target, device="h100"))
        for suffix, text in done.files.items():
            (directory / f"program{suffix}").write_text(text)
    return directory


def _printed(directory: Path, *files: str) -> str:
    return printed(directory, *files)[0]


def test_wrapping_comparisons_and_computations(built: Path) -> None:
    """`m - 5 < i` is not true of m = 3, and `m - 5` as a value is a large number."""
    assert _printed(built, "program_host.c", "program_emulator.c") == _printed(built, "program.c")


def test_kernels_take_int(built: Path) -> None:
    text = (built / "program_cuda.cu").read_text()
    heads = re.findall(r"^region_0_k\d\(([^)]*)\)", text, re.MULTILINE)
    names = {w for head in heads for w in re.findall(r"(\w[\w ]*) (?:n|m|q)\b", head)}
    assert names == {"int"}


def test_larger_values_stay_on_the_host(built: Path) -> None:
    text = (built / "program_host.c").read_text()
    assert "!(n <= 2147418112)" in text
    assert "!(m <= 2147418112)" in text
    assert "!(q <= 2147418112 && q >= -2147418112)" in text
