"""What the papers' algorithms say of each kernel, beside what the compiler chose, for `polygpu inspect`.

Names, memory spaces and thread mappings are those of Jang, Choi and Kim (2014), loads and stores of tiles
those of Baskaran et al. (ICS'08, section 4.6). Nothing else needs sympy, which takes a while to load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

from polygpu.analysis.jang_patterns import JangReference
from polygpu.compilation import Compilation
from polygpu.lower.realise import CompiledRegion
from polygpu.mapping.jang import ranked, references, spaces, thread_mappings
from polygpu.mapping.program import Grid
from polygpu.mapping.traffic import Count, Traffic, tile_size, traffic
from polygpu.mapping.wanted import array_label, source_arrays
from polygpu.model.device import Device
from polygpu.model.facts import AccessFact, CompilationFacts
from polygpu.model.kernel import Kernel
from polygpu.perf.launches import typical_launch
from polygpu.perf.resources import registers_of
from polygpu.report.layout import Line, Span, indented, line, table
from polygpu.report.quantities import counted, share
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import TooLongError, bounded

_BEST = 3  # mappings that are shown
_STEPS = 500_000  # of isl for a kernel; those of the benchmarks take 250,000 at most
_OF_TRAFFIC = 400_000  # of these


@dataclass(frozen=True, slots=True)
class NamedReference:
    """A reference of the source: its patterns, the paper's space of its array, and where it is here."""

    text: str
    between_threads: str
    within_a_thread: str
    space: str
    chosen: str


@dataclass(frozen=True, slots=True)
class RankedMapping:
    """`threads` along each loop, that of tx first; `staged` elements of each array; blocks resident."""

    rank: int
    threads: tuple[tuple[str, int], ...]
    uncoalesced: int
    staged: tuple[tuple[str, int], ...]
    resident: int
    occupancy: float


@dataclass(frozen=True, slots=True)
class TileTraffic:
    """Elements of an array that a full tile moves, and all tiles of a launch, symbolic and at the kernel's
    sizes: of tiles that divide what there is, and that are no smaller than the distances between references.

    At most so many where not exact. "" and None where no expression says them.
    """

    array: str
    write: bool
    exact: bool
    tile: str
    tile_at: int | None
    launch_exact: bool
    launch: str
    launch_at: int | None


@dataclass(frozen=True, slots=True)
class KernelPapers:
    """Nothing but traffic is said of a kernel of one thread. `tile` has the iterations of each axis."""

    kernel: str
    references: tuple[NamedReference, ...]
    mappings: tuple[RankedMapping, ...]
    tile: tuple[tuple[str, int], ...]
    sizes: dict[str, int]
    traffic: tuple[TileTraffic, ...]


def papers(
    compilation: Compilation, facts: CompilationFacts, sizes: Mapping[str, int]
) -> tuple[KernelPapers, ...]:
    """One entry a kernel, evaluated for `sizes` of the problem, the usual ones where none is given.

    There is none of a kernel whose sets take isl long.
    """
    found: list[KernelPapers] = []
    for r, known in zip(compilation.regions, facts.regions, strict=True):
        for grid, padded in zip(r.grids, r.padded, strict=True):
            with suppress(TooLongError), bounded(_STEPS):
                kernel = padded.kernel
                found.append(_kernel(r, grid, kernel, compilation.device, known.accesses, sizes))
    return tuple(found)


def _kernel(
    r: CompiledRegion,
    grid: Grid,
    kernel: Kernel,
    device: Device,
    accesses: Sequence[AccessFact],
    sizes: Mapping[str, int],
) -> KernelPapers:
    found = references(grid)
    names = [r.polyhedra.source_names().get(a.name, a.name) for a in grid.computing]
    mine = [a for a in accesses if a.kernel == kernel.name]
    launch = typical_launch(r.region, kernel.name, sizes)
    values = dict(launch.values) if launch is not None else {}
    return KernelPapers(
        kernel.name,
        tuple(_named(found, names, mine, device)) if names else (),
        tuple(_mappings(found, names, device, registers_of(kernel, device))) if names else (),
        tuple((str(tile_size(a)), a.tile) for a in grid.computing),
        {n: v for n, v in values.items() if n in r.polyhedra.parameters or n in {f.name for f in grid.outer}},
        tuple(_traffic(grid, values)),
    )


def _named(
    found: Sequence[JangReference], loops: Sequence[str], accesses: Sequence[AccessFact], device: Device
) -> Iterator[NamedReference]:
    """One entry a text, which reads and writes may share."""
    lane = len(loops) - 1
    placed = spaces(found, lane, device)
    for text in dict.fromkeys(r.text for r in found):
        r = next(r for r in found if r.text == text)
        chosen = ", ".join(dict.fromkeys(a.space for a in accesses if a.text == text))
        between = ", ".join(_between(r, loops, d) for d in reversed(r.indexed_by()))
        within = dict.fromkeys(r.within(d) for d in range(len(r.intra)) if r.within(d) != "none")
        alone = "same address" if r.same_address else ""
        written = placed[r.array] == "texture" and any(o.write for o in found if o.array == r.array)
        space = "texture, or staged" if written else placed[r.array]  # which dialects can only read
        yield NamedReference(text, between or alone, ", ".join(within), space, chosen)


