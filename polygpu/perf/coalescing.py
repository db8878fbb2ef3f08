"""What a global memory request costs: the coalescing rules of three generations of chips.

A request is what the lanes of a half-warp ("cc10", "cc13") or a warp ("sector") access at once. The same
rules run in the emulator, written in C, on what the lanes really access.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from polygpu.model.device import Device

Address: TypeAlias = int | None  # in bytes; None: an idle lane
Coordinates: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Coalescing:
    """A device's rule, "cc10", "cc13" or "sector", and its numbers.

    `lanes` of a request; bytes of the `smallest` and `largest` transaction, powers of two apart; bytes of the
    `narrowest` and `widest` word that coalesces; `spare` transactions beyond the fewest of a request that
    still count as coalesced.
    """

    rule: str
    lanes: int
    smallest: int
    largest: int
    narrowest: int
    widest: int
    spare: int

    @staticmethod
    def of(device: Device) -> Coalescing:
        return Coalescing(
            device.rule,
            device.request_lanes,
            device.smallest_transaction,
            device.largest_transaction,
            device.narrowest_coalesced,
            device.widest_access,
            device.spare_transactions,
        )

    @property
    def period(self) -> int:
        """Bytes: requests that lie a multiple of it apart cost the same, DRAM rows aside."""
        return max(self.largest, self.lanes * self.widest if self.rule == "cc10" else 0)


@dataclass(frozen=True, slots=True)
class Cost:
    """The transactions of one request, as (bytes of one, how many), largest first.

    `passes` are those of the load/store pipe when the request does not coalesce, else 0. `near` and `far`
    are the smallest fetches that reach the memory after equal addresses are merged, in an open DRAM row and
    in another one; `spread` the bytes between neighbouring rows of theirs, at most a page each, over which
    addresses are translated; `wide_bytes` what moves in larger or streamed transactions.
    """

    transactions: tuple[tuple[int, int], ...]
    coalesced: bool
    passes: int = 0
    near: int = 0
    far: int = 0
    spread: int = 0
    wide_bytes: int = 0

    @property
    def count(self) -> int:
        return sum(count for _, count in self.transactions)

    @property
    def bytes(self) -> int:
        return sum(size * count for size, count in self.transactions)


IDLE = Cost((), coalesced=True)


@dataclass(frozen=True, slots=True)
class Memory:
    """What scattered fetches depend on, in bytes: what one row of all DRAM partitions holds, and what one
    translation of an address covers. With a row of 0 all fetches are near, with a page of 0 none is spread.
    """

    row: int = 0
    page: int = 0

    @staticmethod
    def of(device: Device) -> Memory:
        return Memory(int(device.costs["row_stripe"]), int(device.costs["page"]))


NEAR = Memory()


def request_cost(addresses: Sequence[Address], size: int, by: Coalescing, memory: Memory = NEAR) -> Cost:
    """The cost of lanes accessing words of `size` bytes (1, 2, 4, 8 or 16), aligned to their size.

    Costs nothing when no lane is active. CUDA C Programming Guide 4.2, app. F.
    """
    if all(address is None for address in addresses):
        return IDLE
    match by.rule:
        case "cc10":
            return _cc10(addresses, size, by, memory)
        case "cc13":
            return _cc13(addresses, size, by, memory)
        case "sector":
            return _sectors(addresses, size, by)
        case _:
            raise ValueError(f"no coalescing rule {by.rule}")


def _cc10(addresses: Sequence[Address], size: int, by: Coalescing, memory: Memory) -> Cost:
    """Lane k accesses word k of one aligned segment, or every active lane pays a transaction by itself."""
    active = [address for address in addresses if address is not None]
    segment = by.lanes * size
    if by.narrowest <= size <= by.widest and _in_order(addresses, size, segment):
        length = min(segment, by.largest)
        return Cost(((length, segment // length),), coalesced=True, wide_bytes=segment)
    near, far, spread = split_fetches(set(active), memory)
    transactions = ((by.smallest, len(active)),)
    return Cost(transactions, coalesced=False, passes=len(active), near=near, far=far, spread=spread)


def _in_order(addresses: Sequence[Address], size: int, segment: int) -> bool:
    bases = {address - lane * size for lane, address in enumerate(addresses) if address is not None}
    return len(bases) == 1 and bases.pop() % segment == 0


def _cc13(addresses: Sequence[Address], size: int, by: Coalescing, memory: Memory) -> Cost:
    """Segments in the order of the lowest unserved lane, each halved while one half is unused."""
    segments = list(_segments([a for a in addresses if a is not None], size, by))
    small = [first for first, length in segments if length == by.smallest]
    near, far, spread = split_fetches(small, memory)
    coalesced = len(segments) <= 1 + by.spare
    lengths = sorted({length for _, length in segments}, reverse=True)
    return Cost(
        tuple((length, sum(s == length for _, s in segments)) for length in lengths),
        coalesced=coalesced,
        passes=0 if coalesced else len(segments),
        near=near,
        far=far,
        spread=spread,
        wide_bytes=sum(length for _, length in segments if length > by.smallest),
    )


def _segments(waiting: list[int], size: int, by: Coalescing) -> Iterator[tuple[int, int]]:
    """(first byte, length) of each transaction."""
    widest = min(by.largest, by.smallest * size)
    while waiting:
        first = waiting[0] // widest * widest
        served = [address for address in waiting if first <= address < first + widest]
        waiting = [address for address in waiting if address not in served]
        yield _shrink(first, widest, min(served), max(served) + size, by.smallest)


def _shrink(first: int, length: int, low: int, high: int, smallest: int) -> tuple[int, int]:
    """The segment halved, down to the smallest, while the bytes [low, high) lie in one half."""
    while length > smallest:
        middle = first + length // 2
        if low < middle < high:
            break
        first, length = (first if high <= middle else middle), length // 2
    return first, length


def _sectors(addresses: Sequence[Address], size: int, by: Coalescing) -> Cost:
    """Distinct sectors, the smallest transactions; coalesced if few more than the lanes' bytes fill."""
    active = [address for address in addresses if address is not None]
    sectors = {address // by.smallest for address in active}
    lines = {address // by.largest for address in active}
    coalesced = len(sectors) <= -(-len(active) * size // by.smallest) + by.spare
    passes = 0 if coalesced else len(lines)
    return Cost(((by.smallest, len(sectors)),), coalesced, passes, wide_bytes=by.smallest * len(sectors))


def split_fetches(addresses: Collection[int], memory: Memory) -> tuple[int, int, int]:
    """(near, far, spread): each DRAM row that distinct `addresses` reach, but one, costs a far fetch."""
    if not addresses or not memory.row:
        return len(addresses), 0, 0
    rows = sorted({address // memory.row for address in addresses})
    far = len(rows) - 1
    spread = sum(min(memory.page, memory.row * (after - row)) for row, after in pairwise(rows))
    return len(addresses) - far, far, spread


def request_lanes(block: Coordinates, lanes: int) -> tuple[tuple[Coordinates | None, ...], ...]:
    """The threads (x, y, z) of each request of a block in lane order, x fastest; None past the last one."""
    width, height, depth = block
    threads = [(x, y, z) for z in range(depth) for y in range(height) for x in range(width)]
    starts = range(0, len(threads), lanes)
    return tuple(tuple(threads[s : s + lanes]) + (None,) * (s + lanes - len(threads)) for s in starts)


def affine_request(
    strides: Coordinates, offset: int, size: int, threads: Sequence[Coordinates | None]
) -> tuple[Address, ...]:
    """Byte addresses of `offset + strides . thread` for each lane; strides and offset in elements."""
    return tuple(
        None if t is None else size * (offset + sum(s * c for s, c in zip(strides, t, strict=True)))
        for t in threads
    )


@dataclass(frozen=True, slots=True)
class AffineCost:
    """Over one block's requests: how many there are, how many coalesce, and means a request."""

    requests: int
    coalesced_requests: int
    transactions: float
    bytes: float

    @property
    def coalesced(self) -> bool:
        return self.coalesced_requests == self.requests


def affine_cost(
    strides: Coordinates, offset: int, size: int, block: Coordinates, device: Device
) -> AffineCost:
    """Predicts an affine access of a whole block; full requests count unless there is none.

    `offset` is that of thread (0, 0, 0) in elements from an address aligned as allocations are.
    """
    requests = request_lanes(block, device.request_lanes)
    full = [request for request in requests if None not in request] or list(requests)
    rule = Coalescing.of(device)
    costs = [request_cost(affine_request(strides, offset, size, r), size, rule) for r in full]
    return AffineCost(
        len(costs),
        sum(cost.coalesced for cost in costs),
        sum(cost.count for cost in costs) / len(costs),
        sum(cost.bytes for cost in costs) / len(costs),
    )
