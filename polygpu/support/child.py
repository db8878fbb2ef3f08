"""Work that may take longer than there is time for, and that nothing but the end of its process stops."""

from __future__ import annotations

import faulthandler
import os
import pickle
import select
import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from math import inf
from struct import Struct
from time import monotonic
from typing import IO, ClassVar, Generic, TypeAlias, TypeVar

from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import (
    STEPS_A_SECOND,
    bounded,
    exhausted,
    left,
    pass_by,
    slow,
    spent,
    steps,
    take,
    unbounded,
)

T = TypeVar("T")

_END = ContextVar("_END", default=inf)  # on the clock of steps
_SIZE = Struct("=Q")  # of an answer, before it
_BEGUN = b"b"
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
    child = _Copy(lambda out: _answer(work, most, out))
    found = b""
    try:
        found = _received(child.reader, monotonic() + _FAR * most / STEPS_A_SECOND)
    finally:
        os.close(child.reader)
        status = child.end()
        answer: _Answer = pickle.loads(found) if found else _Answer.of_none(most, status)
        pass_by(answer.steps)
    if answer.late:
        raise TimeoutError("the child takes too long")
    return answer.text


def in_helper(work: Callable[[str], str], question: str, seconds: float) -> str | None:
    """The same of a function of a module and a text, made in a copy that stays for more questions.

    Where there are many, to copy what this process has taken by then would take longer than the answers.
    """
    most = steps_for(seconds)
    if most <= 0:
        raise TimeoutError("no time is left")
    if not hasattr(os, "fork"):
        return _Answer.of(partial(work, question), most).text
    helper = _Helper.of_this_process()
    was_asked = helper.was_asked
    answer = helper.answer(work, question, most)
    if answer.lost and was_asked:  # it may have ended before, over what it was asked then
        answer = _Helper.of_this_process().answer(work, question, most)
    pass_by(answer.steps)
    if answer.late:
        raise TimeoutError("the helper takes too long")
    return answer.text


def dismiss() -> None:
    """Ends the copy that answers questions, if there is one; the next question makes another."""
    if _Helper.one is not None and _Helper.one.owner == os.getpid():
        _Helper.one.end()
    _Helper.one = None


class _Copy:
    """A copy of this process that does `work`, which writes what `reader` gives, and then ends.

    It leaves open none of the `unused` descriptors.
    """

    def __init__(self, work: Callable[[IO[bytes]], None], unused: Sequence[int] = ()) -> None:
        self.reader, writer = os.pipe()
        self.child = os.fork()
        if not self.child:
            _end_after(work, (self.reader, *unused), writer)
        os.close(writer)

    def end(self) -> int:
        """Its status, after an end that comes now if it has not come."""
        os.kill(self.child, signal.SIGKILL)
        return os.waitpid(self.child, 0)[1]


def _end_after(work: Callable[[IO[bytes]], None], unused: Sequence[int], writer: int) -> None:
    """In the child: works, and ends without the parent's farewells."""
    faulthandler.disable()  # if it crashes, that is for the parent to know
    try:
        for descriptor in unused:
            os.close(descriptor)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
        with os.fdopen(writer, "wb") as out:
            work(out)
    finally:
        dismiss()
        os._exit(0)


def _ends_after(seconds: float) -> None:
    """This process, when it has taken so many more of the processor."""
    signal.setitimer(signal.ITIMER_VIRTUAL, max(0.01, seconds))


def _ends_never() -> None:
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _is_late(status: int) -> bool:
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGVTALRM


@dataclass(frozen=True)
class _Answer:
    """Of so many `steps`; None where the work raised, was too `late` for what is asked of it, or was `lost`
    with the process it was done in.

    By then the process that answers had taken so many `seconds` of the processor in all.
    """

    text: str | None
    steps: float
    late: bool = False
    seconds: float = 0.0
    lost: bool = False

    @staticmethod
    def of_none(most: float, status: int) -> _Answer:
        """Of a process that ended with this status."""
        late = _is_late(status)
        return _Answer(None, most, late, lost=not late)

    @staticmethod
    def of(work: Callable[[], str], most: float) -> _Answer:
        start, text, late = steps(), None, False
        with suppress(Exception), bounded(most):
            try:
                text = work()
            finally:
                late = text is None and exhausted()
        return _Answer(text, steps() - start, late)


