"""What many requests to global memory cost at once: the rules of `perf.coalescing` on arrays."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from polygpu.model.device import WARP
from polygpu.perf.coalescing import Coalescing, Memory
from polygpu.perf.predict.counters import OF_ACCESSES
from polygpu.perf.predict.values import Integers
from polygpu.support.dataclass import dataclass
from polygpu.support.recent import Recent

_PLACE = {name: place for place, name in enumerate(OF_ACCESSES)}
_ROWS = 1 << 14  # warps looked at together
_NONE = np.int64(-(1 << 62))  # below all rows of a memory
_DIGEST = 32  # bytes that stand for all addresses of an access
_RECENT: Recent[Integers] = Recent(256)  # accesses: kernels that are compared have many in common


def costs(
    addresses: Integers, active: npt.NDArray[np.bool_], size: int, by: Coalescing, memory: Memory
) -> Integers:
    """The counters `OF_ACCESSES` of each warp's access, (n, counters), to words of `size` bytes at addresses
    of the `active` lanes, both (n, lanes of a warp).
    """

    def made() -> Integers:
        by_lane, on = np.ascontiguousarray(addresses.T), np.ascontiguousarray(active.T)
        parts = [
            _Warps(by_lane[:, k : k + _ROWS], on[:, k : k + _ROWS], size, by, memory).costs()
            for k in range(0, len(addresses), _ROWS)
        ]
        found = np.concatenate(parts) if parts else np.zeros((0, len(OF_ACCESSES)), np.int64)
        found.flags.writeable = False
        return found

    asked = blake2b(addresses.tobytes() + active.tobytes(), digest_size=_DIGEST).digest()
    return _RECENT.get((asked, size, by, memory), made)


@dataclass(frozen=True)
class _Warps:
    """Lanes come first, (lanes of a warp, n): what goes over all of them goes over many warps at once."""

    addresses: Integers
    active: npt.NDArray[np.bool_]
    size: int
    by: Coalescing
    memory: Memory

    def costs(self) -> Integers:
        number = self.addresses.shape[1]
        found = np.zeros((len(OF_ACCESSES), number), np.int64)
        before: Integers | None = None
        opened: npt.NDArray[np.bool_] | None = None
        for start in range(0, WARP, self.by.lanes):
            lanes = slice(start, start + self.by.lanes)
            on, some = self.active[lanes], self.active[lanes].any(0)
            leading = on.argmax(0)
            first = self.addresses[start + leading, np.arange(number)]
            taken = self.addresses[lanes] if on.all() else np.where(on, self.addresses[lanes], first)
            base = first - leading * self.size
            match self.by.rule:
                case "cc10":
                    request = self._cc10(taken, on, base)
                case "cc13":
                    request = self._cc13(_ordered(taken))
                case _:
                    request = self._sectors(_ordered(taken), on)
            request["requests"] = np.ones(number, np.int64)
            coalesced = request["coalesced"].astype(bool) & some
            if self.memory.row and before is not None and opened is not None:
                distance = np.minimum(self.memory.row, np.abs(first - before))
                request["hops"] = np.where(coalesced & opened, distance, 0)
            for name, values in request.items():
                found[_PLACE[name]] += np.where(some, values, 0)
            before = first if before is None else np.where(coalesced, first, before)
            opened = coalesced if opened is None else opened | coalesced
        found[_PLACE["lane_accesses"]] = self.active.sum(0)
        return found.T

    def _cc10(self, taken: Integers, on: npt.NDArray[np.bool_], base: Integers) -> dict[str, Integers]:
        """`base` is where lane 0 would access, from where the first active one does."""
        by, size = self.by, self.size
        segment, number = by.lanes * size, on.sum(0)
        bases = taken - (np.arange(by.lanes) * size)[:, None]
        ordered = ((bases == base) | ~on).all(0) & (base % segment == 0)
        length = min(segment, by.largest)
        if not by.narrowest <= size <= by.widest:
            ordered, length = np.zeros(len(base), bool), by.smallest
        single = f"transactions_{by.smallest}"
        found = {
            "coalesced": ordered.astype(np.int64),
            f"transactions_{length}": np.where(ordered, segment // length, 0),
            "wide_bytes": np.where(ordered, segment, 0),
            "bytes": np.where(ordered, segment, by.smallest * number),
            "lanes": np.where(ordered, 0, number),
        }
        found[single] = found.get(single, np.zeros_like(number)) + found["lanes"]
        scattered = np.flatnonzero(~ordered)
        if len(scattered):
            places = _ordered(np.take(taken, scattered, 1))
            for name, values in self._fetches(places, _first(places)).items():
                found[name] = np.zeros_like(number)
                found[name][scattered] = values
        return found

    def _cc13(self, ordered: Integers) -> dict[str, Integers]:
        """The last lane of each segment stands for it: halved as long as one half has all of its bytes."""
        by, size = self.by, self.size
        widest = min(by.largest, by.smallest * size)
        first = _first(ordered // widest)
        last = np.concatenate([first[1:], np.ones_like(first[:1])])
        begins = np.maximum.accumulate(np.where(first, np.arange(len(first))[:, None], 0), axis=0)
        low, high = np.take_along_axis(ordered, begins, 0), ordered + (size - 1)
        length = np.full_like(ordered, widest)
        shorter = widest // 2
        while shorter >= by.smallest:
            length[low // shorter == high // shorter] = shorter
            shorter //= 2
        number, small = last.sum(0), last & (length == by.smallest)
        coalesced = number <= 1 + by.spare
        found = {
            "coalesced": coalesced.astype(np.int64),
            "wide_bytes": (length * (last & ~small)).sum(0),
            "bytes": (length * last).sum(0),
            "lanes": np.where(coalesced, 0, number),
            **self._fetches(low, small),
        }
        while widest >= by.smallest:
            found[f"transactions_{widest}"] = (last & (length == widest)).sum(0)
            widest //= 2
        return found

    def _fetches(self, ordered: Integers, some: npt.NDArray[np.bool_]) -> dict[str, Integers]:
        """As `coalescing.split_fetches` has them, of `some` of the addresses."""
        number = some.sum(0)
        if not self.memory.row:
            return {"near": number}
        rows = ordered // self.memory.row
        reached = np.maximum.accumulate(np.where(some, rows, _NONE), axis=0)
        steps = np.where(some[1:] & (reached[:-1] > _NONE), rows[1:] - reached[:-1], 0)
        far = (steps > 0).sum(0)
        spread = np.minimum(self.memory.page, self.memory.row * steps).sum(0)
        return {"near": number - far, "far": far, "spread": spread}

    def _sectors(self, ordered: Integers, on: npt.NDArray[np.bool_]) -> dict[str, Integers]:
        by, number = self.by, on.sum(0)
        sectors, lines = _distinct(ordered // by.smallest), _distinct(ordered // by.largest)
        coalesced = sectors <= -(-number * self.size // by.smallest) + by.spare
        return {
            "coalesced": coalesced.astype(np.int64),
            f"transactions_{by.smallest}": sectors,
            "wide_bytes": by.smallest * sectors,
            "bytes": by.smallest * sectors,
            "lanes": np.where(coalesced, 0, lines),
        }


def _ordered(taken: Integers) -> Integers:
    """The addresses of each request in order, as most of them are."""
    if (taken[1:] >= taken[:-1]).all():
        return taken
    if (taken[1:] <= taken[:-1]).all():
        return taken[::-1]
    return np.sort(taken, axis=0)


def _first(ordered: Integers) -> npt.NDArray[np.bool_]:
    """Where each request, which has them in order, has a value for the first time."""
    return np.concatenate([np.ones((1, ordered.shape[1]), np.bool_), ordered[1:] != ordered[:-1]])


def _distinct(ordered: Integers) -> Integers:
    """How many different values each request has."""
    found: Integers = _first(ordered).sum(0)
    return found
