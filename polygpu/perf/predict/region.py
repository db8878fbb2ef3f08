"""What the emulator would count for a call of a region at given sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from polygpu.model.device import Device
from polygpu.model.kernel import Buffer, HostFor, HostIf, HostStatement, Kernel, Launch, Region
from polygpu.model.offsets import last_row
from polygpu.model.structures import size_of
from polygpu.perf.charges import lockstep
from polygpu.perf.lanes import uniform
from polygpu.perf.launches import host_values
from polygpu.perf.lockstep import Lockstep
from polygpu.perf.predict.costs import Costs
from polygpu.perf.predict.counters import Counts
from polygpu.perf.predict.places import Places
from polygpu.perf.predict.points import Context
from polygpu.perf.predict.values import (
    ALL,
    LARGEST,
    Bits,
    TooLargeError,
    TooMuchError,
    Value,
    Work,
    constant,
    half_of,
)
from polygpu.perf.predict.walk import Walk
from polygpu.perf.resources import wave

Grid: TypeAlias = tuple[int, int, int]
Sizes: TypeAlias = Mapping[str, int]

_EFFORTS = ((1 << 20, None), (1 << 10, None), (1 << 10, 64), (1 << 10, 16), (1 << 10, 4), (1, 1))
"""Blocks of several launches, and iterations of a loop (None: all), that are looked at together: tried in
this order until the arrays fit into memory, and there is not too much to look at."""
ANY = Work(None)
_FEW = 16  # launches whose first waves are all looked at


@dataclass(frozen=True)
class Predicted:
    """`record` has the form of a region in a profile; `inexact` names the kernels that data decide on,
    `sampled` those with so many iterations that a part of them stands for all.
    """

    record: dict[str, Any]
    inexact: tuple[str, ...]
    sampled: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Launched:
    """Launches of a kernel with the same arguments and grid."""

    arguments: tuple[int | None, ...]
    grid: Grid
    times: int


@dataclass(frozen=True)
class _Launches:
    """All `runs` of a kernel, the `waves` that are looked at by themselves; where arrays start, and how many
    `bytes` they have.
    """

    runs: list[_Launched]
    waves: list[_Launched]
    starts: Mapping[str, int | None]
    bytes: Mapping[str, int]


@dataclass(frozen=True)
class _Counted:
    """The counters of a kernel, whether they are exact, and whether loops were sampled."""

    record: dict[str, Any]
    exact: bool
    sampled: bool


def predict(
    region: Region, device: Device, sizes: Sizes, most: int | None = None, work: Work = ANY
) -> Predicted:
    """One call of `region`; integer scalars that `sizes` does not name are as `host_values` has them.

    With `most`, so many iterations of each host loop stand for all. A kernel that takes more
    than half of the `work` left has iterations of its loops left out. Raises MemoryError where even few
    of them are too much.
    """
    values = host_values(region, sizes)
    launched: dict[str, dict[tuple[tuple[int | None, ...], Grid], int]] = {k.name: {} for k in region.kernels}
    last: dict[str, Grid] = {}
    number = dict.fromkeys(launched, 0)
    waves: dict[str, list[_Launched]] = {name: [] for name in launched}
    for launch, at, times in launches(region.body, values, most):
        arguments = tuple(uniform(e, at) for e in launch.scalars)
        x, y, z = (uniform(e, at) or 0 for e in launch.grid)
        if min(x, y, z) > 0:
            same = launched[launch.kernel]
            key = arguments, (x, y, z)
            same[key] = same.get(key, 0) + times
            last[launch.kernel] = x, y, z
            number[launch.kernel] += 1
            if _looked_at(number[launch.kernel]):
                waves[launch.kernel].append(_Launched(*key, 1))
    starts = _starts(region, values, device.allocation_alignment)
    held = {b.name: (_elements(b, values) or 0) * (size_of(b.type, b.structure) or 0) for b in region.buffers}
    kernels, inexact, sampled = [], [], []
    for kernel in region.kernels:
        runs = [_Launched(*key, times) for key, times in launched[kernel.name].items()]
        tree = lockstep(kernel, device.doubles)
        found = _kernel(region, tree, device, _Launches(runs, waves[kernel.name], starts, held), work)
        kernels.append(_head(kernel, runs, last.get(kernel.name, (0, 0, 0))) | found.record)
        if not found.exact:
            inexact.append(kernel.name)
        if found.sampled:
            sampled.append(kernel.name)
    moved_in = sum(_bytes(b, values) for b in region.buffers if b.host and b.copy_in)
    moved_out = sum(_bytes(b, values) for b in region.buffers if b.host and b.copy_out)
    record = {
        "name": region.name,
        "calls": 1,
        "bytes_in": moved_in,
        "bytes_out": moved_out,
        "kernels": kernels,
    }
    return Predicted(record, tuple(inexact), tuple(sampled))


def launches(
    body: tuple[HostStatement, ...], values: Sizes, most: int | None = None
) -> Iterator[tuple[Launch, Sizes, int]]:
    """Launches in order, with the values of the host's variables and how many each stands for."""
    for s in body:
        match s:
            case Launch():
                yield s, values, 1
            case HostIf(test, inner):
                if uniform(test, values) != 0:
                    yield from launches(inner, values, most)
            case HostFor(index, lower, upper, step, inner):
                first, end = uniform(lower, values), uniform(upper, values)
                for i, times in _spread(range(first or 0, end or 0, step), most):
                    for launch, at, inside in launches(inner, {**values, index: i}, most):
                        yield launch, at, times * inside


