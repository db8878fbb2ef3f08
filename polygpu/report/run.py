"""The report of `polygpu run`: where the time of each kernel goes, from the profile of the program."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from polygpu.model.device import Device
from polygpu.model.facts import CompilationFacts
from polygpu.report.kernels import kernel_lines
from polygpu.report.layout import Line, Span, indented, line, plain, table
from polygpu.report.measures import Measures, Record, basis, launch_time, measured, measures_record, together
from polygpu.report.quantities import byte_count, counted
from polygpu.report.roofline import roofline_svg


def run_text(document: Record, device: Device, facts: CompilationFacts) -> str:
    """Text for `document`, what POLYGPU_PROFILE wrote. Raises KeyError or TypeError if it is malformed."""
    return plain(run_lines(document, device, facts))


def run_lines(document: Record, device: Device, facts: CompilationFacts, width: int = 0) -> Iterator[Line]:
    """The report; a drawing of the roofline is part of it where `width` columns are enough."""
    where = f"emulated {device.title}" if document["target"] == "emulator" else document.get("device", "")
    yield line(Span(f"{document['target']}: {where}" if where else document["target"], "title"))
    regions = [(region, measures(region["kernels"], device, facts)) for region in document["regions"]]
    if note := basis(k for _, kernels in regions for k in kernels):
        yield line(Span(note, "dim"))
    for region, kernels in regions:
        yield line()
        moved = f"{byte_count(region['bytes_in'])} to the device, {byte_count(region['bytes_out'])} back"
        yield line(Span(region["name"], "title"), f"  {counted(region.get('calls', 1), 'call')}, {moved}")
        yield from indented(_copies(region, document.get("copies", ())))
        yield from indented(kernel_lines(kernels, width - 2))


def _copies(region: Record, copies: Iterable[Record]) -> Iterator[Line]:
    """Where arrays stay on the device between calls: what a call moves, and what forced each copy."""
    mine = [copy for copy in copies if copy["region"] == region["name"]]
    if not mine:
        return
    calls = region.get("calls", 1)
    a_call = (byte_count(round(region[way] / calls)) for way in ("bytes_in", "bytes_out"))
    yield line("arrays stay there between calls: a call moves {} there and {} back".format(*a_call))
    rows = [
        (
            copy["array"],
            "back" if copy["back"] else "there",
            counted(copy["count"], "time"),
            byte_count(copy["bytes"]),
            Span(copy["because"], "dim"),
        )
        for copy in mine
    ]
    yield from indented(table(rows))


def measures(kernels: list[Record], device: Device, facts: CompilationFacts) -> list[Measures]:
    return [measured(record, device, facts) for record in kernels]


def run_json(document: Record, device: Device, facts: CompilationFacts) -> str:
    """The same as JSON: target, device, and of each region its calls, bytes copied and kernels' measures."""
    copies = document.get("copies", ())
    regions = [
        region_record(region, measures(region["kernels"], device, facts))
        | {"copies": [copy for copy in copies if copy["region"] == region["name"]]}
        for region in document["regions"]
    ]
    report = {"target": document["target"], "device": document.get("device"), "regions": regions}
    return json.dumps(report, indent=2) + "\n"


def run_roofline(regions: Iterable[Record], device: Device, facts: CompilationFacts) -> str:
    """SVG of the device's roofline with the kernels of all regions."""
    kernels = [m for region in regions for m in measures(region["kernels"], device, facts)]
    return roofline_svg(kernels, device)


def region_record(region: Record, kernels: list[Measures]) -> dict[str, object]:
    seconds = [k.seconds for k in kernels if k.seconds is not None]
    total, launching = sum(seconds) if seconds else None, launch_time(kernels)
    return {
        "name": region["name"],
        "calls": region.get("calls", 1),
        "bytes_to_device": region["bytes_in"],
        "bytes_from_device": region["bytes_out"],
        "launches": sum(k.record["launches"] for k in kernels),
        "kernel_time_s": total,
        "launch_time_s": launching,
        "time_with_launches_s": together(total, launching),
        "kernels": [measures_record(k) for k in kernels],
    }
