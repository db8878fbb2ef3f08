"""Every number of a device file counts: another value changes what is counted or how long it takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from polygpu import devices
from polygpu.model.device import Device
from polygpu.perf.cached_reads import CachedReads
from polygpu.perf.coalescing import Coalescing, Memory, request_cost
from polygpu.perf.cost import CLASSES as INSTRUCTIONS
from polygpu.perf.predict.counters import OF_WARPS
from polygpu.perf.profile_time import CLASSES, from_profile, missed_share

# Peaks of the roofline, which test_devices compares with published ones; what `Memory` and the streams of
# predictions are made of, below; the host's part of a launch, which is no part of a kernel's time; and what
# only calls are priced by, in test_price.
ELSEWHERE = {
    "flops_per_cycle", "double_flops_per_cycle", "row_stripe", "interleave", "launch", "grid_barrier",
    "to_device", "from_device", "copy", "allocation", "host_rate", "host_bandwidth",
}  # fmt: skip
BLOCKS = 1000


def record(**counters: int) -> dict[str, Any]:
    """A profile's kernel of one stage and one warp a block; `counters` are a block's, and its stores'."""
    found: dict[str, Any] = dict.fromkeys(OF_WARPS, 0) | {
        name: BLOCKS * count for name, count in counters.items() if name in OF_WARPS
    }
    classes = {name: BLOCKS * counters.get(name, 0) for name in INSTRUCTIONS}
    group = {"first": 0, "warps": 1, "counters": found | {"instructions": classes}}
    return {
        "launches": 1,
        "blocks_total": BLOCKS,
        "partitions": {"bytes": 100, "fullest": 200},
        "stages": [{"stage": 0, "executions": BLOCKS, "blocks": BLOCKS, "groups": [group]}],
        "sites": [{"array": "A", "write": True, "counters": found}],
    }


RECORDS = (
    record(slots=10_000, rounds=1, **dict.fromkeys(CLASSES, 100)),
    record(slots=100, overlapped=900),
    record(slots=10, rounds=1, lanes=1000, coalesced=1000, conflict_steps=100),
    record(slots=10, shared_requests=100),
    record(slots=10, rounds=1, wide_bytes=100_000),
    record(slots=10, store_global=100, requests=100, lanes=1000),
    record(slots=10, rounds=100, load_global=100),
    record(slots=10, rounds=1, near=1000, far=1000, spread=10**8),
    record(slots=1),
)


def times(device: Device) -> list[object]:
    """With few and with enough warps to hide what one waits for."""
    return [from_profile(found, device, resident) for found in RECORDS for resident in (1, 8)]


@pytest.mark.parametrize("cost", sorted({*devices.COSTS} - ELSEWHERE))
def test_each_cost_changes_a_time(cost: str) -> None:
    device = devices.load("gtx285")
    other = replace(device, costs=device.costs | {cost: 1.25 * device.costs[cost] + 0.01})
    if cost == "conflict_in_issue":
        other = replace(device, costs=device.costs | {cost: 0.0})
    assert times(other) != times(device)


def textured(device: Device, lines: int) -> list[object]:
    """A kernel that reads arrays of 8000 and of 8200 bytes through the texture cache."""
    found = record(slots=10, rounds=1, texture_requests=lines, texture_lines=lines)
    return [from_profile(found | {"textures": {"bytes": size}}, device, 8) for size in (8000, 8200)]


@pytest.mark.parametrize(("limit", "value"), [("texture_line", 64), ("texture_cache", 8200)])
def test_the_texture_cache_changes_a_time(limit: str, value: int) -> None:
    device = devices.load("gtx285")
    changed: dict[str, Any] = {limit: value}
    assert textured(replace(device, **changed), 10_000) != textured(device, 10_000)


def test_lines_change_what_is_counted_of_textures() -> None:
    device = devices.load("gtx285")
    rules = (CachedReads.of(d, "texture") for d in (device, replace(device, texture_line=64)))
    assert [rule.parts([4 * k for k in range(16)]) for rule in rules] == [2, 1]


def test_an_array_that_fits_into_the_texture_cache_is_fetched_once_by_each_multiprocessor() -> None:
    device = devices.load("gtx285")
    fitting = record(texture_lines=10_000) | {"textures": {"bytes": device.texture_cache}}
    larger = fitting | {"textures": {"bytes": device.texture_cache + 1}}
    once = device.texture_cache * device.multiprocessors / (BLOCKS * 10_000 * device.texture_line)
    assert missed_share(fitting, device) == pytest.approx(once)
    assert missed_share(larger, device) == missed_share(record(slots=1), device) == 1


def test_a_block_fetches_a_line_once() -> None:
    device = devices.load("gtx285")
    looked_at = {"bytes": device.texture_cache + 1, "lines": 400, "distinct": 100}
    assert missed_share(record(texture_lines=10_000) | {"textures": looked_at}, device) == 0.25


def test_addresses_in_constant_memory_take_as_long_as_bank_conflicts() -> None:
    device = devices.load("8800gtx")
    times = {
        name: from_profile(record(slots=100, **{name: 1000}), device, 8)
        for name in ("conflict_steps", "constant_steps")
    }
    assert times["conflict_steps"].seconds == times["constant_steps"].seconds
    assert [t.limited_by for t in times.values()] == ["bank conflicts", "constant addresses"]


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        ("rule", "cc13"),
        ("request_lanes", 8),
        ("smallest_transaction", 64),
        ("largest_transaction", 64),
        ("narrowest_coalesced", 8),
        ("widest_access", 8),
    ],
)
def test_each_number_of_the_rules_changes_a_count(limit: str, value: Any) -> None:
    device = devices.load("8800gtx")
    changed: dict[str, Any] = {limit: value}
    other = replace(device, **changed)
    requests = [(stride, size) for stride in (1, 2, 4096) for size in (4, 8, 16)]

    def costs(chip: Device) -> list[object]:
        rule = Coalescing.of(chip)
        lanes = range(rule.lanes)
        return [
            request_cost([s * k * size for k in lanes], size, rule, Memory.of(chip)) for s, size in requests
        ]

    assert costs(other) != costs(device)


@pytest.mark.parametrize("cost", ["row_stripe", "page"])
def test_the_shape_of_the_memory_changes_a_count(cost: str) -> None:
    device = devices.load("8800gtx")
    other = replace(device, costs=device.costs | {cost: device.costs[cost] / 4})
    lanes = [1 << 20 << k for k in range(4)] + [20_000 * k for k in range(12)]
    before, after = (request_cost(lanes, 4, Coalescing.of(d), Memory.of(d)) for d in (device, other))
    assert before != after
