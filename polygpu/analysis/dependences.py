"""Value-based flow and memory-based anti and output dependences (isl's dataflow analysis)."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra
from polygpu.support.isl_idioms import D, basic_maps, bounded, empty_union_map, maps

# Dataflow of ordinary regions takes 0.1 million steps; of dense conflicts in 15 statements it may never end.
_STEPS = 1_000_000


@dataclass(frozen=True)
class Dependences:
    """Relations from source to sink instances, uncoalesced: merging pieces slows schedulers down.

    `flow`: a write and the reads it may supply. `memory`: anti and output dependences. `live_in`: reads
    that no write of the region precedes (instances to elements).
    """

    flow: isl.UnionMap
    memory: isl.UnionMap
    live_in: isl.UnionMap

    @property
    def all(self) -> isl.UnionMap:
        return self.flow.union(self.memory)


def compute(p: Polyhedra) -> Dependences:
    """The dependences of `p` in its original order."""
    reads, writes = p.relation(write=False), p.relation(write=True)
    must, may = p.relation(True, True), p.relation(True, False)
    if writes.is_empty():
        return Dependences(empty_union_map(), empty_union_map(), reads)
    order = p.schedule()
    try:
        with bounded(_STEPS):
            return _dataflow(reads, writes, must, may, order)
    except isl.Error:
        # isl's dataflow analysis gives up on some quasi-affine programs; conflicts are a superset
        return Dependences(
            _conflicts(writes, reads, order), _conflicts(reads.union(writes), writes, order), reads
        )


def _dataflow(
    reads: isl.UnionMap, writes: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap, order: isl.UnionMap
) -> Dependences:
    flow = _last_sources(reads, must, may, order)
    memory = _last_sources(writes, must, reads.union(may), order)
    return Dependences(flow.get_may_dependence(), memory.get_may_dependence(), flow.get_may_no_source())


def _last_sources(
    sinks: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap, order: isl.UnionMap
) -> isl.UnionFlow:
    """isl's dataflow analysis. Raises isl.Error where it leaves something out."""
    info = isl.UnionAccessInfo.from_sink(sinks).set_must_source(must).set_may_source(may)
    flow = info.set_schedule_map(order).compute_flow()
    doubtful = any(_doubtful(m) for relation in (sinks, must, may) for m in maps(relation))
    if doubtful and not _complete(flow.get_full_may_dependence(), sinks, must, may, order):
        raise isl.Error("a source is missing")
    return flow


def _doubtful(relation: isl.Map) -> bool:
    """Whether there are moduli in `relation`, of strides or tests, or an iterator has one value only."""
    return any(
        piece.dim(D.div) > 0
        or any(piece.plain_get_val_if_fixed(D.in_, k).is_int() for k in range(piece.dim(D.in_)))
        for piece in basic_maps(relation)
    )


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


def _conflicts(sources: isl.UnionMap, sinks: isl.UnionMap, order: isl.UnionMap) -> isl.UnionMap:
    """All pairs that touch the same element, the source before the sink."""
    pairs = sources.apply_range(sinks.reverse())
    return pairs.intersect(order.lex_lt_union_map(order))


def carried(relation: isl.Map, level: int) -> isl.Map:
    """The pairs of a dependence whose instances differ first at loop `level`."""
    for k in range(level):
        relation = relation.equate(D.in_, k, D.out, k)
    return relation.subtract(relation.equate(D.in_, level, D.out, level))
