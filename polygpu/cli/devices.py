"""`polygpu devices [NAME]`: the GPUs the compiler knows."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import click

from polygpu.cli import console

if TYPE_CHECKING:
    from polygpu.model.device import Device


@click.command("devices")
@click.argument("name", required=False, metavar="[NAME|FILE.toml]")
def command(name: str | None) -> int:
    """List the known GPUs, or every value of one with its source."""
    return console.diagnosed(lambda: _list() if name is None else _describe(name))


def _list() -> int:
    from polygpu import devices

    for name in devices.names():
        device = devices.load(name)
        size = f"{device.multiprocessors} multiprocessors, {device.bandwidth / 1e9:g} GB/s"
        click.echo(f"{name:10}  {device.title:32}  CC {device.compute_capability}, {size}")
    return 0


def _describe(name: str) -> int:
    from polygpu import devices

    device = devices.load(name)
    click.echo(f"{device.name}: {device.title}")
    for key, value in _values(device).items():
        row = f"  {key:34} {value:>22}  {device.units.get(key, ''):10} {device.sources.get(key, '')}"
        click.echo(row.rstrip())
    return 0


def _values(device: Device) -> dict[str, str]:
    """The limits and then the costs of the model, as text."""
    apart = {"name", "title", "costs", "sources", "units"}
    limits = {field.name: getattr(device, field.name) for field in fields(device) if field.name not in apart}
    return {key: _text(value) for key, value in {**limits, **device.costs}.items()}


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
