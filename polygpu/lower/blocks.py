"""Blocks of a grid as code: loops over tiles, copies and barriers.

tiles ::= for each tile: copies, barrier, block, barrier
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import reduce
from typing import TypeAlias

import islpy as isl

from polygpu.lower.buffers import Layout
from polygpu.lower.context import KernelContext
from polygpu.lower.mirrors import loads as mirror_loads
from polygpu.lower.mirrors import of_statements, puts, stored_directly
from polygpu.lower.mirrors import stores as mirror_stores
from polygpu.lower.reductions import reduced
from polygpu.lower.registers import loads, stores
from polygpu.lower.runs import RunCode
from polygpu.lower.scan import Scan, ScanBlock, ScanFor, ScanIf, ScanLeaf, test_of
from polygpu.lower.staging import Copy
from polygpu.lower.tidy import substituted
from polygpu.lower.versions import choices, needed, stored, target, whole
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.footprint import Side
from polygpu.mapping.hull import in_waves
from polygpu.mapping.owned import written_arrays
from polygpu.mapping.program import (
    Block,
    Box,
    Copied,
    Filled,
    Grid,
    Held,
    Meet,
    Mirror,
    Mirrored,
    Reduced,
    Run,
    Series,
    Stored,
    StoredBox,
    Tiles,
    children,
    reference_key,
)
from polygpu.model.expr import Binary, Call, Expr, Int, Name
from polygpu.model.kernel import Barrier, CommitCopies, Declare, For, If, Statement, WaitCopies
from polygpu.model.linear import add, multiply, simplify, subtract
from polygpu.support.isl_idioms import D, parameters

Code: TypeAlias = tuple[Statement, ...]
Leaf: TypeAlias = Callable[[ScanLeaf], Code]
Around: TypeAlias = tuple[Tiles, ...]  # the loops over tiles around a block, outermost first


def context_of(m: Grid, layouts: Mapping[str, Layout]) -> KernelContext:
    """The context of a grid's lowering, which knows how many tiles are in shared memory at a time."""
    plain = KernelContext(m, layouts)
    return replace(plain, places=tuple(_places(plain, m.block, ())))


def _places(c: KernelContext, block: Block, around: Around) -> Iterable[int]:
    """Of each loop over tiles how many places these take turns in, numbered along the loop.

    Tiles that several loops visit, one after the other, or that some are left out of, have no common number.
    """
    if isinstance(block, Tiles):
        step = block.fixed
        several = block.slots > 1 and (block.buffering != "ring" or c.m.widest > 0)
        yield block.slots if several and _one_loop(_visit(c, block, around, ()), step) else 1
        around = (*around, block)
    for inner in children(block):
        yield from _places(c, inner, around)


def _fixed(around: Around) -> tuple[Fixed, ...]:
    return tuple(t.fixed for t in around)


def code(c: KernelContext, block: Block, around: Around = ()) -> Code:
    """What the threads of a block run, in step with each other."""
    match block:
        case Held(arrays, inner):
            return (*loads(c, arrays), *code(c, inner, around), *stores(c, arrays))
        case Copied(boxes, inner):
            # a loop over tiles that copies has a barrier before anything is used
            meet = () if isinstance(inner, Tiles) and isinstance(inner.block, Copied) else (Barrier(),)
            return (*_copies(c, boxes, around), *meet, *code(c, inner, around))
        case Filled(boxes, inner):
            zeros = tuple(s for box in boxes if box.zeros for s in _copy(c, box, around).zeros())
            meet = (Barrier(),) if zeros and not isinstance(inner, Copied) else ()
            return (*zeros, *meet, *code(c, inner, around))
        case Stored(boxes, inner):
            return (*code(c, inner, around), *(s for box in boxes for s in _stored(c, box, around)))
        case Mirrored(mirrors, inner):
            before = tuple(s for mirror in mirrors for s in _mirrored(c, mirror, around))
            before = (*before, Barrier()) if any(mirror.direct for mirror in mirrors) else before
            return (*before, *code(c, inner, around), *mirror_stores(c, mirrors))
        case Reduced():
            return reduced(c, block, code(c, block.block, around), bool(around))
        case Tiles(block=Copied(boxes, inner)):
            return _staged(c, block, boxes, inner, around)
        case Tiles():
            return _visit(c, block, around, _inside(c, block, block.block, around))
        case Series(blocks):
            return tuple(s for b in blocks for s in code(c, b, around))
        case Meet():
            return (Barrier(),)
        case Run(node, within, beyond):
            fetched, put = of_statements(c, node.statements)
            return (*RunCode(c, node, _fixed(around), within, beyond, fetched).code(), *put)


def _inside(c: KernelContext, tiles: Tiles, inner: Block, around: Around) -> Code:
    """What a tile runs, after the points of axes that go through the tiles."""
    points = (s for axis in c.m.axes if axis.loop == tiles.name for s in c.points.point(axis))
    return (*points, *code(c, inner, (*around, tiles)))


