"""One thread in loops around what the others of its block copy for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from polygpu.compilation import Compilation, Options
from polygpu.model.kernel import Statement
from polygpu.pipeline import compile_file
from polygpu.support.diagnostics import Diagnosed
from polygpu.verify.certificate import certify
from tests.test_attended import run_as_the_source
from tests.unit import kernel_mutants

PROGRAM = """
static void chain(int n, float A[restrict n][n], float y[restrict n], float x[restrict n])
{
    float w;
#pragma scop
LOOPS
#pragma endscop
}
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    float (*A)[n] = malloc((n * n + 1) * sizeof(float)), *y = malloc((n + 1) * sizeof *y);
    float *x = malloc((n + 1) * sizeof *x);
    for (int i = 0; i < n; i++) {
        x[i] = (i * 104729 % 301 - 150) / 71.3f;
        y[i] = (i * 7919 % 201 - 100) / 100.3f;
        for (int j = 0; j < n; j++)
            A[i][j] = (i * 31 + j * 17) % 301 / (300.1f * n) + (i == j) * 2;
    }
    chain(n, A, y, x);
    for (int i = 0; i < n; i++)
        printf("%.9g %.9g\\n", x[i], y[i]);
    return 0;
}
"""
SOLVE = """
    for (int i = n - 1; i >= 0; i--) {
        w = y[i];
        for (int j = i + 1; j < n; j++)
            w -= A[i][j] * x[j];
        x[i] = w / A[i][i];
    }
"""
# two loops of a step, each with copies of its own; what a step begins with is what the one before ended with
PASSED_ON = """
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            x[0] = x[0] * 0.5f + A[i][j] * y[j];
        for (int j = i; j < n; j++)
            x[0] = x[0] * A[i][j] - y[j];
    }
"""
# what a step copies is stored before its loop, and behind it
SWEEPS = """
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < n; i++) {
            y[i] = y[i] * 0.25f + x[n - 1];
            for (int j = 0; j < n; j++)
                x[n - 1] = x[n - 1] * 0.5f + A[i][j] * y[j];
            y[n - 1 - i] = x[n - 1];
        }
"""
# the loop reads what iterations before it stored
WITHIN = """
    for (int i = 0; i < n; i++)
        for (int j = 1; j < n; j++)
            x[j] = x[j - 1] * 0.5f + A[i][j] * x[n - 1];
"""
SHORT = """
    for (int i = 1; i < n; i++)
        for (int j = 0; j < 4; j++)
            x[0] = x[0] * 0.5f + y[i] * x[j + 1];
"""


def compiled(folder: Path, loops: str, *decisions: str, device: str = "h100") -> Compilation:
    (folder / "chain.c").write_text(PROGRAM.replace("LOOPS", loops))
    options = Options(target="emulator", device=device, decisions=decisions, level=1)
    return compile_file(str(folder / "chain.c"), options)


def staged(made: Compilation) -> dict[str, str]:
    """What is copied for one thread, and the loop in whose tiles."""
    grids = (g for r in made.regions for g in r.grids if g.attending)
    return {box.name: tiles.name for g in grids for box, tiles in g.boxes if tiles is not None}


@pytest.mark.parametrize(
    ("loops", "expected"),
    [
        (SOLVE, {"A_s": "j_tile", "x_s": "j_tile"}),
        (PASSED_ON, {"A_s": "j_tile", "y_s": "j_tile", "A_s2": "j_2_tile", "y_s2": "j_2_tile"}),
        (SWEEPS, {"A_s": "j_tile", "y_s": "j_tile"}),
        (WITHIN, {"A_s": "j_tile"}),
        (SHORT, {"y_s": "i_tile"}),
    ],
    ids=["solve", "passed on", "sweeps", "within", "short"],
)
def test_it_is_copied_what_nothing_stores_meanwhile(
    tmp_path: Path, loops: str, expected: dict[str, str]
) -> None:
    made = compiled(tmp_path, loops, "attend(32)")
    assert staged(made) == expected
    run_as_the_source(made, tmp_path, 0, 1, 2, 31, 33, 70)


def test_loops_can_be_named(tmp_path: Path) -> None:
    assert staged(compiled(tmp_path, SOLVE)) == staged(compiled(tmp_path, SOLVE, "attend(j: 64)"))
    assert not staged(compiled(tmp_path, SOLVE, "attend(1)"))
    assert not staged(compiled(tmp_path, SOLVE, "attend(j: 1)"))
    with pytest.raises(Diagnosed, match="nothing that these loops read can be copied") as refused:
        compiled(tmp_path, SOLVE, "attend(i: 64)")
    assert refused.value.diagnostics[0].id == "PG304"
    assert not staged(compiled(tmp_path, SOLVE, device="8800gtx"))
    assert staged(compiled(tmp_path, SOLVE, "attend(32)", device="8800gtx"))


@pytest.mark.parametrize("decision", ["attend(j: 64)", "attend(1)"])
def test_it_is_replayed(tmp_path: Path, decision: str) -> None:
    first = compiled(tmp_path, SOLVE, decision)
    taken = [t.decision for r in first.regions for kernel in r.taken for t in kernel]
    assert any(str(d).endswith(f": {decision}") for d in taken)
    second = compiled(tmp_path, SOLVE, *map(str, taken))
    assert {t.by for r in second.regions for kernel in r.taken for t in kernel} == {"person"}
    assert second.files == first.files


@pytest.mark.parametrize("loops", [SOLVE, PASSED_ON], ids=["solve", "passed on"])
def test_it_is_proved(tmp_path: Path, loops: str) -> None:
    (r,) = compiled(tmp_path, loops, "attend(32)").regions
    certificate = certify(r)
    assert certificate.holds
    assert not certificate.unproved


def test_its_block_has_the_registers_of_a_multiprocessor(tmp_path: Path) -> None:
    compiled(tmp_path, SOLVE)
    made = compile_file(str(tmp_path / "chain.c"), Options(target="cuda", device="h100", level=1))
    assert re.findall(r"__launch_bounds__\((.*)\)", made.files["_cuda.cu"]) == ["256", "256, 1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mistake", "harmless"),
    [
        (
            kernel_mutants.without_barrier,
            [0, 2, 3],
        ),  # before and behind the tiles, and at the step's end: one does
        (kernel_mutants.later_wait, []),
        (kernel_mutants.without_guard, [1, 2, 5]),  # of a load, and of loops that have no iterations then
        (kernel_mutants.later_loop, [4, 5, 6]),  # rows of 32, of which a part of a tile of 32 has none
        (kernel_mutants.shorter_loop, [3, 4]),  # the same
    ],
)
def test_mistakes_are_found(
    tmp_path: Path, mistake: Callable[[Statement], tuple[Statement, ...] | None], harmless: list[int]
) -> None:
    (r,) = compiled(tmp_path, SOLVE, "attend(32)").regions
    wrong = list(kernel_mutants.kernel_variants(r.region, mistake))
    assert [k for k, region in enumerate(wrong) if certify(r.with_kernels(region)).holds] == harmless
