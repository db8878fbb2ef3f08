"""What choices load and store by their tiles alone: symbolic counts (Baskaran et al., ICS'08, 4.6) at sizes.

C[i][j] += A[i][k] * B[k][j], tiles of T_i x T_j of n x m points, p of k:  n m p (1 / T_i + 1 / T_j) + 2 n m
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import product

from polygpu.mapping.program import Grid
from polygpu.mapping.traffic import Traffic, evaluated, tile_size, traffic
from polygpu.search.space import DEALS, Choice, Space
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True)
class Moved:
    """Elements that all tiles of a launch load and store, of the nest that `grid` is one mapping of."""

    grid: Grid
    space: Space
    sizes: Mapping[str, int]

    @cached_property
    def _traffic(self) -> Traffic:
        return traffic(self.grid)

    def elements(self, tiles: Mapping[str, int]) -> int | None:
        """With these tiles, others as the grid has them; None where no expression says how many."""
        found = self._traffic
        counts = (*found.loads.values(), *found.stores.values())
        try:
            values = {**found.chosen(self.sizes)}
            for axis, extent in zip(found.axes, found.extents, strict=True):
                if axis.name in tiles:
                    values[str(tile_size(axis))] = min(tiles[axis.name], evaluated(extent, self.sizes))
            known = [found.total_at(c, values) for c in counts if c is not None]
        except (KeyError, ZeroDivisionError):  # a bound of host loops; nothing of a tile is its own
            return None
        return sum(known) if len(known) == len(counts) else None

    @cached_property
    def least(self) -> int:
        """Of all tiles that there are."""
        some = {tuple(sorted(self._tiles(*each).items())) for each in product(*self.space.dimensions[:3])}
        found = (self.elements(dict(tiles)) for tiles in some if tiles)
        return min((count for count in found if count is not None), default=0)

    def _tiles(self, order: tuple[str, ...], *shape: tuple[int, ...]) -> dict[str, int]:
        """Those of a choice's axes; none if it is not worth making for whatever else it has."""
        threads, points = shape
        choice = Choice(order, threads, points, DEALS[0], 0, (), "none", 0, "auto")
        names = (axis.removeprefix("-") for axis in order)
        tiles = (t * p for t, p in zip(threads, points, strict=True))
        return {} if self.space.why_not(choice) else dict(zip(names, tiles, strict=True))
