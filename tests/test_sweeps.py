"""Sweeps: recurrences along rows and columns of few points, on tiles that all threads copy and store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest

from polygpu.compilation import Compilation, Options
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.mapping.program import Block, Grid, Program, Stored, children, walk, with_children
from polygpu.model.decisions import parse
from polygpu.model.kernel import For, If, Statement
from polygpu.model.kernel_walk import statements
from polygpu.model.rewrite import names_in
from polygpu.pipeline import compile_file
from polygpu.support.isl_idioms import D, pieces
from polygpu.verify.certificate import certify
from tests.test_mapped_programs import assert_as_the_original, realiser
from tests.test_step_tiles import HEAD, grids_changed, without_stores
from tests.unit import kernel_mutants

ROWS = f"""
{HEAD}
    float last;
#pragma scop
    for (int i = 0; i < n; i++) {{
        last = 0.0f;
        for (int j = 0; j < n; j++) {{
            B[i][j] = A[i][j] + 0.5f * last;
            last = B[i][j];
        }}
    }}
    for (int i = 0; i < n; i++) {{
        last = 1.0f;
        for (int j = n - 1; j >= 0; j--) {{
            C[i][j] = A[i][j] - 0.25f * last;
            last = C[i][j];
        }}
    }}
#pragma endscop
}}
"""
COLUMNS = ROWS.replace("[i][j]", "[j][i]")
FILTER = f"""
{HEAD}
    float x1, y1, y2;
#pragma scop
    for (int i = 0; i < n; i++) {{
        x1 = 0.0f;
        y1 = 0.0f;
        y2 = 0.0f;
        for (int j = 0; j < n; j++) {{
            B[j][i] = 0.5f * A[j][i] + 0.25f * x1 + 0.5f * y1 - 0.125f * y2;
            x1 = A[j][i];
            y2 = y1;
            y1 = B[j][i];
        }}
    }}
#pragma endscop
}}
"""
SOLVES = f"""
{HEAD}
#pragma scop
    for (int i = 0; i < n; i++) {{
        B[i][0] = 0.0f;
        C[i][0] = 1.0f;
        for (int j = 1; j < n; j++) {{
            B[i][j] = 1.0f / (0.5f * B[i][j - 1] + 2.0f);
            C[i][j] = (A[i][j] - C[i][j - 1]) / (0.5f * B[i][j - 1] + 2.0f);
        }}
        for (int j = n - 2; j >= 0; j--)
            C[i][j] = B[i][j] * C[i][j + 1] + C[i][j];
    }}
