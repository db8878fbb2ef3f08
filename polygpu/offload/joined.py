"""Which loops of the host are one launch: where persons decide it, or launches are short and cost most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from polygpu.lower.realise import CompiledRegion
from polygpu.model.device import Device
from polygpu.offload.instances import Sizes
from polygpu.offload.seconds import Ledger
from polygpu.offload.typical import typical
from polygpu.perf.lanes import uniform
from polygpu.perf.launches import host_values, launches
from polygpu.perf.resources import resident

_LAUNCHES = 3  # iterations of a loop of the host that are looked at


def joined(r: CompiledRegion, device: Device, stated: Mapping[str, int], rule: bool = True) -> CompiledRegion:
    """The region whose kernels say whether a loop around them may be one launch.

    Without a decision the `rule` says so, at typical sizes, some of them `stated`.
    """
    if not any(grid.outer for grid in r.grids):
        return r
    asked = [wanted.find("launch") for wanted in r.asked]
    undecided = any(grid.outer and not d for grid, d in zip(r.grids, asked, strict=True))
    short = rule and undecided and is_short(Ledger(r, device), stated)
    kernels = tuple(
        replace(kernel, joined=bool(grid.outer) and (d.value == "one" if d else short))
        for kernel, grid, d in zip(r.region.kernels, r.grids, asked, strict=True)
    )
    return r.with_kernels(replace(r.region, kernels=kernels))


def is_short(ledger: Ledger, stated: Mapping[str, int]) -> bool:
    """Whether barriers instead of launches save a good part of what kernels take, at typical sizes.

    Each launch must fit the chip at once: what does not is long enough for the next one to be prepared.
    """
    costs = ledger.device.costs
    saved = 1 - costs["grid_barrier"] / costs["launch"] if costs["launch"] else 0.0
    if not costs["grid_barrier"] or saved <= 0:
        return False
    sizes = typical(ledger, stated)
    if not _fit(ledger, sizes):
        return False
    price = ledger.at(sizes)
    return price.launches * saved >= ledger.device.margin * price.kernels


def _fit(ledger: Ledger, sizes: Sizes) -> bool:
    """Whether the chip holds all blocks of each launch in loops of the host at a time."""
    device, region = ledger.device, ledger.region.region
    inside = {grid.name for grid in ledger.region.grids if grid.outer}
    kernels = (k for k in region.kernels if k.name in inside)
    most = {k.name: device.multiprocessors * resident(k, device).blocks for k in kernels}
    made = launches(region.body, host_values(region, sizes), _LAUNCHES)
    return all(
        prod(max(0, uniform(e, at) or 0) for e in launch.grid) <= most[launch.kernel]
        for launch, at, _ in made
        if launch.kernel in inside
    )
