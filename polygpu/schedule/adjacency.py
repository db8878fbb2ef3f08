"""Schedules under which global memory accesses coalesce: ICS'08, algorithm 1, section 4.3.

The innermost space row (the lanes) must move every chosen reference by one element along the last array
dimension while all other rows stand still. With one direction d for each statement (see `directions`)
that is: lane . d = 1 and row . d = 0 for every other row, so that d is the lane's column of the inverse
transformation. Only the dependences need Farkas' lemma.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from heapq import heappop, heappush
from math import inf
from typing import TypeAlias

import islpy as isl

from polygpu.schedule.adjacent_rows import AdjacentRows, RowFinder
from polygpu.schedule.directions import Demand, demand, directions
from polygpu.schedule.farkas import Layout, dependence_cones
from polygpu.schedule.integer_system import OperationsExceededError, Vector, rank
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, maps, steps, tuple_name


@dataclass(frozen=True)
class Instance:
    """A statement as the solver sees it; the tuple of `domain` is called `name`."""

    name: str
    iterators: tuple[str, ...]
    domain: isl.Set


@dataclass(frozen=True)
class ArrayReference:
    """One reference; `access` maps the statement to the array, `key` is the caller's name for it."""

    statement: str
    array: str
    access: isl.Map
    key: int


@dataclass(frozen=True)
class Row:
    """One affine schedule dimension. Parameters with coefficient 0 are left out."""

    kind: str  # "space" or "time"
    coefficients: dict[str, tuple[int, ...]]
    parameters: dict[str, dict[str, int]]
    constants: dict[str, int]

    def text(self, instance: Instance) -> str:
        """The row as isl text over the iterators of `instance`: `2*i - j + N + 1`."""
        return self.affine(instance.name, instance.iterators)

    def affine(self, name: str, iterators: Sequence[str]) -> str:
        terms = [*zip(iterators, self.coefficients[name], strict=True), *self.parameters[name].items()]
        signed = [
            (value, symbol if abs(value) == 1 else f"{abs(value)}*{symbol}")
            for symbol, value in terms
            if value
        ]
        constant = self.constants[name]
        if constant or not signed:
            signed.append((constant, str(abs(constant))))
        text = "".join(f" {'-' if value < 0 else '+'} {term}" for value, term in signed)
        return ("-" if signed[0][0] < 0 else "") + text[3:]


@dataclass(frozen=True)
class AdjacencySolution:
    """Rows for one component: space rows, the lane last among them, then time rows.

    Every statement has as many independent rows as iterators. With `outer_parallel` no dependence has a
    distance along any space row, and space encloses time; else the time rows carry every dependence and
    enclose space. `direct` references coalesce along the lane row, `staged` ones are candidates that do
    not, `reuse` ones touch some element more than once.
    """

    rows: tuple[Row, ...]
    direct: frozenset[int]
    staged: frozenset[int]
    reuse: frozenset[int]
    outer_parallel: bool
    tries: int

    @property
    def space(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.kind == "space")

    @property
    def time(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.kind == "time")

    @property
    def lane(self) -> Row:
        return self.space[-1]

    @property
    def order(self) -> tuple[Row, ...]:
        """The rows from the outermost to the innermost."""
        return self.space + self.time if self.outer_parallel else self.time + self.space


def components(instances: Sequence[Instance], dependences: isl.UnionMap) -> tuple[tuple[str, ...], ...]:
    """Strongly connected components in topological order; the order of `instances` breaks ties."""
    names = [i.name for i in instances]
    after = {n: {n} for n in names}  # reflexive and transitive
    for relation in maps(dependences):
        source, target = tuple_name(relation, D.in_), tuple_name(relation, D.out)
        if source in after and target in after and not relation.is_empty():
            after[source].add(target)
    for middle in names:
        for n in names:
            if middle in after[n]:
                after[n] |= after[middle]
    groups = dict.fromkeys(tuple(m for m in names if m in after[n] and n in after[m]) for n in names)
    return _topological(list(groups), after)


def _topological(groups: list[tuple[str, ...]], after: Mapping[str, set[str]]) -> tuple[tuple[str, ...], ...]:
    ordered: list[tuple[str, ...]] = []
    while groups:
        first = next(g for g in groups if not any(g[0] in after[h[0]] for h in groups if h is not g))
        groups.remove(first)
        ordered.append(first)
    return tuple(ordered)


def classify(
    instances: Sequence[Instance], references: Sequence[ArrayReference]
) -> tuple[tuple[ArrayReference, ...], frozenset[int]]:
    """Step 1: the candidates for direct access, and the keys of the references with reuse.

    A reference has reuse when two instances of its domain touch the same element (rank(F) < dim).
    """
    domains = {i.name: i.domain for i in instances}
    reuse = frozenset(
        r.key for r in references if not r.access.intersect_domain(domains[r.statement]).is_injective()
    )
    return tuple(r for r in references if r.key not in reuse), reuse


