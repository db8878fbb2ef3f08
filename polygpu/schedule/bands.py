"""isl's Pluto-like scheduler, as trees of bands: the fall-back of algorithm 1 and the base of tiling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import reduce
from math import inf
from typing import Any, TypeAlias

import islpy as isl

from polygpu.analysis.polyhedra import PolyStatement
from polygpu.schedule.tree import Band, Leaf, Member, Node, Sequence, band, sequence
from polygpu.support.child import in_child
from polygpu.support.isl_idioms import (
    CONTEXT,
    STEPS_A_SECOND,
    D,
    basic_maps,
    bounded,
    maps,
    pieces,
    pw_name,
    sets,
    steps,
    union_of,
    union_pw_affs,
)
from polygpu.support.recent import Recent

_T: Any = isl.schedule_node_type  # islpy declares the kinds of nodes as int
_STEPS = 5_000_000  # of isl: some seconds
_SMALL = 50  # problem, which never takes long; one of size 170 was seen to take minutes
_TINY = 20  # one without parameters; of those some of 40 and 48 never ended
_UNEVEN = 64  # coefficient of a dependence; with 341 one of size 12 never ended
_BRIEF = 0.3  # seconds for a problem without bounds, which takes milliseconds
_MOMENT = 0.2  # seconds for a small problem of large coefficients: it takes milliseconds, or has no end
_SECONDS = 3.0  # in which isl takes more than _STEPS, unless these are long
_SIZE = 20_000  # of a problem: dependences times dimensions; the largest kernels known have some 3000
_FOUND: Recent[Node | isl.Error] = Recent(256)
_BOX = 4  # sides that the bounds of a loop give a dependence: two for each of its instances
_FEW = 16  # distances, which are told apart
_STEEPEST = 64  # coefficient of an iterator; that of useful schedules is seldom more than 3


Constraints: TypeAlias = Callable[[], isl.ScheduleConstraints]
"""They are made where there is an end to it: isl may take as long for them as for a schedule."""


def schedule(
    domain: isl.UnionSet,
    context: isl.Set,
    validity: isl.UnionMap,
    proximity: isl.UnionMap,
    seconds: float = inf,
) -> Node:
    """A legal schedule of `domain`: outermost parallel bands, strongly connected components apart.

    Where all dependences together leave no parallel loop outermost, isl carries as many as it can in one
    (Feautrier), which for small constant extents may take coefficients such as 391680: a loop that visits
    next to nothing, with bounds that int does not hold. Then bands need not begin with a parallel loop.

    Raises `isl.Error` when isl gives up ("unable to carry dependences" happens), finds only such coefficients
    or would take too long, and TimeoutError after the steps of `seconds`: in the integer programs of a large
    problem it may go on for hours, and counts no steps on the way.
    """
    # most components are the same where other temporaries are expanded
    key = seconds < inf, str([domain, context, validity, proximity])
    found = _FOUND.get(key, lambda: _attempted(domain, context, validity, proximity, seconds))
    if isinstance(found, isl.Error):
        raise found
    return found


def _attempted(
    domain: isl.UnionSet, context: isl.Set, validity: isl.UnionMap, proximity: isl.UnionMap, seconds: float
) -> Node | isl.Error:
    try:
        return _schedule(domain, context, validity, proximity, seconds)
    except isl.Error as error:  # which takes as long the next time
        return error


def _schedule(
    domain: isl.UnionSet, context: isl.Set, validity: isl.UnionMap, proximity: isl.UnionMap, seconds: float
) -> Node:
    if _size(domain, validity) > _SIZE:
        raise isl.Error("too many dependences to schedule")
    most = _SMALL if _has_parameters(domain) and not _has_floors(domain, validity) else _TINY
    limit = inf
    if _size(domain, validity) > most:
        limit = seconds
    elif _is_uneven(validity):
        limit = seconds = min(seconds, _MOMENT)
    end = steps() + seconds * STEPS_A_SECOND
    if limit < inf:

        def wider() -> isl.ScheduleConstraints:
            both = _unbounded(validity, domain), _unbounded(proximity, domain)
            return _constraints(domain, context, *both)

        with suppress(isl.Error, TimeoutError):
            return _flat(wider, min(limit, _BRIEF), domain, end)
    return _flat(lambda: _constraints(domain, context, validity, proximity), limit, domain, end)


def _constraints(
    domain: isl.UnionSet, context: isl.Set, validity: isl.UnionMap, proximity: isl.UnionMap
) -> isl.ScheduleConstraints:
    same = proximity is validity
    validity = by_distance(validity)
    proximity = validity if same else by_distance(proximity)
    return (
        isl.ScheduleConstraints.on_domain(domain)
        .set_context(context)
        .set_validity(validity)
        .set_coincidence(validity)
        .set_proximity(proximity)
    )


def by_distance(dependences: isl.UnionMap) -> isl.UnionMap:
    """The same with a piece for each distance where a piece has a few of them and many sides.

    A schedule is legal for a piece if it is for the corners, of which those of { x -> y : |y - x|_1 <= 1 }
    within bounds are many: isl's dual of it takes a hundred times as long as those of all its translations.
    """
    return union_of(part for m in maps(dependences) for part in _by_distance(m))


def _by_distance(dependence: isl.Map) -> Iterator[isl.Map]:
    loops = dependence.dim(D.in_)
    many = [b for b in basic_maps(dependence) if _sides(b) > _BOX * loops]
    if not many or loops != dependence.dim(D.out):
        yield dependence
        return
    for piece in basic_maps(dependence):
        distances = _distances(piece) if piece in many else ()
        if not distances:
            yield isl.Map.from_basic_map(piece)
        for distance in distances:
            yield isl.Map.from_basic_map(reduce(_shifted, enumerate(distance), piece))


def _shifted(piece: isl.BasicMap, by: tuple[int, isl.Val]) -> isl.BasicMap:
    """Its pairs whose second instance is as much later in one loop."""
    loop, distance = by
    fixed = isl.Constraint.equality_alloc(isl.LocalSpace.from_space(piece.get_space()))
    fixed = fixed.set_coefficient_val(D.in_, loop, isl.Val(1)).set_coefficient_val(D.out, loop, isl.Val(-1))
    return piece.add_constraint(fixed.set_constant_val(distance))


def _sides(piece: isl.BasicMap) -> int:
    return sum(not c.is_equality() for c in piece.get_constraints())


def _distances(piece: isl.BasicMap) -> tuple[tuple[isl.Val, ...], ...]:
    """Those between the two instances of pairs, whatever the sizes are; none where they are many."""
    found = isl.Map.from_basic_map(piece).reset_tuple_id(D.in_).reset_tuple_id(D.out).deltas()
    found = found.project_out(D.param, 0, found.dim(D.param))
    if not found.is_bounded() or found.count_val().to_python() > _FEW:
        return ()
    points: list[isl.Point] = []
    found.foreach_point(points.append)
    return tuple(tuple(p.get_coordinate_val(D.set, k) for k in range(found.dim(D.set))) for p in points)


def _flat(constraints: Constraints, seconds: float, domain: isl.UnionSet, end: float) -> Node:
    found = _computed(constraints, seconds, domain)
    if _is_steep(found):
        with _no_parallel_loop_first():
            found = _computed(constraints, (end - steps()) / STEPS_A_SECOND, domain)
    if _is_steep(found):
        raise isl.Error("coefficients of the schedule are too large")
    return found


def permutable(domain: isl.UnionSet, context: isl.Set, validity: isl.UnionMap, seconds: float) -> Node:
    """A legal schedule whose outermost band has as many loops as can be cut into tiles, parallel or not.

    Raises what `schedule` does.
    """
    with _no_parallel_loop_first():
        return schedule(domain, context, validity, validity, seconds)


def _computed(constraints: Constraints, seconds: float, domain: isl.UnionSet) -> Node:
    if seconds < inf:
        found = _in_time(constraints, seconds)
    else:
        with bounded(_STEPS):
            found = constraints().compute_schedule()
    return _node(found.get_root().child(0), _names(domain))


@contextmanager
def _no_parallel_loop_first() -> Iterator[None]:
    CONTEXT.set_schedule_outer_coincidence(0)
    try:
        yield
    finally:
        CONTEXT.set_schedule_outer_coincidence(1)


def _is_steep(node: Node) -> bool:
    match node:
        case Band(members, _, child):
            return any(map(_steep, (r for m in members for r in m.rows.values()))) or _is_steep(child)
        case Sequence(children):
            return any(map(_is_steep, children))
    return False


def _steep(row: isl.PwAff) -> bool:
    return any(abs(c) > _STEEPEST for piece in coefficients(row) for c in piece)


def coefficients(row: isl.PwAff) -> list[list[int]]:
    """Those of iterators, of each piece."""
    found = [aff for _, aff in pieces(row)]
    return [[f.get_coefficient_val(D.in_, k).to_python() for k in range(f.dim(D.in_))] for f in found]


def _in_time(constraints: Constraints, seconds: float) -> isl.Schedule:
    def text() -> str:
        with bounded(_STEPS):
            return str(constraints().compute_schedule().to_str())

    found = in_child(text, min(seconds, _SECONDS)) if seconds > 0 else None
    if found is None:
        raise isl.Error("isl finds no schedule") if seconds > 0 else TimeoutError("no time is left")
    return isl.Schedule.read_from_str(CONTEXT, found)


def _is_uneven(validity: isl.UnionMap) -> bool:
    """Whether a dependence has a large coefficient, as of places in an array that is one row of others."""
    for c in (c for m in maps(validity) for b in basic_maps(m) for c in b.get_constraints()):
        for kind in (D.in_, D.out, D.div):
            places = range(c.dim(kind))
            if any(abs(c.get_coefficient_val(kind, k).to_python()) > _UNEVEN for k in places):
                return True
    return False


def _size(domain: isl.UnionSet, validity: isl.UnionMap) -> int:
    dependences = sum(m.n_basic_map() for m in maps(validity))
    return dependences * sum(s.dim(D.set) + 1 for s in sets(domain))


def original(statements: list[PolyStatement]) -> Node:
    """The source's own order of `statements`, loop by loop."""
    rows = {}
    for s in statements:
        whole = isl.MultiPwAff.from_pw_multi_aff(isl.PwMultiAff.from_map(s.schedule))
        rows[s.name] = [whole.get_pw_aff(k) for k in range(s.schedule.dim(D.out))]
    return _nested(statements, rows, 0)


