"""The loops in which the host measures arrays."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

import islpy as isl

from polygpu.analysis.measured import measured
from polygpu.analysis.polyhedra import Polyhedra, PolyStatement, build
from polygpu.lower.checked_scan import scan
from polygpu.lower.scan import Scan
from polygpu.model.rewrite import action_expressions, actions, references, scalars_in
from polygpu.model.scop import Measure, Scop, Store
from polygpu.support.isl_idioms import D


def measurable(scop: Scop) -> Scop:
    """`measured`, unless isl takes long for the loops of its measures."""
    made = measured(scop)
    try:
        for m in made.measures:
            loops(made, m)
    except isl.Error:
        return scop
    return made


def loops(scop: Scop, m: Measure) -> Scan:
    """Visits the instances of the statements of a measure in the order of the source. Raises isl.Error."""
    p = visited(scop, m)
    length = max(len(s.schedule) for s in m.statements)
    return scan(p.schedule(), p.context, tuple(f"polygpu_{k}" for k in range(length)))


def visited(scop: Scop, m: Measure) -> Polyhedra:
    """The statements of a measure, of instances that find the same subscripts the first alone.

    for i: for j: x: k[i];   ->   for i: { j = 0; if (j < m) x: k[i]; }
    """
    p = build(replace(scop, statements=m.statements, measures=()))
    kept = {a.name for a in m.copies}  # between instances, which are all to be carried out then
    return replace(p, statements=tuple(_first(s, kept) for s in p.statements))


def _first(s: PolyStatement, kept: Set[str]) -> PolyStatement:
    found = [e for a in actions(s.body) for e in action_expressions(a)]
    stored = {a.target.array for a in actions(s.body) if isinstance(a, Store)}
    unused = [k for k, iterator in enumerate(s.iterators) if iterator not in scalars_in(*found)]
    if not unused or not kept.isdisjoint(stored | {r.array for e in found for r in references(e)}):
        return s
    return _alone(s, unused)


def _alone(s: PolyStatement, unused: list[int]) -> PolyStatement:
    """One instance for each value of its other iterators."""
    found = isl.Map.identity(s.domain.get_space().map_from_set()).intersect_domain(s.domain)
    for k in reversed(unused):
        found = found.project_out(D.in_, k, 1)
    domain = found.lexmin().range()
    return replace(s, domain=domain, schedule=s.schedule.intersect_domain(domain))
