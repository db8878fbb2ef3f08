"""Small programs for the adjacency tests, as isl text, and a schedule checker that enumerates instances."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from polygpu.schedule.adjacency import AdjacencySolution, ArrayReference, Instance, Row, components, solve

Point = tuple[int, ...]


@dataclass(frozen=True)
class Spec:
    """`schedule` is 2d+1 text; `writes` and `reads` are elements such as `A[i,j]`."""

    name: str
    iterators: str
    domain: str
    schedule: str
    writes: tuple[str, ...]
    reads: tuple[str, ...]


@dataclass(frozen=True)
class Program:
    params: tuple[str, ...]
    instances: tuple[Instance, ...]
    references: tuple[ArrayReference, ...]
    written: frozenset[int]
    original: dict[str, isl.Map]
    dependences: isl.UnionMap

    def component(self, names: Sequence[str]) -> tuple[tuple[Instance, ...], tuple[ArrayReference, ...]]:
        return (
            tuple(i for i in self.instances if i.name in names),
            tuple(r for r in self.references if r.statement in names),
        )

    def keys(self, *elements: str) -> frozenset[int]:
        return frozenset(r.key for r in self.references if r.array in elements)

    def solve(self, fuse: bool = False, everything: bool = False) -> list[AdjacencySolution | None]:
        """One result a component, or one for all statements together; `everything` is a candidate."""
        parts = components(self.instances, self.dependences)
        groups = [tuple(i.name for i in self.instances)] if fuse else parts
        wanted = frozenset(r.key for r in self.references) if everything else None
        return [
            solve(*self.component(names), self.dependences, self.params, candidates=wanted)
            for names in groups
        ]


def program(params: str, *specs: Spec) -> Program:
    """The program of `specs`; a reference's `array` is the element text it was written as."""
    prefix = f"[{params}] -> "
    instances: list[Instance] = []
    references: list[ArrayReference] = []
    written: set[int] = set()
    original: dict[str, isl.Map] = {}
    relations = {True: isl.UnionMap("{ }"), False: isl.UnionMap("{ }")}
    for spec in specs:
        head = f"{spec.name}[{spec.iterators}]"
        domain = isl.Set(f"{prefix}{{ {head} : {spec.domain} }}")
        instances.append(Instance(spec.name, tuple(spec.iterators.split(",")), domain))
        original[spec.name] = isl.Map(f"{prefix}{{ {head} -> [{spec.schedule}] }}").intersect_domain(domain)
        for write, elements in ((True, spec.writes), (False, spec.reads)):
            for element in elements:
                access = isl.Map(f"{prefix}{{ {head} -> {element} }}")
                written |= {len(references)} if write else set()
                references.append(ArrayReference(spec.name, element, access, len(references)))
                relations[write] = relations[write].union(
                    isl.UnionMap.from_map(access.intersect_domain(domain))
                )
    order = isl.UnionMap("{ }")
    for relation in original.values():
        order = order.union(isl.UnionMap.from_map(relation))
    return Program(
        tuple(p for p in params.split(",") if p),
        tuple(instances),
        tuple(references),
        frozenset(written),
        original,
        dependences(relations[False], relations[True], order),
    )


def dependences(reads: isl.UnionMap, writes: isl.UnionMap, order: isl.UnionMap) -> isl.UnionMap:
    try:
        return value_based(reads, writes, order)
    except isl.Error:  # isl's dataflow analysis fails now and then: "involves some of the domain dimensions"
        return memory_based(reads, writes, order)


def value_based(reads: isl.UnionMap, writes: isl.UnionMap, order: isl.UnionMap) -> isl.UnionMap:
    flow = isl.UnionAccessInfo.from_sink(reads).set_must_source(writes).set_schedule_map(order).compute_flow()
    memory = isl.UnionAccessInfo.from_sink(writes).set_must_source(writes).set_may_source(reads)
    rest = memory.set_schedule_map(order).compute_flow().get_may_dependence()
    return flow.get_must_dependence().union(rest)


