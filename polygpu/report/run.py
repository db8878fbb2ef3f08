"""The report of `polygpu run`: where the time of each kernel goes, from the profile of the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from polygpu.analysis.occupancy import occupancy
from polygpu.analysis.profile_time import access_cycles, float_operations, from_profile
from polygpu.analysis.timing import KernelTime
from polygpu.model.device import Device
from polygpu.model.facts import CompilationFacts, KernelFact
from polygpu.report.layout import Line, Span, ansi, indented, line, plain, table
from polygpu.report.quantities import byte_count, counted, duration, product, rounded, share
from polygpu.report.text import occupancy_text

Record: TypeAlias = Mapping[str, Any]

COSTLIEST = 3
_BAR = 20


@dataclass(frozen=True, slots=True)
class Run:
    """All launches of one kernel: its record, its modelled time if it was counted, and its occupancy."""

    record: Record
    device: Device
    fact: KernelFact | None
    time: KernelTime | None

    @property
    def seconds(self) -> float | None:
        """Device time of all launches, measured or modelled."""
        if self.time is not None:
            return self.time.seconds * float(self.record["launches"])
        milliseconds = self.record.get("ms")
        return None if milliseconds is None else milliseconds / 1e3


def run_text(document: Record, device: Device, facts: CompilationFacts, color: bool = False) -> str:
    """Text for `document`, what POLYGPU_PROFILE wrote. Raises KeyError or TypeError if it is malformed."""
    lines = run_lines(document, device, facts)
    return ansi(lines) if color else plain(lines)


def run_lines(document: Record, device: Device, facts: CompilationFacts) -> Iterator[Line]:
    known = {kernel.name: kernel for region in facts.regions for kernel in region.kernels}
    where = f"emulated {device.title}" if document["target"] == "emulator" else document.get("device", "")
    yield line(Span(f"{document['target']}: {where}" if where else document["target"], "title"))
    for region in document["regions"]:
        yield line()
        moved = f"{byte_count(region['bytes_in'])} in, {byte_count(region['bytes_out'])} out"
        yield line(Span(region["name"], "title"), f"  {counted(region.get('calls', 1), 'call')}, {moved}")
        for number, record in enumerate(region["kernels"]):
            if number:
                yield line()
            yield from indented(_kernel(_run(record, device, known.get(record["name"]))))


def _run(record: Record, device: Device, fact: KernelFact | None) -> Run:
    resident = fact.blocks_per_multiprocessor if fact else 0
    resident = resident or occupancy(device, prod(record["block"]), 0, 0).blocks
    time = from_profile(record, device, resident) if record.get("stages") else None
    return Run(record, device, fact, time)


def _kernel(run: Run) -> Iterator[Line]:
    record = run.record
    grid, block = product(record["grid"]), product(record["block"])
    head = f"{counted(record['launches'], 'launch')}, grid {grid}, block {block}"
    yield line(Span("kernel", "label"), f" {record['name']}", Span(f"  {head}", "dim"))
    if not record["launches"]:
        return
    blocks, ran = record.get("blocks_total", 0), record.get("blocks_run", record.get("blocks_total", 0))
    if ran < blocks:
        yield line(Span(f"  counted in {ran} of its {blocks} blocks", "dim"))
    rows = [(Span(name, "dim"), text) for name, text in _rows(run) if text]
    yield from indented(table(rows))
    if run.time is not None:
        yield line()
        yield from indented(_terms(run.time))
        yield from indented(_costliest(run))


def _rows(run: Run) -> Iterator[tuple[str, str | Span]]:
    yield "time", _time(run)
    yield "rate", _rate(run)
    yield "occupancy", occupancy_text(run.fact, run.device.warps_per_multiprocessor) if run.fact else ""
    counters = run.record.get("counters") or {}
    if counters:
        yield "global memory", _global(counters)
        yield "shared memory", _shared(counters)
        yield "divergence", _divergence(counters)


def _time(run: Run) -> str:
    if run.seconds is None:
        return ""
    launches = run.record["launches"]
    each = f", {duration(run.seconds / launches)} a launch" if launches > 1 else ""
    if run.time is None:
        return f"{duration(run.seconds)} on the device{each}"
    return f"{duration(run.seconds)} modelled{each}, limited by {run.time.limited_by}"


def _rate(run: Run) -> str:
    """GFLOP/s and GB/s with their share of the peaks; the part of the roofline that is above the kernel."""
    counters = run.record.get("counters") or {}
    if not counters or not run.seconds:
        return ""
    flops = float_operations(counters["instructions"], run.device.warp)
    moved = counters["bytes"]
    texts = []
    if flops:
        peak = run.device.multiprocessors * run.device.clock * run.device.costs["flops_per_cycle"]
        texts.append(_of_peak(flops / run.seconds, peak, "GFLOP/s"))
    if moved:
        texts.append(_of_peak(moved / run.seconds, run.device.bandwidth, "GB/s"))
    if flops and moved:
        side = "memory" if flops / moved < peak / run.device.bandwidth else "arithmetic"
        texts.append(f"{flops / moved:.3g} FLOP a byte, on the {side} side of the roofline")
    return ", ".join(texts)


def _of_peak(rate: float, peak: float, unit: str) -> str:
    return f"{rounded(rate / 1e9)} {unit} ({share(rate / peak)} of {rounded(peak / 1e9)})" if peak else ""


def _global(counters: Record) -> Span:
    requests, coalesced = counters["requests"], counters["coalesced"]
    if not requests:
        return Span("no requests")
    text = f"{share(coalesced / requests)} of {counted(requests, 'request')} coalesced"
    return Span(f"{text}, {byte_count(counters['bytes'])} moved", "good" if requests == coalesced else "bad")


def _shared(counters: Record) -> Span:
    requests, steps = counters["shared_requests"], counters["conflict_steps"]
    if not requests:
        return Span("not used")
    if not steps:
        return Span(f"no bank conflict in {counted(requests, 'request')}", "good")
    return Span(f"bank conflicts: {steps / requests:.2f} further steps a request", "bad")


def _divergence(counters: Record) -> str:
    branches = counters["instructions"].get("branch", 0)
    divergent = counters["divergent"]
    if not divergent:
        return "no branch diverges"
    return f"{share(divergent / branches) if branches else divergent} of {counted(branches, 'branch')}"


def _terms(time: KernelTime) -> Iterator[Line]:
    """How long each resource would take by itself: the longest is the kernel's time."""
    yield line(Span("what takes the time", "dim"))
    rows: list[list[Span | str]] = []
    for name, seconds in sorted(time.terms, key=lambda term: -term[1]):
        part = min(1.0, seconds / time.seconds) if time.seconds else 0.0
        bar = Span("#" * round(_BAR * part), "bad" if part > 0.9 else "")
        rows.append([name, duration(seconds), bar])
    yield from indented(table(rows))


def _costliest(run: Run) -> Iterator[Line]:
    """The source accesses that cost most, with their share of what all accesses cost."""
    sites = [(access_cycles(site["counters"], run.device), site) for site in run.record.get("sites", ())]
    total = sum(cycles for cycles, _ in sites)
    if not total:
        return
    yield line()
    yield line(Span("costliest accesses", "dim"))
    costliest = sorted(sites, key=lambda pair: -pair[0])[:COSTLIEST]
    yield from indented(table([_site(site, cycles / total) for cycles, site in costliest if cycles]))


def _site(site: Record, part: float) -> list[Span | str]:
    place = f"{site['file']}:{site['line']}" if site.get("line") else "made by the compiler"
    kind = "write" if site.get("write") else "read"
    return [
        str(site.get("text") or site.get("array", "")),
        f"{kind}, {site.get('space', '')}",
        place,
        share(part),
    ]
