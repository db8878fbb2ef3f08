"""What rules choose for products, whose sums are in registers, on devices with caches and wide registers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from functools import reduce
from math import ceil, prod
from types import MappingProxyType

import islpy as isl

from polygpu.analysis.patterns import Pattern
from polygpu.analysis.polyhedra import array_tuple
from polygpu.mapping.owned import image, nest_patterns, promote, shape_of
from polygpu.mapping.program import Buffering, Grid, Tiles, Walk, reference_key
from polygpu.mapping.scaled import form_of
from polygpu.model.device import Device
from polygpu.model.expr import SIZES
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, has_floors

Sizes = list[tuple[int, int, int]]  # threads, points a thread, group: one an axis


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
# Half of a triangle's blocks are empty: on an H200 products of 768 to 4096, with turned tiles, take 0.5 to
# 0.94 of what they do in _PRODUCT. Where no tile is turned they take 0.76 to 1.14.
_TRIANGLE = Tiling([(8, 8, 4), (16, 4, 4)], 16, "prefetch")
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


def of_product(m: Grid, rectangular: bool, device: Device, typical: Mapping[str, int]) -> Tiling | None:
    """The tiling of a nest that accumulates in registers, whose loops are the same at all points if it is
    `rectangular`; None where too much is read for that, or nothing.
    """
    words = _accumulated(m)
    operands = _operands(m) if words else 0
    if not 0 < operands <= 4:
        return None
    narrow = band(m)
    if narrow is not None:
        across, along = _BAND.shapes
        return replace(_BAND, shapes=[along if k == narrow else across for k in range(len(m.axes))])
    found = (
        _of_floats(m, rectangular, operands, device) if words == 1 else _of_doubles(m, rectangular, device)
    )
    found = _among_many(m, found, device, typical)
    return replace(found, shapes=[*[(1, 1, 1)] * (len(m.axes) - 2), *found.shapes])


def _of_doubles(m: Grid, rectangular: bool, device: Device) -> Tiling:
    """That of the last two axes."""
    sure = rectangular and _is_busy(m, _OF_DOUBLES, device)
    many = sure and _in_flight(m, device) and not _all_turned(m) and _fills(m, _OF_MANY_DOUBLES, device)
    return replace(_OF_MANY_DOUBLES if many else _OF_DOUBLES, sure=sure)


def _of_floats(m: Grid, rectangular: bool, operands: int, device: Device) -> Tiling:
    """That of the last two axes."""
    step = _PRODUCT.step if m.outer or 0 < len(_turned(m)) < operands else _STEP
    found = replace(_PRODUCT, step=step, registers=_PRODUCT.registers if operands <= 2 else 0)
    square = _DOUBLE_PRODUCT if operands > 2 else _STRAIGHT_PRODUCT if _is_straight(m) else _SQUARE_PRODUCT
    larger = _LARGE_PRODUCT if _is_box(m) else square
    # in a loop of the host, launches are short: much of their time goes into what blocks begin and end with
    even = rectangular and (operands <= 2 or larger is square)
    if not m.outer and even and _fills(m, larger, device):
        found = replace(_as_read(m, device) if larger is _LARGE_PRODUCT else larger, sure=True)
    elif not m.outer and rectangular and not _is_box(m) and not _is_straight(m):
        found = _TRIANGLE
    elif not m.outer and rectangular and operands <= 2 and _is_box(m):
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
    values = reduce(isl.Set.union, (image(m, s, [m.axes[axis].member.rows[s]]) for s in m.statements))
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
    return image(m, statement, [a.member.rows[statement] for a in m.axes])


def _box_of(m: Grid, statement: str) -> isl.Set:
    sides = (image(m, statement, [a.member.rows[statement]]) for a in m.axes)
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
    *front, rows, columns = (points_along(m, k, typical) or 0 for k in range(len(m.axes)))
    high, wide = t.tiles()
    return prod(front) * -(-rows // high) * -(-columns // wide)


def points_along(m: Grid, axis: int, sizes: Mapping[str, int] = MappingProxyType({})) -> int | None:
    """How many values the axis has, where that is known, at `sizes`."""
    key = points_along, axis, *sizes.items(), *shape_of(m)
    found: int | None = m.p.recent.get(key, lambda: _points_along(m, axis, sizes))
    return found


def _points_along(m: Grid, axis: int, sizes: Mapping[str, int]) -> int | None:
    values = reduce(isl.Set.union, (image(m, s, [m.axes[axis].member.rows[s]]) for s in m.statements))
    for name, size in sizes.items():
        k = values.find_dim_by_name(D.param, name)
        values = values.fix_val(D.param, k, isl.Val(size)) if k >= 0 else values
    least, most = values.dim_min_val(0), values.dim_max_val(0)
    return most.to_python() - least.to_python() + 1 if least.is_int() and most.is_int() else None
