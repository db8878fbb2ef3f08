from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygpu import devices
from polygpu.mapping.pad import Layout, Request, affine_lanes, choose_padding, request_steps
from polygpu.perf.banks import Banks

CC10, CC90 = Banks.of(devices.load("8800gtx")), Banks.of(devices.load("h100"))
TILE = Layout(row_length=16, element_size=4, banks=CC10)


def test_matrix_vector_product_becomes_free_of_conflicts() -> None:
    """ICS'08's mv: lane k reads row k of a tile 16 wide, copied in along its rows."""
    read = Request(affine_lanes(1, 0, 16), weight=16)
    copy = Request(affine_lanes(0, 1, 16), weight=16)
    choice = choose_padding((read, copy), TILE)
    assert (choice.pad, choice.degree_before, choice.degree_after) == (1, 16, 1)
    assert choice.table[0] == (0, 16 * 16 + 16, 1)
    assert len(choice.table) == 16


def test_matrix_product_needs_no_padding() -> None:
    """A[ty][k] is one word for the half-warp, B[k][tx] consecutive: ties go to pad 0."""
    choice = choose_padding((Request(((3, 5),) * 16), Request(affine_lanes(0, 1, 16))), TILE)
    assert (choice.pad, choice.degree_before, choice.degree_after) == (0, 1, 1)


def test_two_rows_of_a_half_warp_are_enumerated() -> None:
    """A block 8 wide: rows of 9 words conflict, and the pad that helps is 15, not a matter of a gcd."""
    half_warp = Request(tuple((y, x) for y in (0, 1) for x in range(8)))
    layout = Layout(9, 4, CC10)
    choice = choose_padding((half_warp,), layout)
    assert (choice.pad, choice.degree_before, choice.degree_after) == (15, 2, 1)
    assert [pad for pad in range(16) if request_steps(half_warp, layout, pad).steps == 1] == [15]


@pytest.mark.parametrize(("columns", "diagonals", "pad"), [(9, 1, 2), (1, 9, 3)])
def test_weights_decide(columns: int, diagonals: int, pad: int) -> None:
    """Rows of 15, read down a column and along a diagonal: one stride of the two is even for every pad."""
    layout = Layout(15, 4, CC10)
    requests = (Request(affine_lanes(1, 0, 16), columns), Request(affine_lanes(1, 1, 16), diagonals))
    choice = choose_padding(requests, layout)
    assert [cost for _, cost, _ in choice.table[:4]] == [
        columns + 16 * diagonals,
        16 * columns + diagonals,
        columns + 2 * diagonals,
        2 * columns + diagonals,
    ]
    assert choice.pad == pad


def test_doubles_cannot_be_freed_on_16_banks() -> None:
    layout = Layout(16, 8, CC10)
    choice = choose_padding((Request(affine_lanes(1, 0, 16)),), layout)
    assert (choice.pad, choice.degree_before, choice.degree_after) == (1, 16, 2)


def test_wide_accesses_keep_their_alignment() -> None:
    """Lanes on consecutive rows of 32 words, four elements each: rows stay multiples of four."""
    layout = Layout(32, 4, CC90)
    choice = choose_padding((Request(affine_lanes(1, 0, 32), width=4),), layout)
    assert [pad for pad, _, _ in choice.table] == list(range(0, 32, 4))
    assert (choice.pad, choice.degree_before, choice.degree_after) == (4, 8, 1)
    scalar = Request(affine_lanes(1, 0, 32))
    assert choose_padding((scalar,), layout, alignment=4).pad == 4
    assert choose_padding((scalar,), layout).pad == 1


@pytest.mark.parametrize(("blocks", "pad"), [(2, 1), (1, 0)])
def test_a_resident_block_is_given_up_only_if_that_pays(blocks: int, pad: int) -> None:
    """Any padding leaves `blocks` of 3: half the steps pay for one lost block, not for two."""
    layout = Layout(2, 4, CC10)
    request = Request(affine_lanes(1, 0, 16))
    choice = choose_padding((request,), layout, resident=lambda p: blocks if p else 3)
    assert (choice.degree_before, choice.pad) == (2, pad)


def test_a_pad_that_does_not_fit_is_not_tried() -> None:
    choice = choose_padding((Request(affine_lanes(1, 0, 16)),), TILE, resident=lambda pad: int(pad != 1))
    assert choice.pad == 3
    assert [pad for pad, _, _ in choice.table] == [0, *range(2, 16)]


@given(
    references=st.lists(
        st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(1, 50)), min_size=1, max_size=4
    ),
    length=st.integers(1, 70),
)
def test_algorithm_2_in_closed_form(references: list[tuple[int, int, int]], length: int) -> None:
    """For one-row affine references the cost is ICS'08's sum of gcd(stride, banks)."""

    def cost(pad: int) -> int:
        strides = ((row * (length + pad) + column, weight) for row, column, weight in references)
        return sum(weight * (gcd(stride, 16) if stride else 1) for stride, weight in strides)

    requests = [Request(affine_lanes(row, column, 16), weight) for row, column, weight in references]
    layout = Layout(length, 4, CC10)
    choice = choose_padding(requests, layout)
    assert choice.table == tuple((pad, cost(pad), 1) for pad in range(16))
    assert choice.pad == min(range(16), key=cost)
