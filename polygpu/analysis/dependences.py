"""Value-based flow and memory-based anti and output dependences (isl's dataflow analysis)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polygpu.analysis.flow import conflicts, dataflow
from polygpu.analysis.layers import Layers
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.support.isl_idioms import D, empty_union_map


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
    layers = Layers(p)
    found = _computed(layers.apart())
    return replace(found, live_in=layers.together(found.live_in))


def _computed(p: Polyhedra) -> Dependences:
    reads, writes = p.relation(write=False), p.relation(write=True)
    must, may = p.relation(True, True), p.relation(True, False)
    if writes.is_empty():
        return Dependences(empty_union_map(), empty_union_map(), reads)
    order = p.schedule()
    try:
        flow = dataflow(reads, must, may, order)
        memory = dataflow(writes, must, reads.union(may), order)
    except isl.Error:  # conflicts are a superset
        return Dependences(
            conflicts(writes, reads, order), conflicts(reads.union(writes), writes, order), reads
        )
    return Dependences(flow.dependence, memory.dependence, flow.unsupplied)


def carried(relation: isl.Map, level: int) -> isl.Map:
    """The pairs of a dependence whose instances differ first at loop `level`."""
    for k in range(level):
        relation = relation.equate(D.in_, k, D.out, k)
    return relation.subtract(relation.equate(D.in_, level, D.out, level))
