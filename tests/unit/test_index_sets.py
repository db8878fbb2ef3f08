"""Index-set splitting: which statements are cut, that the pieces make the whole, and what it gains."""

from __future__ import annotations

import islpy as isl
import pytest

from polygpu.analysis.dependences import compute
from polygpu.analysis.index_sets import divided, split
from tests.unit.middle import dependent, host_text

SQUARE = "int n, float a[restrict n][n], float b[restrict n][n]"
CLOSURE = "for (int k = 0; k < n; k++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
CLOSURE += " a[i][j] = a[i][j] + a[i][k] * a[k][j];"
ROW = "for (int k = 0; k < n; k++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
ROW += " a[i][j] = a[i][j] + a[k][j];"
PRODUCT = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)"
PRODUCT += " a[i][j] = a[i][j] + b[i][k];"
SEIDEL = "for (int t = 0; t < n; t++) for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)"
SEIDEL += " a[i][j] = a[i - 1][j] + a[i][j - 1] + a[i + 1][j];"


@pytest.mark.parametrize(("body", "pieces"), [(CLOSURE, 9), (ROW, 3)])
def test_a_statement_is_cut_where_a_row_or_column_feeds_the_rest(body: str, pieces: int) -> None:
    p, d = dependent(SQUARE, body)
    _, _, (found,) = split(p, d)
    assert len(found.parts) == pieces


@pytest.mark.parametrize("body", [PRODUCT, SEIDEL])
def test_chains_are_left_whole(body: str) -> None:
    p, d = dependent(SQUARE, body)
    assert split(p, d) == (p, d, ())


def test_pieces_are_disjoint_and_make_the_whole() -> None:
    p, d = dependent(SQUARE, CLOSURE)
    after, _, _ = split(p, d)
    total = isl.Set.empty(p.statements[0].domain.get_space())
    for s in after.statements:
        part = s.domain.set_tuple_name("S0")
        assert s.whole == "S0"
        assert total.intersect(part).is_empty()
        total = total.union(part)
    assert total.is_equal(p.statements[0].domain)


def test_the_pieces_have_the_dependences_of_a_fresh_analysis() -> None:
    p, d = dependent(SQUARE, CLOSURE)
    after, found, _ = split(p, d)
    fresh = compute(after)
    assert found.flow.is_equal(fresh.flow)
    assert found.memory.is_equal(fresh.memory)
    assert found.live_in.is_equal(fresh.live_in)


def test_pieces_of_what_is_a_piece_already_have_their_dependences() -> None:
    """The product, cut in two before, is left as it is; the closure is not."""
    product = PRODUCT.replace("a[", "c[")
    p, _ = dependent(f"{SQUARE}, float c[restrict n][n]", f"{product} {CLOSURE}")
    whole = p.statements[0]
    first = whole.domain.intersect(isl.Set(f"[n] -> {{ {whole.name}[i, j, k] : k = 0 }}"))
    p = divided(p, whole.name, [first, whole.domain.subtract(first)])
    after, found, _ = split(p, compute(p))
    fresh = compute(after)
    assert found.flow.is_equal(fresh.flow)
    assert found.memory.is_equal(fresh.memory)


def test_the_pieces_run_in_both_dimensions_at_once() -> None:
    """One host loop, in it a kernel over (i, j) for each quarter; the whole is a wavefront of diagonals."""
    lines = host_text(SQUARE, CLOSURE)
    assert [line for line in lines if "host loop" in line] == lines[:1]
    kernels = [line for line in lines if "kernel" in line]
    assert sum(" | " in line for line in kernels) == 4  # two rows and two columns of quarters
    assert sum("one thread" in line for line in kernels) == 1  # where row and column meet
