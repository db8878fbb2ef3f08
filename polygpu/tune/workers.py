"""Work on choices in several processes, each of which prepares the file once."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from typing import Any, TypeAlias

from polygpu.tune.plan import Task
from polygpu.tune.subjects import Subject, subjects

Job: TypeAlias = Callable[[Task, Subject, int], Any]
"""What is done with a choice of a subject."""
Spread: TypeAlias = Callable[[Job, Subject, list[int]], Iterator[Any]]
"""Does a job with each of the choices; results are in the same order."""

_CHUNK = 4  # choices that a process is given at a time


@contextmanager
def workers(task: Task, count: int) -> Iterator[Spread]:
    """What works in `count` processes, in this one if that is 1."""
    if count == 1:
        yield lambda job, s, numbers: (job(task, s, n) for n in numbers)
        return
    pool = ProcessPoolExecutor(count, get_context("spawn"), _started)
    try:
        yield lambda job, s, numbers: pool.map(
            partial(_there, job, task, s.kernel), numbers, chunksize=_CHUNK
        )
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
def _prepared(task: Task) -> dict[str, Subject]:
    return {s.kernel: s for s in subjects(task.path, task.options)[1]}


def _there(job: Job, task: Task, kernel: str, number: int) -> Any:
    return job(task, _prepared(task)[kernel], number)
