"""The padding pass on hand-made kernels: a tile copied along its rows and read along its columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polygpu import devices
from polygpu.mapping.padding import pad
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import ArrayArgument, Assign, For, If, Kernel, Move, SharedArray, Statement
from polygpu.perf.resources import argument_bytes, resident, shared_bytes

X, Y, K = Name("thread_x"), Name("thread_y"), Name("k")


def tile(*subscripts: Expr) -> Reference:
    return Reference("tile", subscripts, "float")


def kernel(body: tuple[Statement, ...], *extents: int) -> Kernel:
    vector = ArrayArgument("out", "float", (Int(16),), None, True, True)
    return Kernel("k0", (), (), (vector,), (16, 16, 1), (SharedArray("tile", "float", extents),), body)


def reads(*subscripts: Expr) -> Assign:
    return Assign(Reference("out", (X,), "float"), tile(*subscripts))


def repeated(times: int, statement: Statement) -> For:
    return For("k", Int(0), Int(times), 1, (statement,), uniform=True)


TRANSPOSED = (reads(X, Y),)


def test_a_column_read_by_a_half_warp_is_padded() -> None:
    padded = pad(kernel(TRANSPOSED, 16, 16), devices.load("8800gtx"))
    choice = padded.choices["tile"]
    assert (choice.pad, choice.degree_before, choice.degree_after) == (1, 16, 1)
    assert padded.kernel.shared[0].padding == 1


@pytest.mark.parametrize("slot", [Int(2), K])
def test_slots_of_a_ring_change_nothing(slot: Expr) -> None:
    padded = pad(kernel((repeated(3, reads(slot, X, Y)),), 3, 16, 16), devices.load("8800gtx"))
    assert padded.choices["tile"].pad == 1


def test_wide_accesses_keep_their_alignment() -> None:
    copy = Move(tile(X, Int(0)), Reference("out", (Int(0),), "float"), 4)
    padded = pad(kernel((copy, *TRANSPOSED), 16, 16), devices.load("h100"))
    assert padded.kernel.shared[0].padding % 4 == 0
    assert padded.kernel.shared[0].alignment == 16


def behind(test: Expr, statement: Statement) -> If:
    return If(test, (statement,), (), uniform=False)


def test_what_no_sampled_block_gets_to_counts_where_it_runs_most() -> None:
    """A wave of tiles: block and launch have to fit for any thread to get past the test."""
    wave = Binary("<", Name("block_x"), Int(-1000))
    rows = reads(Y, X)
    columns = replace(rows, value=replace(tile(X, Y), site=1))
    often = pad(kernel((rows, behind(wave, repeated(100, columns))), 16, 16), devices.load("8800gtx"))
    assert often.choices["tile"].pad == 1
    seldom = pad(kernel((repeated(100, rows), behind(wave, columns)), 16, 16), devices.load("8800gtx"))
    assert seldom.choices["tile"].pad == 0


@pytest.mark.parametrize(
    ("body", "padding", "blocks"),
    [
        ((repeated(100, reads(Y, X)), reads(X, Y)), 0, 2),
        ((reads(Y, X), repeated(100, reads(X, Y))), 1, 1),
    ],
)
def test_a_padding_that_costs_a_resident_block_has_to_pay(
    body: tuple[Statement, ...], padding: int, blocks: int
) -> None:
    """Two unpadded tiles fill the shared memory: a column that is read once is left as it is."""
    gtx = devices.load("8800gtx")
    small = replace(
        gtx,
        shared_per_multiprocessor=2 * 16 * 16 * 4,
        shared_granularity=1,
        shared_reserved=0,
        arguments_in_shared=False,
    )
    padded = pad(kernel(body, 16, 16), small)
    assert padded.choices["tile"].pad == padding
    assert resident(padded.kernel, small).blocks == blocks


def test_a_padding_that_is_asked_for() -> None:
    choice = pad(kernel(TRANSPOSED, 16, 16), devices.load("8800gtx"), {"tile": 3}).choices["tile"]
    assert (choice.pad, choice.degree_before, choice.degree_after) == (3, 16, 1)


def test_a_single_row_is_not_padded() -> None:
    choice = pad(kernel((reads(X),), 16), devices.load("8800gtx")).choices["tile"]
    assert (choice.pad, choice.degree_before, choice.degree_after) == (0, 1, 1)


def test_bytes_of_shared_arrays_and_arguments() -> None:
    one = kernel(TRANSPOSED, 16, 16)
    odd = SharedArray("flags", "char", (3,), 0, 1)
    aligned = replace(one, shared=(odd, replace(one.shared[0], padding=1, alignment=16)))
    assert shared_bytes(aligned) == 16 + 16 * 17 * 4
    assert argument_bytes(one, devices.load("8800gtx")) == 4
    assert argument_bytes(one, devices.load("h100")) == 8
