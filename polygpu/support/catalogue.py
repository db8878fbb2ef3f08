"""Every diagnostic's id, title and explanation, for `polygpu explain ID`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """`bad` is C that draws the diagnostic, `good` what to write instead (both may be empty)."""

    title: str
    explanation: str
    bad: str = ""
    good: str = ""


CATALOGUE: dict[str, Entry] = {}
