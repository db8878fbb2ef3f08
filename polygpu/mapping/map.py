"""Mapping a nest to a grid by transformations: what is asked for, and what rules choose for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count, groupby
from types import MappingProxyType
from typing import cast

from polygpu.analysis.polyhedra import Polyhedra
from polygpu.mapping import time_tiles
from polygpu.mapping.apart import apart
from polygpu.mapping.attended import attended, is_swept, levels, stepwise
from polygpu.mapping.axes import inside_blocks
from polygpu.mapping.body import arranged
from polygpu.mapping.fixed import Fixed, single_member
from polygpu.mapping.fragments import Fragments, fragment_tiling, tensor_policy
from polygpu.mapping.place import hold, names_of_box, stage
from polygpu.mapping.products import Tiling, points_along
from polygpu.mapping.program import (
    Axis,
    Block,
    Buffering,
    Each,
    Grid,
    HostTree,
    InOrder,
    Program,
    Run,
    Tiles,
    Walk,
    children,
    series,
    with_children,
)
from polygpu.mapping.rules import (
    buffering,
    classify,
    fewer_threads,
    fitted,
    is_crowded,
    is_long,
    lane,
    narrower,
    scales,
    shared_bytes,
    tiling,
    within,
)
from polygpu.mapping.scaled import form_of
from polygpu.mapping.sharing import share
from polygpu.mapping.step_tiles import stepped
from polygpu.mapping.time_tiles import TimeTile
from polygpu.mapping.transformations import Access, Deal, Order, Scale, Strip, Transformation
from polygpu.mapping.wanted import RefusedError, Wanted, direction, runs_backwards, source_arrays
from polygpu.mapping.wave_tiles import waved
from polygpu.model.decisions import Decision
from polygpu.model.device import Device
from polygpu.schedule.loop_names import loop_names
from polygpu.schedule.nests import AXES
from polygpu.schedule.tree import (
    Band,
    Host,
    HostLoop,
    HostSequence,
    Member,
    Nest,
    Node,
    Shared,
    Steps,
    parts,
    sequence,
    single_iterator,
)
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import c_name, has_floors

_ANCHOR = 16  # elements that lanes access together

_ATTENDING = 256  # threads that copy for one
_ROW = 32  # iterations that it runs in a row


def map_host(p: Polyhedra, host: Host, grid: Callable[[Nest, tuple[Fixed, ...], str], Grid]) -> Program:
    """The program whose nests are what `grid` makes of each, of the loops around it, and of a name for it."""
    stem, numbers = p.scop.name.removeprefix("polygpu_"), count()

    def mapped(host: Host, outer: tuple[Fixed, ...]) -> HostTree:
        match host:
            case Nest():
                return grid(host, outer, f"{stem}_k{next(numbers)}")
            case HostSequence(children):
                return InOrder(tuple(mapped(child, outer) for child in children))
            case HostLoop(member, child):
                taken = {f.name for f in outer} | p.names()
                fixed = Fixed(member, member_name(p, member, f"c{len(outer)}", taken))
                return Each(fixed, mapped(child, (*outer, fixed)))

    return Program(p, mapped(host, ()))


def map_nest(
    p: Polyhedra,
    nest: Nest,
    outer: tuple[Fixed, ...],
    device: Device,
    asked: Wanted,
    name: str = "k",
    typical: Mapping[str, int] = MappingProxyType({}),
) -> Grid:
    """The kernel of `nest` on `device`: its parallel members in grid order (lanes last), all arrays placed.

    `typical` are values stated for sizes that are known at run time only.

    Raises RefusedError for a decision that the nest cannot follow.
    """
    if nest.shared is not None:
        names = tuple(a.name for a in _axes(p, nest, outer))
        grid = share(p, nest, outer, names, [_shared_by(m, asked) for m in nest.shared.loops], device)
        grid = _made(grid, Deal.of(grid), device, asked, "threads")
        return replace(grid, name=name, registers=_registers(device, asked))
    if nest.steps is not None:
        grid = _in_time(p, nest, nest.steps, outer, device, asked)
        return replace(grid, name=name, registers=_registers(device, asked))
    if nest.batch is not None:
        return replace(_stepped(p, nest, outer, device), name=name, registers=_registers(device, asked))
    if nest.waves is not None:
        return replace(_waved(p, nest, outer, device), name=name, registers=_registers(device, asked))
    nest = arranged(nest, tuple(f.member for f in outer), asked)
    inside = inside_blocks(plain(p, nest, outer), device, asked, typical)
    steps = tuple(m for k, m in enumerate(nest.parallel) if k in inside)
    nest = replace(nest, parallel=tuple(m for k, m in enumerate(nest.parallel) if k not in inside))
    made = _of_points(p, nest, _stepping(p, steps, outer), device, asked, name, typical)
    return stepwise(made, len(outer), bool(made.boxes))


def _of_points(
    p: Polyhedra,
    nest: Nest,
    outer: tuple[Fixed, ...],
    device: Device,
    asked: Wanted,
    name: str,
    typical: Mapping[str, int],
) -> Grid:
    """The kernel of a nest whose parallel loops are the axes."""
    grid = replace(plain(p, nest, outer), name=name, registers=_registers(device, asked))
    if not nest.parallel:
        copying = attend(grid, nest, device, asked) if asked.care < 3 else None
        return copying or hold(grid, asked).apply(stage(grid, device, asked).apply(grid))
    grid = _made(grid, _order(grid, asked), device, asked, "order")
    policy = tensor_policy(asked)
    if policy:
        made = _tiled(grid, fragment_tiling(policy, grid), device, asked)
        return _made(made, Fragments(policy), device, asked, "tensor")
    chosen = tiling(grid, device, typical)
    made = _tiled(grid, chosen, device, asked)
    narrow = narrower(grid, chosen, device, typical) if is_swept(made) and not asked.care else None
    if narrow is not None and not any(map(asked.find, ("tile", "threads", "attend"))):
        swept = _tiled(grid, narrow, device, asked)
        made = swept if len(swept.computing) < len(swept.axes) else made
    if not is_crowded(made, device) or asked.care >= 3 or asked.find("tile") or asked.find("threads"):
        return made
    tries = [made, *(_tiled(grid, t, device, asked) for t in fewer_threads(chosen, device))]
    return next((g for g in tries if not is_crowded(g, device)), max(tries, key=lambda g: len(g.boxes)))


def attend(grid: Grid, nest: Nest, device: Device, asked: Wanted) -> Grid | None:
    """A nest of one thread in a block whose other threads copy with it what it reads, in tiles of its loops.

        for (k = 0; k < n; ++k) s += A[k];   ->   for (k_tile = 0; k_tile < n; k_tile += 256) {
                                                      A_s[thread] = A[k_tile + thread];
                                                      if (thread == 0) for (k...) s += A_s[k]; }

    Loops around these go step by step in all threads: the deepest loops that are long are in tiles, or those
    that decisions name. The block is one of a loop of one iteration. None where nothing is copied so.
    """
    for around, body in levels(nest.body):
        here = replace(grid, outer=_stepping(grid.p, around, grid.outer))
        count = _attending(here, body, bool(around), device, asked)
        made = _attended(here, replace(nest, body=body), count, device, asked) if count > 1 else None
        if made is not None:
            return stepwise(made, len(grid.outer), True)
    decision = asked.find("attend")
    if decision is not None and any(value != 1 for n, value in decision.items if asked.knows(decision, n)):
        why = "nothing that these loops read can be copied for one thread"
        raise asked.refused(decision, "PG304", why, "leave the decision out")
    return None


def _stepping(p: Polyhedra, loops: Iterable[Member], outer: tuple[Fixed, ...]) -> tuple[Fixed, ...]:
    """One step of each of the loops, inside those of the host."""
    for member in loops:
        taken = {f.name for f in outer} | p.names()
        outer = (*outer, Fixed(member, member_name(p, member, f"c{len(outer)}", taken)))
    return outer


def _attending(grid: Grid, body: Node, inside: bool, device: Device, asked: Wanted) -> int:
    """How many threads copy in tiles of the outermost loops of `body`; 1 where none does.

    Where nobody names them, loops `inside` of others are long: their copies are waited for each time.
    """
    loops = [part.members[0] for part in parts(body) if isinstance(part, Band)]
    if not (decision := asked.find("attend")):
        usual = min(_ATTENDING, device.max_threads_per_block) if device.rule == "sector" else 1
    elif isinstance(decision.value, int):
        usual = decision.value
    else:
        wanted = (asked.value("attend", loop) for loop in loops)
        return next((count for count in wanted if isinstance(count, int)), 1)
    return usual if not inside or any(is_long(grid, loop, _ROW) for loop in loops) else 1


def _attended(grid: Grid, nest: Nest, count: int, device: Device, asked: Wanted) -> Grid | None:
    """The nest in one iteration of the loops around it, in tiles of its outermost loops."""
    single = replace(nest, parallel=(single_member(grid.p, nest.statements),))
    others = tuple(d for d in asked.decisions if d.key == "inner")
    one = replace(plain(grid.p, single, grid.outer), name=grid.name, registers=grid.registers)
    chosen = Tiling([(count, 1, 1)], count, buffering(classify(one), 1, device))
    made = _tiled(one, chosen, device, replace(asked, nest=single, decisions=others))
    return replace(made, unroll=_ROW) if any(tiles for _, tiles in made.boxes) else None


def _in_time(
    p: Polyhedra, nest: Nest, steps: Steps, outer: tuple[Fixed, ...], device: Device, asked: Wanted
) -> Grid:
    """The grid of a nest that runs several steps."""
    words = time_tiles.words(p, (c.array for c in steps.carried))
    usual = time_tiles.shape(len(nest.parallel), words)
    sizes = [(threads, points, points) for threads, points in usual]
    grid = replace(plain(p, nest, outer), reuse=Access.REUSE)
    grid = _made(grid, _deal(grid, within(sizes, device), asked), device, asked, "threads", "tile")
    axes = tuple(
        replace(axis, overlap=overlap, group=axis.per_thread)
        for axis, overlap in zip(grid.axes, time_tiles.overlaps(steps), strict=True)
    )
    for axis in axes:
        if axis.stride < 1:
            why = f"a tile of {axis.tile} points has none that {steps.count} steps leave whole"
            raise _unfit(grid, why, asked, "ask for a longer tile, or for fewer steps")
    taken = {n for a in axes for n in (a.name, a.origin)} | {f.name for f in outer} | p.names()
    time = member_name(p, steps.member, "t", taken)
    hold = asked.find("hold")
    sources = source_arrays(p, nest.statements)
    held = frozenset(
        c.array for c in steps.carried if hold is None or {c.array, sources[c.array]} & {*hold.names}
    )
    tile = TimeTile(p, steps, axes, outer[-1], time, held)
    made = replace(grid, axes=axes, block=tile.block())
    if shared_bytes(made) > device.shared_per_block:
        why = (
            f"a tile takes {shared_bytes(made)} bytes of shared memory; a block has {device.shared_per_block}"
        )
        raise _unfit(made, why, asked, "ask for a smaller tile")
    return made


def _unfit(grid: Grid, why: str, asked: Wanted, advice: str) -> Exception:
    for key in ("tile", "threads", "steps"):
        decision = asked.find(key)
        if decision is not None:
            return asked.refused(decision, "PG304", why, advice)
    position = grid.p.statement(grid.statements[0]).position
    return Diagnosed(Diagnostic("PG304", "error", why, position, advice))


def _stepped(p: Polyhedra, nest: Nest, outer: tuple[Fixed, ...], device: Device) -> Grid:
    assert nest.batch is not None and isinstance(nest.body, Band)
    axes = _axes(p, replace(nest, parallel=nest.batch.points), outer)
    names = tuple(a.name for a in axes)
    taken = {*names, *(a.origin for a in axes), *(f.name for f in outer)} | p.names()
    return stepped(p, nest, outer, names, member_name(p, nest.body.members[0], "step", taken), device)


def _waved(p: Polyhedra, nest: Nest, outer: tuple[Fixed, ...], device: Device) -> Grid:
    assert isinstance(nest.body, Band)
    names = tuple(a.name for a in _axes(p, nest, outer))
    taken = {n for name in names for n in (name, f"{name}_tile")} | {f.name for f in outer} | p.names()
    return waved(p, nest, outer, names, member_name(p, nest.body.members[0], "step", taken), device)


def _tiled(grid: Grid, t: Tiling, device: Device, asked: Wanted) -> Grid:
    """The grid in tiles of these sizes, unless others are asked for."""
    extents = [points_along(grid, k) for k in range(len(grid.axes))]
    sizes = within(fitted(t.shapes, extents, device), device)
    grid = _made(grid, _deal(grid, sizes, asked), device, asked, "threads", "tile", "deal")
    grid = _anchored(grid)
    if t.registers and asked.find("registers") is None and grid.dealt_as(t.shapes):
        grid = replace(grid, registers=t.registers)
    grid = _made(grid, _access(device, asked), device, asked, "wide")
    strip = _strip(grid, t, asked)
    if asked.find("walk") is None and strip.buffering == t.buffering and grid.dealt_as(t.shapes):
        grid = replace(grid, walk=t.walk)
    grid = _made(grid, strip, device, asked, "loads", "buffer")
    staged = _made(grid, stage(grid, device, asked), device, asked, "stage", "tile", "buffer")
    staged = _rings(staged)
    axes = attended(staged, t.attending, device, asked)
    held = hold(replace(grid, axes=axes), asked)  # of the nest as it is: what is staged is none of it
    staged = replace(staged, axes=axes)
    made = held.apply(_made(staged, _scale(staged, asked), device, asked, "scale"))
    return apart(made) if made.attending else made


def _anchored(grid: Grid) -> Grid:
    """In tiles of steps, of which each has its first points further on, few points before these."""
    if not any(has_floors(row) for f in grid.outer for row in f.member.rows.values()):
        return grid
    anchored = (replace(a, anchor=_ANCHOR) if a.stride % _ANCHOR == 0 else a for a in grid.axes)
    return replace(grid, axes=tuple(anchored))


def plain(p: Polyhedra, nest: Nest, outer: tuple[Fixed, ...]) -> Grid:
    """The nest as the schedule has it, a point a block: what transformations begin with."""
    return Grid(p, _axes(p, nest, outer), _parts(nest.body), outer)


def _made(grid: Grid, t: Transformation, device: Device, asked: Wanted, *keys: str) -> Grid:
    """The transformed grid; a refusal is that of the decision for the first of `keys` there is."""
    refusal = t.refuse(grid, device)
    if refusal is None:
        return t.apply(grid)
    decision = next((d for key in keys if (d := asked.find(key)) is not None), None)
    if decision is None:  # a device smaller than those that the rules know
        position = grid.p.statement(grid.statements[0]).position
        raise Diagnosed(Diagnostic(refusal.number, "error", refusal.why, position, refusal.advice))
    raise asked.refused(decision, refusal.number, refusal.why, refusal.advice)


def _parts(body: Node) -> Block:
    """Each loop of the body by itself, and what is between: what is staged for a part is copied before it."""
    groups = groupby(enumerate(parts(body)), lambda part: part[0] if isinstance(part[1], Band) else -1)
    return series(Run(sequence(child for _, child in group)) for _, group in groups)


def _axes(p: Polyhedra, nest: Nest, outer: tuple[Fixed, ...]) -> tuple[Axis, ...]:
    taken = {f.name for f in outer} | p.names()
    axes: list[Axis] = []
    for k, (member, default) in enumerate(_members(p, nest)):
        name = member_name(p, member, default or f"p{k}", taken)
        taken |= {name, f"{name}_tile"}
        axes.append(Axis(name, member))
    return tuple(axes)


def _shared_by(member: Member, asked: Wanted) -> int | None:
    """The threads that are asked for along a shared loop."""
    wanted, decision = asked.value("threads", member), asked.find("threads")
    if not isinstance(wanted, int) or decision is None:
        return None
    if wanted & (wanted - 1):
        why = f"the sums of {wanted} threads cannot be added up in halves"
        raise asked.refused(decision, "PG304", why, "ask for a power of two")
    return wanted


def _members(p: Polyhedra, nest: Nest) -> Iterator[tuple[Member, str]]:
    """The parallel loops, then the shared ones; what chunks are called that no iterator counts."""
    shared = nest.shared or Shared((), ())
    cut = [m for m, width in zip(shared.loops, shared.widths, strict=False) if width]
    first = len(nest.parallel) - len(cut)
    for member in nest.parallel[:first]:
        yield member, ""
    for member, loop in zip(nest.parallel[first:], cut, strict=True):
        yield member, f"{member_name(p, loop, 'c', set())}_chunk"
    for member in shared.loops:
        yield member, ""


def member_name(p: Polyhedra, member: Member, default: str, taken: set[str]) -> str:
    """The name in the source of the iterator that the member is, made different from those `taken`."""
    sources = p.source_names()
    names = {c_name(n) for s in member.statements if (n := single_iterator(member.rows[s])) is not None}
    base = min(sources.get(n, n) for n in names) if names else default
    candidate, number = base, 1
    while candidate in taken or f"{candidate}_tile" in taken:
        number += 1
        candidate = f"{base}{number}"
    return candidate


def _order(grid: Grid, asked: Wanted) -> Order:
    decision = asked.find("order")
    if decision is None:
        last, backwards = lane(grid)
        axes = (*(k for k in range(len(grid.axes)) if k != last), last)
        return Order(axes, frozenset({last} if backwards else ()))
    found = [_axis(grid, name, asked, decision) for name in decision.names]
    turned = {k for k, backwards in found if backwards != runs_backwards(grid.axes[k].member)}
    return Order(tuple(k for k, _ in found), frozenset(turned))


def _axis(grid: Grid, name: str, asked: Wanted, decision: Decision) -> tuple[int, bool]:
    """The axis that is named, and whether it is to run backwards."""
    names = [loop_names(grid.p, a.member) for a in grid.axes]
    for k, known in enumerate(names):
        backwards = direction(name, known)
        if backwards is not None:
            return k, backwards
    plain, parallel = name.removeprefix("-"), ", ".join(map(min, names))
    others = [m for m in asked.nest.parallel if len(decision.names) > AXES and plain in loop_names(grid.p, m)]
    if others:
        why = f"a grid has {AXES} axes, and {len(decision.names)} loops are named; blocks go through others"
        raise asked.refused(decision, "PG304", why, f"name {AXES} of them, the lanes' last")
    verdict = asked.sequential(plain)
    reason = verdict.why if verdict is not None else f"the parallel ones are {parallel}"
    why = f"'{plain}' is no parallel loop of this nest: {reason}"
    raise asked.refused(decision, "PG304", why, f"order {parallel}", verdict)


def _deal(grid: Grid, sizes: list[tuple[int, int, int]], asked: Wanted) -> Deal:
    shapes = (_shape(axis, *size, asked) for axis, size in zip(grid.axes, sizes, strict=True))
    return Deal(tuple(shapes))


def _shape(axis: Axis, threads: int, points: int, group: int, asked: Wanted) -> tuple[int, int, int]:
    """Threads, points a thread and group of an axis, given those that rules choose."""
    if asked.care >= 3:
        return threads, 1, 1
    tile, wanted = asked.value("tile", axis.member), asked.value("threads", axis.member)
    if isinstance(wanted, int):
        threads, size = wanted, tile if isinstance(tile, int) else wanted * points
    else:
        size = tile if isinstance(tile, int) else threads * points
        threads = min(threads, size)
    if size % threads:
        decision = asked.find("threads") or asked.find("tile")
        assert decision is not None, "rules deal tiles evenly"
        why = f"a tile of {size} points cannot be dealt to {threads} threads"
        raise asked.refused(decision, "PG304", why, "ask for a tile that is a multiple of its threads")
    new = size // threads
    kept = group if new == points or tensor_policy(asked) else _by_four(new, 1)
    return threads, new, _group(axis, new, kept, asked)


def _by_four(points: int, otherwise: int) -> int:
    return 4 if points % 4 == 0 else otherwise


def _group(axis: Axis, points: int, kept: int, asked: Wanted) -> int:
    deal = asked.value("deal", axis.member)
    if not isinstance(deal, int):
        return {"cyclic": 1, "blocked": points, "grouped": _by_four(points, points)}.get(str(deal), kept)
    if points % deal:
        decision = asked.find("deal")
        assert decision is not None
        why = f"{points} points of a thread cannot be dealt {deal} at once"
        raise asked.refused(decision, "PG304", why, "ask for a divisor")
    return deal


def _access(device: Device, asked: Wanted) -> Access:
    widest = device.widest_access if device.rule == "sector" else 0
    wide, loads, unroll, reuse = (asked.find(key) for key in ("wide", "loads", "unroll", "reuse"))
    widest = cast(int, wide.value) if wide else widest
    words = {"full": 0, "none": 1, "auto": None}
    rows = unroll.value if unroll else "auto"
    walk = asked.find("walk")
    return Access(
        0 if asked.care >= 2 else widest,
        loads.value if loads and isinstance(loads.value, int) else 0,
        1 if asked.care >= 3 else rows if isinstance(rows, int) else words[str(rows)],
        0 if asked.care >= 3 else cast(int, reuse.value) if reuse else Access.REUSE,
        cast(Walk, walk.value) if walk and not asked.care else "rows",
    )


def _registers(device: Device, asked: Wanted) -> int:
    """The registers of a thread that are asked for; 0 for as many as it needs."""
    decision, most = asked.find("registers"), device.max_registers_per_thread
    if decision is None or not isinstance(decision.value, int):
        return 0
    if decision.value > most:
        why = f"{device.title} has {most} registers a thread"
        raise asked.refused(decision, "PG304", why, "ask for fewer registers")
    return decision.value


def _strip(grid: Grid, t: Tiling, asked: Wanted) -> Strip:
    kind, stages, widths = t.buffering, t.stages, list[int]()
    for part in grid.parts:
        band = part.node if isinstance(part, Run) and isinstance(part.node, Band) else None
        width = asked.value("tile", band.members[0]) if band is not None else 0
        widths.append(width if isinstance(width, int) else t.step)
    buffer = asked.find("buffer")
    if buffer is not None:
        kind = cast(Buffering, buffer.names[0] if buffer.names else buffer.value)
        stages = next((n for name, n in buffer.items if name and isinstance(n, int)), Tiles.stages)
    if kind == "ring" and buffer is not None and grid.widest == 0 and not asked.care:
        raise asked.refused(
            buffer, "PG304", "wide(0) leaves no copies that are not waited for", "decide wide(4)"
        )
    return Strip(tuple(widths), "none" if asked.care else kind, stages)


def _scale(grid: Grid, asked: Wanted) -> Scale:
    """What is asked for, or what travels in registers on its way to shared memory.

    Raises RefusedError where nothing is made of an array that is asked for, or different things are.
    """
    decision = asked.find("scale")
    if asked.care or (decision is not None and not decision.names):
        return Scale(())
    found = [(box, tiles, form_of(grid, box.references)) for box, tiles in grid.boxes]
    forms = [(box, tiles, form) for box, tiles, form in found if form is not None]
    if decision is None:
        return Scale(tuple((b.name, f) for b, tiles, f in forms if tiles and scales(grid, b, tiles)))
    for name in decision.names:
        if asked.knows(decision, name) and not any(name in names_of_box(grid, box) for box, _, _ in forms):
            why = f"nothing is made of '{name}' with scalars alone, the same wherever it is read"
            raise asked.refused(decision, "PG310", why, "leave it out of the decision")
    return Scale(tuple((b.name, f) for b, _, f in forms if names_of_box(grid, b) & {*decision.names}))


def _rings(grid: Grid) -> Grid:
    """Rings where there can be some: what is copied an element at once is waited for."""
    return grid if grid.widest else replace(grid, block=_unbuffered(grid.block))


def _unbuffered(block: Block) -> Block:
    block = with_children(block, tuple(map(_unbuffered, children(block))))
    ring = isinstance(block, Tiles) and block.buffering == "ring"
    return replace(block, buffering="none") if isinstance(block, Tiles) and ring else block


__all__ = ["RefusedError", "map_nest", "member_name", "plain"]
