"""What a kernel takes of a multiprocessor: shared memory, registers, arguments, and the blocks they leave."""

from __future__ import annotations

from math import prod

from polygpu.analysis.occupancy import Occupancy, occupancy
from polygpu.model.device import Device
from polygpu.model.expr import SIZES
from polygpu.model.kernel import Declare, DeclareArray, For, If, Kernel, Statement

_POINTER = 8  # bytes
_SHORT_POINTER = 4  # on chips that pass arguments in shared memory


def resident(kernel: Kernel, device: Device) -> Occupancy:
    """How many blocks of `kernel` a multiprocessor holds, with the padding that it has."""
    threads, registers = prod(kernel.block), registers_of(kernel)
    return occupancy(device, threads, registers, shared_bytes(kernel), argument_bytes(kernel, device))


def registers_of(kernel: Kernel) -> int:
    """Registers of a thread: those of a decision, else the estimate."""
    return kernel.registers or estimate_registers(kernel)


def shared_bytes(kernel: Kernel) -> int:
    """Bytes of the kernel's shared arrays, padding and alignment included."""
    end = 0
    for s in kernel.shared:
        size = SIZES.get(s.type, 4)
        alignment = max(s.alignment, size)
        *outer, last = s.extents or (1,)
        end = -(-end // alignment) * alignment + prod(outer) * (last + s.padding) * size
    return end


def argument_bytes(kernel: Kernel, device: Device) -> int:
    pointer = _SHORT_POINTER if device.arguments_in_shared else _POINTER
    return pointer * len(kernel.arrays) + sum(SIZES.get(s.type, 4) for s in kernel.scalars)


def estimate_registers(kernel: Kernel) -> int:
    """A first estimate: private values, locals, and a handful of addresses."""
    return min(255, 6 + _private_words(kernel.body) + len(kernel.arrays))


def _private_words(body: tuple[Statement, ...]) -> int:
    """Registers of private arrays and of locals at the deepest nesting."""
    total, deepest = 0, 0
    for s in body:
        match s:
            case DeclareArray(_, ctype, extents):
                total += prod(extents) * SIZES.get(ctype, 4) // 4
            case Declare(_, ctype, _, mutable):
                total += SIZES.get(ctype, 4) // 4 if mutable or total < 4 else 0
            case For(body=inner):
                deepest = max(deepest, 1 + _private_words(inner))
            case If(then=then, otherwise=otherwise):
                deepest = max(deepest, _private_words(then), _private_words(otherwise))
    return total + deepest
