"""The user's own text: offsets, tokens, and where a construct ends."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

from polygpu.support.dataclass import dataclass

_TOKEN = re.compile(
    r"""/\*[\s\S]*?(?:\*/|$)|//.*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[A-Za-z_]\w*"""
    r"""|\.?\d(?:[eEpP][+-]|[\w.])*|[-+*/%&|<>=!^]=|\+\+|--|->|&&|\|\||<<=?|>>=?|\S"""
)
# What can hide a word, a bracket or a semicolon: comments, literals, directives (with continuation lines).
_SCAN = re.compile(
    r"""/\*.*?\*/|//(?:[^\n\\]|\\.)*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"""
    r"""|^[ \t]*\#(?:[^\n\\]|\\(?:\r\n|.))*|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.])*|[(){}\[\];]""",
    re.DOTALL | re.MULTILINE,
)
_CONDITIONAL = re.compile(r"#\s*(?:if|else|elif|endif)")
_CONTINUED = re.compile(r"\\\r?\n")


@dataclass(frozen=True, slots=True)
class Token:
    """`line` and `column` count from 1."""

    text: str
    line: int
    column: int


@dataclass(frozen=True)
class Source:
    """One file. Lines end with a line feed; a carriage return before it belongs to the line end."""

    path: str
    text: str
    _tokens: dict[int, tuple[Token, ...]] = field(default_factory=dict, compare=False, repr=False)
    _ends: dict[int, int | None] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer("\n", self.text))]

    def offset(self, line: int, column: int) -> int:
        """The character offset of a position; beyond the end of the text, its length."""
        if line > len(self.starts):
            return len(self.text)
        return min(self.starts[line - 1] + column - 1, len(self.text))

    def place(self, offset: int) -> tuple[int, int]:
        """(line, column) of a character offset."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line without its line end; "" where there is none."""
        if not 0 < number <= len(self.starts):
            return ""
        end = self.starts[number] if number < len(self.starts) else len(self.text)
        return self.text[self.starts[number - 1] : end].rstrip("\r\n")

    def tokens(self, number: int) -> tuple[Token, ...]:
        """The tokens of the logical line that starts with line `number`: continued lines are joined."""
        if number not in self._tokens:
            self._tokens[number] = tuple(self._logical(number))
        return self._tokens[number]

    def _logical(self, number: int) -> list[Token]:
        found = []
        continued = True
        while continued and number <= len(self.starts):
            text = self.line(number)
            continued = text.endswith("\\")
            for match in _TOKEN.finditer(text[:-1] if continued else text):
                if not match[0].startswith(("//", "/*")):
                    found.append(Token(match[0], number, match.start() + 1))
            number += 1
        return found

    def statement_end(self, offset: int) -> int | None:
        """The offset after the statement that starts at `offset`, found without parsing.

        Statements within statements, labels and blocks are followed; None where the text does not close, or
        where a conditional directive stands inside (its branches may not balance).
        """
        if offset not in self._ends:
            self._ends[offset] = _Scanner(self.text, offset).statement()
        return self._ends[offset]

    @cached_property
    def boundaries(self) -> tuple[int, ...]:
        """The offsets of each `for` and `while`, of words behind a brace, a semicolon or a directive, and
        after each semicolon and closing brace, outside of parentheses.

        What stands in parentheses may be the argument of a macro.
        """
        found = []
        depths = [0]
        follows = pragma = False
        for match in _SCAN.finditer(self.text):
            text = match[0].lstrip()
            if text.startswith(("//", "/*")):
                continue
            if (text in ("for", "while") or (follows and _starts(text))) and depths[-1] == 0:
                found.append(match.start())
            follows = text in ("{", "}", ";") or text.startswith("#") or (pragma and text == ")")
            pragma = text == "_Pragma" or (pragma and text[0] in '("')
            if text.startswith("#"):
                _branch(text, depths)
            elif text in ("(", ")"):
                depths[-1] += 1 if text == "(" else -1
            elif text in (";", "}") and depths[-1] == 0:
                found.append(match.end())
        return tuple(dict.fromkeys(found))

    @cached_property
    def gaps(self) -> tuple[int, ...]:
        """The offsets outside of parentheses after semicolons, braces, `else`, `do` and after parentheses."""
        found = []
        depths = [0]
        for match in _SCAN.finditer(self.text):
            text = match[0].lstrip()
            if text.startswith("#"):
                _branch(text, depths)
            elif text in ("(", ")"):
                depths[-1] += 1 if text == "(" else -1
            if text in (";", "{", "}", "else", "do", ")") and depths[-1] == 0:
                found.append(match.end())
        return tuple(found)

    def directives(self, start: int, end: int) -> list[tuple[str, int]]:
        """The words of the preprocessor's directives that start between two offsets, and where."""
        found = []
        for match in _SCAN.finditer(self.text, start, end):
            if match[0].lstrip().startswith("#"):
                word = re.search(r"\w+|$", match[0])
                found.append((word[0] if word else "", match.start()))
        return found

    def header_end(self, offset: int) -> int | None:
        """The offset after the closing parenthesis of the keyword at `offset`."""
        scanner = _Scanner(self.text, offset)
        scanner.next()
        return scanner.parenthesis()


