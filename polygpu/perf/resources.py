"""What a kernel takes of a multiprocessor: shared memory, registers, arguments, and the blocks they leave."""

from __future__ import annotations

from math import prod

from polygpu.model.device import Device
from polygpu.model.expr import SIZES
from polygpu.model.kernel import Kernel
from polygpu.perf.elements import shared_places
from polygpu.perf.live_ranges import peak_registers
from polygpu.perf.occupancy import Occupancy, occupancy
from polygpu.perf.occupancy import shared_bytes as allocated_shared

_LOOKED_AT = 64


def resident(kernel: Kernel, device: Device) -> Occupancy:
    """How many blocks of `kernel` a multiprocessor holds, with the padding that it has."""
    threads, registers = prod(kernel.block), registers_of(kernel, device)
    return occupancy(device, threads, registers, shared_bytes(kernel), argument_bytes(kernel, device))


def wave(kernel: Kernel, device: Device) -> int:
    """How many blocks run at a time on the whole chip, up to as many as show what they do together."""
    return min(_LOOKED_AT, device.multiprocessors * max(1, resident(kernel, device).blocks))


def registers_of(kernel: Kernel, device: Device) -> int:
    """Registers of a thread: those of a decision, else what its live values fill and the compiler keeps."""
    if kernel.registers:
        return kernel.registers
    return min(device.max_registers_per_thread, _needed(kernel, device))


def spills(kernel: Kernel, device: Device) -> bool:
    """Whether live values fill more registers than a thread can have: memory holds the others then."""
    return not kernel.registers and _needed(kernel, device) > device.max_registers_per_thread


def _needed(kernel: Kernel, device: Device) -> int:
    return device.registers_reserved + peak_registers(kernel, device)


def shared_bytes(kernel: Kernel) -> int:
    """Bytes of the kernel's shared arrays, padding and alignment included."""
    return max((place.end for place in shared_places(kernel.shared).values()), default=0)


def allocated_bytes(kernel: Kernel, device: Device) -> int:
    """The same with arguments where the device passes them in shared memory, as it allocates them."""
    return allocated_shared(device, shared_bytes(kernel), argument_bytes(kernel, device))


def argument_bytes(kernel: Kernel, device: Device) -> int:
    """Bytes of a kernel's arguments."""
    return device.pointer_bytes * len(kernel.arrays) + sum(SIZES.get(s.type, 4) for s in kernel.scalars)
