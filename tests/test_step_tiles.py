"""Tiles of sequential loops: found for factorisations and solves, certified, run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from polygpu.analysis import step_versions
from polygpu.analysis.polyhedra import PolyAccess, PolyStatement
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.program import (
    Block,
    Each,
    Grid,
    HostTree,
    InOrder,
    Meet,
    Program,
    Series,
    Stored,
    Tiles,
    children,
    walk,
    with_children,
)
from polygpu.model.decisions import parse
from polygpu.verify.certificate import certify
from tests.support_kernels import some_by_default
from tests.test_mapped_programs import assert_as_the_original, realiser
from tests.test_mapped_steps import IN_PLACE, LU

HEAD = "static void f(int n, float A[restrict n][n], float B[restrict n][n], float C[restrict n][n])\n{\n"
CHOLESKY = f"""
#include <math.h>
{HEAD}
    for (int i = 0; i < n; i++)
        A[i][i] += 4 * n;
#pragma scop
    for (int i = 0; i < n; i++) {{
        for (int j = 0; j < i; j++) {{
            for (int k = 0; k < j; k++)
                A[i][j] -= A[i][k] * A[j][k];
            A[i][j] /= A[j][j];
        }}
        for (int k = 0; k < i; k++)
            A[i][i] -= A[i][k] * A[i][k];
        A[i][i] = sqrtf(A[i][i]);
    }}
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            C[i][j] = A[i][j];
#pragma endscop
}}
"""
BACKWARDS = f"""
{HEAD}
#pragma scop
    for (int j = n - 1; j >= 0; j--) {{
        C[0][j] = C[0][j] / (A[j][j] + n);
        for (int i = 0; i < j; i++)
            C[0][i] -= A[i][j] * C[0][j];
    }}
#pragma endscop
}}
"""
BELOW = f"""
{HEAD}
#pragma scop
    for (int k = 0; k < n - 1; k++) {{
        for (int i = k + 2; i < n; i++)
            C[i][k] /= C[k + 1][k] + 3 * n;
        for (int i = k + 2; i < n; i++)
            for (int j = k + 1; j < n; j++)
                C[i][j] -= C[i][k] * C[k + 1][j];
    }}
#pragma endscop
}}
"""
IN_A_SCALAR = f"""
{HEAD}
    for (int i = 0; i < n; i++)
        C[i][i] += n;
#pragma scop
    for (int i = 0; i < n; i++) {{
        float rest;
        for (int j = 0; j < i; j++) {{
            rest = C[i][j];
            for (int k = 0; k < j; k++)
                rest -= C[i][k] * C[k][j];
            C[i][j] = rest / C[j][j];
        }}
        for (int j = i; j < n; j++) {{
            rest = C[i][j];
            for (int k = 0; k < i; k++)
                rest -= C[i][k] * C[k][j];
            C[i][j] = rest;
        }}
    }}
#pragma endscop
}}
"""
PATHS = f"""
{HEAD}
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            C[i][j] = 0.37f * C[i][j] - 0.7f;
#pragma scop
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                C[i][j] = C[i][j] < C[i][k] + C[k][j] ? C[i][j] : C[i][k] + C[k][j];
#pragma endscop
}}
"""
INVERTING = f"""
{HEAD}
    for (int i = 0; i < n; i++)
        C[i][i] += 4 * n;
#pragma scop
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            if (i != k)
                for (int j = k + 1; j < n; j++)
                    C[i][j] -= C[i][k] / C[k][k] * C[k][j];
