"""Loops that data end, within one instance: why it is enough to look at one iteration.

The kernel's loop makes the source's test and carries out the source's actions, in their order, and reads
and writes the source's cells: locals, and elements of arrays. Where each cell that the loop changes is one
and the same in all its iterations, in the source and in the kernel, and different ones are different, then
both loops do the same from equal cells on, however often they run. That the cells are equal when the loop
starts is what events say of one iteration: a write that may not happen also reads the old value. What the
loop reads and does not change is no cell of it, and must not be kept where the kernel keeps one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from polygpu.analysis.polyhedra import PolyStatement, array_tuple
from polygpu.model.expr import Reference
from polygpu.model.scop import Let, Store
from polygpu.verify.events import Do, Place
from polygpu.verify.scoped import UnclearError

_Cell: TypeAlias = Reference | str


def check_cells(statement: PolyStatement, done: Sequence[Do]) -> None:
    """Raises UnclearError where the loop of these events may mean other cells in another iteration."""
    pairs = [pair for d in done for pair in _pairs(statement, d)]
    changed = {_group(cell) for d in done for cell, _ in _target(statement, d)}
    cells: dict[Hashable, Hashable] = {}
    arrays: dict[str, Hashable] = {}
    for cell, place in pairs:
        group = _group(cell)
        if group not in changed and not isinstance(cell, str):
            continue
        known = _placeless(cell), place.space, place.array, tuple(map(str, place.index or ()))
        same = cells.setdefault(group, known) == known and arrays.setdefault(place.array, group) == group
        if place.index is None or not same:
            raise UnclearError(f"'{place.text}' may be another element in each iteration of a loop")
    for cell, place in pairs:
        if arrays.get(place.array, _group(cell)) != _group(cell):
            raise UnclearError(f"'{place.text}' is changed by a loop that reads something else there")


def _pairs(statement: PolyStatement, d: Do) -> Iterator[tuple[_Cell, Place]]:
    """What the source and the kernel access."""
    if d.matched is None:
        raise UnclearError("a loop that data end copies something")
    yield from ((leaf.source, leaf.place) for leaf in d.matched.leaves)
    yield from _target(statement, d)


def _target(statement: PolyStatement, d: Do) -> Iterator[tuple[_Cell, Place]]:
    if d.target is not None and d.matched is not None:
        match statement.actions[d.matched.number]:
            case Store(target):
                yield target, d.target
            case Let(name):
                yield name, d.target


def _group(cell: _Cell) -> Hashable:
    """A local, or all elements of an array."""
    return cell if isinstance(cell, str) else (array_tuple(cell),)


def _placeless(cell: _Cell) -> _Cell:
    return cell if isinstance(cell, str) else replace(cell, site=-1)
