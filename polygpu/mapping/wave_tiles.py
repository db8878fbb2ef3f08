"""Nests of waves of tiles: a block goes through the fronts of points of its tile, on a copy in shared memory.

before:  kernel(t, i) { for w: A[i][j] = f(A[i][j - 1], A[i - 1][j + 1], A[i + 1][j]) where t + i + j is w }
after:   4 t and 64 i a block: copy what the tile touches of A; barrier
         for step { A_s[i][j] = f(...) where t, i and j are `step` in the tile; barrier }; store what it wrote

Where a block touches an array, others of the wave store around it: no element is copied that they may store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from math import prod

import islpy as isl

from polygpu.analysis.elements import declared, existing
from polygpu.analysis.polyhedra import PolyAccess, Polyhedra, array_tuple
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.footprint import box
from polygpu.mapping.program import (
    Axis,
    Block,
    Box,
    Copied,
    Grid,
    Meet,
    Run,
    Series,
    Stored,
    StoredBox,
    Tiles,
    reference_key,
)
from polygpu.mapping.transformations import room
from polygpu.model.device import Device
from polygpu.model.expr import SIZES
from polygpu.model.scop import Array
from polygpu.schedule.tree import Band, Member, Nest
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, coalesced


def waved(
    p: Polyhedra, nest: Nest, outer: tuple[Fixed, ...], names: tuple[str, ...], step: str, device: Device
) -> Grid:
    """The grid of a nest in waves of tiles.

    `names` are those of its points' dimensions, `step` is that of the loop over fronts.
    """
    assert nest.waves is not None and isinstance(nest.body, Band)
    axes: list[Axis] = []
    most = device.max_threads_per_block
    for name, member, width in reversed(list(zip(names, nest.parallel, nest.waves.widths, strict=True))):
        threads = _threads(width, most)
        axes.insert(0, Axis(name, member, threads, width // threads))
        most //= threads
    turn = Series((Run(nest.body.child), Meet()))
    loop: Block = Tiles(nest.body.members[0], step, 1, turn, count=nest.waves.count)
    grid, left = Grid(p, tuple(axes), loop, outer), room(device)
    boxes: list[Box] = []
    stores: list[StoredBox] = []
    for made, stored in _staged(grid):
        size = prod(made.extents) * SIZES.get(p.array(made.array).element, 4)
        if size <= left:
            left -= size
            boxes.append(made)
            stores.extend([stored] if stored is not None else [])
    block = Stored(tuple(stores), loop) if stores else loop
    return replace(grid, block=Copied(tuple(boxes), block) if boxes else block)


def _threads(width: int, most: int) -> int:
    """The most threads that share out the points of a tile evenly."""
    return max(n for n in range(1, min(width, most) + 1) if width % n == 0)


@dataclass(frozen=True)
class _Use:
    """An access of a statement, and what a block touches by it."""

    statement: str
    access: PolyAccess
    touched: isl.Set


def _staged(m: Grid) -> Iterator[tuple[Box, StoredBox | None]]:
    """For each array that the kernel writes the box of what a block touches of it."""
    tiles = _tiles(m)
    uses = [
        _Use(s, a, m.domain(s, tiles).apply(a.relation))
        for s in m.statements
        for a in m.p.statement(s).accesses
        if a.reference.subscripts
    ]
    for array in sorted({array_tuple(u.access.reference) for u in uses if u.access.write}):
        mine = [u for u in uses if array_tuple(u.access.reference) == array]
        sides = None
        if all(u.access.affine and not u.access.reference.field for u in mine):
            sides = box(_together(mine))
        elements = _copied(m, mine) if sides is not None else None
        if sides is None or elements is None:
            continue
        along = tuple(a.name for a in m.axes) if len(m.axes) == len(sides) else ()
        made = Box(
            mine[0].access.reference.array,
            array,
            f"{array}_s",
            sides,
            tuple(range(len(sides))),
            "a wave",
            frozenset(reference_key(u.statement, u.access.reference) for u in mine),
            only=elements,
            along=along,
        )
        written = _together([u for u in mine if u.access.write])
        yield made, StoredBox(made, _itself(written), written.reset_tuple_id(), sides=sides)


def _tiles(m: Grid) -> tuple[Fixed, ...]:
    """The tiles of a block by their first points, which says that these are multiples of the widths."""
    found: list[Fixed] = []
    for tile in m.tiles():
        width = isl.Val(tile.width)
        rows = {s: r.scale_down_val(width).floor().scale_val(width) for s, r in tile.member.rows.items()}
        found.append(Fixed(Member(rows), tile.name))
    return tuple(found)


def _together(uses: list[_Use]) -> isl.Set:
    return coalesced(reduce(isl.Set.union, (u.touched for u in uses)))


def _copied(m: Grid, uses: list[_Use]) -> isl.Set | None:
    """What a block copies: none that others of the wave store, or that the array does not have.

    None where that is not known.
    """
    found: list[_Use] = []
    for use in uses:
        touched = existing(m.p, use.access, use.touched)
        if touched is None:
            return None
        found.append(replace(use, touched=touched))
    return _needed(m, found)


def _needed(m: Grid, uses: list[_Use]) -> isl.Set:
    """What a block copies for `uses`, none that others of the wave store.

    That is what its points touch; or, where that is in fewer pieces, what those would touch if the loops had
    no ends, as far as it is between elements that are used, and no other block of the wave stores there.
    """
    exact = _together(uses)
    array = m.p.array(uses[0].access.reference.array)
    extent = declared(m.p, array)
    if exact.n_basic_set() == 1 or extent is None:
        return exact
    endless: list[isl.Set] = []
    for use in uses:
        points = isl.Set.universe(m.p.statement(use.statement).domain.get_space())
        for fixed in (*m.outer, *_tiles(m)):
            points = fixed.restrict(points, use.statement)
        endless.append(points.apply(_everywhere(use.access.relation)))
    wide = coalesced(reduce(isl.Set.union, endless))
    if wide.n_basic_set() >= exact.n_basic_set() or not _stored_by_itself(m, wide, uses):
        return exact
    extent, unknown = extent.set_tuple_name(wide.get_tuple_name()), _unknown(array)
    if not exact.is_subset(extent):  # loops end at constants: nothing says that the extents are no less
        extent, unknown = _from_zero(extent), list(range(len(array.extents)))
    around = (_around(m, uses, k) for k in sorted({0, *unknown}))
    wide = reduce(isl.Set.intersect, around, wide.intersect(extent))
    if not exact.is_subset(wide):  # a pointer may lead into an array, and elements in front of it be used
        return exact
    return wide if all(wide.is_subset(_between(m, uses, k)) for k in unknown) else exact


def _unknown(array: Array) -> list[int]:
    return [k for k, extent in enumerate(array.extents) if extent is None]


def _from_zero(elements: isl.Set) -> isl.Set:
    """All elements without negative subscripts."""
    found = isl.Set.universe(elements.get_space())
    for k in range(elements.dim(D.set)):
        found = found.lower_bound_val(D.set, k, isl.Val(0))
    return found


def _stored_by_itself(m: Grid, elements: isl.Set, uses: list[_Use]) -> bool:
    """Whether no other block of the wave stores any of a block's `elements`."""
    stored = _together([u for u in uses if u.access.write])
    origins = [a.origin for a in m.axes]
    for name in origins:
        stored = stored.set_dim_name(D.param, stored.find_dim_by_name(D.param, name), f"{name} of another")
    both = elements.intersect(stored)
    for name in origins:
        here, there = (_parameter(both, n) for n in (name, f"{name} of another"))
        if not both.intersect_params(here.lt_set(there)).is_empty():
            return False
        if not both.intersect_params(there.lt_set(here)).is_empty():
            return False
    return True


