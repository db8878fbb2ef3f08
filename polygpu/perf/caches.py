"""What the cache between multiprocessors and memory leaves of a kernel's traffic, and what stores cost it.

It finds what other blocks have read and merges what they write piece by piece: a launch moves each array
once at most. It takes stores line by line, however little of a line each of them writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polygpu.model.device import Device
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Caches:
    """`moved`: the share that the memory moves of the bytes that requests ask for; `lines` of a store."""

    moved: float = 1.0
    lines: float = 0.0

    @staticmethod
    def of(record: Mapping[str, Any], device: Device) -> Caches:
        """For a kernel of a profile: "arrays", the bytes of each, is a part of predicted ones alone."""
        sites = [s for s in record.get("sites", ()) if s["counters"]["requests"]]
        arrays = record.get("arrays", {}) if device.l2_bytes else {}
        lines = sum(_lines(s["counters"], device) for s in sites if s["write"])
        stores = sum(s["counters"]["requests"] for s in sites if s["write"])
        asked = sum(s["counters"]["wide_bytes"] for s in sites)
        moved = sum(_moved(sites, arrays, record["launches"]))
        return Caches(moved / asked if asked else 1.0, lines / stores if stores else 0.0)


def _lines(counters: Mapping[str, float], device: Device) -> float:
    """A request that coalesces has one, or as many as its bytes fill."""
    requests = counters["lanes"] + counters["coalesced"]
    return max(requests, counters["wide_bytes"] / device.largest_transaction)


def _moved(sites: list[Mapping[str, Any]], arrays: Mapping[str, float], launches: int) -> Iterator[float]:
    """The bytes that are read of each array, and those that are written."""
    asked: dict[tuple[str, bool], float] = {}
    for s in sites:
        key = s["array"], s["write"]
        asked[key] = asked.get(key, 0.0) + s["counters"]["wide_bytes"]
    for (array, _), found in asked.items():
        yield min(found, launches * arrays[array]) if array in arrays else found


def waits(rounds: float, loads: float, device: Device) -> float:
    """How often a warp waits in a stage with so many loads, `rounds` of which are told apart by the code.

    A compiler issues the loads of several iterations together, but no more than there are registers for; that
    a load's address depends on another load is taken to be rare.
    """
    together = device.costs["loads_in_flight"]
    if not together or not rounds or not loads:
        return rounds
    return max(min(rounds, 1.0), loads / together)
