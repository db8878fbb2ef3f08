"""Which memory space each access of a mapped nest uses (ICS'08 section 4, step 1; Jang's priorities).

Registers for arrays whose elements belong to one point each (accumulators), shared memory for what does not
coalesce or is reused by the block, global memory for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import islpy as isl

from polygpu.analysis.patterns import Pattern, access_matrix
from polygpu.analysis.polyhedra import array_tuple
from polygpu.mapping.footprint import Side, box
from polygpu.mapping.mapped import Axis, Fixed, MappedNest
from polygpu.mapping.owned import Promoted, nest_patterns, promote, written_arrays
from polygpu.model.decisions import NO_DECISIONS, Decision, Decisions
from polygpu.model.device import Device
from polygpu.model.expr import SIZES, Expr, Reference
from polygpu.schedule.tree import Band, Member, Nest, Node, Sequence, single_iterator
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import D, c_name

ReferenceKey = tuple[str, str, tuple[Expr, ...]]  # statement, array tuple, subscripts


def reference_key(statement: str, reference: Reference) -> ReferenceKey:
    return statement, array_tuple(reference), reference.subscripts


@dataclass(frozen=True)
class Segment:
    """A child of the nest's body; `step` is the loop member that is strip-mined when it is staged."""

    node: Node
    step: Member | None


@dataclass(frozen=True)
class Staged:
    """`array` copied to shared memory for one segment, per tile of the segment's step when `stepped`.

    `sides` is the box in the array's dimensions; `order[k]` is the array dimension stored as dimension k.
    """

    array: str
    tuple_name: str
    name: str
    segment: int
    stepped: bool
    sides: tuple[Side, ...]
    order: tuple[int, ...]
    padding: int
    reason: str
    references: frozenset[ReferenceKey] = frozenset()

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(self.sides[k].size for k in self.order)

    @property
    def transposed(self) -> bool:
        """Whether elements next to each other in the array are not so in shared memory."""
        return self.order[-1] != len(self.order) - 1


@dataclass(frozen=True)
class Placement:
    segments: tuple[Segment, ...]
    staged: tuple[Staged, ...]
    promoted: tuple[Promoted, ...]

    def staged_for(self, statement: str, reference: Reference) -> Staged | None:
        key = reference_key(statement, reference)
        return next((s for s in self.staged if key in s.references), None)

    def promotion(self, array: str) -> Promoted | None:
        return next((p for p in self.promoted if p.tuple_name == array), None)


def segments(nest: Nest) -> tuple[Segment, ...]:
    children = nest.body.children if isinstance(nest.body, Sequence) else (nest.body,)
    return tuple(Segment(c, c.members[0] if isinstance(c, Band) else None) for c in children)


def place(m: MappedNest, device: Device, decisions: Decisions = NO_DECISIONS, kernel: str = "") -> Placement:
    """The placement of every access of `m`.

    Raises Diagnosed when tiles that were asked for do not fit in the device's shared memory.
    """
    parts = segments(m.nest)
    promoted = promote(m)
    taken = {p.tuple_name for p in promoted} | written_arrays(m)
    found = nest_patterns(m)
    staged: list[Staged] = []
    budget = _budget(device)
    stage = decisions.find(kernel, "stage")
    asked = _asked(m, stage)
    on = (stage is None or stage.value != "off") and decisions.care < 3
    for candidate in _candidates(m, parts, found, taken, device, asked) if on else ():
        size = _bytes(m, candidate)
        if size <= budget:
            budget -= size
            staged.append(candidate)
        elif asked or any(decisions.find(kernel, key) for key in ("tile", "step", "stages")):
            raise _too_large(m, candidate, size, budget, device)
    for array in sorted(asked - {s.array for s in staged}) if on else ():
        raise _not_staged(m, array, any(t == array or t.startswith(f"{array}.") for t in taken))
    return Placement(parts, _named(staged), promoted)


def _budget(device: Device) -> int:
    """Bytes of a block for its arrays."""
    arguments = device.argument_bytes if device.arguments_in_shared else 0
    return device.shared_per_block - device.shared_reserved - arguments


def _asked(m: MappedNest, stage: Decision | None) -> frozenset[str]:
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


def _not_staged(m: MappedNest, array: str, written: bool) -> Diagnosed:
    why = "the kernel writes it" if written else "no tile of it has a constant size"
    message = f"'{array}' cannot go through shared memory: {why}"
    return _refused(m, "PG310", message, "leave the array out of the decision")


def _refused(m: MappedNest, number: str, message: str, advice: str) -> Diagnosed:
    position = m.p.statement(m.statements[0]).position
    return Diagnosed(Diagnostic(number, "error", message, position, advice))


def _too_large(m: MappedNest, s: Staged, size: int, left: int, device: Device) -> Diagnosed:
    message = f"the tile of '{s.array}' takes {size} bytes of shared memory; {device.title} has {left} left"
    return _refused(m, "PG305", message, "ask for a smaller tile or step")


def _named(staged: list[Staged]) -> tuple[Staged, ...]:
    counts: dict[str, int] = {}
    result: list[Staged] = []
    for s in sorted(staged, key=lambda s: (s.segment, s.tuple_name, sorted(map(str, s.references)))):
        number = counts[s.array] = counts.get(s.array, 0) + 1
        result.append(replace(s, name=f"{s.array}_s" if number == 1 else f"{s.array}_s{number}"))
    return tuple(result)


