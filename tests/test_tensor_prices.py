"""What products of tensor cores are counted and priced at, beside numbers by hand and measured ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from polygpu import devices
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.fragments import POLICIES
from polygpu.offload.seconds import Ledger
from polygpu.perf.effort import QUICK, look
from polygpu.perf.launches import Calls
from polygpu.perf.timing import Blocks, Stage, Warps, kernel_time
from polygpu.pipeline import compile_file
from polygpu.search.price import price
from tests.test_fragments import SOURCE, SUM

H100 = devices.load("h100")
MEASURED = {
    ("tf32", ""): 1.26,
    ("half", ""): 1.22,
    ("bfloat16", "buffer(double)"): 1.27,
    ("double", ""): 2.73,
    ("tf32", "buffer(double)"): 1.40,
    ("tf32", "buffer(prefetch)"): 1.51,
    ("tf32", "tile(i: 128, j: 64, k: 32)"): 1.50,
    ("tf32", "threads(i: 64, j: 4) tile(i: 256, j: 64)"): 2.05,
}
"""Milliseconds of products of 4096 on an H100: benchmarks/README.md."""


@cache
def region(policy: str, more: str = "") -> CompiledRegion:
    with TemporaryDirectory(prefix="polygpu-tests-") as directory:
        file = Path(directory, "product.c")
        file.write_text(SOURCE.replace("TYPE", POLICIES[policy].element).replace("SUM", SUM))
        decisions = (f"tensor({policy})", *((more,) if more else ()))
        (found,) = compile_file(str(file), Options(device="h100", decisions=decisions)).regions
    return found


def counted(policy: str, more: str, n: int) -> dict[str, Any]:
    (found,), _ = look([(region(policy, more).region, (Calls(1, {"n": n}),))], H100, QUICK)
    return dict(found.kernels[0]["counters"])


@pytest.mark.parametrize(("policy", "rounded"), [("tf32", 1), ("half", 2), ("bfloat16", 2), ("double", 0)])
def test_operands_are_loaded_and_rounded_once_for_all_fragments(policy: str, rounded: int) -> None:
    """A warp has 4 x 4 fragments of 16 x 8 elements: 64 x 32 of C, of which a block has two."""
    n, terms = 512, POLICIES[policy].terms
    found = counted(policy, "threads(i: 16, j: 4) tile(i: 128, j: 32, k: 16) buffer(none)", n)
    warps, steps = (n // 64) * (n // 32), n // terms
    left, right = 4 * 16 * terms // 32, 4 * 8 * terms // 32  # elements of a lane
    instructions = found["instructions"]
    assert instructions[f"tensor_{policy}"] == warps * steps * 4 * 4 == n**3 // (16 * 8 * terms)
    assert instructions["load_shared"] == warps * steps * (left + right)
    assert instructions["convert"] == (warps * steps * (left + right) // rounded if rounded else 0)
    assert instructions["mad"] == instructions["double_mad"] == 0


def test_other_kernels_count_nothing_of_tensor_cores() -> None:
    found = counted("tf32", "tensor(none)", 512)
    assert not any(name.startswith("tensor_") for name in found["instructions"])
    assert found["instructions"]["mad"] == 512**3 // 32


@pytest.mark.parametrize("key", MEASURED, ids=" ".join)
def test_times_are_near_measured_ones(key: tuple[str, str]) -> None:
    seconds = price(region(*key), 0, H100, {"n": 4096}).seconds
    assert abs(log(1e3 * seconds / MEASURED[key])) < log(1.7)


def test_tiles_come_in_the_measured_order() -> None:
    """Those of one policy, but for two that were measured within 1 % of each other."""
    of_tf32 = sorted((ms, key) for key, ms in MEASURED.items() if key[0] == "tf32")
    first, second, *near, last = (price(region(*key), 0, H100, {"n": 4096}).seconds for _, key in of_tf32)
    assert first < second < min(near) <= max(near) < last


def test_tensor_cores_are_not_waited_for() -> None:
    """A warp alone waits for registers; its multiply-adds take their cycles, once each."""
    chip = replace(H100, multiprocessors=1, clock=1.0)

    def cycles(**counts: float) -> float:
        grid = [Blocks(1.0, (Stage(1.0, (Warps(warps=1.0, **counts),)),))]
        return dict(kernel_time(chip, grid, 1).terms)["issue"]

    stalled = cycles(slots=100.0)
    assert stalled == chip.costs["raw"] / chip.costs["ilp"] * 100
    assert cycles(slots=100.0, tensor_cycles=30.0) == stalled + 30
    assert cycles(slots=100.0, extra_cycles=30.0) > stalled + 30


@pytest.mark.parametrize("policy", POLICIES)
def test_rough_prices_know_tensor_cores(policy: str) -> None:
    """All operations of an instance, accesses too, at the rate of multiply-adds."""
    r, n = region(policy), 4096
    rate = 2 * 16 * 8 * POLICIES[policy].terms / (H100.costs["issue"] + H100.costs[f"tensor_{policy}"])
    ledger = Ledger(r, H100)
    (update,) = (name for name, count in ledger.instances({"n": n}).items() if count == n**3)
    operations = ledger.operations[update] * n**3
    expected = operations / (rate * H100.multiprocessors * H100.clock)
    assert ledger.at({"n": n}).kernels == pytest.approx(expected, rel=1e-3)
    threads = Ledger(region(policy, "tensor(none)"), H100).at({"n": n}).kernels
    assert threads > 1.9 * ledger.at({"n": n}).kernels
