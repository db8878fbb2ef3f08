"""Transformations of a grid: frozen values, each with its legality, its effect and its alternatives.

`refuse` gives the reason why a grid cannot be transformed so on a device, None where it can; `apply` gives
the transformed grid; `space` yields the transformations of its kind that a search may try.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod
from typing import ClassVar, Protocol

from polygpu.mapping.program import (
    Block,
    Box,
    Buffering,
    Copied,
    Filled,
    Grid,
    Held,
    HeldArray,
    Meet,
    Run,
    Series,
    Stored,
    Tiles,
    Walk,
    children,
    series,
    with_children,
)
from polygpu.mapping.results import Result
from polygpu.model.device import Device
from polygpu.model.expr import SIZES, Expr
from polygpu.schedule.tree import Band, Member, single_iterator
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import c_name
from polygpu.support.recent import Same


@dataclass(frozen=True)
class Refusal:
    """Why a transformation is not possible: the diagnostic's number, the reason, and what would fit."""

    number: str
    why: str
    advice: str


class Transformation(Protocol):
    def refuse(self, grid: Grid, device: Device) -> Refusal | None: ...
    def apply(self, grid: Grid) -> Grid: ...


@dataclass(frozen=True)
class Order:
    """The axes in another order, the last for the lanes; those of `backwards` run from their last point.

    before: axes i, j        C[j][i] strided along the lanes
    after:  axes j, i        Order((1, 0))
    """

    axes: tuple[int, ...]
    backwards: frozenset[int] = frozenset()

    def refuse(self, grid: Grid, device: Device) -> Refusal | None:
        if sorted(self.axes) == list(range(len(grid.axes))):
            return None
        return Refusal("PG304", f"the nest has {len(grid.axes)} parallel loops, each to be named once", "")

    def apply(self, grid: Grid) -> Grid:
        axes = [grid.axes[k] for k in self.axes]
        for place, k in enumerate(self.axes):
            if k in self.backwards:
                member = axes[place].member
                turned = grid.p.recent.get((Member.reversed, Same(member)), member.reversed)
                axes[place] = replace(axes[place], member=turned)
        return replace(grid, axes=tuple(axes))

    @staticmethod
    def space(grid: Grid, device: Device) -> Iterator[Order]:
        """Each axis for the lanes, the others as they are."""
        for lane in range(len(grid.axes)):
            yield Order((*(k for k in range(len(grid.axes)) if k != lane), lane))


@dataclass(frozen=True)
class Deal:
    """Tiles of the axes, and how their points are dealt: (threads, points a thread, group) of each axis.

    before: i on y, j on x, a point a thread
    after:  tiles of 64 x 128, 8 x 16 threads, 8 x 8 points each    Deal(((8, 8, 4), (16, 8, 4)))
    """

    shapes: tuple[tuple[int, int, int], ...]
    THREADS: ClassVar = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    POINTS: ClassVar = (1, 2, 4, 8, 16)

    @staticmethod
    def of(grid: Grid) -> Deal:
        """The one that a grid has."""
        return Deal(tuple((a.threads, a.per_thread, a.group) for a in grid.axes))

    def refuse(self, grid: Grid, device: Device) -> Refusal | None:
        x, y, z = self.apply(grid).shape
        most, advice = device.max_threads_per_block, "ask for a smaller tile or fewer threads"
        uneven = next(((points, group) for _, points, group in self.shapes if points % group), None)
        if uneven is not None:
            why = f"{uneven[0]} points of a thread cannot be dealt {uneven[1]} at once"
            return Refusal("PG304", why, "ask for a divisor")
        if any(threads > 1 for threads, _, _ in self.shapes[:-3]):
            why = "a block has three dimensions of threads, those of the innermost loops"
            return Refusal("PG304", why, "ask for one thread along the loops around these")
        if x * y * z > most:
            return Refusal("PG304", f"a block of {x * y * z} threads; {device.title} allows {most}", advice)
        if any(have > allowed for have, allowed in zip((x, y, z), device.max_block, strict=True)):
            limits = " x ".join(str(n) for n in device.max_block)
            return Refusal(
                "PG304", f"a block of {x} x {y} x {z} threads; {device.title} allows {limits}", advice
            )
        return None

    def apply(self, grid: Grid) -> Grid:
        axes = (
            replace(axis, threads=threads, per_thread=points, group=group)
            for axis, (threads, points, group) in zip(grid.axes, self.shapes, strict=True)
        )
        return replace(grid, axes=tuple(axes))

    @staticmethod
    def space(grid: Grid, device: Device) -> Iterator[Deal]:
        """Powers of two of threads, a warp at least, and of points, dealt in turn and in one piece."""
        shapes = [
            (threads, points, group)
            for threads in Deal.THREADS
            for points in Deal.POINTS
            for group in sorted({1, points})
        ]
        for chosen in product(shapes, repeat=len(grid.axes)):
            deal = Deal(chosen)
            threads = prod(t for t, _, _ in chosen)
            if threads >= device.warp and deal.refuse(grid, device) is None:
                yield deal


