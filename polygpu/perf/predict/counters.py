"""Counters by the names and in the order of the emulator's profile."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from polygpu.model.device import WARP
from polygpu.model.kernel import Site
from polygpu.perf.cost import CLASSES, OF_TENSOR_CORES
from polygpu.perf.lockstep import Access, Lockstep, Point
from polygpu.perf.predict.values import Integers
from polygpu.perf.site_entries import site_entry

OF_ACCESSES = (
    "requests", "coalesced", "transactions_32", "transactions_64", "transactions_128", "lanes", "wide_bytes",
    "near", "far", "spread", "hops", "bytes", "shared_requests", "conflict_steps",
    "constant_requests", "constant_steps", "texture_requests", "texture_lines", "lane_accesses",
)  # fmt: skip
OF_WARPS = (*OF_ACCESSES, "divergent", "barriers", "rounds", "slots", "overlapped")
FIELDS = (*OF_WARPS, *CLASSES, *OF_TENSOR_CORES)
PLACE = {name: place for place, name in enumerate(FIELDS)}
_FIRST_CLASS = len(OF_WARPS)


class Counts:
    """Of one kernel: a row of `FIELDS` for each warp of each stage; by stage, executions and the blocks that
    get there; sums by entry of the profile.
    """

    def __init__(self, tree: Lockstep) -> None:
        self.tree = tree
        self.warps = -(-prod(tree.kernel.block) // WARP)
        self.stages = np.zeros((tree.stages, self.warps, len(FIELDS)), np.int64)
        self.executions = np.zeros(tree.stages, np.int64)
        self.blocks = np.zeros(tree.stages, np.int64)
        self.sites = {row: np.zeros(len(OF_ACCESSES), np.int64) for row in tree.rows}

    def add_all(self, other: Counts, times: int) -> None:
        self.stages += times * other.stages
        self.executions += times * other.executions
        self.blocks += times * other.blocks
        for row, found in other.sites.items():
            self.sites[row] += times * found

    def add(self, stage: int, name: str, by_warp: Integers) -> None:
        self.stages[stage, :, PLACE[name]] += by_warp

    def charge(self, point: Point, executions: Integers) -> None:
        each = np.zeros(len(FIELDS), np.int64)
        for name, count in point.cost.items():
            each[PLACE[name]] = count
        each[PLACE["slots"]] = sum(point.cost.values())
        each[PLACE["rounds"]] = point.rounds
        each[PLACE["overlapped"]] = point.overlapped
        self.stages[point.stage] += executions[:, None] * each
        self.stages[point.stage, 0, PLACE["barriers"]] += executions[0] * point.cost["barrier"]

    def access(self, access: Access, by_warp: Integers) -> None:
        """`by_warp` has the counters `OF_ACCESSES` of each warp."""
        self.stages[access.stage, :, : len(OF_ACCESSES)] += by_warp
        self.sites[access.row] += by_warp.sum(0)

    def total(self, name: str) -> int:
        return int(self.stages[:, :, PLACE[name]].sum())

    def record(self, sites: Sequence[Site]) -> dict[str, Any]:
        """The members "counters", "stages" and "sites" of a kernel in a profile."""
        known = {site.number: site for site in sites}
        entries = [site_entry(access, known) for access in self.tree.rows.values()]
        return {
            "counters": _named(self.stages.sum((0, 1))),
            "stages": [self._stage(number) for number in range(len(self.stages))],
            "sites": [
                entry | {"counters": _named(found)}
                for entry, found in zip(entries, self.sites.values(), strict=True)
            ],
        }

    def _stage(self, number: int) -> dict[str, Any]:
        rows = self.stages[number]
        alone = rows.copy()
        alone[:, PLACE["barriers"]] = 0  # the first warp counts them for all
        return {
            "stage": number,
            "executions": int(self.executions[number]),
            "blocks": int(self.blocks[number]),
            "counters": _named(rows.sum(0)),
            "groups": list(_groups(alone)),
        }


def _groups(rows: Integers) -> Any:
    """Neighbouring warps that count alike."""
    first = 0
    for _, alike in groupby(rows, key=lambda row: row.tobytes()):
        group = list(alike)
        yield {"first": first, "warps": len(group), "counters": _named(np.sum(group, 0))}
        first += len(group)


def _named(row: Integers) -> dict[str, Any]:
    values = [int(v) for v in row]
    named: dict[str, Any] = dict(zip(FIELDS[: min(len(values), _FIRST_CLASS)], values, strict=False))
    if len(values) > _FIRST_CLASS:
        found = zip(FIELDS[_FIRST_CLASS:], values[_FIRST_CLASS:], strict=True)
        named["instructions"] = {name: n for name, n in found if n or name not in OF_TENSOR_CORES}
    return named