#pragma endscop
}}
"""
SPREADING = f"""
{HEAD}
#pragma scop
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                C[i][j] = 0.5f * C[i][j] + C[i][k] * C[k][j] / n;
#pragma endscop
}}
"""
SOURCES = {
    "LU": LU,
    "Cholesky": CHOLESKY,
    "from the last row": BACKWARDS,
    "a row below": BELOW,
    "sums in a scalar": IN_A_SCALAR,
    "shortest paths": PATHS,
    "rows above, too": INVERTING,
    "sums in place": SPREADING,
}
SLOW = {"Cholesky", "a row below", "sums in a scalar", "shortest paths", "rows above, too", "sums in place"}
VERSIONS = {"shortest paths": PATHS, "rows above, too": INVERTING}


def made(source: str, directory: Path, width: int = 16) -> CompiledRegion:
    (loop,) = {"k"} if "int k" in source else {"j"}
    return realiser(source, directory).realise(parse(f"batch({loop}: {width})"))


def in_steps(r: CompiledRegion) -> list[Grid]:
    """The kernels whose blocks go through steps."""
    return [g for g in r.grids if any(isinstance(b, Meet) for b in walk(g.block))]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in SOURCES]
)
def test_tiles_of_steps(name: str, tmp_path: Path) -> None:
    region = made(SOURCES[name], tmp_path)
    assert in_steps(region) and len(in_steps(region)) < len(region.grids)
    assert certify(region, 600).holds
    assert_as_the_original(region, tmp_path, 1, 2, 3, 15, 16, 17, 31, 32, 33, 50)


def test_a_launch_runs_many_steps_by_rule(tmp_path: Path) -> None:
    region = realiser(LU, tmp_path).realise()
    assert {width for _, width in region.prepared.batches.values()} == {32}
    assert not realiser(LU, tmp_path).realise(parse("batch(k: 1)")).prepared.batches


def test_values_that_spread_to_all_elements_leave_no_tiles(tmp_path: Path) -> None:
    assert not realiser(IN_PLACE, tmp_path).realise().prepared.batches


def test_versions_by_step_make_tiles_where_there_are_none_and_room_is(tmp_path: Path) -> None:
    region = realiser(SPREADING, tmp_path).realise()
    assert {width for _, width in region.prepared.batches.values()} == {32}
    # the row and the column of a step wait for where they meet, all others for these; beside the diagonal
    # block, what these need of it is there; the next step waits for this one
    assert [sum(isinstance(b, Meet) for b in walk(g.block)) for g in in_steps(region)] == [3, 2, 2]
    assert not realiser(SPREADING, tmp_path).realise(parse("batch(k: 1)")).prepared.batches


@pytest.mark.slow  # isl takes long for schedules of loops of constant size
def test_versions_by_step_have_as_much_room_as_they_may(tmp_path: Path) -> None:
    plain = SPREADING.replace("0.5f * ", "").replace(" / n", "")
    known = realiser(re.sub(r"\bn\b", "64", plain.replace("int n, ", "")), tmp_path).prepared
    assert known.stepped(32, (), 64**2 * 20).batches and not known.stepped(32, (), 64**2 * 3).batches


BESIDE_DATA = """
void f(int n, int m, int A[restrict n + m + 39], int B[restrict n + m + 20][n + m + 21])
{
#pragma scop
    for (int i = 0; i < m; i++) {
        for (int j = 15; j > 0; j--) {
            int t = 2;
            for (int k = (A[j] & 3); k < 2; k++)
                t = (t & 1023) + (A[(k & 7)] & 255);
            B[i][j] ^= t;
        }
        for (int j = n - 1; j >= 2; j--) {
            int t = (B[j][i] & 63) * (B[j][i + j + 1] & 63);
            int k = (B[i + 2][j - 2] & 3);
            do {
                k += 2;
                A[j + 1] = (A[j + 1] & 1023) + (B[j - 2][(k & 7)] & 255);
            } while (k < (B[0][j] & 7));
            A[j + 1] ^= t;
        }
    }
#pragma endscop
}
"""


def test_elements_that_data_tell_have_no_versions(tmp_path: Path) -> None:
    """Some others of this region have, but no tiles come of them."""
    assert not realiser(BESIDE_DATA, tmp_path).realise(parse("batch(j: 16)")).prepared.batches


@pytest.mark.parametrize("name", some_by_default([(name,) for name in reversed(VERSIONS)], one_in=2))
def test_steps_read_versions_of_what_later_steps_store_over(name: str, tmp_path: Path) -> None:
    region = made(VERSIONS[name], tmp_path)
    assert any(a.startswith(("C_before", "C_after")) for g in region.grids for a in _read(g))
    assert_as_the_original(region, tmp_path, 1, 2, 15, 16, 17, 33, 50)


def _read(grid: Grid) -> set[str]:
    accesses = (a for s in grid.statements for a in grid.p.statement(s).accesses)
    return {a.reference.array for a in accesses if not a.write}


@pytest.mark.slow
def test_versions_of_another_time_are_not_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = step_versions._Loop._read

    def wrong(loop: step_versions._Loop, s: PolyStatement, a: PolyAccess) -> step_versions._Read | None:
        found = right(loop, s, a)
        return replace(found, after=False) if found is not None and s.name == "S0_8" else found

    monkeypatch.setattr(step_versions._Loop, "_read", wrong)
    region = made(f"{PATHS}\n", tmp_path)  # another text: nothing of it is known from other tests
    assert region.prepared.batches and certify(region, 600).failures


def without_barrier(block: Block, number: int) -> Block:
    """The loop over steps without one of its barriers."""
    if isinstance(block, Tiles) and isinstance(block.block, Series):
        parts = [k for k, b in enumerate(block.block.blocks) if isinstance(b, Meet)]
        left = (b for k, b in enumerate(block.block.blocks) if k != parts[number])
        return replace(block, block=Series(tuple(left)))
    return with_children(block, tuple(without_barrier(inner, number) for inner in children(block)))


def without_stores(block: Block, number: int) -> Block:
    """The tile is computed, and forgotten."""
    if isinstance(block, Stored):
        return block.block
    return with_children(block, tuple(without_stores(inner, number) for inner in children(block)))


def grids_changed(host: HostTree, change: Callable[[Grid], Grid]) -> HostTree:
    match host:
        case Grid():
            return change(host)
        case Each(fixed, child):
            return Each(fixed, grids_changed(child, change))
        case InOrder(parts):
            return InOrder(tuple(grids_changed(part, change) for part in parts))


def backwards(host: HostTree) -> HostTree:
    """The last part of a tile first."""
    match host:
        case Each(Fixed() as fixed, InOrder(parts)):
            return Each(fixed, InOrder(parts[::-1]))
    raise AssertionError(host)


def changed(source: str, directory: Path) -> tuple[Realiser, CompiledRegion]:
    region = made(source, directory)
    return Realiser(region.prepared, realiser(source, directory).device), region


@pytest.mark.slow
@pytest.mark.parametrize("change", [without_barrier, without_stores])
@pytest.mark.parametrize("number", [0, -1])
def test_steps_without_a_barrier_or_a_store_are_not_proved(
    change: Callable[[Block, int], Block], number: int, tmp_path: Path
) -> None:
    again, region = changed(LU, tmp_path)
    corner = in_steps(region)[0]

    def wrong(grid: Grid) -> Grid:
        return replace(grid, block=change(grid.block, number)) if grid is corner else grid

    program = Program(region.program.p, grids_changed(region.program.host, wrong))
    assert not certify(again.of(program), 600).holds


def test_parts_in_another_order_are_not_proved(tmp_path: Path) -> None:
    again, region = changed(LU, tmp_path)
    program = Program(region.program.p, backwards(region.program.host))
    assert not certify(again.of(program), 600).holds
