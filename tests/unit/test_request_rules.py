"""The rules for memory requests exist twice: in Python for predictions, in the emulator's C for what ran."""

import ctypes
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from polygpu.analysis.banks import access_steps
from polygpu.analysis.coalescing import Memory, request_cost

RULES = Path(__file__).parents[2] / "templates" / "emulator" / "rules.c.j2"
MEMORY = Memory(row=12288, page=65536)
PATTERNS = 100_000
CC = shutil.which("cc") or shutil.which("gcc")

DRIVER = """
typedef void (*global_rule)(const int64_t *, uint32_t, int, polygpu_memory_shape, polygpu_global_cost *);
typedef void (*shared_rule)(const int64_t *, uint32_t, int, int, polygpu_shared_cost *);
static const global_rule rules[] = {polygpu_cc10, polygpu_cc13, polygpu_sector};
static const shared_rule banks[] = {polygpu_banks_broadcast, polygpu_banks_distinct};

void global_requests(int rule, int count, const int64_t *address, const uint32_t *mask, const int *size,
    const polygpu_memory_shape *memory, polygpu_global_cost *cost)
{
    for (int i = 0; i < count; i++)
        rules[rule](&address[32 * i], mask[i], size[i], *memory, &cost[i]);
}

void shared_requests(int rule, int count, const int64_t *address, const uint32_t *mask, const int *size,
    int number, polygpu_shared_cost *cost)
{
    for (int i = 0; i < count; i++)
        banks[rule](&address[32 * i], mask[i], size[i], number, &cost[i]);
}
"""

Pattern = tuple[list[int | None], int]  # byte addresses of the lanes, bytes of a word


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if CC is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("rules")
    source, library = folder / "rules.c", folder / "rules.so"
    source.write_text(f"#include <stdint.h>\n{RULES.read_text()}{DRIVER}")
    subprocess.run([CC, "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return ctypes.CDLL(str(library))


def patterns(lanes: int, seed: int) -> Iterator[Pattern]:
    """Random words, affine ones, and affine ones that a few lanes leave, with and without idle lanes."""
    chance = random.Random(seed)
    for _ in range(PATTERNS // 5):
        size = chance.choice([1, 2, 4, 4, 4, 8, 16])
        spread = chance.choice([4, 40, 400, 40_000])
        base, stride = (
            chance.randrange(spread) * chance.choice([1, 16]),
            chance.choice([0, 1, 1, 2, 3, 17, 999]),
        )
        words = [base + stride * lane for lane in range(lanes)]
        for lane in chance.sample(range(lanes), chance.choice([0, 0, 1, 2, lanes])):
            words[lane] = chance.randrange(spread)
        idle = chance.choice([0.0, 0.0, 0.1, 0.8, 1.0])
        yield [None if chance.random() < idle else word * size for word in words], size


def counted(
    function: Callable[..., None], rule: int, found: list[Pattern], chip: object, fields: int
) -> list[list[int]]:
    """What the C rule adds for each pattern, as its struct's fields."""
    count = len(found)
    padded = [[*addresses, *[None] * (32 - len(addresses))] for addresses, _ in found]
    address = (ctypes.c_int64 * (32 * count))(*(a or 0 for addresses in padded for a in addresses))
    bits = (sum(1 << lane for lane, a in enumerate(addresses) if a is not None) for addresses in padded)
    mask = (ctypes.c_uint32 * count)(*bits)
    size = (ctypes.c_int * count)(*(size for _, size in found))
    cost = (ctypes.c_int64 * (fields * count))()
    function(rule, count, address, mask, size, chip, cost)
    values = list(cost)
    return [values[start : start + fields] for start in range(0, len(values), fields)]


@pytest.mark.parametrize(("number", "rule", "lanes"), [(0, "cc10", 16), (1, "cc13", 16), (2, "sector", 32)])
def test_coalescing_rules_agree(emulator: ctypes.CDLL, number: int, rule: str, lanes: int) -> None:
    found = list(patterns(lanes, seed=number))
    memory = (ctypes.c_int64 * 2)(MEMORY.row, MEMORY.page)
    results = counted(emulator.global_requests, number, found, memory, 10)
    for (addresses, size), result in zip(found, results, strict=True):
        cost = request_cost(addresses, size, rule, MEMORY)
        by_size = dict(cost.transactions)
        active = any(a is not None for a in addresses)
        expected = [
            int(active),
            int(active and cost.coalesced),
            *(by_size.get(n, 0) for n in (32, 64, 128)),
            cost.passes,
            cost.wide_bytes,
            cost.near,
            cost.far,
            cost.spread,
        ]
        assert result == expected, (addresses, size)


@pytest.mark.parametrize(("number", "banks", "lanes"), [(0, 16, 16), (1, 32, 32)])
def test_bank_rules_agree(emulator: ctypes.CDLL, number: int, banks: int, lanes: int) -> None:
    found = list(patterns(lanes, seed=10 + number))
    results = counted(emulator.shared_requests, number, found, ctypes.c_int(banks), 2)
    for (addresses, size), result in zip(found, results, strict=True):
        steps = access_steps(addresses, size, banks, single_broadcast=number == 0)
        assert result == [steps.requests, steps.steps], (addresses, size)
