"""The clock of limits that tests set: what else runs on the machine hardly moves it on."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager


def processor_seconds() -> float:
    """Of this process, and of its children that have ended."""
    return sum(os.times()[:4])


@contextmanager
def at_most(seconds: float, what: str) -> Iterator[None]:
    """What is inside fails where it takes longer."""
    multiprocessing.active_children()  # waits for those that have ended before
    start = processor_seconds()
    yield
    took = processor_seconds() - start
    assert took < seconds, f"{what} took {took:.1f} s"
