"""Who depends on what a source writes, where some writes may not happen, or are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import islpy as isl

from polygpu.analysis.dead import Place
from polygpu.analysis.polyhedra import PolyStatement
from polygpu.model.rewrite import again, locals_of, numbered, precedes
from polygpu.model.scop import Let, Number
from polygpu.verify.slots import Slot, first_writes
from polygpu.verify.source import Source, Writer


@dataclass(frozen=True)
class Demand:
    """What depends on the actions of `source`, if all of them matter but those `left_out`."""

    source: Source
    left_out: frozenset[Place] = frozenset()

    def matters(self, read: Slot) -> bool:
        """Whether anything may depend on a read: on an old value what may find it in place of a new one."""
        return not read.implied or read in self.writers or read.array in self._unclear

    def leaves_out(self, statement: str, number: Number) -> bool:
        """Whether an action, or a branch around it, is left out."""
        return any((statement, number[:k]) in self.left_out for k in range(1, len(number) + 1))

    @cached_property
    def writers(self) -> dict[Slot, list[Writer]]:
        """Who wrote what the reads find that matter, of arrays of which this decides anything."""
        todo = [(s, s.number) for s in self._slots if not (s.write or s.implied)]
        todo += [(s, ()) for s in self._lasting]
        seen = set(todo)
        while todo:
            read, reader = todo.pop()
            new = set(self._olds(read, reader)) - seen
            seen |= new
            todo += new
        return {read: self.source.writers(read)[0] for read, _ in seen}

    def missed(self) -> Iterator[str]:
        """Statements of which something is left out that others depend on, or that outlives the region.

        Raises UnanalysableError where that depends on data.
        """
        live = {a.name for a in self.source.p.arrays if a.live_out}
        yield from (s.statement for s in self._gone if s.reference.array in live or self._comes_back(s))
        if self._gone:
            found = (w for some in self.writers.values() for w in some)
            yield from (w.statement for w in found if self.leaves_out(w.statement, w.number))
        if self.left_out:
            yield from (s.name for s in self.source.p.statements if self._misses_local(s))

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
        arrays = {s.array for s in self.source.slots if s.implied} - self._unclear
        arrays |= {s.array for s in self._gone}
        found = (s for s in self.source.slots if s.array in arrays)
        return [s for s in found if not self.leaves_out(s.statement, s.number)]

    @cached_property
    def _unclear(self) -> frozenset[str]:
        return frozenset(s.array for s in self.source.slots if s.relation is None)

    @cached_property
    def _implied(self) -> dict[tuple[str, Number], Slot]:
        return {(s.statement, s.number): s for s in self._slots if s.implied}

    def _olds(self, read: Slot, reader: Number) -> Iterator[tuple[Slot, Number]]:
        """The old values that `read` may find for the action `reader` of its instance, or for another one."""
        for w in self.source.writers(read)[0]:
            old = self._implied.get((w.statement, w.number))
            if old is not None:
                same = w.instances.intersect(_identity(w)) if w.statement == read.statement else None
                if same is not None and not same.is_empty() and self._may_keep(w, reader):
                    yield old, reader
                if (same is None or not w.instances.is_subset(same)) and self._may_keep(w, ()):
                    yield old, ()

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
    def _lasting(self) -> list[Slot]:
        """The old values of writes that nothing is sure to overwrite, in arrays that outlive the region."""
        live = {s.array for s in self._implied.values() if self.source.p.array(s.reference.array).live_out}
        last = (w for array in sorted(live) for w in self.source.last(array) if self._may_keep(w, ()))
        found = (self._implied.get((w.statement, w.number)) for w in last)
        return [old for old in found if old is not None]


def _identity(w: Writer) -> isl.Map:
    return isl.Map.identity(w.instances.get_space())
