"""Mapping a nest to blocks and threads: which dimension the lanes follow, tile sizes, points a thread.

The lane dimension is the one along which most accesses touch neighbours (ICS'08's space-adjacent dimension,
innermost and dealt cyclically). Tile sizes go by the class of the nest and the rules of the device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import islpy as isl

from polygpu.analysis.patterns import Pattern
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.mapping.owned import nest_patterns, promote
from polygpu.mapping.program import Axis, Block, Buffering, Fixed, Grid, Run, Tiles, series
from polygpu.model.decisions import NO_DECISIONS, Decision, Decisions
from polygpu.model.device import Device
from polygpu.schedule.tree import Member, Nest, Node, Sequence, members_on, single_iterator
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import D, c_name

_STRIDED_READ, _STRIDED_WRITE, _MOVE_BY_DEPTH = 1, 4, 4


@dataclass(frozen=True)
class NestClass:
    """What the tile sizes depend on.

    `product`: registers accumulate over a loop whose operands several points share. `stencil`: points read
    each other's neighbours. `transposing`: some access is strided along the lanes. `loops`: sequential
    loops in the nest. `rectangular`: loop bounds do not depend on the point.
    """

    product: bool
    stencil: bool
    transposing: bool
    loops: bool
    rectangular: bool


@dataclass(frozen=True)
class Flow:
    """How sequential loops are to be tiled where arrays are staged: see `program.Tiles`."""

    step: int
    buffering: Buffering = "none"
    stages: int = Tiles.stages


def map_nest(
    p: Polyhedra,
    nest: Nest,
    outer: tuple[Fixed, ...],
    device: Device,
    decisions: Decisions = NO_DECISIONS,
    kernel: str = "",
) -> tuple[Grid, Flow]:
    """`nest` with its parallel members in grid order (lanes last) and sizes for `device`.

    `decisions` for `kernel` replace what the class of nest would get. Raises Diagnosed where a block they
    ask for is not possible.
    """
    draft = Grid(p, _axes(p, nest, outer), _runs(nest.body), outer)
    if not nest.parallel:
        return draft, Flow(0)
    ordered, found = _order(draft)
    kind = classify(ordered, found)
    sizes, step = tile_sizes(len(nest.parallel), kind, device)
    sizes = _decided_sizes(ordered, sizes, decisions, kernel)
    axes = tuple(
        replace(axis, threads=t, per_thread=r, group=g)
        for axis, (t, r, g) in zip(ordered.axes, sizes, strict=True)
    )
    mapped = replace(
        ordered,
        axes=axes,
        widest=device.widest_access if device.rule == "sector" and decisions.care < 2 else 0,
        loads=_number(decisions.find(kernel, "loads"), {"all": 0}) or 0,
        unroll=_number(decisions.find(kernel, "unroll"), {"full": 0, "none": 1}),
    )
    flow = _flow(Flow(step, buffering(kind, len(axes), device)), decisions, kernel)
    mapped = mapped if decisions.care < 3 else _one_point_a_thread(mapped)
    _check_block(mapped, device)
    if mapped.loads and flow.buffering != "none":
        message = f"'loads' is about copies that are waited for, not about buffering={flow.buffering}"
        raise _refused(mapped, "PG304", message, "decide buffering=none too")
    return mapped, flow


def _runs(body: Node) -> Block:
    """Each child of the body by itself: what is staged for one of them is copied before it."""
    return series(Run(child) for child in (body.children if isinstance(body, Sequence) else (body,)))


def _flow(flow: Flow, decisions: Decisions, kernel: str) -> Flow:
    chosen = {key: decisions.find(kernel, key) for key in ("step", "buffering", "stages")}
    return Flow(
        int(chosen["step"].value) if chosen["step"] else flow.step,
        "none"
        if decisions.care
        else cast(Buffering, chosen["buffering"].value)
        if chosen["buffering"]
        else flow.buffering,
        int(chosen["stages"].value) if chosen["stages"] else flow.stages,
    )


def _one_point_a_thread(m: Grid) -> Grid:
    return replace(m, axes=tuple(replace(a, per_thread=1, group=1) for a in m.axes), unroll=1)


def _number(decision: Decision | None, words: dict[str, int]) -> int | None:
    if decision is None:
        return None
    return words[decision.value] if decision.value in words else decision.sizes[0]


def _decided_sizes(m: Grid, sizes: Sizes, decisions: Decisions, kernel: str) -> Sizes:
    """`sizes` with the tile, the threads and their distribution that were asked for."""
    tile, threads, deal = (decisions.find(kernel, key) for key in ("tile", "threads", "deal"))
    tiles = [t * r for t, r, _ in sizes] if tile is None else _per_axis(m, tile)
    if threads is not None:
        counts = _per_axis(m, threads)
    elif tile is None:
        counts = [t for t, _, _ in sizes]
    else:
        counts = [min(t, wanted) for (t, _, _), wanted in zip(sizes, tiles, strict=True)]
    if threads is not None and tile is None:
        tiles = [t * r for t, (_, r, _) in zip(counts, sizes, strict=True)]
    for t, wanted in zip(counts, tiles, strict=True):
        if wanted % t:
            raise _refused(m, "PG304", f"a tile of {wanted} points cannot be dealt to {t} threads")
    result: Sizes = []
    for t, wanted, (_, r, group) in zip(counts, tiles, sizes, strict=True):
        points = wanted // t
        kept = group if points == r else (4 if points % 4 == 0 else 1)
        words = {"cyclic": 1, "blocked": points, "grouped": 4 if points % 4 == 0 else points}
        result.append((t, points, words[deal.value] if deal else kept))
    return result


def _per_axis(m: Grid, decision: Decision) -> list[int]:
    """The decision's numbers for the parallel dimensions as the schedule has them, lanes last."""
    count = len(m.axes)
    sizes = decision.sizes
    if len(sizes) > count:
        raise _refused(m, "PG304", f"'{decision}' has {len(sizes)} sizes for {count} parallel dimensions")
    return [1] * (count - len(sizes)) + list(sizes)


