"""Preprocessed C to pycparser's tree, with positions in the user's own text."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field, replace
from typing import Any

from pycparser import c_ast, c_parser

from polygpu.frontend.text.blocks import unfold
from polygpu.frontend.text.clean import Clean
from polygpu.frontend.text.ended import spell_out
from polygpu.frontend.text.oldstyle import with_prototypes
from polygpu.frontend.text.source import Source, Token, align
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.position import Position

_PLACE = re.compile(r"^clean:(\d+):(\d+): ")
_C23 = re.compile(r"\b(?:typeof|nullptr|constexpr)\b")


@dataclass(frozen=True)
class Tree:
    """A parsed file; `sources` holds the user's files by name."""

    root: c_ast.FileAST
    positions: Positions


@dataclass(frozen=True)
class Positions:
    """From coordinates in the clean text to positions in the user's files."""

    clean: Clean
    sources: dict[str, Source]
    _lines: list[str] = field(default_factory=list)
    _aligned: dict[int, tuple[tuple[Token, ...], tuple[Token, ...]]] = field(default_factory=dict)

    def of(self, node: Any) -> Position:
        """The position of a node of the tree."""
        coordinates = node.coord
        if coordinates is None:
            return Position(self.clean.files[0], 1, 1)
        return self.at(coordinates.line, coordinates.column or 1)

    def at(self, line: int, column: int) -> Position:
        """The position of a line and column of the clean text."""
        places = self.clean.places
        file, number = places[min(line, len(places)) - 1] if line > 0 else places[0]
        if not file:
            return Position(self.clean.files[0], 1, 1)
        token = self._token(line, column, file, number)
        return Position(file, token.line, token.column) if token else Position(file, number, 1)

    def word(self, line: int, column: int) -> str:
        """The identifier at a line and column of the clean text, "" where there is none."""
        text = self.clean.text.split("\n")[line - 1][column - 1 :] if line > 0 else ""
        match = re.match(r"[A-Za-z_]\w*", text)
        return match[0] if match else ""

    def _token(self, line: int, column: int, file: str, number: int) -> Token | None:
        if file not in self.sources:
            return None
        if line not in self._aligned:
            self._align(line, file, number)
        tokens, originals = self._aligned[line]
        index = max(bisect_right(tokens, column, key=_column) - 1, 0)
        return originals[index] if index < len(originals) else None

    def _align(self, line: int, file: str, number: int) -> None:
        """Matches all clean lines that came from one source line with it."""
        if not self._lines:
            self._lines.extend(self.clean.text.split("\n"))
        places, first, last = self.clean.places, line, line
        while first > 1 and places[first - 2] == (file, number):
            first -= 1
        while last < len(places) and places[last] == (file, number):
            last += 1
        parts = [Source(file, self._lines[k - 1]).tokens(1) for k in range(first, last + 1)]
        originals = align(tuple(t for part in parts for t in part), self.sources[file].tokens(number))
        start = 0
        for k, part in zip(range(first, last + 1), parts, strict=True):
            self._aligned[k] = part, originals[start : start + len(part)]
            start += len(part)


def _column(token: Token) -> int:
    return token.column


def parse(clean: Clean, sources: dict[str, Source]) -> Tree:
    """Raises Diagnosed for a syntax error, with its position."""
    positions = Positions(clean, sources)
    parser = c_parser.CParser(dialect="c23" if _C23.search(clean.text) else "legacy")
    try:
        root = parser.parse(clean.text, "clean")
        unfold(root)
        spell_out(root)
        with_prototypes(root)
        return Tree(root, positions)
    except c_parser.ParseError as error:
        raise Diagnosed(_syntax_error(str(error), parser, positions)) from None
    except RecursionError:
        line, column = _last_token(parser)
        message = "expression or block nested too deeply"
        help_text = "split it into several statements or functions"
        raise Diagnosed(
            Diagnostic("PG005", "error", message, positions.at(line, column), help_text)
        ) from None
    except Exception as error:  # noqa: BLE001 (pycparser asserts on some malformed declarations)
        line, column = _last_token(parser)
        raise Diagnosed(_at(positions, line, column, f"cannot parse this ({type(error).__name__})")) from None


def _syntax_error(text: str, parser: c_parser.CParser, positions: Positions) -> Diagnostic:
    match = _PLACE.match(text)
    message = text[match.end() :] if match else re.sub(r"^[^:]*: ", "", text)
    line, column = (int(match[1]), int(match[2])) if match else _last_token(parser)
    if message == "Invalid declaration" and (name := positions.word(line, column)):
        found = _at(positions, line, column, f"syntax error: '{name}' is no type that is known here")
        return replace(
            found, help=f"include the header that declares '{name}', or add a typedef", length=len(name)
        )
    return _at(positions, line, column, _worded(message))


def _worded(message: str) -> str:
    if message.startswith("before: "):
        return f"syntax error before '{message[8:]}'"
    if message == "At end of input":
        return "syntax error: unexpected end of file (a brace or parenthesis is not closed)"
    return f"syntax error: {message[:1].lower()}{message[1:]}"


def _at(positions: Positions, line: int, column: int, message: str) -> Diagnostic:
    help_text = "correct the C; `cc -fsyntax-only` shows what a compiler says about it"
    return Diagnostic("PG004", "error", message, positions.at(line, column), help_text)


def _last_token(parser: c_parser.CParser) -> tuple[int, int]:
    """Where the parser stopped; its errors do not all say (pycparser 3, private attributes)."""
    tokens = getattr(parser, "_tokens", None)
    buffer = getattr(tokens, "_buffer", None)
    token = next((t for t in reversed(buffer or []) if t is not None), None)
    if token is not None:
        return token.lineno, token.column
    lexer = parser.clex
    line = getattr(lexer, "_lineno", 1)
    return line, max(1, getattr(lexer, "_pos", 0) - getattr(lexer, "_line_start", 0))
