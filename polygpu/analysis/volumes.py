"""How much memory arrays take, as far as it is known: a number of elements, and extents that a run tells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polygpu.analysis.elements import declared
from polygpu.analysis.polyhedra import Polyhedra, PolyStatement
from polygpu.model.expr import Expr, Int
from polygpu.model.scop import Array
from polygpu.support.isl_idioms import D


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
    mine = [p.statement(name) for name in statements]
    whole = reduce(isl.Set.union, (_outer(s.domain, level) for s in mine))
    found = whole
    for s in (s for s in p.statements if s.loops[: level + 1] == mine[0].loops[: level + 1]):
        if whole.is_subset(_outer(s.domain, level)):
            found = found.intersect(_outer(_inside(p, s), level))
    return _width(found, level)


def _outer(instances: isl.Set, level: int) -> isl.Set:
    """The iterations of the loops up to `level`, if loops inside these have any."""
    inner = instances.dim(D.set) - level - 1
    outer = instances.project_out(D.set, level + 1, inner).reset_tuple_id()
    return outer.drop_constraints_not_involving_dims(D.set, 0, level + 1)


def _inside(p: Polyhedra, s: PolyStatement) -> isl.Set:
    """The instances that access elements which there are."""
    found = s.domain
    for a in (a for a in s.accesses if a.affine and a.reference.subscripts):
        elements = declared(p, p.array(a.reference.array))
        if elements is not None:
            relation = a.relation.intersect_range(elements.set_tuple_id(a.relation.get_tuple_id(D.out)))
            found = found.intersect(relation.domain())
    return found


def _width(iterations: isl.Set, level: int) -> int | None:
    if iterations.is_empty():
        return 0
    most, least = iterations.dim_max_val(level), iterations.dim_min_val(level)
    return most.sub(least).to_python() + 1 if most.is_int() and least.is_int() else None