def _check_block(m: Grid, device: Device) -> None:
    x, y, z = m.shape
    most = device.max_threads_per_block
    if x * y * z > most:
        message = f"a block of {x * y * z} threads; {device.title} allows {most}"
        raise _refused(m, "PG304", message)
    if any(have > allowed for have, allowed in zip((x, y, z), device.max_block, strict=True)):
        limits = " x ".join(str(n) for n in device.max_block)
        raise _refused(m, "PG304", f"a block of {x} x {y} x {z} threads; {device.title} allows {limits}")


def _refused(
    m: Grid, number: str, message: str, help_text: str = "ask for a smaller tile or fewer threads"
) -> Diagnosed:
    position = m.p.statement(m.statements[0]).position
    return Diagnosed(Diagnostic(number, "error", message, position, help_text))


def buffering(kind: NestClass, count: int, device: Device) -> Buffering:
    """How staged tiles follow each other: by what limits the class of nest on the device."""
    if device.rule != "sector":
        return "none"
    if kind.product and kind.rectangular:
        return "prefetch"
    if count > 1 or not kind.loops:
        return "none"
    return "ring" if device.asynchronous_copies else "prefetch"


def _axes(p: Polyhedra, nest: Nest, outer: tuple[Fixed, ...]) -> tuple[Axis, ...]:
    taken = {f.name for f in outer} | p.names()
    axes: list[Axis] = []
    for k, member in enumerate(nest.parallel):
        name = member_name(p, member, f"p{k}", taken)
        taken |= {name, f"{name}_tile"}
        axes.append(Axis(name, member))
    return tuple(axes)


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


def _order(m: Grid) -> tuple[Grid, list[Pattern]]:
    """`m` with the lane dimension last, walked forwards, and its patterns."""
    found = nest_patterns(m)
    lane = min(range(len(m.axes)), key=lambda d: (_cost(m, found, d), -d))
    axes = [a for d, a in enumerate(m.axes) if d != lane] + [m.axes[lane]]
    if _backwards(found, lane):
        axes[-1] = replace(axes[-1], member=axes[-1].member.reversed())
    ordered = replace(m, axes=tuple(axes))
    return ordered, nest_patterns(ordered)


def _cost(m: Grid, found: list[Pattern], d: int) -> float:
    cost = 0.0
    for p in found:
        weight = _MOVE_BY_DEPTH ** min(p.depth, 3)
        if p.kind(d) == "strided":
            cost += weight * (_STRIDED_WRITE if p.access.write else _STRIDED_READ)
        elif p.kind(d) == "unit":
            cost -= 0.01 * weight
    return cost


