"""Which source loops are parallel, and for the others the dependence that says no, with both its ends."""

from __future__ import annotations

import islpy as isl

from polygpu.analysis.dependences import Dependences, carried
from polygpu.analysis.polyhedra import PolyAccess, Polyhedra, PolyStatement
from polygpu.model.facts import LoopVerdict
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnostic
from polygpu.support.isl_idioms import D, maps, tuple_name
from polygpu.support.position import Position


@dataclass(frozen=True)
class Obstacle:
    """A dependence that forbids something, in a clause, and the places of its two ends."""

    why: str
    source: Position
    target: Position


def obstacle(p: Polyhedra, d: Dependences, pairs: isl.UnionMap, when: str) -> Obstacle | None:
    """One of the dependences that `pairs` of instances have, the second `when`; None where they have none."""
    for kind, relations in (("flow", d.flow), ("memory", d.memory)):
        for m in maps(relations.intersect(pairs)):
            source, target = (p.statement(tuple_name(m, side)) for side in (D.in_, D.out))
            found = _ends(source, target, m, kind)
            if found is not None:
                return Obstacle(_clause(*found, when), found[0].position, found[1].position)
    return None


def ends(found: LoopVerdict | Obstacle | None) -> tuple[Diagnostic, ...]:
    """Notes that show both ends of a dependence."""
    places = (found.source, found.target) if found is not None else ()
    texts = ("one end of the dependence", "the other end")
    return tuple(Diagnostic("", "note", text, at) for text, at in zip(texts, places, strict=False))


def loop_verdicts(p: Polyhedra, d: Dependences) -> tuple[LoopVerdict, ...]:
    """One verdict a source loop, after temporaries were expanded."""
    relations = [(kind, m) for kind, u in (("flow", d.flow), ("memory", d.memory)) for m in maps(u)]
    return tuple(_verdict(p, number, relations) for number in range(len(p.scop.loops)))


def _verdict(p: Polyhedra, number: int, relations: list[tuple[str, isl.Map]]) -> LoopVerdict:
    loop = p.scop.loops[number]
    for kind, relation in relations:
        source = p.statement(tuple_name(relation, D.in_))
        target = p.statement(tuple_name(relation, D.out))
        if number not in source.loops or number not in target.loops:
            continue
        pairs = carried(relation, source.loops.index(number))
        if pairs.is_empty():
            continue
        ends = _ends(source, target, pairs, kind)
        if ends is None:
            continue
        first, second = ends
        return LoopVerdict(
            loop.iterator,
            loop.position,
            loop.text,
            False,
            _clause(first, second, "by a later iteration"),
            first.position,
            second.position,
        )
    return LoopVerdict(loop.iterator, loop.position, loop.text, True)


def _clause(first: PolyAccess, second: PolyAccess, when: str) -> str:
    """`flow dependence: A[i] is written, then read by a later iteration as A[i - 1]`."""
    verbs = ["written" if access.write else "read" for access in (first, second)]
    again = " again" if verbs[0] == verbs[1] else ""
    name = f" as {second.text}" if second.text != first.text else ""
    kind = _NAMES[first.write, second.write]
    return f"{kind} dependence: {first.text} is {verbs[0]}, then {verbs[1]}{again} {when}{name}"


_NAMES = {(True, False): "flow", (False, True): "anti", (True, True): "output", (False, False): "input"}


def _ends(
    source: PolyStatement, target: PolyStatement, pairs: isl.Map, kind: str
) -> tuple[PolyAccess, PolyAccess] | None:
    for a in source.accesses:
        for b in target.accesses:
            if (a.write, b.write) == (False, False) or (kind == "flow" and (b.write or not a.write)):
                continue
            if a.relation.get_space().range() != b.relation.get_space().range() and (
                tuple_name(a.relation, D.out) != tuple_name(b.relation, D.out)
            ):
                continue
            same = a.relation.apply_range(b.relation.reverse())
            if not same.intersect(pairs).is_empty():
                return a, b
    return None
