"""A device's description as a table, for `polygpu devices NAME`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from polygpu.model.device import Device
from polygpu.report.layout import Line, Span, indented, line, plain, table

_APART = frozenset({"name", "title", "costs", "sources", "units"})


def device_table(device: Device) -> str:
    """Every limit and every cost of the timing model, with unit and source."""
    return plain(_lines(device))


def _lines(device: Device) -> Iterator[Line]:
    limits = {f.name: getattr(device, f.name) for f in fields(device) if f.name not in _APART}
    yield line(Span(device.name, "title"), f": {device.title}")
    for title, values in (("limits", limits), ("costs", device.costs)):
        yield line()
        yield line(Span(title, "label"))
        yield from indented(table([_row(device, name, value) for name, value in values.items()]))


def _row(device: Device, name: str, value: object) -> tuple[Span, ...]:
    return (
        Span(name),
        Span(_text(value)),
        Span(device.units.get(name, "")),
        Span(device.sources.get(name, ""), "dim"),
    )


def _text(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case tuple():
            return " x ".join(map(str, value))
        case _:
            return str(value)
