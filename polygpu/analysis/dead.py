"""Actions that cannot matter: nothing that outlives the region depends on them.

    before:  for i { u = a[i]; t = u * u; if (x[i] > 2) { w = t; z[i] = 1; } b[i] = u; }
    after:   for i { u = a[i]; if (x[i] > 2) z[i] = 1; b[i] = u; }

A store to an array that is live afterwards matters, and with an action the tests around it and whoever
supplies what it reads. All else goes before anything is scheduled: no later pass leaves out an action.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

import islpy as isl

from polygpu.analysis.dependences import Dependences
from polygpu.analysis.polyhedra import Polyhedra, PolyStatement, array_tuple
from polygpu.model.expr import Reference
from polygpu.model.rewrite import (
    locals_of,
    numbered,
    precedes,
    reads_of,
    references,
    sides,
    with_sides,
)
from polygpu.model.scop import Action, Let, Number, Store
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, maps, tuple_name

Place: TypeAlias = tuple[str, Number]  # statement, action


def dead_actions(p: Polyhedra, d: Dependences) -> frozenset[Place]:
    """The actions that cannot matter; none of them where nothing would be left without them."""
    live = _Live(p, d)
    return frozenset(live.actions) - live.found if live.found else frozenset()


def without(p: Polyhedra, dead: frozenset[Place]) -> Polyhedra:
    """`p` without the actions at some places, with all that is in branches among them."""
    if not dead:
        return p
    statements = (_without(s, frozenset(n for name, n in dead if name == s.name)) for s in p.statements)
    return replace(p, statements=tuple(s for s in statements if s.body))


def _without(s: PolyStatement, dead: frozenset[Number]) -> PolyStatement:
    body = _kept(s.body, dead, ())
    left = {(r, False) for _, a in numbered(body) for e in reads_of(a) for r in references(e)}
    left |= {(a.target, True) for _, a in numbered(body) if isinstance(a, Store)}
    accesses = tuple(a for a in s.accesses if (a.reference, a.write) in left)
    return replace(s, body=body, accesses=accesses)


def _kept(body: tuple[Action, ...], dead: frozenset[Number], prefix: Number) -> tuple[Action, ...]:
    return tuple(
        with_sides(a, (_kept(inner, dead, (*n, side)) for side, inner in sides(a)))
        for n, a in (((*prefix, k), a) for k, a in enumerate(body))
        if n not in dead
    )


def _leads(one: Number, other: Number) -> bool:
    """Whether an instance that gets to `other` has executed `one` before."""
    return one[:-1] == other[: len(one) - 1] and one[-1] < other[len(one) - 1]


@dataclass(frozen=True)
class _Live:
    """The actions of `p` that may matter, by its dependences `d`."""

    p: Polyhedra
    d: Dependences

    @cached_property
    def actions(self) -> dict[Place, Action]:
        return {(s.name, n): a for s in self.p.statements for n, a in numbered(s.body)}

    @cached_property
    def lets(self) -> dict[tuple[str, str], list[Number]]:
        """By statement and local, what assigns to it."""
        found: dict[tuple[str, str], list[Number]] = {}
        for (name, number), a in self.actions.items():
            if isinstance(a, Let):
                found.setdefault((name, a.name), []).append(number)
        return found

    @cached_property
    def stores(self) -> dict[str, list[tuple[Place, Reference]]]:
        """By array, what stores to it."""
        found: dict[str, list[tuple[Place, Reference]]] = {}
        for place, a in self.actions.items():
            if isinstance(a, Store):
                found.setdefault(array_tuple(a.target), []).append((place, a.target))
        return found

    @cached_property
    def lasting(self) -> frozenset[str]:
        return frozenset(a.name for a in self.p.arrays if a.live_out)

    @cached_property
    def flow(self) -> dict[tuple[str, str], isl.Map]:
        """By names of statements, writer and reader."""
        return {(tuple_name(m, D.in_), tuple_name(m, D.out)): m for m in maps(self.d.flow)}

    @cached_property
    def found(self) -> frozenset[Place]:
        found: set[Place] = set()
        todo = [place for place, a in self.actions.items() if isinstance(a, Store) and self._lasts(a.target)]
        while todo:
            place = todo.pop()
            if place not in found:
                found.add(place)
                todo.extend(self._asks_for(*place))
        return frozenset(found)

    def _lasts(self, r: Reference) -> bool:
        return r.array in self.lasting

    def _asks_for(self, statement: str, number: Number) -> Iterator[Place]:
        """The tests around an action, and those that may supply what it reads."""
        action = self.actions[statement, number]
        yield from ((statement, number[:k]) for k in range(1, len(number), 2))
        for name in locals_of(action):
            yield from ((statement, n) for n in self.lets.get((statement, name), ()) if precedes(n, number))
        for r in (r for e in reads_of(action) for r in references(e) if not self._lasts(r)):
            stores = self.stores.get(array_tuple(r), ())
            last = self._last(stores, statement, number, r)
            for place, target in stores:
                earlier = place[0] == statement and precedes(place[1], number) and place[1] >= last
                if earlier or self._supplies(place[0], target, statement, r):
                    yield place

    def _last(
        self, stores: Iterable[tuple[Place, Reference]], statement: str, number: Number, r: Reference
    ) -> Number:
        """The last action that is sure to store what action `number` reads; () if there is none."""
        if r not in self.p.statement(statement).affine:
            return ()
        same = replace(r, site=-1)
        return max(
            (
                n
                for (s, n), t in stores
                if s == statement and _leads(n, number) and replace(t, site=-1) == same
            ),
            default=(),
        )

    def _supplies(self, writer: str, target: Reference, reader: str, r: Reference) -> bool:
        flow = self.flow.get((writer, reader))
        if flow is None or array_tuple(target) != array_tuple(r):
            return False
        written, read = self._relation(writer, target, True), self._relation(reader, r, False)
        return not flow.is_disjoint(written.apply_range(read.reverse()))

    def _relation(self, statement: str, r: Reference, write: bool) -> isl.Map:
        accesses = self.p.statement(statement).accesses
        return next(a.relation for a in accesses if (a.reference, a.write) == (r, write))
