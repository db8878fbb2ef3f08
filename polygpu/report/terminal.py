"""Reports on a terminal, through rich: colours where there are any, none in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from polygpu.model.device import Device
from polygpu.model.facts import CompilationFacts
from polygpu.report.layout import Line
from polygpu.report.run import run_lines
from polygpu.report.text import inspect_lines

_STYLES = {"title": "bold", "label": "cyan", "good": "green", "bad": "yellow", "dim": "dim", "": ""}


def inspect_report(facts: CompilationFacts, console: Console | None = None) -> None:
    """Prints `inspect_text`, by default on standard output."""
    show(inspect_lines(facts), console or Console())


def run_report(
    document: Mapping[str, Any], device: Device, facts: CompilationFacts, console: Console | None = None
) -> None:
    """Prints the report on a run, by default on standard error, away from the program's own output."""
    show(run_lines(document, device, facts), console or Console(stderr=True))


def show(lines: Iterable[Line], console: Console) -> None:
    """Prints each line as it is: tables are not wrapped, nothing is read as markup."""
    for spans in lines:
        text = Text.assemble(*((span.text, _STYLES[span.style]) for span in spans))
        text.rstrip()
        console.print(text, soft_wrap=True, highlight=False)