def _answer(work: Callable[[], str], most: float, out: IO[bytes]) -> None:
    _ends_after(slow() * most / STEPS_A_SECOND)
    out.write(pickle.dumps(_Answer.of(work, most)))


def _received(reader: int, deadline: float, most: float = inf) -> bytes:
    """What comes until `reader` ends, or until there are so many bytes. Raises TimeoutError."""
    found = bytearray()
    while len(found) < most:
        left = deadline - monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            raise TimeoutError("the child takes too long")
        part = os.read(reader, min(1 << 16, int(min(most - len(found), 1 << 16))))
        if not part:
            break
        found += part
    return bytes(found)


class _Helper:
    """A copy that answers one question after the other, of the process that made it.

    Copies of that process, which know it, have helpers of their own.
    """

    one: ClassVar[_Helper | None] = None

    def __init__(self) -> None:
        self.owner, self.seconds, self.was_asked = os.getpid(), 0.0, False
        asked, self.questions = os.pipe()
        self.copy = _Copy(partial(_answer_all, asked), (self.questions,))
        os.close(asked)

    @staticmethod
    def of_this_process() -> _Helper:
        if _Helper.one is None or _Helper.one.owner != os.getpid():
            _Helper.one = _Helper()
        return _Helper.one

    def answer(self, work: Callable[[str], str], question: str, most: float) -> _Answer:
        """None of a helper that ends over it. Raises TimeoutError."""
        deadline, found = monotonic() + _FAR * most / STEPS_A_SECOND, b""
        self.was_asked = True
        try:
            with suppress(BrokenPipeError):  # of a helper that has been ended: it has no answer
                _write(self.questions, pickle.dumps((work, question, most)))
            if size := _received(self.copy.reader, deadline, _SIZE.size):
                found = _received(self.copy.reader, deadline, *_SIZE.unpack(size))
        finally:
            if not found:
                status = self.end()
        answer: _Answer = pickle.loads(found) if found else _Answer.of_none(most, status)
        self._takes(answer.seconds)
        return answer

    def _takes(self, seconds: float) -> None:
        """Counts what it takes of the processor, which the system counts when it has ended."""
        take(seconds - self.seconds)
        self.seconds = seconds

    def end(self) -> int:
        """Its status, after an end that comes now if it has not come."""
        _Helper.one = None
        self._takes(0)
        os.close(self.questions)
        os.close(self.copy.reader)
        return self.copy.end()


def _write(to: int, text: bytes) -> None:
    with open(to, "wb", closefd=False) as out:
        out.write(text)


def _answer_all(questions: int, out: IO[bytes]) -> None:
    """In the helper, until nobody is left who asks: answers, each after its size."""
    unbounded()
    _END.set(inf)  # of whoever made the helper
    before = spent()
    with os.fdopen(questions, "rb") as asked, suppress(EOFError):
        while True:
            work, question, most = pickle.load(asked)
            _ends_after(slow() * most / STEPS_A_SECOND)
            made = _Answer.of(partial(work, question), most)
            _ends_never()  # what is left of the time is not for the next question
            answer = pickle.dumps(replace(made, seconds=spent() - before))
            out.write(_SIZE.pack(len(answer)) + answer)
            out.flush()


@dataclass(frozen=True)
class Lost:
    """Work that did not come to its end, and why."""

    reason: str


Work: TypeAlias = tuple[Callable[[], T], float]  # and the seconds of the processor that it may take


def processors() -> int:
    """For how many copies of this process there are processors; 0 where processes cannot be copied."""
    if not hasattr(os, "fork"):
        return 0
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def apart(works: Sequence[Work[T]]) -> Iterator[T | Lost]:
    """What each of `works` returns, in their order, made in copies of this process, as many as there are
    processors; what takes longer than it may, or crashes, is lost, and the others go on in another copy.

    They begin now, and end when all answers are taken, or no more are. Raises what they raise. Where
    processes cannot be copied, all are done here, whatever they take.
    """
    if not (copies := min(len(works), processors())):
        return (work() for work, _ in works)
    return _in_turns([_Row(deque(works[k::copies])) for k in range(copies)], len(works))


def _in_turns(rows: Sequence[_Row[T]], count: int) -> Iterator[T | Lost]:
    try:
        for k in range(count):
            yield rows[k % len(rows)].next()
    finally:
        for row in rows:
            row.end()


