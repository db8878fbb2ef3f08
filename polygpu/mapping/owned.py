"""What each parallel point owns: access patterns along the nest, and arrays that fit in registers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import reduce
from typing import TypeAlias

import islpy as isl

from polygpu.analysis.elements import declared
from polygpu.analysis.flow import conflicts, dataflow
from polygpu.analysis.patterns import Pattern, coefficients, patterns
from polygpu.analysis.polyhedra import PolyAccess, array_tuple
from polygpu.mapping.flatten import flatten
from polygpu.mapping.program import Grid, HeldArray, ReferenceKey, Run, reference_key, walk
from polygpu.model.rewrite import action_expressions, actions, references
from polygpu.schedule.tree import members_on
from polygpu.support.isl_idioms import coalesced, empty_union_map, has_floors, maps, union_of
from polygpu.support.recent import Same

Uses: TypeAlias = list[tuple[str, PolyAccess]]


def shape_of(m: Grid) -> tuple[Hashable, ...]:
    """A key of what neither sizes of tiles nor places of data change: the nest, and its axes' order."""
    runs = (Same(b.node) for b in walk(m.block) if isinstance(b, Run))
    axes = ((Same(a.member), a.name) for a in m.axes)
    return (*axes, *runs, *((Same(f.member), f.name, f.width) for f in m.outer))


def nest_patterns(m: Grid) -> tuple[Pattern, ...]:
    """The patterns of every access of the nest, along its parallel dimensions."""
    key = nest_patterns, *shape_of(m)
    found: tuple[Pattern, ...] = m.p.recent.get(key, lambda: tuple(_patterns(m)))
    return found


def _patterns(m: Grid) -> list[Pattern]:
    found: list[Pattern] = []
    for name in m.statements:
        inner = [member.rows[name] for member in members_on(m.node, name)]
        around = [f.member.rows[name] for f in m.outer if name in f.member.rows]
        outer = [row for row in around if not has_floors(row)]  # a tile's number fixes no iterator
        parallel = [a.member.rows[name] for a in m.axes]
        depth = sum(1 for row in inner if any(coefficients(row) or (1,)))
        found.extend(patterns(m.p.statement(name), [*parallel, *outer, *inner], len(parallel), depth))
    return found


def image(m: Grid, statement: str, rows: list[isl.PwAff]) -> isl.Set:
    """The values of affine rows at all instances of the statement."""
    relation = isl.Map.from_pw_aff(rows[0])
    for row in rows[1:]:
        relation = relation.flat_range_product(isl.Map.from_pw_aff(row))
    return m.domain(statement).apply(relation)


def written_arrays(m: Grid) -> set[str]:
    return {array_tuple(a.reference) for s in m.statements for a in m.p.statement(s).accesses if a.write}


def promote(m: Grid) -> tuple[HeldArray, ...]:
    """The arrays of the nest that can live in registers."""
    found: tuple[HeldArray, ...] = m.p.recent.get((promote, *shape_of(m)), lambda: _promoted(m))
    return found


def untouched(m: Grid) -> frozenset[ReferenceKey]:
    """The references to written arrays whose elements no reference touches that finds written ones."""
    key = untouched, *shape_of(m)
    found: frozenset[ReferenceKey] = m.p.recent.get(key, lambda: frozenset(_untouched(m)))
    return found


def _untouched(m: Grid) -> Iterator[ReferenceKey]:
    if not any(members_on(m.node, s) for s in m.statements):
        return  # each reads such an element once
    for array in written_arrays(m):
        uses = _uses(m, array)
        if len({a.reference.subscripts for _, a in uses}) == 1 or not all(a.affine for _, a in uses):
            continue
        touched: dict[ReferenceKey, isl.Set] = {}
        for s, a in uses:
            here, key = m.domain(s).apply(a.relation), reference_key(s, a.reference)
            touched[key] = touched[key].union(here) if key in touched else here
        together = {reference_key(s, a.reference) for s, a in uses if a.write}
        # a register that holds an element that is written is stored with all that it holds
        while met := {
            key
            for key in touched.keys() - together
            if any(not touched[key].intersect(touched[other]).is_empty() for other in together)
        }:
            together |= met
        yield from (key for key in touched if key not in together)


def _uses(m: Grid, array: str) -> Uses:
    mine = ((s, a) for s in m.statements for a in m.p.statement(s).accesses)
    return [(s, a) for s, a in mine if array_tuple(a.reference) == array]


def _promoted(m: Grid) -> tuple[HeldArray, ...]:
    result: list[HeldArray] = []
    if not m.axes:
        return ()
    for array in sorted(written_arrays(m)):
        uses = _uses(m, array)
        apart = untouched(m)
        mine = [(s, a) for s, a in uses if reference_key(s, a.reference) not in apart]
        candidate = _promotion(m, array, mine)
        if candidate is not None:
            result.append(candidate)
    return tuple(result)


