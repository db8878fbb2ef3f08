"""Whether a mapped program is well-formed: what lowering takes for granted of any, however it was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod

from polygpu.mapping.program import (
    Axis,
    Block,
    Box,
    Copied,
    Filled,
    Grid,
    Held,
    HeldArray,
    Mirror,
    Mirrored,
    Program,
    Reduced,
    Run,
    Stored,
    StoredBox,
    Tiles,
    Version,
    children,
    reference_key,
    statements,
    walk,
)
from polygpu.model.rewrite import actions
from polygpu.model.scop import Let, Store
from polygpu.model.updates import update


def check_program(program: Program) -> None:
    """Raises ValueError with all that is wrong."""
    found = [*_whole(program), *(problem for grid in program.grids for problem in check_grid(grid))]
    if found:
        raise ValueError("; ".join(found))


def _whole(program: Program) -> Iterator[str]:
    runs = Counter(s for grid in program.grids for s in grid.statements)
    for s in program.p.statements:
        if runs[s.name] != 1:
            yield f"statement {s.name} is in {runs[s.name]} kernels"
        for action in actions(s.body):
            if isinstance(action, Let) and not action.name.isidentifier():
                yield f"statement {s.name} has a local '{action.name}', which is no name in C"
    for name, count in Counter(grid.name for grid in program.grids).items():
        if count > 1:
            yield f"{count} kernels are called {name}"


def check_grid(grid: Grid) -> Iterator[str]:
    """What is wrong with one kernel."""
    for axis in grid.axes:
        yield from _axis(grid, axis)
    names = Counter(_names(grid))
    yield from (f"{grid.name}: '{name}' names {count} things" for name, count in names.items() if count > 1)
    yield from _block(grid, grid.block, frozenset())


def _axis(grid: Grid, axis: Axis) -> Iterator[str]:
    if min(axis.threads, axis.per_thread, axis.group) < 1 or axis.per_thread % axis.group:
        yield f"{grid.name}: the points of {axis.name} cannot be dealt"
    if min(axis.overlap) < 0 or axis.stride < 1:
        yield f"{grid.name}: the tiles of {axis.name} overlap all of themselves"
    elif axis.stride % axis.aligned:
        yield f"{grid.name}: not all tiles of {axis.name} begin at a multiple of {axis.anchor}"
    if missing := set(grid.statements) - set(axis.member.statements):
        yield f"{grid.name}: {axis.name} says nothing of {', '.join(sorted(missing))}"
    if axis.loop:
        yield from _in_turn(grid, axis)


def _in_turn(grid: Grid, axis: Axis) -> Iterator[str]:
    """The axis has points only inside of the loop that goes through its tiles."""
    loops = [tiles for tiles in grid.loops if tiles.name == axis.loop]
    if any(axis.overlap) or any((t.member, t.width) != (axis.member, axis.tile) for t in loops):
        yield f"{grid.name}: {axis.loop} does not go through the tiles of {axis.name}"
    inside = {id(b) for tiles in loops for b in walk(tiles)}
    if any(id(b) not in inside for b in walk(grid.block) if isinstance(b, Held | Run | Stored)):
        yield f"{grid.name}: something needs a point of {axis.name} outside of {axis.loop}"


def _names(grid: Grid) -> Iterator[str]:
    """Those that must differ; loops over tiles that follow each other may have one name."""
    yield from (axis.name for axis in grid.axes)
    yield from (axis.origin for axis in grid.dealt)
    yield from (fixed.name for fixed in grid.outer)
    yield from {tiles.name for tiles in grid.loops}
    yield from (box.name for box, _ in grid.boxes)
    yield from (held.name for held in grid.held)
    yield from (mirror.name for mirror in grid.mirrors)
    yield from (reduction.parts for reduction in grid.reductions)


def _block(grid: Grid, block: Block, around: frozenset[str]) -> Iterator[str]:
    """`around` are the names of the loops over tiles that the block is in."""
    match block:
        case Held(arrays, inner) | Copied(arrays, inner) | Filled(arrays, inner):
            yield from (problem for array in arrays for problem in _place(grid, array, inner))
        case Stored(stores, _):
            yield from (problem for stored in stores for problem in _stored(grid, stored))
        case Mirrored(mirrors, _):
            yield from (problem for mirror in mirrors for problem in _mirror(grid, mirror))
        case Reduced(array, _, _, inner):
            yield from _place(grid, array, inner)
            yield from _reduced(grid, block, around)
        case Tiles():
            yield from _tiles(grid, block, around)
            around |= {block.name}
    for inner in children(block):
        yield from _block(grid, inner, around)


def _place(grid: Grid, array: HeldArray | Box, inner: Block) -> Iterator[str]:
    """References find the array only where it is, and in one place."""
    inside = set(statements(inner))
    if any(s not in inside for s, _, _ in array.references):
        yield f"{grid.name}: {array.name} is read where it is not"
    everything: tuple[HeldArray | Box, ...] = (*grid.held, *(box for box, _ in grid.boxes))
    others = [a for a in everything if a is not array]
    if any(array.references & other.references for other in others):
        yield f"{grid.name}: a reference to {array.array} has two places"
    if isinstance(array, Box):
        if sorted(array.order) != list(range(len(array.sides))):
            yield f"{grid.name}: {array.name} is not stored in its dimensions"
        yield from _versions(grid, array, array.versions)


def _mirror(grid: Grid, mirror: Mirror) -> Iterator[str]:
    """A thread has its points in one piece, and a dimension of the box for each axis."""
    if all(box is not mirror.box for box, _ in grid.boxes):
        yield f"{grid.name}: {mirror.name} is of no box of the kernel"
    if len(mirror.box.sides) != len(grid.axes) or any(a.group != a.per_thread for a in grid.axes):
        yield f"{grid.name}: {mirror.name} are no points of a thread"


def _stored(grid: Grid, stored: StoredBox) -> Iterator[str]:
    if all(box is not stored.box for box, _ in grid.boxes):
        yield f"{grid.name}: {stored.box.name} is stored and is no box of the kernel"
    if stored.version is not None:
        yield from _versions(grid, stored.box, (stored.version,))


def _versions(grid: Grid, box: Box, versions: Iterable[Version]) -> Iterator[str]:
    """Versions are arrays of the program, and of the same elements."""
    types = {array.name: array.element for array in grid.p.arrays}
    for version in versions:
        if types.get(version.array) != types.get(box.array):
            yield f"{grid.name}: {version.array} is no version of {box.array}"


def _reduced(grid: Grid, r: Reduced, around: frozenset[str]) -> Iterator[str]:
    """Threads can be halved down to one, which has an element; each only updates it."""
    along = [a for a in grid.axes if a.name in r.axes]
    threads = prod(a.threads for a in along)
    if {a.name for a in along} != set(r.axes) or threads & (threads - 1):
        yield f"{grid.name}: {threads} threads along {', '.join(r.axes)} cannot be halved down to one"
    if any(a.loop not in ("", *around) for a in grid.axes if a not in along):
        yield f"{grid.name}: {r.array.name} is updated where its points are not"
    stores = [
        (s, a) for s in statements(r.block) for a in actions(grid.p.statement(s).body) if isinstance(a, Store)
    ]
    updates = {reference_key(s, a.target) for s, a in stores if update(a) == r.operator}
    references = r.array.references
    if not references or references - updates or not r.array.store:
        yield f"{grid.name}: {r.array.name} is not updated by '{r.operator}' only"


def _tiles(grid: Grid, tiles: Tiles, around: frozenset[str]) -> Iterator[str]:
    if tiles.width < 1 or tiles.stages < 2:
        yield f"{grid.name}: {tiles.name} has tiles of {tiles.width}, {tiles.stages} in a ring"
    if (
        tiles.buffering != "none"
        and isinstance(tiles.block, Copied)
        and any(b.versions for b in tiles.block.boxes)
    ):
        yield f"{grid.name}: what {tiles.name} copies has versions, and these are copied directly"
    if tiles.name in around:
        yield f"{grid.name}: {tiles.name} is inside of itself"
    if missing := set(statements(tiles.block)) - set(tiles.member.statements):
        yield f"{grid.name}: {tiles.name} says nothing of {', '.join(sorted(missing))}"
