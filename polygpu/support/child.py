"""Work that may take longer than there is time for, and that nothing but the end of its process stops."""

from __future__ import annotations

import faulthandler
import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import monotonic

_DEADLINE = ContextVar("_DEADLINE", default=inf)


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """All work in children, started inside, together takes no longer than so many seconds."""
    token = _DEADLINE.set(min(_DEADLINE.get(), monotonic() + seconds))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def in_child(work: Callable[[], str], seconds: float) -> str | None:
    """What `work` returns, made in a copy of this process; None when it raises there.

    Raises TimeoutError after `seconds`, or where `patience` ends. Where processes cannot be copied, `work`
    runs here, however long that takes.
    """
    seconds = min(seconds, _DEADLINE.get() - monotonic())
    if seconds <= 0:
        raise TimeoutError("no time is left")
    if not hasattr(os, "fork"):
        return work()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        _answer(work, reader, writer)
    os.close(writer)
    try:
        text = _received(reader, monotonic() + seconds)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return text.decode() if text else None


def _answer(work: Callable[[], str], reader: int, writer: int) -> None:
    """In the child: sends the answer, and ends without the parent's farewells."""
    faulthandler.disable()  # if it crashes, that is for the parent to know
    try:
        os.close(reader)
        with os.fdopen(writer, "wb") as out:
            out.write(work().encode())
    finally:
        os._exit(0)


def _received(reader: int, deadline: float) -> bytes:
    parts: list[bytes] = []
    while True:
        left = deadline - monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            raise TimeoutError("the child takes too long")
        part = os.read(reader, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
