"""Work in a copy of the process: its answer, its failure, its end."""

from __future__ import annotations

import time

import pytest

from polygpu.support.child import in_child


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
        in_child(wait, 0.2)
    assert time.monotonic() - start < 30