def memory_based(reads: isl.UnionMap, writes: isl.UnionMap, order: isl.UnionMap) -> isl.UnionMap:
    both = reads.union(writes)
    conflicts = writes.apply_range(both.reverse()).union(reads.apply_range(writes.reverse()))
    return conflicts.intersect(order.lex_lt_union_map(order))


def points(relation: isl.Set) -> list[Point]:
    found: list[isl.Point] = []
    relation.foreach_point(found.append)
    size = relation.dim(isl.dim_type.set)
    return sorted(
        tuple(p.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(size)) for p in found
    )


def pairs(relation: isl.Map, size: int) -> list[tuple[Point, Point]]:
    """All pairs of `relation` with every parameter set to `size`."""
    for k in range(relation.dim(isl.dim_type.param)):
        relation = relation.fix_val(isl.dim_type.param, k, size)
    split = relation.dim(isl.dim_type.in_)
    flat = relation.wrap().flatten()
    return [(p[:split], p[split:]) for p in points(flat)]


def value(row: Row, name: str, at: Point, size: int) -> int:
    linear = sum(a * b for a, b in zip(row.coefficients[name], at, strict=True))
    return linear + size * sum(row.parameters[name].values()) + row.constants[name]


@dataclass(frozen=True)
class Enumeration:
    """`solution` on the instances of `source`, all parameters equal to `size`, in plain integers."""

    source: Program
    solution: AdjacencySolution
    size: int

    def times(self, rows: Sequence[Row], name: str, at: Point) -> Point:
        return tuple(value(row, name, at, self.size) for row in rows)

    def conflicts(self) -> Iterator[tuple[tuple[str, Point], tuple[str, Point]]]:
        """Pairs of instances, earlier first, that touch one element, at least one of them writing."""
        touched: dict[tuple[str, Point], list[tuple[Point, str, Point, bool]]] = defaultdict(list)
        for r in self.source.references:
            if r.statement in self.solution.lane.coefficients:
                original = dict(pairs(self.source.original[r.statement], self.size))
                access = r.access.intersect_domain(self.source.original[r.statement].domain())
                for at, element in pairs(access, self.size):
                    array = r.array.partition("[")[0]
                    entry = (original[at], r.statement, at, r.key in self.source.written)
                    touched[array, element].append(entry)
        for entries in touched.values():
            for first, source, x, wrote in entries:
                for second, target, y, writes in entries:
                    if first < second and (wrote or writes):
                        yield (source, x), (target, y)

    def illegal(self) -> list[tuple[tuple[str, Point], tuple[str, Point]]]:
        """Conflicting pairs whose order is lost, or that cross a space row of an outer parallel schedule."""
        time, space = self.solution.time, self.solution.space
        return [
            (x, y)
            for x, y in self.conflicts()
            if not self.times(time, *x) < self.times(time, *y)
            or (self.solution.outer_parallel and self.times(space, *x) != self.times(space, *y))
        ]

    def clashes(self) -> list[str]:
        """Statements with two instances in one place."""
        names = self.solution.lane.coefficients
        places = {n: [self.times(self.solution.rows, n, at) for at in self.instances(n)] for n in names}
        return [name for name, found in places.items() if len(set(found)) != len(found)]

    def instances(self, name: str) -> list[Point]:
        return [at for at, _ in pairs(self.source.original[name], self.size)]

    def strides(self, reference: ArrayReference) -> set[Point]:
        """Distances between elements that neighbouring lanes touch, everything else being equal."""
        lane = self.solution.lane
        others = [row for row in self.solution.rows if row is not lane]
        name = reference.statement
        access = reference.access.intersect_domain(self.source.original[name].domain())
        element = {
            (*self.times(others, name, at), value(lane, name, at, self.size)): e
            for at, e in pairs(access, self.size)
        }
        following = {place: element.get((*place[:-1], place[-1] + 1)) for place in element}
        return {
            tuple(b - a for a, b in zip(element[place], after, strict=True))
            for place, after in following.items()
            if after is not None
        }
