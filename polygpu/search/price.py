"""What a kernel costs on a device: the modelled time of its launches in one call of its region."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf

from polygpu.lower.realise import CompiledRegion
from polygpu.model.device import Device
from polygpu.model.kernel import HostFor, HostIf, HostStatement, Launch, Region
from polygpu.perf.effort import QUICK, Patience, look
from polygpu.perf.launches import Calls
from polygpu.perf.profile_time import from_profile
from polygpu.perf.resources import resident, spills
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True)
class Price:
    """Seconds of all launches of a kernel; `blocks` are resident on a multiprocessor. So many elements of
    arrays were `looked_at` to know, and `most` iterations of the kernel's loops, None: all. Where `more`
    that is not all of it, but more than was asked for.
    """

    kernels: float
    launches: int
    blocks: int
    device: Device
    looked_at: int = 0
    most: int | None = None
    more: bool = False

    @property
    def seconds(self) -> float:
        """The launches themselves included."""
        return self.kernels + self.launches * self.device.costs["launch"]


def price(
    r: CompiledRegion,
    kernel: int,
    device: Device,
    sizes: Mapping[str, int],
    patience: Patience = QUICK,
    limit: float = inf,
    even: bool = False,
) -> Price:
    """The price of kernel number `kernel` in one call of its region, if it is not more than `limit` seconds
    even where all partitions of the memory move as much: finding that out takes as long as all the rest.

    `even` takes its blocks to do the same, as where the sizes stand for larger ones.

    A kernel that the device cannot hold, registers spilled to memory included, or that takes more than
    `patience` to look at, costs inf seconds.
    """
    code = r.region.kernels[kernel]
    blocks = resident(code, device).blocks
    if not blocks or spills(code, device):
        return Price(inf, 0, blocks, device)
    only = alone(r.region, code.name)

    def found(patience: Patience) -> Price:
        (made,), _ = look([(only, (Calls(1, sizes),))], device, patience)
        (record,) = made.kernels
        launches = record["launches"]
        seconds = from_profile(record, device, blocks, even).seconds * launches if launches else 0.0
        return Price(seconds, launches, blocks, device, made.looked_at, made.most)

    try:
        if limit == inf or device.costs["partitions"] <= 1:
            return found(patience)
        least = found(replace(patience, partitions=False))
        if least.seconds > limit:
            return replace(least, more=True)
        whole = found(replace(patience, most=least.most))
        return replace(whole, looked_at=max(whole.looked_at, least.looked_at))
    except MemoryError:
        return Price(inf, 0, blocks, device, 4 * patience.least)  # attempts fail one after another


def alone(region: Region, name: str, named: str | None = None) -> Region:
    """The region with launches of one kernel only, which may be `named` otherwise there."""
    kernels = tuple(k for k in region.kernels if k.name == name)
    body = tuple(_launches_of(region.body, name, name if named is None else named))
    return replace(region, kernels=kernels, body=body)


def _launches_of(body: tuple[HostStatement, ...], name: str, named: str) -> Iterator[HostStatement]:
    for s in body:
        match s:
            case Launch() if s.kernel == name:
                yield replace(s, kernel=named)
            case HostFor() | HostIf():
                inner = tuple(_launches_of(s.body, name, named))
                if inner:
                    yield replace(s, body=inner)
