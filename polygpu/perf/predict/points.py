"""The points at which a piece of a kernel's code runs."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polygpu.model.device import WARP
from polygpu.perf.predict.busy import Flags
from polygpu.perf.predict.masks import Compared, Joint, reached
from polygpu.perf.predict.values import Integers
from polygpu.support.dataclass import dataclass

_OF_BLOCKS = 4  # axes: z, y, x and the launch
_GOLDEN = (5**0.5 - 1) / 2  # its multiples lie most evenly between the integers


@dataclass(frozen=True)
class Context:
    """The points that get to a piece of code: all indices of `axes`, in the lanes that all `masks` leave."""

    warps: int
    masks: tuple[Compared, ...]
    axes: tuple[Integers, ...]

    @cached_property
    def _reached(self) -> tuple[Joint, npt.NDArray[np.bool_]]:
        return reached(self.masks, self.axes)

    @cached_property
    def executions(self) -> Integers:
        """How often each warp gets here with an active lane."""
        points, here = self._reached
        return np.broadcast_to(points.sums(here), (self.warps,))

    @property
    def blocks(self) -> int:
        """Those of all launches whose first warp gets here."""
        points, here = self._reached
        return points.outer(_OF_BLOCKS, here)

    def where(self, *masks: Compared) -> Context:
        return replace(self, masks=(*self.masks, *masks))

    def repeated(self, times: Integers) -> Context:
        """An axis more, whose indices count so many times each."""
        return replace(self, axes=(times, *self.axes))

    def outermost(self, index: int = 0) -> Integers:
        """0, 1, ... along the axis of the innermost loop."""
        return np.arange(len(self.axes[index])).reshape(-1, *[1] * (len(self.axes) - 1 - index))


def looked_at(trips: int, most: int | None, busy: Flags | None = None) -> tuple[Integers, Integers]:
    """`most` of the iterations of a loop, one of each equal part, and how many there are in the part.

    It lies around the part's middle, not always as far off, so that no period of the addresses is missed.
    Where only some are `busy` those have the parts, and one more stands for all the others.
    """
    if busy is not None and most is not None and trips > most:
        mine, others = np.flatnonzero(busy), np.flatnonzero(~busy)
        places, lengths = looked_at(len(mine), most)
        both = np.append(mine[places], others[len(others) // 2])
        order = np.argsort(both)
        return both[order], np.append(lengths, len(others))[order]
    parts = trips if most is None else min(trips, most)
    ends = np.arange(parts + 1) * trips // parts
    lengths = np.diff(ends)
    off = (_spread_evenly(parts) * np.minimum(lengths // 2, WARP)).astype(np.int64)
    return (ends[:-1] + ends[1:] - 1) // 2 + off, lengths


def _spread_evenly(count: int) -> npt.NDArray[np.floating[Any]]:
    """Numbers from -1/2 to 1/2, the first 0, each `_GOLDEN` after the one before but for whole numbers."""
    return (0.5 + _GOLDEN * np.arange(count, dtype=np.float64)) % 1 - 0.5
