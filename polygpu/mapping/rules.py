"""What rules choose where nobody decides: the lanes' loop, the class of a nest, tile sizes, buffering.

The lane dimension is the one along which most accesses touch neighbours (ICS'08's space-adjacent dimension,
innermost and dealt cyclically). Tile sizes go by the class of the nest and the rules of the device.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import ceil, prod
from types import MappingProxyType

import islpy as isl

from polygpu.analysis.patterns import Pattern
from polygpu.analysis.polyhedra import array_tuple
from polygpu.mapping.owned import nest_patterns, promote, shape_of, untouched
from polygpu.mapping.program import Box, Buffering, Grid, Tiles, Walk, reference_key
from polygpu.mapping.scaled import form_of
from polygpu.model.device import Device
from polygpu.model.expr import SIZES
from polygpu.model.scop import TYPICAL_EXTENTS
from polygpu.schedule.tree import Member, members_on
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, has_floors

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
        points = _image(m, s, [a.member.rows[s] for a in m.axes])
        values = _image(m, s, inner)
        both = _image(m, s, [*(a.member.rows[s] for a in m.axes), *inner])
        if not points.flat_product(values).is_subset(both):
            return False
    return True


def _image(m: Grid, statement: str, rows: list[isl.PwAff]) -> isl.Set:
    relation = isl.Map.from_pw_aff(rows[0])
    for row in rows[1:]:
        relation = relation.flat_range_product(isl.Map.from_pw_aff(row))
    return m.domain(statement).apply(relation)


Sizes = list[tuple[int, int, int]]  # threads, points a thread, group: one an axis


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


def within(sizes: Sizes, device: Device) -> Sizes:
    """With half of the threads of the longest axis, until a block of the device has as many as there are."""
    found = list(sizes)
    while prod(threads for threads, _, _ in found) > device.max_threads_per_block:
        longest = max(range(len(found)), key=lambda k: found[k][0])
        threads, points, group = found[longest]
        found[longest] = (threads // 2, points, group)
    return found


@dataclass(frozen=True)
class Tiling:
    """The shapes of the axes, the `step` of strip-mined loops and how their tiles follow each other; what
    a thread may have of `registers`, 0 for as many as it needs, so that so many blocks are `resident`; with
    more threads `attending` than compute the others copy.

    It is `sure` where measurements say so: a model that errs more than it differs from others has no say.
    """

    shapes: Sizes
    step: int
    buffering: Buffering
    registers: int = 0
    resident: int = 1
    sure: bool = False
    stages: int = Tiles.stages
    attending: int = 0
    walk: Walk = "rows"

    def tiles(self) -> tuple[int, ...]:
        return tuple(threads * points for threads, points, _ in self.shapes)


# Timed on an H100 beside some 1,500 others, with the blocks that a multiprocessor has room for.
_PRODUCT = Tiling([(8, 8, 4), (16, 8, 4)], 8, "prefetch", 128, resident=4)
_STEP = 16  # where all tiles are turned, or none: 2 to 27 % faster; with one of two 6 % slower to 5 % faster
_LARGE_PRODUCT = Tiling([(16, 8, 4), (16, 16, 4)], 16, "double")
_RING_PRODUCT = replace(_LARGE_PRODUCT, buffering="ring", walk="columns")
_SQUARE_PRODUCT = Tiling([(16, 8, 4), (8, 16, 4)], 8, "prefetch", resident=2)
_STRAIGHT_PRODUCT = Tiling([(16, 8, 4), (16, 8, 4)], 16, "prefetch", resident=2)  # no tile is turned
_DOUBLE_PRODUCT = Tiling([(16, 8, 4), (16, 8, 4)], 8, "prefetch", 128, resident=2)  # of two in one sum
_OF_DOUBLES = Tiling([(8, 8, 2), (16, 8, 2)], 8, "double")  # two fill 16 bytes, what a lane loads at once
_OF_MANY_DOUBLES = replace(_OF_DOUBLES, step=16, buffering="ring", resident=2, walk="columns")
# Where there are few blocks of those: on an H200, products of 512 take half the time so, of float and double,
# with two operands or four, of triangles, and turned. Of 256 they take 0.5 to 0.75, of 768 0.8 to 1.05.
_SMALLER_PRODUCTS = (
    Tiling([(8, 4, 4), (16, 4, 4)], 16, "prefetch"),
    Tiling([(8, 4, 4), (16, 2, 2)], 16, "prefetch"),
)
_FEW = 0.6  # blocks a multiprocessor
# By hand, of 5500 points and 32 steps: 29 ms, with 256 threads 65, with 128 threads 171.
_BAND = Tiling([(16, 1, 1), (32, 1, 1)], 32, "prefetch", sure=True)
_FULL = 0.9  # share of the last wave of blocks that is not idle


def tiling(m: Grid, device: Device, typical: Mapping[str, int] = MappingProxyType({})) -> Tiling:
    """What rules choose for a nest, of whose sizes some may be `typical` ones."""
    kind, count = classify(m), len(m.axes)
    words = _accumulated(m) if device.rule == "sector" and kind.product else 0
    operands = _operands(m) if words else 0
    if not 0 < operands <= 4:
        return Tiling(*tile_sizes(count, kind, device), buffering(kind, count, device))
    narrow = band(m)
    if narrow is not None:
        across, along = _BAND.shapes
        return replace(_BAND, shapes=[along if k == narrow else across for k in range(count)])
    if words == 2:
        sure = kind.rectangular and _is_busy(m, _OF_DOUBLES, device)
        many = sure and _in_flight(m, device) and not _all_turned(m) and _fills(m, _OF_MANY_DOUBLES, device)
        found = replace(_OF_MANY_DOUBLES if many else _OF_DOUBLES, sure=sure)
    else:
        found = _of_floats(m, kind, operands, device)
    found = _among_many(m, found, device, typical)
    return replace(found, shapes=[*[(1, 1, 1)] * (count - 2), *found.shapes])


def _of_floats(m: Grid, kind: NestClass, operands: int, device: Device) -> Tiling:
    """That of the last two axes of a product."""
    step = _PRODUCT.step if m.outer or 0 < len(_turned(m)) < operands else _STEP
    found = replace(_PRODUCT, step=step, registers=_PRODUCT.registers if operands <= 2 else 0)
    square = _DOUBLE_PRODUCT if operands > 2 else _STRAIGHT_PRODUCT if _is_straight(m) else _SQUARE_PRODUCT
    larger = _LARGE_PRODUCT if _is_box(m) else square
    # in a loop of the host, launches are short: much of their time goes into what blocks begin and end with
    even = kind.rectangular and (operands <= 2 or larger is square)
    if not m.outer and even and _fills(m, larger, device):
        found = replace(_as_read(m, device) if larger is _LARGE_PRODUCT else larger, sure=True)
    elif not m.outer and kind.rectangular and operands <= 2 and _is_box(m):
        found = replace(found, sure=_is_busy(m, found, device))
    return found


def _among_many(m: Grid, t: Tiling, device: Device, typical: Mapping[str, int]) -> Tiling:
    """The tiling of the last two axes, or one of smaller tiles where sizes are known, or `typical`, at which
    many multiprocessors would have none.
    """
    if m.outer:
        return t
    group = t.shapes[-1][-1]
    for smaller in _SMALLER_PRODUCTS:
        if not _is_idle(m, t, device, typical):
            break
        shapes = [(threads, points, min(points, group)) for threads, points, _ in smaller.shapes]
        t = replace(smaller, shapes=shapes)
    return t


def _as_read(m: Grid, device: Device) -> Tiling:
    """The tiling of large products by how tiles come to shared memory. In a ring they take no registers and
    loads of operands have the time: then a snake through columns gains 7 %, else it loses 2 to 28. Where
    all are turned, an element at once is too little: there a snake through rows gains 4 %.
    """
    if _all_turned(m):
        return replace(_LARGE_PRODUCT, walk="snake")
    if _in_flight(m, device) and _fills(m, _RING_PRODUCT, device):
        return _RING_PRODUCT
    return _LARGE_PRODUCT


def _in_flight(m: Grid, device: Device) -> bool:
    """Whether staged tiles can be on their way while others are used: nothing is made of their elements."""
    read = frozenset(reference_key(p.statement, p.access.reference) for p in _read_on_the_way(m))
    return device.asynchronous_copies and not m.outer and all(form_of(m, [key]) is None for key in read)


def _all_turned(m: Grid) -> bool:
    return len(_turned(m)) == _operands(m)


def band(m: Grid) -> int | None:
    """Which of two axes has few points in each launch, the steps of a tile of the host's loop; None for none.

    There are as many blocks as the other one has tiles: these are narrow, too.
    """
    found: int | None = m.p.recent.get((band, *shape_of(m)), lambda: _band(m))
    return found


def _band(m: Grid) -> int | None:
    if len(m.axes) != 2 or not any(has_floors(row) for f in m.outer for row in f.member.rows.values()):
        return None
    most = _BAND.tiles()[-1]
    return next((k for k in range(2) if 0 < _extent_in_a_launch(m, k) <= most), None)


def _extent_in_a_launch(m: Grid, axis: int) -> int:
    """From the first to the last value of the axis in a launch, at most; 0 where that depends on sizes."""
    values = reduce(isl.Set.union, (_image(m, s, [m.axes[axis].member.rows[s]]) for s in m.statements))
    most = isl.Map.from_domain_and_range(values, values).deltas().dim_max_val(0)
    return most.to_python() + 1 if most.is_int() else 0


def _accumulated(m: Grid) -> int:
    """Of points that accumulate one value each, of how many words of four bytes it is; of others 0."""
    sizes = [SIZES.get(m.p.array(h.array).element) for h in promote(m)]
    return {4: 1, 8: 2}.get(sizes[0] or 0, 0) if len(sizes) == 1 else 0


def _operands(m: Grid) -> int:
    """What points read on the way."""
    return len(_elements(_read_on_the_way(m)))


def _elements(patterns: Iterable[Pattern]) -> set[Hashable]:
    """What is accessed, however often."""
    return {(array_tuple(p.access.reference), p.access.reference.subscripts) for p in patterns}


def _read_on_the_way(m: Grid) -> list[Pattern]:
    mine = {p.tuple_name for p in promote(m)}
    inner = (p for p in nest_patterns(m) if p.depth and not p.access.write)
    return [p for p in inner if array_tuple(p.access.reference) not in mine]


def _is_straight(m: Grid) -> bool:
    """Whether rows of all that is read on the way go along the axes, so that staged tiles keep them."""
    return not _turned(m)


def _turned(m: Grid) -> set[Hashable]:
    """What is read on the way whose rows go along a loop inside."""
    axes = range(len(m.axes))
    found = (p for p in _read_on_the_way(m) if any(p.kind(d) not in ("unit", "broadcast") for d in axes))
    return _elements(found)


def _is_box(m: Grid) -> bool:
    """Whether the points of each statement are all those between some bounds."""
    return all(_points(m, s).is_equal(_box_of(m, s)) for s in m.statements)


def _points(m: Grid, statement: str) -> isl.Set:
    return _image(m, statement, [a.member.rows[statement] for a in m.axes])


def _box_of(m: Grid, statement: str) -> isl.Set:
    sides = (_image(m, statement, [a.member.rows[statement]]) for a in m.axes)
    return reduce(isl.Set.flat_product, sides)


def _fills(m: Grid, t: Tiling, device: Device) -> bool:
    """Whether sizes are known at which blocks fill the chip in each wave; half of a triangle's are empty. And
    there is room for what two operands have of them.
    """
    blocks, (high, wide) = _blocks(m, t), t.tiles()
    waves = blocks / (device.multiprocessors * t.resident) / (1 if _is_box(m) else 2)
    slots, word = t.stages if t.buffering == "ring" else 2, SIZES["float"] * _accumulated(m)
    room = slots * word * t.step * (high + wide + 4) <= device.shared_per_block - device.shared_reserved
    return room and waves >= _FULL * ceil(waves) > 0


def _is_idle(m: Grid, t: Tiling, device: Device, typical: Mapping[str, int]) -> bool:
    """Whether many multiprocessors have no block; half of a triangle's are empty."""
    blocks = _blocks(m, t, typical) / (1 if _is_box(m) else 2)
    return 0 < blocks < _FEW * device.multiprocessors


