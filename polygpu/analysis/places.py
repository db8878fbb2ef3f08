"""Statements by their places in the source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polygpu.analysis.polyhedra import PolyAccess, Polyhedra, PolyStatement
from polygpu.model.decisions import Decision, Place, statement_place
from polygpu.model.scop import Part
from polygpu.support.position import Position, basename


def holds(place: Place, p: Polyhedra, name: str) -> bool:
    """Whether the place is that of a statement, or of a loop around it."""
    s = p.statement(name)
    if place.function:
        labels = {p.scop.loops[k].label for k in s.loops}
        return place.function in {p.scop.function, *labels}
    if place.file and basename(place.file) != basename(s.position.file):
        return False
    around = [p.scop.loops[k].position.line for k in s.loops]
    if not place.column and not place.number and place.line in around:
        return True
    return any(
        at.line == place.line
        and place.column in (0, at.column)
        and place.number in (0, *_numbers(p.statements, name, at, bool(place.column)))
        for at in positions(s)
    )


def positions(s: PolyStatement) -> tuple[Position, ...]:
    """Where the statement stands in the source, and the others that are one with it."""
    return tuple(part.position for part in s.parts) or (s.position,)


def part_at(s: PolyStatement, place: Position) -> Part:
    """The statement of the source that an access at `place` is of."""
    parts = s.parts or (Part(s.position, s.text),)
    before = [part for part in parts if (part.position.file, part.position.line) <= (place.file, place.line)]
    return max(before, key=lambda part: part.position.line, default=parts[0])


def _at_the_same(statements: Iterable[PolyStatement], where: Position, column: bool) -> list[str]:
    """The statements on this line, or at the very place."""
    place = (where.file, where.line, where.column if column else 0)
    places = ((t.name, at) for t in statements for at in positions(t) if not t.combines)
    return [n for n, at in places if (at.file, at.line, at.column if column else 0) == place]


def place_of(p: Polyhedra, statements: Iterable[str]) -> Place:
    """The shortest place that only the first of the statements has."""
    names = set(statements)
    s = next(s for s in p.statements if s.name in names and not s.combines)
    file = "" if basename(s.position.file) == basename(p.scop.file) else basename(s.position.file)
    short = Place(s.position.line, file)
    exact = replace(short, column=s.position.column)
    number = _numbers(p.statements, s.name, s.position, True)[0]
    tries = [short, exact, replace(exact, number=number)]
    # Those of another file may be on the same line, where functions of it are called.
    tries += [replace(t, file=basename(s.position.file)) for t in tries]
    others = [n.name for n in p.statements if not n.combines]
    return next(t for t in tries if [n for n in others if holds(t, p, n)] == [s.name])


def _numbers(statements: Iterable[PolyStatement], name: str, at: Position, column: bool) -> list[int]:
    """Which of the statements there the one of that name is."""
    return [k + 1 for k, other in enumerate(_at_the_same(statements, at, column)) if other == name]


def array_names(a: PolyAccess) -> tuple[str, str]:
    """The array of a reference as the compiler calls it, which renames some, and as it is written."""
    return a.reference.array, a.text.partition("[")[0].strip()


def names_statement(p: Polyhedra, decision: Decision, name: str) -> bool:
    """Whether the decision is about the statement: it is there, not in a loop there, or writes the array."""
    s = p.statement(name)
    written = {array for a in s.accesses if a.write for array in array_names(a)}
    places = (statement_place(text) for text in decision.names)
    lines = {at.line for at in positions(s)}
    at = any(q is not None and q.line in lines and holds(q, p, name) for q in places)
    return at or bool(written & {*decision.names})
