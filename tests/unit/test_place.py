"""Where accesses go: registers, shared memory for a reason, or straight to global memory."""

from __future__ import annotations

import pytest

from polygpu import devices
from polygpu.mapping.fixed import single_member
from polygpu.mapping.owned import promote
from polygpu.mapping.program import Axis, Grid, Run
from polygpu.schedule.tree import Leaf
from polygpu.support.isl_idioms import steps
from tests.unit.middle import MATRICES, VECTORS, analysed, mapped

TWO = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) "
CUBE = "int n, int m, float A[restrict n][m], float B[restrict m][m], float C[restrict n][m]"
PRODUCT = TWO + "for (int k = 0; k < m; k++) C[i][j] += A[i][k] * B[k][j];"


def staged(parameters: str, body: str, device: str = "8800gtx") -> dict[str, tuple[str, tuple[int, ...]]]:
    return {s.name: (s.reason, s.extents) for s, _ in mapped(parameters, body, device).boxes}


def test_streams_go_straight_to_global_memory() -> None:
    assert staged(MATRICES, TWO + "A[i][j] = B[i][j];") == {}
    assert mapped(MATRICES, TWO + "A[i][j] = B[i][j];").held == ()


def test_products_stage_both_factors_and_sum_in_registers() -> None:
    found = mapped(CUBE, PRODUCT)
    assert {s.name: s.extents for s, _ in found.boxes} == {"A_s": (16, 16), "B_s": (16, 16)}
    assert all(tiles is not None and tiles.width == 16 for _, tiles in found.boxes)
    (promoted,) = found.held
    assert (promoted.array, promoted.load, promoted.store) == ("C", True, True)
    assert {array for _, array, _ in promoted.references} == {"C"}


def test_register_tiles_keep_the_column_of_a_thread_together() -> None:
    """A is stored transposed: a thread reads its consecutive rows from consecutive words."""
    found = {s.name: s for s, _ in mapped(CUBE, PRODUCT, "h100").boxes}
    assert (found["A_s"].order, found["A_s"].extents, found["A_s"].transposed) == ((1, 0), (8, 64), True)
    assert (found["B_s"].order, found["B_s"].extents, found["B_s"].transposed) == ((0, 1), (8, 128), False)


def test_a_sum_that_starts_at_zero_needs_no_load() -> None:
    body = TWO + "{ C[i][j] = 0; for (int k = 0; k < m; k++) C[i][j] += A[i][k] * B[k][j]; }"
    (promoted,) = mapped(CUBE, body).held
    assert (promoted.load, promoted.store) == (False, True)


def test_a_sum_that_may_not_start_is_loaded() -> None:
    """Points of j = 0 keep their old value in C."""
    body = TWO + "{ if (j > 0) C[i][j] = 0; for (int k = 0; k < m; k++) C[i][j] += A[i][k] * B[k][j]; }"
    assert any(p.load for p in mapped(CUBE, body).held)


def test_a_sum_whose_start_depends_on_data_is_loaded() -> None:
    body = TWO + "{ if (B[0][j] > 0) C[i][j] = 0; for (int k = 0; k < m; k++) C[i][j] += A[i][k] * B[k][j]; }"
    (promoted,) = mapped(CUBE, body).held
    assert (promoted.load, promoted.store) == (True, True)


def test_temporaries_live_in_registers_only() -> None:
    body = "float t; for (int i = 0; i < n; i++) { t = x[i]; y[i] = t * t; }"
    (promoted,) = mapped(VECTORS, body).held
    assert (promoted.array, promoted.load, promoted.store) == ("t", False, False)


def test_strided_reads_are_staged() -> None:
    assert staged(MATRICES, TWO + "C[j][i] = A[i][j];") == {"A_s": ("uncoalesced", (16, 16))}
    assert staged(MATRICES, TWO + "C[j][i] = A[i][j];", "h100") == {"A_s": ("uncoalesced", (32, 32))}


