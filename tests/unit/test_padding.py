"""The padding pass on kernels: what it chooses, and what bank conflicts that leaves by enumeration."""

from __future__ import annotations

from collections import Counter

import pytest

from polygpu import devices
from polygpu.mapping.padding import Padded, pad
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Kernel, Move, SharedArray, Statement
from polygpu.perf.requests import requests
from tests.unit.middle import lowered

X, Y = Name("thread_x"), Name("thread_y")
OLD, NEW = devices.load("8800gtx"), devices.load("h100")


def at(*subscripts: Expr, ctype: str = "float") -> Reference:
    return Reference("s", subscripts, ctype)


def read(*subscripts: Expr, ctype: str = "float") -> Statement:
    return Assign(Reference("r", (Int(0),), ctype), at(*subscripts, ctype=ctype))


def kernel(*body: Statement, extents: tuple[int, ...] = (16, 16), ctype: str = "float") -> Kernel:
    return Kernel("k", (), (), (), (16, 16, 1), (SharedArray("s", ctype, extents),), body)


def worst(kernel_: Kernel, banks: int, lanes: int) -> int:
    """The most different words of one bank in a request, of all that single-element accesses make."""
    degree = 1
    (s,) = kernel_.shared
    pitch = s.extents[-1] + s.padding
    for r in requests(kernel_, lanes):
        for group in r.lanes if r.reference.array == "s" else ():
            words = {i[-2] * pitch + i[-1] if len(i) > 1 else i[0] for i in group if i is not None}
            degree = max(degree, *Counter(w % banks for w in words).values())
    return degree


def test_columns_get_a_word_a_row() -> None:
    made = pad(kernel(read(X, Y)), OLD)
    assert made.kernel.shared[0].padding == 1
    choice = made.choices["s"]
    assert (choice.degree_before, choice.degree_after) == (16, 1)
    assert worst(kernel(read(X, Y)), 16, 16) == 16
    assert worst(made.kernel, 16, 16) == 1


def test_rows_stay_as_they_are() -> None:
    made = pad(kernel(read(Y, X)), OLD)
    assert (made.kernel.shared[0].padding, made.choices["s"].degree_after) == (0, 1)


def test_both_directions_are_served() -> None:
    made = pad(kernel(read(Y, X), read(X, Y)), OLD)
    assert worst(made.kernel, 16, 16) == 1


@pytest.mark.parametrize("width", range(14, 35))
def test_any_row_length_becomes_free_of_conflicts(width: int) -> None:
    made = pad(kernel(read(X, Y), extents=(32, width)), OLD)
    assert worst(made.kernel, 16, 16) == 1
    assert made.kernel.shared[0].padding <= 15


def test_a_single_row_is_not_padded() -> None:
    made = pad(kernel(read(Binary("*", Int(2), X)), extents=(64,)), OLD)
    assert made.kernel.shared[0].padding == 0
    assert made.choices["s"].degree_after == made.choices["s"].degree_before == 2


def test_wide_accesses_keep_their_alignment() -> None:
    """Rows of float4 stay multiples of four words, and the array starts at 16 bytes."""
    wide = Move(at(X, Int(0)), Reference("r", (Int(0),), "float"), 4)
    made = pad(kernel(wide, read(X, Y), extents=(32, 32)), NEW)
    (s,) = made.kernel.shared
    assert s.padding % 4 == 0
    assert s.alignment == 16


def test_what_was_asked_for() -> None:
    made = pad(kernel(read(Y, X)), OLD, {"s": 3})
    assert made.kernel.shared[0].padding == 3
    assert pad(kernel(read(X, Y)), OLD, {"other": 3}).kernel.shared[0].padding == 1


def test_without_shared_arrays_nothing_changes() -> None:
    plain = Kernel("k", (), (), (), (16, 1, 1), (), ())
    assert pad(plain, OLD) == Padded(plain, {})


def test_rows_by_columns_of_a_compiled_kernel() -> None:
    """ICS'08's mv: 16-way conflicts become none."""
    parameters = "int n, int m, float A[restrict n][m], float x[restrict n], float y[restrict m]"
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i] += A[i][j] * y[j];"
    choice = pad(lowered(parameters, body), OLD).choices["A_s"]
    assert (choice.pad, choice.degree_before, choice.degree_after) == (1, 16, 1)
