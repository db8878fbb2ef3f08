"""What a kernel's record in a profile, counted or predicted, says about its performance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from math import prod
from typing import Any, TypeAlias

from polygpu.model.device import Device
from polygpu.model.facts import CompilationFacts, KernelFact
from polygpu.perf.occupancy import occupancy
from polygpu.perf.profile_time import access_cycles, float_operations, from_profile, texture_bytes
from polygpu.perf.timing import KernelTime
from polygpu.support.dataclass import dataclass

Record: TypeAlias = Mapping[str, Any]

COSTLIEST = 3


@dataclass(frozen=True, slots=True)
class Costly:
    """A source access, and its share of what all accesses of the kernel cost the memories."""

    site: Record
    share: float


@dataclass(frozen=True, slots=True)
class Measures:
    """All launches of one kernel. `time` is modelled, None where the record has no counters.

    The counters of a record with a measured time are predicted.
    """

    record: Record
    device: Device
    fact: KernelFact | None
    time: KernelTime | None

    @property
    def measured(self) -> bool:
        """Whether `seconds` were measured."""
        return self.record.get("ms") is not None

    @property
    def seconds(self) -> float | None:
        """Device time of all launches, measured or modelled, without what it takes to launch them."""
        return float(self.record["ms"]) / 1e3 if self.measured else self.modelled

    @property
    def modelled(self) -> float | None:
        """Modelled device time of all launches."""
        return None if self.time is None else self.time.seconds * float(self.record["launches"])

    @property
    def launch_seconds(self) -> float | None:
        """What launching takes beside `seconds`; None where that is measured, which has no part for it."""
        if self.measured or self.time is None:
            return None
        return float(self.record["launches"] * self.device.costs["launch"])

    @property
    def not_counted(self) -> str:
        """Why the record has no counters, if that is known."""
        return str(self.record.get("not_counted", ""))

    @property
    def operations(self) -> float:
        """Floating-point operations, float and double."""
        return self._operations("")

    def _operations(self, prefix: str) -> float:
        classes = (self.record.get("counters") or {}).get("instructions", {})
        kept = {name: times for name, times in classes.items() if name.startswith(prefix)}
        return float_operations(kept, self.device.warp)

    @property
    def moved(self) -> float:
        """Bytes from and to device memory; lanes of a request that want the same word fetch it once."""
        counters = self.record.get("counters") or {}
        if not counters:
            return 0.0
        return self.fetched + float(counters["wide_bytes"] + 32 * (counters["near"] + counters["far"]))

    @property
    def fetched(self) -> float:
        """The part of `moved` that the texture cache fetches."""
        return texture_bytes(self.record, self.device) if self.record.get("counters") else 0.0

    @property
    def intensity(self) -> float | None:
        """Operations a byte."""
        return self.operations / self.moved if self.operations and self.moved else None

    @property
    def peak(self) -> float:
        """The most operations a second that the device does of the kernel's mixture of float and double."""
        single, double = peak(self.device, double=False), peak(self.device, double=True)
        doubles = self._operations("double_") / self.operations if self.operations else 0.0
        return 1 / ((1 - doubles) / single + doubles / double)

    @property
    def ridge(self) -> float:
        """The operations a byte from which on it is arithmetic that limits."""
        return self.peak / self.device.bandwidth

    @property
    def attainable(self) -> float | None:
        """The operations a second that the roofline allows at this intensity (Williams et al., CACM 2009)."""
        return min(self.peak, self.intensity * self.device.bandwidth) if self.intensity else None

    def costliest(self) -> Iterator[Costly]:
        """The three source accesses that cost most, most first, and what of the compiler's own costs more."""
        sites = [(access_cycles(s["counters"], self.device), s) for s in self.record.get("sites", ())]
        total = sum(cycles for cycles, _ in sites)
        found = 0
        for cycles, site in sorted(sites, key=lambda pair: -pair[0]):
            if cycles and found < COSTLIEST:
                found += bool(site.get("line"))
                yield Costly(site, cycles / total)


def peak(device: Device, *, double: bool) -> float:
    """Operations a second; those on doubles are at the rate of floats where the device makes them floats."""
    single = device.costs["flops_per_cycle"]
    rate = (device.costs["double_flops_per_cycle"] or single) if double else single
    return device.multiprocessors * device.clock * rate


