"""What the lanes of a block access: a kernel's body evaluated for all threads of one interior block.

Predictions of coalescing and bank conflicts, and the choice of padding, all look at the same thing: for each
reference, the index vectors of the lanes of each request. They come from the code that will run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import TypeAlias

from polygpu.analysis.rewrite import references, walk
from polygpu.codegen.lanes import Value, evaluate, spread, uniform
from polygpu.codegen.walk import expressions_of
from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.kernel import Assign, Declare, For, If, Kernel, Move, Statement

Index: TypeAlias = tuple[int, ...]
Lanes: TypeAlias = tuple[Index | None, ...]
Mask: TypeAlias = list[bool] | None  # which threads are active; None: all

SIZE = 4096  # the value of every size while predicting: large, and a multiple of all tiles
PERIOD = 32  # iterations after which the alignment of 4-byte words to 128 bytes repeats
_BUDGET = 512  # evaluations of a body at most, over all loops around it
_BLOCKS = ((1, 1, 1), (1, 9, 1), (9, 1, 1))  # a nest may have points in a triangle of the grid only


@dataclass(frozen=True)
class Requests:
    """One reference in the code: for each request, the index vectors of its lanes, None for an idle one.

    `weight` is how often the reference runs in a thread (constant trip counts multiplied, `SIZE` for
    others); `wide` is how many elements a lane accesses. `lanes` is empty when no thread gets there, when
    the indices depend on data, and for private arrays.
    """

    reference: Reference
    write: bool
    lanes: tuple[Lanes, ...]
    weight: float
    wide: int = 1


def requests(
    kernel: Kernel,
    width: int,
    *,
    arrays: Collection[str] | None = None,
    sizes: Mapping[str, int] | None = None,
    varied: bool = False,
) -> list[Requests]:
    """The requests of `width` lanes in the sampled block that has most of them.

    `arrays` limits them to some shared and global arrays; `sizes` gives values of integer arguments. With
    `varied`, loops whose index the alignment of global addresses or the activity of lanes depends on are
    run for a period of addresses; else, which is enough for shared memory, once.
    """
    wanted = frozenset(_known(kernel) if arrays is None else arrays)
    best: list[Requests] = []
    goal = _places(kernel.body, wanted)
    moving = _moving(kernel) if varied else frozenset[str]()
    for values, block in product(_sizes(kernel, sizes or {}), _BLOCKS):
        found = run(kernel, width, values, block, wanted, moving)
        if varied and kernel.block[0] < PERIOD and width < PERIOD:  # narrow tiles begin at odd half-warps too
            x, y, z = block
            found += run(kernel, width, values, (x + 1, y, z), wanted, moving)
        if len(_met(found)) > len(_met(best)) or not best:
            best = found
        if len(_met(best)) == goal:
            break
    return best


def _known(kernel: Kernel) -> Iterator[str]:
    yield from (a.name for a in kernel.arrays)
    yield from (s.name for s in kernel.shared)


def _met(found: list[Requests]) -> set[tuple[str, int, bool]]:
    return {(r.reference.array, r.reference.site, r.write) for r in found if r.lanes}


def sizes_of(kernel: Kernel, sizes: Mapping[str, int] | None = None) -> dict[str, int]:
    """A value for each integer argument: firsts of tiles are 0, others as in `sizes` or else `SIZE`.

    Pitches are the last extents in whole segments.
    """
    integers = [s.name for s in kernel.scalars if s.type not in ("float", "double")]
    values = {n: 0 if n.endswith("_first") else SIZE for n in integers} | dict(sizes or {})
    for a in kernel.arrays:
        if isinstance(a.pitch, Name) and a.extents and a.extents[-1] is not None:
            extent = uniform(a.extents[-1], values)
            values[a.pitch.name] = SIZE if extent is None else -(-extent // PERIOD) * PERIOD
    return values


def _sizes(kernel: Kernel, sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Values of the integer arguments; the second time those that are no sizes, as host indices, are 0."""
    values = sizes_of(kernel, sizes)
    yield values
    extents = [e for a in kernel.arrays for e in (*a.extents, a.pitch) if e is not None]
    known = {e.name for extent in extents for e in walk(extent) if isinstance(e, Name)} | set(sizes)
    if not known.issuperset(values):
        yield {n: value if n in known else 0 for n, value in values.items()}


