"""Searches of `polygpu tune --scheduler` on a Dask cluster of two processes."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polygpu import cli
from polygpu.compilation import Options
from polygpu.support.diagnostics import Diagnosed
from polygpu.tune import workers
from polygpu.tune.evaluate import by_model
from polygpu.tune.log import head_of, opened
from polygpu.tune.plan import Limits, Plan, Task
from polygpu.tune.search import searched
from polygpu.tune.subjects import Subject, subjects
from tests.support_kernels import unavailable

SCALE = """\
void scale(int n, int m, float A[restrict n][m], float B[restrict m][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            A[i][j] = B[j][i] * SCALE;
}
"""


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    if importlib.util.find_spec("distributed") is None:
        unavailable("no package distributed: pip install 'polygpu[tune]'")
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as found,
        Client(found) as client,
    ):
        yield client


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("k.c").write_text(SCALE)
    Path("scale.h").write_text("#define SCALE 2.0f\n")
    return "k.c"


def address(local: Any) -> str:
    return str(local.scheduler.address)


def test_nothing_is_lost_with_a_worker(local: Any, source: str) -> None:
    """Of two, one of which dies soon: the same log as of one process, under relative paths."""
    options = Options(device="8800gtx", include_files=("scale.h",))
    task, plan = Task(source, options, Limits()), Plan("climb", 40, 0, Limits())
    made, found = subjects(task.path, task.options)
    first, _ = local.run(os.getpid).values()

    def killing(s: Subject, done: int, least: float) -> None:
        if done == 10:
            os.kill(first, signal.SIGKILL)

    with opened(Path("one"), head_of(plan, made, found)) as log, workers.workers(task, 1) as spread:
        searched(found, plan, by_model(spread), log, lambda *_: None)
    with (
        opened(Path("many"), head_of(plan, made, found)) as log,
        workers.cluster(task, address(local)) as spread,
    ):
        searched(found, plan, by_model(spread), log, killing)
    assert Path("many").read_text() == Path("one").read_text()
    assert first not in local.run(os.getpid).values()


def test_the_command(local: Any, source: str, capfd: pytest.CaptureFixture[str]) -> None:
    search = ["tune", "-d", "8800gtx", "-D", "SCALE=3.0f", "--candidates", "20", source]
    assert cli.invoke([*search, "--workers", "1"]) == 0
    once = capfd.readouterr().out, Path("k.tune.jsonl").read_text()
    Path("k.tune.jsonl").unlink()
    assert cli.invoke([*search, "--scheduler", address(local)]) == 0
    assert (capfd.readouterr().out, Path("k.tune.jsonl").read_text()) == once


def test_workers_that_see_another_file_are_none(
    local: Any, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "__version__", "0.0.7")
    with (
        pytest.raises(Diagnosed, match=r"not evaluate the same .*k\.c: polygpu .*; here polygpu 0\.0\.7"),
        workers.cluster(Task(source, Options(), Limits()), address(local)),
    ):
        raise AssertionError


@pytest.mark.parametrize("nowhere", ["tcp://127.0.0.1:1", "none://x"])
def test_there_may_be_no_scheduler(
    nowhere: str, local: Any, source: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(workers, "_PATIENCE", 0.3)
    assert cli.invoke(["tune", "-include", "scale.h", "--scheduler", nowhere, source]) == 1
    error = capfd.readouterr().err
    assert f"no Dask scheduler answers at {nowhere}" in error
    assert "[PG918]" in error
    assert [p.name for p in Path().glob("k.*")] == ["k.c"]


@pytest.mark.parametrize("more", [["--evaluate", "run"], ["--workers", "2"]])
def test_programs_run_here(more: list[str], source: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["tune", "--scheduler", "localhost:1", *more, source]) == 2
    assert "are of this machine: leave out --scheduler" in capfd.readouterr().err


def test_without_dask_it_says_what_to_install(
    source: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert cli.invoke(["tune", "-include", "scale.h", "--scheduler", "localhost:1", source]) == 1
    assert "pip install 'polygpu[tune]'" in capfd.readouterr().err
