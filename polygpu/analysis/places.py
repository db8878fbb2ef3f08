"""Statements by their places in the source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polygpu.analysis.polyhedra import PolyAccess, Polyhedra, PolyStatement
from polygpu.model.decisions import Decision, Place, statement_place
from polygpu.support.position import basename


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
    same = _at_the_same(p.statements, s, bool(place.column))
    own = s.position.line == place.line and place.column in (0, s.position.column)
    return own and place.number in (0, same.index(name) + 1)


def _at_the_same(statements: Iterable[PolyStatement], s: PolyStatement, column: bool) -> list[str]:
    """The statements on the line of `s`, or at the very place."""
    place = (s.position.file, s.position.line, s.position.column if column else 0)
    positions = ((t.name, t.position) for t in statements)
    return [n for n, at in positions if (at.file, at.line, at.column if column else 0) == place]


def place_of(p: Polyhedra, statements: Iterable[str]) -> Place:
    """The shortest place that only the first of the statements has."""
    names = set(statements)
    s = next(s for s in p.statements if s.name in names)
    file = "" if basename(s.position.file) == basename(p.scop.file) else basename(s.position.file)
    short = Place(s.position.line, file)
    exact = replace(short, column=s.position.column)
    number = _at_the_same(p.statements, s, True).index(s.name) + 1
    tries = (short, exact, replace(exact, number=number))
    return next(t for t in tries if [n.name for n in p.statements if holds(t, p, n.name)] == [s.name])


def array_names(a: PolyAccess) -> tuple[str, str]:
    """The array of a reference as the compiler calls it, which renames some, and as it is written."""
    return a.reference.array, a.text.partition("[")[0].strip()


def names_statement(p: Polyhedra, decision: Decision, name: str) -> bool:
    """Whether the decision is about the statement: it is there, not in a loop there, or writes the array."""
    s = p.statement(name)
    written = {array for a in s.accesses if a.write for array in array_names(a)}
    places = (statement_place(text) for text in decision.names)
    at = any(q is not None and q.line == s.position.line and holds(q, p, name) for q in places)
    return at or bool(written & {*decision.names})