def _bytes(m: MappedNest, s: Staged) -> int:
    total = SIZES.get(m.p.array(s.array).element, 4)
    total *= m.mapping.stages if s.stepped and m.mapping.buffering == "ring" else 1
    for k, extent in enumerate(s.extents):
        total *= extent + (s.padding if k == len(s.extents) - 1 else 0)
    return total


def _candidates(
    m: MappedNest,
    parts: tuple[Segment, ...],
    found: list[Pattern],
    taken: set[str],
    device: Device,
    asked: frozenset[str],
) -> list[Staged]:
    """What is worth staging, the most valuable first: uncoalesced accesses, then reuse.

    With arrays `asked` for it is those instead.
    """
    result: list[tuple[int, Staged]] = []
    for number, segment in enumerate(parts):
        mine = [p for p in found if p.statement in segment.node.statements]
        for group in _groups([p for p in mine if array_tuple(p.access.reference) not in taken]):
            reason = _reason(m, group, device)
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


def _reason(m: MappedNest, group: list[Pattern], device: Device) -> str:
    """Why the accesses of `group` go to shared memory: "uncoalesced", "reuse", or "" when they do not."""
    if not _is_stageable(m, group):
        return ""
    lane = len(m.mapping.axes) - 1
    if any(p.kind(lane) in ("strided", "reverse") for p in group):
        return "uncoalesced"
    strict, uncached = device.rule == "cc10", device.rule != "sector"
    if strict and any(p.kind(lane) == "unit" and not _aligned(p, device.request_lanes) for p in group):
        return "uncoalesced"
    deep = any(p.depth > 0 for p in group)
    broadcast = any(p.kind(lane) == "broadcast" for p in group)
    if broadcast and deep and (uncached or _stages_others(m, group)):
        return "uncoalesced" if strict else "reuse"
    streams = len(m.mapping.axes) == 1 and m.mapping.buffering != "none"
    if deep and streams and all(p.kind(lane) == "unit" for p in group):
        return "in flight"
    shared_by = max((a.tile for d, a in enumerate(m.mapping.axes) if _unmoved(group, d)), default=1)
    return "reuse" if shared_by > 1 and deep and (uncached or _registers(m)) else ""


def _is_stageable(m: MappedNest, group: list[Pattern]) -> bool:
    """Whether the accesses of `group` are elements of an array at affine places."""
    references = [p.access.reference for p in group]
    plain = all(r.subscripts and not r.field for r in references)
    return bool(m.nest.parallel) and plain and all(p.access.affine for p in group)


def _stages_others(m: MappedNest, group: list[Pattern]) -> bool:
    return _registers(m) or len(m.mapping.axes) == 1


def _registers(m: MappedNest) -> bool:
    return any(a.per_thread > 1 for a in m.mapping.axes)


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


def step_name(m: MappedNest, segment: Segment) -> str:
    assert segment.step is not None
    names = {single_iterator(segment.step.rows[s]) for s in segment.step.statements}
    name = names.pop() if len(names) == 1 else None
    taken = {n for a in m.mapping.axes for n in (a.name, a.origin)} | {f.name for f in m.outer} | m.p.names()
    base = c_name(name) if name else "s"
    candidate = f"{base}_tile"
    while candidate in taken:
        candidate += "_"
    return candidate


def step_of(m: MappedNest, segment: Segment) -> Fixed | None:
    """The strip-mined loop of the segment: its tile's first value, `mapping.step` values long."""
    if segment.step is None or m.mapping.step == 0:
        return None
    return Fixed(segment.step, step_name(m, segment), m.mapping.step)


def _stage(
    m: MappedNest, number: int, segment: Segment, group: list[Pattern], reason: str, device: Device
) -> Staged | None:
    whole = box(_footprint(m, group, ()))
    step = step_of(m, segment)
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
    return Staged(
        reference.array,
        array_tuple(reference),
        "",
        number,
        stepped,
        whole,
        order,
        0,
        reason,
        frozenset(reference_key(p.statement, p.access.reference) for p in group),
    )


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


def _footprint(m: MappedNest, group: list[Pattern], fixed: tuple[Fixed, ...]) -> isl.Set:
    footprint: isl.Set | None = None
    for p in group:
        touched = m.domain(p.statement, (*m.tiles(), *fixed)).apply(p.access.relation)
        footprint = touched if footprint is None else footprint.union(touched)
    assert footprint is not None
    return footprint


def _layout(m: MappedNest, group: list[Pattern], count: int) -> tuple[int, ...]:
    """Array dimensions in the order they are stored.

    A dimension that a register-tiled axis moves goes last when no axis moves the last one: a thread then
    reads its consecutive points from consecutive words.
    """
    moved: dict[int, Axis] = {}
    for d, axis in enumerate(m.mapping.axes):
        for p in group:
            step = p.steps[d]
            for k in range(count):
                if step is not None and step[k]:
                    moved[k] = axis
    if count - 1 in moved or not any(a.per_thread > 1 for a in moved.values()):
        return tuple(range(count))
    last = max((k for k, a in moved.items() if a.per_thread > 1), default=count - 1)
    return (*(k for k in range(count) if k != last), last)
