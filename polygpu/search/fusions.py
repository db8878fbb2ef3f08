"""Which kernels of a region might be one, or two: decisions about that, for prices to choose among.

A choice is worth it where all kernels together take less, each with what is chosen for its nest then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice, pairwise
from typing import TypeAlias

from polygpu.analysis.places import place_of
from polygpu.lower.realise import CompiledRegion
from polygpu.mapping.program import Grid
from polygpu.model.decisions import KERNELS, Decision
from polygpu.schedule.kernels import decided, in_order
from polygpu.support.diagnostics import Diagnosed

MOST = 4  # of a region

Fusion: TypeAlias = tuple[Decision, tuple[Grid, ...]]
"""A decision about kernels, and the grids of those that it is about."""


def fusions(r: CompiledRegion, rule: str) -> Iterator[Fusion]:
    """Legal alternatives to the kernels of a region, each by itself, the most promising first: two that share
    an array become one, one with several loops becomes two. None where persons have decided about kernels,
    and where threads share sums; none of nests in tiles of steps, which are made of kernels that are decided.
    """
    if not (r.prepared.shares or r.prepared.tiled or r.prepared.aheads) and not any(
        d.key in KERNELS for d in r.prepared.decisions
    ):
        yield from islice((f for f in (*_fused(r, rule), *_split(r)) if _is_legal(r, f[0])), MOST)


def _is_legal(r: CompiledRegion, d: Decision) -> bool:
    try:
        made = decided(r.polyhedra, r.dependences, r.prepared.scheduled.host, [d])
    except Diagnosed:
        return False
    return bool(made.decisions)


def _fused(r: CompiledRegion, rule: str) -> Iterator[Fusion]:
    """Pairs of nests by the dimensions of the largest array that both use, then in the order of the code.

    On chips whose caches hide from the model what waiting costs, none of which one stages what the other
    writes: together they could not.
    """
    pairs = [(_shared(a, b), a, b) for a, b in combinations(_decidable(r), 2) if _are_parallel(a, b)]
    if rule == "sector":
        pairs = [(n, a, b) for n, a, b in pairs if not (_staged(a) & _written(b) or _staged(b) & _written(a))]
    for dimensions, a, b in sorted(pairs, key=lambda pair: -pair[0]):
        if dimensions:
            yield _decision(r, "fuse", [next(in_order(g.node)) for g in (a, b)]), (a, b)


def _decidable(r: CompiledRegion) -> list[Grid]:
    """The nests that decisions about kernels can name: not those in tiles of steps."""
    return [g for g in r.grids if r.prepared.batches.keys().isdisjoint(g.statements)]


def _are_parallel(*grids: Grid) -> bool:
    return all(g.axes for g in grids)


def _shared(a: Grid, b: Grid) -> int:
    """The dimensions of the largest array that both use; 0 for scalars and for none."""
    dimensions = {array.name: len(array.extents) for array in a.p.arrays}
    return max((dimensions[name] for name in _used(a) & _used(b)), default=0)


def _staged(grid: Grid) -> set[str]:
    return {box.array for box, _ in grid.boxes}


def _written(grid: Grid) -> set[str]:
    return {a.reference.array for s in grid.statements for a in grid.p.statement(s).accesses if a.write}


def _used(grid: Grid) -> set[str]:
    return {a.reference.array for s in grid.statements for a in grid.p.statement(s).accesses}


def _split(r: CompiledRegion) -> Iterator[Fusion]:
    """Nests with several loops, cut between two of these."""
    for grid in filter(_are_parallel, _decidable(r)):
        order = list(in_order(grid.node))
        looped = [k for k, s in enumerate(order) if _depth(grid, s) > len(grid.computing) + len(grid.outer)]
        for first, second in pairwise(looped):
            yield from ((_decision(r, "split", [order[k]]), (grid,)) for k in range(first + 1, second + 1))


def _depth(grid: Grid, statement: str) -> int:
    return len(grid.p.statement(statement).iterators)


def _decision(r: CompiledRegion, key: str, statements: Sequence[str]) -> Decision:
    places = (place_of(r.polyhedra, (s,)) for s in statements)
    return Decision(key, tuple((str(place), None) for place in places))
