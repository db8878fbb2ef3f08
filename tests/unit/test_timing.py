"""The model against published measurements, with counts made by hand from the papers' kernels."""

from dataclasses import dataclass, replace
from math import ceil, exp, log

import pytest

from polygpu import devices
from polygpu.perf.timing import Blocks, Stage, Warps, camping_factor, kernel_time

COPY = Warps(8, slots=7, rounds=1, half_warps=4, wide_bytes=256)


@dataclass(frozen=True)
class Row:
    """`published` in GFLOP/s of `flops`, or in seconds where there are none."""

    name: str
    device: str
    blocks: int
    resident: int
    stages: tuple[Stage, ...]
    published: float
    limited_by: str
    flops: float = 0.0


def mv_direct(n: int, published: float) -> Row:
    """A thread a row, 64 threads a block.

    At 4096 a step of a warp takes 30 x (28 + 257 / 4) + 32 x 11 cycles of the memory, in each of which 16
    multiprocessors at 1.35 GHz do 2 x 32 operations.
    """
    warps = Warps(2, slots=7, rounds=1, lanes=32, far=30, near=2, spread=30 * 4 * n)
    stages = (Stage(n, (warps,)),)
    return Row(f"mv {n} direct", "8800gtx", n // 64, 8, stages, published, "memory rows", 2.0 * n * n)


def mv_staged(n: int, name: str, conflicts: float, published: float, limited_by: str) -> Row:
    """16 blocks of n/16 rows, 128 x 16 tiles in shared memory, two loads in flight, one block resident.

    A copy keeps the memory busy for 4 x (2048 / 3.28 + 16 x 28) cycles, a product takes
    4 x 4 x (116 + conflicts) x 22 / (4 x 4 x 1.2), for 2 x 128 x 16 operations of each multiprocessor.
    """
    copy = Warps(4, slots=91, rounds=8, half_warps=32, wide_bytes=2048, hops=16 * 12288)
    product = Warps(4, slots=16 * 7 + 4, conflict_steps=conflicts)
    tiles = n // 16 // 128 * (n // 16)
    stages = (Stage(tiles, (copy,)), Stage(tiles, (product,)))
    return Row(f"mv {n} {name}", "8800gtx", 16, 1, stages, published, limited_by, 2.0 * n * n)


def tmv_cyclic(n: int, published: float, limited_by: str) -> Row:
    stages = (Stage(n, (Warps(8, slots=6, rounds=1, half_warps=2, wide_bytes=128),)),)
    return Row(f"tmv {n} cyclic", "8800gtx", n // 256, 3, stages, published, limited_by, 2.0 * n * n)


def tmv_blocked(n: int, published: float) -> Row:
    """Four adjacent columns a thread."""
    stages = (Stage(n, (Warps(2, slots=24, rounds=1, lanes=128, near=128),)),)
    return Row(
        f"tmv {n} blocked", "8800gtx", n // 256, 8, stages, published, "uncoalesced memory", 2.0 * n * n
    )


def vecadd(threads: int, published: float, limited_by: str) -> Row:
    full = threads >= 32
    warps = Warps(
        ceil(threads / 32), slots=12, rounds=1, half_warps=6 if full else 3, wide_bytes=384 if full else 192
    )
    resident = min(8, 1024 // threads)
    stages = (Stage(1, (warps,)),)
    return Row(f"vecadd {threads}", "gtx285", 2**25 // threads, resident, stages, published, limited_by)


def jang_mm(ty: int, tx: int, published: float) -> Row:
    """A step of depth ty; where A's tile of ty x ty is smaller than the block, a guard."""
    threads, steps = ty * tx, 1024 // ty
    warps = threads // 32
    guard = 0 if tx == ty else 2
    share = ty / tx  # of the threads that load A
    copy = Warps(warps, 7 + guard, rounds=1, half_warps=2 + 2 * share, wide_bytes=128 + 128 * share)
    product = Warps(warps, slots=3 * ty + 4)
    setup = Warps(warps, slots=20, half_warps=2, wide_bytes=128)
    stages = (Stage(steps, (copy,)), Stage(steps, (product,)), Stage(1, (setup,)))
    return Row(f"mm {ty}x{tx}", "gtx285", 2**20 // threads, 1024 // threads, stages, published, "issue")


NAIVE = Warps(8, slots=7, rounds=1, lanes=32, near=2, half_warps=2, wide_bytes=128)
N = 4096
CUBE = 2.0 * N**3

ROWS = [
    (Row("mm naive", "8800gtx", 65536, 3, (Stage(N, (NAIVE,)),), 10.58, "load/store passes", CUBE), 10.47),
    (
        Row(
            "mm tiled",
            "8800gtx",
            65536,
            3,
            (Stage(256, (COPY,)), Stage(256, (Warps(8, slots=116),))),
            46.49,
            "issue",
            CUBE,
        ),
        44.92,
    ),
    (mv_direct(4096, 0.43), 0.4431),
    (mv_direct(6144, 0.35), 0.3385),
    (mv_staged(4096, "shared", 480, 5.61, "stages: bank conflicts"), 5.814),
    (mv_staged(6144, "shared", 480, 6.04, "stages: bank conflicts"), 5.814),
    (mv_staged(4096, "padded", 0, 13.18, "stages: memory bandwidth"), 13.79),
    (mv_staged(6144, "padded", 0, 14.37, "stages: memory bandwidth"), 13.79),
    (tmv_blocked(4096, 4.22), 3.93),
    (tmv_blocked(8192, 4.13), 3.93),
    (tmv_cyclic(4096, 25.21, "latency"), 24.91),
    (tmv_cyclic(8192, 34.93, "memory bandwidth"), 35.42),
    (
        Row(
            "stream coalesced",
            "8800gtx",
            12288,
            3,
            (Stage(1, (Warps(8, slots=10, rounds=1, half_warps=4, wide_bytes=256),)),),
            356e-6,
            "memory bandwidth",
        ),
        355.5e-6,
    ),
    (
        Row(
            "stream permuted",
            "8800gtx",
            12288,
            3,
            (Stage(1, (Warps(8, slots=10, rounds=1, lanes=64, near=64),)),),
            3494e-6,
            "uncoalesced memory",
        ),
        3204e-6,
    ),
    (vecadd(512, 3.39e-3, "memory bandwidth"), 3.377e-3),
    (vecadd(256, 3.38e-3, "memory bandwidth"), 3.377e-3),
    (vecadd(128, 3.39e-3, "memory bandwidth"), 3.377e-3),
    (vecadd(64, 3.60e-3, "memory bandwidth"), 3.377e-3),
    (vecadd(32, 5.89e-3, "block dispatch"), 5.767e-3),
    (vecadd(16, 11.61e-3, "block dispatch"), 11.53e-3),
    (jang_mm(16, 16, 11.19e-3), 11.30e-3),
    (jang_mm(2, 256, 29.31e-3), 29.18e-3),
    (jang_mm(8, 32, 15.35e-3), 14.16e-3),
]


def modelled(row: Row, **costs: float) -> float:
    """In the unit of `row.published`; `costs` replace those of the device."""
    device = devices.load(row.device)
    device = replace(device, costs=device.costs | costs)
    time = kernel_time(device, [Blocks(row.blocks, row.stages)], row.resident)
    return row.flops / time.seconds / 1e9 if row.flops else time.seconds


@pytest.mark.parametrize(("row", "reference"), ROWS, ids=lambda value: getattr(value, "name", ""))
def test_published_rows(row: Row, reference: float) -> None:
    """PPoPP'08, ICS'08, NVIDIA's tutorial of 2008 and Jang et al.

    `reference` is from a separate study, in which dispatch overlaps with all else, or derived above.
    """
    assert modelled(row, dispatch_overlap=1000) == pytest.approx(reference, rel=5e-3)
    assert abs(log(modelled(row) / row.published)) < log(1.20)


@pytest.mark.parametrize("row", [row for row, _ in ROWS], ids=lambda row: row.name)
def test_limiting_resource(row: Row) -> None:
    time = kernel_time(devices.load(row.device), [Blocks(row.blocks, row.stages)], row.resident)
    assert time.limited_by == row.limited_by


def test_mean_error_of_the_published_rows() -> None:
    errors = [abs(log(modelled(row) / row.published)) for row, _ in ROWS]
    assert exp(sum(errors) / len(errors)) - 1 < 0.045


def test_the_last_wave_takes_as_long_as_a_full_one_of_its_depth() -> None:
    gtx = devices.load("8800gtx")
    stages = (Stage(100, (Warps(8, slots=100),)),)
    one, wave, more = (kernel_time(gtx, [Blocks(n, stages)], 3).seconds for n in (1, 48, 49))
    assert wave == pytest.approx(3 * one)
    assert more == pytest.approx(4 * one)


def test_unequal_blocks() -> None:
    """A triangle's blocks: full waves cost their mean, the last wave its longest block."""
    gtx = devices.load("8800gtx")

    def grid(short: int, long: int) -> list[Blocks]:
        def stage(repeats: int) -> tuple[Stage, ...]:
            return (Stage(repeats, (Warps(8, slots=1000),)),)

        return [Blocks(short, stage(10)), Blocks(long, stage(30))]

    even = kernel_time(gtx, [Blocks(480, (Stage(20, (Warps(8, slots=1000),)),))], 3).seconds
    assert kernel_time(gtx, grid(240, 240), 3).seconds == pytest.approx(even)
    alone = kernel_time(gtx, grid(0, 1), 3).seconds
    assert kernel_time(gtx, grid(15, 1), 3).seconds == pytest.approx(alone)


def test_few_long_blocks_take_as_long_as_without_short_ones() -> None:
    """Of 16 multiprocessors one has two of 17 long blocks, however many others have nothing to do."""
    gtx = devices.load("8800gtx")
    work = (Stage(10, (Warps(8, slots=1000),)),)
    mine = kernel_time(gtx, [Blocks(17, work)], 3)
    found = kernel_time(gtx, [Blocks(17, work), Blocks(30, ())], 3)
    mean = kernel_time(gtx, [Blocks(47, (replace(work[0], repeats=10 * 17 / 47),))], 3)
    assert found.seconds == pytest.approx(mine.seconds)
    assert mine.seconds == pytest.approx(2 * kernel_time(gtx, [Blocks(1, work)], 3).seconds)
    assert mean.seconds == pytest.approx(mine.seconds * 17 / 47 * 3 / 2)
    assert [s.name for s in found.stages] == [s.name for s in mine.stages]


def test_independent_instructions_make_up_for_few_warps() -> None:
    """Four warps of an H100 hide four cycles if each has four instructions under way, not with one."""
    h100 = devices.load("h100")

    def seconds(warps: int, overlapped: float) -> float:
        group = Warps(warps, slots=1200, overlapped=overlapped)
        return kernel_time(h100, [Blocks(132, (Stage(10, (group,)),))], 1).seconds / warps

    assert seconds(4, 900) == pytest.approx(seconds(16, 0))
    assert seconds(4, 600) == pytest.approx(2 * seconds(16, 0))
    assert seconds(4, 0) == pytest.approx(4 * seconds(16, 0))
    assert seconds(16, 900) == pytest.approx(seconds(16, 0))


def test_an_empty_grid_takes_no_time() -> None:
    assert kernel_time(devices.load("gtx285"), [Blocks(0, ())], 1).seconds == 0


def test_a_full_partition_is_waited_for() -> None:
    """8 partitions at 0.75 of their bandwidth, 0.5 for one that serves all: 8 x 0.75 / 0.5 = 12."""
    gtx285 = devices.load("gtx285")
    assert camping_factor(gtx285, 1) == 1
    assert camping_factor(gtx285, 8) == pytest.approx(12)
    streams = [Blocks(3000, (Stage(1, (Warps(8, slots=10, half_warps=4, wide_bytes=256),)),))]
    even, camped = kernel_time(gtx285, streams, 4), kernel_time(gtx285, streams, 4, imbalance=8)
    latency = gtx285.costs["latency"] / gtx285.clock
    assert dict(camped.terms)["memory"] - latency == pytest.approx(
        12 * (dict(even.terms)["memory"] - latency)
    )
    assert camped.limited_by == "partition camping"
    assert camping_factor(devices.load("h100"), 1) == 1


def test_fetches_wait_for_a_full_partition_or_for_its_rows() -> None:
    """Near ones of one partition of 8 take 12 times as long; where rows take longer yet, no longer."""
    gtx285 = devices.load("gtx285")

    def memory(warps: Warps, imbalance: float) -> float:
        time = kernel_time(gtx285, [Blocks(3000, (Stage(1, (warps,)),))], 4, imbalance)
        return dict(time.terms)["memory"] - gtx285.costs["latency"] / gtx285.clock

    near = Warps(8, slots=10, lanes=32, near=32)
    assert memory(near, 8) == pytest.approx(12 * memory(near, 1))
    far = replace(near, near=2, far=30, spread=30 << 16)
    assert memory(far, 8) == pytest.approx(memory(far, 1))
    assert memory(far, 1) > 12 * memory(near, 1)


def test_fetches_leave_a_multiprocessor_one_after_the_other() -> None:
    """A 17th block doubles what its multiprocessor has to fetch, even if the memory could serve it."""
    gtx = devices.load("8800gtx")
    stages = (Stage(1000, (Warps(2, slots=24, rounds=1, lanes=128, near=128),)),)
    full, more = (kernel_time(gtx, [Blocks(blocks, stages)], 8).seconds for blocks in (16, 17))
    assert more / full == pytest.approx(2 * gtx.costs["departure"] / gtx.costs["near32"], rel=1e-3)


def test_stages_say_where_the_time_goes() -> None:
    row = mv_staged(4096, "shared", 480, 5.61, "")
    copy, product = kernel_time(devices.load("8800gtx"), [Blocks(16, row.stages)], 1).stages
    assert (copy.limited_by, product.limited_by) == ("memory bandwidth", "bank conflicts")
    assert copy.share + product.share == pytest.approx(1)
    assert product.share > copy.share


def test_a_block_alone_on_the_chip_waits_for_no_bandwidth() -> None:
    """It has all of it: what a warp streams takes longer than its waits where all multiprocessors stream."""
    gtx = devices.load("8800gtx")
    stage = Stage(1, (Warps(8, slots=1, rounds=4, half_warps=16, wide_bytes=1024),))
    one, many = (kernel_time(gtx, [Blocks(count, (stage,))], 1) for count in (1, 16))
    assert (one.limited_by, many.stages[0].limited_by) == ("latency", "memory bandwidth")
