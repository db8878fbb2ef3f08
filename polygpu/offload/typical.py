"""Typical values of sizes that are known at run time only, at which regions are priced."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from polygpu.lower.scan import Scan, ScanBlock, ScanFor, ScanIf
from polygpu.lower.work import Work
from polygpu.model.expr import Int
from polygpu.model.rewrite import scalars_in, walk
from polygpu.model.scop import LARGEST_SIZE, TYPICAL_EXTENTS, Scop
from polygpu.offload.instances import Sizes
from polygpu.offload.seconds import Ledger
from polygpu.perf.lanes import uniform

SMALL = 64  # of more dimensions
STEPS = 100  # of loops whose iterators are in no subscript


def typical(ledger: Ledger, stated: Mapping[str, int]) -> dict[str, int]:
    """A value for each polyhedral parameter of the region: that `stated`, or by the shape of the region.

    A parameter that loops start from, or whose distance from another one counts, has the one of a few values
    with which most instances run; one that is between constants, the nearest to what it would have; one that
    decides about a branch that is left out, one with which that is not taken.
    """
    p = ledger.region.polyhedra
    extent, extents = _extent(ledger), _extent_names(ledger)
    scalars = {s.name: s for s in p.scop.scalars}
    usual = {name: scalars[name].nearest(extent if name in extents else STEPS) for name in p.parameters}
    values = _running(
        p.scop, {name: stated.get(name, value) for name, value in usual.items()}, extents | {*stated}
    )
    for name in (n for n in p.parameters if n not in stated):
        tried = dict.fromkeys(map(scalars[name].nearest, (values[name], 0, values[name] // 2)))
        tries = [{**values, name: value} for value in tried]
        values = max(tries, key=lambda sizes: sum(ledger.instances(sizes).values()))
    return values


def _running(scop: Scop, values: Mapping[str, int], fixed: Collection[str]) -> dict[str, int]:
    """The values with others for what decides about branches that the region leaves out, if these are taken.

    Names that are `fixed` keep theirs.
    """
    tests = [left.test for left in scop.untaken]
    numbers = {part.value for test in tests for part in walk(test) if isinstance(part, Int)}
    found = dict(values)
    for name in sorted(scalars_in(*tests) & found.keys() - {*fixed}):
        tries = [
            {**found, name: n} for n in (found[name], 0, *sorted(n + d for n in numbers for d in (0, 1, -1)))
        ]
        found = next((sizes for sizes in tries if not any(uniform(test, sizes) for test in tests)), found)
    return found


def scaled(ledger: Ledger, values: Sizes, scale: float) -> dict[str, int]:
    """All of them larger or smaller together; what is 0, or between constants, stays it."""
    scalars = {s.name: s for s in ledger.region.polyhedra.scop.scalars}
    return {
        name: v if not v or scalars[name].between else max(1, min(round(v * scale), LARGEST_SIZE))
        for name, v in values.items()
    }


def _extent(ledger: Ledger) -> int:
    """By the dimensions of the largest array, or of the deepest nest where arrays have one at most."""
    rank = max((a.long_dimensions for a in ledger.region.polyhedra.scop.arrays), default=0)
    if rank <= 1:
        rank = max((len(_indexing(w)) for w in ledger.work), default=0)
    return TYPICAL_EXTENTS.get(max(rank, 1), SMALL)


def _extent_names(ledger: Ledger) -> frozenset[str]:
    """What arrays' extents depend on, and the bounds of loops whose iterators are in subscripts."""
    declared = (e for a in ledger.region.polyhedra.scop.arrays for e in a.extents if e is not None)
    loops = (f for w in ledger.work for f in loops_in(w.instances) if f.index in _indexing(w))
    return scalars_in(*declared).union(*(scalars_in(f.lower, f.upper) for f in loops))


def _indexing(w: Work) -> frozenset[str]:
    """The indices of the loops whose iterators are in subscripts."""
    used = scalars_in(*(e for a in w.statement.accesses for e in a.reference.subscripts))
    return frozenset(k for k, i in zip(w.indices, w.statement.iterators, strict=True) if i in used)


def loops_in(tree: Scan) -> Iterator[ScanFor]:
    """From the outermost."""
    match tree:
        case ScanFor():
            yield tree
            yield from loops_in(tree.body)
        case ScanBlock(children):
            for child in children:
                yield from loops_in(child)
        case ScanIf(_, then, otherwise):
            yield from loops_in(then)
            if otherwise is not None:
                yield from loops_in(otherwise)
