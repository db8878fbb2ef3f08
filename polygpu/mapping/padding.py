"""The padding pass: ICS'08's algorithm 2 on the shared arrays of a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from operator import mul

from polygpu.mapping.pad import Element, Layout, PaddingChoice, Request, choose_padding, worst_degree
from polygpu.model.device import Device
from polygpu.model.expr import SIZES, Int
from polygpu.model.fragments import left_parts, product_of, right_parts
from polygpu.model.kernel import Declare, For, Kernel, Move, SharedArray, Statement
from polygpu.model.kernel_walk import map_statements, statements
from polygpu.perf.banks import Banks
from polygpu.perf.requests import Index, Requests, requests
from polygpu.perf.resources import resident
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True)
class Padded:
    """A kernel whose shared arrays are padded, and for each array what was found."""

    kernel: Kernel
    choices: dict[str, PaddingChoice]


def pad(kernel: Kernel, device: Device, asked: Mapping[str, int] | None = None) -> Padded:
    """`kernel` with the cheapest padding of each shared array, one after another, or the one asked for.

    A padding that costs a resident block, of this array and those padded before it, has to pay. One that
    was asked for is rounded up to what wide accesses need.
    """
    if not kernel.shared:
        return Padded(kernel, {})
    found = requests(_loading(kernel), device.request_lanes, arrays=[s.name for s in kernel.shared])
    choices: dict[str, PaddingChoice] = {}
    for plain in kernel.shared:
        mine = [r for r in found if r.reference.array == plain.name]
        width = max(_widest(mine), _widest_move(kernel.body, plain.name))
        s = replace(plain, alignment=max(plain.alignment, width * SIZES[plain.type]))
        choices[s.name] = choice = _choose(_with(kernel, s), s, mine, device, (asked or {}).get(s.name))
        kernel = _with(kernel, replace(s, padding=choice.pad))
    return Padded(kernel, choices)


def _loading(kernel: Kernel) -> Kernel:
    """The kernel with the loads of lanes in the place of what a warp computes together."""

    def loads(s: Statement) -> Statement:
        product = product_of(s) if isinstance(s, For) and s.fragments else None
        if product is None or not isinstance(s, For):
            return s
        parts = enumerate((*left_parts(product), *right_parts(product)))
        return replace(s, upper=Int(1), body=tuple(Declare(f"part_{k}", r.type, r) for k, r in parts))

    return replace(kernel, body=map_statements(kernel.body, loads))


def _widest_move(body: tuple[Statement, ...], array: str) -> int:
    """Elements of the widest move from or to `array`, whether it is known to be made or not."""
    moves = (s for s in statements(body) if isinstance(s, Move))
    return max((s.width for s in moves if array in (s.target.array, s.source.array)), default=1)


def _with(kernel: Kernel, array: SharedArray) -> Kernel:
    shared = tuple(array if s.name == array.name else s for s in kernel.shared)
    return replace(kernel, shared=shared)


def _choose(
    kernel: Kernel, s: SharedArray, found: list[Requests], device: Device, asked: int | None
) -> PaddingChoice:
    layout = layout_of(s, device)
    made = tuple(distinct(s, found, layout))
    alignment = s.alignment // SIZES[s.type]
    if len(s.extents) == 1:  # padding a single row moves nothing
        choice = choose_padding(made, layout, alignment=layout.banks.count)
        return replace(choice, pad=0, degree_after=choice.degree_before)
    if asked is not None:
        amount = -(-asked // alignment) * alignment
        return PaddingChoice(amount, worst_degree(made, layout, 0), worst_degree(made, layout, amount), ())
    return choose_padding(
        made,
        layout,
        alignment=alignment,
        resident=lambda pad: resident(_with(kernel, replace(s, padding=pad)), device).blocks,
    )


def layout_of(s: SharedArray, device: Device) -> Layout:
    """The array without padding."""
    return Layout(s.extents[-1], SIZES[s.type], Banks.of(device))


def distinct(s: SharedArray, found: Iterable[Requests], layout: Layout) -> Iterator[Request]:
    """The requests of `s` that differ in more than a shift by whole words, which keeps every conflict."""
    rows = _rows_between(s)
    shift = SIZES[s.type] >= layout.banks.word  # narrower elements stay where they are in their words
    weights: dict[tuple[tuple[Element, ...], int], float] = {}
    for r in found:
        for lanes in r.lanes:
            key = _places(lanes, rows, shift), r.wide
            weights[key] = weights.get(key, 0.0) + r.weight
    for (lanes, wide), weight in weights.items():
        yield Request(lanes, weight, wide)


def _rows_between(s: SharedArray) -> list[int]:
    """How many rows lie between an element and the next one, in each dimension."""
    rows = [0]
    for extent in (1, *s.extents[-2:0:-1])[: len(s.extents) - 1]:
        rows.insert(0, extent * (rows[0] or 1))
    return rows


def _places(lanes: tuple[Index | None, ...], rows: list[int], shift: bool) -> tuple[Element, ...]:
    """Rows and columns, with `shift` from those of the first active lane."""
    row = column = 0
    if shift:
        first = next(index for index in lanes if index is not None)
        row, column = sum(map(mul, first, rows)), first[-1]
    return tuple(
        None if index is None else (sum(map(mul, index, rows)) - row, index[-1] - column) for index in lanes
    )


def _widest(found: list[Requests]) -> int:
    return max((r.wide for r in found), default=1)