#pragma endscop
}}
"""
NARROW = "attend(128) tile(i: 16) threads(i: 16)"
SIZES = (1, 2, 15, 16, 17, 63, 64, 65, 130)


def gathering(r: CompiledRegion) -> list[Grid]:
    return [g for g in r.grids if any(isinstance(b, Stored) for t in g.loops for b in walk(t))]


@pytest.mark.parametrize("decisions", ["", NARROW])
def test_rows_are_stored_together(decisions: str, tmp_path: Path) -> None:
    region = realiser(ROWS, tmp_path).realise(parse(decisions) if decisions else ())
    assert len(gathering(region)) == 2
    assert certify(region).holds
    assert_as_the_original(region, tmp_path, *SIZES)


@pytest.mark.parametrize(("decision", "count"), [("stage(A)", 0), ("stage(A, B)", 1), ("stage(A, B, C)", 2)])
def test_what_is_stored_together_can_be_decided(decision: str, count: int, tmp_path: Path) -> None:
    assert len(gathering(realiser(ROWS, tmp_path).realise(parse(decision)))) == count


@pytest.mark.parametrize(
    "change", [("last = B[i][j];", "last = B[i][j] + B[i][0];"), ("B[i][j] = A", "B[i][j] = B[i][j] + A")]
)
def test_what_is_read_of_other_elements_keeps_an_array_where_it_is(
    change: tuple[str, str], tmp_path: Path
) -> None:
    region = realiser(ROWS.replace(*change), tmp_path).realise()
    assert len(gathering(region)) == 1
    assert_as_the_original(region, tmp_path, 5, 70)


@pytest.mark.parametrize("source", [COLUMNS, FILTER, SOLVES])
def test_few_compute_and_all_copy(source: str, tmp_path: Path) -> None:
    region = realiser(source, tmp_path).realise(parse(NARROW))
    assert (16, 8, 1) in {k.block for k in region.region.kernels}
    assert certify(region).holds
    assert_as_the_original(region, tmp_path, *SIZES)


def test_the_threads_that_copy_have_a_name_of_their_own(tmp_path: Path) -> None:
    source = COLUMNS.replace("last", "copy").replace("int i", "int copy2").replace("[i]", "[copy2]")
    source = source.replace("; i <", "; copy2 <").replace("; i++", "; copy2++")
    region = realiser(source, tmp_path).realise(parse(NARROW.replace("i:", "copy2:")))
    assert {a.name for g in region.grids for a in g.axes if a.copies} == {"copy3"}
    assert_as_the_original(region, tmp_path, 5, 33)


def changed(change: Callable[[Block, int], Block]) -> Callable[[Grid], Grid]:
    return lambda g: replace(g, block=change(g.block, 0))


def without_meeting(block: Block, number: int) -> Block:
    """Rows are stored while others still compute."""
    if isinstance(block, Stored):
        return replace(block, block=children(block.block)[number])
    return with_children(block, tuple(without_meeting(inner, number) for inner in children(block)))


@pytest.mark.parametrize("change", [without_stores, without_meeting])
def test_rows_without_a_barrier_or_stores_are_not_proved(
    change: Callable[[Block, int], Block], tmp_path: Path
) -> None:
    made = realiser(ROWS, tmp_path)
    region = made.realise(parse(NARROW))
    again = Realiser(region.prepared, made.device)
    wrong = Program(region.program.p, grids_changed(region.program.host, changed(change)))
    assert not certify(again.of(wrong)).holds


def computed_by_all(s: Statement) -> tuple[Statement, ...] | None:
    """A loop that those who copy run, too."""
    if (
        isinstance(s, If)
        and "copy" in names_in(s.test)
        and any(isinstance(x, For) for x in statements(s.then))
    ):
        return s.then
    return None


def test_threads_that_copy_must_not_compute(tmp_path: Path) -> None:
    region = realiser(ROWS, tmp_path).realise(parse(NARROW))
    wrong = list(kernel_mutants.kernel_variants(region.region, computed_by_all))
    assert len(wrong) == 2
    assert not any(certify(replace(region, region=mutant)).holds for mutant in wrong)


def compiled(folder: Path, n: int, *decisions: str) -> Compilation:
    """The sweeps along rows of a size that is known."""
    file = folder / "sweep.c"
    file.write_text(f"enum {{ n = {n} }};\n{ROWS.replace('int n, ', '')}")
    return compile_file(str(file), Options(device="h100", decisions=decisions, level=1))


def blocks(made: Compilation) -> set[tuple[int, int, int]]:
    return {kernel.block for r in made.regions for kernel in r.region.kernels}


@pytest.mark.parametrize(("n", "block"), [(2000, (8, 16, 1)), (4320, (32, 4, 1)), (16384, (64, 1, 1))])
def test_each_multiprocessor_has_a_block(n: int, block: tuple[int, int, int], tmp_path: Path) -> None:
    """A chip has 132: blocks of 64 points are enough where there are 8,448."""
    made = compiled(tmp_path, n)
    assert blocks(made) == {block}
    taken = tuple(str(t.decision) for r in made.regions for kernel in r.taken for t in kernel)
    assert compiled(tmp_path, n, *taken).files == made.files


def test_loops_visit_what_the_source_visits(tmp_path: Path) -> None:
    """A schedule in which one iteration's statements are apart would have three times as many."""
    (grid,) = realiser(FILTER, tmp_path).realise().grids
    affs = [aff for t in grid.loops for row in t.member.rows.values() for _, aff in pieces(row)]
    assert {abs(c.to_python()) for aff in affs for c in _coefficients(aff)} == {0, 1}


def _coefficients(aff: isl.Aff) -> list[isl.Val]:
    return [aff.get_coefficient_val(D.in_, k) for k in range(aff.dim(D.in_))]


def test_values_of_the_iteration_before_are_no_reason_for_another_kernel(tmp_path: Path) -> None:
    region = realiser(SOLVES, tmp_path).realise()
    written = [{r for s in g.statements for r in _arrays(g, s)} for g in region.grids]
    assert written[0] == {"B", "C"}


def _arrays(m: Grid, statement: str) -> set[str]:
    return {a.reference.array for a in m.p.statement(statement).accesses if a.write}
