"""How many blocks are resident on a multiprocessor, by the CUDA occupancy calculator's rules."""

from __future__ import annotations

from polygpu.model.device import Device
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Of one multiprocessor. `limited_by` is "blocks", "threads", "registers" or "shared memory".

    `blocks` is 0 when a block does not fit; `share` is that of the warps the device can hold.
    """

    blocks: int
    warps: int
    threads: int
    share: float
    limited_by: str


def occupancy(device: Device, threads: int, registers: int, shared: int, arguments: int = 0) -> Occupancy:
    """For blocks of `threads` threads with `registers` each and `shared` bytes of arrays.

    `arguments` are the bytes of the kernel's arguments, which chips of CC 1.x pass in shared memory.
    Registers of 0 (unknown) do not limit.
    """
    warps = -(-threads // device.warp)
    limits = {
        "threads": min(
            device.warps_per_multiprocessor // warps,
            device.threads_per_multiprocessor // (warps * device.warp),
        ),
        "registers": _by_registers(device, warps, registers),
        "shared memory": _by_shared(device, shared, arguments),
        "blocks": device.blocks_per_multiprocessor,
    }
    if threads > device.max_threads_per_block:
        limits["threads"] = 0
    limited_by = min(limits, key=lambda resource: limits[resource])
    blocks = limits[limited_by]
    share = blocks * warps / device.warps_per_multiprocessor
    return Occupancy(blocks, blocks * warps, blocks * threads, share, limited_by)


def shared_bytes(device: Device, arrays: int, arguments: int = 0) -> int:
    """What a block takes of a multiprocessor's shared memory, the system's part included."""
    used = arrays + device.shared_reserved + (arguments if device.arguments_in_shared else 0)
    return _round_up(used, device.shared_granularity)


def _by_registers(device: Device, warps: int, registers: int) -> int:
    if registers > device.max_registers_per_thread:
        return 0
    if not registers:
        return device.blocks_per_multiprocessor
    total, unit, step = (
        device.registers_per_multiprocessor,
        device.register_granularity,
        device.warp_granularity,
    )
    if device.register_granularity_unit == "block":
        return total // _round_up(_round_up(warps, step) * device.warp * registers, unit)
    resident_warps = total // _round_up(device.warp * registers, unit) // step * step
    return resident_warps // warps


def _by_shared(device: Device, arrays: int, arguments: int) -> int:
    if arrays > device.shared_per_block:
        return 0
    used = shared_bytes(device, arrays, arguments)
    return device.shared_per_multiprocessor // used if used else device.blocks_per_multiprocessor


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
