"""What all executions of one access cost: classes of alike requests, each looked at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import lcm

import numpy as np
import numpy.typing as npt

from polygpu.analysis.banks import access_steps
from polygpu.analysis.coalescing import Address, request_cost
from polygpu.codegen.predict.counters import OF_ACCESSES
from polygpu.codegen.predict.masks import active, distinct_rows, joint
from polygpu.codegen.predict.values import WARP, Bits, Integers, Value
from polygpu.model.device import Device

_SEGMENT = 256  # bytes: the alignment of the widest coalesced request
_WORD = 4

Key = tuple[bytes, int, int, int, bool]  # distances of the lanes, mask, phase, bytes of a word, shared


@dataclass
class Costs:
    """The rules of one device; costs of requests seen before are remembered."""

    device: Device
    known: dict[Key, Integers] = field(default_factory=dict)

    def of_access(
        self, address: Value, size: int, shared: bool, masks: Sequence[Bits], axes: Sequence[Integers], warps: int
    ) -> Integers:
        """The counters `OF_ACCESSES` of each warp when its lanes access `size` bytes at `address`."""
        period = _WORD if shared else self._period()
        kinds = [_kinds(term) for term in address.threads]
        phases = [p[..., None] % period for p in address.points]
        phases += [k.start % period for k in kinds]
        masks, (phases, axes) = list(masks), _folded(phases, [*masks, *(k.number for k in kinds)], axes, period)
        found = joint([*masks, *(k.number for k in kinds), *phases], axes)
        bits = active(found.arrays[: len(masks)])  # type: ignore[arg-type]
        numbers, phases = found.arrays[len(masks) : len(masks) + len(kinds)], found.arrays[len(masks) + len(kinds) :]
        distances, kind = _combined([k.distances for k in kinds], numbers)
        phase = reduce(np.add, phases, np.zeros(1, np.int64)) % period
        shape = np.broadcast_shapes(bits.shape, kind.shape, phase.shape, (*found.shape, warps))
        bits, kind, phase = (np.broadcast_to(a, shape).reshape(-1) for a in (bits, kind, phase))
        weight = np.broadcast_to(found.weight()[..., None], shape).reshape(-1)
        some = np.flatnonzero((bits != 0) & (weight != 0))
        bits, kind, weight, phase = bits[some], kind[some], weight[some], phase[some]
        if not shared:
            phase = self._shortened(phase, distances, kind)
        first, number = _classes(bits, kind, phase)
        counts = np.bincount(number * warps + some % warps, weight, len(first) * warps)
        each = [
            self._cost(distances[kind[k]], int(bits[k]), int(phase[k]), size, shared) for k in first
        ]  # a row a class
        rows = np.asarray(each, np.int64).reshape(-1, len(OF_ACCESSES))
        return counts.astype(np.int64).reshape(-1, warps).T @ rows

    def _period(self) -> int:
        """Addresses that differ by a multiple of it cost the same."""
        return lcm(_SEGMENT, self._stripe() or 1)

    def _stripe(self) -> int:
        return int(self.device.costs.get("row_stripe", 0))

    def _shortened(self, phase: Integers, kinds: Integers, kind: Integers) -> Integers:
        """The phase within a segment, where all lanes lie in one row of the memory."""
        stripe = self._stripe()
        if not stripe:
            return phase
        low, high = phase + kinds.min(1)[kind], phase + kinds.max(1)[kind]
        return np.where(low // stripe == high // stripe, phase % _SEGMENT, phase)

    def _cost(self, distances: Integers, bits: int, phase: int, size: int, shared: bool) -> Integers:
        key = distances.tobytes(), bits, phase, size, shared
        if key not in self.known:
            # Distances may be negative: a multiple of the period keeps the addresses positive.
            start = phase - int(distances.min()) // self._period() * self._period()
            lanes = [start + int(d) if bits >> k & 1 else None for k, d in enumerate(distances)]
            found = dict.fromkeys(OF_ACCESSES, 0)
            for name, count in self._counted(lanes, size, shared):
                found[name] += count
            found["lane_accesses"] = bits.bit_count()
            self.known[key] = np.fromiter(found.values(), np.int64)
        return self.known[key]

    def _counted(self, lanes: list[Address], size: int, shared: bool) -> Iterator[tuple[str, int]]:
        width = self.device.request_lanes
        for start in range(0, WARP, width):
            request = lanes[start : start + width]
            if all(a is None for a in request):
                continue
            if shared:
                steps = access_steps(request, size, self.device.banks, self.device.single_broadcast)
                yield "shared_requests", steps.requests
                yield "conflict_steps", steps.steps - steps.requests
                continue
            cost = request_cost(request, size, self.device.rule, self._stripe())
            yield "requests", 1
            yield "coalesced", int(cost.coalesced)
            yield from ((f"transactions_{length}", count) for length, count in cost.transactions)
            yield "lanes", cost.passes
            yield "wide_bytes", cost.wide_bytes
            yield "near", cost.near
            yield "far", cost.far
            yield "bytes", cost.bytes


@dataclass(frozen=True)
class _Kinds:
    """Of an array over points and threads: the distinct rows of the lanes' `distances` from lane 0, the
    `number` of the row of each point and warp, and where lane 0 is.
    """

    distances: Integers
    number: Integers
    start: Integers


def _kinds(threads: Integers) -> _Kinds:
    wide = np.broadcast_to(threads, (*threads.shape[:-1], WARP))
    start = wide[..., 0]
    distances = (wide - start[..., None]).reshape(-1, WARP)
    first, number = distinct_rows(distances)
    return _Kinds(distances[first], number.reshape(start.shape), start)


def _combined(
    tables: Sequence[Integers], numbers: Sequence[npt.NDArray[np.generic]]
) -> tuple[Integers, Integers]:
    """The table of the sums of rows that occur together, and the number of the row at each place."""
    table, number = np.zeros((1, WARP), np.int64), np.zeros(1, np.int64)
    for other, place in zip(tables, numbers, strict=True):
        pairs, number = np.unique(number * len(other) + place, return_inverse=True)
        shape = np.broadcast_shapes(number.shape, place.shape) if number.ndim > 1 else place.shape
        number = number.reshape(shape)
        table = table[pairs // len(other)] + other[pairs % len(other)]
    return table, number


def _folded(
    phases: Sequence[Integers], others: Sequence[npt.NDArray[np.generic]], axes: Sequence[Integers], period: int
) -> tuple[list[Integers], list[Integers]]:
    """Phases that only an axis of their own moves, as one: how often each of their sums occurs."""
    rank = len(axes)
    kept: list[Integers] = []
    alone: dict[int, Integers] = {}
    everything = [*phases, *others]
    for phase in phases:
        moving = _moving(phase, rank)
        axis = next(iter(moving), rank)
        users = sum(axis in _moving(other, rank) for other in everything)
        if moving == {axis} and axis < rank and users == 1:
            alone[axis] = phase.reshape(-1)
        else:
            kept.append(phase)
    if len(alone) < 2:
        return list(phases), list(axes)
    left = list(axes)
    sums, weights = np.zeros(1, np.int64), np.ones(1, np.int64)
    for axis, terms in alone.items():
        residues, number = np.unique(terms, return_inverse=True)
        each = np.bincount(number, left[axis]).astype(np.int64)
        found, number = np.unique((sums[:, None] + residues) % period, return_inverse=True)
        weights = np.bincount(number.reshape(-1), np.outer(weights, each).reshape(-1)).astype(np.int64)
        sums, left[axis] = found, np.ones(1, np.int64)
    last = next(iter(alone))
    left[last] = weights
    return [*kept, sums.reshape(-1, *[1] * (rank - last))], left


def _moving(array: npt.NDArray[np.generic], rank: int) -> set[int]:
    """The dimensions of (axes..., warps) along which an array is longer than 1, the warps' being `rank`."""
    shift = rank + 1 - array.ndim
    return {shift + k for k, length in enumerate(array.shape) if length > 1}


def _classes(*columns: Integers) -> tuple[Integers, Integers]:
    """The first row of each kind, and every row's kind."""
    combined = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, number = np.unique(column, return_inverse=True)
        combined = combined * len(values) + number
    _, first, number = np.unique(combined, return_index=True, return_inverse=True)
    return first, number