class _Row(Generic[T]):
    """Works that one copy after another does, each from where the one before was lost.

    The first begins when one of the rows that it is `after` ends, if there are any, and says so.
    """

    def __init__(self, works: deque[Work[T]], after: Iterable[_Row[T]] = ()) -> None:
        self.works = works
        self.begin([row.copy.reader for row in after])

    def begin(self, after: Sequence[int] = ()) -> None:
        works = tuple(self.works)
        self.copy = _Copy(lambda out: _all_of(works, out, after))
        self.found = os.fdopen(self.copy.reader, "rb")

    def goes_on(self) -> None:
        """Waits for what a row says that is after others."""
        self.found.read(len(_BEGUN))

    def end(self) -> bool:
        """Whether the copy had taken too long."""
        self.found.close()
        return _is_late(self.copy.end())

    def has_answered(self) -> bool:
        """Whether there is a part of an answer, or the end of the copy."""
        return bool(select.select([self.found], [], [], 0)[0])

    def next(self) -> T | Lost:
        self.works.popleft()
        try:
            made: T | _Raised = pickle.load(self.found)
        except (EOFError, pickle.UnpicklingError):  # of an answer, a part may have come
            late = self.end()
            self.begin()
            return Lost("it takes too long" if late else "its process crashed")
        if isinstance(made, _Raised):
            raise made.error from _InChildError(made.text)
        return made


class Beside(Generic[T]):
    """Works, by names, that copies of this process do while it goes on itself: on all processors but one.

    Where each of these has one, there is a copy for the next work, too, which begins when one of them ends.
    """

    def __init__(self) -> None:
        self.waiting: dict[str, Work[T]] = {}
        self.next: dict[str, _Row[T]] = {}  # at most one
        self.running: dict[str, _Row[T]] = {}
        self.found: dict[str, T | Lost] = {}

    def begin(self, name: str, work: Work[T]) -> None:
        """The work, or one that waits for longer, where a processor is free; `name` may have had another."""
        self.drop(name)
        self.waiting[name] = work
        for other in [n for n, row in self.running.items() if row.has_answered()]:
            self._end(other)
        free = max(processors() - 1 - len(self.running), 0)
        for other in [*self.next][:free]:
            self._goes_on(other)
            free -= 1
        for other in [*self.waiting][:free]:
            self.running[other] = _Row(deque([self.waiting.pop(other)]))
        if self.running and self.waiting and not self.next:
            other = next(iter(self.waiting))
            self.next[other] = _Row(deque([self.waiting.pop(other)]), self.running.values())

    def has_begun(self, name: str) -> bool:
        if name in self.next and self.next[name].has_answered():
            self._goes_on(name)
        return name in self.running or name in self.found

    def wait(self, name: str) -> T | Lost:
        """What the work that has begun returns. Raises what that raises."""
        if name in self.running:
            self._end(name)
        return self.found.pop(name)

    def end(self) -> None:
        """Drops all that goes on."""
        for name in [*self.running, *self.next]:
            self.drop(name)

    def _goes_on(self, name: str) -> None:
        """With the next work, which begins or has begun."""
        row = self.running[name] = self.next.pop(name)
        row.goes_on()

    def _end(self, name: str) -> None:
        row = self.running.pop(name)
        try:
            self.found[name] = row.next()
        finally:
            row.end()

    def drop(self, name: str) -> None:
        self.found.pop(name, None)
        self.waiting.pop(name, None)
        for rows in (self.next, self.running):
            if name in rows:
                rows.pop(name).end()


def _one_ends(readers: Sequence[int]) -> None:
    """Waits until nobody writes any more to one of what these read, and reads nothing of it."""
    ends = select.poll()
    for reader in readers:
        ends.register(reader, 0)
    ends.poll()


def _all_of(works: Sequence[Work[T]], out: IO[bytes], after: Sequence[int] = ()) -> None:
    if after:
        _one_ends(after)
        out.write(_BEGUN)
        out.flush()
    for work, seconds in works:
        _ends_after(seconds)
        try:
            made: T | _Raised = work()
        except Exception as error:  # noqa: BLE001 - for the parent to raise
            made = _Raised(error, traceback.format_exc())
        out.write(pickle.dumps(made))
        out.flush()


@dataclass(frozen=True)
class _Raised:
    error: Exception
    text: str


class _InChildError(Exception):
    """The traceback of what was raised in a copy of this process."""

    def __str__(self) -> str:
        return f"in a copy of this process:\n{self.args[0]}"
