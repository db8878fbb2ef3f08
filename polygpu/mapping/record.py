"""The whole tuple of decisions that makes a kernel what it is: fed back, it makes the same one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from polygpu.analysis.expand import Expansion, decided_for, loops_of, whole
from polygpu.analysis.places import names_statement, place_of
from polygpu.analysis.polyhedra import PolyAccess
from polygpu.mapping.body import order_inside
from polygpu.mapping.place import names_of_access
from polygpu.mapping.program import Box, Grid, Run, Tiles, reference_key, walk
from polygpu.mapping.wanted import (
    Wanted,
    array_label,
    labels,
    runs_backwards,
    source_arrays,
)
from polygpu.model.decisions import KERNELS, SPACES, Decision, Taken, Value
from polygpu.model.kernel import Kernel
from polygpu.schedule.prepare import Prepared
from polygpu.schedule.tree import Band

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
    made = (("expand", _temporaries(grid, prepared)), *_kernels(grid, prepared.cuts))
    mine = (
        (("sequential", names), *_all(grid, kernel)) if not grid.reductions else _shared(grid, kernel, asked)
    )
    found = (*((key, items) for key, items in made if items), *mine)
    followed = {d.key for d in asked.decisions if asked.follows(d)} | _followed(grid, prepared)
    decisions = (Decision(key, items, place) for key, items in found)
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
    return {"split"} | ({"fuse"} if named else set()) | ({"expand"} if grown else set())


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


def _kernels(grid: Grid, cuts: frozenset[str]) -> Iterator[tuple[str, Items]]:
    """Which statements the kernel has."""
    for key, names in (("split", cuts & {*grid.statements}), ("fuse", grid.statements)):
        if names and (key == "split" or len(names) > 1):
            mine = [s.name for s in grid.p.statements if s.name in names]
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


def _all(grid: Grid, kernel: Kernel) -> Iterator[tuple[str, Items]]:
    loops, sources = grid.loops, source_arrays(grid.p, grid.statements)
    outermost = (
        b.node.members[0] for b in walk(grid.block) if isinstance(b, Run) and isinstance(b.node, Band)
    )
    members = [*(a.member for a in grid.axes), *outermost]
    names = labels(grid.p, members)
    axes = names[: len(grid.axes)]
    steps = {n: t for n, m in zip(names, members, strict=True) for t in loops if t.member is m}
    inner = tuple((name, None) for name in order_inside(grid.p, grid.node))
    if inner:
        yield "inner", inner
    if grid.axes:
        pairs = list(zip(axes, grid.axes, strict=True))
        yield "order", tuple((f"-{n}" if runs_backwards(a.member) else n, None) for n, a in pairs)
        tiles = [(n, a.tile) for n, a in pairs] + [(n, t.width) for n, t in steps.items()]
        yield "tile", tuple(tiles)
        yield "threads", tuple((n, a.threads) for n, a in pairs)
        yield "deal", tuple((n, a.group) for n, a in pairs)
        yield "hold", tuple(sorted({(array_label(sources, h.array), None) for h in grid.held}))
        boxes = {box.name: _label(grid, box) for box, _ in grid.boxes}
        level = {id(t): n for n, t in steps.items()}
        yield "stage", tuple((boxes[b.name], level[id(t)] if t else "block") for b, t in grid.boxes)
        yield "buffer", (_buffer(loops),)
        yield "wide", (("", grid.widest),)
        yield "loads", (("", grid.loads or "all"),)
        yield "unroll", (("", {None: "auto", 0: "full", 1: "none"}.get(grid.unroll, grid.unroll)),)
        yield "reuse", (("", grid.reuse),)
        if boxes:
            yield "pad", tuple((boxes[s.name], s.padding) for s in kernel.shared if s.name in boxes)
    yield from _code(grid, kernel)


def _code(grid: Grid, kernel: Kernel) -> Iterator[tuple[str, Items]]:
    sources = source_arrays(grid.p, grid.statements)
    yield "registers", (("", kernel.registers or "auto"),)
    for space in SPACES:
        yield space, tuple((array_label(sources, a.name), None) for a in kernel.arrays if a.space == space)


def asked_padding(grid: Grid, asked: Wanted) -> dict[str, int]:
    """The padding that is asked for, by the name of the box."""
    decision = asked.find("pad")
    if decision is None:
        return {}
    items = [("".join(name.split()), value) for name, value in decision.items]
    names = {box.name: _names_of(grid, box) for box, _ in grid.boxes}
    found = {box: next((v for n, v in items if n in mine), decision.value) for box, mine in names.items()}
    return {box: value for box, value in found.items() if isinstance(value, int)}


def check_padding(grid: Grid, asked: Wanted) -> None:
    """Raises RefusedError where padding is asked for an array of the nest that is not staged."""
    decision = asked.find("pad")
    if decision is None or asked.care:
        return
    known = frozenset(name for box, _ in grid.boxes for name in _names_of(grid, box))
    for name in decision.names:
        if asked.knows(decision, name) and "".join(name.split()) not in known:
            staged = ", ".join(_label(grid, box) for box, _ in grid.boxes)
            advice = f"what is staged is {staged}" if staged else "decide stage(...) too"
            raise asked.refused(decision, "PG310", f"'{name}' is not staged in shared memory", advice)


def _names_of(grid: Grid, box: Box) -> frozenset[str]:
    return frozenset(n for s, a in _reads(grid) for n in _names_in(grid, box, s, a))


def _names_in(grid: Grid, box: Box, statement: str, a: PolyAccess) -> frozenset[str]:
    inside = reference_key(statement, a.reference) in box.references
    return names_of_access(grid, statement, a) if inside else frozenset()


def _buffer(loops: Sequence[Tiles]) -> tuple[str, Value]:
    tiles = next((t for t in loops if t.buffering != "none"), None)
    if tiles is None:
        return "", "none"
    return ("ring", tiles.stages) if tiles.buffering == "ring" else ("", tiles.buffering)


def _label(grid: Grid, box: Box) -> str:
    """What only the references of the box are called."""
    mine: set[str] = set()
    others: set[str] = set()
    for statement, a in _reads(grid):
        inside = _names_in(grid, box, statement, a)
        mine |= inside
        others |= names_of_access(grid, statement, a) - inside
    known = sorted(mine, key=lambda name: ("[" not in name, "@" in name, name))
    return next((name for name in known if name not in others), known[0])


def _reads(grid: Grid) -> Iterator[tuple[str, PolyAccess]]:
    for name in grid.statements:
        yield from ((name, a) for a in grid.p.statement(name).accesses if not a.write)
