"""Value-based flow and memory-based anti and output dependences (isl's dataflow analysis).

Loops that a pragma says are independent carry no dependence between accesses of which one has subscripts that
depend on data: whatever else is known of both is their order in one iteration, and around the loop.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from functools import reduce
from math import inf

import islpy as isl

from polygpu.analysis.flow import conflicts, dataflows, to, together
from polygpu.analysis.layers import Layers
from polygpu.analysis.polyhedra import PolyAccess, Polyhedra, array_tuple
from polygpu.analysis.scoping import scoped, unscoped
from polygpu.model.scop import keeps_apart, promised
from polygpu.support.child import patience, steps_for
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import STEPS_A_SECOND, D, empty_union_map, maps, tuple_name, union_of


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


def compute(p: Polyhedra, exact: bool = False) -> Dependences:
    """The dependences of `p` in its original order; isl.Error where `exact` ones are not known."""
    layers = Layers(p)
    found = _computed(layers.apart(), exact)
    return replace(found, live_in=layers.together(found.live_in))


def _computed(p: Polyhedra, exact: bool) -> Dependences:
    names = {array_tuple(a.reference): a.reference.array for a in promised(p.scop)}
    if not names:
        return _analysed(p, exact)
    parts = [_analysed(_without(p, names), exact), *(_hidden(p, part, name) for part, name in names.items())]
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
            relation = relation.subtract(carried(isl.Map.universe(relation.get_space()), level))
    return relation


def _analysed(p: Polyhedra, exact: bool) -> Dependences:
    reads, writes = p.relation(write=False), p.relation(write=True)
    must, may = p.relation(True, True), p.relation(True, False)
    if writes.is_empty():
        return Dependences(empty_union_map(), empty_union_map(), reads)
    order, own = p.schedule(), scoped(p)
    passing = own.relation(write=False), own.relation(True, True), own.relation(True, False)
    with patience(steps_for(inf) / STEPS_A_SECOND / 2):  # half is for what is stored over
        flow = dataflows(*passing, order, exact)
    lost = {a for a, found in flow.items() if found is None}
    memory = {} if exact and lost else dataflows(_others(writes, lost), must, reads.union(may), order, exact)
    lost |= {a for a, found in memory.items() if found is None}
    if exact and lost:
        raise isl.Error("dataflow is not known")
    passed = together(f for f in flow.values() if f is not None)
    stored = together(f for a, f in memory.items() if f is not None and a not in lost)
    found = Dependences(passed.dependence, stored.dependence, unscoped(p, passed.unsupplied))
    for a in sorted(lost):  # conflicts are a superset
        read, written = to(reads, a), to(writes, a)
        over = conflicts(read.union(written), written, order)
        found = replace(found, memory=found.memory.union(over))
        if flow.get(a) is None:
            through = conflicts(to(own.relation(write=True), a), to(passing[0], a), order)
            found = replace(found, flow=found.flow.union(through), live_in=found.live_in.union(read))
    return found


def _others(relation: isl.UnionMap, arrays: Container[str]) -> isl.UnionMap:
    return union_of([m for m in maps(relation) if tuple_name(m, D.out) not in arrays])


def carried(relation: isl.Map, level: int) -> isl.Map:
    """The pairs of a dependence whose instances differ first at loop `level`."""
    for k in range(level):
        relation = relation.equate(D.in_, k, D.out, k)
    earlier, later = (
        compare(D.in_, level, D.out, level) for compare in (relation.order_lt, relation.order_gt)
    )
    return earlier.union(later)  # piece by piece: to subtract compares each with each
