"""The report of `polygpu inspect`: loops, kernels, accesses and decisions of each region."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from polygpu.model.expr import Position
from polygpu.model.facts import (
    AccessFact,
    CompilationFacts,
    KernelFact,
    LoopVerdict,
    PriceFact,
    ProofFact,
    RegionFacts,
)
from polygpu.report.layout import Line, Span, indented, line, plain, table
from polygpu.report.quantities import byte_count, counted, duration, number, product, share
from polygpu.verify.verdict import COUNTED


def inspect_text(facts: CompilationFacts) -> str:
    """The whole report."""
    return plain(inspect_lines(facts))


def inspect_lines(facts: CompilationFacts) -> Iterator[Line]:
    what = f"{facts.source}: " if facts.source else ""
    yield line(Span(f"{what}{facts.target} for {facts.title or facts.device}", "title"))
    for region in facts.regions:
        yield line()
        yield from _region(region, facts)


def _region(region: RegionFacts, facts: CompilationFacts) -> Iterator[Line]:
    head = f"region {region.name}"
    yield line(Span(head, "title"), Span(f"  {region.position}, in {region.function}()", "dim"))
    if region.loops:
        yield line()
        yield line("  ", Span("loops", "label"))
        yield from indented(table([_loop(loop, region) for loop in region.loops]), 4)
    yield from _listed("decisions", region.decisions)
    yield from _price(region.price)
    yield from _proofs(region.proofs)
    for kernel in region.kernels:
        yield line()
        yield from indented(_kernel(kernel, region, facts))
    yield from _listed("notes", region.notes)


def _price(price: PriceFact | None) -> Iterator[Line]:
    """What a call takes on either side, and which one is faster."""
    if price is None:
        return
    sizes = ", ".join(f"{name} = {value}" for name, value in price.sizes.items())
    parts = {
        "copies": price.copies_s,
        "allocations": price.allocations_s,
        "kernels": price.kernels_s,
        "launches": price.launches_s,
    }
    parts |= {"measuring arrays": price.measuring_s} if price.measuring_s else {}
    once = {"copies": f" (once in {price.calls:,} calls)"} if price.calls > 1 else {}
    device = ", ".join(f"{name} {duration(seconds)}{once.get(name, '')}" for name, seconds in parts.items())
    faster = {"always": "always", "never": "never", "from": f"where {price.test}"}[price.faster]
    yield line()
    yield line("  ", Span("price of a call", "label"), f", roughly{f', for {sizes}' if sizes else ''}")
    rows = [
        ("device", duration(sum(parts.values())), device),
        ("host", duration(price.host_s), f"the device is faster {faster}"),
    ]
    yield from indented(table([(Span(name, "dim"), *texts) for name, *texts in rows]), 4)


def _proofs(proofs: tuple[ProofFact, ...]) -> Iterator[Line]:
    if proofs:
        yield line()
        yield line("  ", Span("proofs", "label"))
        yield from indented(table([_proof(p) for p in proofs]), 4)


def _proof(p: ProofFact) -> list[Span | str]:
    count = (counted(p.count, COUNTED[p.property]),) if p.verdict == "proved" else ()
    said = "; ".join((*count, *([p.why] if p.why else [])))
    return [p.property, Span(p.verdict, "good" if p.verdict == "proved" else "bad"), said]


def _listed(title: str, texts: tuple[str, ...]) -> Iterator[Line]:
    if texts:
        yield line()
        yield line("  ", Span(title, "label"))
        yield from (line("    ", text) for text in texts)


def place(position: Position, region: RegionFacts) -> str:
    """`line 16` in the region's own file, `file.h:16` in another one."""
    if position.file == region.position.file:
        return f"line {position.line}"
    return f"{position.file}:{position.line}"


def _loop(loop: LoopVerdict, region: RegionFacts) -> list[Span | str]:
    verdict = Span("parallel", "good") if loop.parallel else Span("sequential", "bad")
    return [loop.iterator, place(loop.position, region), loop.text, verdict, _because(loop, region)]


def _because(loop: LoopVerdict, region: RegionFacts) -> str:
    """What forbids the loop to run in parallel, with the lines of both ends of the dependence."""
    ends = [place(end, region) for end in (loop.source, loop.target) if end is not None]
    if len(ends) < 2:
        return loop.why
    lines = ends[0] if ends[0] == ends[1] else f"{ends[0]}, then {ends[1]}"
    return f"{loop.why or 'a dependence'} ({lines})"


