"""Mapped programs made by hand: tiles of time, of sequential loops and of waves, lowered, certified, run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest

from polygpu.analysis.final_values import with_versions
from polygpu.analysis.index_sets import divided
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.lower.realise import Realiser
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.footprint import Side, box
from polygpu.mapping.program import (
    Axis,
    Block,
    Box,
    Copied,
    Each,
    Filled,
    Grid,
    Held,
    HeldArray,
    InOrder,
    Meet,
    Program,
    ReferenceKey,
    Run,
    Series,
    Stored,
    StoredBox,
    Tiles,
    Version,
    reference_key,
    with_children,
)
from polygpu.model.expr import Binary, Int, Name, Reference
from polygpu.schedule.tree import Band, Leaf, Member, Sequence
from polygpu.verify.certificate import certify
from tests.test_mapped_programs import assert_as_the_original, realiser, row

STENCIL = """
static void f(int n, float A[restrict n + 4], float B[restrict n + 4], float C[restrict n + 4])
{
    float T[n + 4];
#pragma scop
    for (int t = 0; t < n; t++) {
        for (int i = 1; i < n + 3; i++)
            T[i] = 0.25f * (A[i - 1] + 2.0f * A[i] + A[i + 1]);
        for (int i = 1; i < n + 3; i++)
            A[i] = T[i];
    }
#pragma endscop
    for (int i = 0; i < n + 4; i++)
        C[i] = A[i];
}
"""
LU = """
static void f(int n, float A[restrict n][n], float B[restrict n][n], float C[restrict n][n])
{
    for (int i = 0; i < n; i++)
        A[i][i] += n;
#pragma scop
    for (int k = 0; k < n; k++) {
        for (int i = k + 1; i < n; i++)
            A[i][k] /= A[k][k];
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < n; j++)
                A[i][j] -= A[i][k] * A[k][j];
    }
