"""The emulator's request rules in C, against the manual's text (CUDA C Programming Guide 4.2, appendix F)
turned into brute force here: sets of bytes and words, no shared code.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygpu.support.templates import template_directory
from tests.unit.emulator_harness import CC

Lanes = list[int | None]
GLOBAL = (
    "requests", "coalesced", "transactions_32", "transactions_64", "transactions_128", "lanes",
    "wide_bytes", "near", "far", "spread",
)  # fmt: skip
STRIPE = 12288
PAGE = 65536


class Shape(ctypes.Structure):
    """polygpu_memory_shape"""

    _fields_ = (("row", ctypes.c_int64), ("page", ctypes.c_int64))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The rules alone, compiled as C99 without warnings."""
    if CC is None:
        pytest.skip("no C compiler")
    folder: Path = tmp_path_factory.mktemp("rules")
    text = (template_directory() / "emulator" / "rules.c.j2").read_text()
    exported = text.replace("POLYGPU_UNUSED static void", "void")
    (folder / "rules.c").write_text("#include <stdint.h>\n" + exported)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run([CC, *flags, "rules.c", "-o", "rules.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "rules.so"))


def call(rule: Callable[..., None], lanes: Lanes, size: int, extra: int, results: int) -> list[int]:
    addresses = (ctypes.c_int64 * 32)(*[a or 0 for a in lanes])
    mask = sum(1 << lane for lane, address in enumerate(lanes) if address is not None)
    cost = (ctypes.c_int64 * results)()
    third = Shape(extra, PAGE) if results == len(GLOBAL) else ctypes.c_int(extra)
    rule(addresses, ctypes.c_uint32(mask), ctypes.c_int(size), third, cost)
    return list(cost)


@st.composite
def requests(draw: st.DrawFn, lanes: int) -> tuple[Lanes, int]:
    """Addresses near each other, strided, or anywhere, some lanes off, words of 1 to 16 bytes."""
    size = draw(st.sampled_from([1, 2, 4, 8, 16]))
    base = draw(st.integers(0, 400))
    stride = draw(st.sampled_from([0, 1, 1, 1, 2, 3, 16, 17, 32, 1024]))
    noise = draw(st.sampled_from([0, 0, 1, 20, 5000]))
    words = [base + stride * lane + draw(st.integers(0, noise)) for lane in range(lanes)]
    off = draw(st.one_of(st.just(0), st.integers(0, 2**lanes - 1)))
    return [None if off >> lane & 1 else size * word for lane, word in enumerate(words)], size


def split(addresses: set[int]) -> tuple[int, int, int]:
    """Rows of the memory in order: the way from one to the next is translated a page at most."""
    rows = sorted({a // STRIPE for a in addresses})
    ways = [STRIPE * (rows[i + 1] - rows[i]) for i in range(len(rows) - 1)]
    return len(addresses) - len(ways), len(ways), sum(min(PAGE, way) for way in ways)


@settings(max_examples=400, deadline=None)
@given(request=requests(16))
def test_cc10(library: ctypes.CDLL, request: tuple[Lanes, int]) -> None:
    """F.3.2.1: thread k accesses word k of an aligned segment; else a transaction of 32 bytes a thread."""
    lanes, size = request
    active = [a for a in lanes if a is not None]
    segments = [
        base
        for base in range(0, 1 << 20, 16 * size)
        if active and base <= active[0] < base + 16 * size
        and all(a is None or a == base + k * size for k, a in enumerate(lanes))
    ]  # fmt: skip
    if not active:
        expected = [0] * len(GLOBAL)
    elif size >= 4 and segments:
        one, two = (1, 0) if size == 4 else (0, size // 8)
        expected = [1, 1, 0, one, two, 0, 16 * size, 0, 0, 0]
    else:
        expected = [1, 0, len(active), 0, 0, len(active), 0, *split(set(active))]
    assert call(library.polygpu_cc10, lanes, size, STRIPE, len(GLOBAL)) == expected


@settings(max_examples=400, deadline=None)
@given(request=requests(16))
def test_cc13(library: ctypes.CDLL, request: tuple[Lanes, int]) -> None:
    """F.3.2.2: find the segment of the lowest thread and all in it, reduce it, issue it, and go on."""
    lanes, size = request
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
    counts = [sum(length == size_ for _, length in issued) for size_ in (32, 64, 128)]
    many = len(issued) > 2
    expected = [
        int(bool(issued)), int(bool(issued) and not many), *counts, len(issued) if many else 0,
        64 * counts[1] + 128 * counts[2], *split({start for start, length in issued if length == 32}),
    ]  # fmt: skip
    assert call(library.polygpu_cc13, lanes, size, STRIPE, len(GLOBAL)) == expected


@settings(max_examples=400, deadline=None)
@given(request=requests(32))
def test_sectors(library: ctypes.CDLL, request: tuple[Lanes, int]) -> None:
    lanes, size = request
    touched = {a + byte for a in lanes if a is not None for byte in range(size)}
    sectors, lines = {byte // 32 for byte in touched}, {byte // 128 for byte in touched}
    full = -(-sum(a is not None for a in lanes) * size // 32)  # sectors that the lanes' bytes fill
    coalesced = len(sectors) <= full + 1
    passes = 0 if coalesced else len(lines)
    expected = [int(bool(touched)), int(bool(touched) and coalesced), len(sectors), 0, 0, passes]
    expected += [32 * len(sectors), 0, 0, 0]
    assert call(library.polygpu_sector, lanes, size, STRIPE, len(GLOBAL)) == expected


@settings(max_examples=400, deadline=None)
@given(request=requests(16))
def test_banks_with_one_broadcast_word_a_step(library: ctypes.CDLL, request: tuple[Lanes, int]) -> None:
    """F.3.3: pick a broadcast word; serve all its threads and one thread of each other bank; repeat."""
    lanes, size = request
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
    assert call(library.polygpu_banks_broadcast, lanes, size, 16, 2) == [parts, steps]


@settings(max_examples=400, deadline=None)
@given(request=requests(32))
def test_banks_with_any_number_of_broadcasts(library: ctypes.CDLL, request: tuple[Lanes, int]) -> None:
    lanes, size = request
    together = {8: 16, 16: 8}.get(size, 32)
    steps = parts = 0
    for start in range(0, 32, together):
        group = [a for a in lanes[start : start + together] if a is not None]
        words = {byte // 4 for a in group for byte in range(a, a + size)}
        steps += max((sum(w % 32 == bank for w in words) for bank in range(32)), default=0)
        parts += bool(group)
    assert call(library.polygpu_banks_distinct, lanes, size, 32, 2) == [parts, steps]
