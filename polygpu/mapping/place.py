"""Which memory space each access of a mapped nest uses (ICS'08 section 4, step 1; Jang's priorities).

Registers for arrays whose elements belong to one point each (accumulators), shared memory for what does not
coalesce or is reused by the block, global memory for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace

import islpy as isl

from polygpu.analysis.patterns import Pattern
from polygpu.analysis.places import array_names, part_at
from polygpu.analysis.polyhedra import PolyAccess, array_tuple
from polygpu.mapping.apart import meets_stores
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.footprint import Side, box
from polygpu.mapping.owned import nest_patterns, promote, untouched, written_arrays
from polygpu.mapping.products import band
from polygpu.mapping.program import Axis, Box, Grid, ReferenceKey, Tiles, reference_key, statements
from polygpu.mapping.results import Result, results
from polygpu.mapping.transformations import Hold, Stage, Staging, bytes_of, room
from polygpu.mapping.wanted import Wanted, source_arrays
from polygpu.model.decisions import Decision, Value
from polygpu.model.device import Device
from polygpu.model.expr import SIZES
from polygpu.schedule.loop_names import loop_names
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D


def hold(m: Grid, asked: Wanted) -> Hold:
    """The arrays that live in registers. Raises RefusedError where one that is asked for cannot."""
    found = promote(m)
    decision = asked.find("hold")
    if decision is None:
        return Hold(found)
    sources = source_arrays(m.p, m.statements)
    names = {h.array: {h.array, sources[h.array]} for h in found}
    for name in decision.names:
        if name in {*sources, *sources.values()} and not any(name in mine for mine in names.values()):
            why = f"no point of the nest owns one element of '{name}' alone"
            raise asked.refused(decision, "PG310", why, "leave the array out of the decision")
    return Hold(tuple(h for h in found if names[h.array] & {*decision.names}))


def stage(m: Grid, device: Device, asked: Wanted) -> Stage:
    """What goes through shared memory: what is asked for, or what is worth it as long as there is room.

    Raises RefusedError where something that is asked for has no box.
    """
    tiled = ((k, part) for k, part in enumerate(m.parts) if isinstance(part, Tiles) and asked.care < 3)
    keep = frozenset(k for k, tiles in tiled if asked.value("tile", tiles.member) is not None)
    decision = asked.find("stage")
    if asked.care >= 3 or (decision is not None and not decision.items):
        return Stage((), keep)
    held = {h.tuple_name for h in promote(m)}
    tiles = frozenset(k for k, part in enumerate(m.parts) if isinstance(part, Tiles))
    found = _candidates(m, held, device, decision, tiles if m.attending else keep)
    if m.attending:
        found = [c for c in found if c.staging.stepped]  # what one iteration reads, its thread loads
    if decision is not None:
        _check_levels(m, decision, asked)
        _check_all(m, decision, found, held | _changing(m, m.statements), asked)
        return _with_results(m, Stage(_named([c.staging for c in found]), keep), device, decision)
    chosen: list[Staging] = []
    left = room(device)
    for candidate in found:
        size = bytes_of(m, candidate.staging)
        if size <= left:
            left -= size
            chosen.append(candidate.staging)
        elif asked.find("tile") or asked.find("buffer"):
            chosen.append(candidate.staging)  # which is refused
    return _with_results(m, Stage(_named(chosen), keep), device, None)


def _with_results(m: Grid, stage: Stage, device: Device, decision: Decision | None) -> Stage:
    """With what is written in the tiles of a ring gathered there, too, as long as there is room; with a
    `decision` what it names.
    """
    if m.attending or m.buffering != "ring":
        return stage
    left = room(device) - sum(bytes_of(m, s) for s in stage.boxes)
    copied = {s.part for s in stage.boxes if s.stepped}
    chosen: list[Result] = []
    for found in results(m) if left > 0 else ():
        made = found.stored.box
        size = bytes_of(m, Staging(made, found.part, False))
        if found.part in copied and size <= left and (decision is None or _names_result(m, made, decision)):
            left -= size
            chosen.append(found)
    return replace(stage, results=tuple(chosen))


def _names_result(m: Grid, made: Box, decision: Decision) -> bool:
    mine = ((s, a) for s in m.statements for a in m.p.statement(s).accesses)
    names = (n for s, a in mine for n in names_in_box(m, made, s, a))
    return bool({*names} & {"".join(name.split()) for name, _ in decision.items})


def _changing(m: Grid, names: Iterable[str]) -> set[str]:
    """The arrays that the kernel writes; where threads attend one that computes, those of which the part of
    it that has the statements `names` reads elements that it writes: other parts come before its copies, or
    behind them.
    """
    written = written_arrays(m)
    if not m.attending:
        return written
    touched: dict[tuple[str, bool], isl.Set] = {}
    for s in names:
        for a in m.p.statement(s).accesses:
            key, elements = (array_tuple(a.reference), a.write), m.domain(s).apply(a.relation)
            touched[key] = touched[key].union(elements) if key in touched else elements
    both = {name for name in written if (name, False) in touched and (name, True) in touched}
    return {name for name in both if not touched[name, False].is_disjoint(touched[name, True])}


@dataclass(frozen=True)
class Candidate:
    """A box, and the accesses that would find their elements there."""

    staging: Staging
    accesses: tuple[tuple[str, PolyAccess], ...]


def _check_levels(m: Grid, decision: Decision, asked: Wanted) -> None:
    """Raises RefusedError where a level is no loop whose tiles something could be copied in."""
    loops = [loop_names(m.p, part.member) for part in m.parts if isinstance(part, Tiles)]
    for _, level in decision.items:
        if level not in (None, "block", *(name for names in loops for name in names)):
            known = ", ".join(dict.fromkeys(["block", *map(min, loops)]))
            why = f"'{level}' is none of the levels of this nest, which has {known}"
            raise asked.refused(decision, "PG310", why)


def _check_all(m: Grid, decision: Decision, found: list[Candidate], taken: set[str], asked: Wanted) -> None:
    """Raises RefusedError where a name of the decision means an array of the nest, and nothing is staged."""
    mine = [(s, a) for s in m.statements for a in m.p.statement(s).accesses]
    gathered = [r.stored.box for r in results(m)]
    for name in decision.names:
        meant = [(s, a) for s, a in mine if name in names_of_access(m, s, a)]
        staged = any(name in names_of_access(m, s, a) for c in found for s, a in c.accesses)
        staged |= any(name in names_in_box(m, made, s, a) for made in gathered for s, a in meant)
        if staged or not (meant or decision.place):
            continue
        written = any(array_tuple(a.reference) in taken for _, a in meant)
        why = "the kernel writes it" if written else "no tile of it has a constant size"
        why = (
            f"'{name}' cannot go through shared memory: {why}"
            if meant
            else f"the nest does not read '{name}'"
        )
        raise asked.refused(decision, "PG310", why, "leave it out of the decision")


def names_of_access(m: Grid, statement: str, a: PolyAccess) -> frozenset[str]:
    """What a decision may call the reference: its array, its text, either with `@line`."""
    texts = (*array_names(a), "".join(a.text.split()))
    line = part_at(m.p.statement(statement), a.position).position.line
    return frozenset({*texts, *(f"{text}@{line}" for text in texts)})


def names_of_box(grid: Grid, box: Box) -> frozenset[str]:
    """What a decision may call what is staged in the box."""
    return frozenset(n for s, a in reads(grid) for n in names_in_box(grid, box, s, a))


def names_in_box(grid: Grid, box: Box, statement: str, a: PolyAccess) -> frozenset[str]:
    """The names of an access that finds its element in the box."""
    inside = reference_key(statement, a.reference) in box.references
    return names_of_access(grid, statement, a) if inside else frozenset()


def reads(grid: Grid) -> Iterator[tuple[str, PolyAccess]]:
    for name in grid.statements:
        yield from ((name, a) for a in grid.p.statement(name).accesses if not a.write)


def _named(chosen: list[Staging]) -> tuple[Staging, ...]:
    counts: dict[str, int] = {}
    result: list[Staging] = []
    for c in sorted(chosen, key=lambda c: (c.part, c.box.tuple_name, sorted(map(str, c.box.references)))):
        number = counts[c.box.array] = counts.get(c.box.array, 0) + 1
        name = f"{c.box.array}_s" if number == 1 else f"{c.box.array}_s{number}"
        result.append(replace(c, box=replace(c.box, name=name)))
    return tuple(result)


def _candidates(
    m: Grid, held: set[str], device: Device, decision: Decision | None, decided: Set[int]
) -> list[Candidate]:
    """What is worth staging, the most valuable first: uncoalesced accesses, then reuse.

    With a `decision` it is what that names instead. Tiles of the parts `decided` are asked for. What is
    `held` in registers is not staged.
    """
    found = nest_patterns(m)
    result: list[tuple[int, Candidate]] = []
    for number, part in enumerate(m.parts):
        names = statements(part)
        taken = held | _changing(m, names)
        mine = [p for p in found if p.statement in names]
        apart = untouched(m)
        free = [
            p
            for p in mine
            if not p.access.write
            and (
                array_tuple(p.access.reference) not in taken
                or reference_key(p.statement, p.access.reference) in apart
            )
        ]
        for group in _groups(free):
            # what is asked for has the same reason whether or not it is in flight in the end
            reason, level = _reason(m, group, device, decision is not None or m.buffering != "none"), None
            if decision is not None:
                named, level = _asked(m, group, decision)
                reason = (reason or "asked for") if named and _is_stageable(m, group) else ""
            made = _stage(m, number, group, reason, level, device, number in decided) if reason else None
            tiles = part if isinstance(part, Tiles) and made is not None and made.stepped else None
            if made is not None and (m.attending or not meets_stores(m, made.box, tiles)):
                accesses = tuple((p.statement, p.access) for p in group)
                result.append((0 if reason == "uncoalesced" else 1, Candidate(made, accesses)))
    return [c for _, c in sorted(result, key=lambda item: item[0])]


def _asked(m: Grid, group: list[Pattern], decision: Decision) -> tuple[bool, Value]:
    """Whether the decision names an access of the group, and the level it gives."""
    names = {name for p in group for name in names_of_access(m, p.statement, p.access)}
    found = [value for name, value in decision.items if "".join(name.split()) in names]
    return bool(found), next((value for value in found if value is not None), None)


def _groups(found: list[Pattern]) -> list[list[Pattern]]:
    """Accesses of one array a constant apart: they share a box.

    So do equal references of a statement, even if tests around them make them differ in what they touch:
    code has one place for them.
    """
    groups: dict[tuple[object, ...], list[Pattern]] = {}
    place_of: dict[ReferenceKey, tuple[object, ...]] = {}
    for p in found:
        own = p.steps if None not in p.matrix else (p.statement, p.access.reference.subscripts)
        key: tuple[object, ...] = (array_tuple(p.access.reference), own)
        key = place_of.setdefault(reference_key(p.statement, p.access.reference), key)
        groups.setdefault(key, []).append(p)
    return [groups[key] for key in sorted(groups, key=str)]


def _reason(m: Grid, group: list[Pattern], device: Device, buffered: bool) -> str:
    """Why the accesses of `group` go to shared memory: "uncoalesced", "reuse", "in flight" where tiles are
    `buffered`, or "" when they do not.
    """
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
    streams = len(m.axes) == 1 and buffered
    if deep and streams and all(p.kind(lane) == "unit" for p in group):
        return "in flight"
    if deep and band(m) is not None:
        return "reuse"  # along one axis, or askew
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


def _stage(
    m: Grid, number: int, group: list[Pattern], reason: str, level: Value, device: Device, decided: bool
) -> Staging | None:
    """The box of a group: of all that the block touches if that is small, else of a tile's.

    A `level` says which of the two; the loop's name, or "block". Without one, a tile that is `decided` has
    a box of its own where that is smaller.
    """
    part = m.parts[number]
    step = part.fixed if isinstance(part, Tiles) else None
    stepped = step is not None and level in loop_names(m.p, step.member)
    whole = box(_footprint(m, group, ())) if not stepped else None
    size = SIZES.get(m.p.array(group[0].access.reference.array).element, 4)
    most = min(4096, room(device) // size)
    ahead = isinstance(part, Tiles) and part.buffering != "none"
    if whole is None or (level is None and (decided or ahead or _volume(whole) > most)):
        if step is None or level == "block":
            return None
        tile = box(_footprint(m, group, (step,)))
        if whole is None or _volume(whole) > most or (tile and _volume(tile) < _volume(whole)):
            whole, stepped = tile, True
    if whole is None or _volume(whole) > 16384:
        return None
    whole = tuple(_of_whole_tile(m, group, k, side) for k, side in enumerate(whole))
    if device.rule == "cc10":
        whole = (*whole[:-1], _aligned_side(whole[-1], device.request_lanes))
    reference = group[0].access.reference
    order = _layout(m, group, len(whole))
    keys = frozenset(reference_key(p.statement, p.access.reference) for p in group)
    made = Box(reference.array, array_tuple(reference), "", whole, order, reason, keys)
    return Staging(made, number, stepped)


def _of_whole_tile(m: Grid, group: list[Pattern], k: int, side: Side) -> Side:
    """The side up to the end of the tile, where the only tile along an axis ends beyond the iterations.

    Threads that have several points then compute at all of them without a test; copies end in the array.
    """
    for d, axis in enumerate(m.axes):
        along = all((step := p.steps[d]) is not None and step[k] == 1 for p in group)
        alone = all(step is None or not step[k] for p in group for step in (*p.steps[:d], *p.steps[d + 1 :]))
        if along and alone and axis.per_thread > 1 and axis.tile // 2 < side.size < axis.tile:
            return replace(side, size=axis.tile)
    return side


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
