"""Loops whose bounds depend on the point: one for all points of a thread, with tests where they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from polygpu import pipeline
from polygpu.compilation import Options
from polygpu.lower.points import names_in
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Binary, Expr, Int
from polygpu.model.kernel import For, If, Statement
from polygpu.model.kernel_walk import map_statements, statements
from polygpu.printing.printer import print_expr
from polygpu.verify.certificate import certify

PROGRAM = """
void f(int n, int m, float C[restrict n][m], const float A[restrict n][n], const float B[restrict n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int k = FROM; k < TO; k++)
                C[i][j] += A[k][i] * B[k][j];
#pragma endscop
}
"""
TILES = "tile(i: 4, j: 16, k: 2) threads(i: 2, j: 16) stage(A, B) hold(C)"


@cache
def compiled(first: str, last: str) -> CompiledRegion:
    with TemporaryDirectory() as directory:
        path = Path(directory) / "u.c"
        path.write_text(PROGRAM.replace("FROM", first).replace("TO", last))
        (found,) = pipeline.compile_file(
            str(path), Options(target="emulator", device="gtx285", decisions=(TILES,))
        ).regions
    return found


def body(r: CompiledRegion) -> tuple[Statement, ...]:
    return r.region.kernels[0].body


def choices_of(r: CompiledRegion) -> Iterator[If]:
    """The tests that choose between tiles, and those of parts of a tile."""
    yield from (s for s in statements(body(r)) if isinstance(s, If) and "k_" in print_expr(s.test))


@pytest.mark.parametrize(
    ("first", "last", "whole"),
    [
        ("i + 1", "n", "k_tile >= i_tile + 4 && n >= k_tile + 2"),
        ("0", "i", "i_tile >= k_tile + 2"),
        ("i", "n - 3", "n >= k_tile + 5 && k_tile >= i_tile + 3"),
    ],
)
def test_no_bound_of_a_loop_depends_on_the_point(first: str, last: str, whole: str) -> None:
    r = compiled(first, last)
    points = {axis.name for grid in r.grids for axis in grid.axes}
    loops = [s for s in statements(body(r)) if isinstance(s, For)]
    assert not any((names_in(s.lower) | names_in(s.upper)) & points for s in loops)
    assert whole in [print_expr(s.test) for s in choices_of(r) if s.uniform]
    assert any(not s.uniform and names_in(s.test) & points for s in choices_of(r))
    assert certify(r).holds


def test_rectangles_need_no_tests() -> None:
    r = compiled("0", "n")
    assert {print_expr(s.test) for s in choices_of(r)} == {"n - k_tile >= 2"}


def changed(r: CompiledRegion, which: int, test: Callable[[Expr], Expr]) -> CompiledRegion:
    """The region with another test at that place."""
    old = list(choices_of(r))[which]
    kernel = r.region.kernels[0]

    def change(s: Statement) -> Statement:
        return replace(s, test=test(old.test)) if isinstance(s, If) and s.test == old.test else s

    new = replace(kernel, body=map_statements(kernel.body, change))
    assert new != kernel
    return replace(r, region=replace(r.region, kernels=(new,)))


def looser(test: Expr) -> Expr:
    assert isinstance(test, Binary)
    if test.op == "&&":
        return replace(test, left=looser(test.left))
    return replace(test, right=Binary("-", test.right, Int(2)))


def stricter(test: Expr) -> Expr:
    assert isinstance(test, Binary)
    return replace(test, right=Binary("+", test.right, Int(1)))


def test_wrong_tests_are_refuted() -> None:
    """A stricter choice of whole tiles would only be slower."""
    r = compiled("i + 1", "n")
    mine = list(choices_of(r))
    whole = next(k for k, s in enumerate(mine) if s.uniform and "i_tile" in print_expr(s.test))
    part = next(k for k, s in enumerate(mine) if not s.uniform)
    assert certify(changed(r, whole, looser)).failures
    assert certify(changed(r, part, looser)).failures
    assert certify(changed(r, part, stricter)).failures
