"""What a C compiler takes and pycparser does not: functions are emptied, where they hold no region, and
declarations are left out.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from polygpu.frontend.options import FrontendOptions
from polygpu.frontend.text.clean import Clean
from polygpu.frontend.text.oldstyle import is_untyped
from polygpu.frontend.text.parse import Tree, parse
from polygpu.frontend.text.preprocess import TIMEOUT, as_file, compiler_arguments, find_compiler
from polygpu.frontend.text.source import Source
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.position import Position

# A file with more functions like that is not worth guessing at.
MOST_FUNCTIONS = 20

_END = re.compile(r'^[ \t]*#[^\n]*|"(?:[^"\\\n]|\\.)*"|' r"'(?:[^'\\\n]|\\.)*'|[{};]", re.MULTILINE)
# What stands before the body of a function: its parameters, or in the oldest style their declarations.
_BODY = re.compile(r"(?:\)|^)\s*$")
_CPLUSPLUS = re.compile(
    r"\btemplate\s*<|\bstd\s*::|^\s*class\s+\w+\s*[:{]|\bnamespace\b[\s\w]*\{|\busing\s+namespace\b",
    re.MULTILINE,
)
_SUFFIXES = frozenset((".cpp", ".cc", ".cxx", ".C", ".c++", ".hpp", ".hh", ".hxx", ".cu"))
_REGION = re.compile(r'pragma\s+(?:end)?scop\b|_Pragma\s*\(\s*"\s*(?:end)?scop')


@dataclass(frozen=True)
class Parsed:
    """`diagnostics` warn about each function that was emptied, and each declaration that was left out."""

    tree: Tree
    clean: Clean
    diagnostics: tuple[Diagnostic, ...]


def parse_tolerantly(path: str, clean: Clean, sources: dict[str, Source], options: FrontendOptions) -> Parsed:
    """Raises Diagnosed for what a compiler rejects too, and for a syntax error in a region's function."""
    warnings: list[Diagnostic] = []
    accepted: bool | None = None
    while True:
        try:
            return Parsed(parse(clean, sources), clean, tuple(warnings))
        except Diagnosed as problem:
            (error,) = problem.diagnostics
            if found := _CPLUSPLUS.search(clean.text):
                raise Diagnosed(_no_c(path, found[0])) from None
            if error.position and (typed := _typed(clean, error.position)) is not None:
                clean = typed
                continue
            left = _without(clean, error.position) if error.position else None
            if left is None or len(warnings) == MOST_FUNCTIONS:
                raise
            accepted = _accepted(path, options) if accepted is None else accepted
            if not accepted:
                raise
            clean, message, help_text = left
            warnings.append(Diagnostic("PG007", "warning", message, error.position, help_text))


def check_language(path: str) -> None:
    """Raises Diagnosed for a file that is called as those of C++ are."""
    if Path(path).suffix in _SUFFIXES:
        raise Diagnosed(_no_c(path, f"'{Path(path).suffix}'"))


def _no_c(path: str, sign: str) -> Diagnostic:
    message = f"this is C++ ({' '.join(sign.split())}): polygpu compiles C"
    help_text = "move the loops to a C file, and call its functions as 'extern \"C\"'"
    return Diagnostic("PG008", "error", message, Position(path, 1, 1), help_text)


def _accepted(path: str, options: FrontendOptions) -> bool:
    """Whether a C compiler finds nothing wrong with the file."""
    compiler = find_compiler(options.cc)
    if not compiler:
        return False
    command = [*compiler.split(), "-fsyntax-only", "-w", *compiler_arguments(options), as_file(path)]
    try:
        return subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _typed(clean: Clean, position: Position) -> Clean | None:
    """The text with the type of the function at a position that has none; None where there is no such."""
    lines = {k + 1 for k, place in enumerate(clean.places) if place == (position.file, position.line)}
    for item in _items(clean.text):
        if not lines.isdisjoint(_lines(clean.text, item)) and is_untyped(clean.text, item.start):
            return replace(clean, text=f"{clean.text[: item.start]}int {clean.text[item.start :]}")
    return None


def _without(clean: Clean, position: Position) -> tuple[Clean, str, str] | None:
    """The text without the body of the function at a position, or without all of what is declared there, and
    what to say about that; None where there is nothing that can be left out.
    """
    lines = {k + 1 for k, place in enumerate(clean.places) if place == (position.file, position.line)}
    there = [item for item in _items(clean.text) if not lines.isdisjoint(_lines(clean.text, item))]
    for item in sorted(there, key=lambda item: item.body >= item.end):
        text = clean.text[item.start : item.end]
        if _REGION.search(text):
            return None
        if clean.text[item.body : item.end - 1].strip():
            message = "the function around this is no standard C: its loops are not considered"
            help_text = "move loops that should run on the device to a function of their own"
            return _blank(clean, item.body, item.end - 1), message, help_text
        if text.strip():
            message = "this declaration is no standard C: what it declares is not known"
            help_text = "declare in standard C what loops need that should run on the device"
            return _blank(clean, item.start, item.end), message, help_text
    return None


@dataclass(frozen=True, slots=True)
class _Item:
    """A declaration or function of a file by the offsets of its text; `body` is that of a function's, behind
    its brace, or the end of anything else.
    """

    start: int
    body: int
    end: int


def _lines(text: str, item: _Item) -> range:
    return range(text.count("\n", 0, item.start) + 1, text.count("\n", 0, item.end) + 2)


def _items(text: str) -> Iterator[_Item]:
    start = len(text) - len(text.lstrip())
    depth = body = 0
    for match in _END.finditer(text):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if match[0] == "{" and depth == 1:
            body = match.end()
        function = match[0] == "}" and _BODY.search(text[start : body - 1]) is not None
        if depth == 0 and (function or match[0] == ";" or match[0].lstrip().startswith("#")):
            yield _Item(start, body if function else match.end() + 1, match.end())
            start = len(text) - len(text[match.end() :].lstrip())


def _blank(clean: Clean, start: int, end: int) -> Clean:
    blank = re.sub(r"[^\n]", " ", clean.text[start:end])
    return replace(clean, text=clean.text[:start] + blank + clean.text[end:])
