"""Shorter ways to what isl finds itself."""

from __future__ import annotations

import islpy as isl
from hypothesis import given
from hypothesis import strategies as st

from polygpu.support.isl_idioms import in_order, surely_within

entries = st.sampled_from(("0", "1", "2", "i", "j", "i + j", "-i", "n - j"))
times = st.lists(entries, min_size=0, max_size=5)


def put(entries: list[str]) -> isl.Map:
    return isl.Map(f"[n] -> {{ [i, j] -> [{', '.join(entries)}] : 0 <= i < n and 0 <= j < i }}")


@given(st.tuples(times, times).map(lambda pair: [*zip(*pair, strict=False)]))
def test_the_order_of_two_times(pairs: list[tuple[str, str]]) -> None:
    one, two = (put([pair[k] for pair in pairs]) for k in range(2))
    assert in_order(one, two).is_equal(one.lex_lt_map(two))
    assert in_order(two, one).is_equal(two.lex_lt_map(one))


def test_nothing_at_any_time() -> None:
    one, never = put(["0", "i"]), put(["1", "j"]).intersect_params(isl.Set("[n] -> { : n < 0 }"))
    assert in_order(one, never).is_empty()
    assert in_order(never, one).is_empty()


def test_what_is_surely_within() -> None:
    some, more = isl.Set("[n] -> { A[i] : 1 <= i < n }"), isl.Set("[n] -> { A[i] : 0 <= i <= n }")
    assert surely_within(some, more)
    assert not surely_within(more, some)
    halves = isl.Set("[n] -> { A[i] : 1 <= i < n and exists j: i = 2j }")
    assert surely_within(halves, some)
    assert not surely_within(some, halves)


def test_integers_of_which_isl_says_only_that_they_exist() -> None:
    """Elements of a flat array at bits of iterators: isl takes minutes, and few steps, for them."""

    def elements(first: int) -> str:
        a, b, c = first - 289, first - 281, 31 * first // 4 - 2249
        ends = (
            f"{a} + i - 4d <= 767e <= {a + 7} + i - 4d",
            f"{b} + i - 4d <= 775e <= {b + 63} + i - 4d",
            f"{c} + 8i - 31d <= 6200e <= {c + 1} + 8i - 31d",
        )
        return f"exists (d, e: {' and '.join(ends)})"

    some, others = (
        isl.Set(f"{{ A[i] : {' or '.join(map(elements, firsts))} }}") for firsts in ((0, 2), (4, 2))
    )
    assert not surely_within(some, others)
