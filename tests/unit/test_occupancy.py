import pytest

from polygpu import devices
from polygpu.perf.occupancy import occupancy, shared_bytes


@pytest.mark.parametrize(
    ("threads", "registers", "blocks", "limited_by"),
    [
        (256, 10, 3, "threads"),  # PPoPP'08 4.1
        (256, 11, 2, "registers"),  # 3 blocks would need 8448 of 8192
        (256, 12, 2, "registers"),
        (256, 24, 1, "registers"),
        (256, 30, 1, "registers"),
        (64, 10, 8, "blocks"),
        (512, 10, 1, "threads"),
        (512, 17, 0, "registers"),
        (96, 10, 6, "registers"),  # 3 warps, allocated as 4: 1280 registers a block
    ],
)
def test_8800_gtx_registers(threads: int, registers: int, blocks: int, limited_by: str) -> None:
    found = occupancy(devices.load("8800gtx"), threads, registers, 0)
    assert (found.blocks, found.limited_by) == (blocks, limited_by)


@pytest.mark.parametrize(
    ("kernel", "threads", "registers", "shared_per_thread", "resident"),
    [
        ("matmul", 256, 9, 8.1, 12288),
        ("saxpy", 256, 7, 0.3, 12288),
        ("mri_q", 256, 11, 20.1, 8192),
        ("cp", 128, 20, 0.4, 6144),
    ],
)
def test_published_residency(
    kernel: str, threads: int, registers: int, shared_per_thread: float, resident: int
) -> None:
    """PPoPP'08, table 3: threads on all 16 multiprocessors; its shared bytes include the system's 16."""
    gtx = devices.load("8800gtx")
    shared = round(shared_per_thread * threads) - gtx.shared_reserved
    assert occupancy(gtx, threads, registers, shared).threads * gtx.multiprocessors == resident, kernel


def test_shared_memory_limits() -> None:
    gtx = devices.load("8800gtx")
    assert shared_bytes(gtx, 2048, arguments=32) == 2560
    tile = occupancy(gtx, 64, 8, 8192, arguments=32)
    assert (tile.blocks, tile.limited_by) == (1, "shared memory")
    assert occupancy(gtx, 64, 8, 16385).blocks == 0


def test_warp_granularity_of_current_chips() -> None:
    """CUDA's occupancy calculator, compute capability 9.0."""
    h100 = devices.load("h100")
    assert occupancy(h100, 256, 32, 0).warps == 64
    assert occupancy(h100, 256, 0, 0).share == 1.0
    product = occupancy(h100, 256, 246, 49_700)  # 246 registers are allocated as 248 a thread: 8 warps
    assert (product.blocks, product.limited_by) == (1, "registers")
    assert occupancy(h100, 128, 128, 0).blocks == 4
    assert occupancy(h100, 96, 72, 0).blocks == 9  # 28 warps of 2304 registers fit, 3 a block
    assert occupancy(h100, 128, 32, 227 * 1024).blocks == 1
    assert occupancy(h100, 128, 256, 0).blocks == 0
    assert occupancy(h100, 1025, 16, 0).blocks == 0


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "arguments", "blocks", "limited_by"),
    [
        (256, 16, 0, 0, 4, "threads"),  # 8 warps: 4096 of 16384 registers, 8 of 32 warps
        (256, 17, 0, 0, 3, "registers"),  # 4352, rounded up to 512: 4608
        (192, 20, 0, 0, 4, "registers"),  # 6 warps: 3840, rounded up to 4096; by warps there were 5
        (96, 16, 0, 0, 8, "registers"),  # 3 warps, allocated as 4: 2048
        (64, 60, 0, 0, 4, "registers"),  # 3840, rounded up to 4096
        (128, 10, 3000, 56, 5, "shared memory"),  # 3000 + 56 + 16 of indices: 3072, exactly 6 x 512
        (128, 10, 3000, 57, 4, "shared memory"),  # one byte more takes another 512: 3584
    ],
)
def test_compute_capability_1_3(
    threads: int, registers: int, shared: int, arguments: int, blocks: int, limited_by: str
) -> None:
    found = occupancy(devices.load("gtx285"), threads, registers, shared, arguments)
    assert (found.blocks, found.limited_by) == (blocks, limited_by)


def test_compute_capability_1_0_counts_arguments_and_indices() -> None:
    """5072 + 32 + 16 = 5120 bytes, ten times 512: three in 16384; with four bytes more 5632: two."""
    gtx = devices.load("8800gtx")
    assert occupancy(gtx, 64, 8, 5072, arguments=32).blocks == 3
    assert occupancy(gtx, 64, 8, 5072, arguments=36).blocks == 2


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks", "limited_by"),
    [
        (256, 40, 0, 6, "registers"),  # 1280 a warp: 51 fit, allocated by 4: 48, 8 a block
        (128, 33, 0, 12, "registers"),  # 1056, rounded up to 1280: 48 warps, 4 a block
        (512, 64, 0, 2, "registers"),  # 2048 a warp: 32 warps, 16 a block
        (1024, 65, 0, 0, "registers"),  # 2080, rounded up to 2304: 28 warps are less than one block
        (128, 32, 48 * 1024, 4, "shared memory"),  # with the system's 1 KiB: 49 of 228 KiB
        (64, 32, 6 * 1024, 32, "threads"),  # 7 KiB would leave room for 32, and so would 2 of 64 warps
    ],
)
def test_compute_capability_9_0(
    threads: int, registers: int, shared: int, blocks: int, limited_by: str
) -> None:
    found = occupancy(devices.load("h100"), threads, registers, shared, arguments=4000)
    assert (found.blocks, found.limited_by) == (blocks, limited_by)


def test_a_block_without_shared_memory_on_a_device_that_reserves_none() -> None:
    assert occupancy(devices.load("generic"), 64, 16, 0).blocks == 16