def spellings(text: str, start: int = 0) -> Iterator[tuple[str, int]]:
    """The tokens of a text from an offset on, and their offsets."""
    for match in _TOKEN.finditer(text, start):
        if not match[0].startswith(("//", "/*")):
            yield match[0], match.start()


def joined(text: str) -> str:
    """The text with its continued lines as one."""
    return _CONTINUED.sub("", text)


def _starts(text: str) -> bool:
    """Whether a token begins a block, or may be the macro that begins a loop."""
    return text == "{" or text[0].isalpha() or text[0] == "_"


def _branch(directive: str, depths: list[int]) -> None:
    """How deep in parentheses each open conditional directive stands, and the text now: branches do not
    add up.
    """
    match = _CONDITIONAL.match(directive)
    word = match[0].lstrip("# \t") if match else ""
    if word == "if":
        depths.append(depths[-1])
    elif word in ("else", "elif") and len(depths) > 1:
        depths[-1] = depths[-2]
    elif word == "endif" and len(depths) > 1:
        depths[-2:] = depths[-1:]


class _Scanner:
    """Reads brackets, semicolons and words; everything else is skipped."""

    def __init__(self, text: str, offset: int) -> None:
        self.tokens = _SCAN.finditer(text, offset)
        self.pending: re.Match[str] | None = None

    def next(self) -> re.Match[str] | None:
        if self.pending is not None:
            match, self.pending = self.pending, None
            return match
        for match in self.tokens:
            text = match[0].lstrip()
            if text.startswith("#") and _CONDITIONAL.match(text):
                return None
            if text[0] in "(){}[];_" or text[0].isalpha():
                return match
        return None

    def peek(self) -> str:
        self.pending = self.next()
        return self.pending[0] if self.pending else ""

    def parenthesis(self) -> int | None:
        """Skips a bracketed text; gives the offset after it."""
        depth = 0
        while match := self.next():
            if match[0] in ("(", "[", "{"):
                depth += 1
            elif match[0] in (")", "]", "}"):
                depth -= 1
                if depth <= 0:
                    return match.end()
            elif depth == 0:
                return None
        return None

    def statement(self) -> int | None:
        word = self.peek()
        if word == "{":
            return self.parenthesis()
        if word == "_Pragma":
            self.next()
            return None if self.parenthesis() is None else self.statement()
        if word in ("for", "while", "if", "switch"):
            self.next()
            if self.parenthesis() is None:
                return None
            end = self.statement()
            if word == "if" and end is not None and self.peek() == "else":
                self.next()
                return self.statement()
            return end
        if word == "do":
            self.next()
            return None if self.statement() is None or self.peek() != "while" else self._simple()
        if self._is_label():
            self.next()
            return self.statement()
        return None if word == "case" else self._simple()

    def _is_label(self) -> bool:
        """Whether the word that comes next stands before a colon."""
        word = self.pending
        follows = word and next(spellings(word.string, word.end()), None)
        return bool(word and follows and follows[0] == ":" and re.fullmatch(r"\w+", word[0]))

    def _simple(self) -> int | None:
        depth = 0
        while match := self.next():
            if match[0] in ("(", "[", "{"):
                depth += 1
            elif match[0] in (")", "]", "}"):
                depth -= 1
                if depth < 0:
                    return None
            elif match[0] == ";" and depth == 0:
                return match.end()
        return None


def align(clean: tuple[Token, ...], original: tuple[Token, ...]) -> tuple[Token, ...]:
    """For each token of a preprocessed line the token of the source line that it stands for.

    Equal tokens are matched in order (longest common subsequence); what a macro produced is matched to
    the macro's name, the first unmatched token behind the last match.
    """
    same = [token.text for token in clean] == [token.text for token in original]
    if same or not original:
        return original
    matched = _common(clean, original)
    result = []
    following = 0
    for index in range(len(clean)):
        found = matched.get(index)
        if found is not None:
            following = found + 1
            result.append(original[found])
        else:
            taken = following in matched.values() or following >= len(original)
            result.append(original[max(following - 1, 0) if taken else following])
    return tuple(result)


def _common(left: tuple[Token, ...], right: tuple[Token, ...]) -> dict[int, int]:
    """Index pairs of a longest common subsequence; greedy beyond 200 tokens, where it would be slow."""
    if len(left) * len(right) > 40_000:
        return _greedy(left, right)
    rows, columns = len(left), len(right)
    length = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            if left[i].text == right[j].text:
                length[i][j] = length[i + 1][j + 1] + 1
            else:
                length[i][j] = max(length[i + 1][j], length[i][j + 1])
    pairs = {}
    i = j = 0
    while i < rows and j < columns:
        if left[i].text == right[j].text:
            pairs[i] = j
            i, j = i + 1, j + 1
        elif length[i + 1][j] >= length[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _greedy(left: tuple[Token, ...], right: tuple[Token, ...]) -> dict[int, int]:
    texts = [token.text for token in right]
    pairs: dict[int, int] = {}
    start = 0
    for index, token in enumerate(left):
        if token.text in texts[start : start + 200]:
            start = texts.index(token.text, start) + 1
            pairs[index] = start - 1
    return pairs
