"""From dependences to the host program: ICS'08 algorithm 1 by component, else isl's scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import TypeAlias

import islpy as isl

from polygpu.analysis.dependences import Dependences
from polygpu.analysis.polyhedra import Polyhedra, PolyStatement, array_tuple
from polygpu.schedule import bands
from polygpu.schedule.adjacency import (
    AdjacencySolution,
    ArrayReference,
    Instance,
    Row,
    components,
    solve,
)
from polygpu.schedule.fusion import Scope
from polygpu.schedule.nests import AXES, form, nests, parallel_members
from polygpu.schedule.tree import (
    Band,
    Host,
    HostLoop,
    HostSequence,
    Leaf,
    Member,
    Nest,
    Node,
    Sequence,
    band,
    between,
    sequence,
)
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import STEPS_A_SECOND, isl_name, steps, union_set_of
from polygpu.support.recent import Recent

_SOLVED: Recent[AdjacencySolution | None] = Recent(256)  # what a component has does not depend on others


@dataclass(frozen=True)
class Scheduled:
    """The host program, and for each component whether algorithm 1 gave its schedule.

    `unsearched` has the statements that a time budget left without one; `fallback` says that isl finds no
    code for anything but the source's order.
    """

    tree: Node
    host: Host
    adjacent: tuple[tuple[tuple[str, ...], AdjacencySolution | None], ...]
    unsearched: tuple[str, ...] = ()
    fallback: bool = False

    @staticmethod
    def none() -> Scheduled:
        """Of nothing."""
        return Scheduled(Leaf(()), HostSequence(()), ())


def schedule(p: Polyhedra, d: Dependences, budget: float = inf) -> Scheduled:
    """A legal host program for `p`.

    After as many steps as `budget` seconds have, components keep the source's order, or isl's; `unsearched`
    has their statements.
    """
    end = steps() + budget * STEPS_A_SECOND
    unsearched: list[str] = []
    dependences = d.all
    domains = {s.name: s.domain for s in p.statements}
    instances = tuple(Instance(s.name, s.iterators, s.domain) for s in p.statements)
    parts: list[Node] = []
    answers: list[tuple[tuple[str, ...], AdjacencySolution | None]] = []
    for component in components(instances, dependences):
        node, solution, cut = _component(p, component, dependences, domains, end)
        unsearched.extend(component if cut else ())
        parts.append(node)
        answers.append((component, solution))
    tree = sequence(parts)
    host = form(tree, _scope(p, dependences))
    return Scheduled(tree, host, tuple(answers), tuple(unsearched))


def original(p: Polyhedra, d: Dependences) -> Scheduled:
    """The source's own order, whose code is simple."""
    tree = bands.original(list(p.statements))
    return Scheduled(tree, form(tree, _scope(p, d.all)), (), fallback=True)


Lack: TypeAlias = tuple[float, int]
"""What a statement lacks: the sequential loops around its kernel, inf where that has one thread, and the
parallel ones that it has less than the two that fill a chip. One of its loops may be sequential: there is as
much to read then as there is to compute.
"""


def lacks(p: Polyhedra, s: Scheduled) -> dict[str, Lack]:
    """What each statement of the source lacks, the most of its pieces."""
    found: dict[str, Lack] = {}
    for name, around, parallel in _placed(s.host, 0):
        statement = p.statement(name)
        lack = (around, max(min(len(statement.iterators) - 1, 2) - parallel, 0))
        whole = statement.whole or name
        found[whole] = max(lack, found.get(whole, lack))
    return found


def improves(new: Mapping[str, Lack], old: Mapping[str, Lack]) -> bool:
    """Whether a statement of `old` lacks less in `new`, and none more."""
    pairs = [(old[name], new[name]) for name in old if name in new]
    return all(a <= b for b, a in pairs) and any(a < b for b, a in pairs)


def _placed(host: Host, depth: int) -> Iterator[tuple[str, float, int]]:
    """Statements, the sequential loops around their kernels, and the parallel loops of these."""
    match host:
        case Nest(parallel):
            yield from ((name, depth if parallel else inf, len(parallel)) for name in host.statements)
        case HostLoop(_, child):
            yield from _placed(child, depth + 1)
        case HostSequence(children):
            for child in children:
                yield from _placed(child, depth)


def _component(
    p: Polyhedra,
    names: tuple[str, ...],
    dependences: isl.UnionMap,
    domains: dict[str, isl.Set],
    deadline: float,
) -> tuple[Node, AdjacencySolution | None, bool]:
    """Its schedule, algorithm 1's answer, and whether steps ran out, whose number is `deadline`."""
    inside = between(dependences, names, names, domains)
    # half of what is left: the rest is for the search
    plain, cut = isl_schedule(p, names, inside, (deadline - steps()) / STEPS_A_SECOND / 2)
    plain = _in_source_order(p, names, plain, _scope(p, inside))
    solution = _solve(p, names, inside, deadline) if steps() < deadline else None
    if solution is None:
        return plain, None, cut or steps() >= deadline
    node = _node(p, names, solution)
    scope = _scope(p, inside)
    if (*_parallelism(node, scope), -_stretch(node)) < (*_parallelism(plain, scope), -_stretch(plain)):
        return plain, solution, cut
    return node, solution, False


def _in_source_order(p: Polyhedra, names: tuple[str, ...], node: Node, scope: Scope) -> Node:
    """What one thread runs in the source's order if it is one thread's there, too, else as it is: no other
    order is of use then, and one that has statements wait an iteration has them pass values by memory.
    """
    if not _is_of_one_thread(node, scope):
        return node
    source = bands.original([s for s in p.statements if s.name in names])
    return source if _is_of_one_thread(source, scope) else node


