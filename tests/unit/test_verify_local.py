"""Values in registers: which action made what another one finds there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from polygpu import pipeline
from polygpu.compilation import Options
from polygpu.lower.tidy import substituted
from polygpu.model.expr import Int
from polygpu.model.kernel import For, Region, Statement
from polygpu.verify.certificate import certify
from tests.unit.kernel_mutants import kernel_variants

IN_TURN = """
void f(int n, float x[restrict 2][n], float y[restrict n], float s[restrict n])
{
#pragma scop
    for (int j = 0; j < n; j++)
        for (int i = 0; i < 2; i++)
            if (x[i][j] > 0) {
                if (i == READS)
                    y[j] = s[j];
                else
                    s[j] = 2 * x[i][j];
            }
#pragma endscop
}
"""


def unrolled(region: Region, index: str, order: tuple[int, ...]) -> Region:
    """The iterations of a loop one after the other, in some order."""

    def iterations(s: Statement) -> tuple[Statement, ...] | None:
        if not (isinstance(s, For) and s.index == index):
            return None
        return tuple(x for i in order for x in substituted(s.body, {index: Int(i)}))

    (found,) = kernel_variants(region, iterations)
    return found


@pytest.mark.parametrize("reads", [0, 1])
@pytest.mark.parametrize(("order", "right"), [((0, 1), True), ((1, 0), False)])
def test_an_instance_finds_what_another_one_leaves_in_the_other_branch(
    order: tuple[int, ...], right: bool, reads: int, tmp_path: Path
) -> None:
    (tmp_path / "v.c").write_text(IN_TURN.replace("READS", str(reads)))
    options = Options(target="emulator", device="h100", level=1)
    (made,) = pipeline.compile_file(str(tmp_path / "v.c"), options).regions
    assert certify(replace(made, region=unrolled(made.region, "i", order))).holds == right
