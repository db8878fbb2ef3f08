"""Threads of a block that only copy, for few that compute.

before: 64 threads: for j_tile: copy A_s, 64 elements a thread; barrier; for j: ... A_s[i][j]
after:  8 x 16 threads: for j_tile: copy A_s, 4 a thread; barrier; in 8 threads: for j: ... A_s[i][j]

For one thread they also do so in loops around what is in tiles:

before: one thread: for i: { for j: w -= A[i][j] * x[j]; x[i] = w }
after:  256 threads: for i: { for j_tile: copy A_s, x_s; barrier; in one thread: for j: w -= A_s[j] * x_s[j]
                              in one thread: x[i] = w; barrier }
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count as count_from

from polygpu.mapping.fixed import single_member
from polygpu.mapping.program import Axis, Block, Grid, Meet, Series, Tiles
from polygpu.mapping.wanted import Wanted
from polygpu.model.device import Device
from polygpu.schedule.tree import Band, Member, Node, band, parts


def is_swept(grid: Grid) -> bool:
    """Whether threads run loops on what is copied for them ahead."""
    return grid.buffering == "ring" and any(tiles for _, tiles in grid.boxes)


def attended(grid: Grid, count: int, device: Device, asked: Wanted) -> tuple[Axis, ...]:
    """The axes of a nest, one more for those of `count` threads that only copy where it has one, and tiles.

    Raises RefusedError where so many are asked for and cannot be.
    """
    decision = asked.find("attend")
    wanted = (asked.value("attend", tiles.member) for _, tiles in grid.boxes if tiles)
    count = next((value for value in wanted if isinstance(value, int)), count)
    if len(grid.axes) != 1 or grid.attending or not any(tiles for _, tiles in grid.boxes):
        return grid.axes
    threads = grid.axes[0].threads
    if count <= threads:
        return grid.axes
    why = ""
    if count % threads:
        why = f"{count} threads are no multiple of the {threads} that compute"
    elif count > device.max_threads_per_block:
        why = f"a block of {count} threads; {device.title} allows {device.max_threads_per_block}"
    if why and decision is not None:
        raise asked.refused(decision, "PG304", why, "ask for another multiple, or for none")
    member = single_member(grid.p, grid.statements)
    return grid.axes if why else (Axis(_name(grid), member, count // threads, copies=True), *grid.axes)


def _name(grid: Grid) -> str:
    """That of no other thing in the kernel."""
    own = {n for a in grid.axes for n in (a.name, a.origin)} | {t.name for t in grid.loops}
    taken = own | {f.name for f in grid.outer} | grid.p.names()
    return next(name for k in count_from(1) if (name := f"copy{k if k > 1 else ''}") not in taken)


def levels(body: Node) -> list[tuple[tuple[Member, ...], Node]]:
    """The loops around each part of a body that is in them alone, and has loops itself: from the most of them
    to none.

    for i: { for j: S; T }   ->   (i,), { for j: S; T }   and   (), for i: { for j: S; T }
    """
    found: list[tuple[tuple[Member, ...], Node]] = [((), body)]
    while isinstance(body, Band):
        around, _ = found[0]
        first, *rest = body.members
        body = band(tuple(rest), body.permutable, body.child)
        if any(isinstance(part, Band) for part in parts(body)):
            found.insert(0, ((*around, first), body))
        else:
            break
    return found


def stepwise(grid: Grid, outer: int, meeting: bool) -> Grid:
    """The grid with all loops around it but the `outer` ones in its blocks, whose threads go through them
    step by step, `meeting` after each: what one stores in a step others of the block may copy in the next.
    """
    steps = grid.outer[outer:]
    block: Block = Series((grid.block, Meet())) if steps and meeting else grid.block
    for f in reversed(steps):
        block = Tiles(f.member, f.name, 1, block)
    return replace(grid, block=block, outer=grid.outer[:outer])