def _staged(c: KernelContext, tiles: Tiles, boxes: tuple[Box, ...], inner: Block, around: Around) -> Code:
    """The tiles, with what is copied for each of them."""
    within = (*around, tiles)
    used = _inside(c, tiles, inner, around)
    if tiles.buffering == "ring" and c.slots(tiles) > 1:
        return _ring(c, tiles, boxes, used, around)
    if tiles.buffering in ("prefetch", "double") and _one_loop(_visit(c, tiles, around, ()), tiles.fixed):
        return _prefetched(c, tiles, boxes, used, around)
    return _visit(c, tiles, around, (*_copies(c, boxes, within), Barrier(), *used, Barrier()))


def _copies(c: KernelContext, boxes: Iterable[Box], around: Around) -> Code:
    """The boxes copied one after another.

    Where few loads are in flight, those of one element a thread are on their way during the others.
    """
    copies = [_copy(c, box, around) for box in boxes]
    plain = [x for x in copies if not x.choices and x.only is None]
    ahead = [x for x in plain if x.loads and x.single and len(copies) > 1]
    return (
        *(s for x in ahead for s in (x.registers(), *x.fetch())),
        *(s for x in copies if x not in ahead for s in _direct(c, x, around)),
        *(s for x in ahead for s in x.put()),
    )


def _mirrored(c: KernelContext, mirror: Mirror, around: Around) -> Iterable[Statement]:
    yield from mirror_loads(c, mirror)
    if mirror.direct:
        yield from puts(c, mirror)
        for sides, skipped in _rims(mirror):
            box = replace(mirror.box, sides=sides, versions=(), only=None, without=None)
            yield from _copy(c, box, around).zeros(skipped)


def _rims(mirror: Mirror) -> Iterable[tuple[tuple[Side, ...], tuple[Expr, ...]]]:
    """The sides of each rim of a box, and what is before it along each dimension; none meets another."""
    outer = [(0, side.size) for side in mirror.box.sides]
    for k, (before, behind) in enumerate(mirror.reach):
        size = mirror.box.sides[k].size
        for rim in ((0, before), (size - behind, behind)):
            lines = [*outer[:k], rim, *outer[k + 1 :]]
            pairs = zip(mirror.box.sides, lines, strict=True)
            sides = (Side(s.offset.add_constant_val(isl.Val(first)), count) for s, (first, count) in pairs)
            if rim[1]:
                yield tuple(sides), tuple(Int(first) for first, _ in lines)
        outer[k] = (before, size - before - behind)


def _direct(c: KernelContext, copy: Copy, around: Around) -> Code:
    """The copy, without tests in blocks whose elements all come from one place."""
    places = _copy_context(c, around, 0)
    found = whole(c, copy.s, places) if c.m.mirrors else None
    test = test_of(found, places) if found is not None else None
    if found is None or test is None:
        return copy.direct()
    there = (True,) * len(copy.sizes)
    alike = replace(copy, choices=choices(c, copy.s, found), only=needed(c, copy.s, found), inside=there)
    return (If(test, alike.direct(), copy.direct(), uniform=True),)


def _stored(c: KernelContext, s: StoredBox, around: Around) -> Iterable[Statement]:
    if not s.sides:
        return stored(c, (s,))
    mirror = c.mirrors.get(s.box.name)
    if mirror is not None and mirror.direct:
        return stored_directly(c, s, mirror, _copy_context(c, around, 0))
    part = _copy(c, replace(s.box, sides=s.sides, versions=(), only=None), around)
    part = replace(part, widest=0)  # element by element
    pairs = zip(s.sides, s.box.sides, strict=True)
    skipped = tuple(subtract(c.offset(inner.offset), c.offset(outer.offset)) for inner, outer in pairs)
    return part.out(target(c, s, _copy_context(c, around, 0)), skipped)


def _prefetched(c: KernelContext, tiles: Tiles, boxes: tuple[Box, ...], used: Code, around: Around) -> Code:
    """The next tile travels in registers while this one is used, and goes to its place or to another one:

    fetch                                        fetch, put, barrier
    for tile: put, barrier, fetch, use, barrier  for tile: fetch, use, put into the other, barrier
    """
    within, slots, ahead = (*around, tiles), c.slots(tiles), add(Name(tiles.name), tiles.width)
    turn = _turn(c, tiles, around)
    copies = [_copy(c, box, within, 1) for box in boxes]
    fetch = substituted(tuple(x for copy in copies for x in copy.fetch()), {tiles.name: ahead})
    fetch = _if_there(c, tiles, around, boxes, fetch)
    put = tuple(x for copy in copies for x in copy.put(turn(ahead)))
    if slots > 1:
        here = turn(Name(tiles.name))
        assert here is not None
        body = (*fetch, Declare(tiles.slot, "int", here), *used, *put, Barrier())
    else:
        body = (*put, Barrier(), *fetch, *used, Barrier())
    loop = _visit(c, tiles, around, body)
    first = _first_of(loop)
    before = [_copy(c, box, within) for box in boxes]
    start = substituted(tuple(x for copy in before for x in copy.fetch()), {tiles.name: first})
    if slots > 1:
        start = (*start, *(x for copy in before for x in copy.put(turn(first))), Barrier())
    return (*(copy.registers() for copy in copies), *_unless_empty(loop, (*start, *loop)))