def _nested(statements: list[PolyStatement], rows: dict[str, list[isl.PwAff]], depth: int) -> Node:
    """The 2d+1 form from level `depth` on: a position, then a loop."""
    groups: dict[int, list[PolyStatement]] = {}
    for s in statements:
        groups.setdefault(_constant(rows[s.name][2 * depth]), []).append(s)
    return sequence(_looped(groups[k], rows, depth) for k in sorted(groups))


def _looped(statements: list[PolyStatement], rows: dict[str, list[isl.PwAff]], depth: int) -> Node:
    if all(len(s.iterators) <= depth and _stays(rows[s.name], depth) for s in statements):
        return sequence(Leaf((s.name,)) for s in statements)
    member = Member({s.name: rows[s.name][2 * depth + 1] for s in statements})
    return Band((member,), False, _nested(statements, rows, depth + 1))


def _stays(rows: list[isl.PwAff], depth: int) -> bool:
    """Whether an instance is in the same iteration of all loops from level `depth` on as any other one.

    Copies of what a loop stores have fewer iterators than that loop is deep.
    """
    values = (value for row in rows[2 * depth + 1 :: 2] for _, value in pieces(row))
    return not any(value.involves_dims(D.in_, 0, value.dim(D.in_)) for value in values)


def _constant(row: isl.PwAff) -> int:
    """The value of a row that is the same everywhere; 0 where there are no instances."""
    found = pieces(row)
    return int(found[0][1].get_constant_val().to_python()) if found else 0


