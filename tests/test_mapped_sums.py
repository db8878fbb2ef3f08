"""Sums over threads, made by hand: partial results in registers, a tree through shared memory, one update.

The sums here are exact, so that they have the same bits in any order.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest

from polygpu.analysis.polyhedra import Polyhedra
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.mapping.check import check_program
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.owned import promote
from polygpu.mapping.program import (
    Axis,
    Buffering,
    Copied,
    Each,
    Grid,
    HeldArray,
    InOrder,
    Program,
    Reduced,
    Run,
    Series,
    Tiles,
    reference_key,
)
from polygpu.model.kernel import Barrier, Comment
from polygpu.model.kernel_walk import map_statements, statements
from polygpu.perf.predict import predict
from polygpu.pipeline import File
from polygpu.runtime.build import Recipe, build_program
from polygpu.schedule.tree import Band, Leaf, Member, Sequence
from polygpu.verify.certificate import certify
from polygpu.verify.verdict import VALUES
from tests.support_kernels import ARCHITECTURES, compile_cuda, require_nvcc, require_opencl
from tests.test_mapped_programs import (
    MAIN,
    VECTOR,
    boxed,
    emitted,
    original,
    output,
    realiser,
    row,
    translated,
)

SIZES = (1, 2, 31, 32, 33, 127, 128, 129, 300)
FUNCTION = """
static void f(int n, float A[restrict n][n], float y[restrict n], float x[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            %s
#pragma endscop
}
"""
ROWS = FUNCTION % "x[i] += A[i][j];"
TRIANGLE = ROWS.replace("j < n", "j < i - 1")
Shape = tuple[int, int, int, int]  # threads along rows and columns, rows and columns of a thread


def member(**rows: str) -> Member:
    return Member({s: row(s, "i, j", value) for s, value in rows.items()})


def partial(made: Realiser, shape: Shape, operator: str = "+") -> Grid:
    """Rows by the block's threads along y, a row's terms by all of those along x."""
    p = made.prepared.polyhedra
    i, j = member(S0="i"), member(S0="j")
    rows = Axis("i", i, shape[0], shape[2])
    (held,) = promote(Grid(p, (rows,), Run(Band((j,), False, Leaf(("S0",))))))
    columns = Axis("j", j, shape[1], shape[3], loop="j_tile")
    tiles = Tiles(j, "j_tile", columns.tile, Run(Leaf(("S0",))))
    return Grid(p, (rows, columns), Reduced(held, operator, ("j",), tiles), name="f_0_k0")


def region(
    source: str, shape: Shape, directory: Path, operator: str = "+", main: str = MAIN
) -> CompiledRegion:
    made = realiser(source, directory, main)
    grid = partial(made, shape, operator)
    return made.of(Program(grid.p, grid))


CASES: dict[str, tuple[str, Shape]] = {
    "a row by a block": (ROWS, (1, 128, 1, 1)),
    "a row by a warp": (VECTOR, (4, 32, 1, 1)),
    "two rows of a thread": (VECTOR, (2, 64, 2, 1)),
    "neighbouring columns": (VECTOR, (1, 64, 1, 2)),
    "a triangle": (TRIANGLE, (2, 64, 1, 1)),
    "a thread": (ROWS, (32, 1, 1, 1)),
}


def some(names: Iterable[str], *fast: str) -> list[object]:
    """Parameters of a test: those that are not `fast` run by hand."""
    return [pytest.param(name, marks=() if name in fast else pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", some(CASES, "a row by a block", "two rows of a thread"))
@pytest.mark.parametrize("ctype", some(("float", "int"), "float"))
def test_sums_over_threads(name: str, ctype: str, tmp_path: Path) -> None:
    source, shape = CASES[name]
    main = MAIN.replace("float", ctype)
    made = region(source.replace("float", ctype), shape, tmp_path, main=main)
    certificate = certify(made, reassociated=("x",))
    assert certificate.holds
    assert certificate.reassociated == {"x": "+"}
    right, found = original(tmp_path), translated(made, tmp_path)
    for n in SIZES:
        assert output(found, n) == output(right, n), n


OPERATORS = {
    "*": ("unsigned int", "x[i] = A[i][j] * x[i];"),
    "^": ("long long", "x[i] ^= A[i][j];"),
    "&": ("signed char", "x[i] = x[i] & ~A[i][j];"),
    "|": ("unsigned short", "x[i] |= A[i][j] << 3;"),
    "+": ("double", "x[i] = x[i] - A[i][j] + y[j];"),
    "fmin": ("double", "x[i] = fmin(x[i], A[i][j] - y[j]);"),
    "fmaxf": ("float", "x[i] = fmaxf(A[i][j] - y[j], x[i]);"),
}


@pytest.mark.parametrize("operator", some(OPERATORS, "fmin"))
def test_other_operators(operator: str, tmp_path: Path) -> None:
    ctype, body = OPERATORS[operator]
    source, main = ((text.replace("float", ctype)) for text in (FUNCTION % body, MAIN))
    source, main = f"#include <math.h>\n{source}", main.replace("size * 4", "size * 8")
    made = region(source, (2, 64, 1, 1), tmp_path, operator, main)
    assert certify(made, reassociated=("x",)).holds
    right, found = original(tmp_path), translated(made, tmp_path)
    for n in (1, 33, 129):
        assert output(found, n) == output(right, n), n


def certified(made: Realiser, grid: Grid, directory: Path, *reassociated: str) -> None:
    """The grid is proved to be right, and is found to be."""
    region = made.of(Program(grid.p, grid))
    assert certify(region, reassociated=reassociated).holds
    right, found = original(directory), translated(region, directory)
    for n in (1, 33, 129):
        assert output(found, n) == output(right, n), n


@pytest.mark.parametrize("buffering", some(("none", "prefetch", "ring"), "ring"))
def test_terms_in_shared_memory(buffering: Buffering, tmp_path: Path) -> None:
    made = realiser(VECTOR, tmp_path)
    grid = partial(made, (4, 32, 1, 1))
    assert isinstance(grid.block, Reduced) and isinstance(grid.block.block, Tiles)
    tiles = grid.block.block
    copied = Copied((boxed(grid, "y", {"S0": False}, (0,), tiles),), tiles.block)
    block = replace(grid.block, block=replace(tiles, block=copied, buffering=buffering))
    certified(made, replace(grid, block=block, widest=16), tmp_path, "x")


@pytest.mark.slow
def test_rows_in_turn(tmp_path: Path) -> None:
    """Parts of the next rows wait until those of these are read."""
    made = realiser(VECTOR, tmp_path)
    grid = partial(made, (4, 32, 1, 1))
    rows = replace(grid.axes[0], loop="i_tile")
    tiles = Tiles(rows.member, "i_tile", 4, grid.block)
    grid = replace(grid, axes=(rows, grid.axes[1]), block=tiles)
    certified(made, grid, tmp_path, "x")
    region = made.of(Program(grid.p, grid))
    (kernel,) = region.region.kernels
    last = [s for s in statements(kernel.body) if isinstance(s, Barrier)][-1]
    body = map_statements(kernel.body, lambda s: Comment("") if s is last else s)
    racing = replace(region, region=replace(region.region, kernels=(replace(kernel, body=body),)))
    assert any("no barrier in between" in f.message for f in certify(racing, reassociated=("x",)).failures)


@pytest.mark.slow
def test_sums_of_columns(tmp_path: Path) -> None:
    made = realiser(FUNCTION % "x[j] += A[i][j];", tmp_path)
    p = made.prepared.polyhedra
    i, j = member(S0="i"), Axis("j", member(S0="j"), 32)
    tiles = Tiles(i, "i_tile", 8, Run(Leaf(("S0",))))
    block = Reduced(held_by(p, j, i, "S0"), "+", ("i",), tiles)
    certified(made, Grid(p, (Axis("i", i, 8, loop="i_tile"), j), block, name="f_0_k0"), tmp_path, "x")


@pytest.mark.slow
def test_one_sum_of_all(tmp_path: Path) -> None:
    """Of all rows and columns, by one block."""
    made = realiser(FUNCTION % "x[0] += A[i][j] * y[j];", tmp_path)
    p = made.prepared.polyhedra
    i, j = member(S0="i"), member(S0="j")
    keys = {reference_key("S0", a.reference) for a in p.statement("S0").accesses if a.reference.array == "x"}
    element, points = isl.PwMultiAff("[n] -> { [] -> x[0] }"), isl.Set("[n] -> { [] : n > 0 }")
    held = HeldArray("x", "x", "x_r", element, points, True, True, frozenset(keys))
    tiles = Tiles(i, "i_tile", 4, Tiles(j, "j_tile", 32, Run(Leaf(("S0",)))))
    axes = Axis("i", i, 4, loop="i_tile"), Axis("j", j, 32, loop="j_tile")
    certified(made, Grid(p, axes, Reduced(held, "+", ("i", "j"), tiles), name="f_0_k0"), tmp_path, "x")


@pytest.mark.slow
def test_sums_of_two_arrays(tmp_path: Path) -> None:
    made = realiser(FUNCTION % "{ x[i] += A[i][j]; y[i] *= A[i][j]; }", tmp_path)
    p = made.prepared.polyhedra
    rows, j = Axis("i", member(S0="i", S1="i"), 2), member(S0="j", S1="j")
    tiles = Tiles(j, "j_tile", 64, Run(Sequence((Leaf(("S0",)), Leaf(("S1",))))))
    block = Reduced(held_by(p, rows, j, "S1", "y"), "*", ("j",), tiles)
    block = Reduced(held_by(p, rows, j, "S0"), "+", ("j",), block)
    grid = Grid(p, (rows, Axis("j", j, 64, loop="j_tile")), block, name="f_0_k0")
    certified(made, grid, tmp_path, "x", "y")


@pytest.mark.parametrize("points", [1, 3])
def test_a_block_goes_through_all_tiles(points: int, tmp_path: Path) -> None:
    made = realiser(FUNCTION % "A[i][j] = A[i][j] * 2 + y[j];", tmp_path)
    p = made.prepared.polyhedra
    j = Axis("j", member(S0="j"), 32, points, loop="j_tile")
    tiles = Tiles(j.member, "j_tile", j.tile, Run(Leaf(("S0",))))
    certified(made, Grid(p, (Axis("i", member(S0="i"), 2), j), tiles, name="f_0_k0"), tmp_path)


def test_another_order_is_not_proved_unasked(tmp_path: Path) -> None:
    made = region(ROWS, (1, 32, 1, 1), tmp_path)
    certificate = certify(made)
    assert not certificate.failures
    assert "another order" in next(u.reason for u in certificate.unproved if u.property == VALUES)
    assert not certify(made, reassociated=("A", "y")).holds


def test_parts_of_a_sum_in_several_launches(tmp_path: Path) -> None:
    """A launch for each eighth column: each goes on with what the one before has stored."""
    source = ROWS.replace(
        "for (int j = 0; j < n; j++)", "for (int t = 0; t < 8; t++) for (int j = t; j < n; j += 8)"
    )
    made = realiser(source, tmp_path)
    p = made.prepared.polyhedra
    i, t, j = (Member({"S0": row("S0", "i, t, j", name)}) for name in "itj")
    outer = Fixed(t, "t")
    rows = Axis("i", i, 1)
    (held,) = promote(Grid(p, (rows,), Run(Band((j,), False, Leaf(("S0",)))), (outer,)))
    tiles = Tiles(j, "j_tile", 32, Run(Leaf(("S0",))))
    block = Reduced(held, "+", ("j",), tiles)
    grid = Grid(p, (rows, Axis("j", j, 32, loop="j_tile")), block, (outer,), name="f_0_k0")
    again = made.of(Program(p, Each(outer, grid)))
    assert certify(again, reassociated=("x",)).holds
    assert output(translated(again, tmp_path), 129) == output(original(tmp_path), 129)


CLEARED = ROWS.replace("for (int j", "{ x[i] = 0; for (int j").replace("A[i][j];", "A[i][j]; }")


@pytest.mark.parametrize("kernels", [1, 2])
def test_sums_from_zero(kernels: int, tmp_path: Path) -> None:
    """Rows are cleared by a launch before, or by the thread that updates them later."""
    made = realiser(CLEARED, tmp_path)
    p = made.prepared.polyhedra
    rows = Axis("i", Member({"S0": row("S0", "i", "i"), "S1": row("S1", "i, j", "i")}), 1)
    j = Member({"S0": row("S0", "i", "0"), "S1": row("S1", "i, j", "j")})
    first, second = (Tiles(j, "j_tile", 64, Run(Leaf((s,)))) for s in ("S0", "S1"))
    reduced = Reduced(held_by(p, rows, j, "S1"), "+", ("j",), second)
    block = Series((first, reduced)) if kernels == 1 else reduced
    clear = Grid(p, (rows,), Run(Leaf(("S0",))), name="f_0_k0")
    grid = Grid(p, (rows, Axis("j", j, 64, loop="j_tile")), block, name="f_0_k1")
    region = made.of(Program(p, grid if kernels == 1 else InOrder((clear, grid))))
    assert certify(region, reassociated=("x",)).holds
    right, found = original(tmp_path), translated(region, tmp_path)
    for n in (1, 65, 129):
        assert output(found, n) == output(right, n), n


@pytest.mark.parametrize(
    ("body", "sums"),
    [
        ("{ x[i] += A[i][j]; A[i][j] = x[i]; }", "S0"),
        ("{ A[i][j] = x[i]; x[i] += y[j]; }", "S1"),
        ("{ if (j == 7) x[i] = 0; x[i] += A[i][j]; }", "S1"),
        ("{ x[i] += A[i][j]; x[i] *= 3; }", "S0"),
    ],
)
def test_no_sums_with_others_in_between(body: str, sums: str, tmp_path: Path) -> None:
    """What reads sums that are not complete, or changes them, can neither come before nor after them."""
    made = realiser(FUNCTION % body, tmp_path)
    p = made.prepared.polyhedra
    rows, j = Axis("i", member(S0="i", S1="i"), 1), member(S0="j", S1="j")
    other = "S1" if sums == "S0" else "S0"
    plain = Grid(p, (rows,), Run(Band((j,), False, Leaf((other,)))), name=f"f_0_k{other}")
    reduced = Reduced(held_by(p, rows, j, sums), "+", ("j",), Tiles(j, "j_tile", 64, Run(Leaf((sums,)))))
    grid = Grid(p, (rows, Axis("j", j, 64, loop="j_tile")), reduced, name=f"f_0_k{sums}")
    for order in ((grid, plain), (plain, grid)):
        assert not certify(made.of(Program(p, InOrder(order))), reassociated=("x",)).holds


def held_by(p: Polyhedra, rows: Axis, columns: Member, statement: str, array: str = "x") -> HeldArray:
    """The elements that `statement` updates, a row's by a thread."""
    grid = Grid(p, (rows,), Run(Band((columns,), False, Leaf((statement,)))))
    return next(h for h in promote(grid) if h.array == array)


def test_counters_are_predicted(tmp_path: Path) -> None:
    made = region(VECTOR, (2, 64, 1, 1), tmp_path)
    program, profile = translated(made, tmp_path), tmp_path / "profile.json"
    device = File(str(tmp_path / "hand.c"), Options(target="emulator", device="h100")).device
    for n in (1, 33, 129):
        environment = {"POLYGPU_PROFILE": str(profile)}
        subprocess.run([program, str(n)], check=True, env=environment, capture_output=True)
        counted = json.loads(profile.read_text())["regions"]
        assert [predict(made.region, device, {"n": n}).record] == counted


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_cuda_compiles_without_warnings(architecture: str, tmp_path: Path) -> None:
    require_nvcc()
    made = region(VECTOR, (2, 64, 1, 1), tmp_path)
    compile_cuda(emitted(made, tmp_path, "cuda")["_cuda.cu"], architecture)


def test_opencl_has_the_same_bits(tmp_path: Path) -> None:
    require_opencl()
    made = region(VECTOR, (2, 64, 1, 1), tmp_path)
    program, right = tmp_path / "opencl", original(tmp_path)
    build_program(emitted(made, tmp_path, "opencl"), program, Recipe("opencl", ("gcc",), extra=("-w",)))
    for n in (1, 33, 300):
        assert output(program, n) == output(right, n)


def grids() -> Iterator[tuple[str, Callable[[Grid], Grid]]]:
    """Programs that are not well-formed, by what is said of them."""

    def rows(grid: Grid, **new: object) -> Grid:
        return replace(grid, axes=(grid.axes[0], replace(grid.axes[1], **new)))  # type: ignore[arg-type]

    def reduced(grid: Grid, **new: object) -> Grid:
        return replace(grid, block=replace(grid.block, **new))  # type: ignore[arg-type]

    yield "cannot be halved", lambda grid: rows(grid, threads=48)
    yield "does not go through the tiles", lambda grid: rows(grid, threads=32)
    yield "does not go through the tiles", lambda grid: rows(grid, overlap=(1, 1))
    yield "outside of j_loop", lambda grid: rows(grid, loop="j_loop")
    yield "cannot be halved", lambda grid: reduced(grid, axes=("j", "k"))
    yield "is not updated by '.' only", lambda grid: reduced(grid, operator="*")
    yield "says nothing of", lambda grid: rows(grid, member=Member({}))


@pytest.mark.parametrize(("message", "change"), list(grids()))
def test_what_is_not_well_formed(message: str, change: Callable[[Grid], Grid], tmp_path: Path) -> None:
    grid = partial(realiser(ROWS, tmp_path), (1, 64, 1, 1))
    with pytest.raises(ValueError, match=message):
        check_program(Program(grid.p, change(grid)))
