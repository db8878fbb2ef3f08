"""Evaluating in several processes, each of which prepares the file once."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from typing import TypeAlias

from polygpu.pipeline import Options
from polygpu.tune.evaluate import Evaluation, evaluated
from polygpu.tune.plan import Limits
from polygpu.tune.subjects import Subject, subjects

Evaluate: TypeAlias = Callable[[int, list[int]], Iterator[Evaluation]]
"""From a subject, by its index, and choices of it to what they take, in the same order."""

_CHUNK = 4  # choices that a process is given at a time


@dataclass(frozen=True)
class Task:
    """What is searched, as processes are told it."""

    path: str
    options: Options
    limits: Limits


@contextmanager
def workers(task: Task, found: Sequence[Subject], count: int) -> Iterator[Evaluate]:
    """What evaluates in `count` processes, in this one if that is 1; `found` are the subjects of the task."""
    if count == 1:
        yield lambda k, numbers: (evaluated(found[k], n, task.limits) for n in numbers)
        return
    pool = ProcessPoolExecutor(count, get_context("spawn"), _started)
    try:
        yield lambda k, numbers: pool.map(_evaluated, [(task, k, n) for n in numbers], chunksize=_CHUNK)
    finally:
        pool.shutdown(cancel_futures=True)


def _started() -> None:
    """In a worker, which ends with its parent: interrupts are for that. Memory is collected as there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(100_000)
    threading.Thread(target=_ends_with, args=(parent_process(),), daemon=True).start()


def _ends_with(parent: BaseProcess | None) -> None:
    if parent is not None:
        parent.join()
        os._exit(1)


@cache
def _prepared(task: Task) -> tuple[Subject, ...]:
    return subjects(task.path, task.options)[1]


def _evaluated(asked: tuple[Task, int, int]) -> Evaluation:
    task, subject, number = asked
    return evaluated(_prepared(task)[subject], number, task.limits)
