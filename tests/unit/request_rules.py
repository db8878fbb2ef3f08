"""The request rules of the emulator's C runtime as a library, and random requests to try them on."""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pytest

from polygpu.perf.banks import Banks, access_steps
from polygpu.perf.cached_reads import CachedReads
from polygpu.perf.coalescing import Coalescing, Memory, request_cost
from polygpu.support.templates import template_directory
from tests.unit.emulator_harness import CC, FLAGS

LANES = 32
MEMORY = Memory(row=12288, page=65536)
GLOBAL = (
    "requests", "coalesced", "transactions_32", "transactions_64", "transactions_128", "lanes",
    "wide_bytes", "near", "far", "spread",
)  # fmt: skip
SHARED = ("requests", "steps")
CACHED = ("requests", "parts")

Rule = Coalescing | Banks | CachedReads

Integers = npt.NDArray[np.int64]
Lanes = list[int | None]

_DRIVER = """
void global_requests(int count, const int64_t *address, const uint32_t *mask, const int *size,
    int64_t row, int64_t page, polygpu_global_cost *cost)
{
    const polygpu_memory_shape memory = {row, page};
    for (int i = 0; i < count; i++)
        polygpu_%s(&address[32 * i], mask[i], size[i], memory, &cost[i]);
}

void shared_requests(int count, const int64_t *address, const uint32_t *mask, const int *size,
    int banks, polygpu_shared_cost *cost)
{
    for (int i = 0; i < count; i++)
        polygpu_banks_%s(&address[32 * i], mask[i], size[i], banks, &cost[i]);
}

void cached_requests(int count, const int64_t *address, const uint32_t *mask, const int *size,
    int granule, polygpu_cached_cost *cost)
{
    (void)size;
    for (int i = 0; i < count; i++)
        polygpu_cached(&address[32 * i], mask[i], granule, &cost[i]);
}
"""


@dataclass(frozen=True)
class Requests:
    """Byte addresses of the lanes (requests, lanes), which of them are active, bytes of a word (requests)."""

    address: Integers
    active: npt.NDArray[np.bool_]
    size: Integers

    def lists(self) -> list[tuple[Lanes, int]]:
        """Each request as Python's rules have it: None for an idle lane."""
        rows = zip(self.address.tolist(), self.active.tolist(), self.size.tolist(), strict=True)
        return [
            ([a if on else None for a, on in zip(address, active, strict=True)], size)
            for address, active, size in rows
        ]


def random_requests(count: int, lanes: int, seed: int) -> Requests:
    """Words of 1 to 16 bytes, aligned to their size: in order, strided, permuted, repeated or anywhere,
    from aligned and other places on, with and without lanes that leave the pattern or are idle.
    """
    chance = np.random.default_rng(seed)
    lane = np.arange(lanes)
    size = chance.choice([1, 2, 4, 4, 4, 8, 16], count)
    spread = chance.choice([4, 40, 400, 40_000], count)
    stride = chance.choice([0, 1, 1, 1, 2, 3, 4, 16, 17, 32, 33, 999, -1], count)
    first = (chance.random(count) * spread).astype(np.int64) * chance.choice([1, 16, 32], count) + 40 * lanes
    word = np.where(stride < 0, first, first + 999 * lanes * (stride < 0))[:, None] + stride[:, None] * lane
    order = np.argsort(chance.random((count, lanes)), axis=1)
    word = np.where((chance.random(count) < 0.1)[:, None], np.take_along_axis(word, order, 1), word)
    strays = chance.choice([0.0, 0.0, 0.05, 0.2, 1.0], count)[:, None]
    anywhere = (chance.random((count, lanes)) * spread[:, None]).astype(np.int64)
    word = np.where(chance.random((count, lanes)) < strays, anywhere, word)
    idle = chance.choice([0.0, 0.0, 0.1, 0.8, 1.0], count)[:, None]
    return Requests(word * size[:, None], chance.random((count, lanes)) >= idle, size)


def by_emulator(requests: Requests, rule: Rule) -> list[list[int]]:
    """What C's rule adds for each request: the fields GLOBAL, SHARED or CACHED."""
    count, lanes = requests.address.shape
    address = np.zeros((count, LANES), np.int64)
    address[:, :lanes] = requests.address
    bits = (requests.active << np.arange(lanes, dtype=np.uint32)).sum(1).astype(np.uint32)
    fields = {Coalescing: GLOBAL, Banks: SHARED, CachedReads: CACHED}[type(rule)]
    cost = np.zeros((count, len(fields)), np.int64)
    arrays = [
        a.ctypes.data_as(ctypes.c_void_p) for a in (address, bits, requests.size.astype(np.int32), cost)
    ]
    library = _library(rule)
    match rule:
        case Coalescing():
            shape = ctypes.c_int64(MEMORY.row), ctypes.c_int64(MEMORY.page)
            library.global_requests(count, *arrays[:3], *shape, arrays[3])
        case Banks():
            library.shared_requests(count, *arrays[:3], rule.count, arrays[3])
        case CachedReads():
            library.cached_requests(count, *arrays[:3], rule.granule, arrays[3])
    found: list[list[int]] = cost.tolist()
    return found


def by_python(lanes: Lanes, size: int, rule: Rule) -> list[int]:
    """What Python's rule says of one request."""
    if isinstance(rule, Banks):
        steps = access_steps(lanes, size, rule)
        return [steps.requests, steps.steps]
    if isinstance(rule, CachedReads):
        parts = rule.parts(lanes)
        return [int(parts > 0), parts]
    cost = request_cost(lanes, size, rule, MEMORY)
    active = any(a is not None for a in lanes)
    by_size = dict(cost.transactions)
    transactions = (by_size.get(n, 0) for n in (32, 64, 128))
    fetches = cost.near, cost.far, cost.spread
    coalesced = int(active and cost.coalesced)
    return [int(active), coalesced, *transactions, cost.passes, cost.wide_bytes, *fetches]


@cache
def _library(rule: Rule) -> ctypes.CDLL:
    """The rules with the numbers of one device, compiled as C99 without warnings."""
    if CC is None:
        pytest.skip("no C compiler")
    folder = Path(_directory().name, str(abs(hash(rule))))
    folder.mkdir()
    coalescing = rule if isinstance(rule, Coalescing) else Coalescing("cc10", 32, 32, 128, 4, 16, 0)
    banks = rule if isinstance(rule, Banks) else Banks(1, 4, single_broadcast=True)
    lanes = lanes_of(rule)
    numbers = {
        "REQUEST": lanes, "SMALLEST": coalescing.smallest, "LARGEST": coalescing.largest,
        "NARROWEST": coalescing.narrowest, "WIDEST": coalescing.widest, "SPARE": coalescing.spare,
        "BANK_BYTES": banks.word,
    }  # fmt: skip
    text = (template_directory() / "emulator" / "rules.c.j2").read_text()
    driver = _DRIVER % (coalescing.rule, "broadcast" if banks.single_broadcast else "distinct")
    constants = "".join(f"enum {{ POLYGPU_{name} = {value} }};\n" for name, value in numbers.items())
    (folder / "rules.c").write_text(f"#include <stdint.h>\n{constants}{text}{driver}")
    command = [CC, *FLAGS, "-O2", "-shared", "-fPIC", "rules.c", "-o", "rules.so"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "rules.so"))


def lanes_of(rule: Rule) -> int:
    """Lanes of a request: a half-warp on chips that broadcast one word a step."""
    if not isinstance(rule, Banks):
        return rule.lanes
    return LANES // 2 if rule.single_broadcast else LANES


@cache
def _directory() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="polygpu-rules-")
