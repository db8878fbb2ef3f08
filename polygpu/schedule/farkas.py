"""Affine schedules under dependences: Farkas' lemma as linear rows over the unknown coefficients.

A schedule row gives statement s the form phi_s(x) = u_s . x + v_s . p + w_s over its iterators x and the
parameters p. A dependence piece from s to t is a polyhedron of (p, x, y); an affine form is non-negative
on it iff it is so on the polyhedron's generators, which are the rows of the dual cone
`BasicSet.coefficients()` (Feautrier 1992, section 3, in its dual form).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import islpy as isl

from polygpu.schedule.integer_system import (
    OPERATIONS,
    Constraint,
    IntegerSystem,
    Sparse,
    Vector,
    eliminated,
    limited,
)
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, basic_maps, maps, tuple_name
from polygpu.support.recent import Recent

COEFFICIENT_BOUND = 4  # of iterators in a time row: more would linearise loops of constant size
_RECENT = 2048  # pieces of the dependences of a region, which many of its schedules have in common


@dataclass(frozen=True, order=True, slots=True)
class Cone:
    """One convex piece of a dependence by its generators.

    A generator is (1, p, x, y) up to a positive factor for a vertex, (0, p, x, y) for a ray; along a line
    both signs are possible.
    """

    source: str
    target: str
    rays: tuple[Vector, ...]  # vertices and rays
    lines: tuple[Vector, ...]

    @property
    def generators(self) -> tuple[Vector, ...]:
        return self.rays + self.lines


@dataclass(frozen=True)
class Layout:
    """Where the unknowns of a row lie: u, v and w of the first statement, of the second, and so on."""

    names: tuple[str, ...]
    depths: tuple[int, ...]
    params: int

    @cached_property
    def starts(self) -> dict[str, int]:
        starts, start = {}, 0
        for name, depth in zip(self.names, self.depths, strict=True):
            starts[name] = start
            start += depth + self.params + 1
        return starts

    @cached_property
    def dimensions(self) -> dict[str, int]:
        return dict(zip(self.names, self.depths, strict=True))

    @cached_property
    def width(self) -> int:
        return sum(self.depths) + len(self.names) * (self.params + 1)

    def iterators(self, name: str) -> range:
        start = self.starts[name]
        return range(start, start + self.dimensions[name])

    def parameters(self, name: str) -> range:
        stop = self.iterators(name).stop
        return range(stop, stop + self.params)

    def constant(self, name: str) -> int:
        return self.parameters(name).stop

    def along(self, name: str, direction: Vector) -> dict[int, int]:
        """The terms of u_name . direction."""
        return {k: d for k, d in zip(self.iterators(name), direction, strict=True) if d}

    def distance(self, cone: Cone, generator: Vector) -> Sparse:
        """The terms of phi_target(y) - phi_source(x) at a generator of `cone`."""
        terms: dict[int, int] = {}
        split = 1 + self.params + self.dimensions[cone.source]
        alike = (*generator[1 : 1 + self.params], generator[0])
        for name, sign, point in (
            (cone.source, -1, generator[1 + self.params : split]),
            (cone.target, 1, generator[split:]),
        ):
            for column, value in enumerate((*point, *alike), self.starts[name]):
                if value:
                    terms[column] = terms.get(column, 0) + sign * value
        return {column: value for column, value in terms.items() if value}


_CONES: Recent[Cone] = Recent(_RECENT)


def dependence_cones(
    dependences: isl.UnionMap, names: Iterable[str], params: Sequence[str]
) -> tuple[Cone, ...]:
    """The distinct pieces of `dependences` among `names`, in an order that does not depend on isl's hashes.

    Existentially quantified parts are dropped from a piece, which only enlarges it. Raises ValueError when
    a dependence has a parameter that is not in `params`.
    """
    wanted = frozenset(names)
    space = isl.Set(f"[{','.join(params)}] -> {{ : }}").get_space()
    found: set[Cone] = set()
    for relation in maps(dependences):
        source, target = tuple_name(relation, D.in_), tuple_name(relation, D.out)
        if source in wanted and target in wanted:
            aligned = relation.align_params(space)
            if aligned.dim(D.param) != len(params):
                raise ValueError(f"a dependence of {source} has a parameter that is not in {tuple(params)}")
            found.update(cone(source, target, piece) for piece in basic_maps(aligned) if not piece.is_empty())
    return tuple(sorted(found))


def cone(source: str, target: str, piece: isl.BasicMap) -> Cone:
    """The generators of `piece`, existentially quantified parts dropped. Raises OperationsExceededError."""
    return _CONES.get((source, target, str(piece)), lambda: _cone(source, target, piece))


def _cone(source: str, target: str, piece: isl.BasicMap) -> Cone:
    # coefficients() raises on existentials, and redundant rows make it slow
    with limited(OPERATIONS):
        dual = piece.remove_divs().remove_redundancies().wrap().coefficients()
    order = (D.cst, D.param, D.set, D.div)
    rays, lines = dual.inequalities_matrix(*order), dual.equalities_matrix(*order)
    return Cone(source, target, tuple(sorted(_rows(rays))), tuple(sorted(_rows(lines))))


def _rows(matrix: isl.Mat) -> Iterable[Vector]:
    # column 0 is the constant of the dual's own rows, which is always zero
    for r in range(matrix.rows()):
        yield tuple(matrix.get_element_val(r, c).to_python() for c in range(1, matrix.cols()))


def constant_along(layout: Layout, cones: Iterable[Cone]) -> tuple[Vector, ...]:
    """Rows r with: phi has distance zero on all of every cone iff r . phi = 0 for all r."""
    rows = (layout.distance(c, generator) for c in cones for generator in c.generators)
    return eliminated(rows, layout.width)[0]


def schedule_objectives(
    layout: Layout, first: dict[int, int], prefer_inner: bool = False
) -> tuple[dict[int, int], ...]:
    """`first`, then small coefficients of iterators (the outer ones unless told), parameters, constants."""
    iterators: dict[int, int] = {}
    for name in layout.names:
        columns = layout.iterators(name)
        preferred = reversed(columns) if prefer_inner else columns
        iterators.update((column, len(columns) + place) for place, column in enumerate(preferred))
    parameters = {column: 1 for name in layout.names for column in layout.parameters(name)}
    constants = {layout.constant(name): 1 for name in layout.names}
    return tuple(weights for weights in (first, iterators, parameters, constants) if weights)


def carrying_system(layout: Layout, cones: Sequence[Cone]) -> IntegerSystem:
    """Rows that no cone contradicts (distance >= 0) and that carry (distance >= 1) as many as possible.

    Slack k is 0 when the row carries cone k, else 1.
    """
    constraints = [c for k, cone_k in enumerate(cones) for c in _carrying(layout, cone_k, layout.width + k)]
    for name in layout.names:
        for column in layout.iterators(name):
            constraints.append(Constraint({column: 1}, COEFFICIENT_BOUND))
            constraints.append(Constraint({column: -1}, COEFFICIENT_BOUND))
    missed = {layout.width + k: 1 for k in range(len(cones))}
    return IntegerSystem.build(layout.width, len(cones), schedule_objectives(layout, missed), constraints)


def _carrying(layout: Layout, piece: Cone, slack: int) -> Iterable[Constraint]:
    yield Constraint({slack: -1}, 1)
    for generator in piece.rays:
        terms = layout.distance(piece, generator)
        # distance - (1 - slack) at a vertex, scaled like the vertex; a ray has factor 0
        yield Constraint(terms | {slack: generator[0]}, -generator[0])
    for generator in piece.lines:
        yield Constraint(layout.distance(piece, generator), equality=True)


def time_rows(
    layout: Layout,
    cones: Sequence[Cone],
    fixed: Sequence[Constraint],
    systems: dict[tuple[Cone, ...], IntegerSystem],
) -> tuple[Vector, ...] | None:
    """Rows that together carry every cone, lexicographically, each under `fixed`; None when there are none.

    Greedy (Feautrier 1992, part II): each row carries as many of the remaining cones as it can.
    `systems` keeps the systems of equal sets of cones between calls.
    """
    rows: list[Vector] = []
    remaining = tuple(cones)
    while remaining:
        if remaining not in systems:
            systems[remaining] = carrying_system(layout, remaining)
        values = systems[remaining].restrict(fixed).minimum()
        if values is None:
            return None
        missed = values[layout.width :]
        if all(missed):
            return None
        rows.append(values[: layout.width])
        remaining = tuple(c for c, miss in zip(remaining, missed, strict=True) if miss)
    return tuple(rows)
