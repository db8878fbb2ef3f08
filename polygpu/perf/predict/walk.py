"""Counts what a kernel does without running it: its lockstep tree evaluated once, for all points and threads.

How often things happen follows from the values of bounds, tests and subscripts.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from math import prod
from typing import TypeAlias

import numpy as np

from polygpu.model.device import WARP
from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.kernel import Assign, Declare, For
from polygpu.model.kernel_walk import Body, statements, written
from polygpu.model.linear import conjuncts
from polygpu.model.structures import field_place
from polygpu.perf.lockstep import (
    Access,
    Branch,
    Charge,
    Choice,
    Do,
    Load,
    Lockstep,
    Loop,
    Node,
    Repeat,
    Stage,
)
from polygpu.perf.predict.busy import busy
from polygpu.perf.predict.costs import Costs
from polygpu.perf.predict.counters import Counts
from polygpu.perf.predict.masks import Compared, active, below, joint, lanes_where
from polygpu.perf.predict.places import Places
from polygpu.perf.predict.points import Context, looked_at
from polygpu.perf.predict.values import (
    ALL,
    Bits,
    Integers,
    Value,
    binary,
    constant,
    evaluate,
    in_memory,
    packed,
    plus,
    scaled,
    together,
)

Masks: TypeAlias = tuple[Compared, ...]

_TOGETHER = 1 << 12  # points and warps for which tests are one
_INDEX = " index"  # no name of the kernel


class Walk:
    """Passes over a kernel; `exact` becomes False where data decide what happens, `sampled` True where
    `most` iterations of a loop, if that is not None, stand for more; `longest` is the most that a loop has.
    """

    def __init__(self, tree: Lockstep, places: Places, costs: Costs, most: int | None = None) -> None:
        self.tree, self.places, self.costs, self.most = tree, places, costs, most
        self.counts = Counts(tree)
        self.exact, self.sampled, self.longest = True, False, 0
        self.values: ChainMap[str, Value | None] = ChainMap()

    def run(
        self,
        context: Context,
        arguments: dict[str, Value | None],
        first: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        """Adds to the counters what all points of `context` do; its axes are block z, y, x and the launch.

        Blocks are numbered from `first` (x, y, z) on.
        """
        block = {
            f"block_{axis}": Value((context.outermost(k) + first[2 - k],)) for k, axis in enumerate("zyx")
        }
        self.values = ChainMap(arguments | block | self.threads())
        context = context.where(*self.whole_warps())
        if self.tree.start is not None:
            self.charge(self.tree.start, context)
        self.nodes(self.tree.parts, context)

    def threads(self) -> dict[str, Value | None]:
        x, y, _ = self.tree.kernel.block
        warps = self.counts.warps
        number = np.arange(warps * WARP).reshape(warps, WARP)
        found = {"thread_x": number % x, "thread_y": number // x % y, "thread_z": number // (x * y)}
        return {name: Value((), (value,)) for name, value in found.items()}

    def whole_warps(self) -> tuple[Compared, ...]:
        """The lanes that exist."""
        threads = prod(self.tree.kernel.block)
        if threads % WARP == 0:
            return ()
        return (Compared(packed((np.arange(self.counts.warps * WARP) < threads).reshape(-1, WARP))),)

    def charge(self, number: int, context: Context) -> None:
        self.counts.charge(self.tree.points[number], context.executions)

    def nodes(self, nodes: Sequence[Node], context: Context) -> None:
        for node in nodes:
            match node:
                case Charge(point):
                    self.charge(point, context)
                case Do():
                    self.do(node, context)
                case Loop():
                    self.loop(node, context)
                case Branch():
                    self.branch(node, context)
                case Repeat():
                    self.repeat(node, context)
                case Stage():
                    self.stage(node, context)

    def stage(self, stage: Stage, context: Context) -> None:
        self.counts.executions[stage.number] += context.executions[0]
        self.counts.blocks[stage.number] += context.blocks
        self.nodes(stage.steps, context)

    def do(self, do: Do, context: Context) -> None:
        if do.value is not None:
            self.loads(do.value.loads, context)
        self.loads([access for access in (do.source, do.target) if access is not None], context)
        match do.statement:
            case Declare(name, _, value):
                self.values[name] = None if value is None else self.evaluate(value)
            case Assign(Name(name), value):
                if name in self.values.maps[0]:
                    self.values[name] = self.evaluate(value)
                else:  # something lies between the declaration and here
                    self.forget({name})

    def evaluate(self, expr: Expr) -> Value | None:
        return evaluate(expr, self.values)

    def forget(self, names: set[str]) -> None:
        for scope in self.values.maps:
            scope.update(dict.fromkeys(names & scope.keys()))

    @contextmanager
    def scope(self) -> Iterator[None]:
        self.values = self.values.new_child()
        yield
        self.values = self.values.parents

    def loop(self, loop: Loop, context: Context) -> None:
        with self.scope():
            self.loads(loop.lower.loads, context)
            inner, index, bits = self.iterations(loop.statement, context)
            self.loads(loop.upper.loads, context if loop.agreed else inner)
            self.values[loop.statement.index] = index
            if not loop.agreed:
                self.left(loop.stage, context, inner, bits)
            self.nodes(loop.body, inner)

    def repeat(self, repeat: Repeat, context: Context) -> None:
        """One iteration: data say how many there are."""
        self.exact = False
        with self.scope():
            self.forget(_assigned(repeat.statement.body))
            self.nodes(repeat.start, context)
            self.loads(repeat.test.loads, context)
            self.nodes(repeat.body, context)

    def iterations(self, s: For, context: Context) -> tuple[Context, Value | None, Compared | None]:
        """The points of a loop's body, its index there, and the lanes that run each iteration (None: all)."""
        self.forget(_assigned(s.body))
        lower, upper = self.evaluate(s.lower), self.evaluate(s.upper)
        if lower is None or upper is None:
            self.exact = False
            return context.repeated(np.ones(1, np.int64)), None, None
        span = plus(upper, lower, -1)
        trips = -(-span.extreme(np.max) // s.step)
        self.longest = max(self.longest, trips)
        places, times = self.looked_at(s, lower, max(1, trips), context)
        self.sampled = self.sampled or len(places) < trips
        inner = context.repeated(times)
        index = plus(lower, Value((places.reshape(-1, *[1] * len(context.axes)) * s.step,)))
        if trips >= 1 and span.constant is not None:
            return inner, index, None
        bits = below(Name(_INDEX), s.upper, self.values.new_child({_INDEX: index}))
        assert bits is not None, "the upper bound is known"
        if trips < 1:
            bits = np.zeros((1,), np.uint32)
        mask = Compared(bits)
        return inner.where(mask), index, mask

    def looked_at(self, s: For, lower: Value, trips: int, context: Context) -> tuple[Integers, Integers]:
        """The iterations that are looked at, and how many each stands for."""
        if self.most is None or trips <= self.most:
            return looked_at(trips, None)
        return looked_at(trips, self.most, busy(s, lower, trips, len(context.axes), self.values))

    def left(self, stage: int, context: Context, inner: Context, mask: Compared | None) -> None:
        """Counts the iterations at whose start some of the lanes leave a loop, and others stay."""
        if mask is None or mask.array.ndim != len(inner.axes) + 1:
            return
        before = np.concatenate([np.full_like(mask.array[:1], ALL), mask.array[:-1]])
        self.parted(stage, inner, context.masks, (mask,), before)

    def parted(self, stage: int, context: Context, masks: Masks, tests: Masks, before: Bits) -> None:
        """Counts points with some lane of `masks` in all `tests`, but not all of those in `before`."""
        found = joint([*masks, *tests, Compared(before)], context.axes)
        *arrays, then = found.arrays
        in_memory((*found.shape, 1), *(a.shape for a in found.arrays))
        lanes = active(arrays[: len(masks)])
        now, then = reduce(np.bitwise_and, arrays[len(masks) :], lanes), then & lanes
        self.counts.add(stage, "divergent", found.sums((now != 0) & (now != then)))

    def branch(self, branch: Branch, context: Context) -> None:
        self.loads(branch.test.loads, context)
        tests = self.where(branch.test.source)
        if tests is not None and not branch.agreed:
            self.parted(branch.stage, context, context.masks, tests, np.asarray([ALL]))
        inside = _inside(tests, context)
        if branch.then and (tests is None or inside.executions.any()):
            with self.scope():
                self.nodes(branch.then, inside)
        if branch.otherwise and not (tests is not None and _all_pass(tests, context)):
            with self.scope():
                self.nodes(branch.otherwise, _outside(tests, context))

    def where(self, test: Expr) -> Masks | None:
        """The lanes in which parts of `test` hold; None where data decide.

        Parts that depend on other axes each stay apart: together they have the product of the axes' lengths.
        """
        found: list[Bits] = []
        for part in conjuncts(test):
            bits = lanes_where(part, self.values)
            if bits is None:
                self.exact = False
                return None
            if found and prod(together(found[-1].shape, bits.shape)) <= _TOGETHER:
                bits = found.pop() & bits
            found.append(bits)
        return tuple(map(Compared, found))

    def loads(self, loads: Sequence[Load], context: Context) -> None:
        for load in loads:
            match load:
                case Access():
                    self.access(load, context)
                case Choice(_, test, then, otherwise):
                    self.loads(test.loads, context)
                    if any(map(_is_counted, (*then, *otherwise))):
                        tests = self.where(test.source)
                        self.loads(then, _inside(tests, context))
                        self.loads(otherwise, _outside(tests, context) if otherwise else context)

    def access(self, access: Access, context: Context) -> None:
        self.loads(access.loads, context)
        if access.space != "private" and (found := self.request(access, context)) is not None:
            self.counts.access(access, found)

    def request(self, access: Access, context: Context) -> Integers | None:
        """What each warp counts of an access; None where data decide."""
        address = self.address(access.element)
        if address is None:
            self.exact = False
            return None
        size = self.places.size(access.element) * access.width
        return self.costs.of_access(
            address, size, access.space, context.masks, context.axes, self.counts.warps
        )

    def address(self, r: Reference) -> Value | None:
        """The byte address, in the array's memory space."""
        array = self.places.arrays[r.array]
        offset: Value | None = constant(0)
        for subscript, extent, origin in zip(r.subscripts, array.extents, array.origin, strict=True):
            at, length, start = (self.evaluate(e) for e in (subscript, extent, origin))
            offset = binary("-", binary("+", binary("*", offset, length), at), start)
        place = field_place(array.structure, r.field)
        if offset is None or array.start is None or place is None:
            return None
        return plus(scaled(offset, array.stride), constant(array.start + place))


class Requesting(Walk):
    """Passes over a kernel for what its requests of global memory move: counts nothing else."""

    def charge(self, number: int, context: Context) -> None:
        pass

    def stage(self, stage: Stage, context: Context) -> None:
        self.nodes(stage.steps, context)

    def parted(self, stage: int, context: Context, masks: Masks, tests: Masks, before: Bits) -> None:
        pass

    def access(self, access: Access, context: Context) -> None:
        self.loads(access.loads, context)
        if access.space == "global":
            self.request(access, context)


def _inside(tests: Masks | None, context: Context) -> Context:
    """The points where all tests hold; all of them where data decide."""
    return context if tests is None else context.where(*tests)


def _all_pass(tests: Masks, context: Context) -> bool:
    """Whether nothing is left for other code, as for the rests of tiles that are whole."""
    found = joint([*context.masks, *tests], context.axes)
    lanes = active(found.arrays[: len(context.masks)])
    return bool((reduce(np.bitwise_and, found.arrays[len(context.masks) :], lanes) == lanes).all())


def _outside(tests: Masks | None, context: Context) -> Context:
    """Those where one does not."""
    if tests is None:
        return context
    (test,) = tests if len(tests) == 1 else (Compared(active([t.array for t in tests])),)
    return context.where(test.inverted)


def _is_counted(load: Load) -> bool:
    """Whether it makes a request, which one of registers does not."""
    match load:
        case Access(loads=loads, space=space):
            return space != "private" or any(map(_is_counted, loads))
        case Choice(_, test, then, otherwise):
            return any(map(_is_counted, (*test.loads, *then, *otherwise)))


def _assigned(body: Body) -> set[str]:
    """Names that it changes."""
    return {t.name for t in map(written, statements(body)) if isinstance(t, Name)}