#pragma endscop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            C[i][j] = A[i][j];
}
"""
IN_PLACE = """
static void f(int n, float A[restrict n + 4], float B[restrict n + 4], float C[restrict n + 4])
{
#pragma scop
    for (int t = 0; t < n; t++)
        for (int i = 1; i < n + 3; i++)
            A[i] = 0.25f * (A[i - 1] + 2.0f * A[i] + A[i + 1]);
#pragma endscop
    for (int i = 0; i < n + 4; i++)
        C[i] = A[i];
}
"""


def member(p: Polyhedra, **values: str) -> Member:
    """A row of the schedule by statement."""
    return Member({s: row(s, ", ".join(p.statement(s).iterators), value) for s, value in values.items()})


def leaf(statement: str) -> Leaf:
    return Leaf((statement,))


def keys(p: Polyhedra, array: str) -> frozenset[ReferenceKey]:
    return frozenset(
        reference_key(s.name, a.reference)
        for s in p.statements
        for a in s.accesses
        if a.reference.array == array and not s.name.startswith("F_")
    )


def four_steps(realiser: Realiser) -> Program:
    """A block computes four steps of its tile in shared memory, at its rim what others compute as well.

    Of 64 points 56 are its own. It reads one version of A and stores into the other, since its neighbours
    read at their rims what it overwrites.
    """
    steps = Binary("/", Binary("+", Name("n"), Int(3)), Int(4))
    p = with_versions(realiser.prepared.polyhedra, "A", "A_both", 2, Binary("%", steps, Int(2)))
    outer = Fixed(member(p, S0="floor(t/4)", S1="floor(t/4)"), "step")
    axis = Axis("i", member(p, S0="i", S1="i_2"), 64, overlap=(4, 4))
    grid = Grid(p, (axis,), time_tile(p), (outer,), name="f_0_k0")
    (element,) = p.statement("F_A").iterators
    last = Grid(p, (Axis(element, member(p, F_A=element), 64),), Run(leaf("F_A")), name="f_0_k1")
    return Program(p, InOrder((Each(outer, grid), last)))


def time_tile(p: Polyhedra, shrink: int = 1, parity: str = "step mod 2") -> Block:
    """In each step `shrink` points less on both sides."""
    inside = f"{shrink} + {shrink}*(t - 4*step)"
    points = isl.Set(f"[i, i_tile, t, step] -> {{ : i_tile + {inside} <= i <= i_tile + 63 - ({inside}) }}")
    own = isl.Set("[i_tile] -> { [i] : i_tile + 4 <= i <= i_tile + 59 }")
    before = Version(
        "A_both",
        isl.Set("[n, step] -> { A[i] : step > 0 and 1 <= i <= n + 2 }"),
        isl.PwMultiAff(f"[step] -> {{ A[i] -> A_both[{parity}, i] }}"),
    )
    after = Version(
        "A_both", isl.Set("{ A[i] }"), isl.PwMultiAff("[step] -> { A[i] -> A_both[(step + 1) mod 2, i] }")
    )
    side = Side(isl.PwAff("[i_tile] -> { [(i_tile)] }"), 64)
    a = Box("A", "A", "A_s", (side,), (0,), "four steps", keys(p, "A"), versions=(before,))
    t = Box("T", "T", "T_s", (side,), (0,), "four steps", keys(p, "T"))
    first, second = (Run(leaf(s), points) for s in ("S0", "S1"))
    loop = Tiles(member(p, S0="t", S1="t"), "t", 1, Series((first, Meet(), second, Meet())))
    results = StoredBox(a, isl.PwMultiAff("{ [i] -> A[i] }"), own, after)
    return Copied((a,), Filled((t,), Stored((results,), loop)))


def tiled_lu(realiser: Realiser) -> Program:
    """Sixteen steps at once: the corner of the tile in one block, then the columns below, the rows beside it
    and what is left, where both operands are in shared memory and the elements in registers.
    """
    p = pieces_of_lu(realiser.prepared.polyhedra)
    names = [s.name for s in p.statements]
    step = Fixed(member(p, **dict.fromkeys(names, "floor(k/16)")), "step")
    corner = Grid(
        p,
        (
            Axis("i", member(p, S0_0="i", S1_0="i_2"), 16),
            Axis("j", member(p, S0_0="k", S1_0="j"), 16),
        ),
        Tiles(
            member(p, S0_0="k", S1_0="k"),
            "k",
            1,
            Series((Run(leaf("S0_0")), Meet(), Run(leaf("S1_0")), Meet())),
        ),
        (step,),
        name="f_0_k0",
    )
    row_of = Sequence((leaf("S0_1"), Band((member(p, S1_1="j"),), False, leaf("S1_1"))))
    columns = Grid(
        p,
        (Axis("i", member(p, S0_1="i", S1_1="i_2"), 64),),
        Run(Band((member(p, S0_1="k", S1_1="k"),), False, row_of)),
        (step,),
        name="f_0_k1",
    )
    column_of = Band((member(p, S1_2="i_2"),), False, leaf("S1_2"))
    rows = Grid(
        p,
        (Axis("j", member(p, S1_2="j"), 64),),
        Run(Band((member(p, S1_2="k"),), False, column_of)),
        (step,),
        name="f_0_k2",
    )
    return Program(p, Each(step, InOrder((corner, columns, rows, rest_of_lu(p, step)))))


def pieces_of_lu(p: Polyhedra) -> Polyhedra:
    """Both statements by whether their row and their column are in the tile of steps."""
    below, beside = "16*floor(k/16) + 16 <= {}", "{} < 16*floor(k/16) + 16"

    def part(statement: str, *conditions: str) -> isl.Set:
        iterators = ", ".join(p.statement(statement).iterators)
        return isl.Set(f"[n] -> {{ {statement}[{iterators}] : {' and '.join(conditions)} }}")

    p = divided(p, "S0", [part("S0", beside.format("i")), part("S0", below.format("i"))])
    return divided(
        p,
        "S1",
        [
            part("S1", one.format("i_2"), other.format("j"))
            for one, other in ((beside, beside), (below, beside), (beside, below), (below, below))
        ],
    )


def rest_of_lu(p: Polyhedra, step: Fixed) -> Grid:
    s = p.statement("S1_3")
    axes = Axis("i", member(p, S1_3="i_2"), 16), Axis("j", member(p, S1_3="j"), 16)
    run = Run(Band((member(p, S1_3="k"),), False, leaf("S1_3")))
    bare = Grid(p, axes, run, (step,), name="f_0_k3")
    own, left, right = (a for a in s.accesses if not a.write)

    def copied(name: str, relation: isl.Map, reference: Reference) -> Box:
        sides = box(bare.domain("S1_3", bare.tiles()).apply(relation))
        assert sides is not None
        return Box("A", "A", name, sides, (0, 1), "operand", frozenset([reference_key("S1_3", reference)]))

    held = HeldArray(
        "A",
        "A",
        "A_r",
        isl.PwMultiAff("{ [i, j] -> A[i, j] }"),
        isl.Set("[n] -> { [i, j] : 0 <= i < n and 0 <= j < n }"),
        True,
        True,
        frozenset([reference_key("S1_3", own.reference)]),
    )
    boxes = copied("A_l", left.relation, left.reference), copied("A_u", right.relation, right.reference)
    return replace(bare, block=Held((held,), Copied(boxes, run)))


def waves(realiser: Realiser) -> Program:
    """Tiles of 4 steps by 4 places, skewed; a thread runs a tile, a launch the tiles of a wave."""
    p = realiser.prepared.polyhedra
    wave = Fixed(member(p, S0="floor(t/4) + floor((t + i)/4)"), "wave")
    tiles = Axis("tile", member(p, S0="floor(t/4)"), 32)
    body = Band((member(p, S0="t"), member(p, S0="t + i")), True, leaf("S0"))
    return Program(p, Each(wave, Grid(p, (tiles,), Run(body), (wave,), name="f_0_k0")))


CASES: dict[str, tuple[str, Callable[[Realiser], Program]]] = {
    "a stencil of four time steps in overlapped tiles": (STENCIL, four_steps),
    "LU with tiles of its step loop": (LU, tiled_lu),
    "waves of tiles": (IN_PLACE, waves),
}


@pytest.mark.parametrize("name", CASES)
def test_programs_made_by_hand(name: str, tmp_path: Path) -> None:
    source, program = CASES[name]
    made = realiser(source, tmp_path)
    region = made.of(program(made))
    assert certify(region, 600).holds
    assert_as_the_original(region, tmp_path, 1, 3, 4, 5, 16, 17, 32, 56, 57, 130)


@pytest.mark.parametrize("wrong", [{"shrink": 0}, {"parity": "(step + 1) mod 2"}])
def test_time_tiles_that_are_wrong_are_not_proved(wrong: dict[str, object], tmp_path: Path) -> None:
    """Without a rim that shrinks, and with the other version read."""
    made = realiser(STENCIL, tmp_path)
    program = four_steps(made)
    grid, last = program.grids
    other = replace(grid, block=time_tile(program.p, **wrong))  # type: ignore[arg-type]
    region = made.of(Program(program.p, InOrder((Each(grid.outer[0], other), last))))
    assert not certify(region).holds


def test_steps_of_a_tile_need_their_barriers(tmp_path: Path) -> None:
    made = realiser(LU, tmp_path)
    program = tiled_lu(made)
    corner, *others = program.grids
    assert isinstance(corner.block, Tiles) and isinstance(corner.block.block, Series)
    first, _, second, meet = corner.block.block.blocks
    unsafe = replace(corner, block=with_children(corner.block, (Series((first, second, meet)),)))
    region = made.of(Program(program.p, Each(corner.outer[0], InOrder((unsafe, *others)))))
    assert not certify(region).holds