def _spread(iterations: range, most: int | None) -> Iterator[tuple[int, int]]:
    """Iterations in the middle of `most` equal parts, and how many each stands for."""
    parts = len(iterations) if most is None else min(most, len(iterations))
    for k in range(parts):
        part = iterations[k * len(iterations) // parts : (k + 1) * len(iterations) // parts]
        yield part[len(part) // 2], len(part)


def _head(kernel: Kernel, runs: list[_Launched], grid: Grid) -> dict[str, Any]:
    blocks = sum(r.times * prod(r.grid) for r in runs)
    return {
        "name": kernel.name,
        "launches": sum(r.times for r in runs),
        "grid": list(grid),
        "block": list(kernel.block),
        "blocks_total": blocks,
        "blocks_run": blocks,
    }


def _kernel(region: Region, tree: Lockstep, device: Device, launched: _Launches, work: Work) -> _Counted:
    """With all iterations of its loops, or as many as fit into memory and `work`. Raises MemoryError."""
    efforts = list(_EFFORTS)
    while efforts:
        blocks, most = efforts.pop(0)
        try:
            with half_of(work):
                return _counted(region, tree, device, launched, blocks, most)
        except TooMuchError:
            efforts = [effort for effort in efforts if effort[1] is not None]
            if most is None and not _few_will_do(region, tree, device, launched, work):
                efforts = efforts[-1:]
        except TooLargeError:
            pass
    raise MemoryError(
        f"kernel {tree.kernel.name} has too many blocks, or iterations, to predict what it counts"
    )


def _few_will_do(region: Region, tree: Lockstep, device: Device, launched: _Launches, work: Work) -> bool:
    """Whether the least effort but the last could do: where it cannot, those before it cannot either."""
    try:
        with half_of(Work(work.left)):
            _counted(region, tree, device, launched, *_EFFORTS[-2])
    except TooLargeError:
        return False
    return True


def _counted(
    region: Region, tree: Lockstep, device: Device, launched: _Launches, blocks: int, most: int | None
) -> _Counted:
    walk = Walk(tree, Places(tree.kernel, launched.starts), Costs(device), most)
    for chunk in _chunks(launched.runs, blocks) if launched.runs else [[]]:
        _run(walk, chunk)
    record, exact, sampled = walk.counts.record(region.sites), walk.exact, walk.sampled
    looked_at = launched.waves if exact else []
    held = sum(launched.bytes[a.name] for a in tree.kernel.arrays if a.space == "texture")
    textures = {"bytes": held * sum(r.times for r in launched.runs)} | _textures(walk, looked_at)
    return _Counted(
        record | {"partitions": _partitions(walk, looked_at), "textures": textures}, exact, sampled
    )


def _run(walk: Walk, runs: list[_Launched], first: Grid = (0, 0, 0)) -> None:
    walk.run(_context(runs, walk.counts.warps), _arguments(walk.tree.kernel, runs), first)


def _textures(walk: Walk, runs: list[_Launched]) -> dict[str, int]:
    """The lines that the block in the middle of each of `runs` asks of the texture cache."""
    asked = distinct = 0
    for run in runs if any(a.space == "texture" for a in walk.tree.kernel.arrays) else []:
        walk.costs.lines, walk.counts = set(), Counts(walk.tree)
        x, y, z = run.grid
        _run(walk, [_Launched(run.arguments, (1, 1, 1), 1)], (x // 2, y // 2, z // 2))
        asked += walk.counts.total("texture_lines")
        distinct += len(walk.costs.lines)
        walk.costs.lines = None
    return {"lines": asked, "distinct": distinct}


def _looked_at(number: int) -> bool:
    """Whether the first wave of a kernel's launch of this number is looked at by itself."""
    return number <= _FEW or number.bit_count() == 1


def _partitions(walk: Walk, runs: list[_Launched]) -> dict[str, int]:
    """What the first wave of blocks of each of `runs` streams from the partitions of the memory."""
    device, costs = walk.costs.device, walk.costs
    streamed = fullest = 0
    for run in runs if device.costs["partitions"] else []:
        costs.forget_streams()
        first = _first_wave(run.grid, wave(walk.tree.kernel, device))
        _run(walk, [_Launched(run.arguments, first, 1)])
        streamed += int(costs.streamed.sum())
        fullest += int(costs.streamed.max()) * len(costs.streamed)
    return {"bytes": streamed, "fullest": fullest}


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
    masks: list[Bits] = []
    axes = [times]
    for d in range(3):
        longest = int(grids[:, d].max())
        axes.insert(0, np.ones(longest, np.int64))
        if (grids[:, d] != longest).any():
            number = np.arange(longest).reshape(-1, *[1] * d, 1)
            masks.append(np.where(number < grids[:, d], ALL, np.uint32(0))[..., None])
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
