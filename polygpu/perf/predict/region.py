"""What the emulator would count for calls of a region at given sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import reduce
from math import prod
from typing import Any, TypeAlias

import numpy as np

from polygpu.model.device import Device
from polygpu.model.kernel import Buffer, For, Kernel, Region, Site, While
from polygpu.model.kernel_walk import statements
from polygpu.model.offsets import last_row
from polygpu.model.structures import size_of
from polygpu.perf.charges import lockstep
from polygpu.perf.lanes import uniform
from polygpu.perf.launches import Calls, Sizes, evaluated, fewest, host_values
from polygpu.perf.lockstep import Lockstep
from polygpu.perf.predict.costs import Costs
from polygpu.perf.predict.counters import Counts
from polygpu.perf.predict.masks import Compared
from polygpu.perf.predict.places import Places
from polygpu.perf.predict.points import Context
from polygpu.perf.predict.values import (
    ALL,
    LARGEST,
    Integers,
    TooLargeError,
    TooMuchError,
    Value,
    Work,
    constant,
    half_of,
    remembered,
)
from polygpu.perf.predict.walk import Requesting, Walk
from polygpu.perf.resources import wave
from polygpu.support.dataclass import dataclass
from polygpu.support.recent import Recent, Same, parts

Grid: TypeAlias = tuple[int, int, int]

_SEVERAL = ((1 << 10, 64), (1 << 10, 16), (1 << 10, 4))
_EFFORTS = ((1 << 20, None), (1 << 10, None), *_SEVERAL, (1 << 10, 1), (1, 1))
"""Blocks of several launches, and iterations of a loop (None: all), that are looked at together: tried in
this order until the arrays fit into memory, and there is not too much to look at."""
ANY = Work(None)
_FEW = 16  # launches whose first waves are all looked at


@dataclass(frozen=True)
class Predicted:
    """`record` has the form of a region in a profile; `inexact` names the kernels that data decide on,
    `sampled` those with so many iterations that a part of them stands for all, `turning` those with loops
    that data end, of which one iteration is counted. `arrays` has the bytes of each kernel's arrays, the most
    of a call, where they are known. So many elements were `looked_at`, and `most` iterations of each of the
    kernels' loops, None: all.
    """

    record: dict[str, Any]
    inexact: tuple[str, ...]
    sampled: tuple[str, ...] = ()
    turning: tuple[str, ...] = ()
    arrays: dict[str, dict[str, int]] = field(default_factory=dict)
    looked_at: int = 0
    most: int | None = None

    @property
    def kernels(self) -> list[dict[str, Any]]:
        """Those of the record, with what only a prediction knows of them: "arrays"."""
        return [k | {"arrays": self.arrays[k["name"]]} for k in self.record["kernels"]]


@dataclass(frozen=True)
class _Launched:
    """Launches of a kernel with the same arguments and grid."""

    arguments: tuple[int | None, ...]
    grid: Grid
    times: int


@dataclass
class _Launches:
    """All launches of a kernel in a call of its region: `times` of each, the first `waves` that are looked at
    by themselves, the `last` grid. `starts` has where arrays start, `bytes` how many they have, 0: unknown.
    """

    starts: Mapping[str, int | None]
    bytes: Mapping[str, int]
    times: Counter[tuple[tuple[int | None, ...], Grid]] = field(default_factory=Counter)
    waves: list[_Launched] = field(default_factory=list)
    number: int = 0
    last: Grid = (0, 0, 0)

    def add(self, arguments: tuple[int | None, ...], grid: Grid, times: int) -> None:
        self.times[arguments, grid] += times
        self.last = grid
        self.number += 1
        if self.number <= _FEW or self.number.bit_count() == 1:
            self.waves.append(_Launched(arguments, grid, 1))

    @property
    def key(self) -> Hashable:
        """What all that is counted of them depends on."""
        waves = tuple((w.arguments, w.grid) for w in self.waves)
        arrays = *self.starts.items(), *self.bytes.items()
        return tuple(self.times.items()), waves, self.last, arrays

    @property
    def runs(self) -> list[_Launched]:
        return [_Launched(*key, times) for key, times in self.times.items()]


@dataclass
class _Counted:
    """What a kernel counts, the sum over calls; the bytes of its `arrays`, the most of a call where they are
    known; whether that is exact, and whether loops were sampled; what is known of its requests' `costs`.
    """

    counts: Counts
    launches: int = 0
    blocks: int = 0
    grid: Grid = (0, 0, 0)
    partitions: Counter[str] = field(default_factory=lambda: Counter(bytes=0, fullest=0))
    textures: Counter[str] = field(default_factory=lambda: Counter(bytes=0, lines=0, distinct=0))
    arrays: dict[str, int] = field(default_factory=dict)
    exact: bool = True
    sampled: bool = False
    most: int | None = None
    costs: Costs | None = None

    def add(self, other: _Counted, times: int) -> None:
        self.counts.add_all(other.counts, times)
        self.launches += times * other.launches
        self.blocks += times * other.blocks
        self.grid = other.grid if other.launches else self.grid
        self.arrays = {name: max(size, self.arrays.get(name, 0)) for name, size in other.arrays.items()}
        for mine, its in ((self.partitions, other.partitions), (self.textures, other.textures)):
            mine.update({name: times * count for name, count in its.items()})
        self.exact = self.exact and other.exact
        self.sampled = self.sampled or other.sampled
        self.most = fewest(self.most, other.most)

    def record(self, sites: Sequence[Site]) -> dict[str, Any]:
        """The kernel in a profile."""
        kernel = self.counts.tree.kernel
        return {
            "name": kernel.name,
            "launches": self.launches,
            "grid": list(self.grid),
            "block": list(kernel.block),
            "blocks_total": self.blocks,
            "blocks_run": self.blocks,
            **self.counts.record(sites),
            "partitions": dict(self.partitions),
            "textures": dict(self.textures),
        }


# Of kernels, and the elements that were looked at for each:
_RECENT: Recent[tuple[_Counted, int]] = Recent(256)
_MOVED: Recent[tuple[dict[str, int], int]] = Recent(256)


def predict(
    region: Region, device: Device, sizes: Sizes, most: int | None = None, work: Work = ANY
) -> Predicted:
    """One call of `region`; as `predict_calls` has it."""
    return predict_calls(region, device, [Calls(1, sizes)], most, work)


def predict_calls(
    region: Region, device: Device, calls: Sequence[Calls], most: int | None = None, work: Work = ANY
) -> Predicted:
    """All `calls` of `region`; integer scalars that their sizes do not name are as `host_values` has them.

    With `most`, so many iterations of each host loop stand for all. A kernel that takes more
    than half of the `work` left has iterations of its loops left out. Raises MemoryError where even few
    of them are too much.
    """
    charged = (lockstep(k, device.doubles, device.shared_operands) for k in region.kernels)
    found = {tree.kernel.name: _Counted(Counts(tree)) for tree in charged}
    moved, before = {"bytes_in": 0, "bytes_out": 0}, work.spent
    for call in calls:
        values = host_values(region, call.sizes)
        for name, launched in _launches(region, values, device.allocation_alignment, most).items():
            found[name].add(_kernel(found[name].counts.tree, device, launched, work), call.times)
        for b in region.buffers:
            moved["bytes_in"] += call.times * _bytes(b, values) * (b.host and b.copy_in)
            moved["bytes_out"] += call.times * _bytes(b, values) * (b.host and b.copy_out)
    record = {
        "name": region.name,
        "calls": sum(call.times for call in calls),
        **moved,
        "kernels": [counted.record(region.sites) for counted in found.values()],
    }
    return Predicted(
        record,
        tuple(name for name, counted in found.items() if not counted.exact),
        tuple(name for name, counted in found.items() if counted.sampled),
        tuple(k.name for k in region.kernels if any(isinstance(s, While) for s in statements(k.body))),
        {name: counted.arrays for name, counted in found.items()},
        work.spent - before,
        reduce(fewest, (counted.most for counted in found.values()), None),
    )


def _launches(region: Region, values: Sizes, alignment: int, most: int | None) -> dict[str, _Launches]:
    """The launches of each kernel."""
    starts = _starts(region, values, alignment)
    held = {b.name: (_elements(b, values) or 0) * (size_of(b.type, b.structure) or 0) for b in region.buffers}
    found = {k.name: _Launches(starts, held) for k in region.kernels}
    for launch, times in evaluated(region.body, values, most):
        if min(launch.grid) > 0:
            found[launch.kernel].add(launch.arguments, launch.grid, times)
    return found


def _kernel(tree: Lockstep, device: Device, launched: _Launches, work: Work) -> _Counted:
    """With all iterations of its loops, or as many as fit into memory and `work`. Raises MemoryError."""
    efforts = [effort for effort in _EFFORTS if fewest(work.most, effort[1]) == effort[1]]
    while efforts:
        blocks, most = efforts.pop(0)
        try:
            return _within(work, tree, device, launched, blocks, most)
        except TooMuchError as problem:
            if not _has_loops(tree.kernel):
                break
            if most is None:
                found = _as_many_as_fit(tree, device, launched, work, problem.longest)
                if found is not None:
                    return found
                efforts = [effort for effort in efforts if effort[1] == 1]
        except TooLargeError:
            pass
    raise MemoryError(
        f"kernel {tree.kernel.name} has too many blocks, or iterations, to predict what it counts"
    )


def _has_loops(kernel: Kernel) -> bool:
    """Whether there are iterations of which fewer could be looked at."""
    return any(isinstance(s, For) for s in statements(kernel.body))


def _as_many_as_fit(
    tree: Lockstep, device: Device, launched: _Launches, work: Work, longest: int
) -> _Counted | None:
    """With several iterations of its loops, from the fewest on; None where these are too much, as they are
    where no loop has more: the `longest` one. Four times as many take half as long again, at least.
    """
    fitting: list[tuple[int, int, int]] = []
    for blocks, most in reversed(_SEVERAL):
        if longest <= most:
            break
        attempt = replace(work, spent=0, partitions=False)
        try:
            _within(attempt, tree, device, launched, blocks, most)
            fitting.append((blocks, most, attempt.spent))
        except TooLargeError:
            break
        finally:
            work.spent += attempt.spent
        if work.left is not None and 3 * attempt.spent > max(2 * work.least, work.left):
            break
    for blocks, most, spent in reversed(fitting):
        attempt = replace(work, spent=-spent)  # which is counted above
        try:
            return _within(attempt, tree, device, launched, blocks, most)
        except TooLargeError:
            continue
        finally:
            work.spent += attempt.spent
            work.left = attempt.left
    return None


def _within(
    work: Work, tree: Lockstep, device: Device, launched: _Launches, blocks: int, most: int | None
) -> _Counted:
    """What the kernel counts, with half of `work` at most."""
    same = parts(tree, "kernel"), parts(tree.kernel, "name")
    key = same, Same(device), launched.key, blocks, most
    with half_of(work):
        found = remembered(_RECENT, key, lambda: _counted(tree, device, launched, blocks, most))
        if not (work.partitions and found.exact and launched.waves and device.costs["partitions"]):
            return found
        moved = remembered(_MOVED, key, lambda: _partitions(tree, launched, found))
        return replace(found, partitions=Counter(moved))


def _counted(tree: Lockstep, device: Device, launched: _Launches, blocks: int, most: int | None) -> _Counted:
    runs, arrays = launched.runs, tree.kernel.arrays
    walk = Walk(tree, Places(tree.kernel, launched.starts), Costs(device), most)
    try:
        for chunk in _chunks(runs, blocks) if runs else [[]]:
            _run(walk, chunk)
    except TooMuchError as problem:
        problem.longest = walk.longest
        raise
    made = sum(r.times for r in runs)
    number = sum(r.times * prod(r.grid) for r in runs)
    found = _Counted(walk.counts, made, number, launched.last, exact=walk.exact, sampled=walk.sampled)
    found.most, found.costs = most, walk.costs
    found.arrays = {a.name: launched.bytes[a.name] for a in arrays if launched.bytes[a.name]}
    found.textures["bytes"] = made * sum(launched.bytes[a.name] for a in arrays if a.space == "texture")
    if walk.exact and launched.waves:
        for early, times in Counter(launched.waves).items():
            found.textures.update({name: times * n for name, n in _textures(walk, early).items()})
    return found


def _run(walk: Walk, runs: list[_Launched], first: Grid = (0, 0, 0)) -> None:
    walk.run(_context(runs, walk.counts.warps), _arguments(walk.tree.kernel, runs), first)


def _textures(walk: Walk, launched: _Launched) -> dict[str, int]:
    """The lines that the block in the middle of a grid asks of the texture cache."""
    if all(a.space != "texture" for a in walk.tree.kernel.arrays):
        return {}
    walk.costs.lines, walk.counts = set(), Counts(walk.tree)
    x, y, z = launched.grid
    _run(walk, [_Launched(launched.arguments, (1, 1, 1), 1)], (x // 2, y // 2, z // 2))
    distinct, walk.costs.lines = len(walk.costs.lines), None
    return {"lines": walk.counts.total("texture_lines"), "distinct": distinct}


def _partitions(tree: Lockstep, launched: _Launches, found: _Counted) -> dict[str, int]:
    """What the first waves of launches' blocks move from the partitions of the memory."""
    assert found.costs is not None, "it is what was counted of one kernel"
    walk = Walk(tree, Places(tree.kernel, launched.starts), found.costs, found.most)
    waves, blocks = Counter(launched.waves), wave(tree.kernel, walk.costs.device)
    runs = [_Launched(w.arguments, _first_wave(w.grid, blocks), 1) for w in waves]
    moved, times = _moved(walk, runs), np.fromiter(waves.values(), np.int64)
    return {"bytes": int(times @ moved.sum(1)), "fullest": int(times @ moved.max(1)) * moved.shape[1]}


