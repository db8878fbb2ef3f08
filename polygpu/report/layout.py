"""Lines of styled text, and their forms for a file and a terminal.

    report ::= line*    line ::= span*    span ::= text, style

Styles are meanings, not colours: "title", "label", "good", "bad", "dim" and "" for plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from polygpu.support.dataclass import dataclass

_WORDS = re.compile(r"\S+\s*|^\s+")


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


def wrapped(lines: Iterable[Line], width: int) -> Iterator[Line]:
    """No line is wider than `width`, but for words that are; what is broken off goes under the last span."""
    for spans in lines:
        if length(spans) <= width:
            yield spans
        else:
            yield from _broken(spans, width)


def length(spans: Line) -> int:
    return sum(len(span.text) for span in spans)


def _broken(spans: Line, width: int) -> Iterator[Line]:
    margin = _margin(spans, width)
    current: list[Span] = []
    used = start = 0
    for span in spans:
        for word in _WORDS.findall(span.text):
            if used + len(word.rstrip()) > width and used > start:
                yield tuple(current)
                current, used, start = [Span(" " * margin)], margin, margin
            if word.strip() or used > start or not start:
                current.append(Span(word, span.style))
                used += len(word)
    yield tuple(current)


def _margin(spans: Line, width: int) -> int:
    """Where the last span starts, if that leaves half of the width; else a little more than the line's."""
    start = length(spans[:-1])
    text = "".join(span.text for span in spans)
    own = len(text) - len(text.lstrip()) + 4
    return start if own <= start <= width // 2 else min(own, width // 2)


def plain(lines: Iterable[Line]) -> str:
    """Text without styles; every line ends with a newline."""
    return "".join("".join(span.text for span in spans).rstrip() + "\n" for spans in lines)
