"""The original program as the certificate sees it: the order of its accesses, its dataflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra, PolyStatement
from polygpu.model.expr import Name, Reference
from polygpu.model.rewrite import walk
from polygpu.model.scop import Action, Let, Store
from polygpu.verify.last import last_writes
from polygpu.verify.liveness import Liveness, Number
from polygpu.verify.slots import Slot, exclusive, numbered, reached, slots_of


@dataclass(frozen=True)
class Writer:
    """The instance of `statement` whose action `number` wrote what a read instance reads."""

    statement: str
    number: Number
    instances: isl.Map  # reading instance to writing instance


@dataclass(frozen=True)
class Source:
    """The dataflow of the original program `p`, array by array, computed when asked for."""

    p: Polyhedra

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(slot for s in self.p.statements for slot in slots_of(self.p, s, self.happens(s.name)))

    def happens(self, statement: str) -> Mapping[Number, isl.Set]:
        """The instances in which each action of a statement may happen, as far as affine tests tell."""
        found = self._happens.get(statement)
        if found is None:
            found = self._happens[statement] = reached(self.p, self.p.statement(statement))
        return found

    @cached_property
    def _happens(self) -> dict[str, Mapping[Number, isl.Set]]:
        return {}

    def reading(self, statement: str, number: Number, reference: Reference) -> Slot:
        return next(
            s
            for s in self.slots
            if (s.statement, s.number) == (statement, number) and not s.write and s.reference == reference
        )

    def writing(self, statement: str, number: Number) -> Slot | None:
        found = (s for s in self.slots if (s.statement, s.number) == (statement, number) and s.write)
        return next(found, None)

    def may_keep(self, statement: str, number: Number) -> bool:
        """Whether the old value may stay where a conditional assignment has its place."""
        mine = [s for s in self.slots if (s.statement, s.number) == (statement, number)]
        return any(s.implied for s in mine) or not any(s.write for s in mine)

    def writes_of(self, array: str) -> tuple[Slot, ...]:
        return tuple(s for s in self.slots if s.write and s.array == array)

    @cached_property
    def written(self) -> frozenset[str]:
        return frozenset(s.array for s in self.slots if s.write)

    def before(self, first: str, a: tuple[Number, int], second: str, b: tuple[Number, int]) -> isl.Map:
        """Pairs of instances of `first` and `second` whose accesses ranked `a` and `b` come in this order."""
        earlier, *same = self.before_parts(first, a, second, b)
        return earlier.union(same[0]) if same else earlier

    def before_parts(
        self, first: str, a: tuple[Number, int], second: str, b: tuple[Number, int]
    ) -> tuple[isl.Map, ...]:
        """The pairs of `before`: different instances, and then those of one instance, if any."""
        one, two = self.p.statement(first), self.p.statement(second)
        order = one.schedule.lex_lt_map(two.schedule)
        both = first == second and a < b and not exclusive(a[0], b[0])
        return (order, one.domain.identity()) if both else (order,)

    def writers(self, read: Slot) -> tuple[list[Writer], isl.Set]:
        """Who wrote what `read` reads, and the instances that read the contents from before the region.

        Raises Unanalysable where an access of the array depends on data.
        """
        found = self._flows.get(read)
        if found is None:
            found = self._flows[read] = self._flow(read)
        return found

    @cached_property
    def _flows(self) -> dict[Slot, tuple[list[Writer], isl.Set]]:
        return {}

    def locals(self, statement: str) -> Liveness:
        """Which assignments to locals of an instance matter."""
        found = self._locals.get(statement)
        if found is None:
            found = self._locals[statement] = Liveness()
            found.walk(self.p.statement(statement).body)
        return found

    @cached_property
    def _locals(self) -> dict[str, Liveness]:
        return {}

    def dependents(self, statement: str, number: Number) -> frozenset[Number]:
        """The stores of an instance that may depend on what action `number` reads, be it by a local."""
        found = self._dependents.get((statement, number))
        if found is None:
            found = _dependents(self.p.statement(statement).body, number)
            self._dependents[statement, number] = found
        return found

    @cached_property
    def _dependents(self) -> dict[tuple[str, Number], frozenset[Number]]:
        return {}

    def assigned(self, statement: str, number: Number, name: str, implied: bool) -> dict[Number, isl.Set]:
        """The assignments to a local whose value, new or old, action `number` finds, and in which instances.

        What is `implied` stands for the value after the whole branch, be it made on the other side.
        """
        s, happens = self.p.statement(statement), self.happens(statement)
        earlier = [n for n, a, _ in numbered(s.body) if isinstance(a, Let) and a.name == name and n < number]
        left = happens[number]
        found: dict[Number, isl.Set] = {}
        for n in reversed(earlier):
            if implied or not exclusive(n, number):
                found[n] = left.intersect(happens[n])
                left = left.subtract(happens[n])
        return found

    def _flow(self, read: Slot) -> tuple[list[Writer], isl.Set]:
        writes = self.writes_of(read.array)
        domain = self.p.statement(read.statement).domain
        if not writes:
            return [], domain
        numbers = sorted({s.rank for s in (read, *writes)})
        times = {w: timed(self.p.statement(w.statement), numbers.index(w.rank)) for w in writes}
        now = timed(self.p.statement(read.statement), numbers.index(read.rank))
        sink = known(read)
        earlier: dict[Slot, isl.Map] = {}
        for w in writes:
            meet = sink.apply_range(known(w).reverse()).intersect(times[w].lex_lt_map(now).reverse())
            # the old value that an implied read stands for may be what the other branch has written
            if w.statement == read.statement and exclusive(w.number, read.number) and not read.implied:
                meet = meet.subtract(domain.identity())
            if not meet.is_empty():
                earlier[w] = meet
        fresh = domain
        for pairs in earlier.values():
            fresh = fresh.subtract(pairs.domain())
        last = last_writes(earlier, times)
        return [Writer(w.statement, w.number, pairs) for w, pairs in last.items()], fresh


def _dependents(body: tuple[Action, ...], number: Number) -> frozenset[Number]:
    names: set[str] = set()
    found = {number}
    grown = True
    while grown:
        before = len(found)
        for n, action, _ in numbered(body):
            tested = any(n[:k] in found for k in range(1, len(n)))
            if n in found or tested or names & _read(action):
                found.add(n)
                names |= {action.name} if isinstance(action, Let) else set()
        grown = len(found) > before
    stores = {n for n, action, _ in numbered(body) if isinstance(action, Store)}
    return frozenset(found & stores)


def _read(action: Action) -> set[str]:
    """The names that the action reads."""
    exprs = (
        (action.target, action.value)
        if isinstance(action, Store)
        else ((action.value,) if isinstance(action, Let) else (action.test,))
    )
    return {e.name for x in exprs for e in walk(x) if isinstance(e, Name)}


class UnanalysableError(Exception):
    """What the method cannot decide, with the reason as its message."""


def known(slot: Slot) -> isl.Map:
    if slot.relation is None:
        raise UnanalysableError(f"'{slot.array}' has a subscript that depends on data")
    return slot.relation


def timed(s: PolyStatement, rank: int) -> isl.Map:
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(s.domain.get_space()))
    return s.schedule.flat_range_product(isl.Map.from_aff(zero.set_constant_val(isl.Val(rank))))