def _moved(walk: Walk, runs: list[_Launched]) -> Integers:
    """The bytes of each run from each partition: all at once where that is neither sampled nor too large."""
    if walk.most is not None and len(runs) > 1:
        return np.concatenate([_moved(walk, [r]) for r in runs])
    moved = np.zeros((len(runs), int(walk.costs.device.costs["partitions"])), np.int64)
    walk.costs.moved = moved
    try:
        _run(Requesting(walk.tree, walk.places, walk.costs, walk.most), runs)
    except TooLargeError as problem:
        if isinstance(problem, TooMuchError) or len(runs) == 1:
            raise
        return np.concatenate([_moved(walk, [r]) for r in runs])
    finally:
        walk.costs.moved = None
    return moved


def _first_wave(grid: Grid, blocks: int) -> Grid:
    """The first `blocks` blocks, or as many of their rows as are whole."""
    box = []
    for extent in grid:
        box.append(min(extent, blocks))
        blocks //= box[-1]
    x, y, z = box
    return x, y, z


def _chunks(runs: list[_Launched], most: int) -> Iterator[list[_Launched]]:
    """Runs whose grids together have `most` blocks, if there is more than one."""
    chunk: list[_Launched] = []
    blocks = 0
    for r in sorted(runs, key=lambda r: -prod(r.grid)):
        blocks += prod(chunk[0].grid if chunk else r.grid)
        if chunk and blocks > most:
            yield chunk
            chunk, blocks = [], prod(r.grid)
        chunk.append(r)
    yield chunk