def _parameter(item: isl.Set, name: str) -> isl.PwAff:
    space = isl.LocalSpace.from_space(item.get_space().params())
    return isl.PwAff.from_aff(isl.Aff.var_on_domain(space, D.param, item.find_dim_by_name(D.param, name)))


def _around(m: Grid, uses: list[_Use], k: int) -> isl.Set:
    """Around the elements between the first and the last along dimension `k` that the region uses: for some
    sizes it may be more of them.
    """
    lines = [isl.Set.from_basic_set(line.simple_hull()) for line in _lines(m, uses, k)]
    return _across(isl.Set.from_basic_set(reduce(isl.Set.union, lines).simple_hull()), uses, k)


def _between(m: Grid, uses: list[_Use], k: int) -> isl.Set:
    """Those elements for each size: there are no others where that extent of an array is not known."""
    line = reduce(isl.Set.union, _lines(m, uses, k))
    behind, before = isl.Map("{ [x] -> [i] : i >= x }"), isl.Map("{ [x] -> [i] : i <= x }")
    return _across(line.apply(behind).intersect(line.apply(before)), uses, k)


def _lines(m: Grid, uses: list[_Use], k: int) -> list[isl.Set]:
    """What the region uses along dimension `k`."""
    used = (m.p.statement(u.statement).domain.apply(u.access.relation).reset_tuple_id() for u in uses)
    return [s.project_out(D.set, k + 1, s.dim(D.set) - k - 1).project_out(D.set, 0, k) for s in used]


def _across(line: isl.Set, uses: list[_Use], k: int) -> isl.Set:
    """All elements whose subscripts of dimension `k` are of `line`."""
    touched = uses[0].touched
    elements = line.insert_dims(D.set, 0, k).add_dims(D.set, touched.dim(D.set) - k - 1)
    return elements.set_tuple_name(touched.get_tuple_name())


def _everywhere(relation: isl.Map) -> isl.Map:
    """An access at all values of its iterators, by all functions that it is: by none if it never runs."""
    found: list[isl.Map] = []
    function = isl.PwMultiAff.from_map(relation)
    function.foreach_piece(lambda _, multi: found.append(isl.Map.from_multi_aff(multi)))
    return reduce(isl.Map.union, found, isl.Map.empty(relation.get_space()))


def _itself(elements: isl.Set) -> isl.PwMultiAff:
    """Subscripts to the element of an array that has them."""
    same = isl.Set.universe(elements.reset_tuple_id().get_space()).identity()
    return isl.PwMultiAff.from_map(same.set_tuple_name(D.out, elements.get_tuple_name()))
