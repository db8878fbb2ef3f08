"""Statements in the preprocessed text, and the places of the user's text that they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from pycparser import c_ast

from polygpu.frontend.text.expansion import Expansion
from polygpu.frontend.text.source import Source
from polygpu.support.dataclass import dataclass

_BLANK = re.compile(r"(?:\s|#[^\n]*(?:\n|$))*")
_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[A-Za-z_]\w*|.", re.DOTALL)
_LABEL = re.compile(r"(?!default\b)[A-Za-z_]\w*\s*:(?!:)|case\b|default\b")


class NotPlainError(Exception):
    """Where a statement is cannot be told from the text; says why."""


@dataclass(frozen=True)
class Statement:
    """From its first character to the one behind its last, in the preprocessed text.

    `nodes` are several where it declares several.
    """

    start: int
    end: int
    nodes: tuple[Any, ...]


@dataclass(frozen=True)
class Text:
    """The preprocessed text of a file."""

    expansion: Expansion

    @cached_property
    def source(self) -> Source:
        return Source("", self.expansion.clean.text)

    def next(self, offset: int) -> int:
        """The first token from `offset` on, pragmas passed over."""
        found = _BLANK.match(self.source.text, offset)
        return found.end() if found else offset

    def before(self, start: int) -> int:
        """The first token behind what stands before a statement: its own, or the first of its pragmas."""
        text, place = self.source.text, start
        while (line := text[:place].rstrip().rfind("\n") + 1) < place and text[
            line:place
        ].lstrip().startswith("#"):
            place = line + len(text[line:place]) - len(text[line:place].lstrip())
        return place

    def behind(self, end: int) -> int:
        """The first token from `end` on, be it that of a pragma."""
        found = _SPACE.match(self.source.text, end)
        return found.end() if found else end

    def word(self, offset: int) -> str:
        found = _WORD.match(self.source.text, offset)
        return found[0] if found else ""

    def of(self, node: Any) -> int:
        if node.coord is None:
            raise NotPlainError("a statement has no place in the text")
        return self.source.offset(node.coord.line, node.coord.column or 1)

    def pragma(self, node: Any) -> int:
        """The first character of a pragma that is a line of its own. Raises NotPlainError."""
        start = self.behind(self.source.offset(node.coord.line, 1))
        if self.source.text[start : start + 1] != "#":
            raise NotPlainError("a pragma is not on a line of its own")
        return start

    def end(self, start: int) -> int:
        """The offset behind the statement that starts at `start`. Raises NotPlainError."""
        word = self.word(start)
        if _LABEL.match(self.source.text, start):
            raise NotPlainError("a label stands before a statement")
        if word == "switch":
            found: int | None = self.end(self.body(start))
        elif word in ("for", "while"):
            found = self.end(self.body(start))
        elif word == "if":
            found = self.end(self.body(start))
            other = self.next(found)
            if self.word(other) == "else":
                found = self.end(self.next(other + len("else")))
        elif word == "do":
            test = self.next(self.end(self.next(start + len("do"))))
            found = self.source.statement_end(self.header_end(test))
        else:
            found = self.source.statement_end(start)
        if found is None:
            raise NotPlainError("where a statement ends is not plain to see")
        return found

    def header_end(self, start: int) -> int:
        found = self.source.header_end(start)
        if found is None:
            raise NotPlainError("where a condition ends is not plain to see")
        return found

    def body(self, start: int) -> int:
        """The first token of what is behind the parentheses of `for`, `while`, `if` and `switch`."""
        return self.next(self.header_end(start))

    def otherwise(self, start: int) -> int:
        """The first token of what is behind the `else` of an `if`."""
        return self.next(self.next(self.end(self.body(start))) + len("else"))

    def statements(self, items: Sequence[Any], brace: int) -> Iterator[Statement]:
        """Those of a block with these items, which opens at `brace`. Raises NotPlainError."""
        left = [item for item in items if not isinstance(item, c_ast.Pragma)]
        at = self.next(brace + 1)
        while self.word(at) != "}":
            end = self.end(at)
            mine = [item for item in left if at <= self.of(item) < end]
            several = all(isinstance(item, c_ast.Decl | c_ast.Typedef) for item in mine)
            if not mine or (len(mine) > 1 and not several) or mine != left[: len(mine)]:
                raise NotPlainError("a statement is not where it seems to be")
            yield Statement(at, end, tuple(mine))
            left = left[len(mine) :]
            at = self.next(end)
        if left:
            raise NotPlainError("a statement is not where it seems to be")
