"""What all executions of one access cost: classes of alike requests, each looked at once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial, reduce
from math import lcm, prod

import numpy as np
import numpy.typing as npt

from polygpu.model.device import WARP, Device
from polygpu.perf.banks import Banks, access_steps
from polygpu.perf.cached_reads import CachedReads
from polygpu.perf.coalescing import Address, Coalescing, Memory
from polygpu.perf.elements import Space
from polygpu.perf.predict import requests
from polygpu.perf.predict.counters import OF_ACCESSES
from polygpu.perf.predict.digits import Digits, combined, digits_of
from polygpu.perf.predict.masks import Compared, Kinds, distinct_rows, joint, kinds_of
from polygpu.perf.predict.values import (
    ALL,
    SORTED,
    Bits,
    Integers,
    Value,
    distinct,
    fitting,
    remembered,
    spend,
)
from polygpu.support.dataclass import dataclass
from polygpu.support.recent import Recent, Same

_DENSE = 1 << 22  # codes that a histogram may have
# Elements looked at in the time of one of each; requests of global memory are looked at together.
_ACCESS, _REQUEST, _CODE = 1 << 14, 1 << 12, 1 << 7
_LARGE = 1 << 14  # elements of an array that are not compared
_RECENT = 32  # accesses
_NOTHING = np.zeros(len(OF_ACCESSES), np.int64)
_WIDE, _REQUESTS, _NEAR, _FAR = map(OF_ACCESSES.index, ("wide_bytes", "requests", "near", "far"))

Key = tuple[bytes, int, int, int, Space]  # distances of the lanes, mask, phase, bytes of a word, space


@dataclass
class Costs:
    """The rules of one device; costs of requests seen before are remembered, and the requests that `recent`
    accesses make: those to neighbours differ in where they start alone.

    `moved` sums up the bytes of each launch from each partition of the memory, `lines` are those that have
    been asked of the texture cache, if these are noted.
    """

    device: Device
    known: dict[Key, Integers] = field(default_factory=dict)
    recent: Recent[tuple[_Requests, int]] = field(default_factory=lambda: Recent(_RECENT))
    moved: Integers | None = None
    lines: set[int] | None = None

    def __post_init__(self) -> None:
        self.coalescing, self.banks = Coalescing.of(self.device), Banks.of(self.device)
        self.constant, self.texture = (CachedReads.of(self.device, s) for s in ("constant", "texture"))
        self.memory = Memory.of(self.device)

    def of_access(
        self,
        address: Value,
        size: int,
        space: Space,
        masks: Sequence[Compared],
        axes: Sequence[Integers],
        warps: int,
    ) -> Integers:
        """The counters `OF_ACCESSES` of each warp when its lanes access `size` bytes at `address`."""
        spend(_ACCESS)
        if self.lines is not None and space == "texture":
            self._note(self.lines, address, masks)
        period = self._period(space)
        fixed = sum(int(p.flat[0]) for p in address.points if p.size == 1)
        moving = Value(tuple(p for p in address.points if p.size > 1), address.threads)
        content = _content(moving.points), _content(moving.threads)
        launches = 1 if self.moved is None else len(self.moved)
        key = period, warps, launches, *content, *map(Same, masks), *map(Same, axes)
        found = remembered(self.recent, key, lambda: _requests(moving, masks, axes, warps, period, launches))
        spend(_CODE * len(found.phase))
        phase = (found.phase + fixed) % period
        kinds, number = self._alike(found, phase, space)
        each = self._each(found, kinds, phase, size, space)
        if space == "global" and self.moved is not None:
            self.moved += self._moved(found, phase, each[number])
        total: Integers = _sums(number, found.counts, len(kinds)).T @ each
        return total

    def _period(self, space: Space) -> int:
        """Addresses that differ by a multiple of it cost the same."""
        match space:
            case "shared":
                return self.banks.word
            case "constant" | "texture":
                return self._cache(space).granule
        interleaved = int(self.device.costs["partitions"] * self.device.costs["interleave"])
        return lcm(self.coalescing.period, self.memory.row or 1, interleaved or 1)

    def _alike(self, found: _Requests, phase: Integers, space: Space) -> Kinds:
        """Those of requests that cost the same: of global memory where lanes are as far apart, the first one
        lies at the same place of a period of the rule, and the same lanes are in other rows of the memory.

        A lane enters the next row as soon as the first one is as far in its own as the lane lacks of one.
        """
        if space != "global":
            each = np.arange(len(phase))
            return each, each
        spend(WARP * len(phase))
        code, period, row = found.pattern, self.coalescing.period, self.memory.row
        if row:
            lacking = np.sort(-found.distances % row, axis=1) + row * np.arange(len(found.distances))[:, None]
            entered = np.searchsorted(lacking.reshape(-1), row * code + phase % row, "right")
            code = code * WARP + entered % WARP
        return kinds_of(code * period + phase % period)

    def _moved(self, found: _Requests, phase: Integers, costs: Integers) -> Integers:
        """What warps of each launch move from each partition: from that of a request's first lane what
        streams of it, and from that of each lane its share of the fetches.
        """
        bytes_each = costs[:, _WIDE] // np.maximum(1, costs[:, _REQUESTS])
        active = found.lanes.astype(np.int64)[found.pattern, None] >> np.arange(WARP) & 1
        fetched = self.device.smallest_transaction * (costs[:, _NEAR] + costs[:, _FAR])
        shares = active * (fetched // np.maximum(1, active.sum(1)))[:, None]
        width = self.device.request_lanes
        rows = np.arange(len(phase))
        for start in range(0, WARP, width):
            first = start + active[:, start : start + width].argmax(1)
            shares[rows, first] += bytes_each * active[rows, first]
        assert self.moved is not None, "it is noted"
        launches, partitions = self.moved.shape
        addresses = phase[:, None] + found.distances[found.pattern]
        place = addresses // int(self.device.costs["interleave"]) % partitions
        place += partitions * found.launch[:, None]
        times = found.counts.sum(1)[:, None]
        # in floating point, which is exact: a wave of blocks moves less than 2**53 bytes
        moved = np.bincount(place.reshape(-1), (times * shares).reshape(-1), launches * partitions)
        return moved.astype(np.int64).reshape(launches, partitions)

    def _note(self, lines: set[int], address: Value, masks: Sequence[Compared]) -> None:
        found = address.whole() // self.texture.granule
        shape = fitting(found.shape, *((*mask.array.shape, WARP) for mask in masks))
        bits = reduce(np.bitwise_and, (mask.array for mask in masks), np.asarray([ALL]))[..., None]
        taken = np.broadcast_to(bits >> np.arange(WARP, dtype=np.uint32) & 1, shape) != 0
        lines.update(distinct(np.broadcast_to(found, shape)[taken]).tolist())

    def _cache(self, space: Space) -> CachedReads:
        return self.constant if space == "constant" else self.texture

    def _each(self, found: _Requests, kinds: Integers, phase: Integers, size: int, space: Space) -> Integers:
        """The counters of some of the requests."""
        patterns, phase = found.pattern[kinds], phase[kinds]
        if space == "global":
            active = (found.lanes[patterns, None] >> np.arange(WARP, dtype=found.lanes.dtype) & 1) != 0
            addresses = phase[:, None] + found.distances[patterns]
            return requests.costs(addresses, active, size, self.coalescing, self.memory)
        costs = [
            self._cost(found.distances[k], int(found.lanes[k]), int(at), size, space)
            for k, at in zip(patterns, phase, strict=True)
        ]
        return np.asarray(costs, np.int64).reshape(-1, len(OF_ACCESSES))

    def _cost(self, distances: Integers, bits: int, phase: int, size: int, space: Space) -> Integers:
        if not bits:
            return _NOTHING
        key = distances.tobytes(), bits, phase, size, space
        if key not in self.known:
            spend(_REQUEST)
            # Distances may be negative: a multiple of the period keeps the addresses positive.
            period = self._period(space)
            start = phase - int(distances.min()) // period * period
            lanes = [start + int(d) if bits >> k & 1 else None for k, d in enumerate(distances)]
            found = dict.fromkeys(OF_ACCESSES, 0)
            for name, count in self._counted(lanes, size, space):
                found[name] += count
            found["lane_accesses"] = bits.bit_count()
            self.known[key] = np.fromiter(found.values(), np.int64)
        return self.known[key]

    def _counted(self, lanes: list[Address], size: int, space: Space) -> Iterator[tuple[str, int]]:
        width = self.device.request_lanes
        for start in range(0, WARP, width):
            request = lanes[start : start + width]
            if all(a is None for a in request):
                continue
            if space in ("constant", "texture"):
                yield from self._parts(request, space)
                continue
            steps = access_steps(request, size, self.banks)
            yield "shared_requests", steps.requests
            yield "conflict_steps", steps.steps - steps.requests

    def _parts(self, request: list[Address], space: Space) -> Iterator[tuple[str, int]]:
        parts = self._cache(space).parts(request)
        yield f"{space}_requests", 1
        yield from (("constant_steps", parts - 1),) if space == "constant" else (("texture_lines", parts),)


@dataclass(frozen=True)
class _Requests:
    """Each kind of a warp's access: its `pattern`, the number of active `lanes` and their `distances` from
    lane 0, the `phase` of its address in the period of the costs, how often each warp makes it, and in
    which `launch`, where these are told apart.
    """

    lanes: Bits
    distances: Integers
    pattern: Integers
    phase: Integers
    counts: Integers
    launch: Integers

    def shifted(self, by: Integers, times: Integers, period: int) -> _Requests:
        """Each of them at all places `by` which it is moved, so many times."""
        if len(by) == 1:
            return replace(self, phase=(self.phase + by) % period, counts=self.counts * times)
        phase = (self.phase[:, None] + by) % period
        counts = self.counts[:, None] * times[:, None]
        spend(SORTED * phase.size + counts.size)
        kind = self.pattern * (int(self.launch.max(initial=0)) + 1) + self.launch
        first, number = kinds_of((kind[:, None] * period + phase).reshape(-1))
        where = first // len(by)
        return replace(
            self,
            pattern=self.pattern[where],
            phase=phase.reshape(-1)[first],
            counts=_sums(number, counts.reshape(-1, counts.shape[-1]), len(first)),
            launch=self.launch[where],
        )


def _requests(
    address: Value,
    masks: Sequence[Compared],
    axes: Sequence[Integers],
    warps: int,
    period: int,
    launches: int,
) -> _Requests:
    kinds = [remembered(_KINDS, _content((term,)), partial(_kinds, term)) for term in address.threads]
    launch = np.arange(launches)[:, None]
    numbers = [Compared(launch), *masks, *(k.number for k in kinds)]
    phases = [p[..., None] % period for p in address.points] + [k.start % period for k in kinds]
    phases, axes, by, times = _folded(phases, [n.array for n in numbers], axes, period)
    found = joint([*numbers, *map(Compared, phases)], axes)
    end = len(masks) + 1
    bits = combined([digits_of(a) for a in found.arrays[1:end]], np.bitwise_and, Digits.constant(ALL))
    rows = [digits_of(a, k.distances) for a, k in zip(found.arrays[end:], kinds, strict=False)]
    apart = combined(rows, np.add, Digits.constant(np.zeros(WARP, np.int64)))
    starts = [digits_of(a) for a in found.arrays[len(numbers) :]]
    at = combined(starts, lambda x, y: (x + y) % period, Digits.constant(np.int64(0)))
    fitting(bits.number.shape, apart.number.shape, at.number.shape)
    code = (bits.number * apart.radix + apart.number) * at.radix + at.number
    code = code * launches + found.arrays[0] if launches > 1 else code
    codes, counts = _histogram(code, found.weight(), warps)
    launch, codes = codes % launches, codes // launches
    patterns = distinct(codes // at.radix)
    made = _Requests(
        bits.values[patterns // apart.radix],
        apart.values[patterns % apart.radix],
        np.searchsorted(patterns, codes // at.radix),
        at.values[codes % at.radix],
        counts,
        launch,
    )
    return made.shifted(by, times, period)


def _content(terms: Sequence[Integers]) -> tuple[Hashable, ...]:
    """A key of what the arrays hold; of large ones, of themselves."""
    return tuple(Same(t) if t.size > _LARGE else (t.shape, t.tobytes()) for t in terms)


@dataclass(frozen=True)
class _Kinds:
    """Of an array over points and threads: the distinct rows of the lanes' `distances` from lane 0, the
    `number` of the row of each point and warp, and where lane 0 is.
    """

    distances: Integers
    number: Compared
    start: Integers


_KINDS: Recent[tuple[_Kinds, int]] = Recent(64)


def _kinds(threads: Integers) -> _Kinds:
    wide = np.broadcast_to(threads, (*threads.shape[:-1], WARP))
    start = wide[..., 0]
    distances = (wide - start[..., None]).reshape(-1, WARP)
    first, number = distinct_rows(distances)
    return _Kinds(distances[first], Compared(number.reshape(start.shape)), start)


def _histogram(code: Integers, weight: Integers, warps: int) -> tuple[Integers, Integers]:
    """The codes that occur, and how often each does in each warp; (axes..., warps or 1) and (axes...)."""
    shape = fitting(code.shape, (*weight.shape, warps))
    values, length = None, (int(code.max()) + 1) * warps if code.size else 0
    if length > max(_DENSE, 4 * prod(shape)):  # there are fewer codes than numbers below the largest one
        spend(SORTED * code.size)
        values = distinct(code)
        code, length = np.searchsorted(values, code), len(values) * warps
    spend(length)
    places = np.broadcast_to(code * warps + np.arange(warps), shape).reshape(-1)
    weights = np.broadcast_to(weight[..., None], shape).reshape(-1)
    found = np.bincount(places, weights, length).astype(np.int64).reshape(-1, warps)
    some = np.flatnonzero(found.any(1))
    return some if values is None else values[some], found[some]


def _sums(number: Integers, counts: Integers, length: int) -> Integers:
    """The rows of `counts` with the same number added up; exact, as they are far below 2**53."""
    warps = counts.shape[1]
    places = (number[:, None] * warps + np.arange(warps)).reshape(-1)
    return np.bincount(places, counts.reshape(-1), length * warps).astype(np.int64).reshape(length, warps)


def _folded(
    phases: Sequence[Integers],
    others: Sequence[npt.NDArray[np.generic]],
    axes: Sequence[Integers],
    period: int,
) -> tuple[list[Integers], list[Integers], Integers, Integers]:
    """Phases without those that only an axis of their own moves, of which nothing else depends; axes without
    these; and the sums of what was left out, with how often each occurs.
    """
    rank = len(axes)
    kept: list[Integers] = []
    left = list(axes)
    sums, times = np.zeros(1, np.int64), np.ones(1, np.int64)
    moving = [_moving(array, rank) for array in (*phases, *others)]
    for phase, its in zip(phases, moving, strict=False):
        axis = next(iter(its), rank)
        if len(its) > 1 or axis == rank or sum(axis in one for one in moving) > 1:
            kept.append(phase)
            continue
        first, number = kinds_of(phase.reshape(-1))
        each = np.bincount(number, left[axis]).astype(np.int64)
        spend(SORTED * len(sums) * len(first))
        found = ((sums[:, None] + phase.reshape(-1)[first]) % period).reshape(-1)
        first, number = kinds_of(found)
        times = np.bincount(number, np.outer(times, each).reshape(-1)).astype(np.int64)
        sums, left[axis] = found[first], np.ones(1, np.int64)
    return kept, left, sums, times


def _moving(array: npt.NDArray[np.generic], rank: int) -> set[int]:
    """The dimensions of (axes..., warps) along which an array is longer than 1, the warps' being `rank`."""
    shift = rank + 1 - array.ndim
    return {shift + k for k, length in enumerate(array.shape) if length > 1}