def _kernel(kernel: KernelFact, region: RegionFacts, facts: CompilationFacts) -> Iterator[Line]:
    yield line(Span("kernel", "label"), f" {kernel.name}", Span(f"  {place(kernel.position, region)}", "dim"))
    rows: list[tuple[str, str]] = [
        ("grid", kernel.grid),
        ("block", block_text(kernel.block)),
        ("tile", kernel.tile),
        ("mapping", kernel.distribution),
        ("shared memory", shared_text(kernel)),
        ("registers", registers_text(kernel)),
        ("occupancy", occupancy_text(kernel, facts.warps_per_multiprocessor)),
    ]
    yield from indented(table([(Span(name, "dim"), text) for name, text in rows if text]))
    accesses = [access for access in region.accesses if access.kernel == kernel.name]
    if accesses:
        yield line()
        yield from indented(access_table(accesses, region))


def block_text(block: tuple[int, int, int]) -> str:
    """`64 threads`; `16 x 8, 128 threads`"""
    threads, shape = counted(prod(block), "thread"), product(block)
    return threads if shape == str(prod(block)) else f"{shape}, {threads}"


def occupancy_text(kernel: KernelFact, warps: int) -> str:
    """`3 blocks, 24 of 24 warps (100 %) a multiprocessor, limited by threads`; "" when unknown."""
    resident = kernel.warps_per_multiprocessor
    if not resident:
        return ""
    of = f" of {warps} warps ({share(resident / warps)})" if warps else " warps"
    limit = f", limited by {kernel.occupancy_limit}" if kernel.occupancy_limit else ""
    blocks = counted(kernel.blocks_per_multiprocessor, "block")
    return f"{blocks}, {resident}{of} a multiprocessor{limit}"


def shared_text(kernel: KernelFact) -> str:
    """`2 KiB a block, 2.5 KiB as allocated`: with arguments, indices and rounding where there are any."""
    arrays, allocated = kernel.shared_bytes, kernel.shared_bytes_allocated
    text = f"{byte_count(arrays)} a block" if arrays else "none"
    return f"{text}, {byte_count(allocated)} as allocated" if allocated > arrays else text


def registers_text(kernel: KernelFact) -> str:
    if not kernel.registers:
        return ""
    return f"{kernel.registers} a thread, {'as decided' if kernel.registers_decided else 'estimated'}"


def access_table(accesses: list[AccessFact], region: RegionFacts) -> Iterator[Line]:
    """One row an access: where it is served, how its requests coalesce, what the banks do."""
    request = "half-warp" if accesses[0].request_lanes == 16 else "warp"
    header = ["access", "", "at", "space", f"transactions a {request}", "banks", ""]
    rows: list[list[Span | str]] = [[Span(text, "dim") for text in header]]
    rows += [_access(access, region) for access in accesses]
    return table(rows)


def _access(access: AccessFact, region: RegionFacts) -> list[Span | str]:
    kind = "write" if access.write else "read"
    where = place(access.position, region)
    return [access.text, kind, where, _space(access), _requests(access), _banks(access), access.note]


def _space(access: AccessFact) -> str:
    return f"{access.space} as {access.shared_array}" if access.shared_array else access.space


def _requests(access: AccessFact) -> Span:
    """`1, coalesced`: the mean number of transactions of a request to global memory."""
    verdict = Span("-", "dim")
    if access.coalesced is not None:
        verdict = Span("coalesced", "good") if access.coalesced else Span("not coalesced", "bad")
    if access.transactions is None:
        return verdict
    return Span(f"{number(access.transactions)}, {verdict.text}", verdict.style)


def _banks(access: AccessFact) -> Span:
    """`pad 1: 16-way -> conflict-free`"""
    before, after = access.degree_before, access.degree_after
    if not before and not after:
        return Span("-", "dim")
    change = degree_text(after) if before == after else f"{degree_text(before)} -> {degree_text(after)}"
    padding = f"pad {access.padding}: " if access.padding else ""
    return Span(padding + change, "good" if after <= 1 else "bad")


def degree_text(degree: int) -> str:
    return f"{degree}-way" if degree > 1 else "conflict-free"
