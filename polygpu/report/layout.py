"""Lines of styled text, and their forms for a file and a terminal.

    report ::= line*    line ::= span*    span ::= text, style

Styles are meanings, not colours: "title", "label", "good", "bad", "dim" and "" for plain text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

_ANSI = {"title": "1", "label": "36", "good": "32", "bad": "33", "dim": "2"}


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    style: str = ""


Line: TypeAlias = tuple[Span, ...]


def line(*spans: Span | str) -> Line:
    return tuple(Span(span) if isinstance(span, str) else span for span in spans)


def indented(lines: Iterable[Line], width: int = 2) -> Iterator[Line]:
    return (line(" " * width, *content) if content else content for content in lines)


def table(rows: Sequence[Sequence[Span | str]], gap: int = 2) -> Iterator[Line]:
    """Rows of as many cells each, columns aligned to the left; nothing follows a row's last text."""
    cells = [[Span(c) if isinstance(c, str) else c for c in row] for row in rows]
    widths = [max(len(row[column].text) for row in cells) for column in range(len(cells[0]) if cells else 0)]
    for row in cells:
        last = max((n for n, cell in enumerate(row) if cell.text), default=-1)
        spans: list[Span] = []
        for column, cell in enumerate(row[: last + 1]):
            spans.append(cell)
            if column < last:
                spans.append(Span(" " * (widths[column] - len(cell.text) + gap)))
        yield tuple(spans)


def plain(lines: Iterable[Line]) -> str:
    """Text without styles; every line ends with a newline."""
    return "".join("".join(span.text for span in spans).rstrip() + "\n" for spans in lines)


def ansi(lines: Iterable[Line]) -> str:
    """The same with the escape sequences of a terminal."""
    return "".join("".join(map(_escaped, spans)).rstrip() + "\n" for spans in lines)


def _escaped(span: Span) -> str:
    code = _ANSI.get(span.style)
    return f"\x1b[{code}m{span.text}\x1b[0m" if code and span.text else span.text
