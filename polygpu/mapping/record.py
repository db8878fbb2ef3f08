"""The whole tuple of decisions that makes a kernel what it is: fed back, it makes the same one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from math import prod

from polygpu.analysis.expand import Expansion, decided_for, loops_of, whole
from polygpu.analysis.places import holds, names_statement, place_of
from polygpu.mapping.body import order_inside
from polygpu.mapping.place import names_in_box, names_of_access, names_of_box, reads
from polygpu.mapping.program import Box, Grid, Run, Tiles, walk
from polygpu.mapping.rules import shared_bytes
from polygpu.mapping.scaled import form_of
from polygpu.mapping.transformations import room
from polygpu.mapping.wanted import (
    Wanted,
    array_label,
    labels,
    runs_backwards,
    source_arrays,
)
from polygpu.model.decisions import KERNELS, SPACES, VALUES, Decision, Taken, Value
from polygpu.model.device import Device
from polygpu.model.kernel import Kernel
from polygpu.schedule.loop_names import loop_names, usual_name
from polygpu.schedule.prepare import Prepared
from polygpu.schedule.tree import Band, Steps

Items = tuple[tuple[str, Value], ...]


def taken(
    grid: Grid, kernel: Kernel, asked: Wanted, prepared: Prepared, chosen: Set[Decision] = frozenset()
) -> tuple[Taken, ...]:
    """Every decision of the nest, each with who took it: those `chosen` are the model's or the search's."""
    if all(grid.p.statement(s).combines for s in grid.statements):
        return ()
    place = place_of(grid.p, grid.statements)
    alone = asked.find("sequential")
    names = tuple((n, None) for n in alone.names if asked.knows(alone, n)) if alone is not None else ()
    batch = (*_batch(grid, prepared), *_ahead(grid, prepared), *_waves(grid, prepared))
    kernels = batch or _kernels(grid, prepared.cuts) if asked.nest.steps is None else ()
    mine: Iterable[tuple[str, Items]] = (("sequential", names), *_all(grid, kernel))
    if grid.reductions:
        mine = _shared(grid, kernel, asked)
    elif asked.nest.steps is not None:
        mine = _in_time(grid, kernel, asked.nest.steps)
    elif asked.nest.batch is not None or asked.nest.waves is not None:
        mine = _code(grid, kernel)
    found = (*_values(grid, prepared), *kernels, *mine)
    followed = {d.key for d in asked.decisions if asked.follows(d)} | _followed(grid, prepared)
    whole = replace(place, number=0) if batch else place  # of what was there before statements were cut
    decisions = (Decision(key, items, whole if key in VALUES else place) for key, items in found)
    about = (*asked.decisions, *_about_kernels(grid, prepared))
    by_model = {d.key for d in about if d in chosen}
    return tuple(
        Taken(d, "model" if d.key in by_model else "person" if d.key in followed else "rule")
        for d in decisions
    )


def _followed(grid: Grid, prepared: Prepared) -> set[str]:
    """The keys of the decisions that made the nest."""
    named = any(d.key == "fuse" for d in _about_kernels(grid, prepared))
    p, arrays = prepared.before[0], source_arrays(grid.p, grid.statements).values()
    webs = (*prepared.expansions, *(whole(p, a.name) for a in p.arrays if a.name in arrays))
    asked = [d for d in prepared.decisions if d.key == "expand"]
    grown = any(decided_for(p, e, asked) for e in webs if _uses(grid, e))
    versions = {d.key for d in prepared.decisions if d.key == "version"}
    batches = {
        d.key for d in prepared.about("batch") for s in grid.statements if _tiles(grid, prepared, d, s)
    }
    if any(d.key == "wave" and _waved(grid, prepared, d) for d in prepared.decisions):
        batches.add("wave")
    if any(d.key == "ahead" and _goes_ahead(grid, prepared, d) for d in prepared.decisions):
        batches.add("ahead")
    return {"split"} | ({"fuse"} if named else set()) | ({"expand"} if grown else set()) | versions | batches


def _goes_ahead(grid: Grid, prepared: Prepared, d: Decision) -> bool:
    """Whether a decision is about the terms of the nest's sum that go ahead of steps."""
    loops = {*d.names} & {
        name
        for s in grid.statements
        if s in prepared.aheads
        for name in loop_names(grid.p, prepared.aheads[s][0])
    }
    here = d.place is None or any(holds(replace(d.place, number=0), grid.p, s) for s in grid.statements)
    return here and bool(loops)


