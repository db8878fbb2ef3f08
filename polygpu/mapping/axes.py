"""Which parallel loops are axes of a grid, where there are more than it has; blocks go through the others.

before: parallel n, k, p, q: out[n][k][p][q] = ...
after:  axes k, p, q, whose blocks run: for n: out[n][k][p][q] = ...
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, prod

from polygpu.mapping.products import points_along
from polygpu.mapping.program import Axis, Grid
from polygpu.mapping.rules import lane
from polygpu.mapping.wanted import Wanted, direction
from polygpu.model.device import Device
from polygpu.schedule.loop_names import loop_names
from polygpu.schedule.nests import AXES

_OF_AXES = ("order", "threads", "tile", "deal")


def inside_blocks(whole: Grid, device: Device, asked: Wanted, typical: Mapping[str, int]) -> tuple[int, ...]:
    """The positions of the axes that are loops of blocks, of a grid with one for each parallel loop.

    That is the outermost one, or the shortest where fewer points would be left than the chip has threads, at
    sizes that are known or `typical`; but never the lanes', or one that decisions name.
    """
    count = len(whole.axes)
    if count <= AXES:
        return ()
    kept = {k for k, axis in enumerate(whole.axes) if _is_named(axis, asked)}
    if not asked.names("order"):
        kept.add(lane(whole)[0])
    extents = [points_along(whole, k, typical) or inf for k in range(count)]
    threads = device.multiprocessors * device.threads_per_multiprocessor
    inside: list[int] = []
    while count - len(inside) > AXES:
        left = [k for k in range(count) if k not in inside]
        free = [k for k in left if k not in kept] or left
        few = prod(extents[k] for k in left if k != free[0]) < threads
        inside.append(min(free, key=lambda k: extents[k]) if few else free[0])
    return tuple(sorted(inside))


def _is_named(axis: Axis, asked: Wanted) -> bool:
    known = loop_names(asked.p, axis.member)
    return any(direction(name, known) is not None for key in _OF_AXES for name in asked.names(key))
