"""Modelled time of a kernel from what the emulator counted: its record in the POLYGPU_PROFILE document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polygpu.analysis.timing import Blocks, KernelTime, Stage, Warps, kernel_time
from polygpu.model.device import Device

CLASSES = (
    "divide", "sqrt", "special", "int_multiply", "int_divide", "double_add", "double_multiply", "double_mad",
    "double_divide", "double_sqrt", "double_special",
)  # fmt: skip
"""Instruction classes that take longer than an issue slot; the device's costs say how much."""


def from_profile(record: Mapping[str, Any], device: Device, resident: int) -> KernelTime:
    """The mean time of a launch of the kernel that `record` describes.

    `record` needs "launches", "blocks_total" and "stages". Raises KeyError or TypeError when it is no such
    record.
    """
    blocks = record["blocks_total"]
    if not blocks:
        return kernel_time(device, (), resident)
    stages = tuple(_stages(record["stages"], device, blocks))
    a_launch = max(1, round(blocks / record["launches"]))
    return kernel_time(device, [Blocks(a_launch, stages)], max(1, resident))


def _stages(records: list[Mapping[str, Any]], device: Device, blocks: int) -> Iterator[Stage]:
    """Executions and counts are totals of all blocks; a Stage has those of one block and one warp."""
    for record in records:
        times = record["executions"]
        if times:
            groups = tuple(_warps(group, device, times) for group in record["groups"])
            yield Stage(times / blocks, groups, f"stage {record['stage']}")


def _warps(group: Mapping[str, Any], device: Device, executions: int) -> Warps:
    counters = group["counters"]

    def each(name: str) -> float:
        return float(counters[name] / (group["warps"] * executions))

    classes = counters["instructions"]
    extra = sum(classes.get(name, 0) * device.costs[name] for name in CLASSES)
    return Warps(
        warps=group["warps"],
        slots=each("slots"),
        extra_cycles=extra / (group["warps"] * executions),
        conflict_steps=each("conflict_steps"),
        rounds=each("rounds"),
        lanes=each("lanes"),
        half_warps=each("coalesced"),
        wide_bytes=each("wide_bytes"),
        near=each("near"),
        far=each("far"),
    )
