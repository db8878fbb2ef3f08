"""What was measured or modelled of a region's kernels, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygpu.perf.timing import KernelTime
from polygpu.report.layout import Line, Span, indented, line, table
from polygpu.report.measures import Costly, Measures, Record, launch_time, together
from polygpu.report.quantities import byte_count, count, counted, duration, product, share, significant
from polygpu.report.roofline import drawing
from polygpu.report.text import occupancy_text

_BAR = 12
_SMALL = 0.01  # share of the region's time below which a kernel has its row in the summary only
_RESOURCES = {
    "issue": "instructions issued",
    "load/store": "passes of memory requests",
    "stages": "a block alone, stage by stage",
    "memory": "traffic of device memory",
    "dispatch": "blocks started",
}


def kernel_lines(kernels: Sequence[Measures], width: int = 0) -> Iterator[Line]:
    """A summary if they are many, each kernel, and the roofline drawn where `width` columns are enough."""
    total = sum(k.seconds or 0.0 for k in kernels)
    ran = [k for k in kernels if k.record["launches"]]
    if len(ran) > 1 and total:
        yield from _summary(ran, total)
        yield line()
    shown = [k for k in kernels if k.seconds is None or k.seconds >= _SMALL * total]
    for number, kernel in enumerate(shown):
        if number:
            yield line()
        yield from _kernel(kernel)
    drawn = list(drawing(kernels, kernels[0].device, width)) if kernels else []
    if drawn:
        yield line()
        yield from drawn


def _summary(kernels: Sequence[Measures], total: float) -> Iterator[Line]:
    limit = "modelled limit" if any(k.measured for k in kernels) else "limited by"
    titles = ("kernel", "launches", "launching", "time", "share", "GFLOP/s", "GB/s", limit)
    rows: list[list[Span | str]] = [[Span(title, "dim") for title in titles]]
    longest = max(k.seconds or 0.0 for k in kernels)
    for k in kernels:
        seconds = k.seconds or 0.0
        style = "bad" if seconds == longest else ""
        launched = [count(k.record["launches"]), _optional(k.launch_seconds)]
        times = [Span(duration(seconds), style), Span(share(seconds / total), style)]
        rates = [significant(r / seconds / 1e9) if r and seconds else "-" for r in (k.operations, k.moved)]
        rows.append([k.record["name"], *launched, *times, *rates, k.time.limited_by if k.time else ""])
    launches = sum(k.record["launches"] for k in kernels)
    launching = launch_time(kernels)
    rows.append([Span("all", "dim"), count(launches), _optional(launching), duration(total), *[""] * 4])
    both = together(total, launching)
    columns = [c for c in range(len(titles)) if any(_text(row[c]) for row in rows[1:])]
    yield from table([[row[c] for c in columns] for row in rows])
    if both is not None:
        yield line(Span(f"time and launching together: {duration(both)}", "dim"))


def _optional(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)


def _text(cell: Span | str) -> str:
    return cell.text if isinstance(cell, Span) else cell


def _kernel(run: Measures) -> Iterator[Line]:
    record = run.record
    grid, block = product(record["grid"]), product(record["block"])
    head = f"{counted(record['launches'], 'launch')}, grid {grid}, block {block}"
    yield line(Span("kernel", "label"), f" {record['name']}", Span(f"  {head}", "dim"))
    if not record["launches"]:
        return
    blocks, ran = record.get("blocks_total", 0), record.get("blocks_run", record.get("blocks_total", 0))
    if ran < blocks:
        yield line(Span(f"  counted in {count(ran)} of its {counted(blocks, 'block')}", "dim"))
    yield from indented(table([(Span(name, "dim"), text) for name, text in _rows(run) if text]))
    if run.time is not None:
        yield line()
        yield from indented(_terms(run, run.time))
        yield from indented(_costliest(run))


def _rows(run: Measures) -> Iterator[tuple[str, str | Span]]:
    yield "time", _time(run)
    yield "modelled", _modelled(run)
    yield "counted", _counted(run)
    yield "launching", _launching(run)
    yield "rate", _rate(run)
    yield "roofline", _position(run)
    yield "occupancy", occupancy_text(run.fact, run.device.warps_per_multiprocessor) if run.fact else ""
    counters = run.record.get("counters") or {}
    if counters:
        yield "global memory", _global(counters, run.moved - run.fetched)
        yield "constant memory", _constant(counters)
        yield "texture cache", _texture(counters, run.fetched)
        yield "shared memory", _shared(counters)
        yield "divergence", _divergence(counters)


def _time(run: Measures) -> str:
    if run.seconds is None:
        return ""
    launches = run.record["launches"]
    each = f", {duration(run.seconds / launches)} a launch" if launches > 1 else ""
    if run.measured or run.time is None:
        return f"{duration(run.seconds)} measured{each}"
    return f"{duration(run.seconds)} modelled{each}, limited by {run.time.limited_by}"


def _modelled(run: Measures) -> str:
    """What the model says beside a measured time."""
    if not run.measured or run.time is None or run.modelled is None:
        return ""
    return f"{duration(run.modelled)} for {run.device.title}, limited by {run.time.limited_by}"


def _counted(run: Measures) -> str:
    """What is special about the counters."""
    if run.not_counted:
        return f"nothing: {run.not_counted}"
    if run.measured and run.record.get("predicted") == "in part":
        return "by prediction, from some iterations for all"
    return ""


def _launching(run: Measures) -> str:
    """What all launches take beside the modelled time, and both together."""
    if run.seconds is None or run.launch_seconds is None:
        return ""
    return f"{duration(run.launch_seconds)} more, {duration(run.seconds + run.launch_seconds)} together"


def _rate(run: Measures) -> str:
    """GFLOP/s and GB/s with their share of the peaks."""
    if not run.seconds:
        return ""
    rates = [(run.operations, run.peak, "GFLOP/s"), (run.moved, run.device.bandwidth, "GB/s")]
    return ", ".join(_of_peak(amount / run.seconds, peak, unit) for amount, peak, unit in rates if amount)


def _of_peak(rate: float, peak: float, unit: str) -> str:
    text = f"{significant(rate / 1e9)} {unit}"
    return f"{text} ({share(rate / peak)} of {significant(peak / 1e9)})" if peak else text


def _position(run: Measures) -> str:
    """What the roofline allows at the kernel's intensity, and how much of it the kernel reaches."""
    if run.moved and not run.operations:
        return "no floating-point operation: there is nothing but bandwidth"
    if run.intensity is None or run.attainable is None or not run.seconds:
        return ""
    reached = run.operations / run.seconds / run.attainable
    side = "bandwidth" if run.intensity < run.ridge else "arithmetic"
    return (
        f"{significant(run.intensity)} FLOP a byte, ridge at {significant(run.ridge)}: {side} allows "
        f"{significant(run.attainable / 1e9)} GFLOP/s, {share(reached)} of it reached"
    )


