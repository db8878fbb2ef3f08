"""What rules propose for the model to choose among: a few ways to stage, and a few shapes of threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TypeAlias

from polygpu.analysis.polyhedra import array_tuple
from polygpu.lower.realise import CompiledRegion
from polygpu.mapping.owned import nest_patterns, written_arrays
from polygpu.mapping.products import points_along
from polygpu.mapping.rules import fitted, is_rectangular
from polygpu.mapping.wanted import array_of, source_arrays
from polygpu.model.decisions import Value
from polygpu.model.device import Device
from polygpu.model.fragments import ACROSS, EACH
from polygpu.search.space import Items, Nest, of_fragments
from polygpu.support.dataclass import dataclass

Changes: TypeAlias = Mapping[str, Items]
_FEW = 2  # shapes where launches differ, which take longer to price
_UNROLLED = 4  # iterations of loops that have no constant length


@dataclass(frozen=True)
class Shape:
    """`threads` and points a thread of the last axes, and how those of the outer ones, and of the lanes', are
    dealt; tiles of loops so wide, and unrolled, if `width` is not 0; loops `unrolled` so often, if not so.
    With `turned` the lanes' axis is not the last one: blocks that run at the same time are beside each other
    along the other. Tiles are staged ahead if they are `early`; `as_staged`: those staged without it;
    `shared`: arrays of which threads read what others read.
    """

    threads: tuple[int, ...]
    points: tuple[int, ...]
    outer: Value = "cyclic"
    lanes: Value = "cyclic"
    width: int = 0
    unrolled: Value = 0
    turned: bool = False
    early: bool = False
    as_staged: bool = False
    shared: bool = False

    @property
    def held(self) -> int:
        """Registers of a block, at least, if each of its points holds a sum."""
        return prod(self.threads) * prod(self.points)

    def changes(
        self, nest: Nest, extents: Sequence[int | None], device: Device, whole: bool = True
    ) -> Changes:
        """Those of decisions about a nest, whose tiles of loops are `whole`, or may begin and end within; its
        axes have so many points, where that is known.
        """
        axes = (*nest.axes[:-2], *reversed(nest.axes[-2:])) if self.turned else nest.axes
        order: Changes = {"order": tuple((a, None) for a in axes)} if self.turned else {}
        names = [a.removeprefix("-") for a in axes]
        front = [1] * (nest.depth - len(self.threads))
        known = dict(zip(nest.axes, extents, strict=True))
        sizes = zip([*front, *self.threads], [*front, *self.points], [*front, *self.points], strict=True)
        fit = fitted(list(sizes), [known[a] for a in axes], device)
        each = [(name, threads, points) for name, (threads, points, _) in zip(names, fit, strict=True)]
        times = self.unrolled or (("full" if whole else min(self.width, _UNROLLED)) if self.width else 0)
        unroll: Changes = {"unroll": (("", times),)} if times else {}
        ahead: Changes = {"buffer": (("", "prefetch"),)} if self.early else {}
        return {
            **order,
            "threads": tuple((n, t) for n, t, _ in each),
            "tile": (*((n, t * p) for n, t, p in each), *((n, self.width) for n in nest.loops if self.width)),
            "deal": tuple((n, self.outer if n != names[-1] else self.lanes) for n in names),
            **unroll,
            **ahead,
        }


@dataclass(frozen=True)
class Shapes:
    """For nests with loops in a thread and others, of two axes or more; for one axis `lines` and `rows`.

    `uneven` are for lines whose points have loops of different bounds, beside the others, `ragged` instead of
    `looped` if there are more axes; `steps` instead of `plain` for launches that differ, `square` beside them
    if lanes cannot but touch many rows of what is not staged; `boxes` if there are three axes, along which
    threads read what others read.
    """

    looped: tuple[Shape, ...]
    plain: tuple[Shape, ...]
    lines: tuple[Shape, ...]
    rows: tuple[Shape, ...]
    uneven: tuple[Shape, ...] = ()
    ragged: tuple[Shape, ...] = ()
    steps: tuple[Shape, ...] = ()
    square: tuple[Shape, ...] = ()
    boxes: tuple[Shape, ...] = ()

    def of(self, r: CompiledRegion, nest: Nest, whole: bool) -> tuple[Shape, ...]:
        if nest.depth == 1 and nest.loops:
            return self.lines if whole else (*self.uneven, *self.lines)
        if nest.depth == 1:
            return self.rows
        if nest.loops:
            return self.looped if whole or not self.ragged else self.ragged
        plain = self.boxes if nest.depth > 2 and overlapping(r, nest) else ()
        plain = (launches_differ(r, nest) and self.steps) or plain or self.plain
        return (*(self.square if self.square and _scattered(r, nest) else ()), *plain)


_ROWS = Shape((2, 128), (8, 1), "blocked")
_TURNED = Shape((128, 1), (1, 16), turned=True)
# Memory wants aligned rows of a half-warp: a thread's points share what it loads; steps that update a matrix
# load little but what they share.
_HALF_WARPS = Shapes(
    (
        Shape((1, 128), (8, 4), early=True),
        Shape((1, 64), (16, 1)),
        Shape((2, 32), (16, 1), "blocked", early=True, as_staged=True),
        Shape((8, 32), (4, 1), early=True),
        Shape((8, 32), (8, 4), "blocked"),
    ),
    (
        _ROWS,
        Shape((16, 16), (4, 4)),
        Shape((1, 64), (4, 2), "blocked"),
        _TURNED,
    ),
    (Shape((128,), (1,), width=64), Shape((32,), (1,), width=32)),
    (Shape((64,), (16,)), Shape((512,), (4,))),
    (Shape((32,), (1,), unrolled=_UNROLLED), Shape((32,), (1,), width=4)),
    steps=(Shape((4, 64), (16, 2), "blocked"), Shape((16, 16), (4, 4))),
    ragged=(
        Shape((1, 128), (16, 1), width=8, unrolled="full", as_staged=True),
        Shape((8, 16), (8, 4), "blocked", width=8, unrolled=_UNROLLED, early=True, as_staged=True),
        Shape((8, 32), (4, 2), early=True, as_staged=True),
        Shape((2, 32), (16, 1), "blocked", early=True, as_staged=True),
    ),
    boxes=(
        Shape((1, 2, 64), (4, 2, 1), shared=True),
        Shape((1, 4, 16), (8, 1, 1), shared=True),
        _ROWS,
        _TURNED,
    ),
)
# Segments are fetched whatever the order of the lanes: four rows of four touch four lines of each array.
_SEGMENTS = replace(
    _HALF_WARPS,
    square=(Shape((32, 4), (4, 8)),),
    steps=(Shape((4, 128), (32, 1), "blocked"), Shape((2, 128), (16, 1), "blocked")),
    boxes=(Shape((2, 4, 32), (8, 1, 1), shared=True), _ROWS, _TURNED),
)
# Caches and wide registers: large tiles of products, groups of points that are loaded as vectors.
_SECTORS = Shapes(
    (
        Shape((16, 16), (8, 8), "grouped", "grouped"),
        Shape((16, 16), (8, 16), "grouped", "grouped"),
        Shape((16, 16), (4, 4), "grouped", "grouped"),
        Shape((2, 64), (4, 1)),
    ),
    (
        Shape((16, 16), (4, 4)),
        Shape((2, 128), (8, 1), "blocked"),
        Shape((8, 32), (4, 1)),
        Shape((4, 64), (4, 1), "blocked"),
    ),
    (*(Shape((threads,), (1,)) for threads in (32, 64, 256)), Shape((32,), (1,), width=32)),
    (),
)


# Products of tensor cores: smaller blocks than the rules', of which a small product has more.
_FRAGMENTS = tuple(
    Shape((rows, ACROSS), points, lanes=EACH, width=16)
    for rows, points in ((32, (4, 16)), (32, (4, 8)), (32, (2, 8)), (16, (2, 8)))
)

_SHAPES = {"sector": _SECTORS, "cc13": _SEGMENTS}


def staged(r: CompiledRegion, nest: Nest, best: Changes, device: Device) -> Iterator[Changes]:
    """All that is only read in shared memory, what does not coalesce, or nothing; but for what is so now.

    Of threads with loops in more than one axis all shapes but few stage what does not coalesce.
    """
    if nest.policy:
        return
    few = _uncoalesced(r, nest)
    now = {*map(array_of, nest.taken["stage"].names)}
    shapes_do = nest.loops and nest.depth > 1 and few
    some = (nest.arrays,) if launches_differ(r, nest) or shapes_do else (nest.arrays, few)
    nothing = () if nest.loops and few else ((),)
    for arrays in dict.fromkeys((*some, *nothing)):
        if {*arrays} != now:
            yield {"stage": _items(arrays)}


def shaped(r: CompiledRegion, nest: Nest, best: Changes, device: Device) -> Iterator[Changes]:
    """Threads, and points that a thread has: in loops, these share what it loads once."""
    if nest.policy:
        unknown = [None] * nest.depth
        yield from (of_fragments(nest, shape.changes(nest, unknown, device)) for shape in _FRAGMENTS)
        return
    few = _uncoalesced(r, nest)
    stage: Changes = {"stage": _items(few)} if few else {}
    held = "stage" in best or not nest.loops
    other = not held and {*few} != {*map(array_of, nest.taken["stage"].names)}
    whole = not nest.loops or is_rectangular(r.grids[nest.kernel])
    shapes = _SHAPES.get(device.rule, _HALF_WARPS).of(r, nest, whole)
    if nest.loops:
        shapes = tuple(s for s in shapes if s.held < device.registers_per_multiprocessor)
    if device.rule == "sector" and not nest.loops and _stores_among_loads(r, nest):
        shapes = tuple(s for s in shapes if {*s.points} == {1})
    if not other:  # what is staged without it
        shapes = tuple(dict.fromkeys(replace(s, as_staged=False) for s in shapes))
    grid = r.grids[nest.kernel]
    extents = [points_along(grid, k) for k, axis in enumerate(grid.axes) if axis in grid.computing]
    for shape in shapes[:_FEW] if launches_differ(r, nest) else shapes:
        kept = shape.as_staged or (held and not shape.turned)
        own = {"stage": _items(overlapping(r, nest))} if shape.shared else {} if kept else stage
        yield {**own, **shape.changes(nest, extents, device, whole)}


def _stores_among_loads(r: CompiledRegion, nest: Nest) -> bool:
    """Whether a thread stores to an array of which it loads other elements, too: then its compiler has the
    loads of one point wait for the stores of that before, and what points share is loaded again.
    """
    grid = r.grids[nest.kernel]
    mine = [a for s in grid.statements for a in grid.p.statement(s).accesses]
    stored = {(array_tuple(a.reference), a.reference.subscripts) for a in mine if a.write}
    names = {name for name, _ in stored}
    return any(
        (array_tuple(a.reference), a.reference.subscripts) not in stored
        for a in mine
        if array_tuple(a.reference) in names
    )


def overlapping(r: CompiledRegion, nest: Nest) -> tuple[str, ...]:
    """The arrays of which threads read elements that others read, too, by another of their references."""
    grid = r.grids[nest.kernel]
    sources = source_arrays(grid.p, grid.statements)
    mine = [a for s in grid.statements for a in grid.p.statement(s).accesses if not a.write]
    read = Counter(sources[array] for array, _ in {(a.reference.array, a.reference.subscripts) for a in mine})
    return tuple(name for name in nest.arrays if read[name] > 1)


def launches_differ(r: CompiledRegion, nest: Nest) -> bool:
    """Whether the kernel's code depends on loops of the host around it."""
    names = {f.name for f in r.grids[nest.kernel].outer}
    return any(s.name in names for s in r.region.kernels[nest.kernel].scalars)


def _items(arrays: tuple[str, ...]) -> Items:
    return tuple((a, None) for a in arrays)


def _scattered(r: CompiledRegion, nest: Nest) -> bool:
    """Whether lanes touch many rows of an array that the nest writes, too, and that is not staged."""
    grid = r.grids[nest.kernel]
    lanes, written = len(grid.axes) - 1, written_arrays(grid)
    return any(
        p.kind(lanes) == "strided" for p in nest_patterns(grid) if array_tuple(p.access.reference) in written
    )


def _uncoalesced(r: CompiledRegion, nest: Nest) -> tuple[str, ...]:
    grid = r.grids[nest.kernel]
    lanes, sources = len(grid.axes) - 1, source_arrays(grid.p, grid.statements)
    found = {sources[p.access.reference.array] for p in nest_patterns(grid) if p.kind(lanes) != "unit"}
    return tuple(a for a in nest.arrays if a in found)
