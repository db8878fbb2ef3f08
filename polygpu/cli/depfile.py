"""Dependency files for make and ninja, as gcc writes them (libcpp/mkdeps.cc)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

WIDTH = 72


def depfile(targets: Sequence[str], prerequisites: Sequence[str], phony: bool = False) -> str:
    """One rule `targets: prerequisites`; with `phony` an empty rule for each but the first prerequisite.

    `targets` stand as they are given (quote them with `escape`, as gcc does for those it chose itself);
    prerequisites are escaped. The empty rules keep make going when a header is deleted.
    """
    heads, column = _fill(targets, 0)
    names = [escape(name) for name in prerequisites]
    rule = f"{heads}:{_fill(names, column + 1)[0]}\n"
    return rule + "".join(f"{name}:\n" for name in names[1:] if phony)


def escape(name: str) -> str:
    """`name` as make reads it: blanks with the backslashes before them doubled, `$` and `#` quoted."""
    name = re.sub(r"(\\*)([ \t])", r"\1\1\\\2", name)
    return name.replace("$", "$$").replace("#", "\\#")


def _fill(words: Iterable[str], column: int) -> tuple[str, int]:
    """The words, a space before each that does not start a line, folded at 72 columns."""
    text = ""
    for word in words:
        if column:
            if column + len(word) > WIDTH:
                text, column = text + " \\\n", 0
            text, column = text + " ", column + 1
        text, column = text + word, column + len(word)
    return text, column
