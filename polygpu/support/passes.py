"""Running passes by name: what times them, dumps their results or checks these hangs here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import field
from typing import TypeVar

from polygpu.support.dataclass import dataclass

T = TypeVar("T")


@dataclass
class Passes:
    """`seconds` of each pass, which add up over regions; `after` is told each one's name and result."""

    after: Callable[[str, object], None] | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def run(self, name: str, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        try:
            result = work()
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
        if self.after is not None:
            self.after(name, result)
        return result
