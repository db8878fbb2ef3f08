"""Counters by the names and in the order of the emulator's profile."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from polygpu.perf.cost import CLASSES
from polygpu.perf.predict.values import Integers

OF_ACCESSES = (
    "requests", "coalesced", "transactions_32", "transactions_64", "transactions_128", "lanes", "wide_bytes",
    "near", "far", "spread", "bytes", "shared_requests", "conflict_steps",
    "constant_requests", "constant_steps", "texture_requests", "texture_lines", "lane_accesses",
)  # fmt: skip
OF_WARPS = (*OF_ACCESSES, "divergent", "barriers", "rounds", "slots")
FIELDS = (*OF_WARPS, *CLASSES)
PLACE = {name: place for place, name in enumerate(FIELDS)}
_FIRST_CLASS = len(OF_WARPS)


@dataclass
class Counts:
    """Of one kernel: a row of `FIELDS` for each warp of each stage, executions by stage, sums by access.

    `rows` describes the entries of `sites`.
    """

    warps: int
    stages: list[Integers] = field(default_factory=list)
    executions: list[int] = field(default_factory=list)
    rows: dict[tuple[int, str, bool], dict[str, Any]] = field(default_factory=dict)
    sites: dict[tuple[int, str, bool], Integers] = field(default_factory=dict)

    def reach(self, stage: int) -> None:
        while len(self.stages) <= stage:
            self.stages.append(np.zeros((self.warps, len(FIELDS)), np.int64))
            self.executions.append(0)

    def add(self, stage: int, name: str, by_warp: Integers) -> None:
        self.stages[stage][:, PLACE[name]] += by_warp

    def instructions(self, stage: int, cost: Counter[str], executions: Integers) -> None:
        for name, count in cost.items():
            self.add(stage, name, executions * count)
            self.add(stage, "slots", executions * count)
        if cost["barrier"]:
            self.stages[stage][0, PLACE["barriers"]] += executions[0] * cost["barrier"]

    def access(self, stage: int, row: tuple[int, str, bool], by_warp: Integers) -> None:
        """`by_warp` has the counters `OF_ACCESSES` of each warp."""
        self.stages[stage][:, : len(OF_ACCESSES)] += by_warp
        self.sites[row] += by_warp.sum(0)

    def record(self) -> dict[str, Any]:
        """The members "counters", "stages" and "sites" of a kernel in a profile."""
        total = sum((stage.sum(0) for stage in self.stages), np.zeros(len(FIELDS), np.int64))
        return {
            "counters": _named(total),
            "stages": [self._stage(number) for number in range(len(self.stages))],
            "sites": [self.rows[key] | {"counters": _named(found)} for key, found in self.sites.items()],
        }

    def _stage(self, number: int) -> dict[str, Any]:
        rows = self.stages[number]
        alone = rows.copy()
        alone[:, PLACE["barriers"]] = 0  # the first warp counts them for all
        return {
            "stage": number,
            "executions": self.executions[number],
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
        named["instructions"] = dict(zip(CLASSES, values[_FIRST_CLASS:], strict=True))
    return named
