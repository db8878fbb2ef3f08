"""Value-based flow and memory-based anti and output dependences (isl's dataflow analysis).

Loops that a pragma says are independent carry no dependence between accesses of which one has subscripts that
depend on data: whatever else is known of both is their order in one iteration, and around the loop.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from polygpu.analysis.flow import conflicts, dataflow
from polygpu.analysis.layers import Layers
from polygpu.analysis.polyhedra import PolyAccess, Polyhedra, array_tuple
from polygpu.model.scop import keeps_apart, promised
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
    names = {array_tuple(a.reference): a.reference.array for a in promised(p.scop)}
    if not names:
        return _analysed(p)
    parts = [_analysed(_without(p, names)), *(_hidden(p, part, name) for part, name in names.items())]
    each = zip(*((d.flow, d.memory, d.live_in) for d in parts), strict=True)
    return Dependences(*(reduce(isl.UnionMap.union, found) for found in each))


def _without(p: Polyhedra, arrays: Container[str]) -> Polyhedra:
    """The program without what data hide of arrays."""

    def seen(accesses: Iterable[PolyAccess]) -> tuple[PolyAccess, ...]:
        return tuple(a for a in accesses if a.affine or array_tuple(a.reference) not in arrays)

    return replace(p, statements=tuple(replace(s, accesses=seen(s.accesses)) for s in p.statements))


def _hidden(p: Polyhedra, part: str, array: str) -> Dependences:
    """The dependences between what data hide of an array, or of a member of its elements, and all of that."""
    mine = [a for s in p.statements for a in s.accesses if array_tuple(a.reference) == part]
    reads, writes = (union_of([a.relation for a in mine if a.write == write]) for write in (False, True))
    unseen = [a for a in mine if not a.affine]
    read, written = (union_of([a.relation for a in unseen if a.write == write]) for write in (False, True))
    order = p.schedule()
    flow = conflicts(writes, read, order).union(conflicts(written, reads, order))
    memory = conflicts(reads.union(writes), written, order).union(
        conflicts(read.union(written), writes, order)
    )
    return Dependences(_kept(p, flow, array), _kept(p, memory, array), read)


def _kept(p: Polyhedra, relation: isl.UnionMap, array: str) -> isl.UnionMap:
    """Without the pairs that loops carry which keep the array apart."""
    return union_of([_not_promised(p, m, array) for m in maps(relation)])


def _not_promised(p: Polyhedra, relation: isl.Map, array: str) -> isl.Map:
    one, two = (p.statement(tuple_name(relation, side)).loops for side in (D.in_, D.out))
    for level, (a, b) in enumerate(zip(one, two, strict=False)):
        if a != b:
            break
        if keeps_apart(p.scop, a, array):
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
