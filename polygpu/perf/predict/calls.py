"""What several calls of a region count together: the sum of the predicted records of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import groupby
from typing import Any, TypeAlias

from polygpu.model.device import Device
from polygpu.model.kernel import Region
from polygpu.perf.launches import Calls
from polygpu.perf.predict.region import ANY, Predicted, predict
from polygpu.perf.predict.values import Work

Record: TypeAlias = dict[str, Any]


def predict_calls(
    region: Region, device: Device, calls: Sequence[Calls], most: int | None = None, work: Work = ANY
) -> Predicted:
    """All `calls`, of which there is one at least, as `predict` has a single one. Raises MemoryError."""
    found = [(c.times, predict(region, device, c.sizes, most, work)) for c in calls]
    records = [_times(p.record, times) for times, p in found]
    return Predicted(
        reduce(_region, records),
        tuple(dict.fromkeys(name for _, p in found for name in p.inexact)),
        tuple(dict.fromkeys(name for _, p in found for name in p.sampled)),
    )


_FIXED = {"name", "grid", "block", "stage", "first", "warps", "site", "line", "column"}


def _times(record: Any, times: int) -> Any:
    """The record with all counts multiplied."""
    match record:
        case dict():
            return {key: value if key in _FIXED else _times(value, times) for key, value in record.items()}
        case list():
            return [_times(value, times) for value in record]
        case int() if not isinstance(record, bool):
            return times * record
    return record


def _region(a: Record, b: Record) -> Record:
    kernels = [_kernel(x, y) for x, y in zip(a["kernels"], b["kernels"], strict=True)]
    return _added(a, b) | {"kernels": kernels}


def _kernel(a: Record, b: Record) -> Record:
    """The grid is that of the last launch."""
    stages = _by_key(a["stages"], b["stages"], ("stage",))
    sites = _by_key(a["sites"], b["sites"], ("site", "array", "space", "write"))
    return _added(a, b) | {
        "grid": b["grid"] if b["launches"] else a["grid"],
        "stages": [x if y is None else _stage(x, y) for x, y in stages],
        "sites": [x if y is None else _added(x, y) for x, y in sites],
    }


def _by_key(
    a: Sequence[Record], b: Sequence[Record], names: Sequence[str]
) -> Iterator[tuple[Record, Record | None]]:
    """Records of both that agree in `names`, in the order of `a`, then those of `b` alone."""
    left = {tuple(r[name] for name in names): r for r in b}
    for r in a:
        yield r, left.pop(tuple(r[name] for name in names), None)
    yield from ((r, None) for r in left.values())


def _stage(a: Record, b: Record) -> Record:
    warps = [_added(x, y) for x, y in zip(_warps(a), _warps(b), strict=True)]
    return _added(a, b) | {"groups": list(_groups(warps))}


def _warps(stage: Record) -> Iterator[Record]:
    """The counters of each warp: those of a group count alike."""
    for group in stage["groups"]:
        yield from [_shared(group["counters"], group["warps"])] * group["warps"]


def _shared(counters: Record, warps: int) -> Record:
    return {k: _shared(v, warps) if isinstance(v, dict) else v // warps for k, v in counters.items()}


def _groups(warps: Sequence[Record]) -> Iterator[Record]:
    first = 0
    for _, alike in groupby(warps):
        group = list(alike)
        yield {"first": first, "warps": len(group), "counters": _times(group[0], len(group))}
        first += len(group)


def _added(a: Record, b: Record) -> Record:
    """The sum of all counts; members that are lists are left as `a` has them."""
    found = dict(a)
    for key, value in b.items():
        match value:
            case dict():
                found[key] = _added(a[key], value)
            case int() if key not in _FIXED and not isinstance(value, bool):
                found[key] = a[key] + value
    return found
