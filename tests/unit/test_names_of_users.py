"""Names of the source that kernels or their calls have a use for: `tid`, `x_r` beside x, `block_n`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from polygpu.analysis.names import FreeNames, with_free_names
from polygpu.compilation import Options
from polygpu.pipeline import compile_file
from polygpu.runtime.toolchain import find_nvcc
from tests.support_kernels import require_nvcc, some_by_default
from tests.unit.emulated import assert_same, compiled
from tests.unit.frontend_text import region

PROGRAM = r"""
#include <stdio.h>

void vector(int n, int NAME, float A[n][n], float *x, const float *y)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i] += A[i][j] * y[j] * NAME;
#pragma endscop
}

void bound(int n, int NAME, float A[n][n], float *x, const float *y)
{
#pragma scop
    for (int i = 0; i < NAME; i++)
        for (int j = 0; j < NAME - 3; j++)
            x[i] += A[j][i] * y[j];
#pragma endscop
}

void array(int n, float A[n][n], float *x, const float *NAME)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float t = A[i][j] * NAME[j];
            x[i] += t;
        }
#pragma endscop
}

void iterator(int n, float A[n][n], float *x, const float *y)
{
#pragma scop
    for (int NAME = 0; NAME < n; NAME++)
        for (int j = 0; j < n; j++)
            x[NAME] += A[NAME][j] * y[j];
#pragma endscop
}

void local(int n, float A[n][n], float *x, const float *y)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float NAME = A[i][j];
            NAME *= y[j];
            x[i] += NAME;
        }
#pragma endscop
}

int main(void)
{
    static float A[70][70], x[70], y[70];
    for (int k = 0; k < 4900; k++)
        A[k / 70][k % 70] = k % 7, x[k % 70] = 1, y[k % 70] = k % 5;
    vector(70, 3, A, x, y);
    bound(70, 60, A, x, y);
    array(70, A, x, y);
    iterator(70, A, x, y);
    local(70, A, x, y);
    for (int k = 0; k < 70; k++)
        printf("%.9g\n", x[k]);
}
"""
NAMES = (
    *("tid", "x_r", "i_tile", "j_tile", "j_in", "A_pitch", "A_s", "y_s", "A_s_row", "A_s_row_r", "thread_x"),
    *(
        "block_x",
        "block_n",
        "block_from_x",
        "device_x",
        "pitch_of_A",
        "wide",
        "c0",
        "p0",
        "pg_x",
        "i_2",
        "i__",
    ),
)


@pytest.mark.parametrize("name", some_by_default([(name,) for name in NAMES], one_in=2))
def test_results_are_the_originals(name: str, tmp_path: Path) -> None:
    compiled(tmp_path, PROGRAM.replace("NAME", name))
    assert_same(tmp_path)


@pytest.mark.slow
def test_nvcc_takes_the_names(tmp_path: Path) -> None:
    require_nvcc()
    start, end = PROGRAM.index("void vector("), PROGRAM.index("void array(")
    made = [re.sub(r"\b(vector|bound)\b", rf"\1_{k}", PROGRAM[start:end]) for k in range(len(NAMES))]
    functions = [text.replace("NAME", name) for text, name in zip(made, NAMES, strict=True)]
    (tmp_path / "program.c").write_text("\n".join(functions))
    done = compile_file(str(tmp_path / "program.c"), Options(target="cuda", device="h100"))
    (tmp_path / "program.cu").write_text(done.files["_cuda.cu"])
    assert done.offloaded == 2 * len(NAMES)
    brief = ("-Xcicc", "-O1", "-Xptxas", "-O1")
    subprocess.run([*find_nvcc(), *brief, "-c", "program.cu"], cwd=tmp_path, check=True)


def test_names_that_do_not_clash_are_kept(tmp_path: Path) -> None:
    parameters = "int n, int block_n, float x_old[restrict n], float x[restrict n], float s_max"
    scop = region(tmp_path, parameters, "for (int i = 0; i < n; i++) x[i] = x_old[i] * s_max + block_n;")
    assert with_free_names(scop) == (scop, {})


def test_arrays_called_like_members_to_sets_are_renamed(tmp_path: Path) -> None:
    """Sets have `x__a` for the member a of structures x[i]."""
    text = "struct s { float a; };\nvoid f(int n, struct s x[restrict n], float x__a[restrict n])\n"
    loop = "for (int i = 0; i < n - 1; i++) x__a[i + 1] = x[i].a;"
    (tmp_path / "members.c").write_text(f"{text}{{\n#pragma scop\n{loop}\n#pragma endscop\n}}\n")
    (made,) = compile_file(str(tmp_path / "members.c"), Options(target="cuda", device="h100")).regions
    assert made.region.kernels[0].block == (256, 1, 1)  # no iteration waits for another one
    assert {b.name for b in made.region.buffers} == {"x", "x__a_"}


def test_what_is_made_has_no_name_of_anything_in_a_region(tmp_path: Path) -> None:
    scop = region(
        tmp_path,
        "struct sizes *size, int m, float A[m], float *x",
        "for (int i = 0; i < size->rows; i++) { float t = A[i]; x[i] = t * m; }",
        "struct sizes { int rows, columns; };",
    )
    (member,) = scop.given
    statements = (s.name for s in scop.statements)
    known = {"A", "x", "i", "t", "m", member.name, *statements, *(s.name for s in scop.numbers)}
    free = FreeNames.beside(scop)
    assert {free.new(name) for name in known} == {f"{name}2" for name in known}
    assert [free.new("other") for _ in range(3)] == ["other", "other2", "other3"]
