"""Where the loops of a file end in the user's own text, proved from what the preprocessor makes of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cached_property

from polygpu.frontend.text.clean import Clean
from polygpu.frontend.text.source import Source, joined, spellings
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed

_OPENMP = re.compile(r'(?:#[ \t]*pragma[ \t]+|_Pragma\s*\(\s*")omp\b([^\n"]*)')
_MARK = re.compile(r"polygpu_mark_(\d+)")


@dataclass(frozen=True)
class Expansion:
    """A file as written and as preprocessed; `again` preprocesses another text in its place.

    Offsets in the clean text are those that the tree's coordinates give.
    """

    source: Source
    clean: Clean
    again: Callable[[str], Clean] = field(compare=False, repr=False)
    ends: dict[tuple[int, int, int], int | None] = field(default_factory=dict, compare=False, repr=False)

    def end(self, start: int, line: int, column: int) -> int | None:
        """The offset after the statement that starts at `start` in the source, and in the clean text at a
        line and column; None where no place in the source is certain to be its end.

        Text that is the same before and after preprocessing is certain. Where it is not, marks are put into
        the source where statements may start and end, and it is preprocessed again: they come out of that
        between the tokens that stand around them in the clean text.
        """
        place = start, line, column
        if place not in self.ends:  # each try at a region asks again
            self.ends[place] = self._end(*place)
        return self.ends[place]

    def _end(self, start: int, line: int, column: int) -> int | None:
        first = self._clean.offset(line, column)
        last = self._clean.statement_end(first)
        if last is None or start not in self.source.boundaries:
            return None
        found = self.source.statement_end(start)
        if found is not None and _same(self.source.text[start:found], self._clean.text[first:last]):
            return found
        return self._marked_end(start, first, last)

    @cached_property
    def hidden_pragmas(self) -> tuple[str, ...]:
        """The pragmas of OpenMP that there would be besides if a compiler said that it is on."""
        try:
            made = self.again(f"#define _OPENMP 201511\n{self.source.text}")
        except Diagnosed:
            return ()
        now, then = (Counter(m[1] for m in _OPENMP.finditer(text)) for text in (self.clean.text, made.text))
        return tuple((then - now).elements())

    def is_left_as_it_is(self, start: int, end: int) -> bool:
        """Whether what follows `end` in the source comes out the same without the text from `start` to there:
        it defines no macro that is used later. False where the preprocessor takes it for an error.
        """
        text = self.source.text
        lines = "\n" * text.count("\n", start, end)  # __LINE__ is the same
        try:
            whole, rest = (self._after(b, text[end:]) for b in (text[:end], text[:start] + lines))
        except Diagnosed:
            return False
        return whole == rest != []

    def _after(self, before: str, after: str) -> list[str]:
        """The tokens that come out of `after`; nothing where it is in a branch that is not taken."""
        mark = "polygpu_mark_0"
        tokens = [text for text, _ in spellings(self.again(f"{before}\n{mark}\n{after}").text)]
        return tokens[tokens.index(mark) :] if mark in tokens else []

    def _marked_end(self, start: int, first: int, last: int) -> int | None:
        before = self._marks.get(first, ())
        ends = [offset for offset in self._marks.get(self._next(last), ()) if offset > start]
        closed = [offset for offset in ends if self.source.text[offset - 1] in ";}"]
        return min(closed, default=None) if start in before else None

    def _next(self, offset: int) -> int:
        """The offset of the clean text's first token from `offset` on."""
        return next((place for _, place in spellings(self._clean.text, offset)), len(self._clean.text))

    @cached_property
    def _clean(self) -> Source:
        return Source("", self.clean.text)

    @cached_property
    def _marks(self) -> dict[int, tuple[int, ...]]:
        return self.marks(self.source.boundaries)

    @cached_property
    def gaps(self) -> dict[int, tuple[int, ...]]:
        """The marks between statements of the source."""
        return self.marks(self.source.gaps)

    def marks(self, boundaries: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """By the offset of a token in the clean text, the `boundaries` in the source that come out before it.

        Nothing where marks there changed what else comes out.
        """
        try:
            marked = self.again(self._with_marks(boundaries))
        except Diagnosed:
            return {}
        tokens = [*spellings(self._clean.text), ("", len(self._clean.text))]
        found: dict[int, tuple[int, ...]] = {}
        index = 0
        for text, _ in spellings(marked.text):
            if index == len(tokens):
                return {}
            expected, place = tokens[index]
            if mark := _MARK.fullmatch(text):
                found[place] = (*found.get(place, ()), int(mark[1]))
            elif _alike(text, expected):
                index += 1
            else:
                return {}
        return found if index == len(tokens) - 1 else {}

    def _with_marks(self, boundaries: Iterable[int]) -> str:
        text, parts, done = self.source.text, [], 0
        for offset in boundaries:
            parts += [text[done:offset], f" polygpu_mark_{offset} "]
            done = offset
        return "".join([*parts, text[done:]])


def _same(original: str, preprocessed: str) -> bool:
    return [text for text, _ in spellings(joined(original))] == [text for text, _ in spellings(preprocessed)]


def _alike(text: str, other: str) -> bool:
    """Whether tokens are equal; strings may name the time."""
    return text == other or text[:1] == other[:1] == '"'