def _has_parameters(domain: isl.UnionSet) -> bool:
    """Whether any bound depends on a parameter; the space may name parameters that none does."""
    return any(s.involves_dims(D.param, 0, s.dim(D.param)) for s in sets(domain))


def _unbounded(dependences: isl.UnionMap, domain: isl.UnionSet) -> isl.UnionMap:
    """The dependences without the bounds of the domain: more than there are, by simpler rules.

    In front of bounds such as 398 the integer programs of isl grow where dependences have many sides.
    """
    return dependences.gist_domain(domain).gist_range(domain).coalesce()


def _has_floors(domain: isl.UnionSet, validity: isl.UnionMap) -> bool:
    """Whether there are strides or moduli, in whose multiples isl may search for ever."""
    pieces_of = (b for s in sets(domain) for b in s.get_basic_sets())
    return any(b.dim(D.div) for b in pieces_of) or any(
        b.dim(D.div) for m in maps(validity) for b in basic_maps(m)
    )


def _names(domain: isl.UnionSet) -> tuple[str, ...]:
    return tuple(s.get_tuple_name() for s in sets(domain))


def _node(node: isl.ScheduleNode, statements: tuple[str, ...]) -> Node:
    kind = node.get_type()
    if kind == _T.leaf:
        return Leaf(statements)
    if kind == _T.band:
        partial = node.band_get_partial_schedule()
        members = tuple(_member(partial, k, statements) for k in range(partial.dim(D.out)))
        return band(members, bool(node.band_get_permutable()), _node(node.child(0), statements))
    if kind in (_T.sequence, _T.set):
        children = [node.child(i) for i in range(node.n_children())]
        parts = [(c, _names(c.filter_get_filter())) for c in children]
        if kind == _T.set:
            parts.sort(key=lambda part: part[1])
        return sequence(_node(c.child(0), names) for c, names in parts)
    if kind == _T.filter:
        return _node(node.child(0), _names(node.filter_get_filter()))
    raise AssertionError(f"unexpected schedule node {kind}")


def _member(partial: isl.MultiUnionPwAff, k: int, statements: tuple[str, ...]) -> Member:
    rows = {pw_name(row): row for row in union_pw_affs(partial, k)}
    return Member({s: rows[s] for s in statements})
