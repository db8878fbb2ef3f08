"""What a compilation decided, as facts: loops, kernels, and every access with its predicted cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygpu.analysis.coalescing import request_cost
from polygpu.analysis.occupancy import occupancy
from polygpu.analysis.verdicts import loop_verdicts
from polygpu.codegen.lower.nest import NestLowering
from polygpu.codegen.padding import Padded
from polygpu.codegen.printer import print_expr
from polygpu.codegen.requests import Requests, evaluate, requests, sizes_of
from polygpu.model.device import Device
from polygpu.model.expr import SIZES
from polygpu.model.facts import AccessFact, CompilationFacts, KernelFact, RegionFacts
from polygpu.model.kernel import ArrayArgument, Declare, DeclareArray, For, If, Kernel, Site, Statement

if TYPE_CHECKING:
    from polygpu.pipeline import Compilation, CompiledRegion


def facts(c: Compilation) -> CompilationFacts:
    """All facts of a compilation."""
    return CompilationFacts(
        c.device.name,
        c.options.target,
        tuple(_region(r, c.device) for r in c.regions),
        c.device.title,
        c.device.warps_per_multiprocessor,
        c.unit.source,
    )


def _region(r: CompiledRegion, device: Device) -> RegionFacts:
    kernels = tuple(
        _kernel(r, low, padded, device) for low, padded in zip(r.lowered, r.padded, strict=True)
    )
    accesses = tuple(
        fact
        for low, padded in zip(r.lowered, r.padded, strict=True)
        for fact in access_facts(padded, r.region.sites, device)
    )
    return RegionFacts(
        r.scop.name,
        r.scop.function,
        r.scop.position,
        loop_verdicts(r.polyhedra, r.dependences),
        kernels,
        accesses,
        _decisions(r),
        _notes(r),
    )


def _decisions(r: CompiledRegion) -> tuple[str, ...]:
    found: list[str] = []
    for low in r.lowered:
        m = low.m.mapping
        tiles = " x ".join(f"{a.name}:{a.tile}" for a in m.axes)
        found.append(f"{low.name}: tile {tiles or 'none'}, step {m.step}, buffering {m.buffering}")
    return tuple(found)


def _notes(r: CompiledRegion) -> tuple[str, ...]:
    expanded = [f"'{e.array}' is expanded by {e.depth} loops" for e in r.expansions if e.depth]
    tested = [f"tested at run time: {c.reason}" for c in r.conditions]
    apart = [f"tested at run time, refused when {reason}" for reason in r.overlaps]
    return (*expanded, *tested, *apart)


def _kernel(r: CompiledRegion, low: NestLowering, padded: Padded, device: Device) -> KernelFact:
    kernel = padded.kernel
    shared = shared_bytes(kernel)
    registers = estimate_registers(kernel)
    x, y, z = kernel.block
    arguments = 8 * len(kernel.arrays) + sum(SIZES.get(s.type, 4) for s in kernel.scalars)
    resident = occupancy(device, x * y * z, registers, shared, arguments)
    grid = " x ".join(print_expr(low.points.blocks(k)) for k in reversed(range(len(low.m.mapping.axes))))
    axes = low.m.mapping.axes
    first = r.polyhedra.statement(low.m.statements[0])
    return KernelFact(
        kernel.name,
        r.scop.name,
        first.position,
        kernel.block,
        grid or "1",
        " x ".join(f"{a.name}:{a.tile}" for a in axes),
        ", ".join(f"{a.name} {_dealt(a.per_thread, a.group)}" for a in axes),
        shared,
        registers,
        resident.blocks,
        resident.warps,
        resident.limited_by,
    )


def _dealt(per_thread: int, group: int) -> str:
    if per_thread == 1:
        return "one a thread"
    kind = "cyclic" if group == 1 else "blocked" if group == per_thread else f"grouped by {group}"
    return f"{per_thread} a thread, {kind}"


def shared_bytes(kernel: Kernel) -> int:
    """Bytes of the kernel's shared arrays, padding included."""
    total = 0
    for s in kernel.shared:
        size = SIZES.get(s.type, 4)
        for extent in s.extents[:-1]:
            size *= extent
        total += size * (s.extents[-1] + s.padding)
    return total


def estimate_registers(kernel: Kernel) -> int:
    """A first estimate: private values, locals, and a handful of addresses."""
    words = _private_words(kernel.body)
    return min(255, 6 + words + len(kernel.arrays))


def _private_words(body: tuple[Statement, ...]) -> int:
    """Registers of private arrays and of locals at the deepest nesting."""
    total, deepest = 0, 0
    for s in body:
        match s:
            case DeclareArray(_, ctype, extents):
                words = SIZES.get(ctype, 4) // 4
                for e in extents:
                    words *= e
                total += words
            case Declare(_, ctype, _, mutable):
                total += SIZES.get(ctype, 4) // 4 if mutable or total < 4 else 0
            case For(body=inner):
                deepest = max(deepest, 1 + _private_words(inner))
            case If(then=then, otherwise=otherwise):
                deepest = max(deepest, _private_words(then), _private_words(otherwise))
    return total + deepest


def access_facts(padded: Padded, sites: tuple[Site, ...], device: Device) -> list[AccessFact]:
    """One fact a source access of the kernel."""
    kernel = padded.kernel
    found = requests(kernel, device.request_lanes, sizes_of(kernel))
    known = {s.number: s for s in sites}
    result: list[AccessFact] = []
    for number in sorted({r.reference.site for r in found if r.reference.site in known}):
        mine = [r for r in found if r.reference.site == number]
        result.append(_access(known[number], mine, padded, device))
    return result


def _access(site: Site, mine: list[Requests], padded: Padded, device: Device) -> AccessFact:
    kernel = padded.kernel
    arrays = {a.name: a for a in kernel.arrays}
    shared = {s.name: s for s in kernel.shared}
    outside = [r for r in mine if r.reference.array in arrays]
    inside = [r for r in mine if r.reference.array in shared]
    costs = [
        request_cost(addresses(arrays[r.reference.array], r, kernel, group), _size(r), device.rule)
        for r in outside
        for group in r.lanes
        if None not in group
    ]
    counts = [sum(n for _, n in c.transactions) for c in costs]
    name = inside[0].reference.array if inside else ""
    choice = padded.choices.get(name)
    space = "shared, staged" if inside and outside else "shared" if inside else "global" if outside else "register"
    return AccessFact(
        site.number,
        kernel.name,
        site.array,
        site.text,
        site.position,
        site.write,
        space,
        all(c.coalesced for c in costs) if costs else None,
        sum(counts) / len(counts) if counts else None,
        device.request_lanes,
        name,
        shared[name].padding if name else 0,
        choice.degree_before if choice else 0,
        choice.degree_after if choice else 0,
    )


def _size(r: Requests) -> int:
    return SIZES.get(r.reference.type, 4) * r.wide


def addresses(
    array: ArrayArgument, r: Requests, kernel: Kernel, group: tuple[tuple[int, ...] | None, ...]
) -> list[int | None]:
    """Byte addresses of a request's lanes, from the start of the array."""
    sizes = sizes_of(kernel)
    element = SIZES.get(r.reference.type, 4)
    extents = [evaluate(e, sizes) if e is not None else None for e in array.extents]
    pitch = evaluate(array.pitch, sizes) if array.pitch is not None else None
    result: list[int | None] = []
    for index in group:
        if index is None:
            result.append(None)
            continue
        total = 0
        for k, value in enumerate(index):
            last = k == len(index) - 1
            size = pitch if last and pitch is not None else extents[k]
            total = total * (size or 1) + value if k else value
        result.append(total * element)
    return result
