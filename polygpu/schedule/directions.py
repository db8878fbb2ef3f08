"""Directions of adjacency: the step between instances that brings a reference to the next element of a row.

For a reference with subscripts F x + c, ICS'08's pairs with F(x) + (0,...,0,1) = F(y) are y = x + d with
F d = e_last. One direction for each statement says the same as equations (1) and (2) of section 4.3 and
makes them linear in the unknown schedule.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polygpu.schedule.integer_system import Vector, dot, eliminate, small_solutions
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D

DIRECTION_BOUND = 4  # |d_k| at most
DIRECTIONS = 8  # of one reference at most


@dataclass(frozen=True, slots=True)
class Demand:
    """What a reference asks of a direction d: rows . d = right, which includes staying in the domain."""

    rows: tuple[Vector, ...]
    right: Vector
    depth: int
    unused: frozenset[int]  # iterators the subscripts do not depend on

    def admits(self, direction: Vector) -> bool:
        return all(dot(row, direction) == r for row, r in zip(self.rows, self.right, strict=True))


def demand(access: isl.Map, domain: isl.Set) -> Demand | None:
    """The demand of one reference, or None when it is not affine or has no subscripts."""
    hull = access.intersect_domain(domain).affine_hull()
    subscripts, depth = hull.dim(D.out), hull.dim(D.in_)
    if hull.is_empty() or not subscripts:
        return None
    rows, pivots = eliminate(_equalities(hull))
    extra, inputs = hull.dim(D.div), hull.dim(D.div) + subscripts
    bound = [(row, pivot) for row, pivot in zip(rows, pivots, strict=True) if extra <= pivot]
    defined = {pivot - extra: row for row, pivot in bound if pivot < inputs}
    if any(row[extra + o] for k, row in defined.items() for o in range(subscripts) if o != k):
        return None
    if len(defined) < subscripts:
        return None
    steps = {k: int(k == subscripts - 1) * -row[extra + k] for k, row in defined.items()}
    moves = tuple(defined[k][inputs : inputs + depth] for k in range(subscripts))
    stays = tuple(row[inputs : inputs + depth] for row, pivot in bound if inputs <= pivot < inputs + depth)
    right = (*(steps[k] for k in range(subscripts)), *(0 for _ in stays))
    unused = frozenset(k for k in range(depth) if not any(row[k] for row in moves))
    return Demand(moves + stays, right, depth, unused)


def _equalities(hull: isl.BasicMap) -> list[list[int]]:
    matrix = hull.equalities_matrix(D.div, D.out, D.in_, D.param, D.cst)
    return [
        [matrix.get_element_val(r, c).to_python() for c in range(matrix.cols())] for r in range(matrix.rows())
    ]


def directions(demands: Sequence[Demand], domain: isl.Set) -> tuple[Vector, ...]:
    """Directions that suit all `demands` (of one statement) at once, the simplest first.

    Iterators that no reference uses stand still where that is possible.
    """
    rows = [row for d in demands for row in d.rows]
    right = [r for d in demands for r in d.right]
    depth = demands[0].depth
    unused = sorted(frozenset.intersection(*(d.unused for d in demands)))
    still = [tuple(int(k == u) for k in range(depth)) for u in unused]
    found = small_solutions(rows + still, right + [0] * len(still), depth, DIRECTION_BOUND)
    found = found or small_solutions(rows, right, depth, DIRECTION_BOUND)
    lattice = domain.affine_hull()
    return tuple(d for d in found[:DIRECTIONS] if _stays(lattice, d))


def _stays(lattice: isl.BasicSet, direction: Vector) -> bool:
    """Whether a step along `direction` leads from points of `lattice` to points of it."""
    if not lattice.dim(D.div):
        return True  # the demand's own rows say so already
    shift = isl.MultiAff.identity(lattice.get_space().map_from_set())
    for k, step in enumerate(direction):
        shift = shift.set_aff(k, shift.get_aff(k).add_constant_val(isl.Val(step)))
    moved = isl.Set.from_basic_set(lattice).apply(isl.Map.from_multi_aff(shift))
    return bool(moved.is_subset(isl.Set.from_basic_set(lattice)))
