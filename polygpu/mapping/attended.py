"""Threads of a block that only copy, for few that compute.

before: 64 threads: for j_tile: copy A_s, 64 elements a thread; barrier; for j: ... A_s[i][j]
after:  8 x 16 threads: for j_tile: copy A_s, 4 a thread; barrier; in 8 threads: for j: ... A_s[i][j]
"""

from __future__ import annotations

from itertools import count as count_from

from polygpu.mapping.program import Axis, Grid, single_member
from polygpu.mapping.wanted import Wanted
from polygpu.model.device import Device


def is_swept(grid: Grid) -> bool:
    """Whether threads run loops on what is copied for them ahead."""
    return grid.buffering == "ring" and any(tiles for _, tiles in grid.boxes)


def attended(grid: Grid, count: int, device: Device, asked: Wanted) -> tuple[Axis, ...]:
    """The axes of a nest, one more for those of `count` threads that only copy where it has one, and tiles.

    Raises RefusedError where so many are asked for and cannot be.
    """
    decision = asked.find("attend")
    if decision is not None and isinstance(decision.value, int):
        count = decision.value
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
