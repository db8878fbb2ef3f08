"""What each source access of a kernel is predicted to cost."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from operator import mul

from polygpu.mapping.pad import request_steps, worst_degree
from polygpu.mapping.padding import distinct, layout_of
from polygpu.model.device import Device
from polygpu.model.expr import SIZES, Position
from polygpu.model.facts import AccessFact
from polygpu.model.kernel import ArrayArgument, Kernel, SharedArray, Site
from polygpu.perf.cached_reads import CachedReads
from polygpu.perf.coalescing import Address, Coalescing, Cost, request_cost
from polygpu.perf.lanes import uniform
from polygpu.perf.launches import TypicalLaunch
from polygpu.perf.requests import Lanes, Requests, requests


def access_facts(
    kernel: Kernel,
    sites: Sequence[Site],
    device: Device,
    registers: Collection[str] = (),
    launch: TypicalLaunch | None = None,
) -> tuple[AccessFact, ...]:
    """One fact a source access of the kernel: `x[i] += 1` reads and writes.

    `registers` are the arrays whose elements the threads keep in registers while they compute. Nothing is
    predicted without a `launch`.
    """
    found = requests(kernel, device.request_lanes, launch=launch, varied=True)
    values = launch.values if launch is not None else {}
    of_site: dict[int, list[Requests]] = {}
    for r in found:
        of_site.setdefault(r.reference.site, []).append(r)
    inside, outside = {s.name for s in kernel.shared}, {a.name for a in kernel.arrays}
    facts: dict[tuple[str, Position, bool], AccessFact] = {}
    for site in sorted(sites, key=lambda s: s.number):
        parts: dict[bool, list[Requests]] = {False: [], True: []}
        for r in of_site.get(site.number, ()):
            parts[_writes(r, site, inside, outside)].append(r)
        for write, part in parts.items():
            if part:
                fact = _access(kernel, site, part, device, write, site.array in registers, values)
                key = fact.text, fact.position, write
                if key not in facts or facts[key].transactions is None:  # both sides of `+=` are sites
                    facts[key] = fact
    return tuple(facts.values())


def _writes(r: Requests, site: Site, inside: Collection[str], outside: Collection[str]) -> bool:
    """Whether the source writes there; what fills shared memory or fetches ahead is part of a read.

    `inside` and `outside` are the kernel's arrays in shared and in global memory.
    """
    if not r.write or r.reference.array in inside:
        return False
    return site.write or r.reference.array in outside


def _access(
    kernel: Kernel,
    site: Site,
    mine: list[Requests],
    device: Device,
    write: bool,
    register: bool,
    sizes: Mapping[str, int],
) -> AccessFact:
    inside = {s.name: s for s in kernel.shared}
    outside = {a.name: a.space for a in kernel.arrays}
    shared = next((inside[r.reference.array] for r in mine if r.reference.array in inside), None)
    direct = next((outside[r.reference.array] for r in mine if r.reference.array in outside), "")
    counts, coalesced = _transactions(kernel, mine, device, sizes)
    before, after, steps = _banks(shared, mine, device)
    return AccessFact(
        site=site.number,
        kernel=kernel.name,
        array=site.array,
        text=site.text,
        position=site.position,
        write=write,
        space=_space(register, shared is not None, direct),
        coalesced=coalesced,
        transactions=counts,
        request_lanes=device.request_lanes,
        shared_array=shared.name if shared else "",
        padding=shared.padding if shared else 0,
        degree_before=before,
        degree_after=after,
        bank_steps=steps,
        note=_parts(kernel, mine, device, sizes),
    )


def _parts(kernel: Kernel, found: Sequence[Requests], device: Device, sizes: Mapping[str, int]) -> str:
    """`2.5 lines a request`: in how many parts requests to the constant or texture cache are served."""
    arrays = {a.name: a for a in kernel.arrays if a.structure is None and a.space != "global"}
    mine = [r for r in found if r.reference.array in arrays and r.lanes]
    if not mine:
        return ""
    array = arrays[mine[0].reference.array]
    rule, total, served = CachedReads.of(device, array.space), 0.0, 0.0
    for r in mine:
        strides, start = _strides(array, SIZES.get(r.reference.type, 4), sizes)
        total += r.weight * len(r.lanes)
        served += r.weight * sum(rule.parts(_addresses(lanes, strides, start)) for lanes in r.lanes)
    one, many = ("address", "addresses") if array.space == "constant" else ("line", "lines")
    return f"{served / total:.3g} {one if served == total else many} a request to the {array.space} cache"


def _space(register: bool, shared: bool, direct: str) -> str:
    if shared:
        return "shared, staged" if direct else "shared"
    if register:
        return "register"
    return direct or "register"


def _transactions(
    kernel: Kernel, found: Sequence[Requests], device: Device, sizes: Mapping[str, int]
) -> tuple[float | None, bool | None]:
    """The mean number of transactions of a request to global memory, and whether all requests coalesce.

    (None, None) when there is no such request, or none whose addresses are known.
    """
    total, served, coalesced = 0.0, 0.0, True
    for cost, weight in global_costs(kernel, found, device, sizes):
        total += weight
        served += weight * cost.count
        coalesced = coalesced and cost.coalesced
    return (served / total, coalesced) if total else (None, None)


def global_costs(
    kernel: Kernel, found: Sequence[Requests], device: Device, sizes: Mapping[str, int]
) -> Iterator[tuple[Cost, float]]:
    """The cost of each request, and how often it is made; shifts by whole periods cost the same."""
    arrays = {a.name: a for a in kernel.arrays if a.structure is None and a.space == "global"}
    known: dict[tuple[tuple[Address, ...], int], Cost] = {}
    rule = Coalescing.of(device)
    for r in found:
        array = arrays.get(r.reference.array)
        if array is None:
            continue
        size = SIZES.get(r.reference.type, 4)
        strides, start = _strides(array, size, sizes)
        for lanes in r.lanes:
            addresses = tuple(_in_period(_addresses(lanes, strides, start), rule.period))
            key = addresses, size * r.wide
            if key not in known:
                known[key] = request_cost(addresses, size * r.wide, rule)
            yield known[key], r.weight


def _in_period(addresses: list[Address], period: int) -> Iterator[Address]:
    first = next(a for a in addresses if a is not None)
    shift = first // period * period
    return (None if a is None else a - shift for a in addresses)


def _strides(array: ArrayArgument, size: int, sizes: Mapping[str, int]) -> tuple[list[int], int]:
    """Bytes from an element to the next in each dimension, and the address where all subscripts are 0.

    An extent that is not known counts as 1.
    """
    extents = [uniform(e, sizes) if e is not None else None for e in array.extents]
    if array.pitch is not None and extents:
        extents[-1] = uniform(array.pitch, sizes)
    origin = [uniform(o, sizes) or 0 for o in array.origin] or [0] * len(extents)
    strides: list[int] = []
    for extent in reversed(extents):
        strides.append(size)
        size *= extent or 1
    strides.reverse()
    return strides, -sum(map(mul, strides, origin))


def _addresses(lanes: Lanes, strides: Sequence[int], start: int) -> list[Address]:
    """Byte addresses of a request's lanes, from the start of the array."""
    return [None if index is None else start + sum(map(mul, index, strides)) for index in lanes]


def _banks(s: SharedArray | None, found: Sequence[Requests], device: Device) -> tuple[int, int, float]:
    """The worst degree of conflict without and with the array's padding, and the mean steps of a request."""
    if s is None:
        return 0, 0, 0.0
    layout = layout_of(s, device)
    made = tuple(distinct(s, (r for r in found if r.reference.array == s.name), layout))
    steps = [(request_steps(request, layout, s.padding), request.weight) for request in made]
    requests = sum(weight * step.requests for step, weight in steps)
    mean = sum(weight * step.steps for step, weight in steps) / requests if requests else 0.0
    return worst_degree(made, layout, 0), worst_degree(made, layout, s.padding), mean