def _if_there(c: KernelContext, tiles: Tiles, around: Around, boxes: tuple[Box, ...], fetch: Code) -> Code:
    """`fetch` of the next tile, behind the last one only of arrays that no block writes meanwhile."""
    if not any(box.tuple_name in written_arrays(c.m) for box in boxes):
        return fetch
    upper = _end_of(_visit(c, tiles, around, ()))
    if upper is None:
        return ()
    return (If(Binary("<", add(Name(tiles.name), tiles.width), upper), fetch, (), uniform=True),)


def _end_of(loop: Code) -> Expr | None:
    """The upper bound of the one loop over tiles; None for a single tile."""
    match loop[0]:
        case For(_, _, upper):
            return upper
        case If(_, then):
            return _end_of(then)
    return None


def _turn(c: KernelContext, tiles: Tiles, around: Around) -> Callable[[Expr], Expr | None]:
    """Which of several places a tile is in, by its first value; None where there is one."""
    slots, width = c.slots(tiles), tiles.width
    positive = c.starts_positive(tiles.fixed, _fixed(around))

    def turn(first: Expr) -> Expr | None:
        if slots == 1:
            return None
        if positive:
            return simplify(Binary("%", Binary("/", first, Int(width)), Int(slots)))
        rounds = multiply(Call("floord", (first, Int(width * slots)), "int"), slots)
        return subtract(Call("floord", (first, Int(width)), "int"), rounds)

    return turn


def _ring(c: KernelContext, tiles: Tiles, boxes: tuple[Box, ...], used: Code, around: Around) -> Code:
    """Tiles in flight: `stages` slots, each filled `stages - 1` tiles before it is used."""
    stages, width = tiles.stages, tiles.width
    copies = [_copy(c, box, (*around, tiles), stages - 1) for box in boxes]
    here = _turn(c, tiles, around)(Name(tiles.name))
    assert here is not None, "a ring has several places"

    def fill(tiles_ahead: int, base: Expr) -> Code:
        moves = tuple(x for copy in copies for x in copy.in_flight(here))
        return (*substituted(moves, {tiles.name: add(base, tiles_ahead * width)}), CommitCopies())

    body = (
        WaitCopies(stages - 2),
        Barrier(),
        *fill(stages - 1, Name(tiles.name)),
        Declare(tiles.slot, "int", here),
        *used,
    )
    loop = _visit(c, tiles, around, body)
    first = _first_of(loop)
    start = tuple(x for k in range(stages - 1) for x in fill(k, first))
    return _unless_empty(loop, (*start, *loop, WaitCopies(0)))


def _first_of(loop: Code) -> Expr:
    """Where the loop over tiles starts: its lower bound, or the only value."""
    match loop[0]:
        case For(_, lower, _, _, _, _, _):
            return lower
        case Declare(_, _, value, _) if value is not None:
            return value
        case If(_, then, _, _):
            return _first_of(then)
    return Int(0)


def _copy(c: KernelContext, box: Box, around: Around, ahead: int = 0) -> Copy:
    """The copy of a box for a tile of the innermost loop `around`, or for one up to `ahead` tiles later."""
    multiples = {a.origin: a.aligned for a in c.m.axes} | {t.name: t.width for t in around}
    # an asynchronous copy moves consecutive elements to consecutive places
    ring = bool(around) and around[-1].buffering == "ring" and c.slots(around[-1]) > 1
    single = ring and box.transposed
    starts = (t for k, t in enumerate(around) if c.starts_positive(t.fixed, _fixed(around[:k])))
    places = _copy_context(c, around, ahead)
    layout = c.layouts[box.array]
    return Copy(
        box,
        tuple(c.offset(side.offset) for side in box.sides),
        layout,
        c.threads,
        c.site(box.tuple_name),
        c.positive | {t.name for t in starts},
        multiples,
        0 if single or (c.m.loads and not box.as_it_comes) else c.m.widest,
        c.m.loads,
        tuple(
            _stays_inside(side, layout.first(k), layout.extent(k), places) for k, side in enumerate(box.sides)
        ),
        _always_used(c, box, places),
        bool(around),
        choices(c, box, places),
        needed(c, box, places),
        tuple(_threads(c, name) for name in box.along),
    )


