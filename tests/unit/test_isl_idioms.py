"""Shorter ways to what isl finds itself."""

from __future__ import annotations

import islpy as isl
from hypothesis import given
from hypothesis import strategies as st

from polygpu.support.isl_idioms import in_order

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
