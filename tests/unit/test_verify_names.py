"""Parameters that are named like the certificate's own variables, or like words of isl."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu import pipeline
from polygpu.compilation import Options
from polygpu.verify.certificate import certify

PROGRAM = """
void f(int N1, int N2, int N3, const float A[restrict N1][N2], float x[restrict N1], float c[restrict N3])
{
#pragma scop
    for (int i = 0; i < N1; i++)
        for (int j = 0; j < N2; j++)
            x[i] += A[i][j] * 2;
    for (int i = 0; i < N3; i++)
        c[i] = 7;
#pragma endscop
}
"""


@pytest.mark.parametrize(
    "names", [("t0", "b0", "v1"), ("h0", "s0", "v2"), ("t0__", "mod", "exists")], ids=str
)
@pytest.mark.parametrize("device", ["8800gtx", "h100"])
def test_names_of_indices(names: tuple[str, str, str], device: str, tmp_path: Path) -> None:
    text = PROGRAM
    for k, name in enumerate(names, 1):
        text = text.replace(f"N{k}", name)
    file = tmp_path / "f.c"
    file.write_text(text)
    options = Options(target="emulator", device=device)
    certificate = certify(pipeline.compile_file(str(file), options).regions[0])
    assert certificate.holds, certificate


@pytest.mark.parametrize("names", [("tid", "s_s"), ("n_r", "tid"), ("c0_in", "x_g")], ids=str)
def test_names_that_kernels_have_a_use_for(names: tuple[str, str], tmp_path: Path) -> None:
    size, factor = names
    file = tmp_path / "f.c"
    loop = f"for (int n = 0; n < {size}; n++) x[n] *= {factor};"
    file.write_text(f"void f(int {size}, float {factor}, float *x) {{ {loop} }}")
    region = pipeline.compile_file(str(file), Options(target="emulator", offload="always")).regions[0]
    assert region.prepared.renamed
    certificate = certify(region)
    assert certificate.holds, certificate