def _threads(c: KernelContext, axis: str) -> tuple[Expr, int]:
    """The number of a thread along an axis, and how many there are."""
    k = next(k for k, a in enumerate(c.m.axes) if a.name == axis)
    return c.points.thread(k), c.m.axes[k].threads


def _always_used(c: KernelContext, box: Box, places: isl.Set) -> bool:
    """Whether some block uses the box wherever it is copied, at `places`, whatever the data are.

    Tiles between those that use anything are visited, too, perhaps for sizes for which nothing does. In waves
    each element is tested: it takes long to say which tiles there are.
    """
    if in_waves(c.m):
        return True
    users = {
        name
        for name in {statement for statement, _, _ in box.references}
        for a in c.m.p.statement(name).accesses
        if a.must and not a.write and reference_key(name, a.reference) in box.references
    }
    if not users:
        return False
    launched, used = _happens(c, c.m.statements), _happens(c, users)
    for name in sorted({*parameters(places)} - {*parameters(used)}):
        places = places.project_out(D.param, places.find_dim_by_name(D.param, name), 1)
    return bool(places.intersect(launched).is_subset(used))


def _happens(c: KernelContext, names: Iterable[str]) -> isl.Set:
    return reduce(isl.Set.union, (c.m.domain(name, ()).params() for name in sorted(names)))


def _copy_context(c: KernelContext, around: Around, ahead: int) -> isl.Set:
    """What holds of the tile origins, and of the tiles `around`, where something is copied.

    The last iterations of the innermost also copy up to `ahead` tiles behind the last one. Loops elsewhere
    say nothing: they may have the same name, or visit no tile.
    """
    places = c.block_context()
    for axis in c.m.dealt:
        position = places.find_dim_by_name(D.param, axis.origin)
        local = isl.LocalSpace.from_space(places.get_space())
        origin = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.param, position))
        rest = origin.mod_val(isl.Val(axis.aligned))
        places = places.intersect(rest.eq_set(rest.sub(rest)))
    for k, tiles in enumerate(around):
        further = ahead if tiles is around[-1] else 0
        places = places.intersect(c.visits(tiles.fixed, _fixed(around[:k]), further))
    return places


def _visit(c: KernelContext, tiles: Tiles, around: Around, inner: Code) -> Code:
    """The uniform loop over the tiles that any point of the block needs."""
    tree = c.tiles_visited(tiles.fixed, _fixed(around))

    def leaf(found: ScanLeaf) -> Code:
        value = found.arguments[0]
        return inner if value == Name(tiles.name) else (Declare(tiles.name, "int", value), *inner)

    return _emit_uniform(tree, leaf)


def _emit_uniform(tree: Scan, leaf: Leaf) -> Code:
    match tree:
        case ScanBlock(parts):
            return tuple(s for part in parts for s in _emit_uniform(part, leaf))
        case ScanFor(index, lower, upper, step, body):
            return (For(index, lower, upper, step, _emit_uniform(body, leaf), uniform=True),)
        case ScanIf(test, then, otherwise):
            other = _emit_uniform(otherwise, leaf) if otherwise is not None else ()
            return (If(test, _emit_uniform(then, leaf), other, uniform=True),)
        case ScanLeaf():
            return leaf(tree)


def _stays_inside(side: Side, first: Expr, extent: Expr, places: isl.Set) -> bool:
    """Whether nothing at `places` moves the side out of an array dimension of constant subscripts."""
    if not isinstance(extent, Int) or not isinstance(first, Int):
        return False
    offset = side.offset.add_constant_val(isl.Val(-first.value))
    beyond = offset.add_constant_val(isl.Val(side.size - extent.value)).pos_set()
    outside = beyond.union(offset.neg().pos_set())
    return bool(outside.intersect(places).is_empty())


def _one_loop(loop: tuple[Statement, ...], step: Fixed) -> bool:
    """Whether tiles are visited by one loop that leaves none out, perhaps behind a test, or are just one.

    Only then is the next tile one width ahead. `loop` is the one around nothing.
    """
    match loop:
        case (For(step.name, _, _, step.width, (), _, _),) | (Declare(),):
            return True
        case (If(_, then, (), True),):
            return _one_loop(then, step)
    return False


def _unless_empty(loop: tuple[Statement, ...], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """`body` where the loop over tiles has any: what is fetched ahead of it must exist."""
    match loop[0]:
        case For(_, Int(lower), Int(upper), _, _, _, _):
            return body if lower < upper else ()
        case For(_, lower, upper, _, _, _, _):
            return (If(Binary("<", lower, upper), body, (), uniform=True),)
        case If(test, then, (), True):
            return (If(test, _unless_empty(then, body), (), uniform=True),)
    return body
