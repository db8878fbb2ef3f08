"""What the compiler tells its user: diagnostics as values, and one renderer a format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from polygpu.support.dataclass import dataclass
from polygpu.support.position import Position

Severity: TypeAlias = Literal["error", "warning", "note"]

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message. `length` characters from `position` on are underlined; `help` says what to do.

    `id` is stable and explained by `polygpu.support.catalogue`. `notes` point at related places. Nothing is
    underlined, and the line is not shown, where `length` is 0.
    """

    id: str
    severity: Severity
    message: str
    position: Position | None = None
    help: str = ""
    notes: tuple[Diagnostic, ...] = ()
    length: int = 1


class Diagnosed(Exception):  # noqa: N818 (it carries warnings too)
    """Compilation cannot go on; `diagnostics` say why, the first error first. `status` is the command's."""

    status = 1

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n".join(d.message for d in diagnostics))
        self.diagnostics: tuple[Diagnostic, ...] = diagnostics


@contextmanager
def collecting(problems: list[Diagnostic]) -> Iterator[None]:
    """Adds to `problems` what the block raises as Diagnosed, so that work can go on behind it."""
    try:
        yield
    except Diagnosed as problem:
        problems += problem.diagnostics


def render(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> str:
    """gcc's format: message, source line, caret line and notes; `sources` maps a file to its text.

    A file that `sources` lacks is shown without its line. Ends with a newline unless empty.
    """
    return "".join(f"{line}\n" for d in diagnostics for line in _lines(d, sources))


def _lines(diagnostic: Diagnostic, sources: Mapping[str, str]) -> Iterator[str]:
    place = diagnostic.position or "polygpu"
    label = f" [{diagnostic.id}]" if diagnostic.id else ""
    yield f"{place}: {diagnostic.severity}: {diagnostic.message}{label}"
    if diagnostic.position is not None and diagnostic.length:
        yield from _excerpt(diagnostic.position, diagnostic.length, sources)
    for note in diagnostic.notes:
        yield from _lines(note, sources)
    if diagnostic.help:
        yield f"{place}: note: {diagnostic.help}"


def _excerpt(position: Position, length: int, sources: Mapping[str, str]) -> Iterator[str]:
    lines = sources.get(position.file, "").split("\n")
    if position.file not in sources or not 0 < position.line <= len(lines):
        return
    line = lines[position.line - 1].rstrip("\r")
    column = min(max(position.column, 1), len(line) + 1)
    # Tabs are kept in the caret line, so that it lines up whatever their width.
    indent = "".join(c if c == "\t" else " " for c in line[: column - 1])
    width = max(1, min(length, len(line) - column + 1))
    yield f"{position.line:5} | {line}"
    yield f"      | {indent}^{'~' * (width - 1)}"


def render_json(diagnostics: Iterable[Diagnostic]) -> str:
    """A JSON array with one object a diagnostic; positions are null where there is none."""
    return json.dumps([_record(d) for d in diagnostics], indent=2) + "\n"


def _record(diagnostic: Diagnostic) -> dict[str, Any]:
    position = diagnostic.position
    return {
        "id": diagnostic.id,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "file": position.file if position else None,
        "line": position.line if position else None,
        "column": position.column if position else None,
        "length": diagnostic.length,
        "help": diagnostic.help,
        "notes": [_record(note) for note in diagnostic.notes],
    }


def render_sarif(diagnostics: Iterable[Diagnostic], titles: Mapping[str, str], version: str) -> str:
    """A SARIF 2.1.0 log; `titles` gives each id's short description."""
    found = tuple(diagnostics)
    rules = [
        {"id": identity, "shortDescription": {"text": titles.get(identity, identity)}}
        for identity in sorted({d.id for d in found})
    ]
    driver = {"name": "polygpu", "version": version, "rules": rules}
    log = {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(d) for d in found]}],
    }
    return json.dumps(log, indent=2) + "\n"


def _result(diagnostic: Diagnostic) -> dict[str, Any]:
    help_text = f"\n{diagnostic.help}" if diagnostic.help else ""
    result: dict[str, Any] = {
        "ruleId": diagnostic.id,
        "level": diagnostic.severity,
        "message": {"text": diagnostic.message + help_text},
    }
    if diagnostic.position:
        result["locations"] = [_location(diagnostic)]
    if diagnostic.notes:
        result["relatedLocations"] = [
            _location(note) | {"message": {"text": note.message}} for note in diagnostic.notes
        ]
    return result


def _location(diagnostic: Diagnostic) -> dict[str, Any]:
    position = diagnostic.position
    if position is None:
        return {}
    region = {
        "startLine": position.line,
        "startColumn": position.column,
        "endColumn": position.column + diagnostic.length,
    }
    return {"physicalLocation": {"artifactLocation": {"uri": position.file}, "region": region}}


def respelled(text: str, spelled: Mapping[str, str]) -> str:
    """A text with other names in place of those that have a number."""
    return re.sub(r"\b[A-Za-z]\w*_\d+\b", lambda found: spelled.get(found[0], found[0]), text)
