"""What a global memory request costs: the coalescing rules of three generations of chips.

A request is what the lanes of a half-warp ("cc10", "cc13") or a warp ("sector") access at once. The same
rules run in the emulator, written in C, on what the lanes really access.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from polygpu.model.device import Device
from polygpu.support.dataclass import dataclass

Address: TypeAlias = int | None  # in bytes; None: an idle lane


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


def _segments(addresses: list[int], size: int, by: Coalescing) -> Iterator[tuple[int, int]]:
    """(first byte, length) of each transaction, in the order of the lowest lane that it serves."""
    widest = min(by.largest, by.smallest * size)
    served: dict[int, list[int]] = {}
    for address in addresses:
        served.setdefault(address // widest, []).append(address)
    for number, together in served.items():
        yield _shrink(number * widest, widest, min(together), max(together) + size, by.smallest)


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
