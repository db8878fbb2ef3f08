"""What a compilation decided, as facts: loops, kernels, and every access with its predicted cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from polygpu.analysis.index_sets import Split
from polygpu.analysis.verdicts import loop_verdicts
from polygpu.compilation import Compilation
from polygpu.lower.points import Points
from polygpu.lower.realise import CompiledRegion
from polygpu.lower.remarks import handed_on, ordered
from polygpu.mapping.program import Axis, Grid, Tiles, walk
from polygpu.model.device import Device
from polygpu.model.expr import Binary, Call, Expr, Int, Name
from polygpu.model.facts import AccessFact, CompilationFacts, KernelFact, PriceFact, RegionFacts
from polygpu.model.kernel import Kernel
from polygpu.model.linear import add
from polygpu.model.offsets import product
from polygpu.model.rewrite import rewrite, substitute
from polygpu.offload.offers import Offer, offers, source_names
from polygpu.perf.launches import typical_launch
from polygpu.perf.resources import allocated_bytes, registers_of, resident, shared_bytes
from polygpu.printing.calls import overlaps
from polygpu.printing.host import print_user
from polygpu.printing.printer import print_expr
from polygpu.report.access_facts import access_facts
from polygpu.report.schedule_text import schedule_text


def explain(compilation: Compilation, sizes: Mapping[str, int] | None = None) -> CompilationFacts:
    """Everything `inspect` reports of a compilation; calls are priced at `sizes`, as far as given."""
    device = compilation.device
    stated = compilation.options.typical() | dict(sizes or {})
    found = tuple(
        replace(_region(offer.region, device), price=_price(offer))
        for offer in offers(compilation.regions, device, stated, compilation.scopes)
    )
    if compilation.certificates:
        found = tuple(
            replace(r, proofs=c.facts) for r, c in zip(found, compilation.certificates, strict=True)
        )
    return CompilationFacts(
        device.name,
        compilation.options.target,
        found,
        device.title,
        device.warps_per_multiprocessor,
        compilation.unit.source,
    )


def _region(r: CompiledRegion, device: Device) -> RegionFacts:
    pairs = list(zip(r.grids, r.padded, strict=True))
    accesses = tuple(fact for grid, padded in pairs for fact in _accesses(r, grid, padded.kernel, device))
    return RegionFacts(
        r.scop.name,
        r.scop.function,
        r.scop.position,
        loop_verdicts(r.polyhedra, r.dependences),
        tuple(_kernel(r, grid, padded.kernel, device) for grid, padded in pairs),
        accesses,
        tuple(_decisions(r, accesses)),
        _notes(r),
    )


def _price(offer: Offer) -> PriceFact:
    price, names = offer.price, source_names(offer.region)
    source: dict[str, Expr] = {new: Name(old) for new, old in names.items()}
    test = f"{print_user(substitute(product(offer.work), source))} > {offer.least:,}"
    return PriceFact(
        {names[name]: value for name, value in offer.sizes.items()},
        price.host,
        price.kernels,
        price.launches,
        price.copies,
        price.allocations,
        price.measuring,
        offer.faster,
        test if offer.faster == "from" else "",
        offer.calls,
    )


def _accesses(r: CompiledRegion, grid: Grid, kernel: Kernel, device: Device) -> tuple[AccessFact, ...]:
    registers = frozenset(h.array for h in grid.held)
    launch = typical_launch(r.region, kernel.name)
    return access_facts(kernel, r.region.sites, device, registers, launch)


def _decisions(r: CompiledRegion, accesses: Sequence[AccessFact]) -> Iterator[str]:
    nests = {padded.kernel.name: grid for grid, padded in zip(r.grids, r.padded, strict=True)}
    yield from schedule_text(r.polyhedra, r.prepared.scheduled, nests, accesses)


def _notes(r: CompiledRegion) -> tuple[str, ...]:
    expanded = [f"'{e.array}' is expanded by {_loops(e.depth)}" for e in r.prepared.expansions if e.depth]
    cut = [_cut(r, s) for s in r.prepared.splits]
    tested = [f"tested at run time: {c.reason}" for c in r.conditions]
    apart = [f"tested at run time: no offload when {reason}" for reason in overlaps(r)]
    return tuple(dict.fromkeys((*expanded, *cut, *ordered(r), *handed_on(r), *tested, *apart)))


def _cut(r: CompiledRegion, s: Split) -> str:
    line = r.polyhedra.statement(s.parts[0]).position.line
    return f"the statement of line {line} is cut into {len(s.parts)} pieces, each with parallel loops"


def _loops(count: int) -> str:
    return "1 loop" if count == 1 else f"{count} loops"


def _kernel(r: CompiledRegion, grid: Grid, kernel: Kernel, device: Device) -> KernelFact:
    registers = registers_of(kernel, device)
    occupied = resident(replace(kernel, registers=registers), device)
    names = r.polyhedra.source_names()
    points = Points(grid)
    return KernelFact(
        kernel.name,
        r.scop.name,
        r.polyhedra.statement(grid.statements[0]).position,
        kernel.block,
        " x ".join(_count(points.blocks(grid.axes.index(a))) for a in reversed(grid.dealt)) or "1",
        _tile(grid, names),
        "; ".join(_mapping(grid, names)),
        shared_bytes(kernel),
        registers,
        occupied.blocks,
        occupied.warps,
        occupied.limited_by,
        allocated_bytes(kernel, device),
        kernel.registers > 0,
    )


def _count(blocks: Expr) -> str:
    """`ceil(n / 64)`: the number of blocks as people write it."""
    return print_expr(rewrite(blocks, _division)).replace("polygpu_", "")


def _division(expr: Expr) -> Expr | None:
    match expr:
        case Call("floord", (length, Int(tile)), ctype):
            longer = add(length, 1 - tile)
            shorter = longer if len(print_expr(longer)) <= len(print_expr(length)) else length
            quotient = Binary("/", rewrite(shorter, _division), Int(tile))
            return Call("floor" if shorter is length else "ceil", (quotient,), ctype)
    return None


def _tile(grid: Grid, names: dict[str, str]) -> str:
    """`128 j x 64 i, staged 16 iterations at a time, the next ones fetched ahead`."""
    tile = " x ".join(f"{a.tile} {names.get(a.name, a.name)}" for a in reversed(grid.computing))
    tiles = next((t for t in walk(grid.block) if isinstance(t, Tiles)), None)
    if tiles is None:
        return tile
    ahead = {
        "prefetch": ", the next ones fetched into registers",
        "double": ", the next ones fetched into registers, then into a second place",
        "ring": f", in a ring of {tiles.stages} copied asynchronously",
    }
    return f"{tile}, staged {tiles.width} iterations at a time{ahead.get(tiles.buffering, '')}"


def _mapping(grid: Grid, names: dict[str, str]) -> Iterator[str]:
    """Who runs the points, from the lanes' axis on."""
    if grid.reductions:
        for axis in reversed(grid.axes):
            name = names.get(axis.name, axis.name)
            each = f"{axis.threads} {name}" if axis.threads > 1 else f"each {name}"
            yield f"{name} shared by {axis.threads} threads" if axis.loop else f"a block for {each}"
        return
    for axis, letter in zip(reversed(grid.computing), "xyz", strict=False):
        yield _dealt(axis, names.get(axis.name, axis.name), letter)
    yield from (f"{a.threads} threads for each copy" for a in grid.axes if a.copies)


def _dealt(axis: Axis, name: str, letter: str) -> str:
    """`j on x: 8 a thread, grouped by 4`."""
    if axis.per_thread == 1:
        return f"{name} on {letter}, one a thread"
    kinds = {1: "cyclic", axis.per_thread: "blocked"}
    kind = kinds.get(axis.group, f"in groups of {axis.group}")
    return f"{name} on {letter}, {axis.per_thread} a thread {kind}"