@dataclass(frozen=True)
class Access:
    """How a lane accesses memory, how many iterations run in a row, registers for what is loaded once, and in
    which order a thread goes through its points: see `program.Grid`.

    before: A_s[row][column] = A[...]                  an element at once
    after:  *(float4 *)&A_s[row][4 * column] = ...     Access(16, 0, None, 0)
    """

    widest: int
    loads: int
    unroll: int | None
    reuse: int
    walk: Walk = "rows"
    REUSE: ClassVar[int] = 32  # registers, where nobody decides

    def refuse(self, grid: Grid, device: Device) -> Refusal | None:
        if self.widest > device.widest_access:
            why = f"accesses of {self.widest} bytes; {device.title} has {device.widest_access}"
            return Refusal("PG304", why, "ask for narrower ones")
        if self.widest & (self.widest - 1):
            return Refusal("PG304", f"no access has {self.widest} bytes", "ask for a power of two, or 0")
        return None

    def apply(self, grid: Grid) -> Grid:
        return replace(
            grid,
            widest=self.widest,
            loads=self.loads,
            unroll=self.unroll,
            reuse=self.reuse,
            walk=self.walk,
        )

    @staticmethod
    def space(grid: Grid, device: Device) -> Iterator[Access]:
        for widest, unroll, reuse in product({0, device.widest_access}, (None, 1, 4, 0), (0, Access.REUSE)):
            yield Access(widest, grid.loads, unroll, reuse)


@dataclass(frozen=True)
class Strip:
    """The outermost loop of each part of the kernel in tiles, one width a part; 0 leaves it as it is.

    before: for k: S           after: for k_tile = 0, 16, ...: for k in the tile: S       Strip((16,), ...)
    """

    widths: tuple[int, ...]
    buffering: Buffering
    stages: int = Tiles.stages
    BUFFERINGS: ClassVar[tuple[Buffering, ...]] = ("none", "prefetch", "double", "ring")

    def refuse(self, grid: Grid, device: Device) -> Refusal | None:
        if grid.loads and self.buffering != "none":
            why = f"'loads' is about copies that are waited for, not about buffer({self.buffering})"
            return Refusal("PG304", why, "decide buffer(none) too")
        return None

    def apply(self, grid: Grid) -> Grid:
        axes = {name for a in grid.axes for name in (a.name, a.origin)}
        taken, sources = axes | {f.name for f in grid.outer} | grid.p.names(), grid.p.source_names()
        parts = zip(grid.parts, self.widths, strict=True)
        return replace(grid, block=series(self._part(part, width, taken, sources) for part, width in parts))

    def _part(self, part: Block, width: int, taken: set[str], sources: Mapping[str, str]) -> Block:
        if not (width and isinstance(part, Run) and isinstance(part.node, Band)):
            return part
        member = part.node.members[0]
        name = _tile_name(member, taken, sources)
        return Tiles(member, name, width, part, self.buffering, self.stages)

    @staticmethod
    def space(grid: Grid, device: Device) -> Iterator[Strip]:
        for width, buffering in product((8, 16, 32, 64), Strip.BUFFERINGS):
            yield Strip((width,) * len(grid.parts), buffering)


def _tile_name(member: Member, taken: set[str], sources: Mapping[str, str]) -> str:
    """A name for the first value of a tile: of loops that have become one that of the source."""
    names = {single_iterator(row) or "" for row in member.rows.values()}
    name = names.pop() if len(names) == 1 else min(sources.get(n, n) for n in names)
    candidate = f"{c_name(name) or 's'}_tile"
    while candidate in taken:
        candidate += "_"
    return candidate


