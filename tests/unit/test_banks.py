from dataclasses import replace
from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygpu import devices
from polygpu.perf.banks import Banks, access_steps, degree

HALF_WARP = Banks.of(devices.load("8800gtx"))
WARP = Banks.of(devices.load("h100"))
ANY_BROADCAST = replace(HALF_WARP, single_broadcast=False)
WORDS = st.lists(st.none() | st.integers(0, 100), min_size=16, max_size=16)


@pytest.mark.parametrize("stride", range(65))
def test_strides_conflict_by_their_common_divisor(stride: int) -> None:
    """ICS'08 section 4.4: the closed form equals the hardware's loop."""
    assert degree([lane * stride for lane in range(16)], HALF_WARP) == (gcd(stride, 16) if stride else 1)
    assert degree([lane * stride for lane in range(32)], WARP) == (gcd(stride, 32) if stride else 1)


def test_broadcast_serves_all_lanes_of_one_word() -> None:
    assert degree([7] * 16, HALF_WARP) == 1
    assert degree([5] * 4 + list(range(16, 28)), HALF_WARP) == 2  # word 5, then its bank's word 21
    # Two words, eight lanes each: step 1 serves word 0 and one lane of word 1, step 2 the others.
    assert degree([0, 1] * 8, HALF_WARP) == 2
    assert degree([0, 1] * 16, WARP) == 1


def test_two_rows_of_a_half_warp() -> None:
    """Blocks 8 wide: the gcd does not tell; a row pitch of 8 or 24 words is free, 9 to 23 are not."""
    two_rows = {p: degree([y * p + x for y in (0, 1) for x in range(8)], HALF_WARP) for p in range(8, 25)}
    assert {pitch for pitch, n in two_rows.items() if n == 1} == {8, 24}
    assert set(two_rows.values()) == {1, 2}


def test_bytes_of_one_word_conflict() -> None:
    assert access_steps(list(range(16)), 1, HALF_WARP).degree == 4
    assert access_steps(list(range(32)), 1, WARP).degree == 1


def test_wide_words() -> None:
    doubles = access_steps([8 * lane for lane in range(16)], 8, HALF_WARP)
    assert (doubles.steps, doubles.requests, doubles.degree) == (4, 2, 2)
    for size in (8, 16):  # consecutive wide words on 32 banks: a step a phase
        wide = access_steps([size * lane for lane in range(32)], size, WARP)
        assert (wide.steps, wide.requests) == (size // 4, size // 4)
    # Rows of 32 words, a lane a row: eight lanes of a phase meet in the same four banks.
    assert access_steps([128 * lane for lane in range(32)], 16, WARP).degree == 8


def test_idle_lanes_cost_nothing() -> None:
    assert degree([None] * 16, HALF_WARP) == 0
    assert access_steps([None] * 32, 16, WARP).degree == 0
    assert access_steps([0] + [None] * 31, 16, WARP).requests == 1


@given(words=WORDS)
def test_any_number_of_broadcasts_is_never_slower(words: list[int | None]) -> None:
    assert degree(words, ANY_BROADCAST) <= degree(words, HALF_WARP) <= 16


@given(words=WORDS)
def test_distinct_words_of_the_fullest_bank(words: list[int | None]) -> None:
    active = {word for word in words if word is not None}
    expected = max((sum(word % 16 == bank for word in active) for bank in range(16)), default=0)
    assert degree(words, ANY_BROADCAST) == expected


@given(words=st.lists(st.integers(0, 100), min_size=16, max_size=16, unique=True))
def test_without_equal_words_both_rules_agree(words: list[int]) -> None:
    assert degree(words, HALF_WARP) == degree(words, ANY_BROADCAST)
