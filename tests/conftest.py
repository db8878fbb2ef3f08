"""What all tests share: a fixed environment, and a summary of the checks that could not run here."""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import settings

from polygpu.runtime import build
from polygpu.support import child
from polygpu.verify import certificate
from tests import builds
from tests.support_kernels import DRIVER_FLAGS

# Timings on a shared machine say nothing; a property that hangs is stopped by the test that owns it.
settings.register_profile("polygpu", deadline=None, derandomize=True)
settings.load_profile("polygpu")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite expected texts that differ")


def pytest_configure(config: pytest.Config) -> None:
    """Before the processes of xdist start."""
    gc.set_threshold(100_000)  # as `polygpu.cli.main`: much is allocated, and little in circles
    sharing = ExitStack()
    sharing.enter_context(builds.shared())
    config.add_cleanup(sharing.close)


def pytest_collection_finish() -> None:
    """Thousands of tests stay: no collection looks at them again."""
    gc.freeze()


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether expected texts are to be rewritten."""
    return bool(request.config.getoption("--update"))


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages in English, and none of the caller's settings of polygpu."""
    monkeypatch.setenv("LC_ALL", "C")
    for name in ("POLYGPU_PROFILE", "POLYGPU_DEBUG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def brief_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What commands and OpenCL's driver build here runs for a moment: to optimise it takes longer.

    Optimised kernels run in tests/test_kernels.py and tests/unit/test_emulator_results.py.
    """
    monkeypatch.setattr(build, "OPTIMISE", ("-O0", "-ffp-contract=off"))
    monkeypatch.setattr(build, "execute", builds.execute)
    monkeypatch.setenv(DRIVER_FLAGS, "-cl-opt-disable")


@pytest.fixture(autouse=True)
def certificates_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """To copy a process that holds thousands of tests takes as long as many a certificate.

    They are made in copies in tests/unit/test_child.py, and by commands that run in processes of their own.
    """
    for module in (certificate, child):
        monkeypatch.setattr(module, "processors", lambda: 0)


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates are made in copies after all."""
    for module in (certificate, child):
        monkeypatch.setattr(module, "processors", lambda: 2)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says in the closing lines which checks were skipped and why."""
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", ()))
    if not reasons:
        return
    terminalreporter.section("checks that could not run here")
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count:5} x {reason}")


def _reason(report: Any) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return str(text).removeprefix("Skipped: ")
