"""What all parts of a kernel's lowering share: the mapped grid, the places of its arrays, names and sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from math import prod
from typing import Any

import islpy as isl

from polygpu.analysis.polyhedra import array_tuple
from polygpu.lower.buffers import Layout
from polygpu.lower.checked_scan import scan
from polygpu.lower.points import Points
from polygpu.lower.scan import Scan, value_of
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.program import Axis, Box, Grid, HeldArray, Mirror, ReferenceKey, Tiles, reference_key
from polygpu.model.expr import Expr, Int, Name, Reference
from polygpu.model.linear import subtract
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, bounded_hull, coalesced, identifier, pieces
from polygpu.support.recent import Recent, Same

_RECENT = 256  # answers


@dataclass(frozen=True)
class KernelContext:
    """A kernel's grid; `layouts` describe the region's arrays.

    `places` says of each of the grid's loops over tiles in how many places its copies take turns.
    """

    m: Grid
    layouts: Mapping[str, Layout]
    places: tuple[int, ...] = ()

    @cached_property
    def points(self) -> Points:
        return Points(self.m)

    @cached_property
    def threads(self) -> int:
        return prod(self.m.shape)

    def slots(self, tiles: Tiles | None) -> int:
        """How many places there are for what is copied for each of the tiles."""
        if tiles is None or not self.places:
            return 1
        return self.places[next(k for k, t in enumerate(self.m.loops) if t is tiles)]

    def box_of(self, statement: str, reference: Reference) -> tuple[Box, Tiles | None] | None:
        """The box in which a reference finds its element, and the loop that copies it."""
        return self._boxes.get(reference_key(statement, reference))

    @cached_property
    def _boxes(self) -> dict[ReferenceKey, tuple[Box, Tiles | None]]:
        return {key: (box, tiles) for box, tiles in self.m.boxes for key in box.references}

    @cached_property
    def has_forms(self) -> bool:
        """Whether some box holds something else than elements."""
        return any(box.form is not None for box, _ in self.m.boxes)

    def held_for(self, statement: str, reference: Reference) -> HeldArray | None:
        """The registers that a reference's element lives in."""
        return self._held.get(reference_key(statement, reference))

    @cached_property
    def _held(self) -> dict[ReferenceKey, HeldArray]:
        return {key: h for h in self.m.held for key in h.references}

    @cached_property
    def mirrors(self) -> dict[str, Mirror]:
        """By the names of their boxes."""
        return {mirror.box.name: mirror for mirror in self.m.mirrors}

    def registers(self) -> tuple[Axis, ...]:
        return several(self.m.axes)

    def owners(self, p: HeldArray) -> tuple[Axis, ...]:
        """The axes along which points own elements of the array: for partial results, some do not."""
        along = {name for r in self.m.reductions if r.array is p for name in r.axes}
        return tuple(a for a in self.m.axes if a.name not in along)

    def register(self, p: HeldArray) -> Reference | Name:
        """The register of the current point."""
        ctype = self.layouts[p.array].buffer.type
        indices = tuple(self.points.register_index(a) for a in several(self.owners(p)))
        return Reference(p.name, indices, ctype) if indices else Name(p.name, ctype)

    def site(self, array: str) -> int:
        return next(
            a.reference.site
            for s in self.m.statements
            for a in self.m.p.statement(s).accesses
            if array_tuple(a.reference) == array
        )

    def offset(self, offset: isl.PwAff) -> Expr:
        return value_of(offset, isl.Set.universe(offset.get_space().domain()).params())

    @cached_property
    def positive(self) -> frozenset[str]:
        """Tile origins that are never negative when the kernel runs."""
        return frozenset(
            a.origin
            for k, a in enumerate(self.m.axes)
            if isinstance(first := self.points.first(k), Int) and first.value >= 0
        )

    def starts_positive(self, step: Fixed, around: tuple[Fixed, ...]) -> bool:
        visited = self.visited(step, around).intersect_params(self.block_context())
        return bool(visited.intersect(isl.Set("{ [i] : i < 0 }")).is_empty())

    @cached_property
    def _blocks(self) -> isl.Set:
        return self.points.origins_of(self.points.hull)

    def block_context(self) -> isl.Set:
        """What holds of the tile origins in a block that runs."""
        return self._blocks

    def visited(self, step: Fixed, around: tuple[Fixed, ...]) -> isl.Set:
        """First values of the step's tiles that a block visits in one of the tiles `around` them: all that it
        needs, where these have many cases also some between and around them.
        """
        key = KernelContext.visited, _key(step), *map(_key, around)
        found: isl.Set = self._found.get(key, lambda: self._visited(step, around))
        return found

    def _visited(self, step: Fixed, around: tuple[Fixed, ...]) -> isl.Set:
        if step.count:
            return isl.Set(f"{{ [i] : 0 <= i < {step.count} }}").align_params(self.m.p.context.get_space())
        starts = self._tile_starts(step, (*self.m.tiles(), *around))
        starts = bounded_hull(starts) if starts.n_basic_set() > 1 else starts
        return starts.reset_tuple_id().intersect(_multiples(starts.reset_tuple_id(), step.width))

    def tiles_visited(self, step: Fixed, around: tuple[Fixed, ...]) -> Scan:
        """The loop over them."""
        key = KernelContext.tiles_visited, _key(step), *map(_key, around)
        found: Scan = self._found.get(key, lambda: self._loop(step, around))
        return found

    def _loop(self, step: Fixed, around: tuple[Fixed, ...]) -> Scan:
        starts = self.visited(step, around).set_tuple_name("tile")
        order = isl.UnionMap.from_map(starts.identity().reset_tuple_id(D.out))
        context = self.block_context()
        for k, outer in enumerate(around):
            context = context.intersect(self.visits(outer, around[:k]))
        return scan(order, context, (step.name,))

    def step_values(self, step: Fixed) -> isl.Set:
        """First values of the step's tiles, in any block."""
        return self._tile_starts(step, ()).reset_tuple_id()

    @cached_property
    def _found(self) -> Recent[Any]:
        """What several parts of the code ask of a loop over tiles."""
        return Recent(_RECENT)

    def _tile_starts(self, step: Fixed, fixed: tuple[Fixed, ...]) -> isl.Set:
        starts: isl.Set | None = None
        for s in step.member.statements:
            row = step.member.rows[s]
            first = row.scale_down_val(isl.Val(step.width)).floor().scale_val(isl.Val(step.width))
            values = self.m.domain(s, fixed).apply(isl.Map.from_pw_aff(first))
            starts = values if starts is None else starts.union(values)
        assert starts is not None
        return coalesced(starts)

    def step_context(self, step: Fixed, around: tuple[Fixed, ...]) -> isl.Set:
        """What holds of the step's tile in code for its points."""
        if step.count:
            return self.visits(step, around)
        if self._tile_starts(step, (*self.m.tiles(), *around)).n_basic_set() > 1:
            return self.visits(step, around)  # of tiles that no point needs, nothing else is known
        context: isl.Set | None = None
        for s in step.member.statements:
            part = self.m.domain(s, (step,)).params()
            context = part if context is None else context.union(part)
        assert context is not None
        starts = self._as_parameter(self.step_values(step), step.name)
        return isl.Set.from_basic_set(context.remove_divs().simple_hull()).intersect(starts)

    def visits(self, step: Fixed, around: tuple[Fixed, ...], ahead: int = 0) -> isl.Set:
        """That the block visits the step's tile, or one up to `ahead` tiles before it.

        A condition on the parameter with the step's name.
        """
        visited = self.visited(step, around)
        for _ in range(ahead):
            visited = visited.union(visited.apply(isl.Map(f"{{ [i] -> [i + {step.width}] }}")))
        position = visited.dim(D.param)
        visited = visited.move_dims(D.param, position, D.set, 0, 1).params()
        return visited.set_dim_id(D.param, position, identifier(step.name))

    def _as_parameter(self, line: isl.Set, name: str) -> isl.Set:
        """The convex hull of a one-dimensional set as a condition on parameter `name`."""
        hull = isl.Set.from_basic_set(line.remove_divs().simple_hull())
        if any(_is_number(row) for f in self.m.outer for row in f.member.rows.values()):
            hull = hull.intersect(_ends(line))
        least, most = line.dim_min_val(0), line.dim_max_val(0)  # the hull forgot what values are multiples of
        if least.is_int():
            hull = hull.lower_bound_val(D.set, 0, least)
        if most.is_int():
            hull = hull.upper_bound_val(D.set, 0, most)
        hull = hull.move_dims(D.param, hull.dim(D.param), D.set, 0, 1)
        return hull.params().set_dim_id(D.param, hull.dim(D.param) - 1, identifier(name))


