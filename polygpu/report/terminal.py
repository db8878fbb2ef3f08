"""Reports on a terminal, through rich: colours where there are any, none in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from polygpu.model.device import Device
from polygpu.model.facts import CompilationFacts
from polygpu.report.layout import Line, wrapped
from polygpu.report.predicted import Prediction, prediction_lines
from polygpu.report.run import run_lines
from polygpu.report.text import inspect_lines

_STYLES = {"title": "bold", "label": "cyan", "good": "green", "bad": "yellow", "dim": "dim", "": ""}


def inspect_report(
    facts: CompilationFacts,
    console: Console | None = None,
    prediction: Prediction | None = None,
    more: Iterable[Line] = (),
) -> None:
    """Prints `inspect_text`, by default on standard output, `more` of it, and what is predicted."""
    console = console or Console()
    show(inspect_lines(facts), console)
    show(more, console)
    if prediction is not None:
        show(prediction_lines(prediction, columns(console)), console)


def run_report(
    document: Mapping[str, Any], device: Device, facts: CompilationFacts, console: Console | None = None
) -> None:
    """Prints the report on a run, by default on standard error, away from the program's own output."""
    console = console or Console(stderr=True)
    show(run_lines(document, device, facts, columns(console)), console)


def print_lines(lines: Iterable[Line], console: Console | None = None) -> None:
    """Prints a report, by default on standard output."""
    show(lines, console or Console())


def columns(console: Console) -> int:
    """Room for drawings: none in a pipe, nor where characters other than ASCII cannot be shown."""
    return console.width if console.is_terminal and console.encoding.startswith("utf") else 0


def show(lines: Iterable[Line], console: Console) -> None:
    """Prints lines, on a terminal no wider than it is; nothing is read as markup."""
    for spans in wrapped(lines, console.width) if console.is_terminal else lines:
        text = Text.assemble(*((span.text, _STYLES[span.style]) for span in spans))
        text.rstrip()
        console.print(text, soft_wrap=True, highlight=False)
