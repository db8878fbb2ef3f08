"""Where a walk through a kernel stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from polygpu.support.dataclass import dataclass
from polygpu.verify.affine import Scope
from polygpu.verify.events import Path


@dataclass(frozen=True)
class State:
    """Where the walk is. `arrays` says which private array a name means here."""

    scope: Scope
    path: Path
    loops: tuple[str, ...]
    arrays: Mapping[str, str]
    commits: isl.PwAff | None

    def at(self, position: int, variable_: str = "") -> State:
        return replace(self, path=(*self.path, (position, variable_)))