def _context(runs: list[_Launched], warps: int) -> Context:
    """Axes block z, y, x and launch; where grids differ, masks leave the blocks of each."""
    times = np.asarray([r.times for r in runs] or [0], np.int64)
    grids = np.asarray([r.grid for r in runs] or [(1, 1, 1)], np.int64)
    if grids.max() > LARGEST:
        raise TooLargeError
    masks: list[Compared] = []
    axes = [times]
    for d in range(3):
        longest = int(grids[:, d].max())
        axes.insert(0, np.ones(longest, np.int64))
        if (grids[:, d] != longest).any():
            number = np.arange(longest).reshape(-1, *[1] * d, 1)
            masks.append(Compared(np.where(number < grids[:, d], ALL, np.uint32(0))[..., None]))
    return Context(warps, tuple(masks), tuple(axes))


def _arguments(kernel: Kernel, runs: list[_Launched]) -> dict[str, Value | None]:
    """A number for each launch, or one where they agree."""
    found: dict[str, Value | None] = {}
    for place, scalar in enumerate(kernel.scalars):
        known = [r.arguments[place] for r in runs]
        numbers = [n for n in known if n is not None]
        if len(numbers) < len(known) or scalar.type in ("float", "double"):
            found[scalar.name] = None
        elif len(set(numbers)) <= 1:
            found[scalar.name] = constant(numbers[0] if numbers else 0)
        else:
            found[scalar.name] = Value((np.asarray(numbers, np.int64),))
    return found


