"""The report of `polygpu run`: what each kernel did, from the profile of the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polygpu.model.facts import CompilationFacts
    from polygpu.runtime.profile import Counters, KernelProfile, Profile, RegionProfile, SiteProfile


def render(profile: Profile, facts: CompilationFacts) -> str:
    """Lines for a terminal: a paragraph a region, and in it one a kernel."""
    modelled = {k.name: k.time_ms for region in facts.regions for k in region.kernels}
    lines = [f"{profile.target} on {facts.title or facts.device or profile.device}"]
    for region in profile.regions:
        lines.append(_region(region))
        for kernel in region.kernels:
            lines += _kernel(kernel, modelled.get(kernel.name))
    return "".join(f"{line}\n" for line in lines)


def _region(region: RegionProfile) -> str:
    calls = f"{region.calls} call" + "s" * (region.calls != 1)
    return f"{region.name}: {calls}, {amount(region.bytes_in)} in, {amount(region.bytes_out)} out"


def _kernel(kernel: KernelProfile, predicted: float | None) -> Iterator[str]:
    grid, block = (" x ".join(map(str, triple)) for triple in (kernel.grid, kernel.block))
    launches = f"{kernel.launches} launch" + "es" * (kernel.launches != 1)
    yield f"  {kernel.name}: {launches}, grid {grid}, block {block}"
    if kernel.milliseconds is not None:
        yield f"    {kernel.milliseconds:.4g} ms on the device"
    if predicted is not None:
        yield f"    {predicted:.4g} ms a launch by the model"
    if kernel.counters:
        yield from _counters(kernel.counters)
    for site in kernel.sites:
        yield from _site(site)


def _counters(counters: Counters) -> Iterator[str]:
    """How well the kernel uses memory, and what its warps issued."""
    if counters["requests"]:
        yield f"    global memory: {_global(counters)}, {amount(counters['bytes'])}"
    if counters["shared_requests"]:
        yield f"    shared memory: {_shared(counters)}"
    yield (
        f"    control: {counters['divergent']:,} divergent branches, {counters['barriers']:,} barriers, "
        f"{sum(counters.instructions.values()) or counters['slots']:,} warp instructions"
    )


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
    coalesced = counters["coalesced"] / requests
    return (
        f"{coalesced:.1%} of {requests:,} requests coalesced, {transactions / requests:.3g} transactions each"
    )


def _shared(counters: Counters) -> str:
    requests, conflicts = counters["shared_requests"], counters["conflict_steps"]
    if not conflicts:
        return f"{requests:,} requests without bank conflicts"
    return f"{requests:,} requests, {conflicts:,} conflict steps ({1 + conflicts / requests:.3g} steps each)"


def amount(count: float) -> str:
    """Bytes in a unit that a person reads: `1.5 MiB`."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"
