"""The rules for memory requests exist twice: in Python for predictions, in the emulator's C for what ran.

Both are compared with each other on many requests, and on fewer with the manual's text (CUDA Programming
Guide 1.1, 5.1.2, and 4.2, appendix F) turned into brute force here: sets of bytes and words, no shared code.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from polygpu import devices
from polygpu.model.kernel import ArraySpace
from polygpu.perf.banks import Banks
from polygpu.perf.cached_reads import CachedReads
from polygpu.perf.coalescing import Coalescing
from tests.unit.request_rules import (
    GLOBAL,
    MEMORY,
    Lanes,
    Rule,
    by_emulator,
    by_python,
    lanes_of,
    random_requests,
)

REQUESTS = 40_000
LITERAL = 4_000
DEVICES = ("8800gtx", "gtx285", "h100")
RULES = {f"{name} global": Coalescing.of(devices.load(name)) for name in DEVICES}
BANKS = {f"{name} shared": Banks.of(devices.load(name)) for name in ("8800gtx", "h100")}
SPACES: tuple[ArraySpace, ...] = ("constant", "texture")
CACHES = {
    f"{name} {space}": CachedReads.of(devices.load(name), space)
    for name in ("8800gtx", "h100")
    for space in SPACES
}
ALL: dict[str, Rule] = {**RULES, **BANKS, **CACHES}
MADE_UP: dict[str, Rule] = {
    "strict warps": Coalescing("cc10", 32, 64, 128, 2, 8, 0),
    "small segments": Coalescing("cc13", 8, 32, 64, 1, 16, 0),
    "half-warps of sectors": Coalescing("sector", 16, 64, 128, 1, 16, 3),
    "8 banks": Banks(8, 4, single_broadcast=True),
    "24 banks": Banks(24, 4, single_broadcast=False),
    "64-bit banks": Banks(32, 8, single_broadcast=False),
    "lines of 128 bytes": CachedReads(8, 128),
}


def assert_alike(rule: Rule, count: int, seed: int) -> None:
    requests = random_requests(count, lanes_of(rule), seed)
    counted = by_emulator(requests, rule)
    for (lanes, size), found in zip(requests.lists(), counted, strict=True):
        assert found == by_python(lanes, size, rule), (lanes, size)


@pytest.mark.parametrize("name", ALL)
def test_python_and_c_agree(name: str) -> None:
    assert_alike(ALL[name], REQUESTS, seed=1)


@pytest.mark.parametrize("name", MADE_UP)
def test_python_and_c_agree_on_other_numbers(name: str) -> None:
    """A device file may have any."""
    assert_alike(MADE_UP[name], REQUESTS // 20, seed=2)


def fetches(addresses: set[int]) -> list[int]:
    """Rows of the memory in order: the way from one to the next is translated a page at most."""
    rows = sorted({a // MEMORY.row for a in addresses})
    ways = [MEMORY.row * (rows[i + 1] - rows[i]) for i in range(len(rows) - 1)]
    return [len(addresses) - len(ways), len(ways), sum(min(MEMORY.page, way) for way in ways)]


def literal_cc10(lanes: Lanes, size: int) -> list[int]:
    """F.3.2.1: thread k accesses word k of an aligned segment; else a transaction of 32 bytes a thread."""
    active = [a for a in lanes if a is not None]
    if not active:
        return [0] * len(GLOBAL)
    segment = active[0] // (16 * size) * 16 * size
    if size >= 4 and all(a is None or a == segment + k * size for k, a in enumerate(lanes)):
        one, two = (1, 0) if size == 4 else (0, size // 8)
        return [1, 1, 0, one, two, 0, 16 * size, 0, 0, 0]
    return [1, 0, len(active), 0, 0, len(active), 0, *fetches(set(active))]


def literal_cc13(lanes: Lanes, size: int) -> list[int]:
    """F.3.2.2: find the segment of the lowest thread and all in it, reduce it, issue it, and go on."""
    waiting = {k: a for k, a in enumerate(lanes) if a is not None}
    issued: list[tuple[int, int]] = []
    while waiting:
        length = {1: 32, 2: 64}.get(size, 128)
        start = waiting[min(waiting)] // length * length
        inside = {k for k, a in waiting.items() if start <= a < start + length}
        used = {a + byte for k, a in waiting.items() if k in inside for byte in range(size)}
        for smaller in (64, 32):
            halves = {byte // smaller for byte in used}
            if length == 2 * smaller and len(halves) == 1:
                start, length = halves.pop() * smaller, smaller
        issued.append((start, length))
        waiting = {k: a for k, a in waiting.items() if k not in inside}
    counts = [sum(length == bytes_ for _, length in issued) for bytes_ in (32, 64, 128)]
    many = len(issued) > 2
    return [
        int(bool(issued)), int(bool(issued) and not many), *counts, len(issued) if many else 0,
        64 * counts[1] + 128 * counts[2], *fetches({start for start, length in issued if length == 32}),
    ]  # fmt: skip


def literal_sectors(lanes: Lanes, size: int) -> list[int]:
    touched = {a + byte for a in lanes if a is not None for byte in range(size)}
    sectors, lines = {byte // 32 for byte in touched}, {byte // 128 for byte in touched}
    full = -(-sum(a is not None for a in lanes) * size // 32)  # sectors that the lanes' bytes fill
    coalesced = len(sectors) <= full + 1
    passes = 0 if coalesced else len(lines)
    return [
        int(bool(touched)), int(bool(touched) and coalesced), len(sectors), 0, 0, passes,
        32 * len(sectors), 0, 0, 0,
    ]  # fmt: skip


def literal_broadcasts(lanes: Lanes, size: int) -> list[int]:
    """F.3.3: pick a broadcast word; serve all its threads and one thread of each other bank; repeat."""
    steps = parts = 0
    for part in range(max(1, size // 4)):
        left = [(k, a // 4 + part) for k, a in enumerate(lanes) if a is not None]
        parts += bool(left)
        while left:
            word = left[0][1]
            others = {bank: min(k for k, w in left if w % 16 == bank) for bank in {w % 16 for _, w in left}}
            others.pop(word % 16)
            left = [(k, w) for k, w in left if w != word and k not in others.values()]
            steps += 1
    return [parts, steps]


def literal_banks(lanes: Lanes, size: int) -> list[int]:
    """F.5.3: a warp, for 64-bit words a half-warp and for 128-bit words a quarter-warp at a time."""
    together = {8: 16, 16: 8}.get(size, 32)
    steps = parts = 0
    for start in range(0, 32, together):
        group = [a for a in lanes[start : start + together] if a is not None]
        words = {byte // 4 for a in group for byte in range(a, a + size)}
        steps += max((sum(w % 32 == bank for w in words) for bank in range(32)), default=0)
        parts += bool(group)
    return [parts, steps]


def literal_addresses(lanes: Lanes, size: int) -> list[int]:
    """5.3.2: a request is split into as many requests as it has different memory addresses."""
    left = [a for a in lanes if a is not None]
    made = 0
    while left:
        left = [a for a in left if a != left[0]]
        made += 1
    return [int(made > 0), made]


def literal_lines(lanes: Lanes, size: int) -> list[int]:
    """The lines of 32 bytes that hold the bytes of the lanes' words."""
    touched = {byte // 32 for a in lanes if a is not None for byte in range(a, a + size)}
    return [int(bool(touched)), len(touched)]


MANUAL = {
    "8800gtx global": literal_cc10,
    "gtx285 global": literal_cc13,
    "h100 global": literal_sectors,
    "8800gtx shared": literal_broadcasts,
    "h100 shared": literal_banks,
    "8800gtx constant": literal_addresses,
    "h100 constant": literal_addresses,
    "8800gtx texture": literal_lines,
    "h100 texture": literal_lines,
}


@pytest.mark.parametrize(("name", "literal"), MANUAL.items(), ids=MANUAL)
def test_both_are_what_the_manual_says(name: str, literal: Callable[[Lanes, int], list[int]]) -> None:
    rule = ALL[name]
    requests = random_requests(LITERAL, lanes_of(rule), seed=3)
    for (lanes, size), found in zip(requests.lists(), by_emulator(requests, rule), strict=True):
        assert found == by_python(lanes, size, rule) == literal(lanes, size), (lanes, size)


@pytest.mark.parametrize("name", MANUAL)
def test_the_requests_tell_costs_apart(name: str) -> None:
    """Many outcomes of each rule occur, idle requests among them."""
    rule = ALL[name]
    outcomes = set(map(tuple, by_emulator(random_requests(LITERAL, lanes_of(rule), seed=3), rule)))
    assert any(not any(row) for row in outcomes)
    assert len(outcomes) > (150 if name in RULES else 30 if name in BANKS else 3 * lanes_of(rule) // 4)
