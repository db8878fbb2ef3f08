"""`polygpu devices [NAME]`: the GPUs the compiler knows."""

from __future__ import annotations

import click

from polygpu.cli import console


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
    from polygpu.report.device import device_table

    click.echo(device_table(devices.load(name)), nl=False)
    return 0
