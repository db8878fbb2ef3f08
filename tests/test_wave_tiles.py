"""Waves of tiles: found where all loops pass values, certified, run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.mapping.program import (
    Block,
    Copied,
    Each,
    Grid,
    HostTree,
    Meet,
    Program,
    children,
    with_children,
)
from polygpu.model.decisions import parse
from polygpu.verify.certificate import certify
from tests.test_mapped_programs import assert_as_the_original, realiser
from tests.test_mapped_steps import IN_PLACE
from tests.test_step_tiles import HEAD, grids_changed, without_barrier, without_stores

IN_TWO_DIMENSIONS = f"""
{HEAD}
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            C[i][j] += 0.5f * i - j;
#pragma scop
    for (int t = 0; t < n / 2; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                C[i][j] = (C[i - 1][j - 1] + C[i][j - 1] + C[i][j] + C[i][j + 1] + C[i + 1][j + 1]) / 5.0f;
#pragma endscop
}}
"""
FROM_TWO_SIDES = f"""
{HEAD}
#pragma scop
    for (int i = n - 2; i >= 0; i--)
        for (int j = 1; j < n; j++) {{
            float best = C[i + 1][j] > C[i][j - 1] ? C[i + 1][j] : C[i][j - 1];
            C[i][j] = best + A[i][j];
        }}
#pragma endscop
}}
"""
OF_TWO_ARRAYS = f"""
{HEAD}
#pragma scop
    for (int t = 0; t < n; t++)
        for (int i = 1; i < n; i++) {{
            B[0][i] = 0.5f * B[0][i - 1] + C[0][i];
            C[0][i] = 0.25f * C[0][i - 1] + B[0][i];
        }}
