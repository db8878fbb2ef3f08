"""What many requests to global memory cost at once: the rules of `perf.coalescing` on arrays.

The rule of CC 1.3, which takes segments one by one, is not among them.
"""

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
_DIGEST = 32  # bytes that stand for all addresses of an access
_RECENT: Recent[Integers] = Recent(256)  # accesses: kernels that are compared have many in common


def has_rule(by: Coalescing) -> bool:
    """Whether the rule is one of these."""
    return by.rule in ("cc10", "sector")


def costs(
    addresses: Integers, active: npt.NDArray[np.bool_], size: int, by: Coalescing, memory: Memory
) -> Integers:
    """The counters `OF_ACCESSES` of each warp's access, (n, counters), to words of `size` bytes at addresses
    of the `active` lanes, both (n, lanes of a warp).
    """

    def made() -> Integers:
        parts = [
            _Warps(addresses[k : k + _ROWS], active[k : k + _ROWS], size, by, memory).costs()
            for k in range(0, len(addresses), _ROWS)
        ]
        found = np.concatenate(parts) if parts else np.zeros((0, len(OF_ACCESSES)), np.int64)
        found.flags.writeable = False
        return found

    asked = blake2b(addresses.tobytes() + active.tobytes(), digest_size=_DIGEST).digest()
    return _RECENT.get((asked, size, by, memory), made)


@dataclass(frozen=True)
class _Warps:
    addresses: Integers
    active: npt.NDArray[np.bool_]
    size: int
    by: Coalescing
    memory: Memory

    def costs(self) -> Integers:
        found = np.zeros((len(self.addresses), len(OF_ACCESSES)), np.int64)
        before: Integers | None = None
        opened: npt.NDArray[np.bool_] | None = None
        for start in range(0, WARP, self.by.lanes):
            lanes = slice(start, start + self.by.lanes)
            on = self.active[:, lanes]
            some = on.any(1)
            first = self.addresses[np.arange(len(on)), start + on.argmax(1)]
            taken = np.where(on, self.addresses[:, lanes], first[:, None])
            request = self._cc10(taken, on, first) if self.by.rule == "cc10" else self._sectors(taken, on)
            request["requests"] = np.ones(len(on), np.int64)
            coalesced = request["coalesced"].astype(bool) & some
            if self.memory.row and before is not None and opened is not None:
                distance = np.minimum(self.memory.row, np.abs(first - before))
                request["hops"] = np.where(coalesced & opened, distance, 0)
            for name, values in request.items():
                found[:, _PLACE[name]] += np.where(some, values, 0)
            before = first if before is None else np.where(coalesced, first, before)
            opened = coalesced if opened is None else opened | coalesced
        found[:, _PLACE["lane_accesses"]] = self.active.sum(1)
        return found

    def _cc10(self, taken: Integers, on: npt.NDArray[np.bool_], first: Integers) -> dict[str, Integers]:
        by, size = self.by, self.size
        segment, number = by.lanes * size, on.sum(1)
        bases = taken - np.arange(by.lanes) * size
        base = bases[np.arange(len(on)), on.argmax(1)]
        ordered = (np.where(on, bases, base[:, None]) == base[:, None]).all(1) & (base % segment == 0)
        length = min(segment, by.largest)
        if not by.narrowest <= size <= by.widest:
            ordered, length = np.zeros(len(on), bool), by.smallest
        near, far, spread = self._fetches(taken)
        found = {
            "coalesced": ordered.astype(np.int64),
            f"transactions_{length}": np.where(ordered, segment // length, 0),
            "wide_bytes": np.where(ordered, segment, 0),
            "bytes": np.where(ordered, segment, by.smallest * number),
            "lanes": np.where(ordered, 0, number),
            "near": np.where(ordered, 0, near),
            "far": np.where(ordered, 0, far),
            "spread": np.where(ordered, 0, spread),
        }
        single = f"transactions_{by.smallest}"
        found[single] = found.get(single, np.zeros_like(number)) + np.where(ordered, 0, number)
        return found

    def _fetches(self, taken: Integers) -> tuple[Integers, Integers, Integers]:
        """As `coalescing.split_fetches` has them."""
        distinct = _distinct(taken)
        if not self.memory.row:
            return distinct, np.zeros_like(distinct), np.zeros_like(distinct)
        steps = np.diff(np.sort(taken // self.memory.row, axis=1), axis=1)
        far = (steps > 0).sum(1)
        return distinct - far, far, np.minimum(self.memory.page, self.memory.row * steps).sum(1)

    def _sectors(self, taken: Integers, on: npt.NDArray[np.bool_]) -> dict[str, Integers]:
        by, number = self.by, on.sum(1)
        sectors, lines = _distinct(taken // by.smallest), _distinct(taken // by.largest)
        coalesced = sectors <= -(-number * self.size // by.smallest) + by.spare
        return {
            "coalesced": coalesced.astype(np.int64),
            f"transactions_{by.smallest}": sectors,
            "wide_bytes": by.smallest * sectors,
            "bytes": by.smallest * sectors,
            "lanes": np.where(coalesced, 0, lines),
        }


def _distinct(values: Integers) -> Integers:
    """How many different values each row has."""
    found: Integers = 1 + (np.diff(np.sort(values, axis=1), axis=1) != 0).sum(1)
    return found
