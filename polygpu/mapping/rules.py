"""What rules choose where nobody decides: the lanes' loop, the class of a nest, tile sizes, buffering.

The lane dimension is the one along which most accesses touch neighbours (ICS'08's space-adjacent dimension,
innermost and dealt cyclically). Tile sizes go by the class of the nest and the rules of the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, prod
from types import MappingProxyType

import islpy as isl

from polygpu.analysis.patterns import Pattern
from polygpu.mapping.owned import image, nest_patterns, promote, shape_of, untouched
from polygpu.mapping.products import Sizes, Tiling, band, of_product, points_along
from polygpu.mapping.program import Box, Buffering, Grid, Tiles, reference_key
from polygpu.model.device import Device
from polygpu.model.expr import SIZES
from polygpu.model.scop import TYPICAL_EXTENTS
from polygpu.schedule.tree import Member, members_on
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D

_STRIDED_READ, _STRIDED_WRITE, _MOVE_BY_DEPTH = 1, 4, 4


@dataclass(frozen=True)
class NestClass:
    """What the tile sizes depend on.

    `product`: registers accumulate over a loop whose operands several points share. `stencil`: points read
    each other's neighbours. `transposing`: some access is strided along the lanes. `loops`: sequential
    loops in the nest. `rectangular`: loop bounds do not depend on the point.
    """

    product: bool
    stencil: bool
    transposing: bool
    loops: bool
    rectangular: bool


def buffering(kind: NestClass, count: int, device: Device) -> Buffering:
    """How staged tiles follow each other: by what limits the class of nest on the device."""
    if device.rule != "sector":
        return "none"
    if kind.product and kind.rectangular:
        return "prefetch"
    if count > 1 or not kind.loops:
        return "none"
    return "ring" if device.asynchronous_copies else "prefetch"


def batch_width(device: Device) -> int:
    """The steps of a host loop that launches run at once, where they can."""
    return 32 if device.rule == "sector" else 1


def lane(m: Grid) -> tuple[int, bool]:
    """The axis that the lanes should follow, and whether from its last point.

    In a band that is the narrow one, along which a product reads one element, and others that are adjacent.
    """
    found = nest_patterns(m)
    best = band(m) if classify(m).product else None
    if best is None:
        best = min(range(len(m.axes)), key=lambda d: (_cost(m, found, d), -d))
    return best, _backwards(found, best)


def _cost(m: Grid, found: Sequence[Pattern], d: int) -> float:
    cost = 0.0
    for p in found:
        weight = _MOVE_BY_DEPTH ** min(p.depth, 3)
        if p.kind(d) == "strided":
            cost += weight * (_STRIDED_WRITE if p.access.write else _STRIDED_READ)
        elif p.kind(d) == "unit":
            cost -= 0.01 * weight
    return cost


def _backwards(found: Sequence[Pattern], lane: int) -> bool:
    kinds = [p.kind(lane) for p in found]
    return kinds.count("reverse") > kinds.count("unit")


def classify(m: Grid) -> NestClass:
    """The class of the nest, whatever its tiles are."""
    made: NestClass = m.p.recent.get((classify, *shape_of(m)), lambda: _classified(m))
    return made


def _classified(m: Grid) -> NestClass:
    found = nest_patterns(m)
    promoted = {p.tuple_name for p in promote(m)}
    lane = len(m.axes) - 1
    apart = untouched(m)
    others = [
        p
        for p in found
        if p.access.reference.array not in promoted or reference_key(p.statement, p.access.reference) in apart
    ]
    shared = any(
        p.depth > 0 and p.access.reference.subscripts and "broadcast" in {p.kind(d) for d in range(lane + 1)}
        for p in others
    )
    accumulates = any(p.depth > 0 and p.access.write and p.access.reference.array in promoted for p in found)
    two_loops = lane >= 1
    return NestClass(
        product=bool(promoted) and accumulates and shared and two_loops and _reduction_is_long(m),
        stencil=_overlaps(found),
        transposing=any(p.kind(lane) == "strided" for p in others),
        loops=any(p.depth > 0 for p in found),
        rectangular=is_rectangular(m),
    )


def _reduction_is_long(m: Grid) -> bool:
    """Whether some sequential loop has no constant trip count."""
    for s in m.statements:
        for member in members_on(m.node, s):
            values = m.domain(s).apply(isl.Map.from_pw_aff(member.rows[s]))
            width = values.dim_max_val(0).sub(values.dim_min_val(0)) if values.dim(D.param) == 0 else None
            if width is None or not width.is_int() or width.to_python() > 16:
                return True
    return False


def is_long(m: Grid, loop: Member, most: int) -> bool:
    """Whether the loop may have more than `most` iterations in one of each loop around the nest."""
    for s, row in loop.rows.items():
        values = m.domain(s).apply(isl.Map.from_pw_aff(row))
        distance = isl.Map.from_domain_and_range(values, values).deltas().dim_max_val(0)
        if not distance.is_int() or distance.to_python() >= most:
            return True
    return False


def _overlaps(found: Sequence[Pattern]) -> bool:
    """Whether two references of a statement read the same array a constant distance apart."""
    seen: dict[tuple[str, str, tuple[tuple[int, ...] | None, ...]], set[object]] = {}
    for p in found:
        if p.access.write or not p.access.reference.subscripts:
            continue
        key = (p.statement, p.access.reference.array, p.steps)
        seen.setdefault(key, set()).add(p.access.reference.subscripts)
    return any(len(v) > 1 for v in seen.values())


def is_rectangular(m: Grid) -> bool:
    """Whether every loop inside the nest has the same bounds at all points."""
    for s in m.statements:
        inner = [member.rows[s] for member in members_on(m.node, s)]
        if not inner:
            continue
        points = image(m, s, [a.member.rows[s] for a in m.axes])
        values = image(m, s, inner)
        both = image(m, s, [*(a.member.rows[s] for a in m.axes), *inner])
        if not points.flat_product(values).is_subset(both):
            return False
    return True


def tile_sizes(count: int, kind: NestClass, device: Device) -> tuple[Sizes, int]:
    """Threads, points a thread and group of each axis (lanes last), and the step of strip-mined loops."""
    wide = device.rule == "sector"
    if count == 1:
        if kind.loops and kind.transposing:
            return ([(64, 1, 1)] if wide else [(device.request_lanes * 4, 1, 1)]), (64 if wide else 16)
        return [(256 if not kind.loops else 64 if wide else 128, 1, 1)], 64 if wide else 16
    front: Sizes = [(1, 1, 1)] * (count - 2)
    if kind.product and kind.rectangular and wide:
        return [*front, (8, 8, 4), (16, 8, 4)], 16
    if kind.product or (kind.transposing and not wide):
        return [*front, (16, 1, 1), (16, 1, 1)], 16
    if kind.transposing:
        return [*front, (8, 4, 1), (32, 1, 1)], 32
    if kind.stencil and wide and not kind.loops:
        planes: Sizes = [*front[:-1], (1, 2, 2), (2, 4, 4)] if front else [(2, 8, 8)]
        return [*planes, (128, 1, 1)], 16
    if wide:
        return [*front, (4, 1, 1), (64, 1, 1)], 16
    return [*front, (8, 1, 1), (32, 1, 1)], 16


def fitted(sizes: Sizes, extents: Sequence[int | None], device: Device) -> Sizes:
    """With no more threads along an axis than it has points, where that is known, and no more points for
    each, but for whole groups: the lanes' may be three colours. Other axes have the threads that are left,
    inner ones first.
    """
    wanted, found = prod(threads for threads, _, _ in sizes), list(sizes)
    short = {k for k, extent in enumerate(extents) if extent and extent < sizes[k][0] * sizes[k][1]}
    for k in short if len(sizes) > 1 else ():
        extent, (threads, points, group) = extents[k] or 1, sizes[k]
        threads = min(threads, extent)
        needed = ceil(extent / threads)
        group = min(group, needed)
        found[k] = threads, min(points, ceil(needed / group) * group), group
    for k in reversed([k for k in range(len(sizes)) if k not in short]):
        threads, points, group = found[k]
        most = min(device.max_block[len(sizes) - 1 - k], extents[k] or wanted)
        more = wanted // prod(threads for threads, _, _ in found)
        while more >= 2 and 2 * threads <= most:
            threads, more = 2 * threads, more // 2
        found[k] = threads, points, group
    return found


def within(sizes: Sizes, device: Device) -> Sizes:
    """With half of the threads of the longest axis, until a block of the device has as many as there are."""
    found = list(sizes)
    while prod(threads for threads, _, _ in found) > device.max_threads_per_block:
        longest = max(range(len(found)), key=lambda k: found[k][0])
        threads, points, group = found[longest]
        found[longest] = (threads // 2, points, group)
    return found


def tiling(m: Grid, device: Device, typical: Mapping[str, int] = MappingProxyType({})) -> Tiling:
    """What rules choose for a nest, of whose sizes some may be `typical` ones."""
    kind, count = classify(m), len(m.axes)
    if kind.product and device.rule == "sector":
        found = of_product(m, kind.rectangular, device, typical)
        if found is not None:
            return found
    return Tiling(*tile_sizes(count, kind, device), buffering(kind, count, device))


def is_sure(m: Grid, device: Device) -> bool:
    """Whether measurements say that what rules made of the nest is about as fast as the chip."""
    return bool(m.axes) and not m.reductions and tiling(m, device).sure


_ATTENDING, _NARROWEST = 128, 8


def narrower(m: Grid, t: Tiling, device: Device, typical: Mapping[str, int]) -> Tiling | None:
    """The tiling of a nest of one axis with fewer points a block, so that each multiprocessor has one, and
    threads that copy for these: what a point runs is a chain, of which a chip has few. None where there are
    enough blocks, at `typical` sizes where no others are known.
    """
    extent = TYPICAL_EXTENTS.get(max((a.long_dimensions for a in m.p.scop.arrays), default=1), 64)
    sizes = {name: typical.get(name, extent) for name in m.p.parameters}
    points = points_along(m, 0, sizes) if len(m.axes) == 1 else None
    (threads, *_), *_ = t.shapes
    if points is None or points > threads * (device.multiprocessors - 1):
        return None
    while threads > _NARROWEST and points <= threads * (device.multiprocessors - 1):
        threads //= 2
    return replace(t, shapes=[(threads, 1, 1)], attending=_ATTENDING)


def fewer_threads(t: Tiling, device: Device) -> Iterator[Tiling]:
    """The tiling with fewer threads in blocks of one axis, a warp at least, fewer by as many as a request has
    lanes; with these also tiles of loops that are no longer.
    """
    if len(t.shapes) == 1:
        (threads, points, group), lanes = t.shapes[0], device.request_lanes
        for fewer in range(threads - lanes, device.warp - 1, -lanes):
            for step in dict.fromkeys((t.step, min(t.step, fewer))):
                yield replace(t, shapes=[(fewer, points, group)], step=step)


def scales(m: Grid, box: Box, tiles: Tiles) -> bool:
    """Whether what is made of elements is made while these are copied: they go through registers anyway, and
    points share them.
    """
    users = prod(a.tile for a in m.axes) * tiles.width
    return tiles.buffering in ("prefetch", "double") and users > prod(box.extents)


def is_crowded(m: Grid, device: Device) -> bool:
    """Whether a multiprocessor has no room for a second block, to compute while one waits for its copies, or
    copies of rows leave threads without work. Rows are taken to be padded by an element.
    """
    used = shared_bytes(m)
    pairs = [(box.sides[-1].size, prod(m.shape)) for box, tiles in m.boxes if tiles is not None]
    return 2 * used > device.shared_per_multiprocessor or any(max(p) % min(p) for p in pairs)


def shared_bytes(m: Grid, padding: Mapping[str, int] = MappingProxyType({})) -> int:
    """What a block's boxes take, with rows that are padded by so many elements, by name, or else by one."""
    return sum(
        _padded(box, padding.get(box.name, 1)) * _size(m, box) * _copies(tiles) for box, tiles in m.boxes
    )


def _padded(box: Box, elements: int) -> int:
    return prod((*box.extents[:-1], box.extents[-1] + elements))


def _size(m: Grid, box: Box) -> int:
    return SIZES.get(m.p.array(box.array).element, 4)


def _copies(tiles: Tiles | None) -> int:
    return tiles.slots if tiles is not None else 1