@dataclass(frozen=True)
class Option:
    """A direction for one statement and the references it makes adjacent; None: no direction asked."""

    direction: Vector | None
    keys: frozenset[int]


Choice: TypeAlias = tuple[Option, ...]  # one option a statement


def solve(
    instances: Sequence[Instance],
    references: Sequence[ArrayReference],
    dependences: isl.UnionMap,
    params: tuple[str, ...],
    cap: int = 64,
    *,
    candidates: frozenset[int] | None = None,
    deadline: float = inf,
) -> AdjacencySolution | None:
    """A schedule of one component under which as many candidate references as possible coalesce.

    `candidates` replaces step 1's classification (keys of references that may be accessed directly, for
    instance because their reuse is by a sequential loop only). None when no candidate can be satisfied,
    when none was found in `cap` tries or by `deadline`, a number of steps(), or when isl spends too long on
    one.
    """
    known, reuse = classify(instances, references)
    chosen = known if candidates is None else tuple(r for r in references if r.key in candidates)
    options = [_options(i, [r for r in chosen if r.statement == i.name]) for i in instances]
    if all(len(own) == 1 for own in options):
        return None
    layout = Layout(tuple(i.name for i in instances), tuple(len(i.iterators) for i in instances), len(params))
    try:
        search = _Search(
            RowFinder(layout, dependence_cones(dependences, layout.names, params)), cap, deadline
        )
        choice = search.best(options)
    except OperationsExceededError:
        return None
    found = None if choice is None else search.attempts[choice]
    if choice is None or found is None:
        return None
    space = tuple(_row("space", layout, params, row) for row in found.space)
    time = tuple(_row("time", layout, params, row) for row in found.time)
    direct = frozenset[int]().union(*(o.keys for o in choice))
    staged = frozenset(r.key for r in chosen) - direct
    return AdjacencySolution(space + time, direct, staged, reuse, found.outer_parallel, len(search.attempts))


def _options(instance: Instance, references: Sequence[ArrayReference]) -> tuple[Option, ...]:
    """The directions worth trying for one statement, most references first, "none" last.

    A set of references is feasible only through a common direction, so directions with all references
    they suit stand for the subsets of algorithm 1, step 2.
    """
    accesses = {id(r.access): r.access for r in references}  # of which many references have the same
    found_of = {key: demand(access, instance.domain) for key, access in accesses.items()}
    demands = {r.key: found_of[id(r.access)] for r in references}
    usable = {key: d for key, d in demands.items() if d is not None}
    groups: list[list[Demand]] = [[d] for d in usable.values()]
    if len(groups) > 1:
        groups.insert(0, list(usable.values()))
    found = dict.fromkeys(d for group in groups for d in directions(group, instance.domain))
    options = [Option(d, frozenset(k for k, asked in usable.items() if asked.admits(d))) for d in found]
    options.sort(key=lambda o: (-len(o.keys), [abs(a) for a in o.direction or ()]))
    return (*options, Option(None, frozenset()))


@dataclass(frozen=True)
class _Search:
    """The choices of one component; `attempts` remembers what each gave."""

    finder: RowFinder
    cap: int
    deadline: float
    attempts: dict[Choice, AdjacentRows | None] = field(default_factory=dict)

    def best(self, options: Sequence[Sequence[Option]]) -> Choice | None:
        """The first feasible choice: everything at once, else what is feasible alone, largest first."""
        whole = tuple(own[0] for own in options)
        if self.rows(whole):
            return whole
        alone = [
            tuple(o for o in own if o.direction is None or self.rows(_only(o, s, len(options))))
            for s, own in enumerate(options)
        ]
        for choice in _best_first(alone):
            if self.spent and choice not in self.attempts:
                break
            if any(o.direction for o in choice) and self.rows(choice):
                return choice
        feasible = (choice for choice, rows in self.attempts.items() if rows)
        return max(feasible, key=_adjacent_references, default=None)

    @property
    def spent(self) -> bool:
        return len(self.attempts) >= self.cap or steps() > self.deadline

    def rows(self, choice: Choice) -> AdjacentRows | None:
        if choice not in self.attempts and not self.spent:
            pairs = zip(self.finder.layout.names, choice, strict=True)
            steps = {name: o.direction for name, o in pairs if o.direction is not None}
            self.attempts[choice] = self.finder.find(steps)
        return self.attempts.get(choice)


def _only(option: Option, statement: int, statements: int) -> Choice:
    none = Option(None, frozenset())
    return tuple(option if s == statement else none for s in range(statements))


def _adjacent_references(choice: Choice) -> int:
    return sum(len(o.keys) for o in choice)


