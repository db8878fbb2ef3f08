"""Boxes around footprints: offset and size of each side, against enumeration of the elements."""

from __future__ import annotations

import islpy as isl
import pytest

from polygpu.mapping.footprint import box


@pytest.mark.parametrize(
    ("elements", "offsets", "sizes"),
    [
        ("[x] : b <= x < b + 32", ["b"], [32]),
        ("[x] : b - 1 <= x <= b + 32", ["b - 1"], [34]),
        ("[x] : exists i: b <= i < b + 16 and x = 2i", ["2b"], [31]),
        ("[x] : exists i: b <= i < b + 16 and x = n - 1 - i", ["n - b - 16"], [16]),
        ("[x, y] : b <= x < b + 8 and 0 <= y < 4", ["b", "0"], [8, 4]),
        ("[x, y] : b <= x < b + 8 and x <= y <= x + 2", ["b", "b"], [8, 10]),
        ("[x, y] : b <= x < b + 8 and b <= y <= x", ["b", "b"], [8, 8]),
        ("[x] : x = 5", ["5"], [1]),
        ("[x] : 0 <= x and 0 <= b <= 20 and b <= x < b + 8", ["b"], [8]),  # from 0 it would be 28
        ("[x] : 0 <= x < 8 and b <= x and -20 <= b <= 0", ["0"], [8]),
        ("[x] : exists i, j: b <= i < b + 4 and 0 <= j < 3 and x = 3i + 5j", ["3b"], [20]),
    ],
)
def test_box(elements: str, offsets: list[str], sizes: list[int]) -> None:
    found = box(isl.Set(f"[n, b] -> {{ A{elements} }}"))
    assert found is not None
    assert [side.size for side in found] == sizes
    for side, offset in zip(found, offsets, strict=True):
        assert side.offset.is_equal(isl.PwAff(f"[n, b] -> {{ [({offset})] }}"))


@pytest.mark.parametrize(
    "elements",
    [
        "[n, b] -> { A[x] : 0 <= x < n }",  # a whole row
        "[n, b] -> { A[x, y] : b <= x < b + 8 and 0 <= y <= x }",  # rows of a triangle
        "[n, b] -> { A[x] : x = b or x = b + n }",  # two places a parameter apart
    ],
)
def test_no_box(elements: str) -> None:
    assert box(isl.Set(elements)) is None


def test_a_bound_with_a_factor() -> None:
    """2x >= b and 2x < b + 8: at most four elements from ceil(b / 2)."""
    found = box(isl.Set("[b] -> { A[x] : b <= 2x < b + 8 }"))
    assert found is not None
    (side,) = found
    assert side.size == 4
    for b in (-3, 0, 1, 7):
        assert _at(side.offset, b) == -(-b // 2)


def test_every_element_is_in_the_box() -> None:
    shape = "exists i, j, k: b <= i < b + 4 and 0 <= j <= i - b and 0 <= k < 2"
    shape += " and x = i + k and y = 2j - k + c"
    elements = isl.Set(f"[b, c] -> {{ A[x, y] : {shape} }}")
    found = box(elements)
    assert found is not None
    for b, c in ((0, 0), (3, -2), (-5, 7)):
        fixed = elements.fix_val(isl.dim_type.param, 0, b).fix_val(isl.dim_type.param, 1, c)
        for d, side in enumerate(found):
            start = _at(side.offset, b, c)
            low, high = (v.to_python() for v in (fixed.dim_min_val(d), fixed.dim_max_val(d)))
            assert start == low
            assert start + side.size - 1 == high


def _at(offset: isl.PwAff, *values: int) -> int:
    domain = offset.domain()
    for k, value in enumerate(values):
        domain = domain.fix_val(isl.dim_type.param, k, value)
    return int(offset.intersect_params(domain.params()).max_val().to_python())
