"""Arrays over points put together: shortened along axes where their slices are alike, and nothing lost."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polygpu.perf.predict.masks import Compared, joint, random_words
from polygpu.perf.predict.values import distinct

RANK, LONGEST, WARPS = 3, 4, 2


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]], list[list[int]]]:
    """Arrays over some axes of few values, so that slices are often alike; and how often indices count."""
    lengths = [draw(st.integers(1, LONGEST)) for _ in range(RANK)]
    times = [draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)) for n in lengths]
    arrays = []
    for _ in range(draw(st.integers(1, 3))):
        rank = draw(st.integers(1, RANK))
        shape = [draw(st.sampled_from((1, n))) for n in lengths[RANK - rank :]]
        shape.append(draw(st.sampled_from((1, WARPS))))
        size = int(np.prod(shape))
        values = draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
        arrays.append(np.asarray(values, np.int64).reshape(shape))
    return arrays, times


def points(
    arrays: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]], times: list[list[int]]
) -> Counter[bytes]:
    """How often the arrays have each row of values over the warps."""
    shape = [len(t) for t in times]
    found: Counter[bytes] = Counter()
    wide = [np.broadcast_to(a, (*shape, WARPS)) for a in arrays]
    for place in np.ndindex(*shape):
        found[b"".join(w[place].tobytes() for w in wide)] += int(
            np.prod([t[k] for t, k in zip(times, place, strict=True)])
        )
    return found


@given(cases(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_each_row_of_values_counts_as_often_as_before(
    case: tuple[list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]], list[list[int]]], compared_before: bool
) -> None:
    arrays, times = case
    masks = [Compared(a) for a in arrays]
    axes = [np.asarray(t, np.int64) for t in times]
    if compared_before:
        joint(masks[:1], axes)
    found = joint([*masks, masks[0].inverted], axes)
    left = [[int(n) for n in weight] for weight in found.weights]
    assert points(list(found.arrays), left) == points([*arrays, ~arrays[0]], times)


@given(st.lists(st.integers(-3, 3), max_size=12), st.sampled_from((1, 2, 3)))
def test_values_in_order(values: list[int], columns: int) -> None:
    kept = values[: len(values) // columns * columns]
    assert distinct(np.asarray(kept, np.int64).reshape(-1, columns)).tolist() == sorted({*kept})


def test_words_that_tell_rows_apart() -> None:
    """All rows of six small numbers have other sums of products; words of a longer table begin alike."""
    words = random_words(6)
    rows = np.asarray([*np.ndindex(4, 4, 4, 4, 4, 4)], np.uint64)
    assert len({*(rows @ words).tolist()}) == 4**6
    assert all(word % 2 == 1 for word in words.tolist())
    assert (random_words(5000)[:6] == words).all()