def _best_first(options: Sequence[Sequence[Option]]) -> Iterator[Choice]:
    """Every combination of one option a statement, by falling number of references."""

    def at(place: tuple[int, ...]) -> Choice:
        return tuple(own[k] for own, k in zip(options, place, strict=True))

    start = (0,) * len(options)
    heap, seen = [(-_adjacent_references(at(start)), start)], {start}
    while heap:
        _, place = heappop(heap)
        yield at(place)
        for s, k in enumerate(place):
            following = (*place[:s], k + 1, *place[s + 1 :])
            if k + 1 < len(options[s]) and following not in seen:
                seen.add(following)
                heappush(heap, (-_adjacent_references(at(following)), following))


def _row(kind: str, layout: Layout, params: Sequence[str], row: Vector) -> Row:
    coefficients, parameters, constants = {}, {}, {}
    for name in layout.names:
        coefficients[name] = tuple(row[c] for c in layout.iterators(name))
        pairs = zip(params, layout.parameters(name), strict=True)
        parameters[name] = {p: row[c] for p, c in pairs if row[c]}
        constants[name] = row[layout.constant(name)]
    return Row(kind, coefficients, parameters, constants)


def schedule(rows: Sequence[Row], name: str) -> isl.Map:
    """The rows of statement `name` as a map from its instances."""
    params = dict.fromkeys(p for row in rows for p in row.parameters[name])
    prefix = max(("x", *params), key=len) + "_"  # longer than a parameter's name, so none of them
    iterators = tuple(f"{prefix}{k}" for k in range(len(rows[0].coefficients[name])))
    forms = ", ".join(row.affine(name, iterators) for row in rows)
    return isl.Map(f"[{', '.join(params)}] -> {{ {name}[{', '.join(iterators)}] -> [{forms}] }}")


def check_complete(rows: Sequence[Row]) -> tuple[str, ...]:
    """The statements that lack a full-rank set of rows; empty when there are none."""
    return tuple(
        name
        for name, own in rows[0].coefficients.items()
        if rank(row.coefficients[name] for row in rows) < len(own)
    )


def check_legal(solution: AdjacencySolution, dependences: isl.UnionMap) -> tuple[str, ...]:
    """The dependences of the component that the schedule breaks, as text; empty when it is legal.

    Legal: along the time rows every distance is lexicographically positive, and along the space rows it
    is zero when `outer_parallel`.
    """
    time, space = solution.time, solution.space
    names = solution.lane.coefficients
    broken = []
    for relation in maps(dependences):
        source, target = tuple_name(relation, D.in_), tuple_name(relation, D.out)
        if source not in names or target not in names or relation.is_empty():
            continue
        forward = bool(time) and _positive(_distances(time, relation, source, target))
        still = not solution.outer_parallel or _zero(_distances(space, relation, source, target))
        if not (forward and still):
            broken.append(str(relation))
    return tuple(broken)


def _distances(rows: Sequence[Row], relation: isl.Map, source: str, target: str) -> isl.Set:
    timed = relation.apply_domain(schedule(rows, source)).apply_range(schedule(rows, target))
    return timed.deltas()


def _positive(distances: isl.Set) -> bool:
    zero = isl.Set.from_point(isl.Point.zero(distances.get_space().drop_all_params()))
    return bool(distances.subtract(zero.lex_lt_set(distances).range()).is_empty())


def _zero(distances: isl.Set) -> bool:
    return bool(
        distances.is_subset(isl.Set.from_point(isl.Point.zero(distances.get_space().drop_all_params())))
    )


def is_adjacent(rows: Sequence[Row], lane: Row, instance: Instance, access: isl.Map) -> bool:
    """Whether `access` touches consecutive elements in consecutive lanes, all other rows being equal."""
    order = [*(row for row in rows if row is not lane), lane]
    timed = schedule(order, instance.name).intersect_domain(instance.domain)
    at = [f"t{k}" for k in range(len(order))]
    following = isl.Map(f"{{ [{', '.join(at)}] -> [{', '.join(at)} + 1] }}")
    neighbours = timed.apply_range(following).apply_range(timed.reverse())
    touched = neighbours.apply_domain(access).apply_range(access)
    array, subscripts = touched.get_tuple_name(D.in_), touched.dim(D.in_)
    a = ", ".join(f"a{k}" for k in range(subscripts))
    return bool(subscripts) and bool(touched.is_subset(isl.Map(f"{{ {array}[{a}] -> {array}[{a} + 1] }}")))


def check_adjacent(
    solution: AdjacencySolution, instances: Sequence[Instance], references: Sequence[ArrayReference]
) -> tuple[int, ...]:
    """The keys of `direct` references that do not coalesce; empty when all do."""
    domains = {i.name: i for i in instances}
    return tuple(
        r.key
        for r in references
        if r.key in solution.direct
        and not is_adjacent(solution.rows, solution.lane, domains[r.statement], r.access)
    )