def _waved(grid: Grid, prepared: Prepared, d: Decision) -> bool:
    """Whether a decision is about the waves of tiles that the nest runs."""
    names = {name for s in grid.statements for name, _ in prepared.waves.get(s, ())}
    here = d.place is None or any(holds(replace(d.place, number=0), grid.p, s) for s in grid.statements)
    return here and bool({*d.names} & names)


def _tiles(grid: Grid, prepared: Prepared, d: Decision, statement: str) -> bool:
    """Whether a decision is about the tiles of steps that a statement is in."""
    if statement not in prepared.batches:
        return False
    member, _ = prepared.batches[statement]
    here = d.place is None or any(holds(replace(d.place, number=0), grid.p, s) for s in member.statements)
    return here and bool({*d.names} & loop_names(grid.p, member))


def _about_kernels(grid: Grid, prepared: Prepared) -> Iterator[Decision]:
    """The decisions that made the nest of others, or of parts of them."""
    for d in (d for d in prepared.decisions if d.key in KERNELS):
        if any(names_statement(grid.p, d, s) for s in grid.statements):
            yield d


def _uses(grid: Grid, e: Expansion) -> bool:
    mine = (grid.p.statement(s) for s in grid.statements)
    return bool({s.whole or s.name for s in mine} & {name for name, _ in e.nodes})


def _temporaries(grid: Grid, prepared: Prepared) -> Items:
    """The loops by which temporaries of the nest are expanded, and those that are not to be."""
    p = prepared.before[0]
    found: dict[str, Value] = {}
    for e in (e for e in prepared.expansions if _uses(grid, e)):
        parts = sum(other.array == e.array for other in prepared.expansions)
        name = e.renamed if parts > 1 else source_arrays(p, [s for s, _ in e.nodes])[e.array]
        loops = loops_of(p, e)
        found[name] = " ".join(loops[k] for k in e.levels) or "none"
    asked = [d for d in prepared.decisions if d.key == "expand"]
    others = {array.name for array in p.arrays} - {e.array for e in prepared.expansions}
    for e in (whole(p, name) for name in others):
        wish = decided_for(p, e, asked) if _uses(grid, e) else None
        if wish is not None and wish[1] == "none":
            found[source_arrays(p, [s for s, _ in e.nodes])[e.array]] = "none"
    return tuple(sorted(found.items()))


def _values(grid: Grid, prepared: Prepared) -> Iterator[tuple[str, Items]]:
    """Where values of the nest are kept: temporaries by loops, and arrays read as they were."""
    temporaries = _temporaries(grid, prepared)
    if temporaries:
        yield "expand", temporaries
    copied = _copied(grid, prepared)
    if copied or (prepared.about("version") and not prepared.copied):
        yield "version", copied


def _copied(grid: Grid, prepared: Prepared) -> Items:
    """The arrays of which statements of the nest read copies."""
    p = prepared.source[0]
    sources = source_arrays(p, [s.name for s in p.statements])
    mine = {a.reference.array for _, a in reads(grid)}
    arrays = sorted(array for array, copy in prepared.copied.items() if copy in mine)
    return tuple((array_label(sources, array), None) for array in arrays)


def _batch(grid: Grid, prepared: Prepared) -> Iterator[tuple[str, Items]]:
    """How many steps of the loop of the host around the nest launches run at once."""
    found = next((prepared.batches[s] for s in grid.statements if s in prepared.batches), None)
    if found is not None:
        yield "batch", ((usual_name(grid.p, found[0]), found[1]),)


