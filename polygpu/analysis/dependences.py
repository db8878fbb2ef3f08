"""Value-based flow and memory-based anti and output dependences (isl's dataflow analysis).

Loops that a pragma says are independent carry no dependence between accesses of which one has subscripts that
depend on data: whatever else is known of both is their order in one iteration, and around the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polygpu.analysis.flow import conflicts, dataflow
from polygpu.analysis.layers import Layers
from polygpu.analysis.polyhedra import PolyAccess, Polyhedra, array_tuple
from polygpu.model.scop import promised
from polygpu.support.isl_idioms import D, empty_union_map, maps, tuple_name, union_of


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
    arrays = frozenset(array_tuple(a.reference) for a in promised(p.scop))
    if not arrays:
        return _analysed(p)
    left = _analysed(_without(p, arrays))
    hidden = [_hidden(p, arrays, write) for write in (False, True)]
    reads, writes = (_of(p, arrays, write) for write in (False, True))
    order = p.schedule()
    flow = conflicts(writes, hidden[0], order).union(conflicts(hidden[1], reads, order))
    memory = conflicts(reads.union(writes), hidden[1], order)
    memory = memory.union(conflicts(hidden[0].union(hidden[1]), writes, order))
    return Dependences(
        left.flow.union(_kept(p, flow)), left.memory.union(_kept(p, memory)), left.live_in.union(hidden[0])
    )


def _is_hidden(a: PolyAccess, arrays: frozenset[str]) -> bool:
    return not a.affine and array_tuple(a.reference) in arrays


def _without(p: Polyhedra, arrays: frozenset[str]) -> Polyhedra:
    """The program without what is hidden of arrays."""
    return replace(
        p,
        statements=tuple(
            replace(s, accesses=tuple(a for a in s.accesses if not _is_hidden(a, arrays)))
            for s in p.statements
        ),
    )


def _of(p: Polyhedra, arrays: frozenset[str], write: bool) -> isl.UnionMap:
    accesses = (a for s in p.statements for a in s.accesses if a.write == write)
    return union_of([a.relation for a in accesses if array_tuple(a.reference) in arrays])


def _hidden(p: Polyhedra, arrays: frozenset[str], write: bool) -> isl.UnionMap:
    accesses = (a for s in p.statements for a in s.accesses if a.write == write)
    return union_of([a.relation for a in accesses if _is_hidden(a, arrays)])


def _kept(p: Polyhedra, relation: isl.UnionMap) -> isl.UnionMap:
    """Without the pairs that independent loops carry."""
    return union_of([_not_promised(p, m) for m in maps(relation)])


def _not_promised(p: Polyhedra, relation: isl.Map) -> isl.Map:
    one, two = (p.statement(tuple_name(relation, side)).loops for side in (D.in_, D.out))
    for level, (a, b) in enumerate(zip(one, two, strict=False)):
        if a != b:
            break
        if p.scop.loops[a].independent:
            relation = relation.subtract(carried(relation, level))
    return relation


def _analysed(p: Polyhedra) -> Dependences:
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
