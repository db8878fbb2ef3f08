"""What the source calls the loops of a schedule."""

from __future__ import annotations

from collections import Counter

import islpy as isl

from polygpu.analysis.patterns import coefficients
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.schedule.tree import Member, row_text


def loop_names(p: Polyhedra, loop: Member) -> frozenset[str]:
    """All names of a loop: `i`, `i@14` of the statement on line 14, or `t + i`, whichever way it runs."""
    moving = [s for s in loop.statements if any(coefficients(loop.rows[s]) or (1,))]
    names = {(_name(p, loop, s), p.statement(s).position.line) for s in moving or loop.statements}
    return frozenset({name for name, _ in names} | {f"{name}@{line}" for name, line in names})


def usual_name(p: Polyhedra, loop: Member) -> str:
    """What most statements call a loop: those of a row or a column may call it by another loop's name."""
    names = Counter(_name(p, loop, s) for s in loop.statements)
    return min(names, key=lambda name: (-names[name], name))


def _name(p: Polyhedra, loop: Member, statement: str) -> str:
    sources, row = p.source_names(), loop.rows[statement]
    row = row.neg() if falls(row) else row
    text = row_text(row).strip("()")
    if not text.isidentifier() or 1 not in (moved := coefficients(row) or ()):
        return text
    iterator = p.statement(statement).iterators[moved.index(1)]
    return sources.get(iterator, iterator)


def falls(row: isl.PwAff) -> bool:
    first = next((c for c in coefficients(row) or () if c), 0)
    return first < 0
