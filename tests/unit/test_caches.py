"""What the memory's cache leaves of traffic, and how often warps wait for loads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from polygpu import devices
from polygpu.model.expr import Binary, Int, Name, Reference
from polygpu.model.kernel import Assign, Declare, For, If
from polygpu.perf.caches import Caches, waits
from polygpu.perf.rounds import Rounds

H100 = devices.load("h100")


def site(array: str, *, write: bool = False, **counters: int) -> dict[str, Any]:
    found = {"requests": 10, "coalesced": 0, "lanes": 0, "wide_bytes": 0} | counters
    return {"array": array, "write": write, "counters": found}


def test_a_launch_moves_each_array_once() -> None:
    sites = [site("A", wide_bytes=6000), site("A", wide_bytes=2000), site("B", wide_bytes=2000)]
    record = {"launches": 2, "sites": sites, "arrays": {"A": 1500, "B": 5000}}
    assert Caches.of(record, H100).moved == (2 * 1500 + 2000) / 10_000
    assert Caches.of(record, replace(H100, l2_bytes=0)).moved == 1.0
    assert Caches.of(record | {"arrays": {}}, H100).moved == 1.0
    assert Caches.of({"launches": 2}, H100) == Caches()


@pytest.mark.parametrize(
    ("counters", "lines"),
    [
        ({"lanes": 320, "wide_bytes": 10_240}, 32),
        ({"coalesced": 10, "wide_bytes": 1280}, 1),
        ({"coalesced": 10, "wide_bytes": 5120}, 4),
    ],
)
def test_lines_of_a_store(counters: dict[str, int], lines: int) -> None:
    record = {"launches": 1, "sites": [site("A", write=True, **counters), site("A", lanes=99)]}
    assert Caches.of(record, H100).lines == lines


@pytest.mark.parametrize(
    ("rounds", "loads", "found"), [(16, 16, 2), (1, 128, 16), (1, 4, 1), (0, 4, 0), (3, 0, 3), (0.5, 1, 0.5)]
)
def test_loads_are_waited_for_together(rounds: float, loads: float, found: float) -> None:
    assert waits(rounds, loads, replace(H100, costs=H100.costs | {"loads_in_flight": 8.0})) == found
    assert waits(rounds, loads, devices.load("gtx285")) == rounds


LOAD = Declare("x", "float", Reference("A", (Int(0),), "float"), mutable=True)
USE = Assign(Name("x", "float"), Binary("+", Name("x", "float"), Name("x", "float")))


def test_a_loop_waits_once_for_what_is_loaded_before_it() -> None:
    rounds = Rounds({"A": "global"})
    loop = For("k", Int(0), Int(9), 1, (USE,), uniform=True)
    assert rounds.statement(LOAD) == 0
    assert (rounds.entering(loop), rounds.entering(loop), rounds.statement(USE)) == (1, 0, 0)


def test_a_loop_that_loads_ahead_waits_in_itself() -> None:
    rounds = Rounds({"A": "global"})
    again = Assign(Name("x", "float"), Reference("A", (Name("k"),), "float"))
    assert rounds.statement(LOAD) == 0
    assert rounds.entering(For("k", Int(0), Int(9), 1, (USE, again), uniform=True)) == 0
    assert rounds.statement(USE) == 1


def test_sides_of_a_branch_wait_for_their_own_loads() -> None:
    rounds = Rounds({"A": "global"})
    branch = If(Name("b"), (LOAD,), (USE,), uniform=True)
    waited = [[rounds.statement(s) for s in side] for side in rounds.sides((branch.then, branch.otherwise))]
    assert waited == [[0], [0]]
    assert rounds.statement(USE) == 1
