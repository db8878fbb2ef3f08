"""isl's dataflow analysis, where it can be trusted.

It gives up on some quasi-affine programs, takes for ever on others, and there are a few for which it leaves
something out or ends the process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, reduce

import islpy as isl

from polygpu.support.child import in_child
from polygpu.support.isl_idioms import (
    CONTEXT,
    D,
    basic_maps,
    bounded,
    empty_union_map,
    maps,
    tuple_name,
    union_of,
)
from polygpu.support.recent import Recent

# Dataflow of ordinary regions takes 0.1 million steps, of a convolution of seven loops 2 million; of dense
# conflicts in 15 statements it may never end.
_STEPS = 4_000_000
_SECONDS = 20.0
_RECENT = 256  # arrays of a region


@dataclass(frozen=True)
class Flow:
    """`dependence`: the sources that a sink may see, to the sink. `unsupplied`: sinks to the elements that
    they may find as they were.
    """

    dependence: isl.UnionMap
    unsupplied: isl.UnionMap


_FLOWS: Recent[Flow] = Recent(_RECENT)


def dataflow(sinks: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap, order: isl.UnionMap) -> Flow:
    """What `sinks` see of `must` and `may`, instances to elements all, when executed in `order`.

    Raises isl.Error where isl has no answer that is known to be complete.
    """
    if not any(_doubtful(m) for relation in (sinks, must, may) for m in maps(relation)):
        arrays = dict.fromkeys(tuple_name(m, D.out) for m in maps(sinks))
        flows = [_of_array(_to(sinks, a), _to(must, a), _to(may, a), order) for a in arrays]
        return Flow(
            reduce(isl.UnionMap.union, (f.dependence for f in flows), empty_union_map()),
            reduce(isl.UnionMap.union, (f.unsupplied for f in flows), empty_union_map()),
        )

    try:
        text = _in_child(_Problem(str([sinks, must, may, order]), _computed, (sinks, must, may, order)))
    except TimeoutError:
        text = None
    if not text:
        raise isl.Error("isl's dataflow analysis fails, or a source is missing")
    dependence, unsupplied = (isl.UnionMap.read_from_str(CONTEXT, line) for line in text.splitlines())
    return Flow(dependence, unsupplied)


def _to(relation: isl.UnionMap, array: str) -> isl.UnionMap:
    """What of `relation` is about one array."""
    return union_of([m for m in maps(relation) if tuple_name(m, D.out) == array])


def _of_array(sinks: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap, order: isl.UnionMap) -> Flow:
    """The dataflow of one array, which other passes ask for again when other arrays have changed."""

    def made() -> Flow:
        with bounded(_STEPS):
            found = _computed(sinks, must, may, order)
            return Flow(found.get_may_dependence(), found.get_may_no_source())

    instances = sinks.union(must).union(may).domain()
    return _FLOWS.get(str([sinks, must, may, order.intersect_domain(instances)]), made)


@dataclass(frozen=True)
class _Problem:
    """What is asked of `analysis`; `text` tells problems apart."""

    text: str
    analysis: Callable[..., isl.UnionFlow]
    relations: tuple[isl.UnionMap, ...] = field(compare=False)

    def solved(self) -> str:
        """Both parts of a Flow; "" where something is missing."""
        with bounded(_STEPS):
            found = self.analysis(*self.relations)
            if not _complete(found.get_full_may_dependence(), *self.relations):
                return ""
            return f"{found.get_may_dependence()}\n{found.get_may_no_source()}"


@lru_cache(maxsize=256)
def _in_child(problem: _Problem) -> str | None:
    """The solution, which takes a second at times: a region compiled for several devices asks again."""
    return in_child(problem.solved, _SECONDS)


def _computed(
    sinks: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap, order: isl.UnionMap
) -> isl.UnionFlow:
    info = isl.UnionAccessInfo.from_sink(sinks).set_must_source(must).set_may_source(may)
    return info.set_schedule_map(order).compute_flow()


def _doubtful(relation: isl.Map) -> bool:
    """Whether an iterator of `relation` has one value only, or moduli may come up.

    There are those of strides and tests, and those of subscripts that meet: 2i + 1 = j, or i + j = k and
    i - j = l. Subscripts of one iterator and a distance only meet in other such ones.
    """
    return any(
        piece.dim(D.div) > 0
        or any(piece.plain_get_val_if_fixed(D.in_, k).is_int() for k in range(piece.dim(D.in_)))
        or not _distances(piece)
        for piece in basic_maps(relation)
    )


def _distances(piece: isl.BasicMap) -> bool:
    """Whether each equality says that something is one iterator and a distance, or that distance alone."""
    equalities = piece.equalities_matrix(D.in_, D.out, D.param, D.cst, D.div)
    sides = piece.dim(D.in_), piece.dim(D.out)
    for row in range(equalities.rows()):
        values = [equalities.get_element_val(row, k).to_python() for k in range(sum(sides))]
        left = [v for v in values[: sides[0]] if v]
        right = [v for v in values[sides[0] :] if v]
        if len(left) > 1 or len(right) > 1 or any(abs(v) != 1 for v in left + right) or left == right:
            return False
    return True


def _complete(
    found: isl.UnionMap, sinks: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap, order: isl.UnionMap
) -> bool:
    """Whether each source is `found` for its sinks (with elements), or comes before one that hides it.

    The analysis takes lexicographic maxima, in which isl errs for some sets with several moduli. It also
    loses some of what comes after a source where another one runs in a single iteration.
    """
    element, sink = sinks.range_map().reverse(), sinks.domain_map().reverse()
    before = order.lex_lt_union_map(order)
    left = must.union(may).apply_range(element).intersect(before.apply_range(sink)).subtract(found)
    if left.is_empty():
        return True
    hiding = found.intersect(must.apply_range(element))
    earlier = before.intersect_domain(left.domain()).intersect_range(hiding.domain())
    return bool(left.is_subset(earlier.apply_range(hiding)))


def conflicts(sources: isl.UnionMap, sinks: isl.UnionMap, order: isl.UnionMap) -> isl.UnionMap:
    """All pairs that touch the same element, the source before the sink."""
    first, then = (order.intersect_domain(side.domain()) for side in (sources, sinks))
    return sources.apply_range(sinks.reverse()).intersect(first.lex_lt_union_map(then))
