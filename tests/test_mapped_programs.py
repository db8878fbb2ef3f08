"""Mapped programs made by hand: what no rule makes yet is lowered, runs on the emulator, and is certified."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import islpy as isl
import pytest

from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.mapping.footprint import box
from polygpu.mapping.owned import promote
from polygpu.mapping.program import (
    Axis,
    Box,
    Buffering,
    Copied,
    Filled,
    Grid,
    Held,
    Meet,
    Program,
    Run,
    Series,
    Tiles,
    reference_key,
)
from polygpu.model.kernel import Unit
from polygpu.pipeline import File
from polygpu.printing.calls import emit
from polygpu.runtime.build import Recipe, build_program
from polygpu.schedule.nests import nests
from polygpu.schedule.tree import Band, Leaf, Member, Nest
from polygpu.verify.certificate import certify

MAIN = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    int size = (n + 4) * (n + 4);
    float *x = malloc(size * 4), *y = malloc(size * 4), *z = malloc(size * 4);
    for (int i = 0; i < size; i++) {
        x[i] = i % 17 / 8.0f;
        y[i] = i % 13 / 4.0f;
        z[i] = i % 5;
    }
    f(n, (void *)x, (void *)y, (void *)z);
    double sum = 0;
    for (int i = 0; i < size; i++)
        sum = sum * 1.0001 + z[i];
    printf("%a\\n", sum);
    return 0;
}
"""
PRODUCT = """
static void f(int n, float A[restrict n][n], float B[restrict n][n], float C[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
"""
VECTOR = """
static void f(int n, float A[restrict n][n], float y[restrict n], float x[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i] += A[i][j] * y[j];
#pragma endscop
}
"""
TWICE = """
static void f(int n, float A[restrict n + 4], float B[restrict n + 4], float C[restrict n + 4])
{
    float T[n + 4];
#pragma scop
    for (int i = 1; i < n + 3; i++)
        T[i] = A[i - 1] + 0.5f * A[i] + A[i + 1];
    for (int i = 2; i < n + 2; i++)
        C[i] = T[i - 1] + 0.25f * T[i] + T[i + 1] + B[i];
#pragma endscop
}
"""


def realiser(source: str, directory: Path, main: str = MAIN) -> Realiser:
    """Of the region of a program that is left in the directory."""
    (directory / "hand.c").write_text(source + main)
    return _prepared(source + main)


@cache
def _prepared(text: str) -> Realiser:
    """Once for all tests: it realises alike whatever was before (test_realising.py)."""
    with TemporaryDirectory(prefix="polygpu-tests-") as directory:
        path = Path(directory, "hand.c")
        path.write_text(text)
        file = File(str(path), Options(target="emulator", device="h100"))
        file.realise((), {})
    (made,) = file.realisers.values()
    return made


def row(statement: str, iterators: str, value: str) -> isl.PwAff:
    return isl.PwAff(f"[n] -> {{ {statement}[{iterators}] -> [({value})] }}")


def boxed(grid: Grid, array: str, names: dict[str, bool], order: tuple[int, ...], *tiles: Tiles) -> Box:
    """The box of what statements read of an array, or write of it where that is True, in a tile."""
    p = grid.p
    uses = [(s, a) for s in names for a in p.statement(s).accesses if a.reference.array == array]
    touched = [
        grid.domain(s, (*grid.tiles(), *(t.fixed for t in tiles))).apply(a.relation)
        for s, a in uses
        if a.write == names[s]
    ]
    sides = box(touched[0])
    assert sides is not None and len(touched) == 1
    keys = frozenset(reference_key(s, a.reference) for s, a in uses)
    return Box(array, array, f"{array}_s", sides, order, "by hand", keys)


def product(realiser: Realiser, tile: tuple[Axis, Axis], buffering: Buffering, stages: int) -> Program:
    """The accumulators of a block's tile in registers, tiles of both operands in shared memory."""
    p = realiser.prepared.polyhedra
    (nest,) = nests(realiser.prepared.scheduled.host)
    assert isinstance(nest.body, Band)
    plain = Grid(p, tile, Run(nest.body), name="f_0_k0", widest=16)
    tiles = Tiles(nest.body.members[0], "k_tile", 16, Run(nest.body), buffering, stages)
    boxes = boxed(plain, "A", {"S0": False}, (1, 0), tiles), boxed(plain, "B", {"S0": False}, (0, 1), tiles)
    block = replace(tiles, block=Copied(boxes, Run(nest.body)))
    return Program(p, replace(plain, block=Held(promote(plain), block)))


def large_product(realiser: Realiser) -> Program:
    """Tiles of 128 x 256, 8 x 16 points a thread, two buffers that asynchronous copies fill."""
    i, j = Member({"S0": row("S0", "i, j, k", "i")}), Member({"S0": row("S0", "i, j, k", "j")})
    return product(realiser, (Axis("i", i, 16, 8, 4), Axis("j", j, 16, 16, 4)), "ring", 2)


def blocked_product(realiser: Realiser) -> Program:
    """Points of a thread in one piece along i and in turn along j, the next tiles fetched into registers."""
    i, j = Member({"S0": row("S0", "i, j, k", "i")}), Member({"S0": row("S0", "i, j, k", "j")})
    return product(realiser, (Axis("i", i, 8, 4, 4), Axis("j", j, 16, 2, 1)), "prefetch", 2)


