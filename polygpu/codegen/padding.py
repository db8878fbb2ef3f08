"""The padding pass: ICS'08's algorithm 2 on the shared arrays of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polygpu.codegen.requests import Requests, on, requests, sizes_of
from polygpu.memory.pad import Layout, PaddingChoice, Request, choose_padding
from polygpu.model.decisions import Decisions
from polygpu.model.device import Device
from polygpu.model.expr import SIZES
from polygpu.model.kernel import Kernel, SharedArray


@dataclass(frozen=True)
class Padded:
    """A kernel whose shared arrays are padded, and for each array what was found."""

    kernel: Kernel
    choices: dict[str, PaddingChoice]


def pad(kernel: Kernel, device: Device, decisions: Decisions = Decisions()) -> Padded:
    """`kernel` with the cheapest padding of each shared array, or the one that was asked for."""
    if not kernel.shared:
        return Padded(kernel, {})
    found = requests(kernel, device.request_lanes, sizes_of(kernel))
    choices = {s.name: _choose(s, list(on(found, s.name)), device) for s in kernel.shared}
    asked = decisions.find(kernel.name, "pad")
    if asked is not None and asked.value != "auto":
        rows = {s.name for s in kernel.shared if len(s.extents) > 1}
        amount = asked.sizes[0]
        choices = {n: replace(c, pad=amount) if n in rows else c for n, c in choices.items()}
    shared = tuple(_with_padding(s, choices[s.name].pad, list(on(found, s.name))) for s in kernel.shared)
    return Padded(replace(kernel, shared=shared), choices)


def _choose(s: SharedArray, found: list[Requests], device: Device) -> PaddingChoice:
    layout = Layout(s.extents[-1], SIZES[s.type], device.banks, device.rule != "sector")
    made = [
        Request(tuple(None if v is None else _row_column(s, v) for v in group), r.weight / len(r.lanes), r.wide)
        for r in found
        for group in r.lanes
    ]
    if len(s.extents) == 1:  # padding a single row moves nothing
        choice = choose_padding(made, layout)
        return replace(choice, pad=0, degree_after=choice.degree_before)
    return choose_padding(made, layout, alignment=max(_alignment(found), s.alignment // SIZES[s.type]))


def _row_column(s: SharedArray, index: tuple[int, ...]) -> tuple[int, int]:
    row = 0
    for value, extent in zip(index[:-1], s.extents[:-1], strict=True):
        row = row * extent + value
    return row, index[-1]


def _alignment(found: list[Requests]) -> int:
    return max((r.wide for r in found), default=1)


def _with_padding(s: SharedArray, amount: int, found: list[Requests]) -> SharedArray:
    wide = _alignment(found) * SIZES[s.type]
    return replace(s, padding=amount, alignment=max(s.alignment, wide))
