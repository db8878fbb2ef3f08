"""Reads that find what the same iteration of a thread's innermost loop writes, or the one before."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import field
from functools import cached_property
from typing import TypeAlias

import islpy as isl

from polygpu.analysis.distances import Subscripts, differ
from polygpu.analysis.polyhedra import PolyAccess, PolyStatement, array_tuple
from polygpu.model.expr import Int
from polygpu.schedule.tree import Member, Nest, has_zero_distance, members_on
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import bounded
from polygpu.support.recent import Recent, Same

_STEPS = 100_000  # of isl, for one pair of accesses
_CARRIED: Recent[bool] = Recent(4096)  # pairs of accesses

End: TypeAlias = tuple[PolyStatement, PolyAccess]
Members: TypeAlias = tuple[Member, ...]
Constants: TypeAlias = tuple[int | None, ...]


@dataclass
class Carried:
    """Answers for the reads of a nest in one iteration of the loops `around` it.

    Bodies of hundreds of assignments touch few elements many times: each is asked about once. `answers` are
    kept by statements, arrays and subscripts, `members` have what loops are of two statements.
    """

    nest: Nest
    statements: Mapping[str, PolyStatement]
    around: Members
    answers: dict[tuple[str, str, Subscripts], list[tuple[isl.Map, bool]]] = field(default_factory=dict)
    members: dict[tuple[str, str], tuple[Members, Members]] = field(default_factory=dict)

    def holds(self, statement: str, read: PolyAccess) -> bool:
        """Whether the read finds such values alone."""
        if read.write or not read.reference.subscripts or not self._loops[statement]:
            return False
        key = statement, array_tuple(read.reference), read.reference.subscripts
        known = self.answers.setdefault(key, [])
        for relation, answer in known:
            if relation.plain_is_equal(read.relation):
                return answer
        answer = self._holds(statement, read)
        known.append((read.relation, answer))
        return answer

    def _holds(self, statement: str, read: PolyAccess) -> bool:
        innermost, subscripts = self._loops[statement][-1], read.reference.subscripts
        sources = self._writes.get(array_tuple(read.reference), {})
        inside = [s for s in sources if any(m is innermost for m in self._loops[s][-1:])]
        near = (
            (self.statements[s], a)
            for s in inside
            for constants, writes in sources[s].items()
            if _may_be(constants, subscripts)
            for a in writes
            if not differ(a.reference.subscripts, subscripts)
        )
        sink = self.statements[statement], read
        return bool(inside) and all(self._is_carried(source, sink) for source in near)

    def _is_carried(self, source: End, sink: End) -> bool:
        # Of nests of hundreds of statements the dimensions are large unions, of which two pieces matter.
        names = source[0].name, sink[0].name
        if names not in self.members:
            loops = (*self.nest.parallel, *self._loops[sink[0].name])
            around = tuple([m.restricted({*names}) for m in self.around])
            self.members[names] = around, tuple([m.restricted({*names}) for m in loops])
        pair = _Pair(source, sink, *self.members[names])
        return _CARRIED.get(pair.key, pair.is_carried)

    @cached_property
    def _loops(self) -> dict[str, list[Member]]:
        return {s: members_on(self.nest.body, s) for s in self.nest.statements}

    @cached_property
    def _writes(self) -> dict[str, dict[str, dict[Constants, list[PolyAccess]]]]:
        """By tuples of arrays, statements, and the subscripts that are constants: of writes of a statement to
        the same element one.
        """
        found: dict[str, dict[str, dict[Constants, list[PolyAccess]]]] = {}
        for s in (self.statements[name] for name in self.nest.statements):
            for a in (a for a in s.accesses if a.write):
                mine = found.setdefault(array_tuple(a.reference), {}).setdefault(s.name, {})
                alike = mine.setdefault(_constants(a.reference.subscripts), [])
                if not any(_are_alike(a, other) for other in alike):
                    alike.append(a)
        return found


def _constants(subscripts: Subscripts) -> Constants:
    return tuple(s.value if isinstance(s, Int) else None for s in subscripts)


def _may_be(constants: Constants, subscripts: Subscripts) -> bool:
    """Whether no constant is another one, as far as is plain to see."""
    pairs = zip(constants, subscripts, strict=True)
    return not any(c is not None and isinstance(s, Int) and s.value != c for c, s in pairs)


def _are_alike(one: PolyAccess, other: PolyAccess) -> bool:
    same = one.reference.subscripts == other.reference.subscripts
    return same and bool(one.relation.plain_is_equal(other.relation))


@dataclass(frozen=True)
class _Pair:
    """A write and a read of one array in an iteration of the loops `around`, and the `loops` of both."""

    write: tuple[PolyStatement, PolyAccess]
    read: tuple[PolyStatement, PolyAccess]
    around: Members
    loops: Members

    @property
    def key(self) -> Hashable:
        """What the pair is made of, which it is in many nests."""
        both = self.write, self.read
        rows = (Same(m.rows[s.name]) for m in (*self.around, *self.loops) for s, _ in both)
        ends = (Same(x) for s, a in both for x in (s.domain, a.relation))
        return len(self.around), *ends, *rows

    def is_carried(self) -> bool:
        """Whether the read only meets what the same iteration of the last loop writes, or the one before."""
        try:
            with bounded(_STEPS):
                return self._is_carried()
        except isl.Error:
            return False

    def _is_carried(self) -> bool:
        source, sink = (a.relation.intersect_domain(s.domain) for s, a in (self.write, self.read))
        found = isl.UnionMap.from_map(source.apply_range(sink.reverse()))
        for member in self.around:
            found = member.at_one_value(found)
        *outer, last = self.loops
        if not all(has_zero_distance(found, m, m) for m in outer):
            return False
        moved = found.apply_domain(last.relation()).apply_range(last.relation())
        return bool(moved.deltas().is_subset(isl.UnionSet("{ [d] : 0 <= d <= 1 }")))
