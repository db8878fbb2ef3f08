"""Work in a copy of the process: its answer, its failure, its end."""

from __future__ import annotations

import time

import islpy as isl
import pytest

from polygpu.support.child import in_child
from polygpu.support.isl_idioms import STEPS_A_SECOND, TooLongError, bounded, steps


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
