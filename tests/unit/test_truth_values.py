"""A test of what another test is, is affine wherever that is: what is copied of arrays depends on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.frontend.shape.affine import plain
from polygpu.model.expr import Binary, Expr, Int, Name, Unary
from polygpu.model.kernel import Region
from polygpu.pipeline import compile_file
from polygpu.verify.certificate import certify

PROGRAM = """
void f(int n, int w, float *restrict A, float *restrict B)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        for (int j = n - 1; j >= 0; j--) {
            TEST {
                A[(i + j + 2) * w + j] = 1;
                continue;
            }
            A[i * w + j] += B[i];
        }
    }
#pragma endscop
}
"""
SPELLINGS = [
    "switch (!(j > 9)) case 0:",
    "switch (j > 9) case 1:",
    "if ((j > 9) == 1)",
    "if (!(j <= 9) > 0)",
    "if (!((j > 9) < 1))",
    "if ((!(j > 9) != 1) == 1)",
]


def region_of(directory: Path, test: str) -> Region:
    (directory / "f.c").write_text(PROGRAM.replace("TEST", test))
    (made,) = compile_file(str(directory / "f.c"), Options(target="cuda", level=0)).regions
    assert certify(made).holds
    return made.region


@pytest.mark.parametrize("test", SPELLINGS)
def test_copies_are_those_of_the_plain_test(test: str, tmp_path: Path) -> None:
    """Where j never is beyond 9 nothing is known to be in the rows that it leads to."""
    assert region_of(tmp_path, test).buffers == region_of(tmp_path, "if (j > 9)").buffers


LESS = Binary("<", Name("i"), Name("j"))


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("number", [-1, 0, 1, 2])
def test_a_plain_test_is_true_where_its_spelling_is(negated: bool, op: str, number: int) -> None:
    spelled = Binary(op, Unary("!", LESS) if negated else LESS, Int(number))
    for less in (False, True):
        value = int(less != negated)
        assert holds(plain(spelled), less) == eval(f"{value} {op} {number}")


def holds(test: Expr, less: bool) -> bool:
    match test:
        case Int(value):
            return value != 0
        case Unary("!", operand):
            return not holds(operand, less)
    assert test == LESS
    return less