def measured(record: Record, device: Device, facts: CompilationFacts) -> Measures:
    """Raises KeyError or TypeError when `record` is not a kernel's."""
    known = {kernel.name: kernel for region in facts.regions for kernel in region.kernels}
    fact = known.get(record["name"])
    resident = fact.blocks_per_multiprocessor if fact else 0
    resident = resident or occupancy(device, prod(record["block"]), 0, 0).blocks
    counted = bool(record.get("stages")) and record["launches"] > 0
    return Measures(record, device, fact, from_profile(record, device, resident) if counted else None)


def measures_record(m: Measures) -> dict[str, Any]:
    """For JSON. The unit is in the name of whatever has one; shares are from 0 to 1."""
    seconds, launches = m.seconds, m.record["launches"]
    return {
        "name": m.record["name"],
        "launches": launches,
        "grid_blocks": list(m.record["grid"]),
        "block_threads": list(m.record["block"]),
        "time_s": seconds,
        "time_per_launch_s": seconds / launches if seconds is not None and launches else None,
        "launch_time_s": m.launch_seconds,
        "time_with_launches_s": together(seconds, m.launch_seconds),
        "time_is_modelled": m.time is not None and not m.measured,
        "modelled_time_s": m.modelled,
        "counters_are": counted_how(m.record),
        "not_counted_because": m.not_counted or None,
        "limited_by": m.time.limited_by if m.time else None,
        "terms_per_launch": [_term(m.time, *term) for term in m.time.terms] if m.time else [],
        "stages": [asdict(stage) for stage in m.time.stages] if m.time else [],
        "float_operations": m.operations,
        "bytes_moved": m.moved,
        "gflop_per_s": _giga(m.operations, seconds),
        "gb_per_s": _giga(m.moved, seconds),
        "roofline": _roofline(m),
        "occupancy": _occupancy(m),
        "costliest_accesses": [_costly(c) for c in m.costliest()],
        "counters": m.record.get("counters"),
    }


def counted_how(record: Record) -> str | None:
    """`counted` or `predicted`, with `in part` where a part stands for all, or `at most`; None: neither."""
    if not record.get("counters"):
        return None
    if "predicted" in record:
        return f"predicted {record['predicted']}".removesuffix(" exactly")
    blocks = record.get("blocks_total", 0)
    return "counted in part" if record.get("blocks_run", blocks) < blocks else "counted"


def basis(kernels: Iterable[Measures]) -> str:
    """What is to be said of kernels with counters that are predicted and a time that is not; "" of others."""
    devices = {k.device.title for k in kernels if k.measured and "predicted" in k.record}
    return f"counted by prediction for {', '.join(devices)}, time measured" if devices else ""


def launch_time(kernels: Sequence[Measures]) -> float | None:
    """What all launches take; None where it is measured, or nothing is modelled."""
    seconds = [k.launch_seconds for k in kernels if k.launch_seconds is not None]
    return sum(seconds) if seconds else None


def together(seconds: float | None, launching: float | None) -> float | None:
    """Both times; None where one of them is not known."""
    return None if seconds is None or launching is None else seconds + launching


def _giga(amount: float, seconds: float | None) -> float | None:
    return amount / seconds / 1e9 if seconds else None


def _term(time: KernelTime, name: str, seconds: float) -> dict[str, Any]:
    return {"name": name, "time_s": seconds, "share_of_time": seconds / time.seconds if time.seconds else 0.0}


def _roofline(m: Measures) -> dict[str, Any]:
    reached = m.attainable and m.seconds and m.operations / m.seconds / m.attainable
    return {
        "intensity_flop_per_byte": m.intensity,
        "ridge_flop_per_byte": m.ridge,
        "peak_gflop_per_s": m.peak / 1e9,
        "bandwidth_gb_per_s": m.device.bandwidth / 1e9,
        "attainable_gflop_per_s": m.attainable and m.attainable / 1e9,
        "share_of_attainable": reached,
    }


def _occupancy(m: Measures) -> dict[str, Any] | None:
    if m.fact is None:
        return None
    warps = m.fact.warps_per_multiprocessor
    return {
        "blocks_per_multiprocessor": m.fact.blocks_per_multiprocessor,
        "warps_per_multiprocessor": warps,
        "share_of_warps": warps / m.device.warps_per_multiprocessor,
        "limited_by": m.fact.occupancy_limit,
        "registers_per_thread": m.fact.registers,
        "registers_are_decided": m.fact.registers_decided,
        "shared_bytes_per_block": m.fact.shared_bytes,
        "shared_bytes_allocated_per_block": m.fact.shared_bytes_allocated,
    }


def _costly(c: Costly) -> dict[str, Any]:
    kept = ("text", "array", "space", "write", "file", "line", "column")
    return {key: c.site.get(key) for key in kept} | {"share_of_accesses": c.share}
