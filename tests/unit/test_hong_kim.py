"""Hong and Kim's model (ISCA'09) on the example that the paper works out, and on cases done by hand."""

from dataclasses import replace

import pytest

from polygpu.perf.hong_kim import Chip, Kernel, estimate

# Section 3.5, table 3: 80 blocks of 128 threads, 5 on each of 16 multiprocessors, tiles of a matrix product.
CHIP = Chip(
    multiprocessors=16, clock=1e9, bandwidth=80e9, issue=4, latency=420,
    departure_coalesced=4, departure_uncoalesced=10, transactions_per_warp=32,
)  # fmt: skip
KERNEL = Kernel(
    blocks=80,
    threads=128,
    resident=5,
    computes=27,
    coalesced=0,
    uncoalesced=6,
    barriers=6,
    bytes_per_warp=128,
)


def test_the_papers_example() -> None:
    """50,738 cycles, with the memory warp parallelism rounded to 2.28 in the text."""
    latency = 420 + (32 - 1) * 10
    departure = 10 * 32
    mwp = latency / departure
    assert (latency, round(mwp, 2)) == (730, 2.28)
    computation, memory, warps = 4 * (27 + 6), 6 * latency, 5 * (128 // 32)
    assert (computation, memory, warps) == (132, 4380, 20)
    assert (memory + computation) / computation > warps  # so CWP is N
    execution = memory * warps / mwp + computation / 6 * (mwp - 1)
    barriers = departure * (mwp - 1) * 6 * 5
    found = estimate(CHIP, KERNEL)
    assert (found.memory_parallel, found.compute_parallel) == (mwp, 20)
    assert found.execution == pytest.approx(execution)
    assert found.barriers == pytest.approx(barriers)
    rounded = memory * warps / 2.28 + computation / 6 * 1.28 + departure * 1.28 * 6 * 5
    assert rounded == pytest.approx(50738, abs=1)
    assert found.cycles == pytest.approx(50738, rel=3e-4)


def test_bandwidth_bounds_the_warps_that_access_memory() -> None:
    """A warp moves 128 B in 420 cycles: at 8 GB/s 16 multiprocessors have 1.64 of them under way."""
    kernel = replace(KERNEL, coalesced=6, uncoalesced=0)
    slow = estimate(replace(CHIP, bandwidth=8e9), kernel)
    assert slow.memory_parallel == pytest.approx(8e9 / (1e9 * 128 / 420 * 16))
    assert estimate(CHIP, kernel).memory_parallel == pytest.approx(80e9 / (1e9 * 128 / 420 * 16))


def test_few_warps_wait_for_all_of_their_memory() -> None:
    """MWP = CWP = N = 1: computation and memory add up."""
    kernel = Kernel(
        blocks=16,
        threads=32,
        resident=1,
        computes=10,
        coalesced=2,
        uncoalesced=0,
        barriers=0,
        bytes_per_warp=128,
    )
    assert estimate(CHIP, kernel).cycles == 2 * 420 + 4 * 12


def test_computation_hides_memory() -> None:
    """CWP = (420 + 404) / 404 is less than MWP: one memory period, and all computation."""
    kernel = replace(KERNEL, computes=100, coalesced=1, uncoalesced=0, barriers=0, bytes_per_warp=8)
    found = estimate(CHIP, kernel)
    assert found.compute_parallel < found.memory_parallel
    assert found.cycles == 420 + 4 * 101 * 20


def test_waves_repeat() -> None:
    assert estimate(CHIP, replace(KERNEL, blocks=240)).cycles == 3 * estimate(CHIP, KERNEL).cycles