def _is_busy(m: Grid, t: Tiling, device: Device) -> bool:
    """Whether sizes are known at which nearly each multiprocessor has a block."""
    return _blocks(m, t) >= _FULL * device.multiprocessors


def _blocks(m: Grid, t: Tiling, typical: Mapping[str, int] = MappingProxyType({})) -> int:
    """How many the tiles of the last two axes make, 0 where that depends on sizes that are not known."""
    *front, rows, columns = (_points_along(m, k, typical) or 0 for k in range(len(m.axes)))
    high, wide = t.tiles()
    return prod(front) * -(-rows // high) * -(-columns // wide)


def _points_along(m: Grid, axis: int, sizes: Mapping[str, int] = MappingProxyType({})) -> int | None:
    """How many values the axis has, where that is known, at `sizes`."""
    values = reduce(isl.Set.union, (_image(m, s, [m.axes[axis].member.rows[s]]) for s in m.statements))
    for name, size in sizes.items():
        k = values.find_dim_by_name(D.param, name)
        values = values.fix_val(D.param, k, isl.Val(size)) if k >= 0 else values
    least, most = values.dim_min_val(0), values.dim_max_val(0)
    return most.to_python() - least.to_python() + 1 if least.is_int() and most.is_int() else None


def is_sure(m: Grid, device: Device) -> bool:
    """Whether measurements say that what rules made of the nest is about as fast as the chip."""
    return bool(m.axes) and not m.reductions and tiling(m, device).sure


_ATTENDING, _NARROWEST = 128, 8


def narrower(m: Grid, t: Tiling, device: Device, typical: Mapping[str, int]) -> Tiling | None:
    """The tiling of a nest of one axis with fewer points a block, so that each multiprocessor has one, and
    threads that copy for these: what a point runs is a chain, of which a chip has few. None where there are
    enough blocks, at `typical` sizes where no others are known.
    """
    extent = TYPICAL_EXTENTS.get(max((len(a.extents) for a in m.p.scop.arrays), default=1), 64)
    sizes = {name: typical.get(name, extent) for name in m.p.parameters}
    points = _points_along(m, 0, sizes) if len(m.axes) == 1 else None
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


def shared_bytes(m: Grid) -> int:
    """What a block's boxes take, with rows that are padded by an element."""
    return sum(_padded(box) * _size(m, box) * _copies(tiles) for box, tiles in m.boxes)


def _padded(box: Box) -> int:
    return prod((*box.extents[:-1], box.extents[-1] + 1))


def _size(m: Grid, box: Box) -> int:
    return SIZES.get(m.p.array(box.array).element, 4)


def _copies(tiles: Tiles | None) -> int:
    return tiles.slots if tiles is not None else 1
