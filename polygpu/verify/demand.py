"""Who depends on what a source writes, where some writes may not happen, or are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import islpy as isl

from polygpu.analysis.dead import Place
from polygpu.analysis.polyhedra import PolyStatement
from polygpu.model.rewrite import again, exclusive, locals_of, numbered, precedes
from polygpu.model.scop import Let, Number
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, TooLongError, bounded, coalesced, sets, union_set_of
from polygpu.verify.slots import Slot, first_writes
from polygpu.verify.source import Source, Writer

_ROUNDS = 4  # of looking for old values that something finds
_CLOSURE = 300_000  # steps of isl


@dataclass(frozen=True)
class Demand:
    """What depends on the actions of `source`, if all of them matter but those `left_out`."""

    source: Source
    left_out: frozenset[Place] = frozenset()

    def matters(self, read: Slot) -> bool:
        """Whether anything may depend on a read: on an old value what may find it in place of a new one."""
        return not read.implied or read in self.writers or read.array in self.unclear

    def leaves_out(self, statement: str, number: Number) -> bool:
        """Whether an action, or a branch around it, is left out."""
        return any((statement, number[:k]) in self.left_out for k in range(1, len(number) + 1))

    def instances(self, old: Slot) -> isl.Set:
        """Those in which anything may depend on the old value of a conditional write."""
        if old.array in self.unclear:
            return old.reached
        return self._found.get(old, isl.Set.empty(old.reached.get_space()))

    @cached_property
    def writers(self) -> dict[Slot, list[Writer]]:
        """Who wrote what the reads find that matter, of arrays of which this decides anything."""
        return {read: self.source.found_by(read) for read, _ in self._reads}

    @cached_property
    def _reads(self) -> set[tuple[Slot, Number]]:
        """The reads that matter, each for an action of its instance, or for another one with ()."""
        todo = [(s, s.number) for s in self._slots if not (s.write or s.implied)]
        todo += [(s, ()) for s in self._lasting]
        seen = set(todo)
        while todo:
            read, reader = todo.pop()
            new = {(old, by) for old, by, _ in self._olds(read, reader)} - seen
            seen |= new
            todo += new
        return seen

    @cached_property
    def _found(self) -> dict[Slot, isl.Set]:
        """The instances of old values that may be found: by a read, at the end, or as the old value of
        another write that may be found itself.
        """
        found: dict[Slot, isl.Set] = {}
        for _ in range(_ROUNDS):
            more = self._found_by(found)
            if _within(more, found):
                return found
            found = more
        return self._followed(self._found_by({}))

    def _found_by(self, found: Mapping[Slot, isl.Set]) -> dict[Slot, isl.Set]:
        """The old values that may be found, if `found` are those that others of them may find."""
        more = dict(self._lasting)
        for read, reader in self._reads:
            for old, _, pairs in self._olds(read, reader) if not read.implied or read in found else ():
                here = (pairs.intersect_domain(found[read]) if read.implied else pairs).range()
                more[old] = more[old].union(here) if old in more else here
        return more

    def _followed(self, found: Mapping[Slot, isl.Set]) -> dict[Slot, isl.Set]:
        """The old values that chains of any length lead to from those that are `found` without them.

        isl's transitive closure may have more than that in it; where it takes long, all there are.
        """
        everything = {read: read.reached for read, _ in self._reads if read.implied}
        names = {old: f"old{k}" for k, old in enumerate(everything)}
        steps = isl.UnionMap("{ }")
        for read, reader in self._reads:
            for old, _, pairs in self._olds(read, reader) if read.implied else ():
                named = pairs.set_tuple_name(D.in_, names[read]).set_tuple_name(D.out, names[old])
                steps = steps.union(named)
        first = union_set_of([s.set_tuple_name(names[old]) for old, s in found.items()])
        try:
            with bounded(_CLOSURE):
                closed, _ = coalesced(steps).transitive_closure()
                ends = coalesced(first.union(first.apply(closed)))
        except TooLongError:
            return everything
        return {
            old: part.set_tuple_name(old.statement).intersect(old.reached)
            for old, name in names.items()
            for part in sets(ends)
            if part.get_tuple_name() == name
        }

    def missed(self) -> Iterator[str]:
        """Statements of which something is left out that others depend on, or that outlives the region.

        Raises UnanalysableError where that depends on data.
        """
        live = {a.name for a in self.source.p.arrays if a.live_out}
        yield from (s.statement for s in self._gone if s.reference.array in live or self._comes_back(s))
        if self._gone:
            found = ((read, w) for read, some in self.writers.items() for w in some)
            gone = ((read, w) for read, w in found if self.leaves_out(w.statement, w.number))
            yield from (w.statement for read, w in gone if not read.implied or self._finds(read, w))
        if self.left_out:
            yield from (s.name for s in self.source.p.statements if self._misses_local(s))

    def _finds(self, old: Slot, w: Writer) -> bool:
        """Whether an old value that anything may depend on is one that `w` has written, in an instance that
        may do both.
        """
        found = w.instances.intersect_domain(self.instances(old))
        if w.statement == old.statement and self._only_instead(old, w):
            found = found.subtract(_identity(w))
        return not found.is_empty()

    def _only_instead(self, old: Slot, w: Writer) -> bool:
        """Whether the old value matters only to actions that an instance executes instead of `w`."""
        readers = {reader for read, reader in self._reads if read == old}
        return bool(readers) and not any(
            not reader or again(w.number, reader) or not exclusive(w.number, reader) for reader in readers
        )

    def _comes_back(self, write: Slot) -> bool:
        """Whether another iteration of a loop within the instance may find what `write` leaves."""
        found = (s for s in self._slots if s.statement == write.statement and s.array == write.array)
        return any(again(write.number, s.number) for s in found if not (s.write or s.implied))

    def _misses_local(self, s: PolyStatement) -> bool:
        kept = [(n, a) for n, a in numbered(s.body) if not self.leaves_out(s.name, n)]
        gone = [(n, a.name) for n, a in numbered(s.body) if isinstance(a, Let) and (n, a) not in kept]
        return any(precedes(n, number) and name in locals_of(a) for n, name in gone for number, a in kept)

    @cached_property
    def _gone(self) -> list[Slot]:
        return [s for s in self.source.slots if s.write and self.leaves_out(s.statement, s.number)]

    @cached_property
    def _slots(self) -> list[Slot]:
        """The accesses of what is not left out, to arrays some of whose writes are, or are conditional."""
        arrays = {s.array for s in self.source.slots if s.implied} - self.unclear
        arrays |= {s.array for s in self._gone}
        found = (s for s in self.source.slots if s.array in arrays)
        return [s for s in found if not self.leaves_out(s.statement, s.number)]

    @cached_property
    def unclear(self) -> frozenset[str]:
        """The arrays of which writes depend on data."""
        return frozenset(s.array for s in self.source.slots if s.write and s.relation is None)

    @cached_property
    def _implied(self) -> dict[tuple[str, Number], Slot]:
        return {(s.statement, s.number): s for s in self._slots if s.implied}

    def _olds(self, read: Slot, reader: Number) -> Iterator[tuple[Slot, Number, isl.Map]]:
        """The old values that `read` may find for the action `reader` of its instance, or for another one.

        With the instances that read to those of the conditional writes.
        """
        for w in self.source.found_by(read):
            old = self._implied.get((w.statement, w.number))
            if old is not None:
                same = w.instances.intersect(_identity(w)) if w.statement == read.statement else None
                if same is not None and not same.is_empty() and self._may_keep(w, reader):
                    yield old, reader, same
                others = w.instances if same is None else w.instances.subtract(same)
                if not others.is_empty() and self._may_keep(w, ()):
                    yield old, (), others

    def _may_keep(self, w: Writer | Slot, reader: Number) -> bool:
        """Whether `reader`, or with () what comes after the instance, may find an older value.

        It does not where the write has happened before it, or else another one in the same branch.
        """
        done = (w.number, *self._first[w.statement].get(w.number, ()))
        return not any(reader[: len(n) - 1] == n[:-1] and reader[: len(n)] != n for n in done)

    @cached_property
    def _first(self) -> dict[str, dict[Number, list[Number]]]:
        return {
            s.name: first_writes(self.source.p, s, self.source.happens[s.name])
            for s in self.source.p.statements
        }

    @cached_property
    def _lasting(self) -> dict[Slot, isl.Set]:
        """The old values of writes that nothing is sure to overwrite, in arrays that outlive the region.

        With the instances of these writes.
        """
        live = {s.array for s in self._implied.values() if self.source.p.array(s.reference.array).live_out}
        last = (item for array in sorted(live) for item in self.source.last(array).items())
        found = {self._implied.get((w.statement, w.number)): by for w, by in last if self._may_keep(w, ())}
        return {old: by.range() for old, by in found.items() if old is not None}


def _within(some: Mapping[Slot, isl.Set], others: Mapping[Slot, isl.Set]) -> bool:
    return all(
        instances.is_subset(others[old]) if old in others else instances.is_empty()
        for old, instances in some.items()
    )


def _identity(w: Writer) -> isl.Map:
    return isl.Map.identity(w.instances.get_space())
