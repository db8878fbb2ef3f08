"""Work in a copy of the process: its answer, its failure, its end."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import islpy as isl
import pytest

from polygpu.compilation import Options
from polygpu.compiler import compile_chosen
from polygpu.support import child
from polygpu.support.child import Beside, Lost, apart, dismiss, in_child, in_helper, patience
from polygpu.support.isl_idioms import STEPS_A_SECOND, TooLongError, bounded, spent, steps
from polygpu.verify import certificate
from polygpu.verify.certificate import certify


def test_the_answer_comes_back_whole() -> None:
    """Longer than a pipe holds at once."""
    text = "schedule " * 50_000
    assert in_child(lambda: text, 60) == text


def test_a_failure_is_no_answer() -> None:
    def fail() -> str:
        raise ValueError

    assert in_child(fail, 60) is None


def test_what_takes_too_long_is_stopped() -> None:
    def wait() -> str:
        time.sleep(60)
        return ""

    start = time.monotonic()
    with pytest.raises(TimeoutError):
        in_child(wait, 0.02)
    assert time.monotonic() - start < 30


def test_what_takes_too_many_steps_is_stopped_at_the_same_step() -> None:
    def work(sets: int) -> str:
        for _ in range(sets):
            isl.Set("{ [i] : 0 <= i < 10 }").complement()
        return "done"

    start = steps()
    assert in_child(lambda: work(1000), 60) == "done"
    taken = steps() - start
    assert taken > 20_000  # those of the child are this process's
    with pytest.raises(TimeoutError):
        in_child(lambda: work(1000), taken / 4 / STEPS_A_SECOND)
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0


def test_what_counts_no_steps_ends_by_the_clock_of_the_processor() -> None:
    def forever() -> str:
        while True:
            pass

    with pytest.raises(TimeoutError):
        in_child(forever, 0.02)


def test_a_bound_is_one_for_children_too() -> None:
    def forever() -> str:
        while True:
            pass

    start = time.process_time()
    with pytest.raises(TooLongError), bounded(20_000):
        in_child(forever, 60)
    assert time.process_time() - start < 30


def _who(question: str) -> str:
    return f"{question} {os.getpid()}"


def _long(question: str) -> str:
    return question * 50_000


def _many_steps(question: str) -> str:
    for _ in range(int(question)):
        isl.Set("{ [i] : 0 <= i < 10 }").complement()
    return "done"


def _busy(seconds: str) -> str:
    end = time.process_time() + float(seconds)
    while time.process_time() < end:
        pass
    return "done"


def _in_trouble(question: str) -> str:
    if question == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    while question == "forever":
        pass
    raise ValueError


def _helper() -> int:
    """The process of the helper."""
    return int((in_helper(_who, "it is", 60) or "").split()[-1])


def test_a_helper_answers_one_question_after_the_other() -> None:
    helper = _helper()
    assert helper != os.getpid()
    assert in_helper(_long, "schedule ", 60) == "schedule " * 50_000
    assert in_helper(_in_trouble, "nothing", 60) is None
    assert _helper() == helper


def test_another_helper_comes_after_one_that_ended() -> None:
    first = _helper()
    assert in_helper(_in_trouble, "crash", 60) is None
    second = _helper()
    with pytest.raises(TimeoutError):
        in_helper(_in_trouble, "forever", 0.02)
    third = _helper()
    dismiss()
    assert len({first, second, third, _helper()}) == 4


def test_another_helper_answers_for_one_that_was_ended_between_questions() -> None:
    first = _helper()
    os.kill(first, signal.SIGKILL)
    time.sleep(0.1)
    assert _helper() != first


class _SlowToRead:
    """What takes a fifth of a second to read."""

    def __reduce__(self) -> tuple[Callable[[str], str], tuple[str]]:
        return _busy, ("0.2",)


def _read(what: object, question: str) -> str:
    return question


def test_time_that_a_question_leaves_does_not_end_the_next_one() -> None:
    assert in_helper(partial(_read, None), "before", 0.02) == "before"
    assert in_helper(partial(_read, _SlowToRead()), "after", 60) == "after"


def test_steps_of_a_helper_count_and_are_bounded() -> None:
    start = steps()
    assert in_helper(_many_steps, "1000", 60) == "done"
    taken = steps() - start
    assert taken > 20_000
    with pytest.raises(TimeoutError):
        in_helper(_many_steps, "1000", taken / 4 / STEPS_A_SECOND)
    with pytest.raises(TooLongError), bounded(taken / 4):
        in_helper(_many_steps, "1000", 60)
    assert in_helper(_many_steps, "1000", 60) == "done"


def test_the_time_of_a_helper_counts_once() -> None:
    dismiss()
    before = spent()
    for _ in range(3):
        assert in_helper(_busy, "0.1", 60) == "done"
    while_it_goes_on = spent() - before
    dismiss()
    assert while_it_goes_on >= 0.3
    assert abs(spent() - before - while_it_goes_on) < 0.1


def _asking(question: str) -> str:
    return in_child(lambda: question, 1) or ""


@pytest.mark.parametrize("bound", [bounded(20_000), patience(0.01)])
def test_a_helper_that_was_made_in_a_bound_is_not_bound_by_it(bound: AbstractContextManager[None]) -> None:
    dismiss()
    with bound:
        helper = _helper()
    assert in_helper(_many_steps, "1000", 60) == "done"
    assert in_helper(_asking, "it", 60) == "it"
    assert _helper() == helper


@pytest.mark.usefixtures("copied")
def test_a_copy_of_a_process_has_a_helper_of_its_own() -> None:
    mine = _helper()
    (theirs,) = apart([(_helper, 60)])
    assert theirs != mine == _helper()


@pytest.mark.usefixtures("copied")
def test_works_apart_come_back_in_order_without_those_that_are_lost() -> None:
    def forever() -> int:
        while True:
            pass

    def crash() -> int:
        os.kill(os.getpid(), signal.SIGSEGV)
        return 0

    works: list[Callable[[], int]] = [partial(int, k) for k in range(5)]
    works[1], works[3] = forever, crash
    assert [*apart([(work, 0.05) for work in works])] == [
        0,
        Lost("it takes too long"),
        2,
        Lost("its process crashed"),
        4,
    ]
    assert [*apart([])] == []


@pytest.mark.usefixtures("copied")
def test_what_work_apart_raises_is_raised_here_with_its_place() -> None:
    def fail() -> int:
        raise ZeroDivisionError("nothing")

    with pytest.raises(ZeroDivisionError, match="nothing") as raised:
        list(apart([(fail, 1.0)]))
    assert "in fail" in str(raised.value.__cause__)


@pytest.mark.usefixtures("copied")
def test_works_go_on_beside_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "processors", lambda: 3)
    beside: Beside[int] = Beside()
    told = {name: os.pipe() for name in "abcdef"}
    begun = {name: os.pipe() for name in "abcdef"}

    def waits(name: str) -> int:
        """Says so, and ends when it is told to."""
        os.write(begun[name][1], b"!")
        return int(os.read(told[name][0], 1))

    def begins(name: str, seconds: float = 60) -> bool:
        return bool(select.select([begun[name][0]], [], [], seconds)[0])

    def tell(name: str, answer: bytes) -> None:
        os.write(told[name][1], answer)
        while name in beside.running and not beside.running[name].has_answered():
            time.sleep(0.01)

    def begin(name: str) -> None:
        beside.begin(name, (partial(waits, name), 60))

    for name in "abcd":
        begin(name)
    assert begins("a") and begins("b")  # on all processors but one
    assert not begins("c", 0.1)  # for which there is a copy
    assert ([*beside.running], [*beside.next], [*beside.waiting]) == (["a", "b"], ["c"], ["d"])
    assert [name for name in "abcd" if beside.has_begun(name)] == ["a", "b"]
    tell("b", b"2")
    assert begins("c") and beside.has_begun("c") and not begins("d", 0.1)
    begin("d")  # in the place of what waited
    assert ([*beside.running], [*beside.next], [*beside.waiting]) == (["a", "c"], ["d"], [])
    tell("a", b"1")
    assert begins("d")
    begin("e")
    assert ([*beside.running], [*beside.next]) == (["c", "d"], ["e"])
    assert (beside.wait("a"), beside.wait("b")) == (1, 2)
    assert not beside.has_begun("b")
    beside.drop("c")  # what is dropped has ended, too
    assert begins("e") and beside.has_begun("e")
    begin("f")
    assert ([*beside.running], [*beside.next]) == (["d", "e"], ["f"])
    tell("d", b"4")
    assert beside.wait("d") == 4
    going = [row.copy.child for row in (*beside.running.values(), *beside.next.values())]
    assert len(going) == 2
    beside.end()
    assert not beside.running and not beside.next
    for process in going:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.mark.usefixtures("copied")
def test_what_is_lost_or_raised_beside_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "processors", lambda: 3)
    beside: Beside[object] = Beside()

    def fail() -> int:
        raise ZeroDivisionError("nothing")

    beside.begin("crash", (partial(int, 1), 60))  # which another work takes the name of
    beside.begin("crash", (lambda: os.kill(os.getpid(), signal.SIGSEGV), 60))
    beside.begin("fail", (fail, 60))
    assert beside.wait("crash") == Lost("its process crashed")
    with pytest.raises(ZeroDivisionError, match="nothing"):
        beside.wait("fail")
    assert not beside.running


@pytest.mark.usefixtures("copied")
def test_a_certificate_without_end_is_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def forever(*_: object) -> None:
        while True:
            pass

    source = tmp_path / "f.c"
    source.write_text(
        "void f(int n, float x[n]) {\n#pragma scop\nfor (int i = 0; i < n; i++) x[i] = 1;\n"
        "#pragma endscop\n}\n"
    )
    (region,) = compile_chosen(str(source), Options(target="cuda")).regions
    assert certify(region, 0.05).holds
    monkeypatch.setattr(certificate, "check_bounds", forever)
    found = certify(region, 0.05)
    assert not found.holds and {u.reason for u in found.unproved} == {"it takes too long"}
