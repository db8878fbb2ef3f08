"""The original program as the certificate sees it: the order of its accesses, its dataflow."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import cached_property, reduce
from typing import TypeVar

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra, PolyStatement
from polygpu.analysis.scoping import depths_of, in_iterations
from polygpu.model.expr import Reference
from polygpu.model.rewrite import exclusive, numbered
from polygpu.model.scop import Let, Number, keeps_apart
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, TooLongError, in_order, in_time
from polygpu.verify.last import last_writes
from polygpu.verify.slots import Slot, reached, slots_of, touching

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class UnanalysableError(Exception):
    """What the method cannot decide, with the reason as its message."""


def known(slot: Slot) -> isl.Map:
    if slot.relation is None:
        raise UnanalysableError(f"'{slot.array}' has a subscript that depends on data")
    return slot.relation


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
        return tuple(slot for s in self.p.statements for slot in slots_of(self.p, s, self.happens[s.name]))

    @cached_property
    def happens(self) -> dict[str, Mapping[Number, isl.Set]]:
        """The instances in which each action of a statement may happen, as far as affine tests tell."""
        return {s.name: reached(self.p, s) for s in self.p.statements}

    def at(self, statement: str, number: Number) -> tuple[Slot, ...]:
        """The accesses of an action."""
        return tuple(self._slots_at.get((statement, number), ()))

    @cached_property
    def _slots_at(self) -> dict[tuple[str, Number], list[Slot]]:
        found: dict[tuple[str, Number], list[Slot]] = {}
        for slot in self.slots:
            found.setdefault((slot.statement, slot.number), []).append(slot)
        return found

    def reading(self, statement: str, number: Number, reference: Reference, implied: bool) -> Slot:
        found = (s for s in self.at(statement, number) if not s.write and s.implied == implied)
        return next(s for s in found if s.reference == reference)

    def writing(self, statement: str, number: Number) -> Slot | None:
        return next((s for s in self.at(statement, number) if s.write), None)

    def writes_of(self, array: str) -> tuple[Slot, ...]:
        return tuple(self._writes.get(array, ()))

    @cached_property
    def _writes(self) -> dict[str, list[Slot]]:
        found: dict[str, list[Slot]] = {}
        for slot in self.slots:
            if slot.write:
                found.setdefault(slot.array, []).append(slot)
        return found

    def before(self, first: str, a: tuple[Number, int], second: str, b: tuple[Number, int]) -> isl.Map:
        """Pairs of instances of `first` and `second` whose accesses ranked `a` and `b` come in this order."""
        earlier, *same = self.before_parts(first, a, second, b)
        return earlier.union(same[0]) if same else earlier

    def before_parts(
        self, first: str, a: tuple[Number, int], second: str, b: tuple[Number, int]
    ) -> tuple[isl.Map, ...]:
        """The pairs of `before`: different instances, and then those of one instance, if any."""
        one, two = self.p.statement(first), self.p.statement(second)
        order = self._orders.get((first, second))
        if order is None:
            order = self._orders[first, second] = in_order(one.schedule, two.schedule)
        both = first == second and a < b and not exclusive(a[0], b[0])
        return (order, one.domain.identity()) if both else (order,)

    def promised(self, first: str, second: str, array: str) -> isl.Map | None:
        """Pairs of instances in different iterations of a loop that is independent by promise, in the same
        ones of the loops around it: None where no such loop is around both statements.
        """
        one, two = self.p.statement(first), self.p.statement(second)
        left = isl.Map.from_domain_and_range(one.domain, two.domain)
        found: list[isl.Map] = []
        for k, (a, b) in enumerate(zip(one.loops, two.loops, strict=False)):
            if a != b:
                break
            same = left.equate(D.in_, k, D.out, k)
            if keeps_apart(self.p.scop, a, array):
                found.append(left.subtract(same))
            left = same
        return reduce(isl.Map.union, found) if found else None

    @cached_property
    def _orders(self) -> dict[tuple[str, str], isl.Map]:
        return {}

    def writers(self, read: Slot) -> tuple[list[Writer], isl.Set]:
        """Who wrote what `read` reads, and the instances that read the contents from before the region.

        Raises Unanalysable where an access of the array depends on data.
        """
        return _once(self._flows, read, self._flow)

    def found_by(self, read: Slot) -> list[Writer]:
        """Who wrote what `read` may find: several for an instance where its element depends on data.

        Raises UnanalysableError where a write of the array depends on data.
        """
        if read.relation is not None:
            return self.writers(read)[0]
        return _once(self._maybe, read, self._maybe_from)

    def _maybe_from(self, read: Slot) -> list[Writer]:
        places = touching(self.p, read).intersect_domain(read.reached)
        writers, _ = self._last_before(read, places.range_map(), places.domain_map())
        back = places.domain_map().reverse()
        return [replace(w, instances=back.apply_range(w.instances)) for w in writers]

    @cached_property
    def _flows(self) -> dict[Slot, tuple[list[Writer], isl.Set] | TooLongError]:
        return {}

    @cached_property
    def _maybe(self) -> dict[Slot, list[Writer] | TooLongError]:
        return {}

    def assigned(self, statement: str, number: Number, name: str, implied: bool) -> dict[Number, isl.Set]:
        """The assignments to a local whose value, new or old, action `number` finds, and in which instances.

        What is `implied` stands for the value after the whole branch, be it made on the other side.
        """
        s, happens = self.p.statement(statement), self.happens[statement]
        earlier = [n for n, a in numbered(s.body) if isinstance(a, Let) and a.name == name and n < number]
        left = happens[number]
        found: dict[Number, isl.Set] = {}
        for n in reversed(earlier):
            if implied or not exclusive(n, number):
                found[n] = left.intersect(happens[n])
                left = left.subtract(happens[n])
        return found

    def last(self, array: str) -> dict[Slot, isl.Map]:
        """The writes that leave something in `array` at the end: elements to the instances that do.

        Raises UnanalysableError where one of them depends on data.
        """
        return _once(self._lasts, array, self._last)

    @cached_property
    def _lasts(self) -> dict[str, dict[Slot, isl.Map] | TooLongError]:
        return {}

    def _last(self, array: str) -> dict[Slot, isl.Map]:
        writes = self.writes_of(array)
        written = {w: known(w).reset_tuple_id(D.out).reverse() for w in writes}
        return last_writes(written, self._times(*writes))

    def _times(self, *slots: Slot) -> dict[Slot, isl.Map]:
        """The instances of accesses to one line of time."""
        ranks = sorted({s.rank for s in slots})
        return {s: _timed(self.p.statement(s.statement), ranks.index(s.rank)) for s in slots}

    def _flow(self, read: Slot) -> tuple[list[Writer], isl.Set]:
        domain = self.p.statement(read.statement).domain
        if not self.writes_of(read.array):
            return [], domain
        return self._last_before(read, self._own(read), domain.identity(), self._own)

    def _own(self, slot: Slot) -> isl.Map:
        """The elements of an access: of an array that is declared within loops those of their iteration."""
        depth = self._depths.get(slot.reference.array, 0)
        if not depth or slot.relation is None:
            return known(slot)
        return in_iterations(self.p.statement(slot.statement), slot.relation, depth)

    def undefined(self, read: Slot) -> isl.Set:
        """The instances in which `read` finds no value: of an array that is declared within loops, those
        whose iteration has not written it. Whatever is read there, be it as the old value of a conditional
        write, is used by nothing that C defines.
        """
        fresh = self.writers(read)[1]
        return fresh if self._depths.get(read.array, 0) else fresh.empty(fresh.get_space())

    @cached_property
    def _depths(self) -> Mapping[str, int]:
        return depths_of(self.p)

    def _last_before(
        self, read: Slot, sink: isl.Map, instance: isl.Map, elements: Callable[[Slot], isl.Map] = known
    ) -> tuple[list[Writer], isl.Set]:
        """Who wrote the elements that `sink` maps points of `read` to, each in an `instance`, and the points
        for which nobody did; `elements` are those of writes.
        """
        writes = [w for w in self.writes_of(read.array) if not w.is_apart(read)]
        times = self._times(read, *writes)
        now = instance.apply_range(times.pop(read))
        earlier: dict[Slot, isl.Map] = {}
        for w in writes:
            in_time()
            meet = sink.apply_range(elements(w).reverse()).intersect(in_order(times[w], now).reverse())
            # the old value that an implied read stands for may be what the other branch has written
            if w.statement == read.statement and exclusive(w.number, read.number) and not read.implied:
                meet = meet.subtract(instance)
            if not meet.is_empty():
                earlier[w] = meet
        fresh = instance.domain()
        for pairs in earlier.values():
            in_time()
            fresh = fresh.subtract(pairs.domain())
        last = last_writes(earlier, times)
        return [Writer(w.statement, w.number, pairs) for w, pairs in last.items()], fresh


def _once(known: dict[K, T | TooLongError], key: K, make: Callable[[K], T]) -> T:
    """What `make` makes of the key. Where that takes too long it is not tried again, with less time left."""
    if key not in known:
        try:
            known[key] = make(key)
        except TooLongError as error:
            known[key] = error
    found = known[key]
    if isinstance(found, TooLongError):
        raise TooLongError(*found.args)
    return found


def _timed(s: PolyStatement, rank: int) -> isl.Map:
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(s.domain.get_space()))
    return s.schedule.flat_range_product(isl.Map.from_aff(zero.set_constant_val(isl.Val(rank))))
