"""Results of loops in shared memory: lanes that each write a row of their own store the rows together.

before: for j_tile: copy A_s; barrier; for j: y[i][j] = ...                    an element of a row a lane
after:  for j_tile: copy A_s; barrier; for j: y_s[i][j] = ...; barrier; y = y_s     row by row
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polygpu.analysis.patterns import Pattern
from polygpu.analysis.polyhedra import array_tuple
from polygpu.mapping.footprint import box
from polygpu.mapping.owned import nest_patterns, promote
from polygpu.mapping.program import Box, Grid, StoredBox, Tiles, reference_key, statements
from polygpu.schedule.kernels import in_order
from polygpu.schedule.tree import has_zero_distance, members_on
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, coalesced, surely_within


@dataclass(frozen=True)
class Result:
    """A box for what each tile of part number `part` writes, and what is stored of it."""

    stored: StoredBox
    part: int


def results(m: Grid) -> Iterator[Result]:
    """What may be stored together: arrays of which lanes write rows, and read nothing but what they wrote."""
    held = {h.tuple_name for h in promote(m)}
    for number, part in enumerate(m.parts):
        if not isinstance(part, Tiles):
            continue
        mine = [p for p in nest_patterns(m) if p.statement in statements(part)]
        for array in sorted({array_tuple(p.access.reference) for p in mine if p.access.write} - held):
            uses = [p for p in mine if array_tuple(p.access.reference) == array]
            stored = _stored(m, part, uses) if _is_row_by_row(m, uses) else None
            if stored is not None:
                yield Result(stored, number)


def _is_row_by_row(m: Grid, uses: list[Pattern]) -> bool:
    """Whether one statement writes the array, along rows, and each read is of the iteration's own element."""
    first, *others = sorted(uses, key=lambda p: not p.access.write)
    plain = all(p.access.affine and p.access.must and not p.access.reference.field for p in uses)
    loops = members_on(m.node, first.statement)
    if not (plain and loops and len(m.computing) == 1) or any(p.access.write for p in others):
        return False
    return _is_of_rows(first) and all(_is_own(m, first, p) for p in others)


def _is_of_rows(p: Pattern) -> bool:
    """Whether lanes are in different rows, at the same place of each."""
    step = p.steps[0]
    return p.kind(0) == "strided" and step is not None and not step[-1]


def _is_own(m: Grid, write: Pattern, read: Pattern) -> bool:
    """Whether it reads what the same iteration has written before."""
    order = list(in_order(m.node))
    loops = members_on(m.node, write.statement)
    own = members_on(m.node, read.statement)
    if len(own) != len(loops) or any(a is not b for a, b in zip(own, loops, strict=True)):
        return False
    if order.index(read.statement) <= order.index(write.statement):
        return False
    written = write.access.relation.intersect_domain(m.domain(write.statement))
    found = read.access.relation.intersect_domain(m.domain(read.statement))
    pairs = isl.UnionMap.from_map(written.apply_range(found.reverse()))
    members = (*(a.member for a in m.computing), *loops)
    everything = surely_within(found.range(), written.range())
    return everything and all(has_zero_distance(pairs, x, x) for x in members)


def _stored(m: Grid, tiles: Tiles, uses: list[Pattern]) -> StoredBox | None:
    write = next(p for p in uses if p.access.write)
    reference = write.access.reference
    touched = coalesced(m.domain(write.statement, (*m.tiles(), tiles.fixed)).apply(write.access.relation))
    sides = box(touched)
    if sides is None or touched.n_basic_set() != 1:
        return None
    keys = frozenset(reference_key(p.statement, p.access.reference) for p in uses)
    name = array_tuple(reference)
    made = Box(reference.array, name, f"{reference.array}_t", sides, tuple(range(len(sides))), "rows", keys)
    elements = isl.Set.universe(touched.reset_tuple_id().get_space()).identity()
    element = isl.PwMultiAff.from_map(elements.set_tuple_name(D.out, touched.get_tuple_name()))
    return StoredBox(made, element, touched.reset_tuple_id(), sides=sides)