def _global(counters: Record, moved: float) -> Span:
    requests, coalesced = counters["requests"], counters["coalesced"]
    if not requests:
        return Span("no requests")
    text = f"{share(coalesced / requests)} of {counted(requests, 'request')} coalesced"
    return Span(f"{text}, {byte_count(moved)} moved", "good" if requests == coalesced else "bad")


def _constant(counters: Record) -> str | Span:
    requests, steps = counters.get("constant_requests", 0), counters.get("constant_steps", 0)
    if not requests:
        return ""
    if not steps:
        return Span(f"one address in each of {counted(requests, 'request')}", "good")
    return Span(
        f"{significant(1 + steps / requests)} addresses in a request, {counted(requests, 'request')}", "bad"
    )


def _texture(counters: Record, fetched: float) -> str:
    requests, lines = counters.get("texture_requests", 0), counters.get("texture_lines", 0)
    if not requests:
        return ""
    each = significant(lines / requests)
    return f"{each} lines in a request, {counted(requests, 'request')}, about {byte_count(fetched)} moved"


def _shared(counters: Record) -> Span:
    requests, steps = counters["shared_requests"], counters["conflict_steps"]
    if not requests:
        return Span("not used")
    if not steps:
        return Span(f"no bank conflict in {counted(requests, 'request')}", "good")
    return Span(f"bank conflicts: {significant(steps / requests)} further steps a request", "bad")


def _divergence(counters: Record) -> str:
    branches = counters["instructions"].get("branch", 0)
    divergent = counters["divergent"]
    if not divergent:
        return "no branch diverges"
    return f"{share(divergent / branches) if branches else count(divergent)} of {counted(branches, 'branch')}"


def _terms(run: Measures, time: KernelTime) -> Iterator[Line]:
    """How long each resource would take by itself: they overlap, so the longest is most of the time."""
    launch = " in a launch" if run.record["launches"] > 1 else ""
    modelled = ", as modelled" if run.measured else ""
    yield line(Span(f"what each resource takes by itself{launch}{modelled}", "dim"))
    rows: list[list[Span | str]] = []
    for name, seconds in sorted(time.terms, key=lambda term: -term[1]):
        part = min(1.0, seconds / time.seconds) if time.seconds else 0.0
        bar = Span("#" * round(_BAR * part), "bad" if part > 0.9 else "")
        rows.append([name, duration(seconds), share(part), bar, Span(_RESOURCES.get(name, ""), "dim")])
    yield from indented(table(rows))


def _costliest(run: Measures) -> Iterator[Line]:
    """The source accesses that cost most, with their share of what all accesses cost."""
    costly = list(run.costliest())
    if costly:
        yield line()
        yield line(Span("costliest accesses, and their share of what all cost", "dim"))
        yield from indented(table([_site(c) for c in costly]))


def _site(costly: Costly) -> list[Span | str]:
    site = costly.site
    place = f"{site['file']}:{site['line']}" if site.get("line") else "made by the compiler"
    kind = "write" if site.get("write") else "read"
    text = str(site.get("text") or site.get("array", ""))
    return [share(costly.share), text, f"{kind}, {site.get('space', '')}", place]
