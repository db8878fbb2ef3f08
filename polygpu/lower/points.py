"""The points of a mapped nest in code: names, bounds, guards, and loops over a thread's points."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, reduce
from itertools import chain

import islpy as isl

from polygpu.lower.scan import test_of, value_of
from polygpu.lower.tidy import substituted
from polygpu.mapping.hull import context_of, hull_of, in_waves, near_steps
from polygpu.mapping.owned import shape_of
from polygpu.mapping.program import Axis, Grid
from polygpu.model.expr import Binary, Call, Expr, Int, Name
from polygpu.model.kernel import Declare, For, If, Statement
from polygpu.model.linear import add, conjunction, divides, linear, multiply, simplify, subtract
from polygpu.model.rewrite import rewrite, substitute, walk
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, bounded, bounded_hull, coordinate

NOTHING: Mapping[str, range] = {}
_CASES = 4  # of a bound of the grid
_STEPS = 200_000  # of isl, to find one, or to put them together
_PIECES = 100  # a context of hundreds makes isl slow; one that says less only leaves more to be tested
_THREAD = ("thread_x", "thread_y", "thread_z")
_BLOCK = ("block_x", "block_y", "block_z")


def names_in(expr: Expr) -> set[str]:
    return {e.name for e in walk(expr) if isinstance(e, Name)}


@dataclass(frozen=True)
class Bounds:
    """Points lie in [lower, upper) along one axis (host expressions over parameters and host loops)."""

    lower: Expr
    upper: Expr


@dataclass(frozen=True)
class Extent:
    """Where the points of a nest lie, however they are dealt to blocks and threads."""

    m: Grid

    @cached_property
    def context(self) -> isl.Set:
        return context_of(self.m)

    @cached_property
    def hull(self) -> isl.Set:
        """For all waves of tiles together: where those of one lie takes long to say, and grids are boxes."""
        return hull_of(self.m, of_all_waves=True).intersect(self.context)

    @cached_property
    def in_wave(self) -> isl.Set:
        """Of a launch."""
        return hull_of(self.m).intersect(self.context) if in_waves(self.m) else self.hull

    @cached_property
    def bounds(self) -> tuple[Bounds, ...]:
        return tuple(
            Bounds(value_of(low, self.context), add(value_of(high, self.context), 1))
            for low, high in self.ends
        )

    @cached_property
    def ends(self) -> tuple[tuple[isl.PwAff, isl.PwAff], ...]:
        """The first and the last point along each axis, or bounds of these that have few cases."""
        return tuple(self._ends(a.name) for a in self.m.axes)

    def _ends(self, name: str) -> tuple[isl.PwAff, isl.PwAff]:
        line = self._line(name)
        try:
            with bounded(_STEPS):
                low, high = line.dim_min(0), line.dim_max(0)
            if max(low.n_piece(), high.n_piece()) <= _CASES:
                return low, high
        except isl.Error:
            pass
        place = isl.Aff.var_on_domain(isl.LocalSpace.from_space(line.get_space()), D.set, 0)
        near = near_steps(self.m, self.m.outer, line, (place,))
        hull = reduce(isl.Set.intersect, near, bounded_hull(line))
        return hull.dim_min(0), hull.dim_max(0)

    def _line(self, name: str) -> isl.Set:
        """The points along an axis, as a set of one dimension."""
        line = self.hull
        for axis in self.m.axes:
            position = line.find_dim_by_name(D.param, axis.name)
            if axis.name != name and position >= 0:
                line = line.project_out(D.param, position, 1)
        line = line.from_params() if line.is_params() else line
        return line.move_dims(D.set, 0, D.param, line.find_dim_by_name(D.param, name), 1)

    @cached_property
    def box(self) -> isl.Set:
        """The bounds of all axes together: what `guards` test. Points between strides are inside.

        No more than the context where bounds have many cases: then more is left to be tested.
        """
        space = self.hull.get_space()
        box = self.context
        try:
            with bounded(_STEPS):
                for axis, ends in zip(self.m.axes, self.ends, strict=True):
                    low, high = (end.align_params(space) for end in ends)
                    if box.n_basic_set() * low.n_piece() * high.n_piece() > _PIECES:
                        return self.context.align_params(space)
                    point = isl.PwAff.from_aff(coordinate(space, axis.name))
                    box = box.intersect(point.sub(low).nonneg_set()).intersect(high.sub(point).nonneg_set())
        except isl.Error:
            return self.context.align_params(space)
        return box

    @cached_property
    def corner_test(self) -> Expr | None:
        """What a point must satisfy beyond its axes' bounds (triangles and the like)."""
        return test_of(self.hull, self.box)


def extent_of(m: Grid) -> Extent:
    """That of all grids of the nest that differ in tiles, and in places of data, only."""
    found: Extent = m.p.recent.get((Extent, *shape_of(m)), lambda: Extent(m))
    return found


