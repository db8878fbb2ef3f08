"""Which memory space each access of a mapped nest uses (ICS'08 section 4, step 1; Jang's priorities).

Registers for arrays whose elements belong to one point each (accumulators), shared memory for what does not
coalesce or is reused by the block, global memory for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import islpy as isl

from polygpu.analysis.patterns import Pattern, access_matrix
from polygpu.analysis.polyhedra import array_tuple
from polygpu.mapping.footprint import Side, box
from polygpu.mapping.map import Flow
from polygpu.mapping.owned import nest_patterns, promote, written_arrays
from polygpu.mapping.program import (
    Axis,
    Block,
    Box,
    Copied,
    Fixed,
    Grid,
    Held,
    ReferenceKey,
    Run,
    Tiles,
    reference_key,
    series,
    walk,
)
from polygpu.model.decisions import NO_DECISIONS, Decision, Decisions
from polygpu.model.device import Device
from polygpu.model.expr import SIZES
from polygpu.schedule.tree import Band, Member, Node, single_iterator
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import D, c_name


@dataclass(frozen=True)
class Segment:
    """A part of the kernel that copies what it stages by itself; `tiles` is its outermost loop in tiles."""

    node: Node
    tiles: Fixed | None


@dataclass(frozen=True)
class Candidate:
    """A box that segment number `segment` could have in shared memory, in each of its tiles if `stepped`."""

    box: Box
    segment: int
    stepped: bool


def segments(m: Grid, step: int) -> tuple[Segment, ...]:
    nodes = [run.node for run in walk(m.block) if isinstance(run, Run)]
    return tuple(Segment(node, _tiles(m, node, step)) for node in nodes)


def _tiles(m: Grid, node: Node, step: int) -> Fixed | None:
    if not isinstance(node, Band) or step == 0:
        return None
    return Fixed(node.members[0], _tile_name(m, node.members[0]), step)


def place(m: Grid, flow: Flow, device: Device, decisions: Decisions = NO_DECISIONS, kernel: str = "") -> Grid:
    """`m` with every access in its memory space.

    Raises Diagnosed when tiles that were asked for do not fit in the device's shared memory.
    """
    parts = segments(m, flow.step)
    held = promote(m)
    taken = {p.tuple_name for p in held} | written_arrays(m)
    chosen: list[Candidate] = []
    budget = _budget(device)
    stage = decisions.find(kernel, "stage")
    asked = _asked(m, stage)
    on = (stage is None or stage.value != "off") and decisions.care < 3
    for candidate in _candidates(m, flow, parts, nest_patterns(m), taken, device, asked) if on else ():
        size = _bytes(m, candidate, flow)
        if size <= budget:
            budget -= size
            chosen.append(candidate)
        elif asked or any(decisions.find(kernel, key) for key in ("tile", "step", "stages")):
            raise _too_large(m, candidate.box, size, budget, device)
    for array in sorted(asked - {c.box.array for c in chosen}) if on else ():
        raise _not_staged(m, array, any(t == array or t.startswith(f"{array}.") for t in taken))
    named = _named(chosen)
    block = series(_segment(k, s, named, flow) for k, s in enumerate(parts))
    return replace(m, block=Held(held, block) if held else block)


def _segment(number: int, segment: Segment, chosen: Sequence[Candidate], flow: Flow) -> Block:
    """What is copied once around tiles, if any, with what is copied for each of them, around the code."""
    mine = [c for c in chosen if c.segment == number]
    block: Block = Run(segment.node)
    stepped = tuple(c.box for c in mine if c.stepped)
    if stepped:
        assert segment.tiles is not None
        t = segment.tiles
        block = Tiles(t.member, t.name, t.width, Copied(stepped, block), flow.buffering, flow.stages)
    whole = tuple(c.box for c in mine if not c.stepped)
    return Copied(whole, block) if whole else block


def _budget(device: Device) -> int:
    """Bytes of a block for its arrays."""
    arguments = device.argument_bytes if device.arguments_in_shared else 0
    return device.shared_per_block - device.shared_reserved - arguments


def _asked(m: Grid, stage: Decision | None) -> frozenset[str]:
    """The arrays of the nest that a decision names. Raises Diagnosed for a name that is no array here."""
    if stage is None or not stage.arrays:
        return frozenset()
    used = {a.reference.array for s in m.statements for a in m.p.statement(s).accesses}
    known = used if stage.kernel else {a.name for a in m.p.arrays}
    for name in stage.arrays:
        if name not in known:
            where = f"kernel {stage.kernel}" if stage.kernel else "the region"
            raise _refused(m, "PG310", f"'{stage}': {where} has no array '{name}'", "")
    return frozenset(stage.arrays) & used


def _not_staged(m: Grid, array: str, written: bool) -> Diagnosed:
    why = "the kernel writes it" if written else "no tile of it has a constant size"
    message = f"'{array}' cannot go through shared memory: {why}"
    return _refused(m, "PG310", message, "leave the array out of the decision")


def _refused(m: Grid, number: str, message: str, advice: str) -> Diagnosed:
    position = m.p.statement(m.statements[0]).position
    return Diagnosed(Diagnostic(number, "error", message, position, advice))


def _too_large(m: Grid, s: Box, size: int, left: int, device: Device) -> Diagnosed:
    message = f"the tile of '{s.array}' takes {size} bytes of shared memory; {device.title} has {left} left"
    return _refused(m, "PG305", message, "ask for a smaller tile or step")


def _named(chosen: list[Candidate]) -> list[Candidate]:
    counts: dict[str, int] = {}
    result: list[Candidate] = []
    for c in sorted(chosen, key=lambda c: (c.segment, c.box.tuple_name, sorted(map(str, c.box.references)))):
        number = counts[c.box.array] = counts.get(c.box.array, 0) + 1
        name = f"{c.box.array}_s" if number == 1 else f"{c.box.array}_s{number}"
        result.append(replace(c, box=replace(c.box, name=name)))
    return result


def _bytes(m: Grid, c: Candidate, flow: Flow) -> int:
    copies = flow.stages if c.stepped and flow.buffering == "ring" else 1
    return SIZES.get(m.p.array(c.box.array).element, 4) * copies * prod(c.box.extents)


def _candidates(
    m: Grid,
    flow: Flow,
    parts: tuple[Segment, ...],
    found: list[Pattern],
    taken: set[str],
    device: Device,
    asked: frozenset[str],
) -> list[Candidate]:
    """What is worth staging, the most valuable first: uncoalesced accesses, then reuse.

    With arrays `asked` for it is those instead.
    """
    result: list[tuple[int, Candidate]] = []
    for number, segment in enumerate(parts):
        mine = [p for p in found if p.statement in segment.node.statements]
        for group in _groups([p for p in mine if array_tuple(p.access.reference) not in taken]):
            reason = _reason(m, flow, group, device)
            if asked:
                named = group[0].access.reference.array in asked and _is_stageable(m, group)
                reason = (reason or "asked for") if named else ""
            made = _stage(m, number, segment, group, reason, device) if reason else None
            if made is not None:
                result.append((0 if reason == "uncoalesced" else 1, made))
    return [s for _, s in sorted(result, key=lambda item: item[0])]


def _groups(found: list[Pattern]) -> list[list[Pattern]]:
    """Accesses of one array a constant apart: they share a box.

    So do equal references of a statement, even if tests around them make them differ in what they touch:
    code has one place for them.
    """
    groups: dict[tuple[object, ...], list[Pattern]] = {}
    place_of: dict[ReferenceKey, tuple[object, ...]] = {}
    for p in found:
        matrix = tuple(access_matrix(p.access))
        own = p.steps if None not in matrix else (p.statement, p.access.reference.subscripts)
        key: tuple[object, ...] = (array_tuple(p.access.reference), own)
        key = place_of.setdefault(reference_key(p.statement, p.access.reference), key)
        groups.setdefault(key, []).append(p)
    return [groups[key] for key in sorted(groups, key=str)]


def _reason(m: Grid, flow: Flow, group: list[Pattern], device: Device) -> str:
    """Why the accesses of `group` go to shared memory: "uncoalesced", "reuse", or "" when they do not."""
    if not _is_stageable(m, group):
        return ""
    lane = len(m.axes) - 1
    if any(p.kind(lane) in ("strided", "reverse") for p in group):
        return "uncoalesced"
    strict, uncached = device.rule == "cc10", device.rule != "sector"
    if strict and any(p.kind(lane) == "unit" and not _aligned(p, device.request_lanes) for p in group):
        return "uncoalesced"
    deep = any(p.depth > 0 for p in group)
    broadcast = any(p.kind(lane) == "broadcast" for p in group)
    if broadcast and deep and (uncached or _stages_others(m, group)):
        return "uncoalesced" if strict else "reuse"
    streams = len(m.axes) == 1 and flow.buffering != "none"
    if deep and streams and all(p.kind(lane) == "unit" for p in group):
        return "in flight"
    shared_by = max((a.tile for d, a in enumerate(m.axes) if _unmoved(group, d)), default=1)
    return "reuse" if shared_by > 1 and deep and (uncached or _registers(m)) else ""


def _is_stageable(m: Grid, group: list[Pattern]) -> bool:
    """Whether the accesses of `group` are elements of an array at affine places."""
    references = [p.access.reference for p in group]
    plain = all(r.subscripts and not r.field for r in references)
    return bool(m.axes) and plain and all(p.access.affine for p in group)


def _stages_others(m: Grid, group: list[Pattern]) -> bool:
    return _registers(m) or len(m.axes) == 1


def _registers(m: Grid) -> bool:
    return any(a.per_thread > 1 for a in m.axes)


def _unmoved(group: list[Pattern], d: int) -> bool:
    return all(p.kind(d) == "broadcast" for p in group)


def _aligned(p: Pattern, lanes: int) -> bool:
    """Whether the last subscript is a lane dimension plus a multiple of `lanes`."""
    relation = p.access.relation
    function = isl.MultiPwAff.from_pw_multi_aff(isl.PwMultiAff.from_map(relation))
    last = function.get_pw_aff(relation.dim(D.out) - 1)
    constants: list[int] = []
    last.foreach_piece(lambda _, aff: constants.append(aff.get_constant_val().to_python()))
    return all(c % lanes == 0 for c in constants)


def _tile_name(m: Grid, member: Member) -> str:
    names = {single_iterator(member.rows[s]) for s in member.statements}
    name = names.pop() if len(names) == 1 else None
    taken = {n for a in m.axes for n in (a.name, a.origin)} | {f.name for f in m.outer} | m.p.names()
    base = c_name(name) if name else "s"
    candidate = f"{base}_tile"
    while candidate in taken:
        candidate += "_"
    return candidate


def _stage(
    m: Grid, number: int, segment: Segment, group: list[Pattern], reason: str, device: Device
) -> Candidate | None:
    whole = box(_footprint(m, group, ()))
    step = segment.tiles
    stepped = False
    size = SIZES.get(m.p.array(group[0].access.reference.array).element, 4)
    if whole is None or _volume(whole) > min(4096, _budget(device) // size):
        if step is None:
            return None
        whole, stepped = box(_footprint(m, group, (step,))), True
    if whole is None or _volume(whole) > 16384:
        return None
    if device.rule == "cc10":
        whole = (*whole[:-1], _aligned_side(whole[-1], device.request_lanes))
    reference = group[0].access.reference
    order = _layout(m, group, len(whole))
    keys = frozenset(reference_key(p.statement, p.access.reference) for p in group)
    made = Box(reference.array, array_tuple(reference), "", whole, order, reason, keys)
    return Candidate(made, number, stepped)


def _aligned_side(side: Side, lanes: int) -> Side:
    """The side begun at a multiple of `lanes` elements, if its offset is a multiple plus a constant.

    A strict chip coalesces only requests that start a segment, so a halo begins a segment early.
    """
    constants: list[int] = []
    side.offset.foreach_piece(lambda _, aff: constants.append(aff.get_constant_val().to_python()))
    if len(constants) != 1 or constants[0] % lanes == 0:
        return side
    extra = constants[0] % lanes
    return Side(side.offset.add_constant_val(isl.Val(-extra)), side.size + extra)


def _volume(sides: tuple[Side, ...]) -> int:
    total = 1
    for side in sides:
        total *= side.size
    return total


def _footprint(m: Grid, group: list[Pattern], fixed: tuple[Fixed, ...]) -> isl.Set:
    footprint: isl.Set | None = None
    for p in group:
        touched = m.domain(p.statement, (*m.tiles(), *fixed)).apply(p.access.relation)
        footprint = touched if footprint is None else footprint.union(touched)
    assert footprint is not None
    return footprint


def _layout(m: Grid, group: list[Pattern], count: int) -> tuple[int, ...]:
    """Array dimensions in the order they are stored.

    A dimension that a register-tiled axis moves goes last when no axis moves the last one: a thread then
    reads its consecutive points from consecutive words.
    """
    moved: dict[int, Axis] = {}
    for d, axis in enumerate(m.axes):
        for p in group:
            step = p.steps[d]
            for k in range(count):
                if step is not None and step[k]:
                    moved[k] = axis
    if count - 1 in moved or not any(a.per_thread > 1 for a in moved.values()):
        return tuple(range(count))
    last = max((k for k, a in moved.items() if a.per_thread > 1), default=count - 1)
    return (*(k for k in range(count) if k != last), last)
