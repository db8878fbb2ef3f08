"""The characters of the source that a region covers."""

from __future__ import annotations

from typing import Any

from polygpu.frontend.source import Source
from polygpu.frontend.state import FileContext
from polygpu.frontend.unsupported import refusal
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.position import Position

_WRITE_PRAGMAS = "put '#pragma scop' and '#pragma endscop' around the loops in the source file itself"


def marked_span(context: FileContext, begin: Any, end: Any) -> tuple[int, int]:
    """From the start of the line of the first pragma to the end of the line of the second."""
    first, last = context.at(begin), context.at(end)
    return _pragma(context.source, first)[0], _pragma(context.source, last)[1]


def _pragma(source: Source, position: Position) -> tuple[int, int]:
    if position.file != source.path:
        help_text = f"compile '{position.file}' itself, or move the region"
        raise refusal("PG113", position, "the region is in an included file", help_text)
    if source.line(position.line).lstrip().startswith("#"):
        start = source.offset(position.line, 1)
        return start, start + len(source.line(position.line))
    start = source.offset(position.line, position.column)
    end = source.header_end(start)
    if source.text.startswith("_Pragma", start) and end is not None:
        return start, end
    raise refusal("PG113", position, "the pragma comes from a macro", _WRITE_PRAGMAS)


def nest_span(context: FileContext, leading: Any, first: Any, last: Any) -> tuple[int, int]:
    """From `leading` (a pragma before the loop, or None) and the first `for` to the end of the last."""
    source = context.source
    start, _ = _loop(source, context.at(first))
    if leading is not None:
        start = source.offset(context.at(leading).line, 1)
    return start, _loop(source, context.at(last))[1]


def _loop(source: Source, position: Position) -> tuple[int, int]:
    start = source.offset(position.line, position.column)
    if position.file != source.path or not source.text.startswith("for", start):
        raise _hidden(position, "the loop comes from a macro")
    end = source.statement_end(start)
    if end is None:
        raise _hidden(position, "the end of the loop is not plain to see (directives or macros within it)")
    return start, end


def _hidden(position: Position, message: str) -> Diagnosed:
    return refusal("PG113", position, message, _WRITE_PRAGMAS, 3)
