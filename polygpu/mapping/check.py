"""Whether a mapped program is well-formed: what lowering takes for granted of any, however it was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from polygpu.mapping.program import (
    Axis,
    Block,
    Box,
    Copied,
    Filled,
    Grid,
    Held,
    HeldArray,
    Program,
    Stored,
    StoredBox,
    Tiles,
    Version,
    children,
    statements,
)


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
    if missing := set(grid.statements) - set(axis.member.statements):
        yield f"{grid.name}: {axis.name} says nothing of {', '.join(sorted(missing))}"


def _names(grid: Grid) -> Iterator[str]:
    """Those that must differ; loops over tiles that follow each other may have one name."""
    yield from (name for axis in grid.axes for name in (axis.name, axis.origin))
    yield from (fixed.name for fixed in grid.outer)
    yield from {tiles.name for tiles in grid.loops}
    yield from (box.name for box, _ in grid.boxes)
    yield from (held.name for held in grid.held)


def _block(grid: Grid, block: Block, around: frozenset[str]) -> Iterator[str]:
    """`around` are the names of the loops over tiles that the block is in."""
    match block:
        case Held(arrays, inner) | Copied(arrays, inner) | Filled(arrays, inner):
            yield from (problem for array in arrays for problem in _place(grid, array, inner))
        case Stored(stores, _):
            yield from (problem for stored in stores for problem in _stored(grid, stored))
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
