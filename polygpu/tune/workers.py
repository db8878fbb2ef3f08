"""Work on choices in several processes, here or of a cluster, each of which prepares the file once."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from hashlib import sha256
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeAlias

from polygpu import __version__
from polygpu.runtime.errors import error
from polygpu.support.diagnostics import Diagnosed
from polygpu.tune.plan import Task
from polygpu.tune.subjects import Subject, subjects

Job: TypeAlias = Callable[[Task, Subject, int], Any]
"""What is done with a choice of a subject."""
Spread: TypeAlias = Callable[[Job, Subject, list[int]], Iterator[Any]]
"""Does a job with each of the choices; results are in the same order."""

_PATIENCE = 10  # seconds until a scheduler answers
_CHUNK = 4  # choices that a process is given at a time
_ONE = (
    threading.Lock()
)  # what is prepared is used by one thread at a time; workers of a cluster may have several


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


@contextmanager
def cluster(task: Task, address: str) -> Iterator[Spread]:
    """What works in the processes of a Dask cluster, by the address of its scheduler.

    What a worker has not handed over when it dies is done by another. Raises Diagnosed (PG918) where there is
    no scheduler, or where workers would do something else.
    """
    there = _anywhere(task)
    with _client(address) as client:
        _check_same(client.run(_version, there.path), _version(there.path), there.path)

        def spread(job: Job, s: Subject, numbers: list[int]) -> Iterator[Any]:
            asked = client.map(partial(_there, job, there, s.kernel), numbers, pure=False)
            return (one.result() for one in asked)

        yield spread


def _anywhere(task: Task) -> Task:
    """The task with absolute paths: workers may have another current directory."""
    o = task.options
    includes, forced = (tuple(map(_absolute, names)) for names in (o.includes, o.include_files))
    device = _absolute(o.device) if o.device.endswith(".toml") else o.device
    options = replace(o, includes=includes, include_files=forced, device=device)
    return replace(task, path=_absolute(task.path), options=options)


def _absolute(name: str) -> str:
    return str(Path(name).absolute()) if Path(name).exists() else name


def _client(address: str) -> Any:
    try:
        from distributed import Client  # noqa: PLC0415 - an extra, and only for clusters
    except ImportError:
        raise _no_cluster(
            "the package 'distributed' is not installed", "pip install 'polygpu[tune]'"
        ) from None
    try:
        return Client(address, timeout=_PATIENCE)
    except (OSError, ValueError) as problem:
        text = f"no Dask scheduler answers at {address}: {problem}"
        raise _no_cluster(
            text, "start one with `dask scheduler`, and pass the address that it prints"
        ) from None


def _version(path: str) -> str:
    """Of polygpu and the file."""
    try:
        return f"polygpu {__version__}, file {sha256(Path(path).read_bytes()).hexdigest()[:16]}"
    except OSError as problem:
        return f"no file: {problem.strerror}"


def _check_same(found: dict[str, str], here: str, path: str) -> None:
    for worker, version in found.items():
        if version != here:
            text = f"the worker {worker} would not evaluate the same {path}: {version}; here {here}"
            raise _no_cluster(text, "workers need the same polygpu and, under the same path, the same file")


def _no_cluster(text: str, advice: str) -> Diagnosed:
    return Diagnosed(error("PG918", text, advice))


def _started() -> None:
    """In a worker, which ends with its parent: interrupts are for that. It lives longer than a compilation,
    whose memory is collected seldom.
    """
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
    with _ONE:
        return job(task, _prepared(task)[kernel], number)