def vector_in_a_ring(realiser: Realiser) -> Program:
    """A row a thread; tiles of the matrix and of the vector through a ring of four."""
    p = realiser.prepared.polyhedra
    (nest,) = nests(realiser.prepared.scheduled.host)
    assert isinstance(nest, Nest) and isinstance(nest.body, Band)
    plain = Grid(p, (Axis("i", nest.parallel[0], 64),), Run(nest.body), name="f_0_k0", widest=16)
    tiles = Tiles(nest.body.members[0], "j_tile", 32, Run(nest.body), "ring", 4)
    boxes = boxed(plain, "A", {"S0": False}, (0, 1), tiles), boxed(plain, "y", {"S0": False}, (0,), tiles)
    block = replace(tiles, block=Copied(boxes, Run(nest.body)))
    return Program(p, replace(plain, block=Held(promote(plain), block)))


def overlapped(realiser: Realiser) -> Program:
    """Both loops in one kernel: a block computes what it needs of T, at its tile's rim once more than others.

    T is in shared memory only; of 64 points 62 are the block's own.
    """
    p = realiser.prepared.polyhedra
    member = Member({"S0": row("S0", "i", "i"), "S1": row("S1", "i_2", "i_2")})
    bare = Grid(p, (Axis("i", member, 64, overlap=(1, 1)),), Series((Run(Leaf(("S0",))), Run(Leaf(("S1",))))))
    own = isl.Set("[i, i_tile] -> { : i_tile + 1 <= i <= i_tile + 62 }")
    first, second = Run(Leaf(("S0",))), Run(Leaf(("S1",)), own)
    filled = Filled((boxed_writes(bare),), Series((first, Meet(), second)))
    return Program(p, replace(bare, block=filled, name="f_0_k0"))


def boxed_writes(grid: Grid) -> Box:
    made = boxed(grid, "T", {"S0": True}, (0,))
    reads = {
        reference_key("S1", a.reference) for a in grid.p.statement("S1").accesses if a.reference.array == "T"
    }
    return replace(made, references=made.references | reads)


CASES: dict[str, tuple[str, Callable[[Realiser], Program]]] = {
    "a product of large tiles": (PRODUCT, large_product),
    "a product fetched ahead": (PRODUCT, blocked_product),
    "a vector in a ring": (VECTOR, vector_in_a_ring),
    "two stencils in overlapped tiles": (TWICE, overlapped),
}


@pytest.mark.parametrize("name", CASES)
def test_programs_made_by_hand(name: str, tmp_path: Path) -> None:
    source, program = CASES[name]
    made = realiser(source, tmp_path)
    region = made.of(program(made))
    assert certify(region).holds
    assert_as_the_original(region, tmp_path, 1, 2, 61, 62, 63, 64, 130, 257)


def assert_as_the_original(region: CompiledRegion, directory: Path, *sizes: int) -> None:
    """The program with the region prints what gcc's original does, at each of the sizes."""
    right, found = original(directory), translated(region, directory)
    for n in sizes:
        assert output(found, n) == output(right, n), n


def test_overlapped_tiles_without_their_rim_are_refuted(tmp_path: Path) -> None:
    """Points at the rim of a tile find no neighbour in shared memory."""
    made = realiser(TWICE, tmp_path)
    program = overlapped(made)
    (grid,) = program.grids
    assert isinstance(grid.block, Filled) and isinstance(grid.block.block, Series)
    first, meet, second = grid.block.block.blocks
    assert isinstance(second, Run)
    everywhere = replace(grid.block, block=Series((first, meet, Run(second.node))))
    axis = replace(grid.axes[0], overlap=(0, 0))
    region = made.of(Program(program.p, replace(grid, axes=(axis,), block=everywhere)))
    assert not certify(region).holds


def original(directory: Path) -> Path:
    command = ["gcc", "-O1", "-ffp-contract=off", "hand.c", "-o", "original", "-lm"]
    subprocess.run(command, cwd=directory, check=True)
    return directory / "original"


def translated(region: CompiledRegion, directory: Path) -> Path:
    """The program with the region on the emulator, which checks all accesses."""
    files = emitted(region, directory, "emulator")
    flags = ("-w", "-DPOLYGPU_CHECK=1", "-ffp-contract=off")
    build_program(files, directory / "translated", Recipe("emulator", ("gcc",), extra=flags))
    return directory / "translated"


def emitted(region: CompiledRegion, directory: Path, target: str) -> dict[str, Path]:
    """The files of the program with the region on a target, by their suffixes."""
    unit = Unit("hand.c", "hand", (region.region,))
    source = directory / "hand.c"
    device = File(str(source), Options(target=target, device="h100")).device
    files: dict[str, Path] = {}
    for suffix, text in emit(source.read_text(), unit, (region,), device, target).items():
        files[suffix] = directory / f"hand{suffix}"
        files[suffix].write_text(text)
    return files


def output(program: Path, n: int) -> str:
    return subprocess.run([str(program), str(n)], check=True, capture_output=True, text=True).stdout
