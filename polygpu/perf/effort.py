"""How much of a region's iterations is looked at to predict what its calls count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count, islice
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from polygpu.model.device import Device
from polygpu.model.kernel import HostFor, HostIf, HostStatement, Region
from polygpu.perf.launches import Calls, evaluated, host_values
from polygpu.support.dataclass import dataclass

if TYPE_CHECKING:
    from polygpu.perf.predict import Predicted

ITERATIONS = 16  # of a host loop, that stand for all where these are too many
_IDLE = 8  # iterations of host loops for each launch that is looked at


class _TooManyError(Exception):
    """There are more iterations than are looked at."""


Called: TypeAlias = Sequence[tuple[Region, Sequence[Calls]]]


@dataclass(frozen=True, slots=True)
class Patience:
    """How many `blocks` and `launches` are looked at before iterations of host loops are left out, all but so
    many, and how many `elements` of arrays, all kernels together, before those of the kernels' loops are;
    `least` of them for an attempt in any case. Of kernels' loops `most` iterations are looked at, None: all
    if they are not too many. What each of the memory's `partitions` moves is counted, or left open.
    """

    blocks: int
    launches: int
    elements: int
    iterations: int = ITERATIONS
    least: int = 1 << 25
    most: int | None = None
    partitions: bool = True


QUICK = Patience(2**17, 2**13, 2 * 10**8)  # where nobody asked for sizes: a second or two
THOROUGH = Patience(2**21, 2**15, 2 * 10**9)  # several seconds at most


def look(called: Called, device: Device, patience: Patience) -> tuple[list[Predicted], int | None]:
    """What the calls of each region count, and how many iterations of each host loop stand for all of them;
    None where all are looked at.

    Raises MemoryError where a part of the iterations of each loop is too much.
    """
    looped = any(_loops(region.body) for region, _ in called)
    most = patience.iterations if looped and too_many(called, None, patience) else None
    try:
        return _look(called, device, most, patience), most
    except MemoryError:
        if most or not looped:
            raise
    return _look(called, device, patience.iterations, patience), patience.iterations


def marked(found: Predicted, host_iterations: int | None) -> list[dict[str, Any]]:
    """The kernels of what was predicted, each with "predicted": "exactly", "in part" where some iterations
    stand for all, "at most" where data decide, or "roughly" where data end loops.
    """
    in_part = {k["name"] for k in found.record["kernels"]} if host_iterations else set(found.sampled)
    how = dict.fromkeys(in_part, "in part") | dict.fromkeys(found.inexact, "at most")
    how |= dict.fromkeys(found.turning, "roughly")
    return [k | {"predicted": how.get(k["name"], "exactly")} for k in found.kernels]


def _look(called: Called, device: Device, most: int | None, patience: Patience) -> list[Predicted]:
    from polygpu.perf.predict import (  # noqa: PLC0415 - numpy is slow to import
        Work,
        predict_calls,
    )

    work = Work(patience.elements, 0, patience.least, patience.most, patience.partitions)
    return [predict_calls(region, device, calls, most, work) for region, calls in called]


def _loops(body: Iterable[HostStatement]) -> bool:
    return any(isinstance(s, HostFor) or (isinstance(s, HostIf) and _loops(s.body)) for s in body)


def too_many(called: Called, most: int | None, patience: Patience) -> bool:
    """Whether there are more launches, or more blocks in those that differ, than `patience` allows, or many
    times as many iterations of host loops, most of which may launch nothing.
    """
    done = count()

    def step() -> None:
        if next(done) >= _IDLE * patience.launches:
            raise _TooManyError

    each = [evaluated(r.body, host_values(r, c.sizes), most, step) for r, calls in called for c in calls]
    try:
        found = [launch for one in each for launch, _ in islice(one, patience.launches + 1)]
    except _TooManyError:
        return True
    if len(found) > patience.launches:
        return True
    return sum(max(1, prod(launch.grid)) for launch in set(found)) > patience.blocks