def _starts(region: Region, values: Sizes, alignment: int) -> dict[str, int | None]:
    """The address of each array: one behind the other, as the emulator allocates them."""
    found: dict[str, int | None] = {}
    end: int | None = alignment
    for b in region.buffers:
        found[b.name] = end
        size, elements = size_of(b.type, b.structure), _elements(b, values)
        if end is None or size is None or elements is None:
            end = None
        else:
            end = (end + elements * size + 2 * alignment - 1) // alignment * alignment
    return found


def _extents(b: Buffer, values: Sizes) -> list[int | None]:
    found = [uniform(e, values) for e in b.extents]
    return [None if n is None else max(0, n) for n in found]


def _elements(b: Buffer, values: Sizes) -> int | None:
    extents = _extents(b, values)
    if len(extents) > 1 and b.pitch is not None:
        extents[-1] = uniform(b.pitch, values)
    known = [e for e in extents if e is not None]
    return prod(known) if len(known) == len(extents) else None


def _bytes(b: Buffer, values: Sizes) -> int:
    """What a copy between the host and the device moves."""
    elements = prod(e or 0 for e in _extents(b, values))
    if b.last and elements:
        row, width = (uniform(e, values) or 0 for e in last_row(b))
        elements = row * (_extents(b, values)[-1] or 0) + width
    return elements * (size_of(b.type, b.structure) or 0)
