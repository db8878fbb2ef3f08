"""Functions that a C compiler takes and pycparser does not: emptied, where they hold no region."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, replace

from polygpu.frontend.options import FrontendOptions
from polygpu.frontend.text.clean import Clean
from polygpu.frontend.text.parse import Tree, parse
from polygpu.frontend.text.preprocess import TIMEOUT, as_file, compiler_arguments, find_compiler
from polygpu.frontend.text.source import Source
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.position import Position

# A file with more functions like that is not worth guessing at.
MOST_FUNCTIONS = 20

_BRACE = re.compile(r'"(?:[^"\\\n]|\\.)*"|' r"'(?:[^'\\\n]|\\.)*'|[{}]")
_REGION = re.compile(r'pragma\s+(?:end)?scop\b|_Pragma\s*\(\s*"\s*(?:end)?scop')


@dataclass(frozen=True)
class Parsed:
    """`diagnostics` warn about each function that was emptied."""

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
            emptied = _emptied(clean, error.position) if error.position else None
            if emptied is None or len(warnings) == MOST_FUNCTIONS:
                raise
            accepted = _accepted(path, options) if accepted is None else accepted
            if not accepted:
                raise
            clean = emptied
            message = "the function around this is no standard C: its loops are not considered"
            help_text = "move loops that should run on the device to a function of their own"
            warnings.append(Diagnostic("PG007", "warning", message, error.position, help_text))


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


def _emptied(clean: Clean, position: Position) -> Clean | None:
    """The text without the body of the function at a position, None where that is none to be emptied."""
    lines = {k + 1 for k, place in enumerate(clean.places) if place == (position.file, position.line)}
    depth = start = 0
    for match in _BRACE.finditer(clean.text):
        if match[0] == "{":
            start = match.end() if depth == 0 else start
            depth += 1
        elif match[0] == "}":
            depth -= 1
            first = clean.text.count("\n", 0, start) + 1
            body = clean.text[start : match.start()]
            if depth == 0 and not lines.isdisjoint(range(first, first + body.count("\n") + 1)):
                function = clean.text[: start - 1].rstrip().endswith(")")
                return _without(clean, start, body) if function and not _REGION.search(body) else None
    return None


def _without(clean: Clean, start: int, body: str) -> Clean | None:
    if not body.strip():
        return None
    blank = re.sub(r"[^\n]", " ", body)
    return replace(clean, text=clean.text[:start] + blank + clean.text[start + len(body) :])