def _is_number(row: isl.PwAff) -> bool:
    """Whether a row is the number of a tile along one loop."""
    return {aff.dim(D.div) for _, aff in pieces(row)} == {1}


def _ends(line: isl.Set) -> isl.Set:
    """The numbers from the least to the greatest of a line, where these are plain functions of parameters."""
    found = isl.Set.universe(line.get_space())
    for end, test in ((line.lexmin(), "i >= a"), (line.lexmax(), "i <= a")):
        if end.n_basic_set() == 1 and not any(part.dim(D.div) for part in end.get_basic_sets()):
            found = found.intersect(end.apply(isl.Map(f"{{ [a] -> [i] : {test} }}")))
    return found


def local_index(c: KernelContext, subscript: Expr, offset: isl.PwAff) -> Expr:
    """A subscript as an index of a box that begins at `offset`."""
    return c.points.expand(subtract(subscript, c.offset(offset)))


def several(axes: Iterable[Axis]) -> tuple[Axis, ...]:
    """Those along which a thread has several points."""
    return tuple(a for a in axes if a.per_thread > 1)


def _key(step: Fixed) -> tuple[Same, str, int]:
    return Same(step.member), step.name, step.width


def _multiples(line: isl.Set, width: int) -> isl.Set:
    local = isl.LocalSpace.from_space(line.get_space())
    value = isl.PwAff.from_aff(isl.Aff.var_on_domain(local, D.set, 0))
    return value.mod_val(isl.Val(width)).eq_set(isl.PwAff.from_aff(isl.Aff.zero_on_domain(local)))
