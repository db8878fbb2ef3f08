"""What makes a mapped program ill-formed, and that what rules make never is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import islpy as isl
import pytest

from polygpu.mapping.check import check_grid, check_program
from polygpu.mapping.program import (
    Axis,
    Box,
    Copied,
    Grid,
    Held,
    InOrder,
    Program,
    Run,
    Series,
    Stored,
    StoredBox,
    Tiles,
    Version,
    walk,
)
from polygpu.model.expr import Int
from polygpu.model.scop import Let
from polygpu.schedule.tree import Leaf, Member
from tests.unit.middle import mapped

CUBE = "int n, int m, float A[restrict n][m], float B[restrict m][m], float C[restrict n][m]"
PRODUCT = """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < m; k++)
    C[i][j] += A[i][k] * B[k][j];"""


def product() -> Grid:
    return mapped(CUBE, PRODUCT, "h100")


def with_axis(grid: Grid, change: Callable[[Axis], Axis]) -> Grid:
    return replace(grid, axes=(change(grid.axes[0]), *grid.axes[1:]))


def tiles_of(grid: Grid) -> Tiles:
    return next(b for b in walk(grid.block) if isinstance(b, Tiles))


def with_tiles(grid: Grid, change: Callable[[Tiles], Tiles]) -> Grid:
    assert isinstance(grid.block, Held)
    return replace(grid, block=replace(grid.block, block=change(tiles_of(grid))))


def twice_placed(grid: Grid) -> Grid:
    """A reference that is in registers and in shared memory."""
    assert isinstance(grid.block, Held)
    (held,) = grid.block.arrays
    (box, _), *_ = grid.boxes
    both = replace(held, references=held.references | box.references)
    return replace(grid, block=replace(grid.block, arrays=(both,)))


def outside(grid: Grid) -> Grid:
    """Boxes that are copied for something else than what reads them."""
    (box, _), *_ = grid.boxes
    return replace(grid, block=Series((Copied((box,), Run(Leaf(()))), Run(grid.node))))


def stored(grid: Grid, change: Callable[[Box], Box], version: Version | None = None) -> Grid:
    """The first box, changed, is stored after it was used."""
    (box, _), *_ = grid.boxes
    element = isl.PwMultiAff("{ [i, j] -> A[i, j] }")
    place = StoredBox(change(box), element, isl.Set("{ [i, j] }"), version)
    return replace(grid, block=Stored((place,), grid.block))


def another(array: str) -> Version:
    return Version(array, isl.Set("{ A[i, j] }"), isl.PwMultiAff(f"{{ A[i, j] -> {array}[i, j] }}"))


def fetched_ahead(grid: Grid) -> Grid:
    """Boxes with a version, whose next tile travels in registers."""
    copied = tiles_of(grid).block
    assert isinstance(copied, Copied)
    boxes = tuple(replace(box, versions=(another("C"),)) for box in copied.boxes)
    block = replace(copied, boxes=boxes)
    return with_tiles(grid, lambda t: replace(t, buffering="prefetch", block=block))


WRONG: dict[str, tuple[Callable[[Grid], Grid], str]] = {
    "a group that does not divide": (
        lambda g: with_axis(g, lambda a: replace(a, group=3)), "cannot be dealt"),
    "no threads": (lambda g: with_axis(g, lambda a: replace(a, threads=0)), "cannot be dealt"),
    "only overlap": (lambda g: with_axis(g, lambda a: replace(a, overlap=(32, 32))), "overlap all"),
    "an axis of nothing": (
        lambda g: with_axis(g, lambda a: replace(a, member=Member({}))), "i says nothing of S0"),
    "one name twice": (lambda g: with_axis(g, lambda a: replace(a, name="j")), "'j' names 2 things"),
    "a box of nowhere stored": (
        lambda g: stored(g, lambda b: replace(b, name="b")), "is no box of the kernel"),
    "a version of nowhere": (lambda g: stored(g, lambda b: b, another("D")), "D is no version of A"),
    "versions fetched ahead": (fetched_ahead, "copied directly"),
    "a ring of one": (lambda g: with_tiles(g, lambda t: replace(t, stages=1)), "1 in a ring"),
    "tiles of nothing": (
        lambda g: with_tiles(g, lambda t: replace(t, member=Member({}))), "k_tile says nothing of S0"),
    "tiles in themselves": (
        lambda g: with_tiles(g, lambda t: replace(t, block=t)), "inside of itself"),
    "two places": (twice_placed, "has two places"),
    "read elsewhere": (outside, "is read where it is not"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name: str) -> None:
    change, text = WRONG[name]
    assert text in "; ".join(check_grid(change(product())))


def test_what_rules_make_is_well_formed() -> None:
    grid = product()
    check_program(Program(grid.p, grid))


def test_each_statement_is_in_one_kernel() -> None:
    grid = product()
    with pytest.raises(ValueError, match="statement S0 is in 2 kernels; 2 kernels are called k"):
        check_program(Program(grid.p, InOrder((grid, grid))))


def test_locals_have_names_of_c() -> None:
    grid = product()
    (s,) = grid.p.statements
    odd = replace(s, body=(Let("t_v[1]", "float", Int(1)), *s.body))
    with pytest.raises(ValueError, match=r"statement S0 has a local 't_v\[1\]', which is no"):
        check_program(Program(replace(grid.p, statements=(odd,)), grid))
