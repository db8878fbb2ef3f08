"""The rules of global memory on arrays of requests are those on single ones."""

from __future__ import annotations

import random

import numpy as np
import pytest

from polygpu import devices
from polygpu.model.device import WARP
from polygpu.perf.coalescing import Coalescing, Memory, request_cost
from polygpu.perf.predict.costs import Costs
from polygpu.perf.predict.counters import OF_ACCESSES
from polygpu.perf.predict.masks import Compared
from polygpu.perf.predict.requests import costs
from polygpu.perf.predict.values import Value, packed


def drawn(chance: random.Random, size: int) -> tuple[list[int], list[bool]]:
    """Addresses of a warp as kernels have them, and which of its lanes are active."""
    base, step = size * chance.randrange(1 << 16), size * chance.choice((0, 1, 1, 1, 2, 17, 1024, 5000))
    addresses = [base + step * lane for lane in range(WARP)]
    match chance.randrange(4):
        case 0:
            chance.shuffle(addresses)
        case 1:
            addresses = [a + size * chance.choice((0, 0, 0, 1)) for a in addresses]
    share = chance.choice((0.0, 0.5, 1.0, 1.0))
    return addresses, [chance.random() < share for _ in range(WARP)]


def expected(
    addresses: list[int], active: list[bool], size: int, by: Coalescing, memory: Memory
) -> dict[str, int]:
    found = dict.fromkeys(OF_ACCESSES, 0)
    opened: int | None = None
    for start in range(0, WARP, by.lanes):
        lanes = range(start, start + by.lanes)
        request = [addresses[k] if active[k] else None for k in lanes]
        first = next((a for a in request if a is not None), None)
        if first is None:
            continue
        cost = request_cost(request, size, by, memory)
        found["requests"] += 1
        found["coalesced"] += cost.coalesced
        for length, count in cost.transactions:
            found[f"transactions_{length}"] += count
        for name in ("wide_bytes", "near", "far", "spread", "bytes"):
            found[name] += getattr(cost, name)
        found["lanes"] += cost.passes
        if cost.coalesced and memory.row:
            found["hops"] += 0 if opened is None else min(memory.row, abs(first - opened))
            opened = first
    found["lane_accesses"] = sum(active)
    return found


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("name", ["8800gtx", "gtx285", "h100"])
def test_many_requests_cost_what_each_does(name: str, size: int) -> None:
    device, chance = devices.load(name), random.Random(size)
    by, memory = Coalescing.of(device), Memory.of(device)
    warps = [drawn(chance, size) for _ in range(400)]
    addresses, active = (np.asarray([w[k] for w in warps]) for k in (0, 1))
    found = costs(addresses.astype(np.int64), active.astype(bool), size, by, memory)
    for row, (places, on) in zip(found.tolist(), warps, strict=True):
        assert dict(zip(OF_ACCESSES, row, strict=True)) == expected(places, on, size, by, memory)


@pytest.mark.parametrize("size", [1, 4, 16])
@pytest.mark.parametrize("name", ["8800gtx", "gtx285", "h100"])
def test_an_access_costs_what_its_requests_do(name: str, size: int) -> None:
    """Wherever in the rows of the memory they are made."""
    device, chance = devices.load(name), random.Random(size)
    by, memory = Coalescing.of(device), Memory.of(device)
    for _ in range(6):
        lanes = [drawn(chance, size) for _ in range(2)]
        starts = [size * chance.randrange(1 << 20) for _ in range(40)]
        times = np.asarray([chance.randrange(1, 4) for _ in starts])
        threads = np.asarray([places for places, _ in lanes])
        active = packed(np.asarray([on for _, on in lanes])[None])
        address = Value((np.asarray(starts),), (threads,))
        found = Costs(device).of_access(address, size, "global", [Compared(active)], [times], len(lanes))
        for row, (places, on) in zip(found.tolist(), lanes, strict=True):
            total = dict.fromkeys(OF_ACCESSES, 0)
            for start, count in zip(starts, times.tolist(), strict=True):
                one = expected([start + a for a in places], on, size, by, memory)
                total = {key: value + count * one[key] for key, value in total.items()}
            assert dict(zip(OF_ACCESSES, row, strict=True)) == total