def test_halos_are_staged_where_misaligned_requests_do_not_coalesce() -> None:
    """On the 8800 GTX the box of x[i - 1], x[i], x[i + 1] begins a segment of 16 early."""
    body = "for (int i = 1; i < n - 1; i++) y[i] = x[i - 1] + x[i] + x[i + 1];"
    assert staged(VECTORS, body) == {"x_s": ("uncoalesced", (256 + 17,))}
    assert staged(VECTORS, body, "h100") == {}


def test_data_dependent_subscripts_are_not_staged() -> None:
    indirect = "int n, int k[restrict n], float x[restrict n], float y[restrict n]"
    assert staged(indirect, "for (int i = 0; i < n; i++) y[i] = x[k[i]];") == {}


@pytest.mark.parametrize("device", ["8800gtx", "gtx285", "h100"])
@pytest.mark.parametrize("body", [PRODUCT, PRODUCT.replace("A[i][k]", "A[i][k] * A[i][j] * B[j][k]")])
def test_shared_memory_fits(device: str, body: str) -> None:
    chip = devices.load(device)
    total = 0
    for s, _ in mapped(CUBE, body, device).boxes:
        size = 4
        for extent in s.extents:
            size *= extent
        total += size
    assert 0 < total <= chip.shared_per_block - chip.shared_reserved


def test_references_a_constant_apart_share_a_tile() -> None:
    """Boxes of B[i - 1][j] and B[i][j] overlap: one array, one row more."""
    body = "for (int i = 1; i < n; i++) for (int j = 1; j < m; j++) A[i][j] = B[i][j - 1] + B[i - 1][j];"
    ((name, (reason, extents)),) = staged(MATRICES, body).items()
    assert (name, reason) == ("B_s", "uncoalesced")
    assert extents[0] == 8 + 1
    found = mapped(MATRICES, body)
    s, _ = found.boxes[0]
    assert len(s.references) == 2


@pytest.mark.parametrize(
    ("decisions", "extents"),
    [
        ("tile(i: 2, j: 64) threads(i: 2, j: 64)", (2, 64)),
        ("tile(i: 2, j: 64, k: 4) threads(i: 2, j: 64)", (2, 4)),
        ("tile(i: 2, j: 64, k: 4) threads(i: 2, j: 64) stage(A, B)", (2, 4)),
        ("tile(i: 2, j: 64, k: 4) threads(i: 2, j: 64) stage(A: block, B)", (2, 64)),
    ],
)
def test_a_tile_that_is_asked_for_is_staged_where_all_of_the_rows_would_fit(
    decisions: str, extents: tuple[int, int]
) -> None:
    known = "float A[256][64], float B[64][256], float C[256][256]"
    body = (
        "for (int i = 0; i < 256; i++) for (int j = 0; j < 256; j++) "
        "for (int k = 0; k < 64; k++) C[i][j] += A[i][k] * B[k][j];"
    )
    found = {s.name: s.extents for s, _ in mapped(known, body, decisions=decisions).boxes}
    assert found["A_s"] == extents


def test_what_no_point_owns_alone_need_not_exist() -> None:
    """What isl needs to tell that it does takes sixty times as long where subscripts are like these."""
    parameters = "int n, int m, char A[restrict 94][145], char *restrict B"
    body = """
        for (int i = 0; i < n && i < m; i++)
            for (int j = i + 1; j < 31; j += 2)
                for (int k = n - 1; k >= 1; k--)
                    if (B[((2 * k - 1) * 63 + i - k + n + 2) * 94 + i + 1]
                        <= B[((k + i + 1) * 63 + j + 1) * 94 + 2 * k + 2])
                        B[((k - 1) * 63 + k - 1) * 94 + i + 1] ^= A[j][k - 1];
    """
    p = analysed(parameters, body)
    names = tuple(s.name for s in p.statements)
    grid = Grid(p, (Axis("one", single_member(p, names), 1, 1),), Run(Leaf(names)))
    start = steps()
    assert promote(grid) == ()
    assert steps() - start < 20_000