def _ahead(grid: Grid, prepared: Prepared) -> Iterator[tuple[str, Items]]:
    """Ahead of how many steps of the loop of the host some terms of the nest's sum go, or could."""
    found = next((prepared.aheads[s] for s in grid.statements if s in prepared.aheads), None)
    if found is not None:
        yield "ahead", ((usual_name(grid.p, found[0]), found[1]),)


def _waves(grid: Grid, prepared: Prepared) -> Iterator[tuple[str, Items]]:
    """The tiles that run in waves, or that could."""
    found = next((prepared.waves[s] for s in grid.statements if s in prepared.waves), None)
    if found is not None:
        yield "wave", found


def _kernels(grid: Grid, cuts: frozenset[str]) -> Iterator[tuple[str, Items]]:
    """Which statements the kernel has."""
    for key, names in (("split", cuts & {*grid.statements}), ("fuse", grid.statements)):
        if names and (key == "split" or len(names) > 1):
            mine = [s.name for s in grid.p.statements if s.name in names and not s.combines]
            yield key, tuple((str(place_of(grid.p, (s,))), None) for s in mine)


def _shared(grid: Grid, kernel: Kernel, asked: Wanted) -> Iterator[tuple[str, Items]]:
    """Of a nest whose terms threads share."""
    shared = asked.nest.shared
    assert shared is not None
    widths = shared.widths or (0,) * len(shared.loops)
    names = labels(grid.p, list(shared.loops))
    yield "share", tuple((name, width or None) for name, width in zip(names, widths, strict=True))
    lanes = [a for a in grid.axes if a.loop]
    yield "threads", tuple((name, a.threads) for name, a in zip(names, lanes, strict=True))
    yield from _code(grid, kernel)


def _in_time(grid: Grid, kernel: Kernel, steps: Steps) -> Iterator[tuple[str, Items]]:
    """Of a nest that runs several steps."""
    yield "steps", ((labels(grid.p, [steps.member])[0], steps.count),)
    names = labels(grid.p, [a.member for a in grid.axes])
    yield "tile", tuple((name, a.tile) for name, a in zip(names, grid.axes, strict=True))
    yield "threads", tuple((name, a.threads) for name, a in zip(names, grid.axes, strict=True))
    sources = source_arrays(grid.p, grid.statements)
    yield "hold", tuple(sorted((array_label(sources, m.box.array), None) for m in grid.mirrors))
    yield from _code(grid, kernel)


def _all(grid: Grid, kernel: Kernel) -> Iterator[tuple[str, Items]]:
    loops, sources = grid.loops, source_arrays(grid.p, grid.statements)
    outermost = (
        b.node.members[0] for b in walk(grid.block) if isinstance(b, Run) and isinstance(b.node, Band)
    )
    members = [*(a.member for a in grid.computing), *outermost]
    names = labels(grid.p, members)
    axes = names[: len(grid.computing)]
    steps = [(n, t) for n, m in zip(names, members, strict=True) for t in loops if t.member is m]
    inner = tuple((name, None) for name in order_inside(grid.p, grid.node))
    if inner:
        yield "inner", inner
    if grid.attending:
        copied = {id(tiles) for _, tiles in grid.boxes}
        yield "attend", tuple((n, grid.attending) for n, t in steps if id(t) in copied)
    elif grid.axes:
        pairs = list(zip(axes, grid.computing, strict=True))
        if len(pairs) < len(grid.axes):
            yield "attend", (("", prod(grid.shape)),)
        yield "order", tuple((f"-{n}" if runs_backwards(a.member) else n, None) for n, a in pairs)
        tiles = [(n, a.tile) for n, a in pairs] + [(n, t.width) for n, t in steps]
        yield "tile", tuple(dict(tiles).items())  # parts of a statement have its loops' names
        yield "threads", tuple((n, a.threads) for n, a in pairs)
        yield "deal", tuple((n, a.group) for n, a in pairs)
        yield "hold", tuple(sorted({(array_label(sources, h.array), None) for h in grid.held}))
        boxes = {box.name: _label(grid, box) for box, _ in grid.boxes}
        level = {id(t): n for n, t in steps}
        yield "stage", tuple((boxes[b.name], level.get(id(t), "block")) for b, t in grid.boxes)
        if any(form_of(grid, b.references) for b, _ in grid.boxes):
            yield "scale", tuple((boxes[b.name], None) for b, _ in grid.boxes if b.form is not None)
        yield "buffer", (_buffer(loops),)
        if grid.fragments:
            yield "tensor", (("", grid.fragments),)
        yield "wide", (("", grid.widest),)
        yield "loads", (("", grid.loads or "all"),)
        yield "unroll", (("", {None: "auto", 0: "full", 1: "none"}.get(grid.unroll, grid.unroll)),)
        yield "reuse", (("", grid.reuse),)
        if grid.walk != "rows":
            yield "walk", (("", grid.walk),)
        if boxes:
            yield "pad", tuple((boxes[s.name], s.padding) for s in kernel.shared if s.name in boxes)
    elif inner:
        yield "attend", (("", 1),)
    yield from _code(grid, kernel)


