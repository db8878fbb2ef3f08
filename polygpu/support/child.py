"""Work that may take longer than there is time for, and that nothing but the end of its process stops."""

from __future__ import annotations

import faulthandler
import os
import pickle
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from math import inf
from time import monotonic

from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import STEPS_A_SECOND, bounded, exhausted, left, pass_by, slow, steps

_END = ContextVar("_END", default=inf)  # on the clock of steps
_FAR = 20  # times the time that steps should take: then the clock ends a child


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """All work in children, started inside, together takes no more steps than so many seconds have."""
    token = _END.set(min(_END.get(), steps() + seconds * STEPS_A_SECOND))
    try:
        yield
    finally:
        _END.reset(token)


def steps_for(seconds: float) -> float:
    """How many steps a child may take that is given so many seconds."""
    return min(seconds * STEPS_A_SECOND, _END.get() - steps(), left())


def in_child(work: Callable[[], str], seconds: float) -> str | None:
    """What `work` returns, made in a copy of this process; None when it raises there.

    Raises TimeoutError where isl takes more steps than `seconds` have, or `patience` or a bound leaves, and
    where fewer are counted in several times as much time of the processor. Where processes cannot be copied,
    `work` runs here.
    """
    most = steps_for(seconds)
    if most <= 0:
        raise TimeoutError("no time is left")
    if not hasattr(os, "fork"):
        return _Answer.of(work, most).text
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        _answer(work, most, reader, writer)
    os.close(writer)
    found = b""
    try:
        found = _received(reader, monotonic() + _FAR * most / STEPS_A_SECOND)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        answer: _Answer = pickle.loads(found) if found else _Answer(None, most, _is_late(status))
        pass_by(answer.steps)
    if answer.late:
        raise TimeoutError("the child takes too long")
    return answer.text


def _is_late(status: int) -> bool:
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGVTALRM


@dataclass(frozen=True)
class _Answer:
    """Of so many `steps`; None where the work raised, or was too `late` for what is asked of it."""

    text: str | None
    steps: float
    late: bool = False

    @staticmethod
    def of(work: Callable[[], str], most: float) -> _Answer:
        start, text, late = steps(), None, False
        with suppress(Exception), bounded(most):
            try:
                text = work()
            finally:
                late = text is None and exhausted()
        return _Answer(text, steps() - start, late)


def _answer(work: Callable[[], str], most: float, reader: int, writer: int) -> None:
    """In the child: sends the answer, and ends without the parent's farewells."""
    faulthandler.disable()  # if it crashes, that is for the parent to know
    try:
        os.close(reader)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_VIRTUAL, max(0.01, slow() * most / STEPS_A_SECOND))
        with os.fdopen(writer, "wb") as out:
            out.write(pickle.dumps(_Answer.of(work, most)))
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
