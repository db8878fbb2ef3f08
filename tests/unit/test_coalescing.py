import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygpu import devices
from polygpu.perf.coalescing import Coalescing, Memory, request_cost

CC10, CC13, SECTOR = (Coalescing.of(devices.load(name)) for name in ("8800gtx", "gtx285", "h100"))
MEMORY = Memory(row=12288, page=65536)
SIZES = st.sampled_from([1, 2, 4, 8, 16])


def lanes(stride: int, offset: int = 0, size: int = 4, count: int = 16) -> list[int | None]:
    return [size * (offset + stride * lane) for lane in range(count)]


@pytest.mark.parametrize(
    ("stride", "offset", "size", "transactions"),
    [
        (1, 0, 4, ((64, 1),)),
        (1, 16, 4, ((64, 1),)),
        (1, 0, 8, ((128, 1),)),
        (1, 0, 16, ((128, 2),)),
        (1, 1, 4, ((32, 16),)),  # off by one word
        (1, 8, 16, ((32, 16),)),  # aligned to 128 B, but two segments of 256 B
        (-1, 15, 4, ((32, 16),)),  # permuted
        (0, 0, 4, ((32, 16),)),  # one address
        (1, 0, 2, ((32, 16),)),  # words of 2 B
        (1, 0, 1, ((32, 16),)),
        (4096, 0, 4, ((32, 16),)),
    ],
)
def test_cc10(stride: int, offset: int, size: int, transactions: tuple[tuple[int, int], ...]) -> None:
    """The cases of the programming guide's figures for CC 1.0 and 1.1."""
    cost = request_cost(lanes(stride, offset, size), size, CC10)
    assert cost.transactions == transactions
    assert cost.coalesced == (transactions != ((32, 16),))


def test_cc10_idle_lanes_move_the_whole_segment() -> None:
    some = [a if lane in (2, 9) else None for lane, a in enumerate(lanes(1))]
    assert request_cost(some, 4, CC10).transactions == ((64, 1),)
    assert request_cost([None] * 16, 4, CC10).count == 0


def test_cc10_equal_addresses_are_fetched_once() -> None:
    same = request_cost(lanes(0), 4, CC10, MEMORY)
    assert (same.passes, same.near, same.far) == (16, 1, 0)
    rows = request_cost(lanes(4096), 4, CC10, MEMORY)
    assert (rows.passes, rows.near, rows.far) == (16, 1, 15)
    # The last lane is at 240 KB, the start of the 21st row of the memory.
    assert rows.spread == 20 * 12288
    assert request_cost(lanes(1 << 20), 4, CC10, MEMORY).spread == 15 * 65536
    # Rows of 1 KB: 16 KB of addresses reach two row stripes of 12 KB.
    assert request_cost(lanes(256), 4, CC10, MEMORY).far == 1


@pytest.mark.parametrize(
    ("stride", "offset", "size", "transactions"),
    [
        (1, 0, 4, ((64, 1),)),
        (1, 1, 4, ((128, 1),)),  # misaligned inside a segment of 128 B
        (1, 17, 4, ((64, 1), (32, 1))),  # 60 B in one segment, 4 B in the next
        (-1, 15, 4, ((64, 1),)),
        (0, 5, 4, ((32, 1),)),
        (2, 0, 4, ((128, 1),)),
        (4, 0, 4, ((128, 2),)),
        (1, 0, 8, ((128, 1),)),
        (1, 0, 2, ((32, 1),)),
        (1, 0, 1, ((32, 1),)),
        (1, 0, 16, ((128, 2),)),
        (4096, 0, 4, ((32, 16),)),
    ],
)
def test_cc13(stride: int, offset: int, size: int, transactions: tuple[tuple[int, int], ...]) -> None:
    assert request_cost(lanes(stride, offset, size), size, CC13).transactions == transactions


@pytest.mark.parametrize(
    ("stride", "offset", "size", "sectors", "coalesced"),
    [(1, 0, 4, 4, True), (1, 1, 4, 5, True), (0, 0, 4, 1, True), (2, 0, 4, 8, False),
     (1, 0, 16, 16, True), (1024, 0, 4, 32, False), (1, 0, 1, 1, True)],
)  # fmt: skip
def test_sectors(stride: int, offset: int, size: int, sectors: int, coalesced: bool) -> None:
    cost = request_cost(lanes(stride, offset, size, 32), size, SECTOR)
    assert (cost.transactions, cost.coalesced) == (((32, sectors),), coalesced)


@given(size=SIZES, words=st.lists(st.none() | st.integers(0, 200), min_size=16, max_size=16))
def test_cc13_moves_the_smallest_segments(size: int, words: list[int | None]) -> None:
    """The documented loop equals its closed form: per aligned segment the least power of two around it."""
    widest = min(128, 32 * size)
    touched: dict[int, list[int]] = {}
    for word in words:
        if word is not None:
            touched.setdefault(word * size // widest, []).append(word * size)
    lengths = []
    for addresses in touched.values():
        low, high = min(addresses), max(addresses) + size - 1
        fitting = [n for n in (32, 64, 128) if n <= widest and low // n == high // n]
        lengths.append(min(fitting))
    cost = request_cost([None if w is None else w * size for w in words], size, CC13)
    assert cost.transactions == tuple((n, lengths.count(n)) for n in (128, 64, 32) if n in lengths)


@given(
    rule=st.sampled_from([CC10, CC13, SECTOR]),
    size=SIZES,
    words=st.lists(st.none() | st.integers(0, 9000), min_size=16, max_size=16),
)
def test_every_request_moves_what_its_lanes_use(rule: Coalescing, size: int, words: list[int | None]) -> None:
    cost = request_cost([None if w is None else w * size for w in words], size, rule, MEMORY)
    active = [w for w in words if w is not None]
    assert cost.bytes >= len(set(active)) * size
    assert cost.count <= max(len(active), 2)
    if rule is CC10 and not cost.coalesced:
        assert cost.near + cost.far == len(set(active))


def test_a_warp_over_two_rows_of_a_matrix() -> None:
    """C[ty][tx] of 16x16 threads: 64 B of each row are two sectors."""
    cost = request_cost([4 * (1024 * y + x) for y in range(2) for x in range(16)], 4, SECTOR)
    assert (cost.coalesced, cost.count) == (True, 4)
