"""The report of `polygpu run`: what each kernel did, from the profile of the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from polygpu.analysis.profile_time import from_profile
from polygpu.report.quantities import byte_count, counted, duration, number, product, share

if TYPE_CHECKING:
    from polygpu.model.device import Device
    from polygpu.pipeline import Compilation
    from polygpu.runtime.profile import Counters, KernelProfile, Profile, RegionProfile, SiteProfile


def render(profile: Profile, compilation: Compilation) -> str:
    """Lines for a terminal: a paragraph a region, and in it one a kernel."""
    device = compilation.device
    resident = {
        kernel.name: kernel.blocks_per_multiprocessor
        for region in compilation.facts.regions
        for kernel in region.kernels
    }
    lines = [f"{profile.target} for {device.title}"]
    for region in profile.regions:
        lines.append(_region(region))
        for kernel in region.kernels:
            lines += _kernel(kernel, device, resident.get(kernel.name, 1))
    return "".join(f"{line}\n" for line in lines)


def _region(region: RegionProfile) -> str:
    moved = f"{byte_count(region.bytes_in)} in, {byte_count(region.bytes_out)} out"
    return f"{region.name}: {counted(region.calls, 'call')}, {moved}"


def _kernel(kernel: KernelProfile, device: Device, resident: int) -> Iterator[str]:
    shape = f"grid {product(kernel.grid)}, block {product(kernel.block)}"
    yield f"  {kernel.name}: {counted(kernel.launches, 'launch')}, {shape}"
    if kernel.milliseconds is not None:
        yield f"    time: {duration(kernel.milliseconds / 1e3)} on the device"
    if kernel.counters:
        modelled = from_profile(kernel.record, device, resident)
        time = f"{duration(modelled.seconds)} a launch by the model"
        yield f"    time: {time}, limited by {modelled.limited_by}"
        yield from _counters(kernel.counters)
    for site in kernel.sites:
        yield from _site(site)


def _counters(counters: Counters) -> Iterator[str]:
    """How well the kernel uses memory, and what its warps issued."""
    if counters["requests"]:
        yield f"    global memory: {_global(counters)}, {byte_count(counters['bytes'])}"
    if counters["shared_requests"]:
        yield f"    shared memory: {_shared(counters)}"
    issued = sum(counters.instructions.values()) or counters["slots"]
    branches = f"{counters['divergent']:,} divergent branches"
    yield f"    control: {branches}, {counted(counters['barriers'], 'barrier')}, {issued:,} warp instructions"


def _site(site: SiteProfile) -> Iterator[str]:
    counted = site.counters
    parts = [_global(counted)] if counted["requests"] else []
    parts += [_shared(counted)] if counted["shared_requests"] else []
    if parts:
        verb = "write" if site.write else "read"
        name = site.text or f"{site.array} (staging)"
        place = f"{site.place}: " if site.place else ""
        yield f"      {place}{verb} {name}: {'; '.join(parts)}"


def _global(counters: Counters) -> str:
    requests = counters["requests"]
    transactions = sum(counters[f"transactions_{size}"] for size in (32, 64, 128))
    coalesced = f"{share(counters['coalesced'] / requests)} of {counted(requests, 'request')} coalesced"
    return f"{coalesced}, {number(transactions / requests)} transactions each"


def _shared(counters: Counters) -> str:
    requests, conflicts = counters["shared_requests"], counters["conflict_steps"]
    if not conflicts:
        return f"{counted(requests, 'request')} without bank conflicts"
    steps = f"{number(1 + conflicts / requests)} steps each"
    return f"{counted(requests, 'request')}, {counted(conflicts, 'conflict step')} ({steps})"
