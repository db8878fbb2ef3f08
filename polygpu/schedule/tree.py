"""Schedules as trees, and the nests of kernels cut out of them.

    node ::= Band members child | Sequence node* | Leaf
    host ::= HostSequence host* | HostLoop member host | Nest parallel node

A member is one affine schedule dimension: a row for each statement below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, reduce
from typing import TypeAlias

import islpy as isl

from polygpu.model.expr import Expr
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, maps, pieces, tuple_name, union_of, union_set_of


@dataclass(frozen=True)
class Member:
    """`rows[S]` is the value of this dimension at an instance of statement S."""

    rows: dict[str, isl.PwAff]

    @property
    def statements(self) -> tuple[str, ...]:
        return tuple(sorted(self.rows))

    def relation(self) -> isl.UnionMap:
        return self._relation

    @cached_property
    def _relation(self) -> isl.UnionMap:
        return union_of([isl.Map.from_pw_aff(self.rows[s]) for s in self.statements])

    def function(self) -> isl.MultiUnionPwAff:
        return self._function

    @cached_property
    def _function(self) -> isl.MultiUnionPwAff:
        union = reduce(
            lambda u, s: u.union_add(isl.UnionPwAff.from_pw_aff(self.rows[s])),
            self.statements[1:],
            isl.UnionPwAff.from_pw_aff(self.rows[self.statements[0]]),
        )
        return isl.MultiUnionPwAff.from_union_pw_aff(union)

    @cached_property
    def is_single(self) -> bool:
        """Whether all instances of all statements have one value, as those of one thread do."""
        values = [aff for row in self.rows.values() for _, aff in pieces(row)]
        return all(v.is_cst() for v in values) and len({v.get_constant_val().to_str() for v in values}) == 1

    def at_one_value(self, pairs: isl.UnionMap) -> isl.UnionMap:
        """The pairs of instances with the same value: map by map, since isl takes ten times as long for what
        it does with unions of thousands.
        """
        same = (m.intersect(equal) for m, equal in self._compared(pairs, self))
        return union_of([m for m in same if not m.is_empty()])

    def differs(self, sink: Member, pairs: isl.UnionMap) -> bool:
        """Whether the value at the second of any pair is another than at the first one, by `sink` there."""
        return not all(m.is_subset(equal) for m, equal in self._compared(pairs, sink))

    def _compared(self, pairs: isl.UnionMap, sink: Member) -> Iterator[tuple[isl.Map, isl.Map]]:
        """Each map of `pairs` with all pairs of its statements at which both values are the same."""
        for m in maps(pairs):
            first, second = self._values.get(tuple_name(m, D.in_)), sink._values.get(tuple_name(m, D.out))
            if first is not None and second is not None:
                yield m, first.apply_range(second.reverse())

    @cached_property
    def _values(self) -> dict[str, isl.Map]:
        """What the rows say of all instances there could be, where one expression says it: bounds of a loop
        would be looked at with each pair.
        """
        return {s: _without_bounds(row) for s, row in self.rows.items()}

    def restricted(self, statements: Iterable[str]) -> Member:
        return Member({s: self.rows[s] for s in statements})

    def merged(self, other: Member) -> Member:
        return Member({**self.rows, **other.rows})

    def reversed(self) -> Member:
        return Member({s: row.neg() for s, row in self.rows.items()})

    def text(self) -> str:
        return "; ".join(f"{s}: {row_text(self.rows[s])}" for s in self.statements)


@dataclass(frozen=True)
class Leaf:
    """One statement whose remaining dimensions are none."""

    statements: tuple[str, ...]


@dataclass(frozen=True)
class Band:
    """Nested loops over `members`; any order of them is legal when `permutable`."""

    members: tuple[Member, ...]
    permutable: bool
    child: Node

    @property
    def statements(self) -> tuple[str, ...]:
        return self.child.statements


@dataclass(frozen=True)
class Sequence:
    children: tuple[Node, ...]

    @cached_property
    def statements(self) -> tuple[str, ...]:
        return tuple(sorted(s for c in self.children for s in c.statements))


Node: TypeAlias = Leaf | Band | Sequence


@dataclass(frozen=True)
class Update:
    """Elements of `array`, which a statement does nothing with but update them by an operator."""

    statement: str
    array: str
    operator: str


@dataclass(frozen=True)
class Shared:
    """Outermost loops of a nest's body, of which threads share the iterations: updates come in any order.

    Where loops are cut into chunks of `widths` iterations, 0 for a whole loop, the last parallel loops are
    over these, and the elements are new: they get what the terms of a chunk add up to.
    """

    loops: tuple[Member, ...]
    updates: tuple[Update, ...]
    widths: tuple[int, ...] = ()


@dataclass(frozen=True)
class Side:
    """Points left out at a side of a tile: `start` in the first step, `slope` more in each further one."""

    start: int
    slope: int

    def at(self, step: int) -> int:
        return self.start + self.slope * step


@dataclass(frozen=True)
class Phase:
    """A statement of each step of a tile of time, with its sides before and behind along each dimension.

    Before it `meets` says that threads wait for each other.
    """

    statement: str
    meets: bool
    margins: tuple[tuple[Side, Side], ...]


@dataclass(frozen=True)
class Carried:
    """An array whose `elements` every step writes; all that steps use is among those `used`, which exist.

    Where it is `live` from step to step, odd tiles read its version `other`, and even ones store there. Else
    only the last tile stores it, if it is `kept`. The `distances` of references from the point
    that reads them, one a dimension, are by statement and subscripts, if they are constant; all are within
    `reach` before and behind it.
    """

    array: str
    elements: isl.Set
    used: isl.Set
    live: bool
    kept: bool
    distances: Mapping[tuple[str, tuple[Expr, ...]], tuple[int, ...]]
    reach: tuple[tuple[int, int], ...]
    other: str = ""

    @property
    def copied(self) -> bool:
        """Whether steps read anything that was there before."""
        return self.live or not self.used.is_subset(self.elements)


@dataclass(frozen=True)
class Steps:
    """What a nest runs are `count` steps, from the `first`, of the sequential loop `member`, phase by phase.

    A point is the element that a statement writes. `last` is the last tile.
    """

    member: Member
    first: Expr
    count: int
    phases: tuple[Phase, ...]
    carried: tuple[Carried, ...]
    last: isl.Set


@dataclass(frozen=True)
class Batch:
    """The outermost loop of a nest's body has up to `count` steps, which all threads of a block go through
    one after the other, and together. They share the `points` of a step: along those that are no loops of
    the grid, a block has all of them, up to `count`. Before parts of a step that `meets` marks threads wait
    for each other: before the first for what they did in the step before.
    """

    points: tuple[Member, ...]
    count: int
    meets: tuple[bool, ...]


@dataclass(frozen=True)
class Waves:
    """A block runs a tile of `widths` values along each of the `points`, the parallel members.

    It does so step by step: those together that the outermost loop of the nest's body gives the same number,
    from 0 up to `count`, not included. Threads wait for each other before the next step. Blocks pass each
    other no values.
    """

    points: tuple[Member, ...]
    widths: tuple[int, ...]
    count: int


@dataclass(frozen=True)
class Nest:
    """A kernel: every point of `parallel` runs `body` alone; no dependence joins two points.

    With no parallel member the body runs in one thread, unless threads share some of its loops. With `steps`
    the points depend on each other from phase to phase, with `waves` from step to step.
    """

    parallel: tuple[Member, ...]
    body: Node
    shared: Shared | None = None
    steps: Steps | None = None
    batch: Batch | None = None
    waves: Waves | None = None

    @property
    def is_alone(self) -> bool:
        """Whether one thread runs it all, unless threads share terms."""
        return not self.parallel and self.batch is None

    @property
    def statements(self) -> tuple[str, ...]:
        return self.body.statements


@dataclass(frozen=True)
class HostLoop:
    """A sequential loop on the host, a launch (or more) each iteration."""

    member: Member
    child: Host


@dataclass(frozen=True)
class HostSequence:
    children: tuple[Host, ...]


Host: TypeAlias = Nest | HostLoop | HostSequence


def band(members: tuple[Member, ...], permutable: bool, child: Node) -> Node:
    return Band(members, permutable, child) if members else child


def sequence(children: Iterable[Node]) -> Node:
    flat: list[Node] = []
    for child in children:
        flat.extend(child.children if isinstance(child, Sequence) else (child,))
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def parts(node: Node) -> tuple[Node, ...]:
    """What runs one after the other."""
    return node.children if isinstance(node, Sequence) else (node,)


def row_text(row: isl.PwAff) -> str:
    """`i + j` for the row, as isl writes the value."""
    text = row.to_str()
    return text[text.index("[(") + 2 : text.rindex(")]")] if "[(" in text else text


def single_iterator(row: isl.PwAff) -> str | None:
    """The iterator's isl name when the row is just that iterator."""
    found = pieces(row)
    if len(found) != 1:
        return None
    aff = found[0][1]
    hits = [i for i in range(aff.dim(D.in_)) if not aff.get_coefficient_val(D.in_, i).is_zero()]
    if len(hits) != 1 or not aff.get_coefficient_val(D.in_, hits[0]).is_one() or aff.dim(D.div):
        return None
    parameters = any(not aff.get_coefficient_val(D.param, i).is_zero() for i in range(aff.dim(D.param)))
    if parameters or not aff.get_constant_val().is_zero():
        return None
    return aff.get_domain_space().get_dim_name(D.set, hits[0])


