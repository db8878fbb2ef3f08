"""Boxes of arrays that a kernel writes elsewhere: a box is more than what is read of it.

before: for k_tile: put A_s, barrier, fetch the next; if (thread == 0) for k: A[2 * k] = ... A_s[2 * k + 1]
after:  barrier; for k_tile: copy A_s, barrier; if (thread == 0) for k: ..., barrier; barrier
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

import islpy as isl

from polygpu.analysis.polyhedra import AffineBuilder, array_tuple, parameter_space
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.owned import promote, written_arrays
from polygpu.mapping.program import (
    Block,
    Box,
    Copied,
    Grid,
    Held,
    Meet,
    ReferenceKey,
    Series,
    Tiles,
    reference_key,
    series,
    statements,
)
from polygpu.model.expr import Binary, Int
from polygpu.schedule.tree import Member
from polygpu.support.isl_idioms import D, identifier


def apart(grid: Grid) -> Grid:
    """The grid with barriers around tiles of arrays that it writes elsewhere.

    What is copied for one tile while another one is used must not meet stores: else it is copied, then used.
    """
    written = written_arrays(grid)

    def inside(block: Block) -> Block:
        match block:
            case Held(arrays, inner):
                return Held(arrays, inside(inner))
            case Series(blocks):
                return series(b for block in blocks for b in around(block))
        return series(around(block))

    def around(block: Block) -> tuple[Block, ...]:
        if not (isinstance(block, Tiles) and isinstance(block.block, Copied)):
            return (block,)
        mine = [box for box in block.block.boxes if box.tuple_name in written]
        if any(_meets_stores_ahead(grid, box, block) for box in mine):
            block = replace(block, buffering="none")
        return (Meet(), block, Meet()) if mine else (block,)

    return replace(grid, block=inside(grid.block))


def meets_stores(m: Grid, made: Box, tiles: Tiles | None) -> bool:
    """Whether a copy of the box, for each of the tiles, may read what the kernel writes, in any block.

    A box is more than is used of it, and beyond the array the last element is copied, or the first. What is
    kept in registers is stored from there, also where it was only read.
    """
    kept = frozenset(key for held in promote(m) if held.store for key in held.references)
    written = _written(m, made, m.statements, (), kept)
    if written.plain_is_empty():
        return False
    if tiles is not None:
        if tiles.buffering == "ring":
            return True  # which may begin before the first tile's copy is waited for
        written = written.intersect_params(_tiles_copied(m, tiles))
    return _copies_any(m, made, written)


def _meets_stores_ahead(m: Grid, made: Box, tiles: Tiles) -> bool:
    """Whether what is copied of a tile while earlier ones are used may be what these write."""
    names = statements(tiles)
    for distance in range(1, {"none": 1, "ring": tiles.stages}.get(tiles.buffering, 2)):
        rows = tiles.member.rows.items()
        later = {s: row.add_constant_val(isl.Val(distance * tiles.width)) for s, row in rows}
        written = _written(m, made, names, (Fixed(Member(later), tiles.name, tiles.width),))
        # only a ring copies behind the last tile
        tile = _tile(_multiples(tiles), tiles) if tiles.buffering == "ring" else _tiles_copied(m, tiles)
        if _copies_any(m, made, written.intersect_params(tile)):
            return True
    return False


def _written(
    m: Grid,
    made: Box,
    names: Iterable[str],
    fixed: tuple[Fixed, ...],
    kept: frozenset[ReferenceKey] = frozenset(),
) -> isl.Set:
    """The elements of the box's array that statements write, or that references `kept` in registers are."""
    space = parameter_space(m.p.parameters).add_dims(D.set, len(made.sides))
    stores = (
        m.domain(s, fixed).apply(a.relation).reset_tuple_id()
        for s in names
        for a in m.p.statement(s).accesses
        if array_tuple(a.reference) == made.tuple_name and (a.write or reference_key(s, a.reference) in kept)
    )
    return reduce(isl.Set.union, stores, isl.Set.empty(space))


def _copies_any(m: Grid, made: Box, elements: isl.Set) -> bool:
    """Whether a copy of the box reads any of the elements."""
    space = elements.get_space()
    builder = AffineBuilder(space)
    for k, (side, extent) in enumerate(zip(made.sides, m.p.array(made.array).extents, strict=True)):
        here = isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), D.set, k))
        try:
            last = builder.value(Binary("-", extent, Int(1))) if extent is not None else None
        except ValueError:
            last = None
        if last is None:  # any place may be the last one
            continue
        first = side.offset.insert_domain(space)
        end = first.add_constant_val(isl.Val(side.size - 1))
        inside = here.ge_set(first).intersect(here.le_set(end))
        above = here.eq_set(last).intersect(end.gt_set(last))
        below = here.eq_set(builder.value(Int(0))).intersect(first.lt_set(builder.value(Int(0))))
        elements = elements.intersect(inside.union(above).union(below))
    return not elements.is_empty()


def _tiles_copied(m: Grid, tiles: Tiles) -> isl.Set:
    """What holds of the name of a loop's tiles in each that some block goes through: they are multiples."""
    width = isl.Val(tiles.width)
    starts = isl.Set("{ [i] : false }")
    for s, row in tiles.member.rows.items():
        first = row.scale_down_val(width).floor().scale_val(width)
        starts = starts.union(m.domain(s).apply(isl.Map.from_pw_aff(first)).reset_tuple_id())
    if starts.n_basic_set() > 1:
        starts = isl.Set.from_basic_set(starts.simple_hull())
    return _tile(starts.intersect(_multiples(tiles)), tiles)


def _multiples(tiles: Tiles) -> isl.Set:
    return isl.Set(f"{{ [i] : i mod {tiles.width} = 0 }}")


def _tile(starts: isl.Set, tiles: Tiles) -> isl.Set:
    """`starts` as a condition on the name of a loop's tiles."""
    found = starts.move_dims(D.param, starts.dim(D.param), D.set, 0, 1).params()
    return found.set_dim_id(D.param, found.dim(D.param) - 1, identifier(tiles.name))
