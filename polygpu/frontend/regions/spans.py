"""The characters of the source that a region covers."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from typing import Any

from polygpu.frontend.read.state import FileContext
from polygpu.frontend.read.unsupported import refusal
from polygpu.frontend.text.source import Source
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.position import Position

_WRITE_PRAGMAS = "put '#pragma scop' and '#pragma endscop' around the loops in the source file itself"
_BESIDE = "a macro before the loop is a pragma where OpenMP is on, and others make threads there"
_AROUND = "a macro before the loop around it may be a pragma where OpenMP is on, which makes threads"
_LINE = r"(?:[^\n\\]|\\(?:\r?\n|.))*"  # with those that continue it
_CONTINUED = re.compile(_LINE)
_COMMENTS = r"(?:/\*(?:[^*]|\*(?!/))*\*/[ \t\r]*)*(?://[^\n]*)?"
_NO_CODE = re.compile(rf"^[ \t\r]*#{_LINE}|{_COMMENTS}", re.MULTILINE)
_BEFORE = re.compile(rf"(?:^[ \t\r]*(?:#{_LINE}|{_COMMENTS})\n)+[ \t]*\Z", re.MULTILINE)
_OPENMP = re.compile(
    r"^[ \t]*#[ \t]*pragma[ \t]+(?:omp|acc)[ \t]+(?:parallel|for|simd|target|teams|kernels|serial|loop)\b",
    re.MULTILINE,
)
_MACRO = re.compile(r"[A-Za-z_]\w*(?<!_Pragma)\b")
_BLANKS = re.compile(r"(?:\s|/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*(?=\n))+")
_BLANKS_AT_END = re.compile(rf"{_BLANKS.pattern}\Z")
_LAST_WORD = re.compile(r"(?<!\w)([A-Za-z_]\w*)\s*\Z")
_OF_ONE_LOOP = re.compile(
    r"\s+(?:(?:target\s+)?(?:teams\s+)?(?:distribute\s+)?parallel\s+(?:for|loop)|target\s+teams\s+"
    r"(?:distribute|loop)|simd|unroll|tile)\b"
)
_BEFORE_A_STATEMENT = frozenset(("if", "for", "while", "switch", "else", "do", "_Pragma"))
_LASTING = frozenset(("define", "undef", "include", "include_next", "import", "embed"))
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)", re.MULTILINE)
_IF = frozenset(("if", "ifdef", "ifndef"))
_BRANCHES = frozenset(("elif", "elifdef", "elifndef", "else", "endif"))


def marked_span(context: FileContext, begin: Any, end: Any) -> tuple[int, int]:
    """From the start of the line of the first pragma to the end of the line of the second."""
    first, last = context.at(begin), context.at(end)
    span = _pragma(context.source, first)[0], _pragma(context.source, last)[1]
    _check_directives(context, span, "move it before the region")
    return span


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


def _from_macro(context: FileContext, pragma: Any, loop: int) -> int:
    """The start of a pragma before a loop, which goes with it: also of a macro that makes the pragma.

    #define SHARED _Pragma("omp parallel for")
    SHARED for (...)
    """
    source, position = context.source, context.at(pragma)
    if position.file == source.path and not source.line(position.line).lstrip().startswith("#"):
        start = source.offset(position.line, position.column)
        if _MACRO.match(source.text, start) and _macro_before(source, loop) == start:
            return start
    return _pragma(source, position)[0]


def _macro_before(source: Source, loop: int) -> int | None:
    """Where a macro begins that stands directly before a loop, with its arguments; None where none does."""
    text = source.text[: _end_of_code(source.text, loop)]
    depth, end = 0, len(text)
    if text.endswith(")"):
        for end in range(len(text) - 1, -1, -1):
            depth += (text[end] == ")") - (text[end] == "(")
            if not depth:
                break
    last = max(text.rfind(mark, 0, end) for mark in ";{})/\n")  # no word before it is the last
    found = _LAST_WORD.search(text, max(last, 0), end)
    if found is None or found[1] in _BEFORE_A_STATEMENT or not _is_first(text, found.start(1)):
        return None
    return found.start(1)


def _is_first(text: str, start: int) -> bool:
    """Whether a statement may begin there."""
    before = _end_of_code(text, start)
    line = text.rfind("\n", 0, before) + 1
    return not before or text[before - 1] in ";{})" or text[line:before].lstrip().startswith("#")


def threads_by_macro(context: FileContext, loop: Any) -> Diagnosed | None:
    """Why loops within a loop cannot be regions: a macro is directly before it where some of the file's are
    pragmas with OpenMP on, so that several threads may come to them.
    """
    position = context.at(loop)
    if not context.expansion.hidden_pragmas or position.file != context.source.path:
        return None
    macro = _macro_before(context.source, context.source.offset(position.line, position.column))
    if macro is None:
        return None
    return _hidden_threads(context, macro, _AROUND)


def _hidden_threads(context: FileContext, macro: int, message: str) -> Diagnosed:
    position = Position(context.source.path, *context.source.place(macro))
    help_text = "give -D_OPENMP=201511, and compile the host file with OpenMP"
    return refusal("PG113", position, message, help_text)


def _end_of_code(text: str, end: int) -> int:
    """Where blanks and comments begin that go on up to `end`."""
    starts, ends = _blanks(text)
    k = bisect_left(ends, end)
    if k < len(ends) and ends[k] == end:
        return starts[k]
    return len(_BLANKS_AT_END.sub("", text[:end])) if text[:end].endswith((*" \t\r\n\f\v", "/")) else end


@lru_cache(4)
def _blanks(text: str) -> tuple[list[int], list[int]]:
    """Where blanks with comments begin and end: in a large file it takes long to look before each loop."""
    found = [m.span() for m in _BLANKS.finditer(text)]
    return [start for start, _ in found], [end for _, end in found]


def _with_macro(context: FileContext, loop: Any) -> int:
    """The start of what goes with a loop: with a macro before it that is a pragma where OpenMP is on, as it
    may be where the host file is compiled.

    Raises Diagnosed where other macros hide threads that would come to the loop.
    """
    start = _loop(context, loop)[0]
    macro = _macro_before(context.source, start)
    if macro is None or not (hidden := context.expansion.hidden_pragmas):
        return start
    if all(map(_OF_ONE_LOOP.match, hidden)):
        return macro
    raise _hidden_threads(context, macro, _BESIDE)


def nest_span(
    context: FileContext, leading: Any, first: Any, last: Any
) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """From `leading` (a pragma before the loop, or None) and the first loop to the end of the last; and where
    a pragma for the loop is that does not go with it.
    """
    apart = _pragma_apart(context, leading, first)
    start, end = _loop(context, first)[0], _loop(context, last)[1]
    if apart is None:
        start = _with_macro(context, first) if leading is None else _from_macro(context, leading, start)
        start = _with_directives(context, start, first)
    if first is not last:
        _check_between(context.source, _loop(context, first)[1], _loop(context, last)[0])
    _check_directives(context, (start, end), "move it before the loop")
    _check_conditionals(context.source, (start, end))
    return (start, end), apart


def _pragma_apart(context: FileContext, leading: Any, loop: Any) -> tuple[int, int] | None:
    """Where a pragma ends a conditional part of the file that is more than pragmas.

    #ifdef THREADS
        set_threads(4);
        #pragma omp parallel for
    #endif
        for (...)
    """
    source, end = context.source, _loop(context, loop)[0]
    before = _before(source.text, end)
    pragmas = list(_OPENMP.finditer(before[0])) if before else []
    if before is None or len(pragmas) != 1:
        return None
    start = before.start() + pragmas[0].start()
    if leading is None and not _depends_on_openmp(source, start):
        return None
    said = None if leading is None else context.at(leading)
    if said is not None and (said.file, said.line) != (source.path, source.place(start)[0]):
        return None
    opened = [word for word, _ in source.directives(before.start(), start) if word in _IF | _BRANCHES]
    closed = [word for word, place in source.directives(start, end) if place > start]
    if opened or not closed or set(closed) != {"endif"}:
        return None
    line = _CONTINUED.match(source.text, start)
    return start, line.end() if line else start


def _before(text: str, end: int) -> re.Match[str] | None:
    """The directives, comments and empty lines right before an offset, where a pragma for OpenMP is there."""
    lines = _pragma_lines(text)
    last = bisect_left(lines, end) - 1
    if last < 0 or not _BEFORE.match(text[:end], lines[last]):
        return None
    return _BEFORE.search(text[:end])


@lru_cache(8)
def _pragma_lines(text: str) -> list[int]:
    return [found.start() for found in _OPENMP.finditer(text)]


def _loop(context: FileContext, loop: Any) -> tuple[int, int]:
    source, position = context.source, context.at(loop)
    start = source.offset(position.line, position.column)
    if position.file != source.path:
        raise _hidden(position, "the loop comes from a macro")
    end = context.expansion.end(start, loop.coord.line, loop.coord.column)
    if end is None and not source.text.startswith(("for", "while", "{"), start):
        raise _hidden(position, "the loop comes from a macro")
    if end is None:
        raise _hidden(position, "where the loop ends is not plain to see: a macro or a directive hides it")
    return start, end


def _with_directives(context: FileContext, start: int, loop: Any) -> int:
    """The start of what goes with a loop: with the conditional directives around pragmas before it, that may
    hide them now and not where the call is compiled.
    """
    before = _before(context.source.text, _loop(context, loop)[0])
    pragma = _OPENMP.search(before[0]) if before else None
    if before is None or pragma is None:
        return start
    depth = 0
    for found in reversed(list(_DIRECTIVE.finditer(before[0]))):
        depth += (found[1] == "endif") - (found[1] in _IF)
        if depth < 0:
            break
        if depth == 0 and found.start() <= pragma.start():
            return min(start, before.start() + found.start())
    if not _depends_on_openmp(context.source, before.start() + pragma.start()):
        return start
    message = "a pragma before the loop is hidden by conditional directives"
    help_text = "put '#pragma scop' before the directives and '#pragma endscop' after the loop"
    raise refusal("PG113", context.at(loop), message, help_text, 3)


def _depends_on_openmp(source: Source, offset: int) -> bool:
    """Whether a directive around an offset asks for OpenMP: others hold for the call as they hold here."""
    opened: list[int] = []
    for word, place in source.directives(0, offset):
        if word in _IF:
            opened.append(place)
        elif word == "endif" and opened:
            opened.pop()
    return any("_OPENMP" in source.line(source.place(place)[0]) for place in opened)


def _check_between(source: Source, start: int, end: int) -> None:
    """Statements for OpenMP alone cannot go with the loops around them: they may be hidden here, and run in
    the program.
    """
    opened: list[tuple[str, int]] = []
    for word, offset in source.directives(start, end):
        if word in _IF:
            opened.append((word, offset))
        elif word == "endif" and opened:
            first, place = opened.pop()
            hidden = _NO_CODE.sub("", source.text[place:offset])
            if "_OPENMP" in source.line(source.place(place)[0]) and hidden.strip():
                raise _within(source, first, place, _WRITE_PRAGMAS)


def _check_directives(context: FileContext, span: tuple[int, int], help_text: str) -> None:
    """What holds for the text after a region too cannot go with it."""
    lasting = [found for found in context.source.directives(*span) if found[0] in _LASTING]
    if lasting and not context.expansion.is_left_as_it_is(*span):
        raise _within(context.source, *lasting[0], help_text)


def _check_conditionals(source: Source, span: tuple[int, int]) -> None:
    """Half of an #if cannot go with a region; all of it can."""
    opened: list[tuple[str, int]] = []
    for word, offset in source.directives(*span):
        if word in _BRANCHES and not opened:
            raise _within(source, word, offset, _WRITE_PRAGMAS)
        if word in _IF:
            opened.append((word, offset))
        elif word == "endif":
            opened.pop()
    if opened:
        raise _within(source, *opened[0], _WRITE_PRAGMAS)


def _within(source: Source, word: str, offset: int, help_text: str) -> Diagnosed:
    position = Position(source.path, *source.place(offset))
    return refusal("PG113", position, f"'#{word}' within what becomes a call", help_text, len(word) + 1)


def _hidden(position: Position, message: str) -> Diagnosed:
    return refusal("PG113", position, message, _WRITE_PRAGMAS, 3)
