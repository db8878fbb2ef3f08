"""`polygpu inspect`: every loop's verdict, every access, placement, padding and occupancy."""

from __future__ import annotations

from typing import Any

import click

from polygpu.cli import console
from polygpu.cli.options import GccStyleCommand, source_options


@click.command("inspect", cls=GccStyleCommand)
@click.argument("source", metavar="FILE.c")
@source_options
def command(source: str, **values: Any) -> int:
    """Show what the compiler does with a file and why: nothing is written."""
    return console.diagnosed(lambda: _inspect(source, values), values["style"])


def _inspect(source: str, values: dict[str, Any]) -> int:
    from polygpu.cli.compile import compile_source
    from polygpu.report.text import inspect_text

    compilation = compile_source(source, values)
    if compilation.diagnostics or values["style"] != "text":
        console.show(compilation.diagnostics, values["style"])
    click.echo(inspect_text(compilation.facts), nl=False)
    return 0