def _backwards(found: list[Pattern], lane: int) -> bool:
    kinds = [p.kind(lane) for p in found]
    return kinds.count("reverse") > kinds.count("unit")


def classify(m: Grid, found: list[Pattern]) -> NestClass:
    promoted = {p.tuple_name for p in promote(m)}
    lane = len(m.axes) - 1
    others = [p for p in found if p.access.reference.array not in promoted]
    shared = any(
        p.depth > 0 and p.access.reference.subscripts and "broadcast" in {p.kind(d) for d in range(lane + 1)}
        for p in others
    )
    accumulates = any(p.depth > 0 and p.access.write and p.access.reference.array in promoted for p in found)
    two_loops = lane >= 1
    return NestClass(
        product=bool(promoted) and accumulates and shared and two_loops and _reduction_is_long(m),
        stencil=_overlaps(found),
        transposing=any(p.kind(lane) == "strided" for p in others),
        loops=any(p.depth > 0 for p in found),
        rectangular=is_rectangular(m),
    )


def _reduction_is_long(m: Grid) -> bool:
    """Whether some sequential loop has no constant trip count."""
    for s in m.statements:
        for member in members_on(m.node, s):
            values = m.domain(s).apply(isl.Map.from_pw_aff(member.rows[s]))
            width = values.dim_max_val(0).sub(values.dim_min_val(0)) if values.dim(D.param) == 0 else None
            if width is None or not width.is_int() or width.to_python() > 16:
                return True
    return False


def _overlaps(found: list[Pattern]) -> bool:
    """Whether two references of a statement read the same array a constant distance apart."""
    seen: dict[tuple[str, str, tuple[tuple[int, ...] | None, ...]], set[object]] = {}
    for p in found:
        if p.access.write or not p.access.reference.subscripts:
            continue
        key = (p.statement, p.access.reference.array, p.steps)
        seen.setdefault(key, set()).add(p.access.reference.subscripts)
    return any(len(v) > 1 for v in seen.values())


def is_rectangular(m: Grid) -> bool:
    """Whether every loop inside the nest has the same bounds at all points."""
    for s in m.statements:
        inner = [member.rows[s] for member in members_on(m.node, s)]
        if not inner:
            continue
        points = _image(m, s, [a.member.rows[s] for a in m.axes])
        values = _image(m, s, inner)
        both = _image(m, s, [*(a.member.rows[s] for a in m.axes), *inner])
        if not points.flat_product(values).is_subset(both):
            return False
    return True


def _image(m: Grid, statement: str, rows: list[isl.PwAff]) -> isl.Set:
    relation = isl.Map.from_pw_aff(rows[0])
    for row in rows[1:]:
        relation = relation.flat_range_product(isl.Map.from_pw_aff(row))
    return m.domain(statement).apply(relation)


Sizes = list[tuple[int, int, int]]  # threads, points a thread, group: one an axis


def tile_sizes(count: int, kind: NestClass, device: Device) -> tuple[Sizes, int]:
    """Threads, points a thread and group of each axis (lanes last), and the step of strip-mined loops."""
    wide = device.rule == "sector"
    if count == 1:
        if kind.loops and kind.transposing:
            return ([(64, 1, 1)] if wide else [(device.request_lanes * 4, 1, 1)]), (64 if wide else 16)
        return [(256 if not kind.loops else 64 if wide else 128, 1, 1)], 64 if wide else 16
    front: Sizes = [(1, 1, 1)] * (count - 2)
    if kind.product and kind.rectangular and wide:
        return [*front, (8, 8, 4), (16, 8, 4)], 16
    if kind.product or (kind.transposing and not wide):
        return [*front, (16, 1, 1), (16, 1, 1)], 16
    if kind.transposing:
        return [*front, (8, 4, 1), (32, 1, 1)], 32
    if kind.stencil and wide and not kind.loops:
        return [*front, (2, 8, 8), (128, 1, 1)], 16
    if wide:
        return [*front, (4, 1, 1), (64, 1, 1)], 16
    return [*front, (8, 1, 1), (32, 1, 1)], 16