#pragma endscop
}}
"""
UNDER_CONDITIONS = f"""
{HEAD}
#pragma scop
    for (int i = 1; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (C[0][j] >= C[0][i]) {{
                if ((i + j) % 2 == 0)
                    C[0][j] = 0.5f * C[0][0];
                else
                    A[0][i] = A[0][j] + 1;
            }}
#pragma endscop
    for (int i = 0; i < n; i++)
        C[1][i] = A[0][i];
}}
"""
BEHIND_A_POINTER = f"""
static void g(int n, float *restrict a)
{{
#pragma scop
    for (int t = 0; t < n; t++)
        for (int k = 1; k < n; k++)
            if (k % 2 == 0)
                a[k] = 0.5f * a[k - 1] + 0.25f * a[k - 2] + t;
#pragma endscop
}}
{HEAD}
    g(n, C[0]);
}}
"""
CASES = {
    "behind a pointer": (BEHIND_A_POINTER, "wave(t: 8, k: 32)"),
    "under conditions": (UNDER_CONDITIONS, "wave(i: 8, j: 16)"),
    "in place": (IN_PLACE, "wave(t: 4, i: 16)"),
    "in two dimensions": (IN_TWO_DIMENSIONS, "wave(t: 2, i: 16, j: 32)"),
    "from two sides": (FROM_TWO_SIDES, "wave(i: 8, j: 16)"),
    "of two arrays": (OF_TWO_ARRAYS, "wave(t: 4, i: 8)"),
}
SLOW = {"in two dimensions", "of two arrays"}


def in_waves(r: CompiledRegion) -> list[Grid]:
    return [g for g in r.grids if any(tiles.count for tiles in g.loops)]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in CASES]
)
def test_waves_of_tiles(name: str, tmp_path: Path) -> None:
    source, widths = CASES[name]
    region = realiser(source, tmp_path).realise(parse(widths))
    assert len(in_waves(region)) == 1
    assert certify(region, 600).holds
    assert_as_the_original(region, tmp_path, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50, 70)


@pytest.mark.parametrize("source", [IN_PLACE, IN_TWO_DIMENSIONS])
def test_tiles_run_in_waves_by_rule_unless_they_are_single_points(source: str, tmp_path: Path) -> None:
    made = realiser(source, tmp_path)
    assert in_waves(made.realise())
    loops = [name for name, _ in next(iter(made.realise().prepared.waves.values()))]
    points = made.realise(parse(f"wave({', '.join(f'{name}: 1' for name in loops)})"))
    assert not in_waves(points)
    assert_as_the_original(points, tmp_path, 5, 33)


def test_branches_that_are_never_taken_touch_nothing(tmp_path: Path) -> None:
    stencil = IN_TWO_DIMENSIONS.replace("C[i][j] = (", "if (A[i][j] < 2) {\nC[i][j] = (")
    source = stencil.replace("/ 5.0f;", "/ 5.0f;\nif (i < 1) C[i][0] = C[i][j]; }")
    region = realiser(source, tmp_path).realise(parse("wave(t: 2, i: 16, j: 32)"))
    assert in_waves(region)
    assert_as_the_original(region, tmp_path, 5, 33)


def copied_pieces(region: CompiledRegion) -> int:
    """Of the elements that blocks of waves copy."""
    copied = [t for g in in_waves(region) for t in (g.block, *children(g.block)) if isinstance(t, Copied)]
    return sum(box.only.n_basic_set() for c in copied for box in c.boxes if box.only is not None)


def test_loops_that_end_at_constants_copy_as_simply_as_those_that_end_with_the_array(tmp_path: Path) -> None:
    """The array has `n` rows, of which nothing says that they are 40."""
    nine = " + ".join(f"C[i + {i}][j + {j}]" for i in (-1, 0, 1) for j in (-1, 0, 1))
    five = "C[i - 1][j - 1] + C[i][j - 1] + C[i][j] + C[i][j + 1] + C[i + 1][j + 1]"
    assert five in IN_TWO_DIMENSIONS
    source = IN_TWO_DIMENSIONS.replace(five, nine)
    of_all = realiser(source, tmp_path).realise(parse("wave(t: 2, i: 16, j: 32)"))
    constant = source.replace("t < n / 2", "t < 5").replace("< n - 1", "< 39")
    region = realiser(constant, tmp_path).realise(parse("wave(t: 2, i: 16, j: 32)"))
    assert 0 < copied_pieces(region) <= copied_pieces(of_all)
    assert_as_the_original(region, tmp_path, 40, 53)


def test_points_with_loops_of_their_own_stay(tmp_path: Path) -> None:
    """Those of a tile wait for each other: there is less to do at the same time than without."""
    source = IN_TWO_DIMENSIONS.replace("C[i + 1][j + 1]) / 5.0f;", "C[i + 1][j + 1]) / 5.0f;\n")
    inner = source.replace("C[i][j] = (", "for (int k = 0; k < n; k++) C[i][j] = (A[i][k] + ")
    assert not in_waves(realiser(inner, tmp_path).realise())


def copied_whole(block: Block, number: int) -> Block:
    """All of the boxes is copied: elements that other blocks store, too."""
    if isinstance(block, Copied):
        return replace(block, boxes=tuple(replace(box, only=None) for box in block.boxes))
    return with_children(block, tuple(copied_whole(inner, number) for inner in children(block)))


def in_another_order(host: HostTree) -> HostTree:
    """Waves by what a later one has: each tile one further along the last loop."""
    match host:
        case Each(fixed, child):
            rows = {s: row.neg() for s, row in fixed.member.rows.items()}
            turned = replace(fixed, member=replace(fixed.member, rows=rows))
            return Each(turned, grids_changed(child, lambda g: replace(g, outer=(turned,))))
    raise AssertionError(host)


def remade(source: str, widths: str, directory: Path) -> tuple[Realiser, CompiledRegion]:
    region = realiser(source, directory).realise(parse(widths))
    return Realiser(region.prepared, realiser(source, directory).device), region


@pytest.mark.parametrize("change", [without_barrier, without_stores])
def test_waves_without_a_barrier_or_a_store_are_not_proved(
    change: Callable[[Block, int], Block], tmp_path: Path
) -> None:
    again, region = remade(*CASES["in place"], tmp_path)
    assert any(isinstance(b, Meet) for g in in_waves(region) for t in g.loops for b in children(t.block))
    host = grids_changed(region.program.host, lambda g: replace(g, block=change(g.block, 0)))
    assert not certify(again.of(Program(region.program.p, host)), 600).holds


def test_waves_in_another_order_are_not_proved(tmp_path: Path) -> None:
    again, region = remade(*CASES["in place"], tmp_path)
    program = Program(region.program.p, in_another_order(region.program.host))
    assert not certify(again.of(program), 600).holds
