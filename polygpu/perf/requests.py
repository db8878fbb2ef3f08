"""What the lanes of a block access: a kernel's body evaluated for all threads of one interior block.

Predictions of coalescing and bank conflicts, and the choice of padding, all look at the same thing: for each
reference, the index vectors of the lanes of each request. They come from the code that will run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from math import prod
from typing import TypeAlias

from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.kernel import Assign, Declare, For, If, Kernel, Move, Statement, While
from polygpu.model.kernel_walk import operands, statements, written
from polygpu.model.rewrite import references, scalars_in
from polygpu.perf.lanes import Value, binary, evaluate, spread
from polygpu.perf.launches import SIZE, Block, TypicalLaunch
from polygpu.support.dataclass import dataclass

Index: TypeAlias = tuple[int, ...]
Lanes: TypeAlias = tuple[Index | None, ...]
Place: TypeAlias = tuple[str, int, bool]  # array, source access, whether it is written
Mask: TypeAlias = Sequence[int] | None  # which threads are active; None: all

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
    launch: TypicalLaunch | None = None,
    varied: bool = False,
) -> list[Requests]:
    """The requests of `width` lanes in the sampled block that gets to most references.

    `arrays` limits them to some shared and global arrays; `launch` has the arguments and the grid, which are
    guessed when it is None. With `varied`, loops whose index the alignment of global addresses or the
    activity of lanes depends on are run for a period of addresses; else, which is enough for shared memory,
    once.
    """
    wanted = frozenset(_known(kernel) if arrays is None else arrays)
    places = _places(kernel.body, wanted)
    moving = _moving(kernel) if varied else frozenset[str]()
    best: list[Requests] = []
    for values, block in _samples(kernel, launch):
        found = run(kernel, width, values, block, wanted, moving)
        x, y, z = block
        if launch and x + 1 < launch.grid[0] and kernel.block[0] < PERIOD and width < PERIOD:
            found += run(kernel, width, values, (x + 1, y, z), wanted, moving)  # at odd half-warps too
        if len(_met(found)) > len(_met(best)) or not best:
            best = found
        if len(_met(best)) == len(places):
            break
    if launch is None and len(_met(best)) < len(places):
        best += _unmet(kernel, width, wanted, best)
    met = {_place(r.reference, r.write) for r in best}
    return best + [
        Requests(r, write, (), 0.0) for (*_, write), r in places.items() if _place(r, write) not in met
    ]


def _unmet(kernel: Kernel, width: int, wanted: frozenset[str], found: list[Requests]) -> list[Requests]:
    """The requests of references that no sampled block gets to and that run more often than those of the
    same array that are `found`, as if all threads passed all tests: waves have points in few blocks of a
    grid, at few of its launches and, while a wave fills, in few threads.
    """
    often: dict[str, float] = {}
    for r in found:
        often[r.reference.array] = max(often.get(r.reference.array, 0.0), r.weight if r.lanes else 0.0)
    values, block = next(_samples(kernel, None))
    every = run(kernel, width, values, block, wanted, frozenset(), all_pass=True)
    met = _met(found)
    return [
        r
        for r in every
        if r.lanes
        and _place(r.reference, r.write) not in met
        and r.weight > often.get(r.reference.array, 0.0)
    ]


def _known(kernel: Kernel) -> Iterator[str]:
    yield from (a.name for a in kernel.arrays)
    yield from (s.name for s in kernel.shared)


def _met(found: list[Requests]) -> set[Place]:
    return {_place(r.reference, r.write) for r in found if r.lanes}


def _place(r: Reference, write: bool) -> Place:
    return r.array, r.site, write


def _samples(kernel: Kernel, launch: TypicalLaunch | None) -> Iterator[tuple[Mapping[str, int], Block]]:
    """Arguments and blocks to look at until all references are met."""
    if launch is not None:
        yield from ((launch.values, block) for block in launch.blocks())
        return
    integers = [s.name for s in kernel.scalars if s.type not in ("float", "double")]
    extents = [e for a in kernel.arrays for e in (*a.extents, a.pitch) if e is not None]
    known = scalars_in(*extents)
    for other in (SIZE, 0):  # host indices are unlike sizes
        values = {n: 0 if n.endswith("_first") else SIZE if n in known else other for n in integers}
        yield from ((values, block) for block in _BLOCKS)


def run(
    kernel: Kernel,
    width: int,
    values: Mapping[str, int],
    block: Block,
    arrays: Collection[str],
    moving: Collection[str] | None,
    all_pass: bool = False,
) -> list[Requests]:
    """The requests of one block, where `all_pass` with all threads on both sides of all tests.

    Loops over the indices in `moving` run for `PERIOD` iterations at most and the others once, weighed by
    their trip counts; when `moving` is None all run to their end.
    """
    x, y, _ = kernel.block
    threads = range(prod(kernel.block))
    state = _Walk(width, len(threads), arrays, moving, dict(values), all_pass)
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
    all_pass: bool = False
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
                case While():
                    self.repeat(s, mask, weight, budget)

    def repeat(self, s: While, mask: Mask, weight: float, budget: int) -> None:
        """One iteration: data say how many there are."""
        changed = {t.name for t in map(written, statements(s.body)) if isinstance(t, Name)}
        self.values.update(dict.fromkeys(changed))
        self.reads(s.test, mask, weight)
        self.statements(s.body, mask, weight, budget)

    def branch(self, s: If, mask: Mask, weight: float, budget: int) -> None:
        """The sides that some thread takes; both when the test depends on data."""
        self.reads(s.test, mask, weight)
        test = None if self.all_pass else evaluate(s.test, self.values)
        for side, wanted in ((s.then, True), (s.otherwise, False)):
            if test is None or isinstance(test, int):
                if test is None or bool(test) == wanted:
                    self.statements(side, mask, weight, budget)
            elif side:
                taken = _both(mask, test if wanted else [not t for t in test])
                if any(taken):
                    self.statements(side, taken, weight, budget)

    def loop(self, s: For, mask: Mask, weight: float, budget: int) -> None:
        """The body at the first iterations, together weighed by the trip count."""
        lower, upper = evaluate(s.lower, self.values), evaluate(s.upper, self.values)
        span = binary("-", upper, lower)
        if span is None:
            self.values[s.index] = None
            self.statements(s.body, mask, weight, budget)
            return
        trips = -(-max(spread(span, 1)) // s.step)  # the most of a thread
        if self.moving is None:
            samples = trips
        else:
            samples = min(trips, PERIOD, budget) if s.index in self.moving else min(trips, 1)
        for k in range(samples):
            at = self.values[s.index] = binary("+", lower, k * s.step)
            running = binary("<", at, upper)
            inside = _both(mask, running) if isinstance(running, list) else mask
            self.statements(s.body, inside, weight * trips / samples, budget // samples)

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


def _both(mask: Mask, other: Sequence[int]) -> Sequence[int]:
    return other if mask is None else [a and b for a, b in zip(mask, other, strict=True)]


def _places(body: tuple[Statement, ...], arrays: Collection[str]) -> dict[Place, Reference]:
    """The references to `arrays`, copies of one source access counted once."""
    found: dict[Place, Reference] = {}
    for s in statements(body):
        for expr in operands(s):
            found |= {_place(r, r is written(s)): r for r in references(expr) if r.array in arrays}
    return found


def _moving(kernel: Kernel) -> frozenset[str]:
    """Names that the last subscripts of global references, tests and bounds of loops are made of.

    Rows are pitched to whole segments, so only the last subscript changes an address's alignment.
    """
    arrays = {a.name for a in kernel.arrays}
    found: set[str] = set()
    made_of: dict[str, set[str]] = {}
    for s in statements(kernel.body):
        if isinstance(s, Declare) and s.value is not None:
            made_of.setdefault(s.name, set()).update(scalars_in(s.value))
        if isinstance(s, For | If):
            found |= scalars_in(*operands(s))
        for expr in operands(s):
            for r in references(expr):
                if r.array in arrays and r.subscripts:
                    found |= scalars_in(r.subscripts[-1])
    pending = list(found)
    while pending:
        more = made_of.get(pending.pop(), set()) - found
        found |= more
        pending.extend(more)
    return frozenset(found)
