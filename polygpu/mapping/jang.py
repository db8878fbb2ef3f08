"""What Jang, Choi and Kim (2014) choose for a nest: memory spaces (algorithm 1) and threads (algorithm 2).

No part of the compiler's own choices, which `polygpu inspect` shows beside these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from math import prod
from typing import Literal, TypeAlias

import islpy as isl

from polygpu.analysis.jang_patterns import JangReference
from polygpu.analysis.polyhedra import array_tuple
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.footprint import box
from polygpu.mapping.matrices import Matrix, constant, inner_rows, matrices
from polygpu.mapping.program import Grid
from polygpu.model.device import Device
from polygpu.model.expr import SIZES
from polygpu.perf.occupancy import Occupancy, occupancy
from polygpu.schedule.tree import Member
from polygpu.support.dataclass import dataclass

Space: TypeAlias = Literal["texture", "global", "shared", "constant"]

_OF_READ: tuple[Space, ...] = ("texture", "global", "shared", "constant")
_OF_UPDATED: tuple[Space, ...] = ("global", "shared")
_OF_WRITTEN: tuple[Space, ...] = ("texture", "global", "shared")


def references(m: Grid) -> tuple[JangReference, ...]:
    """The distinct references of a nest, its axes being the inter-thread loops."""
    lengths = {s: tuple(_lengths(m, s)) for s in m.statements}
    return tuple(dict.fromkeys(_reference(f, lengths[f.statement]) for f in matrices(m)))


def _reference(f: Matrix, lengths: tuple[int | None, ...]) -> JangReference:
    reference = f.access.reference
    offset = tuple(constant(origin, f.outer, k) for k, origin in enumerate(f.origin))
    size = SIZES.get(reference.type, 4)
    array = array_tuple(reference)
    return JangReference(array, f.access.text, f.access.write, size, f.axes, f.inner, lengths, offset)


def _lengths(m: Grid, statement: str) -> Iterator[int | None]:
    """The most iterations of each loop around `statement` in a thread; None where sizes decide."""
    domain = m.domain(statement, m.points())
    for number, row in enumerate(inner_rows(m, statement)):
        values = box(domain.apply(isl.Map.from_pw_aff(row)))
        yield values[0].size if values is not None else None
        domain = Fixed(Member({statement: row}), f"polygpu_loop_{number}").restrict(domain, statement)


def spaces(found: Sequence[JangReference], lane: int, device: Device) -> dict[str, Space]:
    """Algorithm 1: the memory space of each array, with parallel loop `lane` on tx.

    Where references of an array are answered differently, the first in the paper's order counts.
    """
    written = {r.array for r in found if r.write}
    read = {r.array for r in found if not r.write}
    result: dict[str, Space] = {}
    for array in dict.fromkeys(r.array for r in found):
        order = _OF_READ if array not in written else _OF_UPDATED if array in read else _OF_WRITTEN
        answers = {
            _space(r, lane, array in written, array in read, device) for r in found if r.array == array
        }
        result[array] = next(s for s in order if s in answers)
    return result


def _space(r: JangReference, lane: int, written: bool, read: bool, device: Device) -> Space:
    if not written and r.same_address and r.walked * r.size <= device.constant_bytes:
        return "constant"
    if r.prefetchable:
        return "shared"
    if r.coalesced(lane) or (written and read):
        return "global"
    return "texture"


@dataclass(frozen=True)
class ThreadMapping:
    """Parallel loop `loops[k]` on tx, ty, tz in turn, in groups of `shape[k]` threads.

    `cost` counts the uncoalesced accesses of a group, `gain` the elements that it stages of each array.
    """

    loops: tuple[int, ...]
    shape: tuple[int, ...]
    cost: int
    gain: tuple[tuple[str, int], ...]
    resident: Occupancy

    @property
    def threads(self) -> int:
        return prod(self.shape)

    @property
    def gained(self) -> int:
        return sum(elements for _, elements in self.gain)

    @property
    def key(self) -> tuple[float, ...]:
        """What the paper ranks by, least first: with gain most gain, least cost, largest group; without
        least cost, highest occupancy, most resident groups.
        """
        if self.gain:
            return -self.gained, self.cost, -self.threads
        return self.cost, -self.resident.share, -self.resident.blocks


def thread_mappings(
    found: Sequence[JangReference], count: int, device: Device, registers: int
) -> tuple[ThreadMapping, ...]:
    """Algorithm 2: every mapping of `count` parallel loops whose groups fit into shared memory.

    Groups have threads along as many loops as the device's have dimensions, and one along each other loop.
    """
    result: list[ThreadMapping] = []
    dimensions = min(count, len(device.max_block))
    for loops in permutations(range(count), dimensions):
        placed = spaces(found, loops[0], device)
        for shape in _shapes(dimensions, device, registers):
            made = _mapping(found, placed, loops, shape, device, registers)
            result += [made] if made.resident.blocks else []
    return tuple(result)


def _shapes(count: int, device: Device, registers: int) -> Iterator[tuple[int, ...]]:
    """From the largest group that leaves two resident by registers downwards: tx in whole requests, and
    two threads at least along each other loop.
    """
    powers = [1 << k for k in reversed(range(device.max_threads_per_block.bit_length()))]
    fitting = (n for n in powers if occupancy(device, n, registers, 0).blocks >= 2)
    largest = next(fitting, 0)
    extents = [[n for n in powers if n <= most] for most in device.max_block[:count]]
    for shape in product(*extents):
        tx, others = shape[0], shape[1:]
        if prod(shape) <= largest and tx % device.request_lanes == 0 and min(others, default=2) >= 2:
            yield shape


def _mapping(
    found: Sequence[JangReference],
    placed: dict[str, Space],
    loops: tuple[int, ...],
    shape: tuple[int, ...],
    device: Device,
    registers: int,
) -> ThreadMapping:
    extents = dict(zip(loops, shape, strict=True))
    cost = sum(_cost(r, loops[0], extents) for r in _distinct(found) if placed[r.array] != "texture")
    staged = [(r, _gain(r, extents)) for r in _walks(found) if placed[r.array] == "shared"]
    gain: dict[str, int] = {}
    for r, elements in staged:
        gain[r.array] = gain.get(r.array, 0) + elements
    shared = sum(elements * r.size for r, elements in staged)
    resident = occupancy(device, prod(shape), registers, shared)
    return ThreadMapping(loops, shape, cost, tuple(gain.items()), resident)


def _distinct(found: Sequence[JangReference]) -> Sequence[JangReference]:
    """What is read and written alike counts once."""
    return list({(r.array, r.text, r.inter, r.intra): r for r in found}.values())


def _walks(found: Sequence[JangReference]) -> Sequence[JangReference]:
    """References that a constant lies between share what is staged."""
    return list({(r.array, r.inter, r.intra): r for r in found if r.prefetchable}.values())


def _cost(r: JangReference, lane: int, extents: dict[int, int]) -> int:
    """Uncoalesced accesses of a group. What goes through the texture cache has none in the paper's tables."""
    if r.coalesced(lane) or lane not in r.indexed_by():
        return 0
    return prod(extents.get(d, 1) for d in r.indexed_by())


def _gain(r: JangReference, extents: dict[int, int]) -> int:
    """Elements of a strip, which is as long as the group's smallest extent."""
    strip = min(extents.values())
    indexing = [extents.get(d, 1) for d in r.indexed_by()]
    return min(strip, *indexing) * strip if indexing else strip


def ranked(found: Sequence[ThreadMapping]) -> list[tuple[int, ThreadMapping]]:
    """The mappings with their ranks, the best first; equal keys share a rank."""
    keys = sorted({m.key for m in found})
    ordered = sorted(found, key=lambda m: (m.key, m.loops[::-1], m.shape[::-1]))
    return [(keys.index(m.key) + 1, m) for m in ordered]
