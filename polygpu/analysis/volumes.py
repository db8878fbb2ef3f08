"""How much memory arrays take, as far as it is known: a number of elements, and extents that a run tells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from functools import reduce

import islpy as isl

from polygpu.analysis.elements import declared
from polygpu.analysis.polyhedra import Polyhedra, PolyStatement
from polygpu.model.expr import Expr, Int
from polygpu.model.scop import Array
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, coalesced, surely_within
from polygpu.support.recent import Recent, Same

_PIECES = 100  # of what all accesses tell of a loop together: with more of them it is enough what some tell


@dataclass(frozen=True, order=True)
class Volume:
    """The product of `unknown` extents, each taken to be larger than any number, and of `known` elements."""

    unknown: int = 0
    known: int = 1

    def times(self, extents: Iterable[Expr | int | None]) -> Volume:
        """With these extents besides: each a number, or one that is not known."""
        found = self
        for extent in extents:
            number = extent.value if isinstance(extent, Int) else extent if isinstance(extent, int) else None
            found = (
                Volume(found.unknown + 1, found.known)
                if number is None
                else Volume(found.unknown, found.known * number)
            )
        return found


def volume(array: Array) -> Volume:
    return Volume().times(array.extents)


def iterations(p: Polyhedra, statements: Iterable[str], level: int) -> int | None:
    """How many iterations the loop at `level` around statements has at most, as far as sizes of arrays tell.

    What a statement accesses in all of these iterations tells of the others too. None where nothing tells.
    """
    return _RECENT.get(Same(p), lambda: _Loops(p)).iterations(frozenset(statements), level)


@dataclass(frozen=True)
class _Loops:
    """The loops of a program: each of its arrays and statements is looked at once, however many ask."""

    p: Polyhedra
    widths: dict[tuple[frozenset[str], int], int | None] = field(default_factory=dict)
    around: dict[tuple[str, int], tuple[isl.Set, isl.Set]] = field(default_factory=dict)
    arrays: dict[str, isl.Set | None] = field(default_factory=dict)

    def iterations(self, statements: frozenset[str], level: int) -> int | None:
        key = statements, level
        if key not in self.widths:
            self.widths[key] = self._iterations(*key)
        return self.widths[key]

    def _iterations(self, statements: frozenset[str], level: int) -> int | None:
        mine = [self.p.statement(name) for name in sorted(statements)]
        whole = reduce(isl.Set.union, (_outer(s.domain, level) for s in mine))
        found = whole
        for s in (s for s in self.p.statements if s.loops[: level + 1] == mine[0].loops[: level + 1]):
            outer, inside = self._around(s, level)
            few = found.n_basic_set() * inside.n_basic_set() <= _PIECES
            if few and surely_within(whole, outer):
                found = coalesced(found.intersect(inside))
        return _width(found, level)

    def _around(self, s: PolyStatement, level: int) -> tuple[isl.Set, isl.Set]:
        """The iterations up to `level` around a statement: all, and those that access elements which are."""
        key = s.name, level
        if key not in self.around:
            self.around[key] = _outer(s.domain, level), _outer(self._inside(s), level)
        return self.around[key]

    def _inside(self, s: PolyStatement) -> isl.Set:
        """The instances that access elements which there are."""
        found = s.domain
        for a in (a for a in s.accesses if a.affine and a.reference.subscripts):
            elements = self._declared(a.reference.array)
            if elements is not None:
                relation = a.relation.intersect_range(elements.set_tuple_id(a.relation.get_tuple_id(D.out)))
                found = found.intersect(relation.domain())
        return found

    def _declared(self, array: str) -> isl.Set | None:
        if array not in self.arrays:
            self.arrays[array] = declared(self.p, self.p.array(array))
        return self.arrays[array]


_RECENT: Recent[_Loops] = Recent(2)


def _outer(instances: isl.Set, level: int) -> isl.Set:
    """The iterations of the loops up to `level`, if loops inside these have any."""
    inner = instances.dim(D.set) - level - 1
    outer = instances.project_out(D.set, level + 1, inner).reset_tuple_id()
    return outer.drop_constraints_not_involving_dims(D.set, 0, level + 1)


def _width(iterations: isl.Set, level: int) -> int | None:
    if iterations.is_empty():
        return 0
    most, least = iterations.dim_max_val(level), iterations.dim_min_val(level)
    return most.sub(least).to_python() + 1 if most.is_int() and least.is_int() else None
