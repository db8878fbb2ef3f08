"""`polygpu inspect`: every loop's verdict, every access, placement, padding and occupancy."""

from __future__ import annotations

from typing import Any

import click

from polygpu.cli import console
from polygpu.cli.options import GccStyleCommand, source_options


@click.command("inspect", cls=GccStyleCommand)
@click.argument("source", metavar="FILE.c")
@click.option("--json", "as_json", is_flag=True, help="Print the same facts as JSON.")
@source_options
def command(source: str, **values: Any) -> int:
    """Show what the compiler does with a file and why: nothing is written."""
    return console.diagnosed(lambda: _inspect(source, values), values["style"])


def _inspect(source: str, values: dict[str, Any]) -> int:
    from polygpu.cli.compile import compile_source
    from polygpu.report.facts_json import facts_json
    from polygpu.report.terminal import inspect_report

    compilation = compile_source(source, values)
    if compilation.diagnostics or values["style"] != "text":
        console.show(compilation.diagnostics, values["style"])
    if values["as_json"]:
        click.echo(facts_json(compilation.facts), nl=False)
    else:
        inspect_report(compilation.facts)
    return 0
