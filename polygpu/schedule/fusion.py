"""Nests that become one kernel: which can, which are worth it, and what their points run then.

before: kernel(i) { S; for j: T }  kernel(i) { for j: U; V }
after:  kernel(i) { S; for j { T; U }; V }
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from itertools import permutations, product
from typing import TypeVar

import islpy as isl

from polygpu.analysis.distances import differ
from polygpu.analysis.patterns import Pattern, coefficients, patterns
from polygpu.analysis.polyhedra import PolyAccess, PolyStatement, array_tuple
from polygpu.schedule.carried import Carried
from polygpu.schedule.tree import (
    Band,
    Member,
    Nest,
    Node,
    band,
    has_zero_distance,
    members_on,
    parts,
    sequence,
    single_iterator,
    violated,
)
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, bounded, maps, tuple_name, union_of
from polygpu.support.recent import Recent, Same

Part = TypeVar("Part")
_STEPS = 100_000  # of isl, to compare two loops
_COLUMNS = 3  # arrays of which a small chip's shared memory holds tiles, of doubles too


@dataclass(frozen=True)
class Scope:
    """The `dependences` between instances in the same iteration of the loops `around`."""

    statements: Mapping[str, PolyStatement]
    dependences: isl.UnionMap
    around: tuple[Member, ...] = ()

    @cached_property
    def pairs(self) -> dict[tuple[str, str], isl.Map]:
        """The dependences by the statements of their sources and sinks."""
        found = ((tuple_name(m, D.in_), tuple_name(m, D.out), m) for m in maps(self.dependences))
        return {(source, sink): m for source, sink, m in found if not m.is_empty()}

    @cached_property
    def written(self) -> frozenset[str]:
        """The arrays that are written somewhere."""
        accesses = (a for s in self.statements.values() for a in s.accesses if a.write)
        return frozenset(array_tuple(a.reference) for a in accesses)

    def inside(self, *members: Member) -> Scope:
        """In one iteration of the members, too: of their statements alone."""
        names = members[0].statements if members else ()
        left = self.between(names, names) if members else self.dependences
        for member in members:
            left = member.at_one_value(left)
        return replace(self, dependences=left, around=(*self.around, *members))

    def between(self, sources: Iterable[str], sinks: Iterable[str]) -> isl.UnionMap:
        ends = product(sources, tuple(sinks))
        return union_of([self.pairs[pair] for pair in ends if pair in self.pairs])

    def follows(self, source: Iterable[str], sink: Iterable[str]) -> bool:
        return any(pair in self.pairs for pair in product(source, tuple(sink)))

    def alike(self, first: Iterable[str], a: Member, second: Iterable[str], b: Member) -> bool:
        """Whether loops over the two visit the same values wherever both run, so that one needs no tests."""
        try:
            with bounded(_STEPS):
                left, right = self._values(first, a), self._values(second, b)
                return bool(
                    left.intersect_params(right.params()).is_equal(right.intersect_params(left.params()))
                )
        except isl.Error:
            return False

    def _values(self, names: Iterable[str], member: Member) -> isl.Set:
        """Of the loops around, and of the member."""
        values = (self.statements[s].domain.apply(_at(s, (*self.around, member))) for s in names)
        return reduce(isl.Set.union, values)


def _at(statement: str, members: Iterable[Member]) -> isl.Map:
    """The instances of a statement to the values of the members."""
    rows = (isl.Map.from_pw_aff(m.rows[statement]) for m in members)
    return reduce(isl.Map.flat_range_product, rows)


def gathered(
    items: Sequence[Part],
    item: Part,
    joined: Callable[[Part, Part], Part | None],
    follows: Callable[[Part, Part], bool],
) -> list[Part]:
    """`item` behind `items`, or as one with the last of them that it can be `joined` with.

    What stands between goes before both, or behind them where it `follows` the first.
    """
    before: list[Part] = []  # of `items`, from which there are ways to `item`
    for k in reversed(range(len(items))):
        between = any(follows(items[k], other) for other in before)
        found = joined(items[k], item) if not between else None
        if found is not None:
            early, late = _around(items[k], items[k + 1 :], follows)
            return [*items[:k], *early, found, *late]
        if between or follows(items[k], item):
            before.append(items[k])
    return [*items, item]


def _around(
    first: Part, others: Sequence[Part], follows: Callable[[Part, Part], bool]
) -> tuple[list[Part], list[Part]]:
    """The others that can go before the first, and those that follow it, be it by way of others."""
    early: list[Part] = []
    late: list[Part] = []
    for other in others:
        (late if any(follows(source, other) for source in (first, *late)) else early).append(other)
    return early, late


def of_one_nest(first: Nest, second: Nest, scope: Scope) -> Nest | None:
    """One kernel for both if they share loops of the source, and run no more loops one after the other."""
    if not _share_loops(first, second):
        return None
    fused = _without_loss(first, second, scope)
    if fused is None or _loops(fused) > max(_loops(first), _loops(second)):
        return None
    *outer, last = fused.parallel
    return fused if scope.inside(*outer).alike(first.statements, last, second.statements, last) else None


def of_one_nest_and_value(first: Nest, second: Nest, scope: Scope) -> Nest | None:
    """One kernel for both as `of_one_nest`, if values pass between them."""
    passes = scope.follows(first.statements, second.statements)
    return of_one_nest(first, second, scope) if passes else None


def of_one_value(first: Nest, second: Nest, scope: Scope) -> Nest | None:
    """One kernel for both if values pass between them, or if both are a single thread."""
    if len(first.parallel) != len(second.parallel):
        return None
    if first.parallel and not scope.follows(first.statements, second.statements):
        return None
    return _without_loss(first, second, scope)


def _without_loss(first: Nest, second: Nest, scope: Scope) -> Nest | None:
    """One kernel for both, in which arrays still are in registers, tiles of others fit into shared memory,
    and lanes access adjacent elements as before.

    Where threads have points of several loops, so that these share what a loop loads, results of two loops
    would take twice the registers.
    """
    if len(first.parallel) > 1 and _loops(first) and _loops(second):
        return None
    fused = joined(first, second, scope)
    if fused is None or not _keeps_owned(first, second, fused, scope):
        return None
    scattered, columns = _scattered(fused, scope)
    apart = [_scattered(nest, scope) for nest in (first, second)]
    fits = columns <= max(_COLUMNS, *(c for _, c in apart))
    return fused if fits and scattered <= sum(weight for weight, _ in apart) else None


_SCATTERED: Recent[tuple[int, int]] = Recent(256)  # nests, that are compared with many others
_HELD: Recent[frozenset[str]] = Recent(256)


def _scattered(nest: Nest, scope: Scope) -> tuple[int, int]:
    return _SCATTERED.get((Same(nest), Same(scope)), lambda: _scattered_of(nest, scope))


def _scattered_of(nest: Nest, scope: Scope) -> tuple[int, int]:
    """Accesses that are not adjacent along the best lanes, those of loops weighing more, and of how many
    arrays there are tiles in shared memory, since loops read them by columns.

    Only arrays that nothing in the nest writes have tiles, and weigh less. Those in registers do not count,
    nor do values that an iteration has from itself or the one before.
    """
    held = _held(nest, scope)
    written = {array_tuple(a.reference) for a in _accesses(nest, scope) if a.write}
    carried = Carried(nest, scope.statements, scope.around)
    found = [
        p
        for p in _patterns(nest, scope)
        if array_tuple(p.access.reference) not in held and not carried.holds(p.statement, p.access)
    ]

    def of_lane(lane: int) -> tuple[int, int]:
        mine = [p for p in found if p.kind(lane) in ("strided", "reverse")]
        tiled = {(array_tuple(p.access.reference), p.steps) for p in mine if p.depth}
        return sum(map(weight, mine)), sum(array not in written for array, _ in tiled)

    def weight(p: Pattern) -> int:
        return (16 if array_tuple(p.access.reference) in written else 4) << 2 * min(p.depth, 3)

    return min(map(of_lane, range(len(nest.parallel))), default=(0, 0))


def _accesses(nest: Nest, scope: Scope) -> Iterator[PolyAccess]:
    return (a for s in nest.statements for a in scope.statements[s].accesses)


def _patterns(nest: Nest, scope: Scope) -> Iterator[Pattern]:
    for s in nest.statements:
        inner = [m.rows[s] for m in members_on(nest.body, s)]
        rows = [*(m.rows[s] for m in (*nest.parallel, *scope.around)), *inner]
        depth = sum(any(coefficients(row) or (1,)) for row in inner)
        yield from patterns(scope.statements[s], rows, len(nest.parallel), depth)


def _loops(nest: Nest) -> int:
    return sum(isinstance(part, Band) for part in parts(nest.body))


def _share_loops(first: Nest, second: Nest) -> bool:
    """Whether the parallel loops are the same ones of the source."""
    names = _iterators(*first.parallel)
    alone = bool(names) and None not in names and len(names) == len(first.parallel)
    return alone and names == _iterators(*second.parallel) and len(names) == len(second.parallel)


def evened(first: Nest, second: Nest, scope: Scope) -> Nest | None:
    """One kernel for both, in which threads run parallel loops of that which has more; None as `joined`.

    before: kernel(i, j) { S }  kernel(i) { for j: T; U }
    after:  kernel(i) { for j { S; T }; U }
    """
    count = min(len(first.parallel), len(second.parallel))
    pairs = product(_demoted(first, count), _demoted(second, count)) if count else ()
    found = [fused for a, b in pairs if (fused := joined(a, b, scope)) is not None]
    return min(found, key=_loops, default=None)


def _demoted(nest: Nest, count: int) -> Iterator[Nest]:
    """The nest with `count` of its parallel loops, in each way: threads run the others, in any order."""
    for inner in permutations(nest.parallel, len(nest.parallel) - count):
        left = tuple(m for m in nest.parallel if not any(m is other for other in inner))
        yield Nest(left, band(inner, False, nest.body))


def joined(first: Nest, second: Nest, scope: Scope) -> Nest | None:
    """One kernel for both, if dependences between them can stay within a parallel point."""
    crossing = scope.between(first.statements, second.statements)
    for order in _orders(first.parallel, second.parallel):
        if all(has_zero_distance(crossing, a, b) for a, b in zip(first.parallel, order, strict=True)):
            merged = tuple(a.merged(b) for a, b in zip(first.parallel, order, strict=True))
            return Nest(merged, _bodies(first.body, second.body, scope.inside(*merged)))
    return None


def _orders(first: Sequence[Member], second: Sequence[Member]) -> list[tuple[Member, ...]]:
    """Those of the second, which pair most of the same loops of the source first."""

    def others(order: tuple[Member, ...]) -> int:
        return sum(_iterators(a) != _iterators(b) for a, b in zip(first, order, strict=True))

    return sorted(permutations(second), key=others)


def _iterators(*members: Member) -> set[str | None]:
    return {single_iterator(row) for m in members for row in m.rows.values()}


def _bodies(first: Node, second: Node, scope: Scope) -> Node:
    """The second behind the first, in loops of both where these are alike and dependences allow it."""

    def follows(source: Node, sink: Node) -> bool:
        return scope.follows(source.statements, sink.statements)

    found = list(parts(first))
    for part in parts(second):
        found = gathered(found, part, lambda a, b: _merged(a, b, scope), follows)
    return sequence(found)


def _merged(first: Node, second: Node, scope: Scope) -> Node | None:
    """One loop for two, with the loops right inside them."""
    if not (isinstance(first, Band) and isinstance(second, Band)):
        return None
    a, b = first.members[0], second.members[0]
    if not scope.alike(first.statements, a, second.statements, b):
        return None
    member = a.merged(b)
    if not violated(scope.between(first.statements, second.statements), (member,)).is_empty():
        return None
    inner = [band(node.members[1:], False, node.child) for node in (first, second)]
    inside = scope.inside(member)
    if isinstance(inner[0], Band) or isinstance(inner[1], Band):
        child = _merged(inner[0], inner[1], inside)
    else:
        child = _bodies(inner[0], inner[1], inside)
    return Band((member,), False, child) if child is not None else None


def _keeps_owned(first: Nest, second: Nest, fused: Nest, scope: Scope) -> bool:
    """Whether arrays of which each point owns one element in a kernel are still so in the fused one."""
    held = _held(first, scope) | _held(second, scope)
    return all(elements.is_single_valued() for elements in _owners(fused, scope, held).values())


def _held(nest: Nest, scope: Scope) -> frozenset[str]:
    return _HELD.get((Same(nest), Same(scope)), lambda: _held_of(nest, scope))


def _held_of(nest: Nest, scope: Scope) -> frozenset[str]:
    """The arrays of which each point owns one element, that it uses more than once."""
    uses = Counter(array_tuple(a.reference) for a in _accesses(nest, scope))
    often = frozenset(a for a, count in uses.items() if count > 1 and a in scope.written)
    owners = _owners(nest, scope, often - _of_several(nest, scope)).items()
    return frozenset(a for a, elements in owners if elements.is_single_valued())


def _of_several(nest: Nest, scope: Scope) -> set[str]:
    """Arrays of which an instance touches several elements for certain: `q[i][0]` and `q[i][1]`."""
    found: set[str] = set()
    for s in nest.statements:
        known: dict[str, PolyAccess] = {}
        for a in (a for a in scope.statements[s].accesses if a.affine):
            array = array_tuple(a.reference)
            first = known.setdefault(array, a)
            apart = array not in found and differ(first.reference.subscripts, a.reference.subscripts)
            if apart and first.relation.domain().plain_is_equal(a.relation.domain()):
                found.add(array)
    return found


def _owners(nest: Nest, scope: Scope, arrays: Collection[str]) -> dict[str, isl.Map]:
    """For each of the arrays the elements that a point of the nest touches."""
    found: dict[str, isl.Map] = {}
    for s in nest.statements if nest.parallel and arrays else ():
        points = _at(s, nest.parallel)
        for access in scope.statements[s].accesses:
            array, relation = array_tuple(access.reference), access.relation
            if array in arrays:
                touched = points.intersect_domain(relation.domain()).reverse().apply_range(relation)
                found[array] = found[array].union(touched) if array in found else touched
    return found
