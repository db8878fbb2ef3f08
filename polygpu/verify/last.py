"""The last of several writes, exactly: isl's own answers are checked."""

from __future__ import annotations

from itertools import permutations
from typing import TypeVar

import islpy as isl

W = TypeVar("W")


def last_writes(earlier: dict[W, isl.Map], times: dict[W, isl.Map]) -> dict[W, isl.Map]:
    """For each read the last of the writes `earlier` than it; `times` map the writes to one line of time."""
    found = {w: latest(pairs, times[w]) for w, pairs in earlier.items()}
    for w, other in permutations(earlier, 2):
        found[w] = _not_followed(found[w], earlier[other], times[w].lex_lt_map(times[other]))
    return {w: pairs for w, pairs in found.items() if not pairs.is_empty()}


def latest(pairs: isl.Map, time: isl.Map) -> isl.Map:
    """The pairs whose second execution no other one of the same first follows.

    isl's lexicographic maximum is fast, but wrong for some sets whose constraints have several moduli, and
    fails for others: it counts only if it leaves nothing out and nothing follows what it names.
    """
    if pairs.is_single_valued():
        return pairs
    after = time.lex_lt_map(time)
    last = _maximum(pairs.apply_range(time)).apply_range(time.reverse()).intersect(pairs)
    if pairs.domain().is_subset(last.domain()) and last.reverse().apply_range(pairs).is_disjoint(after):
        return last
    return pairs.subtract(pairs.apply_range(after.reverse()))


def _maximum(times: isl.Map) -> isl.Map:
    """The lexicographic maximum, or nothing at all where isl fails."""
    try:
        return times.lexmax()
    except isl.Error:
        return isl.Map.empty(times.get_space())


def _not_followed(pairs: isl.Map, others: isl.Map, order: isl.Map) -> isl.Map:
    """`pairs` without those whose execution is also in `others` with a write that `order` puts later."""
    both = pairs.range_product(others).intersect_range(order.wrap())
    return pairs if both.is_empty() else pairs.subtract_domain(both.domain())