@dataclass(frozen=True)
class Hold:
    """Arrays whose elements belong to one point each stay in registers.

    before: for k: C[i][j] += ...       after: C_r = C[i][j]; for k: C_r += ...; C[i][j] = C_r
    """

    arrays: tuple[HeldArray, ...]

    def refuse(self, grid: Grid, device: Device) -> Refusal | None:
        return None

    def apply(self, grid: Grid) -> Grid:
        return replace(grid, block=Held(self.arrays, grid.block)) if self.arrays else grid


@dataclass(frozen=True)
class Staging:
    """A box for part number `part`, copied once or, if `stepped`, in each tile of its outermost loop."""

    box: Box
    part: int
    stepped: bool


@dataclass(frozen=True)
class Stage:
    """Boxes of arrays in shared memory; loops in tiles in which nothing is copied are whole again.

    before: for k_tile: for k: ... A[i][k]     after: for k_tile: copy A_s, barrier, for k: ... A_s[i][k]
    """

    boxes: tuple[Staging, ...]
    keep: frozenset[int] = frozenset()  # parts whose tiles stay even if nothing is copied in them
    results: tuple[Result, ...] = ()  # of parts in whose tiles something is copied

    def refuse(self, grid: Grid, device: Device) -> Refusal | None:
        left = room(device)
        for s in self.boxes:
            size = bytes_of(grid, s)
            if size > left:
                why = (
                    f"the tile of '{s.box.array}' takes {size} bytes of shared memory; "
                    f"{device.title} has {left} left"
                )
                return Refusal("PG305", why, "ask for a smaller tile, of the block or of the loop")
            left -= size
        return None

    def apply(self, grid: Grid) -> Grid:
        return replace(grid, block=series(self._part(k, part) for k, part in enumerate(grid.parts)))

    def _part(self, number: int, part: Block) -> Block:
        mine = [s for s in self.boxes if s.part == number]
        stepped = tuple(s.box for s in mine if s.stepped)
        if isinstance(part, Tiles):
            inner = Copied(stepped, self._filled(number, part.block)) if stepped else part.block
            part = with_children(part, (inner,)) if stepped or number in self.keep else part.block
        whole = tuple(s.box for s in mine if not s.stepped)
        return Copied(whole, part) if whole else part

    def _filled(self, number: int, block: Block) -> Block:
        stored = tuple(r.stored for r in self.results if r.part == number)
        boxes = tuple(s.box for s in stored)
        return Filled(boxes, Stored(stored, Series((block, Meet())))) if stored else block


@dataclass(frozen=True)
class Scale:
    """Boxes that hold what is made of elements with scalars, each by its name: see `mapping.scaled`.

    before: for k_tile: A_s = A; ... alpha * A_s[i][k]     after: for k_tile: A_s = alpha * A; ... A_s[i][k]
    """

    forms: tuple[tuple[str, Expr], ...]

    def refuse(self, grid: Grid, device: Device) -> Refusal | None:
        names = dict(self.forms)
        rings = (box for box, t in grid.boxes if box.name in names and t and t.buffering == "ring")
        if (box := next(rings, None)) is None:
            return None
        why = f"what a ring copies of '{box.array}' goes to shared memory by itself"
        return Refusal("PG304", why, "decide buffer(double)")

    def apply(self, grid: Grid) -> Grid:
        return replace(grid, block=self._scaled(grid.block)) if self.forms else grid

    def _scaled(self, block: Block) -> Block:
        block = with_children(block, tuple(map(self._scaled, children(block))))
        if not isinstance(block, Copied):
            return block
        forms = dict(self.forms)
        return replace(block, boxes=tuple(replace(b, form=forms.get(b.name)) for b in block.boxes))


def room(device: Device) -> int:
    """Bytes of a block for its arrays."""
    arguments = device.argument_bytes if device.arguments_in_shared else 0
    return device.shared_per_block - device.shared_reserved - arguments


def bytes_of(grid: Grid, s: Staging) -> int:
    """Bytes of shared memory that a box takes, of all tiles that are there at a time."""
    tiles = grid.parts[s.part]
    copies = tiles.slots if s.stepped and isinstance(tiles, Tiles) else 1
    return SIZES.get(grid.p.array(s.box.array).element, 4) * copies * prod(s.box.extents)


__all__ = [
    "Access",
    "Deal",
    "Hold",
    "Order",
    "Refusal",
    "Scale",
    "Stage",
    "Staging",
    "Strip",
    "Transformation",
]
