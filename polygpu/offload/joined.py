"""Which loops of the host are one launch: where persons decide it, or launches are short and cost most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from polygpu.lower.realise import CompiledRegion
from polygpu.model.device import Device
from polygpu.model.kernel import (
    PART_BARRIERS,
    Barrier,
    HostFor,
    HostIf,
    HostStatement,
    Joined,
    Kernel,
    Part,
    Region,
)
from polygpu.model.kernel_walk import statements
from polygpu.model.rewrite import scalars_in
from polygpu.offload.instances import Sizes
from polygpu.offload.seconds import Ledger
from polygpu.offload.typical import typical
from polygpu.perf.lanes import uniform
from polygpu.perf.launches import host_values, launches
from polygpu.perf.resources import registers_of, resident
from polygpu.printing.kernel_text import part_bytes
from polygpu.printing.uses import host_expressions
from polygpu.printing.uses import launches as launched

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
    region = replace(r.region, kernels=kernels)
    return r.with_kernels(replace(region, joined=tuple(loops_of(region, device))))


def loops_of(region: Region, device: Device) -> Iterator[Joined]:
    """The loops of the host, from the outermost, all of whose kernels may be joined."""
    kernels = {k.name: k for k in region.kernels if k.joined and _may_join(k, device)}
    stem = region.name.removeprefix("polygpu_")
    loops = dict.fromkeys(_outermost(region.body, frozenset(kernels)))
    return (_joined(f"{stem}_loop{k}", loop, kernels, device) for k, loop in enumerate(loops))


def _outermost(
    body: Iterable[HostStatement], kernels: frozenset[str], around: frozenset[str] = frozenset()
) -> Iterator[HostFor]:
    """Those that depend on no index of loops `around`, which stay loops of the host."""
    for s in body:
        match s:
            case HostFor() if {launch.kernel for launch in launched(s.body)} <= kernels:
                if not around & scalars_in(*host_expressions((s,))):
                    yield s
            case HostFor():
                yield from _outermost(s.body, kernels, around | {s.index})
            case HostIf():
                yield from _outermost(s.body, kernels, around)


def _may_join(kernel: Kernel, device: Device) -> bool:
    """Whether blocks of the kernel can be parts of others: where they have barriers, of whole warps."""
    return not _meets(kernel) or prod(kernel.block) % device.warp == 0


def _meets(kernel: Kernel) -> bool:
    return bool(kernel.shared) or any(isinstance(s, Barrier) for s in statements(kernel.body))


def _joined(name: str, loop: HostFor, kernels: Mapping[str, Kernel], device: Device) -> Joined:
    made = [launch.kernel for launch in launched(loop.body)]
    mine = [kernels[name] for name in dict.fromkeys(made)]
    threads = _threads(mine, device)
    changes = frozenset(a.name for k in mine for a in k.arrays if a.written)
    parts = tuple(_part(k, threads, device) for k in mine)
    return Joined(name, loop, parts, threads, (True,) * len(made), changes)


def _threads(kernels: Sequence[Kernel], device: Device) -> int:
    """The largest power of two that the registers of a multiprocessor suffice for, or the largest block."""
    registers = max(registers_of(kernel, device) for kernel in kernels)
    most = min(device.max_threads_per_block, device.registers_per_multiprocessor // registers)
    widest = max(prod(kernel.block) for kernel in kernels)
    return max(1 << most.bit_length() - 1, widest + -widest % device.warp)


def _part(kernel: Kernel, block: int, device: Device) -> Part:
    threads, meets, size = prod(kernel.block), _meets(kernel), part_bytes(kernel)
    limits = [
        block // threads,
        *([PART_BARRIERS] if meets else []),
        *([device.shared_per_block // size] if size else []),
    ]
    return Part(kernel.name, threads, max(1, min(limits)), size, meets, threads == block)


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
