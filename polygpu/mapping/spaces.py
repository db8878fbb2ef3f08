"""The spaces pass: arrays that decisions put within reach of the constant and texture caches.

before: ArrayArgument("A", ..., space="global")     constant(A)
after:  ArrayArgument("A", ..., space="constant")

What cannot be done is said, and the array stays in global memory. Where an array is staged in shared memory,
it is the code that copies it that reads through the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from math import prod

from polygpu.mapping.wanted import Wanted, source_arrays
from polygpu.model.decisions import SPACES, Decision
from polygpu.model.device import Device
from polygpu.model.expr import Int
from polygpu.model.kernel import ArrayArgument, ArraySpace, Buffer, Kernel, Move, Region, Statement
from polygpu.model.kernel_walk import statements
from polygpu.model.structures import size_of
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnostic

WIDEST = 16  # bytes of a wide access: constant arrays are aligned to it and padded to whole ones
_MOST_ARRAYS = 8  # constant arguments of a kernel that every OpenCL device allows (OpenCL 1.2, table 4.3)


@dataclass(frozen=True)
class Spaced:
    """The regions with their arrays in the spaces asked for, and what is not done, and why."""

    regions: tuple[Region, ...]
    diagnostics: tuple[Diagnostic, ...]


def put_in_spaces(regions: Iterable[Region], device: Device, asked: Mapping[str, Wanted]) -> Spaced:
    """All regions of a file: they share the constant memory. `asked` is by kernel. Diagnostics are warnings
    PG313.
    """
    pass_ = _Pass(device, asked)
    done = tuple(pass_.region(region) for region in regions)
    return Spaced(done, tuple(pass_.diagnostics()))


@dataclass(frozen=True)
class Constant:
    """A device copy in constant memory: its elements, and how many of them have room, so that wide loads of
    the last ones stay inside; `size` bytes each.
    """

    elements: int
    room: int
    size: int

    @staticmethod
    def of(buffer: Buffer) -> Constant | None:
        """None where the size is not known at compile time."""
        *outer, last = buffer.extents or (Int(1),)
        sizes = [*outer, last if buffer.pitch is None else buffer.pitch]
        known = [size.value for size in sizes if isinstance(size, Int) and size.value > 0]
        each = size_of(buffer.type, buffer.structure)
        if each is None or len(known) < len(sizes):
            return None
        whole = -(-prod(known) * each // WIDEST) * WIDEST
        return Constant(prod(known), -(-whole // each), each)

    @property
    def bytes(self) -> int:
        return self.room * self.size


@dataclass
class _Pass:
    """`taken` bytes of constant memory so far, by region and array; what was `done`, what `refused` and why,
    by decision and array; the decisions that were `found` for kernels.
    """

    device: Device
    asked: Mapping[str, Wanted]
    found: dict[Decision, None] = field(default_factory=dict)
    taken: dict[tuple[str, str], int] = field(default_factory=dict)
    done: set[tuple[Decision, str]] = field(default_factory=set)
    refused: dict[tuple[Decision, str], Diagnostic] = field(default_factory=dict)

    def region(self, region: Region) -> Region:
        return replace(region, kernels=tuple(self.kernel(k, region) for k in region.kernels))

    def kernel(self, kernel: Kernel, region: Region) -> Kernel:
        found = (self.asked[kernel.name].find(space) for space in SPACES)
        self.found.update((decision, None) for decision in found if decision is not None)
        arrays: list[ArrayArgument] = []
        for array in kernel.arrays:
            constants = sum(a.space == "constant" for a in arrays)
            arrays.append(replace(array, space=self.space(array, kernel, region, constants)))
        return replace(kernel, arrays=tuple(arrays))

    def space(self, array: ArrayArgument, kernel: Kernel, region: Region, constants: int) -> ArraySpace:
        """The constant cache goes first where an array is named for both."""
        asked = self.asked[kernel.name]
        names = {array.name, source_arrays(asked.p, asked.nest.statements).get(array.name, "")}
        for space in SPACES:
            decision = asked.find(space)
            named = next((n for n in decision.names if n in names), "") if decision is not None else ""
            if decision is None or not named or not array.read:
                continue
            why = self.refusal(space, array, kernel, region)
            if not why and space == "constant" and constants == _MOST_ARRAYS:
                why = f"a kernel has at most {_MOST_ARRAYS} constant arrays"
            if why:
                message = f"'{decision}': '{named}' stays in global memory in {kernel.name}: {why}"
                self.refused.setdefault((decision, named), _warning(message, region))
                continue
            self.done.add((decision, named))
            if space == "constant":
                self.take(region, array.name)
            return space
        return "global"

    def refusal(self, space: ArraySpace, array: ArrayArgument, kernel: Kernel, region: Region) -> str:
        """Why the kernel cannot read `array` through the cache of `space`; "" where it can."""
        if array.written:
            return "the kernel writes it"
        if array.name in set(_copied_later(kernel.body)):
            return "its tiles are copied asynchronously, which bypasses that cache"
        return self.refusal_of_constant(array.name, region) if space == "constant" else ""

    def refusal_of_constant(self, array: str, region: Region) -> str:
        writer = next((k.name for k in region.kernels for a in k.arrays if a.name == array and a.written), "")
        buffer = next(b for b in region.buffers if b.name == array)
        made = Constant.of(buffer)
        left = self.device.constant_bytes - sum(self.taken.values())
        if writer:
            return f"{writer} writes it"
        if not (buffer.host and buffer.copy_in):
            return "the host has no values of it"
        if made is None:
            return "its size is not known at compile time"
        if (region.name, array) not in self.taken and made.bytes > left:
            return f"it takes {made.bytes} bytes of constant memory, and {left} are left"
        return ""

    def take(self, region: Region, array: str) -> None:
        made = Constant.of(next(b for b in region.buffers if b.name == array))
        assert made is not None, "refused before"
        self.taken[region.name, array] = made.bytes

    def diagnostics(self) -> Iterator[Diagnostic]:
        """What was refused, and what no kernel reads."""
        yield from self.refused.values()
        for decision in self.found:
            for array in decision.names:
                if (decision, array) not in self.done | self.refused.keys():
                    yield _warning(f"'{decision}': no kernel reads an array '{array}'", None)


def _warning(message: str, region: Region | None) -> Diagnostic:
    position = region.position if region is not None else None
    return Diagnostic("PG313", "warning", message, position, "see `polygpu explain PG313`")


def _copied_later(body: Sequence[Statement]) -> Iterator[str]:
    """The arrays that asynchronous copies read."""
    return (s.source.array for s in statements(body) if isinstance(s, Move) and s.asynchronous)