def has_zero_distance(dependences: isl.UnionMap, source: Member, sink: Member) -> bool:
    """Whether both ends of every dependence have the same value of the dimension."""
    return not source.differs(sink, dependences)


def _without_bounds(row: isl.PwAff) -> isl.Map:
    found = pieces(row)
    return isl.Map.from_aff(found[0][1]) if len(found) == 1 else isl.Map.from_pw_aff(row)


def between(
    dependences: isl.UnionMap, sources: Iterable[str], sinks: Iterable[str], domains: dict[str, isl.Set]
) -> isl.UnionMap:
    """The dependences from statements `sources` to statements `sinks`."""
    first, last = (union_set_of(domains[s] for s in statements) for statements in (sources, sinks))
    return dependences.intersect_domain(first).intersect_range(last)


def violated(dependences: isl.UnionMap, members: Iterable[Member]) -> isl.UnionMap:
    """The dependences that loops over `members`, the outermost first, visit in the wrong order."""
    found = isl.UnionMap("{ }")
    for member in members:
        found = found.union(dependences.lex_gt_at_multi_union_pw_aff(member.function()))
        dependences = member.at_one_value(dependences)
    return found


def members_on(node: Node, statement: str) -> list[Member]:
    """All band members above `statement` in `node`, outermost first."""
    match node:
        case Leaf():
            return []
        case Band(members, _, child):
            return [*members, *members_on(child, statement)]
        case Sequence(children):
            below = next(c for c in children if statement in c.statements)
            return members_on(below, statement)


def describe(node: Node | Host, indent: str = "") -> list[str]:
    """The tree as indented lines, for `--emit schedule` and error messages."""
    inner = indent + "  "
    match node:
        case Leaf(statements):
            return [f"{indent}{', '.join(statements)}"]
        case Band(members, permutable, child):
            kind = "band (permutable)" if permutable and len(members) > 1 else "loop"
            return [f"{indent}{kind} [{' | '.join(m.text() for m in members)}]", *describe(child, inner)]
        case Sequence(children) | HostSequence(children):
            return [f"{indent}sequence", *(line for c in children for line in describe(c, inner))]
        case HostLoop(member, child):
            return [f"{indent}host loop [{member.text()}]", *describe(child, inner)]
        case Nest(parallel, body):
            alone = "one thread" if node.batch is None else "one block"
            rows = " | ".join(m.text() for m in parallel) or alone
            return [f"{indent}kernel [{rows}]", *describe(body, inner)]


def replace_body(nest: Nest, body: Node) -> Nest:
    return replace(nest, body=body)
