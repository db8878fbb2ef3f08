"""What there is to say about a diagnostic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """`bad` is C that draws the diagnostic, `good` what to write instead (both may be empty)."""

    title: str
    explanation: str
    bad: str = ""
    good: str = ""