@dataclass(frozen=True)
class Points:
    """Code for the parallel dimensions of `m`."""

    m: Grid

    @cached_property
    def extent(self) -> Extent:
        return extent_of(self.m)

    @property
    def hull(self) -> isl.Set:
        return self.extent.hull

    @property
    def bounds(self) -> tuple[Bounds, ...]:
        return self.extent.bounds

    @property
    def box(self) -> isl.Set:
        return self.extent.box

    @property
    def corner_test(self) -> Expr | None:
        """What a point must satisfy beyond its axes' bounds (triangles and the like)."""
        return self.extent.corner_test

    def first(self, k: int) -> Expr:
        """The first tile's origin along axis k."""
        axis = self.m.axes[k]
        lower = self.bounds[k].lower
        lower = subtract(lower, axis.overlap[0]) if axis.overlap[0] else lower
        if divides(axis.aligned, lower, {}):
            return lower
        return multiply(Call("floord", (lower, Int(axis.aligned)), "int"), axis.aligned)

    def reached(self, instances: isl.Set, statement: str) -> isl.Set:
        """Of some instances of a statement those with points in the tiles, or behind the last ones."""
        for axis, (low, _) in zip(self.m.axes, self.extent.ends, strict=True):
            first = low.scale_down_val(isl.Val(axis.aligned)).floor().scale_val(isl.Val(axis.aligned))
            behind = isl.Set.from_pw_aff(first).apply(isl.Map("{ [first] -> [i] : i >= first }"))
            row = isl.Map.from_pw_aff(axis.member.rows[statement])
            instances = instances.intersect(row.intersect_range(behind).domain())
        return instances

    def first_name(self, k: int) -> Expr:
        """`first(k)` as the kernel writes it: a constant or a scalar argument."""
        value = self.first(k)
        return value if isinstance(value, Int) else Name(f"{self.m.axes[k].name}_first")

    def blocks(self, k: int) -> Expr:
        """How many blocks cover axis k, at most 0 when there are no points."""
        axis = self.m.axes[k]
        length = simplify(Binary("-", self.bounds[k].upper, self.first(k)))
        return Call("floord", (add(length, axis.stride - 1 - axis.overlap[0]), Int(axis.stride)), "int")

    def origins(self) -> tuple[Statement, ...]:
        """Declarations of a block's tile origins, and of its points of axes with one point a thread."""
        found = [*chain.from_iterable(self.point(axis) for axis in self.m.axes if axis.copies)]
        for axis in self.m.dealt:
            k = self.m.axes.index(axis)
            origin = add(multiply(Name(self.block_name(k)), axis.stride), self.first_name(k))
            found.extend([Declare(axis.origin, "int", origin), *self.point(axis)])
        return tuple(found)

    def point(self, axis: Axis) -> tuple[Statement, ...]:
        """The declaration of the thread's point where it is one."""
        if axis.per_thread > 1:
            return ()
        return (Declare(axis.name, "int", self.local_point(axis, self.m.axes.index(axis), None)),)

    def block_name(self, k: int) -> str:
        return _BLOCK[sum(not a.loop for a in self.m.axes[k + 1 :])]

    def thread(self, k: int) -> Expr:
        """The number of the thread along axis k: 0 where it is one, as it is along a fourth axis."""
        return Name(_THREAD[len(self.m.axes) - 1 - k]) if self.m.axes[k].threads > 1 else Int(0)

    def local_point(self, axis: Axis, k: int, base: Expr | None) -> Expr:
        """The thread's point along the axis (in terms of its register index when it has several)."""
        start = base if base is not None else Int(0) if axis.copies else Name(axis.origin)
        thread = self.thread(k)
        if axis.per_thread == 1:
            return add(start, thread)
        group, index = axis.group, self.register_names(axis)
        point = add(start, multiply(thread, group))
        if group == 1:
            return add(point, multiply(Name(index[0]), axis.threads))
        point = add(point, Name(index[-1]))
        if len(index) > 1:
            point = add(point, multiply(Name(index[0]), axis.threads * group))
        return point

    def register_names(self, axis: Axis) -> tuple[str, ...]:
        """Loop indices over a thread's points: (within) or (group number, within the group)."""
        if axis.group in (1, axis.per_thread):
            return (f"{axis.name}_r",)
        return f"{axis.name}_g", f"{axis.name}_r"

    def register_index(self, axis: Axis) -> Expr:
        names = self.register_names(axis)
        if len(names) == 1:
            return Name(names[0])
        return add(multiply(Name(names[0]), axis.group), Name(names[1]))

    def expand(self, expr: Expr) -> Expr:
        """`expr` with points written as tile origin plus thread and register indices."""
        values: dict[str, Expr] = {a.name: self.local_point(a, k, None) for k, a in enumerate(self.m.axes)}
        total: Expr = Int(0)
        sum_ = linear(expr)
        for atom, coefficient in sum_.terms:
            value = values.get(atom.name, atom) if isinstance(atom, Name) else atom
            total = add(total, multiply(value, coefficient))
        return add(total, sum_.constant)

    def in_tile(self, expr: Expr) -> Expr:
        """`expr` with a point's place in its tile as the thread's number, and the tile's by its origin."""
        found: dict[Expr, Expr] = {}
        for k, axis in enumerate(self.m.axes):
            if axis.tile == axis.threads == axis.aligned and not axis.loop:
                point, width = Name(axis.name), Int(axis.tile)
                found[Binary("%", point, width)] = self.thread(k)
                found[Call("floord", (point, width), "int")] = Call(
                    "floord", (Name(axis.origin), width), "int"
                )
        return simplify(rewrite(expr, found.get))

    def open(
        self,
        axes: tuple[Axis, ...],
        body: tuple[Statement, ...],
        guarded: bool,
        parts: Mapping[str, range] = NOTHING,
    ) -> tuple[Statement, ...]:
        """`body` for each point the thread has along `axes`, inside the axes' bounds when `guarded`.

        Of the axes that `parts` name only for those points, of each group where they are dealt in groups.
        """
        single = tuple(a for a in axes if a.per_thread == 1)
        for axis in reversed([a for a in axes if a.per_thread > 1]):
            body = self._guarded((axis,), body) if guarded else body
            k = self.m.axes.index(axis)
            part, place = parts.get(axis.name), self.local_point(axis, k, None)
            if _is_single(part):
                place = simplify(substitute(place, {self.register_names(axis)[-1]: Int(0)}))
            body = self._register_loops(axis, (Declare(axis.name, "int", place), *body), part)
        return self._guarded(single, body) if guarded else body

    def _guarded(self, axes: tuple[Axis, ...], body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        test = conjunction([t for a in axes for t in self.guards(self.m.axes.index(a))])
        return (If(test, body, (), uniform=False),) if test is not None else body

    def _register_loops(
        self, axis: Axis, body: tuple[Statement, ...], part: range | None = None
    ) -> tuple[Statement, ...]:
        *outer, last = self.register_names(axis)
        group = axis.group if outer else axis.per_thread
        body = _loop(last, range(group) if part is None else part, body)
        return _loop(outer[0], range(axis.per_thread // group), body) if outer else body

    def first_point(self, axis: Axis) -> Expr:
        """The thread's first point along an axis."""
        point = self.local_point(axis, self.m.axes.index(axis), None)
        return simplify(substitute(point, dict.fromkeys(self.register_names(axis), Int(0))))

    def guards(self, k: int) -> list[Expr]:
        """Tests that keep the point of axis k in bounds, without those that tiles imply."""
        axis, bounds = self.m.axes[k], self.bounds[k]
        tests: list[Expr] = []
        if axis.overlap[0] or bounds.lower != self.first(k):
            tests.append(Binary(">=", Name(axis.name), bounds.lower))
        length = linear(Binary("-", bounds.upper, self.first(k)))
        if any(axis.overlap) or length.terms or length.constant % axis.tile:
            tests.append(Binary("<", Name(axis.name), bounds.upper))
        return tests

    def full_tile(self, axes: tuple[Axis, ...]) -> Expr | None:
        """Whether the guards hold for all points of the block along `axes`; None where there are none."""
        tests: list[Expr] = []
        for axis in axes:
            k = self.m.axes.index(axis)
            origin, bounds = Name(axis.origin), self.bounds[k]
            for test in self.guards(k):
                if test == Binary(">=", Name(axis.name), bounds.lower):
                    tests.append(Binary(">=", origin, bounds.lower))
                else:
                    tests.append(Binary("<=", add(origin, axis.tile), bounds.upper))
        return conjunction(tests)

    @cached_property
    def block_test(self) -> Expr | None:
        """Whether a block of the grid has any point, where the grid's box is larger than the nest."""
        if self.corner_test is None and not in_waves(self.m):
            return None
        return test_of(self.origins_of(self.extent.in_wave), self.origins_of(self.box))

    def origins_of(self, points: isl.Set) -> isl.Set:
        """The origins of blocks' tiles that meet `points`."""
        for axis in self.m.axes:
            if axis.loop or axis.copies:
                points = points.project_out(D.param, points.find_dim_by_name(D.param, axis.name), 1)
                continue
            position = points.dim(D.param)
            points = points.add_dims(D.param, 1).set_dim_name(D.param, position, axis.origin)
            local = isl.LocalSpace.from_space(points.get_space())
            q = points.find_dim_by_name(D.param, axis.name)
            distance = isl.Aff.var_on_domain(local, D.param, q).sub(
                isl.Aff.var_on_domain(local, D.param, position)
            )
            points = points.intersect(_between(distance, 0, axis.tile - 1))
            points = points.project_out(D.param, q, 1)
        return isl.Set.from_basic_set(points.remove_divs().simple_hull())


def _is_single(part: range | None) -> bool:
    """Whether a step does for all points of a group, from the first on."""
    return part is not None and part.start == 0 and 1 < part.step >= part.stop


def _loop(name: str, values: range, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    if _is_single(values):
        return substituted(body, {name: Int(0)})
    return (For(name, Int(values.start), Int(values.stop), values.step, body, uniform=True, unroll=True),)


def _between(value: isl.Aff, low: int, high: int) -> isl.Set:
    shifted = isl.PwAff.from_aff(value)
    above = shifted.add_constant_val(isl.Val(-low)).nonneg_set()
    return above.intersect(shifted.neg().add_constant_val(isl.Val(high)).nonneg_set())
