"""A nest mapped to blocks and threads: names, tile sizes, and the sets that depend on them."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra
from polygpu.schedule.tree import Member, Nest
from polygpu.support.isl_idioms import D, bounded_hull, coalesced, few_floors, identifier


@dataclass(frozen=True)
class Axis:
    """One parallel dimension: a tile of `threads * per_thread` points a block.

    Point r of thread t is `(r // group) * threads * group + t * group + r % group`: cyclic when `group`
    is 1, blocked when it is `per_thread`, grouped-cyclic between.
    """

    name: str
    threads: int
    per_thread: int = 1
    group: int = 1

    @property
    def tile(self) -> int:
        return self.threads * self.per_thread

    @property
    def origin(self) -> str:
        return f"{self.name}_tile"


@dataclass(frozen=True)
class Mapping:
    """`axes` belong to `nest.parallel` in order, the last to threadIdx.x; `step` strip-mines loops.

    `buffering` of staged tiles: "none", "prefetch" (the next tile travels in registers) or "ring" (of
    `stages` tiles filled by asynchronous copies). A lane copies up to `widest` bytes at once (0: one
    element) and has `loads` loads in flight (0: all of a copy). Innermost loops run `unroll` iterations in a
    row: 0 all, 1 one by one, None as their length suggests.
    """

    axes: tuple[Axis, ...]
    step: int
    buffering: str = "none"
    stages: int = 3
    widest: int = 0
    loads: int = 0
    unroll: int | None = None

    @property
    def block(self) -> tuple[int, int, int]:
        sizes = [a.threads for a in reversed(self.axes)] + [1, 1, 1]
        return sizes[0], sizes[1], sizes[2]


@dataclass(frozen=True)
class Fixed:
    """A schedule dimension whose value has a name: a host loop's index, a point, a tile's origin.

    With `width` 1 the member equals the parameter `name`; else it lies in [name, name + width).
    """

    member: Member
    name: str
    width: int = 1

    def restrict(self, domain: isl.Set, statement: str) -> isl.Set:
        if statement not in self.member.rows:
            return domain
        row = self.member.rows[statement]
        space = row.get_domain_space()
        if space.find_dim_by_name(D.param, self.name) < 0:
            space = space.add_dims(D.param, 1)
            space = space.set_dim_id(D.param, space.dim(D.param) - 1, identifier(self.name))
        position = space.find_dim_by_name(D.param, self.name)
        value = isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), D.param, position))
        if self.width == 1:
            return domain.intersect(row.eq_set(value))
        last = value.add_constant_val(isl.Val(self.width - 1))
        return domain.intersect(row.ge_set(value)).intersect(row.le_set(last))


@dataclass(frozen=True)
class MappedNest:
    """A nest with its mapping; `outer` are the host loops around it."""

    p: Polyhedra
    nest: Nest
    mapping: Mapping
    outer: tuple[Fixed, ...]

    @property
    def statements(self) -> tuple[str, ...]:
        return self.nest.statements

    def points(self) -> tuple[Fixed, ...]:
        return tuple(Fixed(m, a.name) for m, a in zip(self.nest.parallel, self.mapping.axes, strict=True))

    def tiles(self) -> tuple[Fixed, ...]:
        return tuple(
            Fixed(m, a.origin, a.tile) for m, a in zip(self.nest.parallel, self.mapping.axes, strict=True)
        )

    def domain(self, statement: str, fixed: tuple[Fixed, ...] = ()) -> isl.Set:
        """Instances of `statement` in one iteration of the host loops, and of `fixed`."""
        domain = self.p.statement(statement).domain
        for f in (*self.outer, *fixed):
            domain = f.restrict(domain, statement)
        return domain

    def context(self) -> isl.Set:
        """What holds of the parameters and the host loops' indices whenever the kernel runs.

        Raises TooLongError where that is too much to make code for in limited time.
        """
        context = isl.Set.empty(self.p.context.get_space())
        for s in self.statements:
            context = context.union(self.domain(s).params())
        return few_floors(isl.Set.from_basic_set(context.intersect(self.p.context).simple_hull())).params()

    def hull(self) -> isl.Set:
        """Convex hull, on the points' names, of the points at which anything runs."""
        hull: isl.Set | None = None
        for s in self.statements:
            part = self.domain(s, self.points()).params()
            hull = part if hull is None else hull.union(part)
        assert hull is not None
        hull = coalesced(hull).from_params()
        places = [hull.find_dim_by_name(D.param, a.name) for a in self.mapping.axes]
        for d, place in enumerate(places):  # points as set dimensions: the hull must be bounded in them
            moved = sum(1 for p in places[:d] if p < place)
            hull = hull.move_dims(D.set, d, D.param, place - moved, 1)
        hull = bounded_hull(hull)
        for axis in self.mapping.axes:
            hull = hull.move_dims(D.param, hull.dim(D.param), D.set, 0, 1)
            hull = hull.set_dim_id(D.param, hull.dim(D.param) - 1, identifier(axis.name))
        return hull.params()