def run(
    kernel: Kernel,
    width: int,
    sizes: Mapping[str, int],
    block: tuple[int, int, int],
    arrays: Collection[str],
    moving: Collection[str] | None,
) -> list[Requests]:
    """The requests of one block.

    Loops over the indices in `moving` run for `PERIOD` iterations at most and the others once, weighed by
    their trip counts; when `moving` is None all run to their end.
    """
    x, y, _ = kernel.block
    threads = range(prod(kernel.block))
    state = _Walk(width, len(threads), arrays, moving, dict(sizes))
    state.values |= {f"block_{axis}": number for axis, number in zip("xyz", block, strict=True)}
    state.values["thread_x"] = [t % x for t in threads]
    state.values["thread_y"] = [t // x % y for t in threads]
    state.values["thread_z"] = [t // (x * y) for t in threads]
    state.statements(kernel.body, None, 1.0, _BUDGET)
    return state.found


@dataclass
class _Walk:
    """One pass through a body; `values` holds the names declared so far."""

    width: int
    threads: int
    arrays: Collection[str]
    moving: Collection[str] | None
    values: dict[str, Value]
    found: list[Requests] = field(default_factory=list)

    def statements(self, body: tuple[Statement, ...], mask: Mask, weight: float, budget: int) -> None:
        for s in body:
            match s:
                case Declare(name, _, value, _):
                    if value is not None:
                        self.reads(value, mask, weight)
                        self.values[name] = evaluate(value, self.values)
                case Assign(Reference() as target, value):
                    self.reads(value, mask, weight)
                    self.access(target, mask, weight, write=True)
                case Assign(Name() as target, value):
                    self.reads(value, mask, weight)
                    self.values[target.name] = evaluate(value, self.values) if mask is None else None
                case Move(target, source, width, _):
                    self.access(source, mask, weight, wide=width)
                    self.access(target, mask, weight, write=True, wide=width)
                case For():
                    self.loop(s, mask, weight, budget)
                case If():
                    self.branch(s, mask, weight, budget)

    def branch(self, s: If, mask: Mask, weight: float, budget: int) -> None:
        """The sides that some thread takes; both when the test depends on data."""
        self.reads(s.test, mask, weight)
        test = evaluate(s.test, self.values)
        for side, wanted in ((s.then, True), (s.otherwise, False)):
            if test is None or isinstance(test, int):
                if test is None or bool(test) == wanted:
                    self.statements(side, mask, weight, budget)
            elif side:
                taken = _both(mask, [bool(t) == wanted for t in test])
                if any(taken):
                    self.statements(side, taken, weight, budget)

    def loop(self, s: For, mask: Mask, weight: float, budget: int) -> None:
        """The body at the first iterations, together weighed by the trip count."""
        lower, upper = evaluate(s.lower, self.values), evaluate(s.upper, self.values)
        if lower is None or upper is None:
            self.values[s.index] = None
            self.statements(s.body, mask, weight, budget)
            return
        trips = self.trips(lower, upper, s.step)
        if self.moving is None:
            samples = trips
        else:
            samples = min(trips, PERIOD, budget) if s.index in self.moving else min(trips, 1)
        for k in range(samples):
            at = lower + k * s.step if isinstance(lower, int) else [a + k * s.step for a in lower]
            self.values[s.index] = at
            inside = self.below(at, upper, mask)
            self.statements(s.body, inside, weight * trips / samples, budget // samples)

    def trips(self, lower: int | list[int], upper: int | list[int], step: int) -> int:
        """The most iterations of a thread."""
        if isinstance(lower, int) and isinstance(upper, int):
            return -(-(upper - lower) // step)
        pairs = zip(spread(lower, self.threads), spread(upper, self.threads), strict=True)
        return max(-(-(b - a) // step) for a, b in pairs)

    def below(self, at: int | list[int], upper: int | list[int], mask: Mask) -> Mask:
        """The threads that run the iteration `at`."""
        if isinstance(at, int) and isinstance(upper, int):
            return mask
        pairs = zip(spread(at, self.threads), spread(upper, self.threads), strict=True)
        return _both(mask, [a < b for a, b in pairs])

    def reads(self, expr: Expr, mask: Mask, weight: float) -> None:
        for r in references(expr):
            self.access(r, mask, weight)

    def access(self, r: Reference, mask: Mask, weight: float, *, write: bool = False, wide: int = 1) -> None:
        lanes = tuple(self.groups(r, mask)) if r.array in self.arrays else ()
        self.found.append(Requests(r, write, lanes, weight, wide))

    def groups(self, r: Reference, mask: Mask) -> Iterator[Lanes]:
        """The requests with an active lane."""
        columns = [evaluate(s, self.values) for s in r.subscripts]
        known = [spread(c, self.threads) for c in columns if c is not None]
        if len(known) < len(columns):
            return
        indices: list[Index | None] = list(zip(*known, strict=True)) if known else [()] * self.threads
        if mask is not None:
            indices = [i if active else None for i, active in zip(indices, mask, strict=True)]
        indices += [None] * (-self.threads % self.width)
        for start in range(0, len(indices), self.width):
            group = tuple(indices[start : start + self.width])
            if mask is None or any(i is not None for i in group):
                yield group


def _both(mask: Mask, other: list[bool]) -> list[bool]:
    return other if mask is None else [a and b for a, b in zip(mask, other, strict=True)]


def _statements(body: tuple[Statement, ...]) -> Iterator[Statement]:
    for s in body:
        yield s
        match s:
            case For():
                yield from _statements(s.body)
            case If():
                yield from _statements((*s.then, *s.otherwise))


def _places(body: tuple[Statement, ...], arrays: Collection[str]) -> int:
    """How many references to `arrays` there are, copies of one source access counted once."""
    found: set[tuple[str, int, bool]] = set()
    for s in _statements(body):
        target = s.target if isinstance(s, Assign | Move) else None
        for expr in expressions_of(s):
            found |= {(r.array, r.site, r is target) for r in references(expr) if r.array in arrays}
    return len(found)


def _moving(kernel: Kernel) -> frozenset[str]:
    """Names that the last subscripts of global references, tests and bounds of loops are made of.

    Rows are pitched to whole segments, so only the last subscript changes an address's alignment.
    """
    arrays = {a.name for a in kernel.arrays}
    found: set[str] = set()
    made_of: dict[str, set[str]] = {}
    for s in _statements(kernel.body):
        if isinstance(s, Declare) and s.value is not None:
            made_of.setdefault(s.name, set()).update(_names(s.value))
        if isinstance(s, If):
            found |= _names(s.test)
        if isinstance(s, For):
            found |= _names(s.lower) | _names(s.upper)
        for expr in expressions_of(s):
            for r in references(expr):
                if r.array in arrays and r.subscripts:
                    found |= _names(r.subscripts[-1])
    pending = list(found)
    while pending:
        more = made_of.get(pending.pop(), set()) - found
        found |= more
        pending.extend(more)
    return frozenset(found)


def _names(expr: Expr) -> set[str]:
    return {e.name for e in walk(expr) if isinstance(e, Name)}
