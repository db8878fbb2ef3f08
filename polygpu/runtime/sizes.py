"""At which sizes a compiled region is tried: small, odd, and those around its tiles."""

from __future__ import annotations

from collections.abc import Iterable

from polygpu.lower.realise import CompiledRegion
from polygpu.mapping.program import Tiles, walk

SMALL = (0, 1, 2, 3)
ODD = (5, 7, 15, 16, 17, 33, 100)  # 16: lanes of a request on older chips
MOST_INSTANCES = 300_000  # of one statement, at the largest size
LARGEST = 1100


def tiles(region: CompiledRegion) -> tuple[int, ...]:
    """The sizes of the tiles and steps of its kernels, and of chunks whose terms a block shares."""
    found = {axis.tile for grid in region.grids for axis in grid.axes}
    found |= {block.width for grid in region.grids for block in walk(grid.block) if isinstance(block, Tiles)}
    return tuple(sorted(found | chunks(region)))


def chunks(region: CompiledRegion) -> set[int]:
    shared = (asked.nest.shared for asked in region.asked)
    return {width for s in shared if s is not None for width in s.widths if width}


def vectors(region: CompiledRegion, count: int) -> tuple[tuple[int, ...], ...]:
    """Values of `count` sizes, cheapest first: all equal, all different, and one of them 0 or 1."""
    if not count:
        return ((),)
    depth = max((len(s.iterators) for s in region.scop.statements), default=1)
    depth += any(s.value is not None for s in region.scop.scalars)
    longest = max(LARGEST, *(2 * n + 1 for n in (0, *chunks(region))))
    most = min(longest, int(MOST_INSTANCES ** (1 / max(depth, 1))))
    around = [v for t in tiles(region) for v in (t - 1, t, t + 1, 2 * t + 1)]
    values = sorted({v for v in (*SMALL, *ODD, *around) if 0 <= v <= most})
    found = [(v,) * count for v in values]
    if count > 1:
        found += [_different(first, count, most) for first in (5, 33, most)]
        found += [tuple(v if k == odd else 6 for k in range(count)) for odd in range(count) for v in (0, 1)]
    return tuple(sorted(dict.fromkeys(found), key=_cost))


def _different(first: int, count: int, most: int) -> tuple[int, ...]:
    return tuple(max(2, min(first, most) - 2 * k) for k in range(count))


def _cost(vector: Iterable[int]) -> tuple[int, tuple[int, ...]]:
    values = tuple(vector)
    return sum(values), values
