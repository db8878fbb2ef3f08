"""Every diagnostic's id, title and explanation, for `polygpu explain ID`; a file for each range of ids.

PG0xx  reading, preprocessing and parsing      PG8xx  devices
PG1xx  regions: what they may contain          PG9xx  outputs, toolchains, builds and runs
PG3xx  memory, decisions, mapping
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from polygpu.support.dataclass import dataclass

__all__ = ["CATALOGUE", "Entry"]


@dataclass(frozen=True, slots=True)
class Entry:
    """`bad` is C that draws the diagnostic, `good` what to write instead (both may be empty)."""

    title: str
    explanation: str
    bad: str = ""
    good: str = ""


def _read() -> dict[str, Entry]:
    files = Path(__file__).parent.glob("*.toml")
    entries = {key: Entry(**e) for f in files for key, e in tomllib.loads(f.read_text("utf-8")).items()}
    return dict(sorted(entries.items()))


CATALOGUE = _read()
