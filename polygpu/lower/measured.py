"""The loops in which the host measures arrays."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polygpu.analysis.polyhedra import build
from polygpu.lower.checked_scan import scan
from polygpu.lower.scan import Scan
from polygpu.model.scop import Measure, Scop


def measurable(scop: Scop, other: Scop) -> Scop:
    """`scop`, or the `other` one where isl takes long for the loops of its measures."""
    try:
        for m in scop.measures:
            loops(scop, m)
    except isl.Error:
        return other
    return scop


def loops(scop: Scop, m: Measure) -> Scan:
    """Visits the instances of the statements of a measure in the order of the source. Raises isl.Error."""
    p = build(replace(scop, statements=m.statements, measures=()))
    length = max(len(s.schedule) for s in m.statements)
    return scan(p.schedule(), p.context, tuple(f"polygpu_{k}" for k in range(length)))
