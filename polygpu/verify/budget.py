"""How much work a certificate may take: seconds, or steps of isl, of which the same source takes the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from math import inf
from typing import Protocol

from polygpu.support.isl_idioms import CONTEXT, TooLongError, exhausted, hurried

_OPERATIONS_A_SECOND = 2_000_000
_ONE_STEP = 10.0  # seconds


class OutOfBudgetError(Exception):
    """isl took more steps than it was allowed."""


class Budget(Protocol):
    """`deadline` is a time.monotonic()."""

    deadline: float

    def walk(self) -> AbstractContextManager[None]:
        """All of the walk through the code."""

    def step(self, needed: bool) -> AbstractContextManager[None]:
        """A part of the work, which may be `needed` whatever the rest takes. Raises OutOfBudgetError."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """isl's work inside is limited to about so many seconds, if it is none to next to nothing.

    Raises OutOfBudgetError.
    """
    CONTEXT.reset_operations()
    with _at_most(max(1, int(seconds * _OPERATIONS_A_SECOND))):
        yield
    CONTEXT.reset_operations()


@contextmanager
def _at_most(operations: int) -> Iterator[None]:
    """isl does no more than so many steps since they were counted from 0. Raises OutOfBudgetError."""
    CONTEXT.set_max_operations(operations)
    try:
        yield
    except Exception:
        if exhausted():  # whatever isl says: its parser, for one, takes that for a syntax error
            raise OutOfBudgetError("budget") from None
        raise
    finally:
        CONTEXT.set_max_operations(0)


@dataclass
class Seconds:
    """Until `deadline`."""

    deadline: float

    @contextmanager
    def walk(self) -> Iterator[None]:
        with limited(self.deadline - time.monotonic()):
            yield

    @contextmanager
    def step(self, needed: bool) -> Iterator[None]:
        """Also ends where steps take longer than they usually do."""
        seconds = min(self.deadline - time.monotonic(), _ONE_STEP)
        with hurried(seconds), limited(seconds):
            yield


@dataclass
class Operations:
    """`most` for all needed parts, of which `rest` is for what is not needed where they leave some."""

    most: int
    rest: int
    deadline: float = inf
    spent: bool = False

    @contextmanager
    def walk(self) -> Iterator[None]:
        CONTEXT.reset_operations()
        with _at_most(self.most):
            yield

    @contextmanager
    def step(self, needed: bool) -> Iterator[None]:
        if needed:
            with _at_most(self.most):
                yield
            return
        try:
            with _at_most(1 if self.spent else self.rest):  # the first step raises then
                yield
        except (OutOfBudgetError, TooLongError):
            self.spent = True
            raise
