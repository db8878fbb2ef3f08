"""Modelled time of a kernel from what the emulator counted: its record in the POLYGPU_PROFILE document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from polygpu.model.device import Device
from polygpu.perf.caches import Caches, waits
from polygpu.perf.cost import OF_TENSOR_CORES
from polygpu.perf.lockstep import TWELVE
from polygpu.perf.timing import Blocks, KernelTime, Stage, Warps, far_cycles, kernel_time

CLASSES = (
    "divide", "sqrt", "special", "int_multiply", "int_divide", "double_add", "double_multiply", "double_mad",
    "double_divide", "double_sqrt", "double_special",
)  # fmt: skip
"""Instruction classes that take longer than an issue slot; the device's costs say how much."""


def from_profile(record: Mapping[str, Any], device: Device, resident: int, even: bool = False) -> KernelTime:
    """The mean time of a launch of the kernel that `record` describes.

    `even` takes all blocks to do the same, as where few of them stand for many: which multiprocessor has one
    with work more than others says nothing there.

    `record` needs "launches", "blocks_total" and "stages", and may have "partitions", "textures", "sites" and
    "arrays".
    Raises KeyError or TypeError when it is no such record.
    """
    blocks = record["blocks_total"]
    if not blocks:
        return kernel_time(device, (), resident)
    share = max(1, round(blocks / record["launches"])) / blocks
    classes = [replace(c, count=share * c.count) for c in _classes(record, device, even)]
    return kernel_time(device, classes, max(1, resident), _imbalance(record))


def _imbalance(record: Mapping[str, Any]) -> float:
    """The bytes in the fullest partition over the mean; 1 where none were moved."""
    partitions = record.get("partitions") or {}
    moved: float = partitions.get("bytes", 0)
    return partitions["fullest"] / moved if moved else 1.0


def missed_share(record: Mapping[str, Any], device: Device) -> float:
    """The share of the lines asked of the texture cache that it does not have: compulsory misses only.

    A block finds what it has asked for before, and nothing that others have, unless the arrays fit into the
    cache of a multiprocessor: then each fetches them once a launch.
    """
    groups = (group["counters"] for stage in record.get("stages", ()) for group in stage["groups"])
    asked = device.texture_line * sum(counters.get("texture_lines", 0) for counters in groups)
    textures = record.get("textures") or {}
    lines, arrays = textures.get("lines", 0), textures.get("bytes", 0)
    share = float(textures["distinct"] / lines) if lines else 1.0
    if not asked or arrays > device.texture_cache * record["launches"]:
        return share
    return min(share, float(arrays * device.multiprocessors / asked))


def texture_bytes(record: Mapping[str, Any], device: Device) -> float:
    """What the texture cache fetches for all launches."""
    lines = record["counters"].get("texture_lines", 0)
    return missed_share(record, device) * device.texture_line * float(lines)


def _classes(record: Mapping[str, Any], device: Device, even: bool) -> Iterator[Blocks]:
    """All blocks, by the stages that they get to. Those of a stage that fewer get to are taken to get to all
    that more do, as where tiles beyond a triangle have no work.
    """
    stages, before = list(_stages(record, device, even)), 0
    for count in sorted({record["blocks_total"], *(blocks for blocks, _ in stages)}):
        yield Blocks(count - before, tuple(stage for blocks, stage in stages if blocks >= count))
        before = count


def _stages(record: Mapping[str, Any], device: Device, even: bool) -> Iterator[tuple[int, Stage]]:
    """How many blocks get to each, and what it is for one of them. Counts are totals of these blocks; a Stage
    has those of one execution and one warp.
    """
    caches, missed = Caches.of(record, device), missed_share(record, device)
    for stage in record["stages"]:
        times, blocks = stage["executions"], record["blocks_total"]
        if not even:
            blocks = max(1, min(stage["blocks"], blocks))  # a sample may miss those that are few
        if times:
            groups = tuple(_warps(group, device, times, missed, caches) for group in stage["groups"])
            yield blocks, Stage(times / blocks, groups, f"stage {stage['stage']}")


def _warps(group: Mapping[str, Any], device: Device, executions: int, missed: float, caches: Caches) -> Warps:
    counters = group["counters"]

    def each(name: str, of: Mapping[str, int] = counters) -> float:
        return float(of.get(name, 0) / (group["warps"] * executions))

    classes = counters["instructions"]
    extra = sum(classes.get(name, 0) * device.costs[name] for name in CLASSES)
    tensor = sum(classes.get(name, 0) * device.costs.get(name, 0.0) for name in OF_TENSOR_CORES)
    return Warps(
        warps=group["warps"],
        slots=each("slots"),
        extra_cycles=extra / (group["warps"] * executions),
        tensor_cycles=tensor / (group["warps"] * executions),
        conflict_steps=each("conflict_steps"),
        constant_steps=each("constant_steps"),
        shared_requests=each("shared_requests"),
        rounds=waits(each("rounds"), each("load_global", classes), device),
        lanes=each("lanes"),
        half_warps=each("coalesced"),
        wide_bytes=caches.moved * each("wide_bytes") + missed * device.texture_line * each("texture_lines"),
        stored_lines=caches.lines * each("store_global", classes),
        near=each("near"),
        far=each("far"),
        spread=each("spread"),
        hops=each("hops"),
        overlapped=each("overlapped") / TWELVE,
    )


def access_cycles(counters: Mapping[str, float], device: Device) -> float:
    """What one access costs the load/store pipe, the banks and the memory, in cycles of a multiprocessor.

    For ranking: the pipes overlap, so the sum over accesses is no time.
    """
    costs = device.costs
    bytes_per_cycle = device.bandwidth * costs["efficiency"] / device.clock / device.multiprocessors
    lines = device.texture_line * counters.get("texture_lines", 0)
    memory = (counters["wide_bytes"] + lines) / bytes_per_cycle
    memory += (counters["near"] + counters["far"]) * costs["near32"]
    memory += far_cycles(device, counters["far"], counters["spread"], counters["hops"])
    steps = counters["conflict_steps"] + counters.get("constant_steps", 0)
    shared = costs["shared"] * counters.get("shared_requests", 0)
    return memory + shared + costs["replay"] * (counters["lanes"] + steps)


def float_operations(instructions: Mapping[str, int], warp: int) -> float:
    """Float and double operations of counted warp instructions, as if all lanes were active; a mad is two."""
    each = {"mad": 2, "double_mad": 2}
    kinds = ("add", "multiply", "mad", "divide", "sqrt", "special")
    names = [prefix + kind for prefix in ("", "double_") for kind in kinds]
    return warp * float(sum(each.get(name, 1) * instructions.get(name, 0) for name in names))
