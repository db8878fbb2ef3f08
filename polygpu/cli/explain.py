"""`polygpu explain ID`: what a diagnostic means."""

from __future__ import annotations

import difflib

import click

from polygpu.cli import console


@click.command("explain")
@click.argument("identity", metavar="[ID]", required=False)
def command(identity: str | None) -> int:
    """Explain a diagnostic such as PG101; without ID, list all."""
    entries = console.catalogue()
    if identity is None:
        for name, entry in entries.items():
            click.echo(f"{name}  {entry.title}")
        return 0
    key = identity.strip("[]").upper()
    if key not in entries:
        near = difflib.get_close_matches(key, entries, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ";"
        raise click.UsageError(f"no diagnostic is called '{identity}'{hint} `polygpu explain` lists all")
    entry = entries[key]
    click.echo(f"{key}: {entry.title}\n\n{entry.explanation}")
    for title, code in (("Instead of", entry.bad), ("write", entry.good)):
        if code:
            click.echo(f"\n{title}:\n\n" + "".join(f"    {line}\n" for line in code.splitlines()), nl=False)
    return 0
