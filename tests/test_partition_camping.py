"""Partition camping in a transposition (Ruetsch and Micikevicius, Optimizing Matrix Transpose)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks import programs
from polygpu import devices
from polygpu.perf.profile_time import from_profile
from tests import emulated

TILES = "tile(i: 16, j: 16) threads(i: 16, j: 16)"


def transposition(n: int, decisions: str = TILES) -> dict[str, Any]:
    """The kernel's record on a GTX 285, which has 8 partitions of 256 bytes in turn."""
    made = emulated.program("transpose", "gtx285", (decisions,))
    profile = made.with_suffix(".json")
    programs.run(made, (n, n), POLYGPU_PROFILE=str(profile))
    (kernel,) = (k for r in json.loads(profile.read_text())["regions"] for k in r["kernels"] if k["launches"])
    found: dict[str, Any] = kernel
    return found


def imbalance(kernel: dict[str, Any]) -> float:
    return float(kernel["partitions"]["fullest"] / kernel["partitions"]["bytes"])


def test_rows_that_all_partitions_divide_are_written_to_one() -> None:
    """Rows of 2 KB: neighbouring blocks read from partitions in turn and write below each other, to one.

    It has half of all bytes and an eighth of the other half, 4.5 times the mean.
    """
    assert imbalance(transposition(512)) == pytest.approx(4.5)


def test_other_rows_spread_over_the_partitions() -> None:
    """Rows of 2176 bytes, 8.5 times 256: the 16 rows that a block writes lie in all partitions."""
    assert imbalance(transposition(544)) < 1.5


def test_scattered_fetches_camp_too() -> None:
    """Each in a row of its own, all from one partition: on a GTX 280 2.2 GB/s, 16.5 GB/s by whole tiles."""
    gtx285 = devices.load("gtx285")
    naive, tiled = (transposition(1024, TILES + last) for last in (" stage()", ""))
    assert imbalance(naive) > imbalance(tiled)
    slower = from_profile(naive, gtx285, 4).seconds / from_profile(tiled, gtx285, 4).seconds
    assert slower == pytest.approx(16.5 / 2.2, rel=0.3)


def test_camping_costs_what_was_measured() -> None:
    """2048 x 2048 floats on a GTX 280 took 4.2 times as long as with blocks in diagonal order."""
    gtx285 = devices.load("gtx285")
    record = transposition(512)
    even = from_profile(record | {"partitions": {}}, gtx285, resident=4)
    camped = from_profile(record, gtx285, resident=4)
    slower = dict(camped.terms)["memory"] / dict(even.terms)["memory"]
    assert slower == pytest.approx(4.2, rel=0.3)
    assert camped.limited_by == "partition camping"
