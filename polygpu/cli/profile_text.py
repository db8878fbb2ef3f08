"""The report of `polygpu run`: what each kernel did, from the profile of the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polygpu.model.facts import CompilationFacts
    from polygpu.runtime.profile import KernelProfile, Profile, RegionProfile


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
        yield f"    {_counters(kernel)}"


def _counters(kernel: KernelProfile) -> str:
    """The counters that say how well memory is used, then the rest by name."""
    known = dict(kernel.counters)
    requests, coalesced = known.pop("requests", 0), known.pop("coalesced", 0)
    parts = [f"{coalesced / requests:.1%} of {requests:,} requests coalesced"] if requests else []
    parts += [f"{name.replace('_', ' ')} {value:,}" for name, value in known.items()]
    return ", ".join(parts)


def amount(count: float) -> str:
    """Bytes in a unit that a person reads: `1.5 MiB`."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"
