"""Loops whose bounds depend on the point, as in triangles: one loop for all points of a thread, tests inside.

    before:  for each point i { for (k = max(0, i - k_tile + 1); k < min(16, n - k_tile); k++) S }
    after:   for (k = 0; k < min(16, n - k_tile); k++) { for each point i { if (k_tile + k > i) S } }

So a value of k is loaded once for all points. A tile whose iterations all points of the block run needs no
test.
"""

from __future__ import annotations

from functools import reduce

import islpy as isl

from polygpu.lower.checked_scan import scan, tested
from polygpu.lower.scan import Scan, test_of
from polygpu.mapping.program import Axis
from polygpu.model.expr import Expr
from polygpu.support.dataclass import dataclass
from polygpu.support.gist import gist_params
from polygpu.support.isl_idioms import D, isl_name, maps


@dataclass(frozen=True)
class Uneven:
    """`order` of what points of `axes` run in a tile of so many iterations of the schedule's dimension `at`.

    `context` is what holds of points in the nest. Names of the loops are `names`.
    """

    order: isl.UnionMap
    context: isl.Set
    axes: tuple[Axis, ...]
    at: int
    width: int
    names: tuple[str, ...]

    def in_common(self) -> Scan:
        """All iterations that any point of the block has, from the tile's first on, with a test of each."""
        hidden = [isl_name(name) for a in self.axes for name in (a.name, a.origin)]
        below = self._below()
        times = {
            m.get_tuple_name(D.in_): _hide(m.intersect_params(self._inside).range(), hidden).apply(below)
            for m in maps(self.order)
        }
        return tested(self.order, times, self._inside, _hide(self.context, hidden), self.names)

    def whole(self, known: isl.Set) -> tuple[Expr | None, Scan]:
        """Whether all points of a block run all of the tile, where `known` holds, and the loops there."""
        missing = reduce(isl.Set.union, (self._missing(m) for m in maps(self.order)))
        found = known.align_params(missing.get_space()).subtract(missing).coalesce()
        tree = scan(self.order, self._inside.intersect(found), self.names)
        return test_of(found, known), tree

    @property
    def _inside(self) -> isl.Set:
        """What holds of points in the nest and in the block's tile."""
        return self.context.intersect(self._box)

    @property
    def _box(self) -> isl.Set:
        """The points of the block's tile."""
        found = isl.Set("{ : }")
        for a in self.axes:
            origin, point = isl_name(a.origin), isl_name(a.name)
            text = f"[{origin}, {point}] -> {{ : {origin} <= {point} < {origin} + {a.tile} }}"
            found = found.intersect(isl.Set(text))
        return found

    def _below(self) -> isl.Map:
        """From a time to those that are no later in the tile."""
        space = isl.Space.alloc(isl.DEFAULT_CONTEXT, 0, len(self.names), len(self.names))
        found = isl.Map.universe(space)
        for k in range(len(self.names)):
            if k != self.at:
                found = found.equate(D.in_, k, D.out, k)
        return found.intersect(found.order_le(D.out, self.at, D.in_, self.at)).lower_bound_val(
            D.out, self.at, isl.Val(0)
        )

    def _missing(self, m: isl.Map) -> isl.Set:
        """Blocks and tiles in which a point has no such iteration."""
        times = m.range()
        others = [k for k in range(times.dim(D.set)) if k != self.at]
        for k in reversed(others):
            times = times.project_out(D.set, k, 1)
        times = gist_params(times, self.context)
        line = isl.Set(f"{{ [t] : 0 <= t < {self.width} }}").intersect_params(self._box)
        missing = line.align_params(times.get_space()).subtract(times.align_params(line.get_space()))
        return _hide(missing, [isl_name(a.name) for a in self.axes]).params()


def _hide(line: isl.Set, names: list[str]) -> isl.Set:
    for name in names:
        at = line.find_dim_by_name(D.param, name)
        line = line.project_out(D.param, at, 1) if at >= 0 else line
    return line