def _between(r: JangReference, loops: Sequence[str], d: int) -> str:
    """`true linear j`: only the loop of the lanes can be true."""
    kind = r.between(d)
    truth = "true " if d == len(loops) - 1 and r.true(d) else "false "
    return f"{'' if kind == 'random' else truth}{kind} {loops[d]}"


def _mappings(
    found: Sequence[JangReference], loops: Sequence[str], device: Device, registers: int
) -> Iterator[RankedMapping]:
    every = ranked(thread_mappings(found, len(loops), device, registers))
    for rank, m in every[:_BEST]:
        threads = tuple((loops[d], extent) for d, extent in zip(m.loops, m.shape, strict=True))
        yield RankedMapping(rank, threads, m.cost, m.gain, m.resident.blocks, m.resident.share)


def _traffic(grid: Grid, sizes: Mapping[str, int]) -> Iterator[TileTraffic]:
    """What tiles move of each array; nothing where sets take isl long, as those of waves of tiles do."""
    try:
        with bounded(_OF_TRAFFIC):
            found = traffic(grid)
    except TooLongError:
        return
    sources = source_arrays(grid.p, grid.statements)
    for write, counts in ((False, found.loads), (True, found.stores)):
        for array, count in counts.items():
            name = array_label(sources, array)
            yield _moved(name, write, found, count, sizes)


def _moved(
    array: str, write: bool, found: Traffic, count: Count | None, sizes: Mapping[str, int]
) -> TileTraffic:
    if count is None:
        return TileTraffic(array, write, False, "", None, False, "", None)
    total = found.total(count)
    exact = count.exact and found.box
    tile: int | None = None
    launch: int | None = None
    try:
        values = found.chosen(sizes)
        tile, launch = count.at(values), found.total_at(count, values)
    except KeyError:
        pass  # a length that no expression says
    return TileTraffic(array, write, count.exact, str(count.symbolic()), tile, exact, str(total), launch)


def papers_lines(found: Sequence[KernelPapers]) -> Iterator[Line]:
    """The section of the report."""
    if found:
        yield line()
        whose = "patterns, spaces and threads of Jang et al. (2014), elements moved of ICS'08, section 4.6"
        yield line(Span("by the papers' algorithms", "title"), Span(f": {whose}", "dim"))
    for k in found:
        sizes = ", ".join(f"{name} = {value}" for name, value in sorted(k.sizes.items()))
        yield line()
        yield line("  ", Span("kernel", "label"), f" {k.kernel}", Span(f"  {sizes}", "dim"))
        tables = (_reference_rows(k), _mapping_rows(k), _traffic_rows(k))
        for number, rows in enumerate(rows for rows in tables if len(rows) > 1):
            if number:
                yield line()
            yield from indented(table(rows), 4)


Rows: TypeAlias = list[list[Span | str]]


def _reference_rows(k: KernelPapers) -> Rows:
    """Jang's names, and the answers of algorithm 1."""
    rows = [_header("access", "between threads", "within a thread", "space", "here")]
    for r in k.references:
        rows.append([r.text, r.between_threads or "-", r.within_a_thread or "-", r.space, r.chosen])
    return rows


def _mapping_rows(k: KernelPapers) -> Rows:
    """The best answers of algorithm 2."""
    rows = [_header("rank", "threads", "uncoalesced", "staged", "resident")]
    for m in k.mappings:
        threads = " x ".join(f"{extent} {loop}" for loop, extent in m.threads)
        staged = ", ".join(f"{array} {elements:,}" for array, elements in m.staged) or "none"
        resident = f"{counted(m.resident, 'block')}, {share(m.occupancy)}"
        rows.append([str(m.rank), threads, f"{m.uncoalesced:,}", staged, resident])
    return rows


def _traffic_rows(k: KernelPapers) -> Rows:
    """ICS'08's loads and stores."""
    tile = " x ".join(f"{name} = {extent}" for name, extent in reversed(k.tile))
    rows = [_header("array", "", "of a tile", tile, "of all tiles", "")]
    for t in k.traffic:
        counts = [(t.tile, t.tile_at, t.exact), (t.launch, t.launch_at, t.launch_exact)]
        texts = (text for counted in counts for text in _count(*counted))
        rows.append([t.array, "stores" if t.write else "loads", *texts])
    return rows


def _header(*names: str) -> list[Span | str]:
    return [Span(name, "dim") for name in names]


def _count(symbolic: str, value: int | None, exact: bool) -> tuple[str, str]:
    most = "" if exact else "at most "
    return f"{most}{symbolic}" if symbolic else "unknown", "" if value is None else f"{value:,}"
