"""Where a kernel's points are, as conditions without many floors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import islpy as isl

from polygpu.mapping.fixed import Fixed, restricted
from polygpu.mapping.program import Grid
from polygpu.support.isl_idioms import D, bounded_hull, coalesced, coordinate, few_floors, identifier, pieces


def context_of(m: Grid) -> isl.Set:
    """What holds of the parameters and the host loops' indices whenever the kernel runs.

    Raises TooLongError where that is too much to make code for in limited time.
    """
    parts = (relaxed(m, m.domain(s)).params() for s in m.statements)
    context = reduce(isl.Set.union, parts, isl.Set.empty(m.p.context.get_space()))
    return few_floors(isl.Set.from_basic_set(context.intersect(m.p.context).simple_hull())).params()


def relaxed(m: Grid, domain: isl.Set) -> isl.Set:
    """Without what several floors say exactly: projections of these are slow, and hulls forget them."""
    return domain.remove_divs() if in_waves(m) else domain


def hull_of(m: Grid, of_all_waves: bool = False) -> isl.Set:
    """Convex hull, on the points' names, of the points at which anything runs, in some wave or in that of
    the launch.
    """
    outer = () if of_all_waves and in_waves(m) else m.outer
    fixed = (*outer, *m.points())
    parts = (relaxed(m, restricted(m.p, s, fixed)).params() for s in m.statements)
    points = coalesced(reduce(isl.Set.union, parts)).from_params()
    space = points.get_space()
    near = near_steps(m, outer, points, (coordinate(space, a.name) for a in m.axes))
    return reduce(isl.Set.intersect, (condition.params() for condition in near), _bounded(m, points))


def _bounded(m: Grid, hull: isl.Set) -> isl.Set:
    """A hull of points: bounded in them where it can be, which wants them as dimensions of the set."""
    places = [hull.find_dim_by_name(D.param, a.name) for a in m.axes]
    for d, place in enumerate(places):
        moved = sum(1 for p in places[:d] if p < place)
        hull = hull.move_dims(D.set, d, D.param, place - moved, 1)
    hull = bounded_hull(hull)
    for axis in m.axes:
        hull = hull.move_dims(D.param, hull.dim(D.param), D.set, 0, 1)
        hull = hull.set_dim_id(D.param, hull.dim(D.param) - 1, identifier(axis.name))
    return hull.params()


def near_steps(
    m: Grid, outer: Iterable[Fixed], points: isl.Set, places: Iterable[isl.Aff]
) -> Iterator[isl.Set]:
    """How far from the first step of a host loop's tile `places` of `points` can be, as conditions.

    A hull of them without floors may have points in the next tile: a block more, and one without work
    copies elements that the others store.
    """
    space, places = points.get_space(), tuple(places)
    widths = [(f, n) for f in outer for n in {*f.divisors, f.reach} if n > 1 and not in_waves(m)]
    for f, width in sorted(widths, key=lambda pair: pair[1]):
        for place in places:
            distance = place.sub(coordinate(space, f.name).scale_val(isl.Val(width)))
            low, high = points.min_val(distance), points.max_val(distance)
            if low.is_int() and high.is_int():
                behind = isl.PwAff.from_aff(distance)
                yield behind.add_constant_val(low.neg()).nonneg_set()
                yield behind.neg().add_constant_val(high).nonneg_set()


def in_waves(m: Grid) -> bool:
    """Whether a loop of the host counts waves of tiles: its rows are sums of their numbers."""
    rows = (row for f in m.outer for row in f.member.rows.values())
    return any(aff.dim(D.div) > 1 for row in rows for _, aff in pieces(row))
