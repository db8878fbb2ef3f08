"""Padding of shared arrays against bank conflicts: ICS'08, algorithm 2.

Every reference of the array, reads, writes and copy code alike, is represented by the requests that it
makes; the algorithm tries each pad of the innermost dimension and takes the cheapest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from polygpu.perf.banks import Banks, Steps, access_steps
from polygpu.support.dataclass import dataclass

Element: TypeAlias = tuple[int, int] | None  # (row, column) of a lane; None: an idle lane


@dataclass(frozen=True, slots=True)
class Request:
    """What the lanes of one request access, and how often such a request runs in a block.

    `lanes` has the index vector of each lane, all dimensions but the last linearised to a row. A lane
    accesses `width` elements from there on.
    """

    lanes: tuple[Element, ...]
    weight: float = 1.0
    width: int = 1


@dataclass(frozen=True, slots=True)
class Layout:
    """A shared array as its banks see it: `row_length` elements of `element_size` bytes a row."""

    row_length: int
    element_size: int
    banks: Banks


@dataclass(frozen=True, slots=True)
class PaddingChoice:
    """`pad` elements on each row; degrees are the worst of all requests, before (pad 0) and after.

    `table` has (pad, cost, resident blocks) of every pad tried, in order.
    """

    pad: int
    degree_before: int
    degree_after: int
    table: tuple[tuple[int, float, int], ...]


def affine_lanes(row_stride: int, column_stride: int, lanes: int) -> tuple[Element, ...]:
    """Lane k at row `k * row_stride`, column `k * column_stride`."""
    return tuple((lane * row_stride, lane * column_stride) for lane in range(lanes))


def request_steps(request: Request, layout: Layout, pad: int) -> Steps:
    """Steps of one request when rows are `pad` elements longer."""
    pitch = layout.row_length + pad
    addresses = [
        None if lane is None else layout.element_size * (lane[0] * pitch + lane[1]) for lane in request.lanes
    ]
    size = layout.element_size * request.width
    return access_steps(addresses, size, layout.banks)


def worst_degree(requests: Iterable[Request], layout: Layout, pad: int) -> int:
    """The largest degree of conflict; 1 is conflict-free, 0 no request at all."""
    return max((request_steps(request, layout, pad).degree for request in requests), default=0)


def choose_padding(
    requests: Sequence[Request],
    layout: Layout,
    *,
    alignment: int = 1,
    resident: Callable[[int], int] = lambda _: 1,
) -> PaddingChoice:
    """The pad from 0 to banks - 1, a multiple of `alignment` elements, that takes the fewest steps.

    The cost is the sum over requests of weight x steps (ICS'08's C(n) with t_request of 1; t_start is the
    same for every pad). Ties go to the smallest pad. `resident` says how many blocks a multiprocessor
    holds with a pad. A pad that costs a block is taken only if it pays: steps divided by resident blocks,
    which is the time when latency and not the shared memory limits, must still be less.
    """
    widest = max((request.width for request in requests), default=1)
    step = max(alignment, widest)
    table = tuple(
        (pad, _cost(requests, layout, pad), blocks)
        for pad in range(0, layout.banks.count, step)
        if (blocks := resident(pad)) > 0 or pad == 0
    )
    pad = _best(table)
    return PaddingChoice(pad, worst_degree(requests, layout, 0), worst_degree(requests, layout, pad), table)


def _cost(requests: Iterable[Request], layout: Layout, pad: int) -> float:
    return sum(request.weight * request_steps(request, layout, pad).steps for request in requests)


def _best(table: Sequence[tuple[int, float, int]]) -> int:
    most = max(blocks for _, _, blocks in table)
    free = min((row for row in table if row[2] == most), key=lambda row: (row[1], row[0]))
    paying = [row for row in table if row[1] * most < free[1] * row[2]]
    return min(paying, key=lambda row: (row[1] / row[2], row[0]))[0] if paying else free[0]
