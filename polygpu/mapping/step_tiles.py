"""Nests of tiles of steps: a block goes through the steps between barriers, on its tile in shared memory.

before:  kernel(i) { for k of the tile: A[i][k] /= A[k][k]; A[i][j] -= A[i][k] * A[k][j] for j of the tile }
after:   32 i a block, all j of the tile: copy both tiles of A; barrier
         for k { A_s[i][k] /= ...; barrier; A_s[i][j] -= ...; barrier }; store A_s
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property, reduce
from math import prod

import islpy as isl

from polygpu.analysis.polyhedra import PolyAccess, Polyhedra, array_tuple
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.footprint import Side, box
from polygpu.mapping.owned import point_elements
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
from polygpu.schedule.tree import Band, Batch, Nest, Node, parts, sequence
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, coalesced, coordinate

_POINTS = 1024  # of a block
_THREADS = 512


def stepped(
    p: Polyhedra, nest: Nest, outer: tuple[Fixed, ...], names: tuple[str, ...], step: str, device: Device
) -> Grid:
    """The grid of a nest whose steps a block goes through.

    `names` are those of its points' dimensions, `step` is that of the loop over steps.
    """
    assert nest.batch is not None and isinstance(nest.body, Band)
    sizes = _sizes(nest, min(_THREADS, device.max_threads_per_block))
    outer = (*outer[:-1], replace(outer[-1], reach=nest.batch.count))
    axes = tuple(
        Axis(name, member, threads, tile // threads)
        for name, member, (tile, threads) in zip(names, nest.batch.points, sizes, strict=True)
    )
    loop: Block = Tiles(nest.body.members[0], step, 1, Series(tuple(_turn(nest.batch, nest.body.child))))
    bare = Grid(p, axes, loop, outer)
    uses = [*_groups(bare, nest)]
    writes = [u for group in uses for u in group if u.access.write]
    groups = [_staged(bare, group, number, writes) for number, group in enumerate(uses)]
    staged, left = [], room(device)
    for made in (made for made in groups if made is not None):
        size = prod(made[0].extents) * SIZES.get(p.array(made[0].array).element, 4)
        if size <= left:
            staged.append(made)
            left -= size
    stores = tuple(stored for _, stored in staged if stored is not None)
    block = Stored(stores, loop) if stores else loop
    return Grid(p, axes, Copied(tuple(b for b, _ in staged), block) if staged else block, outer)


def _turn(batch: Batch, step: Node) -> Iterator[Block]:
    """What threads run of a step without waiting for each other, and where they wait."""
    groups: list[list[Node]] = []
    for meet, phase in zip(batch.meets, parts(step), strict=True):
        groups = [*groups, [phase]] if meet or not groups else [*groups[:-1], [*groups[-1], phase]]
    for k, group in enumerate(groups):
        yield from (Meet(),) if k else ()
        yield Run(sequence(group))
    yield from (Meet(),) if batch.meets[0] else ()


def _sizes(nest: Nest, most: int) -> list[tuple[int, int]]:
    """Points of a tile, and threads, along each of the points' dimensions: lanes along the last."""
    assert nest.batch is not None
    count = nest.batch.count
    inside = count ** (len(nest.batch.points) - len(nest.parallel))
    free = [any(m is other for other in nest.parallel) for m in nest.batch.points]
    each = max(32, _POINTS // inside) if any(free) else 1
    found: list[tuple[int, int]] = []
    for place, is_free in reversed([*enumerate(free)]):
        tile = (each if place == len(free) - 1 or free.count(True) == 1 else 1) if is_free else count
        threads = min(_power(tile), 32 if len(free) > 1 and not found else most, most)
        while tile % threads:
            threads //= 2
        found.append((tile, threads))
        most //= threads
    return found[::-1]


def _power(n: int) -> int:
    """The largest power of two up to `n`."""
    return 1 << n.bit_length() - 1


@dataclass(frozen=True)
class _Use:
    statement: str
    access: PolyAccess
    touched: isl.Set  # by a block

    @cached_property
    def sides(self) -> tuple[Side, ...] | None:
        return box(self.touched)


def _groups(m: Grid, nest: Nest) -> Iterator[list[_Use]]:
    """The uses of elements at affine places, those together that may touch the same element."""
    dealt = tuple(f for f in m.tiles() if any(f.member is member for member in nest.parallel))
    uses = [
        _Use(s, a, m.domain(s, dealt).apply(a.relation))
        for s in m.statements
        for a in m.p.statement(s).accesses
        if a.reference.subscripts
    ]
    for array in sorted({array_tuple(u.access.reference) for u in uses}):
        mine = [u for u in uses if array_tuple(u.access.reference) == array]
        if all(u.access.affine and not u.access.reference.field for u in mine):
            yield from _overlapping(mine)


def _overlapping(uses: list[_Use]) -> list[list[_Use]]:
    found: list[list[_Use]] = []
    for use in uses:
        near = [g for g in found if any(_meet(use, other) for other in g)]
        found = [*(g for g in found if g not in near), [*(u for g in near for u in g), use]]
    return found


def _meet(a: _Use, b: _Use) -> bool:
    same = reference_key(a.statement, a.access.reference) == reference_key(b.statement, b.access.reference)
    return same or a.sides == b.sides or not a.touched.intersect(b.touched).is_empty()


def _staged(
    m: Grid, group: list[_Use], number: int, writes: list[_Use]
) -> tuple[Box, StoredBox | None] | None:
    """The box of what a block touches of an array, and what of it is stored; None without such a box."""
    sides = box(_together(group))
    if sides is None:
        return None
    longest = max(a.tile for a in m.axes)
    is_long = any(u.access.write for u in group) and any(side.size > longest for side in sides)
    if is_long or _stored_by_others(m, sides, group, writes):
        return None  # a copy of so much would meet what other blocks store
    reference = group[0].access.reference
    keys = frozenset(reference_key(u.statement, u.access.reference) for u in group)
    name = f"{reference.array}_s{number or ''}"
    order = tuple(range(len(sides)))
    made = Box(reference.array, array_tuple(reference), name, sides, order, "steps", keys)
    written = [(u.statement, u.access) for u in group if u.access.write]
    if not written:
        return made, None
    elements = coalesced(reduce(isl.Map.union, (point_elements(m, use) for use in written)))
    function = isl.PwMultiAff.from_map(elements)
    return made, StoredBox(made, function, elements.domain())


def _together(group: Iterable[_Use]) -> isl.Set:
    return reduce(isl.Set.union, (u.touched for u in group))


def _stored_by_others(m: Grid, sides: Iterable[Side], group: list[_Use], writes: list[_Use]) -> bool:
    """Whether blocks may store elements of another block's box, which has more than is used."""
    array = array_tuple(group[0].access.reference)
    mine = [u for u in writes if array_tuple(u.access.reference) == array]
    if not mine:
        return False
    stored = _together(mine)
    tiles = {a.origin: a.tile for a in m.axes if stored.find_dim_by_name(D.param, a.origin) >= 0}
    for name in tiles:
        position = stored.find_dim_by_name(D.param, name)
        stored = stored.set_dim_name(D.param, position, f"{name} of another")
    space = stored.get_space()
    for k, side in enumerate(sides):
        here = isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), D.set, k))
        first = side.offset.insert_domain(space)
        behind = first.add_constant_val(isl.Val(side.size))
        stored = stored.intersect(here.ge_set(first)).intersect(here.lt_set(behind))
    found = stored.params()
    return any(not _differ(found, name, by).is_empty() for name, by in tiles.items())


def _differ(found: isl.Set, name: str, by: int) -> isl.Set:
    """Where two origins of tiles are as far apart as tiles are wide."""
    if found.find_dim_by_name(D.param, name) < 0:  # the box is the same for all blocks
        return found
    space = found.get_space()
    distance = coordinate(space, name).sub(coordinate(space, f"{name} of another"))
    apart = isl.PwAff.from_aff(distance).add_constant_val(isl.Val(-by)).nonneg_set()
    other = isl.PwAff.from_aff(distance.neg()).add_constant_val(isl.Val(-by)).nonneg_set()
    return found.intersect(apart.union(other))
