"""Places in the user's source."""

from __future__ import annotations

import re

from polygpu.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the user's source; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


def basename(path: str) -> str:
    """The file's own name: generated text does not depend on where the compiler ran."""
    return re.split(r"[/\\]", path)[-1]