def _promotion(m: Grid, array: str, uses: list[tuple[str, PolyAccess]]) -> HeldArray | None:
    depths = {s: len(members_on(m.node, s)) for s, _ in uses}
    if len(uses) == 1:
        return None
    if any(not a.affine or a.reference.field for _, a in uses):
        return None
    elements = point_elements(m, uses[0])
    for use in uses[1:]:
        elements = elements.union(point_elements(m, use))
    elements = coalesced(elements)
    if not elements.is_single_valued() or not elements.is_injective():
        return None
    function = isl.PwMultiAff.from_map(elements)
    if function.n_piece() != 1 or not _exist(m, uses, elements):
        return None
    first = uses[0][1].reference.array
    old = _reads_old(m, uses)
    # a temporary that no read finds old stays inside: not even another launch of this kernel sees it
    apart = len(_uses(m, array)) > len(uses)
    private = not (m.p.array(first).live_out or old or apart or _used_elsewhere(m, array))
    # outside of loops, one statement that reads no own writes loads and stores once anyway
    once = max(depths.values()) == 0 and len(depths) == 1 and all(a.write or a.exposed for _, a in uses)
    if not private and (once or _is_combined(m, uses)):
        return None
    points = elements.domain()
    load = old or not (private or _writes_all(m, uses, points))
    keys = frozenset(_references(m, array)) - untouched(m)
    return HeldArray(first, array, f"{first}_r", function, points, load, not private, keys)


def _is_combined(m: Grid, uses: Uses) -> bool:
    """Whether partial results are combined with an element that is there for others, too: in memory, where
    it is seen which one that is.
    """
    written = {s for s, a in uses if a.write and m.p.statement(s).combines}
    return any(s in written and not a.write for s, a in uses)


def _references(m: Grid, array: str) -> Iterator[ReferenceKey]:
    """The references to the array in the nest's bodies, those that do not matter included."""
    for name in m.statements:
        for action in actions(m.p.statement(name).body):
            for expr in action_expressions(action):
                yield from (reference_key(name, r) for r in references(expr) if array_tuple(r) == array)


def point_elements(m: Grid, use: tuple[str, PolyAccess]) -> isl.Map:
    """Points (a set whose dimensions are the nest's parallel ones) to the elements the access touches."""
    name, access = use
    rows = [a.member.rows[name] for a in m.axes]
    points = isl.Map.from_pw_aff(rows[0])
    for row in rows[1:]:
        points = points.flat_range_product(isl.Map.from_pw_aff(row))
    return points.intersect_domain(m.domain(name)).reverse().apply_range(access.relation)


def _exist(m: Grid, uses: Uses, elements: isl.Map) -> bool:
    """Whether the array has all the elements that points own, also those that data keep from being used."""
    certain = [use for use in uses if use[1].must]
    if len(certain) == len(uses):
        return True
    beyond = elements
    for use in certain:
        beyond = beyond.subtract(point_elements(m, use))
    if beyond.is_empty():
        return True
    all_ = declared(m.p, m.p.array(uses[0][1].reference.array))
    return all_ is not None and bool(beyond.range().reset_tuple_id().is_subset(all_))


def _reads_old(m: Grid, uses: Uses) -> bool:
    """Whether some point reads the value an element had before the kernel."""
    order = _order_inside(m, [s for s, _ in uses])
    reads = union_of([a.relation.intersect_domain(m.domain(s)) for s, a in uses if not a.write and a.exposed])
    if reads.is_empty():
        return False
    try:
        found = dataflow(reads, _must_writes(m, uses), empty_union_map(), order)
    except isl.Error:
        return not reads.range().is_subset(_written_first(m, uses, reads, order).range())
    return not found.unsupplied.is_empty()


def _written_first(m: Grid, uses: Uses, reads: isl.UnionMap, order: isl.UnionMap) -> isl.UnionMap:
    """The writes of accesses before which nothing reads the same element, such as what sums start with: no
    earlier instance does, nor the one that writes.
    """
    each = [union_of([a.relation.intersect_domain(m.domain(s))]) for s, a in uses if a.write and a.must]
    first = (
        writes
        for writes in each
        if reads.intersect(writes).is_empty() and conflicts(reads, writes, order).is_empty()
    )
    return union_of([x for writes in first for x in maps(writes)])


def _writes_all(m: Grid, uses: Uses, points: isl.Set) -> bool:
    """Whether each of `points`, which own an element each, writes it, so that storing it needs no load.

    Points are compared, not elements: of a subscript that is a long sum, isl may take minutes to say which.
    """
    certain = [point_elements(m, use).domain() for use in uses if use[1].write and use[1].must]
    return bool(certain) and bool(points.is_subset(reduce(isl.Set.union, certain)))


def _must_writes(m: Grid, uses: Uses) -> isl.UnionMap:
    return union_of([a.relation.intersect_domain(m.domain(s)) for s, a in uses if a.write and a.must])


def _order_inside(m: Grid, statements: list[str]) -> isl.UnionMap:
    """The order of the kernel: point first, then the body."""
    return flatten(m, m.node, with_points=True, only=tuple(sorted(set(statements))))


def _used_elsewhere(m: Grid, array: str) -> bool:
    return any(
        array_tuple(a.reference) == array
        for s in m.p.statements
        if s.name not in m.statements
        for a in s.accesses
    )
