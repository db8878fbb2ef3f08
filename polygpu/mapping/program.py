"""The mapped program: which thread runs what, and where data lie while it does. Lowering spells it out.

    program ::= polyhedra, host
    host  ::= InOrder host* | Each dimension host | Grid
    grid  ::= outer loops, axes, block                    a kernel
    axis  ::= dimension, threads, points of a thread and how they are dealt, and whose its tiles are:
              a block's, or all of each block, which goes through them in a loop over tiles
    block ::= Held array* block                           elements in registers while block runs
            | Copied box* block                           boxes in shared memory while block runs
            | Filled box* block                           boxes that block itself fills
            | Stored place* block                         elements of boxes stored after block
            | Mirrored box* block                         a thread's own elements of boxes in registers, too
            | Reduced array operator axis* block          partial results in registers while block runs
            | Tiles dimension width block                 a loop over tiles, equal in all threads
            | Series block*
            | Meet                                        all threads of the block wait for each other
            | Run node [within]                           what a thread runs of the schedule, at its points

A dimension is a `Member` of the schedule: one affine row for each statement. Tiles nest, of any dimension: of
time, of one that is itself a tile, of single values (width 1) where a block goes through them step by step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal, TypeAlias

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra, array_tuple
from polygpu.mapping.fixed import Fixed, restricted
from polygpu.mapping.footprint import Side
from polygpu.model.expr import Expr, Reference
from polygpu.schedule.tree import Member, Node, sequence
from polygpu.support.dataclass import dataclass

ELEMENT = "an element"  # the name of one in what is made of it: none of C
ReferenceKey: TypeAlias = tuple[str, str, tuple[Expr, ...]]  # statement, array tuple, subscripts
Walk: TypeAlias = Literal["rows", "snake", "columns"]
Buffering: TypeAlias = Literal["none", "prefetch", "double", "ring"]


def reference_key(statement: str, reference: Reference) -> ReferenceKey:
    return statement, array_tuple(reference), reference.subscripts


@dataclass(frozen=True)
class Axis:
    """One parallel dimension: a tile of `threads * per_thread` points a block.

    Point r of thread t is `(r // group) * threads * group + t * group + r % group`: cyclic when `group`
    is 1, blocked when it is `per_thread`, grouped-cyclic between. Tiles `overlap` by so many points before
    and behind those that are a block's own.

    The first tile begins at a multiple of `anchor`, a divisor of the stride, or of the stride itself.

    Of the threads along an axis that `copies`, which has one point, all but the first only copy boxes.

    A tile is a block's, or with `loop`, the name of a loop over tiles around, each block goes through all:

        i = block_x * tile + thread_x   ->   for (loop = 0; loop < n; loop += tile) i = loop + thread_x
    """

    name: str
    member: Member
    threads: int = 1
    per_thread: int = 1
    group: int = 1
    overlap: tuple[int, int] = (0, 0)
    loop: str = ""
    anchor: int = 0
    copies: bool = False

    @property
    def tile(self) -> int:
        return self.threads * self.per_thread

    @property
    def stride(self) -> int:
        """From one tile to the next."""
        return self.tile - sum(self.overlap)

    @property
    def aligned(self) -> int:
        """What tiles begin at multiples of."""
        return self.anchor or self.stride

    @property
    def origin(self) -> str:
        return self.loop or f"{self.name}_tile"


@dataclass(frozen=True)
class HeldArray:
    """`array` kept in registers: `element` maps a point to the one element it owns.

    It is loaded before and stored after what runs inside, as `load` and `store` say, at `points`.
    """

    array: str
    tuple_name: str
    name: str
    element: isl.PwMultiAff
    points: isl.Set
    load: bool
    store: bool
    references: frozenset[ReferenceKey]


@dataclass(frozen=True)
class Version:
    """The elements `where` of an array are in another one: `place` maps them to elements of `array`.

    So a tile of time steps reads the values before it while other blocks already store those after it:
        where     { A[i] : 0 < step and 0 < i < n - 1 }
        place     { A[i] -> A_both[step % 2, i] }
    """

    array: str
    where: isl.Set
    place: isl.PwMultiAff


@dataclass(frozen=True)
class Box:
    """`array` copied to shared memory: the elements in `sides`, one a dimension of the array.

    `order[k]` is the array dimension stored as dimension k; rows of the last one are `padding` elements
    longer. `references` are the accesses that find the array there, `reason` says why they do. Elements of
    one of the `versions` are copied from there, and of others `only` those, `without` those. With axes to
    go `along`, one a dimension, each is dealt to the threads along its axis; else rows are, to all of them.
    With a `form`, an expression of ELEMENT, that is what the box holds of each, and what references stand in
    is found there. Elements that are not copied begin as `zeros` where points beyond those of use read them.
    """

    array: str
    tuple_name: str
    name: str
    sides: tuple[Side, ...]
    order: tuple[int, ...]
    reason: str
    references: frozenset[ReferenceKey]
    padding: int = 0
    versions: tuple[Version, ...] = ()
    form: Expr | None = None
    only: isl.Set | None = None
    without: isl.Set | None = None
    along: tuple[str, ...] = ()
    zeros: bool = False

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(self.sides[k].size for k in self.order)

    @property
    def transposed(self) -> bool:
        """Whether elements next to each other in the array are not so in shared memory."""
        return self.order[-1] != len(self.order) - 1

    @property
    def as_it_comes(self) -> bool:
        """Whether elements next to each other can be copied together."""
        return not self.transposed and self.form is None


@dataclass(frozen=True)
class StoredBox:
    """Elements of a box stored to its array, or to a version of it: point by point the one it owns.

    `element` maps a point to its element of the box's array, at `points`. With `sides` threads store the part
    of the box in there together, row by row: a point is then the subscripts of an element.
    """

    box: Box
    element: isl.PwMultiAff
    points: isl.Set
    version: Version | None = None
    sides: tuple[Side, ...] = ()


@dataclass(frozen=True)
class Held:
    arrays: tuple[HeldArray, ...]
    block: Block


@dataclass(frozen=True)
class Copied:
    """The boxes are copied before `block` runs, and a barrier stands between."""

    boxes: tuple[Box, ...]
    block: Block


@dataclass(frozen=True)
class Filled:
    """The boxes hold what `block` writes and reads; nothing of them is copied."""

    boxes: tuple[Box, ...]
    block: Block


@dataclass(frozen=True)
class Stored:
    """What `boxes` hold after `block` is stored; `block` ends with Meet where other threads wrote it."""

    boxes: tuple[StoredBox, ...]
    block: Block


@dataclass(frozen=True)
class Mirror:
    """Registers `name` with those elements of a box whose subscripts are points of the thread.

    Only the thread itself writes them, and it reads them there: shared memory has what other threads read,
    and all of them after the block if they are `stored`. References are at the `distances` from the point,
    one a dimension. What is copied to the box is `loaded` before. Where that is `direct`, threads load and
    store their own elements from and to the array themselves, and the box is zero around the tile.
    """

    box: Box
    name: str
    distances: Mapping[ReferenceKey, tuple[int, ...]]
    loaded: bool
    stored: bool
    direct: bool = False

    @cached_property
    def reach(self) -> tuple[tuple[int, int], ...]:
        """How far before and behind a point threads read, along each dimension."""
        lines = zip(*self.distances.values(), strict=True)
        found = tuple((max(0, -min(line)), max(0, *line, 0)) for line in lines)
        return found or ((0, 0),) * len(self.box.sides)


@dataclass(frozen=True)
class Mirrored:
    mirrors: tuple[Mirror, ...]
    block: Block


@dataclass(frozen=True)
class Reduced:
    """An array whose elements `block` only updates, each with terms of all threads along `axes`.

    A thread combines its own terms in a register; then the threads' partial results are combined, in a tree
    that depends on their number only, and the first thread updates the element:

        for k: s[i] += A[i][k]   ->   s_r = -0.0; for k of the thread: s_r += A[i][k]
                                      for half = threads / 2, ..., 1: s_r += s_r of thread + half
                                      in the first thread: s[i] += s_r

    An array that is not to be loaded gets the threads' result alone. Points of `array` are those along the
    other axes. `operator` is C's, or the name of a function.
    """

    array: HeldArray
    operator: str
    axes: tuple[str, ...]
    block: Block

    @property
    def parts(self) -> str:
        """The name of the array in shared memory that partial results go through."""
        return f"{self.array.name}_parts"


@dataclass(frozen=True)
class Tiles:
    """A loop over tiles of `width` values of a dimension: the first value of a tile has the `name`.

    `buffering` says how the boxes that its block copies follow each other from tile to tile: "none" (copied,
    then used), "prefetch" (the next tile travels in registers), "double" (that too, to the other one of two
    places, so that a barrier is enough for a tile) or "ring" (of `stages` tiles that are copied
    asynchronously).

    With a `count` tiles are visited from 0 up to that, in every block.
    """

    member: Member
    name: str
    width: int
    block: Block
    buffering: Buffering = "none"
    stages: int = 3
    count: int = 0

    @property
    def fixed(self) -> Fixed:
        return Fixed(self.member, self.name, self.width, self.count)

    @property
    def slots(self) -> int:
        """Tiles that are in shared memory at the same time, if their places can be numbered."""
        return {"double": 2, "ring": self.stages}.get(self.buffering, 1)

    @property
    def slot(self) -> str:
        """The name of the slot that a tile is in, where there are several."""
        return f"{self.name}_slot"


@dataclass(frozen=True)
class Series:
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Meet:
    """A barrier."""


@dataclass(frozen=True)
class Run:
    """Code without barriers: `node` of the schedule, at the points of a thread.

    Only at those `within` a set, a condition on the names of points, of tiles' origins and of loops around.
    With `beyond` the other points of the tile run it too: what they compute is used by none.
    """

    node: Node
    within: isl.Set | None = None
    beyond: bool = False


Block: TypeAlias = Held | Copied | Filled | Stored | Mirrored | Reduced | Tiles | Series | Meet | Run


@dataclass(frozen=True)
class Grid:
    """A kernel: `axes` in grid order, the last on threadIdx.x; `outer` are the host loops around it.

    A lane copies, and reads of a staged tile, up to `widest` bytes at once (0: one element) and has `loads`
    loads in flight (0: all of a copy). Innermost loops run `unroll` iterations in a row: 0 all, 1 one by one,
    None as is usual for their length. Values that a thread needs at several points, or in several iterations,
    are loaded once as long as they fit into `reuse` registers. A thread goes through its points in rows, in a
    snake of rows, or of columns.
    """

    p: Polyhedra
    axes: tuple[Axis, ...]
    block: Block
    outer: tuple[Fixed, ...] = ()
    widest: int = 0
    loads: int = 0
    unroll: int | None = None
    reuse: int = 0
    walk: Walk = "rows"

    name: str = "k"
    registers: int = 0
    fragments: str = ""  # the policy of tensor cores

    @cached_property
    def statements(self) -> tuple[str, ...]:
        return self.node.statements

    @cached_property
    def node(self) -> Node:
        """What the points run, as a schedule: tiles are visited in order, so they change nothing."""
        return sequence(run.node for run in walk(self.block) if isinstance(run, Run))

    @property
    def attending(self) -> int:
        """The threads of a block in which one computes and all copy; 0 for other blocks."""
        return self.axes[0].threads if len(self.axes) == 1 and self.axes[0].member.is_single else 0

    @property
    def computing(self) -> tuple[Axis, ...]:
        """The axes but for the one whose threads only copy."""
        return tuple(a for a in self.axes if not a.copies)

    @property
    def parts(self) -> tuple[Block, ...]:
        """The blocks that follow each other in the whole kernel."""
        return self.block.blocks if isinstance(self.block, Series) else (self.block,)

    @property
    def loops(self) -> tuple[Tiles, ...]:
        return tuple(b for b in walk(self.block) if isinstance(b, Tiles))

    @property
    def buffering(self) -> Buffering:
        """How staged tiles follow each other, of any loop."""
        return next((tiles.buffering for tiles in self.loops if tiles.buffering != "none"), "none")

    @property
    def shape(self) -> tuple[int, int, int]:
        """Threads along x, y and z."""
        sizes = [a.threads for a in reversed(self.axes)] + [1, 1, 1]
        return sizes[0], sizes[1], sizes[2]

    @cached_property
    def boxes(self) -> tuple[tuple[Box, Tiles | None], ...]:
        """The boxes in shared memory, each with the loop over tiles in which it is copied.

        In the order of the code that uses them, then of the arrays.
        """
        runs = [b for b in walk(self.block) if isinstance(b, Run)]
        place = {s: k for k, run in enumerate(runs) for s in run.node.statements}

        def key(found: tuple[Box, Tiles | None]) -> tuple[int, str, list[str]]:
            box = found[0]
            return (
                min(place[s] for s, _, _ in box.references),
                box.tuple_name,
                sorted(map(str, box.references)),
            )

        return tuple(sorted(_boxes(self.block, None), key=key))

    @cached_property
    def held(self) -> tuple[HeldArray, ...]:
        arrays = (h for b in walk(self.block) if isinstance(b, Held) for h in b.arrays)
        return (*arrays, *(r.array for r in self.reductions))

    @cached_property
    def reductions(self) -> tuple[Reduced, ...]:
        return tuple(b for b in walk(self.block) if isinstance(b, Reduced))

    def dealt_as(self, shapes: Sequence[tuple[int, int, int]]) -> bool:
        """Whether the axes have these threads, points a thread and groups."""
        return [(a.threads, a.per_thread, a.group) for a in self.axes] == [*shapes]

    @cached_property
    def mirrors(self) -> tuple[Mirror, ...]:
        return tuple(m for b in walk(self.block) if isinstance(b, Mirrored) for m in b.mirrors)

    @property
    def dealt(self) -> tuple[Axis, ...]:
        """The axes whose tiles are dealt to blocks."""
        return tuple(a for a in self.computing if not a.loop)

    def points(self) -> tuple[Fixed, ...]:
        return tuple(Fixed(a.member, a.name) for a in self.axes)

    def tiles(self) -> tuple[Fixed, ...]:
        return tuple(Fixed(a.member, a.origin, a.tile) for a in self.dealt)

    def domain(self, statement: str, fixed: tuple[Fixed, ...] = ()) -> isl.Set:
        """Instances of `statement` in one iteration of the host loops, and of `fixed`."""
        return restricted(self.p, statement, (*self.outer, *fixed))


@dataclass(frozen=True)
class Each:
    """A loop of the host: `child` for each value of a dimension."""

    fixed: Fixed
    child: HostTree


@dataclass(frozen=True)
class InOrder:
    children: tuple[HostTree, ...]


HostTree: TypeAlias = Grid | Each | InOrder


@dataclass(frozen=True)
class Program:
    """A region as a device runs it."""

    p: Polyhedra
    host: HostTree

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        """Its kernels, in the order of their first launches."""
        return tuple(_grids(self.host))


def _grids(host: HostTree) -> Iterator[Grid]:
    match host:
        case Grid():
            yield host
        case Each(_, child):
            yield from _grids(child)
        case InOrder(parts):
            for part in parts:
                yield from _grids(part)


def walk(block: Block) -> Iterator[Block]:
    """`block` and all that is inside it, in the order of the code."""
    yield block
    for inner in children(block):
        yield from walk(inner)


def children(block: Block) -> tuple[Block, ...]:
    match block:
        case Held() | Copied() | Filled() | Stored() | Mirrored() | Reduced() | Tiles():
            return (block.block,)
        case Series(blocks):
            return blocks
    return ()


def with_children(block: Block, inner: tuple[Block, ...]) -> Block:
    """`block` around other blocks."""
    match block:
        case Held() | Copied() | Filled() | Stored() | Mirrored() | Reduced() | Tiles():
            return replace(block, block=inner[0])
        case Series():
            return Series(inner)
    return block


def series(blocks: Iterable[Block]) -> Block:
    found = tuple(blocks)
    return found[0] if len(found) == 1 else Series(found)


def _boxes(block: Block, tiles: Tiles | None) -> Iterator[tuple[Box, Tiles | None]]:
    match block:
        case Copied(boxes, inner):
            yield from ((box, tiles) for box in boxes)
            yield from _boxes(inner, tiles)
        case Filled(boxes, inner):
            yield from ((box, None) for box in boxes)
            yield from _boxes(inner, tiles)
        case Tiles():
            yield from _boxes(block.block, block)
        case _:
            for inner in children(block):
                yield from _boxes(inner, tiles)


def statements(block: Block) -> tuple[str, ...]:
    """The statements that run inside."""
    return tuple(sorted(s for b in walk(block) if isinstance(b, Run) for s in b.node.statements))