def _is_of_one_thread(node: Node, scope: Scope) -> bool:
    host = form(node, scope)
    return isinstance(host, Nest) and host.is_alone


def _stretch(node: Node) -> int:
    """The largest coefficient of an iterator, 1 at least: iterations of loops that are 3i run a statement in
    three, by tests, and a value that one passes to the next is in memory by then.
    """
    match node:
        case Band(members, _, child):
            rows = (c for m in members for row in m.rows.values() for c in bands.coefficients(row))
            return max(1, _stretch(child), *(abs(c) for row in rows for c in row))
        case Sequence(children):
            return max(map(_stretch, children))
    return 1


def isl_schedule(
    p: Polyhedra, names: tuple[str, ...], inside: isl.UnionMap, seconds: float
) -> tuple[Node, bool]:
    """isl's schedule, or the source's order where isl has none, and whether that is for want of time."""
    statements = [s for s in p.statements if s.name in names]
    try:
        domain = union_set_of([s.domain for s in statements])
        return bands.schedule(domain, p.context, inside, inside, seconds), False
    except isl.Error:
        return bands.original(statements), False
    except TimeoutError:
        return bands.original(statements), True


def _solve(
    p: Polyhedra, names: tuple[str, ...], inside: isl.UnionMap, deadline: float
) -> AdjacencySolution | None:
    statements = [p.statement(n) for n in names]
    instances = tuple(Instance(s.name, s.iterators, s.domain) for s in statements)
    references: list[ArrayReference] = []
    for s in statements:
        for a in s.accesses:
            if a.affine and a.reference.subscripts:
                references.append(
                    ArrayReference(s.name, array_tuple(a.reference), a.relation, len(references))
                )
    parameters = tuple(map(isl_name, p.parameters))
    key = str((instances, references, inside, parameters))
    if key in _SOLVED.found:
        return _SOLVED.found[key]
    found = solve(instances, tuple(references), inside, parameters, deadline=deadline)
    if steps() < deadline:
        _SOLVED.put(key, found)
    return found


def _node(p: Polyhedra, names: tuple[str, ...], solution: AdjacencySolution) -> Node:
    """The solution's rows as bands: space outside time, or time outside space."""
    space = tuple(_member(p, names, r) for r in solution.rows if r.kind == "space")
    time = tuple(_member(p, names, r) for r in solution.rows if r.kind == "time")
    leaf: Node = Leaf(tuple(sorted(names)))
    if len(names) > 1:
        leaf = sequence(Leaf((n,)) for n in _textual(p, names))
    if solution.outer_parallel:
        return band(space, False, _loops(time, leaf))
    return _loops(time, band(space, False, leaf))


def _loops(members: tuple[Member, ...], leaf: Node) -> Node:
    for member in reversed(members):
        leaf = Band((member,), False, leaf)
    return leaf


def _textual(p: Polyhedra, names: tuple[str, ...]) -> list[str]:
    return [s.name for s in p.statements if s.name in names]


def _member(p: Polyhedra, names: tuple[str, ...], row: Row) -> Member:
    rows: dict[str, isl.PwAff] = {}
    for name in names:
        s = p.statement(name)
        local = isl.LocalSpace.from_space(s.domain.get_space())
        aff = isl.Aff.zero_on_domain(local).set_constant_val(isl.Val(row.constants[name]))
        for k, c in enumerate(row.coefficients[name]):
            aff = aff.set_coefficient_val(isl.dim_type.in_, k, isl.Val(c))
        for parameter, c in row.parameters[name].items():
            position = s.domain.get_space().find_dim_by_name(isl.dim_type.param, parameter)
            aff = aff.set_coefficient_val(isl.dim_type.param, position, isl.Val(c))
        rows[name] = isl.PwAff.from_aff(aff)
    return Member(rows)


def _scope(p: Polyhedra, dependences: isl.UnionMap) -> Scope:
    return Scope({s.name: s for s in p.statements}, dependences)


def _parallelism(node: Node, scope: Scope) -> tuple[int, int]:
    """Parallel dimensions of the least parallel kernel, and minus the number of host loops around.

    Kernels of rims do not count beside others: they have fewer dimensions, in whatever order. Of kernels that
    run one statement at a time, as loops do that are stretched, those dimensions count that each has.
    """
    host = form(node, scope)
    found = nests(host)
    inner = [n for n in found if not all(_is_rim(scope.statements[s]) for s in n.statements)] or found
    counts = map(_spread, inner) if _stretch(node) > 1 else (len(n.parallel) for n in inner)
    return min(AXES, *counts), -_host_depth(host)


def _spread(nest: Nest) -> int:
    """In how many parallel dimensions instances of each of its statements differ."""
    return min(
        sum(any(map(any, bands.coefficients(m.rows[s]))) for m in nest.parallel) for s in nest.statements
    )


def _is_rim(s: PolyStatement) -> bool:
    """Whether it is a piece of a statement with fewer dimensions: a row, a column, or a corner."""
    return bool(s.whole) and any(c.is_equality() for c in s.domain.affine_hull().get_constraints())


def _host_depth(host: Host) -> int:
    inner = getattr(host, "children", None) or ([host.child] if hasattr(host, "child") else [])
    own = 1 if hasattr(host, "member") else 0
    return own + max((_host_depth(h) for h in inner), default=0)


__all__ = ["Scheduled", "improves", "lacks", "parallel_members", "schedule"]
