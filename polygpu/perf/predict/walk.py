"""Counts what a kernel does without running it: its body evaluated once, for all points and threads.

The rules of counting are the emulator's (instructions, rounds of loads, stages, divergence); how often things
happen follows from the values of bounds, tests and subscripts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import groupby
from math import prod

import numpy as np

from polygpu.model.device import WARP
from polygpu.model.expr import Binary, Expr, Name, Reference, Select
from polygpu.model.kernel import (
    Assign,
    Barrier,
    Comment,
    Declare,
    DeclareArray,
    For,
    If,
    Kernel,
    Move,
    Statement,
)
from polygpu.model.kernel_walk import has_barrier
from polygpu.model.rewrite import children, references
from polygpu.model.structures import field_place
from polygpu.perf.cost import Coster
from polygpu.perf.hoist import Hoister
from polygpu.perf.names import Space, reloaded
from polygpu.perf.predict.costs import Costs
from polygpu.perf.predict.counters import OF_ACCESSES, Counts
from polygpu.perf.predict.masks import active, below, joint, lanes_where
from polygpu.perf.predict.names import Names
from polygpu.perf.predict.places import Places
from polygpu.perf.predict.points import Context, looked_at
from polygpu.perf.predict.values import ALL, Bits, Value, constant, evaluate, packed, plus
from polygpu.perf.rounds import Rounds

_INDEX = " index"  # no name of the kernel


class Walk:
    """One pass over a kernel's body; `exact` becomes False where data decide what happens, `sampled` True
    where `most` iterations of a loop, if that is not None, stand for more.
    """

    def __init__(
        self, kernel: Kernel, places: Places, costs: Costs, counts: Counts, most: int | None = None
    ) -> None:
        self.kernel, self.places, self.costs, self.counts = kernel, places, costs, counts
        self.most = most
        self.exact, self.sampled = True, False
        self.stage, self.used = 0, False
        self.names = Names({}, {})
        self.spaces: dict[str, Space] = {s.name: "shared" for s in kernel.shared}
        self.spaces |= {a.name: a.space for a in kernel.arrays}
        self.start: Context | None = None
        self.hoister = Hoister(self.charge_start)
        self.coster = Coster(self.space, costs.device.doubles, self.hoister)
        self.rounds = Rounds(
            lambda n: self.space(n) in ("global", "texture"), lambda n: self.space(n) == "private"
        )

    def run(
        self,
        context: Context,
        arguments: dict[str, Value | None],
        first: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        """Adds to the counters what all points of `context` do; its axes are block z, y, x and the launch.

        Blocks are numbered from `first` (x, y, z) on.
        """
        block: dict[str, Value | None] = {
            f"block_{axis}": Value((context.outermost(k) + first[2 - k],)) for k, axis in enumerate("zyx")
        }
        self.names = Names(arguments | block, self.threads())
        self.counts.reach(0)
        self.start = context
        self.block(self.kernel.body, context)

    def threads(self) -> dict[str, Value | None]:
        x, y, _ = self.kernel.block
        warps = self.counts.warps
        number = np.arange(warps * WARP).reshape(warps, WARP)
        found = {"thread_x": number % x, "thread_y": number // x % y, "thread_z": number // (x * y)}
        return {name: Value((), (value,)) for name, value in found.items()}

    def whole_warps(self) -> tuple[Bits, ...]:
        """The lanes that exist."""
        threads = prod(self.kernel.block)
        if threads % WARP == 0:
            return ()
        return (packed((np.arange(self.counts.warps * WARP) < threads).reshape(-1, WARP)),)

    def space(self, array: str) -> Space:
        return self.spaces.get(array, "private")

    # What is counted

    def charge(self, context: Context, cost: Counter[str], rounds: int = 0) -> None:
        cost = +cost
        if not cost and not rounds:
            return
        self.start_stage()
        self.counts.instructions(self.stage, cost, context.executions)
        if rounds:
            self.counts.add(self.stage, "rounds", context.executions * rounds)

    def charge_start(self, cost: Counter[str]) -> None:
        """Charges what every warp does at the start of the kernel."""
        assert self.start is not None, "the walk has begun"
        self.counts.instructions(0, cost, self.start.executions)

    def again(self, s: For, inner: Context) -> AbstractContextManager[None]:
        """The body of a loop, of which a rolled one is charged for what its iterations do for inner loops."""
        stage = self.stage
        return self.hoister.loop(s, lambda cost: self.counts.instructions(stage, cost, inner.executions))

    def start_stage(self) -> None:
        self.used = True
        self.counts.reach(self.stage)

    def next_stage(self) -> None:
        self.stage += self.used
        self.used = False
        self.counts.reach(self.stage)

    # The block

    def block(self, statements: Sequence[Statement], context: Context) -> None:
        for parted, run in groupby(statements, has_barrier):
            if not parted:
                self.one_stage(list(run), context)
                continue
            for s in run:
                self.around_barrier(s, context)

    def around_barrier(self, s: Statement, context: Context) -> None:
        match s:
            case Barrier():
                self.charge(context, Counter(barrier=1))
                self.next_stage()
            case For():
                self.next_stage()
                with self.unrolled(s), self.names.scope():
                    inner, index, _ = self.iterations(s, context)
                    self.names.declare(s.index, index, "uniform")
                    self.charge(inner, self.coster.iteration(s))
                    self.rounds.loading |= self.rounds.after(s.body)
                    with self.again(s, inner):
                        self.block(s.body, inner)
                self.next_stage()
            case If():
                self.next_stage()
                self.charge(context, self.coster.test(s.test))
                for side, part in zip((s.then, s.otherwise), self.sides(s, context), strict=True):
                    if side:
                        with self.names.scope():
                            self.block(side, part)
                        self.next_stage()

    def one_stage(self, run: list[Statement], context: Context) -> None:
        """What lies between barriers; one that only names values of the block is no stage."""
        computed = [
            s for s in run
            if not isinstance(s, Comment) and not (isinstance(s, Declare) and self.names_a_value(s))
        ]  # fmt: skip
        cost = sum((self.coster.statement(s) for s in run if s not in computed), Counter())
        if computed or +cost:
            self.start_stage()
            self.counts.executions[self.stage] += int(context.executions[0])
        whole = replace(context, masks=(*context.masks, *self.whole_warps()))
        self.statements(run, whole)
        self.charge(whole, Counter(), self.rounds.end())

    def names_a_value(self, s: Declare) -> bool:
        """Whether it is computed once for the block; its name is then known to what follows."""
        if s.mutable or s.value is None or not self.names.uniform(s.value):
            return False
        self.names.is_of(s.name, "uniform")
        return True

    # A warp

    def statements(self, statements: Sequence[Statement], context: Context) -> None:
        for s in statements:
            self.charge(context, self.coster.statement(s), self.rounds.statement(s))
            match s:
                case For():
                    self.loop(s, context)
                case If():
                    self.branch(s, context)
                case Declare():
                    self.declare(s, context)
                case DeclareArray(name):
                    self.names.is_of(name, "private")
                case Assign(Name(name), value):
                    self.reads(value, context)
                    self.names.assign(name, value)
                case Assign(Reference() as target, value):
                    self.reads(value, context)
                    self.access(target, context, write=True)
                case Move(target, source, width):
                    self.access(source, context, width=width)
                    self.access(target, context, write=True, width=width)

    def declare(self, s: Declare, context: Context) -> None:
        if s.value is not None:
            self.reads(s.value, context)
        uniform = s.value is not None and not s.mutable and self.names.uniform(s.value)
        value = None if s.value is None else self.names.evaluate(s.value)
        self.names.declare(s.name, value, "uniform" if uniform else "lanes")

    def loop(self, s: For, context: Context) -> None:
        self.charge(context, Counter(), 0 if s.unroll else self.rounds.end())
        agreed = s.uniform or (self.names.uniform(s.lower) and self.names.uniform(s.upper))
        self.rounds.loading |= self.rounds.after(s.body)
        with self.unrolled(s), self.names.scope():
            self.reads(s.lower, context)
            inner, index, bits = self.iterations(s, context)
            self.reads(s.upper, context if agreed else inner)
            self.names.declare(s.index, index, "uniform" if agreed else "lanes")
            cost = self.coster.iteration(s)
            if not agreed:
                self.charge(inner, +cost or Counter(branch=1))
                self.left(context, inner, bits)
            else:
                self.charge(inner, cost)
            with self.again(s, inner):
                self.statements(s.body, inner)
            self.charge(inner, Counter(), 0 if s.unroll else self.rounds.end())

    def iterations(self, s: For, context: Context) -> tuple[Context, Value | None, Bits | None]:
        """The points of a loop's body, its index there, and the lanes that run each iteration (None: all)."""
        self.names.forget({t.target.name for t in _assignments(s.body) if isinstance(t.target, Name)})
        lower, upper = self.names.evaluate(s.lower), self.names.evaluate(s.upper)
        if lower is None or upper is None:
            self.exact = False
            return context.repeated(np.ones(1, np.int64)), None, None
        span = plus(upper, lower, -1)
        trips = -(-span.extreme(np.max) // s.step)
        places, times = looked_at(max(1, trips), self.most)
        self.sampled = self.sampled or len(places) < trips
        inner = context.repeated(times)
        index = plus(lower, Value((places.reshape(-1, *[1] * len(context.axes)) * s.step,)))
        if trips >= 1 and span.constant is not None:
            return inner, index, None
        bits = below(Name(_INDEX), s.upper, self.names.values | {_INDEX: index})
        assert bits is not None, "the upper bound is known"
        if trips < 1:
            bits = np.zeros((1,), np.uint32)
        return inner.where(bits), index, bits

    def left(self, context: Context, inner: Context, bits: Bits | None) -> None:
        """Counts the iterations at whose start some of the lanes leave a loop, and others stay."""
        if bits is None or bits.ndim != len(inner.axes) + 1:
            return
        before = np.concatenate([np.full_like(bits[:1], ALL), bits[:-1]])
        self.parted(inner, context.masks, bits, before)

    def parted(self, context: Context, masks: tuple[Bits, ...], bits: Bits, before: Bits) -> None:
        """Counts points with some lane of `masks` in `bits`, but not all of those in `before`."""
        found = joint([*masks, bits, before], context.axes)
        *outer, now, then = found.arrays
        lanes = active(outer)  # type: ignore[arg-type]
        now, then = now & lanes, then & lanes  # type: ignore[operator]
        shape = (*found.shape, self.counts.warps)
        diverged = np.broadcast_to((now != 0) & (now != then), shape)
        axes = tuple(range(len(found.shape)))
        counted = np.tensordot(diverged, found.weight(), (axes, axes))
        self.counts.add(self.stage, "divergent", counted.astype(np.int64))

    def branch(self, s: If, context: Context) -> None:
        self.charge(context, self.coster.test(s.test))
        self.reads(s.test, context)
        then, otherwise = self.sides(s, context)
        if not (s.uniform or self.names.uniform(s.test)) and then is not context:
            self.parted(context, context.masks, then.masks[-1], np.asarray([ALL]))
        for side, part in ((s.then, then), (s.otherwise, otherwise)):
            if side:
                with self.names.scope():
                    self.statements(side, part)
        self.names.forget({t.target.name for t in _assignments((s,)) if isinstance(t.target, Name)})

    def sides(self, s: If, context: Context) -> tuple[Context, Context]:
        """The points of both sides; all of them where data decide."""
        bits = lanes_where(s.test, self.names.values)
        if bits is None:
            self.exact = False
            return context, context
        return context.where(bits), context.where(~bits)

    def reads(self, expr: Expr, context: Context) -> None:
        """Counts the loads of an expression; only those of the side it takes in a selection."""
        match expr:
            case Reference():
                self.access(expr, context)
            case Select(test, yes, no) if _loads(yes) or _loads(no):
                self.selected(test, (yes, no), context)
            case Binary("&&", left, right) if _loads(right):
                self.selected(left, (right, None), context)
            case Binary("||", left, right) if _loads(right):
                self.selected(left, (None, right), context)
            case _:
                for part in children(expr):
                    self.reads(part, context)

    def selected(self, test: Expr, sides: tuple[Expr | None, ...], context: Context) -> None:
        self.reads(test, context)
        sides = tuple(None if s is None else reloaded(test, s) for s in sides)
        if not any(s is not None and _loads(s) for s in sides):
            return
        bits = lanes_where(test, self.names.values)
        self.exact = self.exact and bits is not None
        for side, taken in zip(sides, (bits, None if bits is None else ~bits), strict=True):
            if side is not None:
                self.reads(side, context if taken is None else context.where(taken))

    def access(self, r: Reference, context: Context, *, write: bool = False, width: int = 1) -> None:
        for subscript in r.subscripts:
            self.reads(subscript, context)
        space = self.space(r.array)
        if space == "private":
            return
        row = self.places.row(r, space, write)
        if row not in self.counts.rows:
            self.counts.rows[row] = self.places.entry(r, space, write)
            self.counts.sites[row] = np.zeros(len(OF_ACCESSES), np.int64)
        address = self.address(r)
        if address is None:
            self.exact = False
            return
        size = self.places.size(r) * width
        found = self.costs.of_access(address, size, space, context.masks, context.axes, self.counts.warps)
        self.counts.access(self.stage, row, found)

    def address(self, r: Reference) -> Value | None:
        """The byte address, in the array's memory space."""
        array = self.places.arrays[r.array]
        offset: Value | None = constant(0)
        for subscript, extent, origin in zip(r.subscripts, array.extents, array.origin, strict=True):
            at, length, start = (self.names.evaluate(e) for e in (subscript, extent, origin))
            if offset is None or at is None or length is None or start is None:
                return None
            moved = evaluate(Binary("*", Name("o"), Name("l")), {"o": offset, "l": length})
            assert moved is not None
            offset = plus(plus(moved, at), start, -1)
        assert offset is not None
        place = field_place(array.structure, r.field)
        if array.start is None or place is None:
            return None
        return plus(plus(constant(0), offset, array.stride), constant(array.start + place))

    @contextmanager
    def unrolled(self, s: For) -> Iterator[None]:
        """The index of an unrolled loop is a constant to the cost of its body."""
        added = s.unroll and s.index not in self.coster.unrolled
        if added:
            self.coster.unrolled.add(s.index)
        yield
        if added:
            self.coster.unrolled.discard(s.index)


def _loads(expr: Expr) -> bool:
    return any(True for _ in references(expr))


def _assignments(body: Sequence[Statement]) -> Iterator[Assign]:
    for s in body:
        match s:
            case Assign():
                yield s
            case For(body=inner):
                yield from _assignments(inner)
            case If(then=then, otherwise=otherwise):
                yield from _assignments((*then, *otherwise))