def _code(grid: Grid, kernel: Kernel) -> Iterator[tuple[str, Items]]:
    sources = source_arrays(grid.p, grid.statements)
    yield "registers", (("", kernel.registers or "auto"),)
    if grid.outer:
        yield "launch", (("", "one" if kernel.joined else "each"),)
    for space in SPACES:
        yield space, tuple((array_label(sources, a.name), None) for a in kernel.arrays if a.space == space)


def asked_padding(grid: Grid, asked: Wanted) -> dict[str, int]:
    """The padding that is asked for, by the name of the box."""
    decision = asked.find("pad")
    if decision is None:
        return {}
    items = [("".join(name.split()), value) for name, value in decision.items]
    names = {box.name: names_of_box(grid, box) for box, _ in grid.boxes}
    found = {box: next((v for n, v in items if n in mine), decision.value) for box, mine in names.items()}
    return {box: value for box, value in found.items() if isinstance(value, int)}


def check_padding(grid: Grid, device: Device, asked: Wanted) -> None:
    """Raises RefusedError where padding is asked for an array of the nest that is not staged, or does not
    fit.
    """
    decision = asked.find("pad")
    if decision is None or asked.care:
        return
    known = frozenset(name for box, _ in grid.boxes for name in names_of_box(grid, box))
    for name in decision.names:
        if asked.knows(decision, name) and "".join(name.split()) not in known:
            staged = ", ".join(_label(grid, box) for box, _ in grid.boxes)
            advice = f"what is staged is {staged}" if staged else "decide stage(...) too"
            raise asked.refused(decision, "PG310", f"'{name}' is not staged in shared memory", advice)
    size = shared_bytes(grid, {box.name: 0 for box, _ in grid.boxes} | asked_padding(grid, asked))
    if size > room(device):
        why = f"rows so long take {size} bytes of shared memory; {device.title} has {room(device)}"
        raise asked.refused(decision, "PG304", why, "ask for less padding")


def _buffer(loops: Sequence[Tiles]) -> tuple[str, Value]:
    tiles = next((t for t in loops if t.buffering != "none"), None)
    if tiles is None:
        return "", "none"
    return ("ring", tiles.stages) if tiles.buffering == "ring" else ("", tiles.buffering)


def _label(grid: Grid, box: Box) -> str:
    """What only the references of the box are called: those that read it, or store to it if none does."""
    mine: set[str] = set()
    others: set[str] = set()
    every = [(s, a) for s in grid.statements for a in grid.p.statement(s).accesses]
    for statement, a in reads(grid) if names_of_box(grid, box) else every:
        inside = names_in_box(grid, box, statement, a)
        mine |= inside
        others |= names_of_access(grid, statement, a) - inside
    known = sorted(mine, key=lambda name: ("[" not in name, "@" in name, name))
    return next((name for name in known if name not in others), known[0])
