"""Who depends on what a source writes, where some writes may not happen, or are left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import islpy as isl

from polygpu.analysis.dead import Place
from polygpu.analysis.polyhedra import PolyStatement
from polygpu.model.rewrite import locals_of, numbered
from polygpu.model.scop import Let, Number
from polygpu.verify.slots import Slot
from polygpu.verify.source import Source, Writer


@dataclass(frozen=True)
class Demand:
    """What depends on the actions of `source`, if all of them matter but those `left_out`."""

    source: Source
    left_out: frozenset[Place] = frozenset()

    def matters(self, read: Slot) -> bool:
        """Whether anything may depend on a read.

        On the old value of a conditional write only what reads the element behind its branch does, or what
        outlives the region; within the branch the new one is found.
        """
        return not read.implied or read in self.writers or read.array in self._unclear

    def leaves_out(self, statement: str, number: Number) -> bool:
        """Whether an action, or a branch around it, is left out."""
        return any((statement, number[:k]) in self.left_out for k in range(1, len(number) + 1))

    @cached_property
    def writers(self) -> dict[Slot, list[Writer]]:
        """Who wrote what the reads find that matter, of arrays of which this decides anything."""
        found: dict[Slot, list[Writer]] = {}
        todo = [s for s in self._slots if not (s.write or s.implied)] + self._lasting
        while todo:
            read = todo.pop()
            if read not in found:
                found[read] = self.source.writers(read)[0]
                todo.extend(self._olds(read, found[read]))
        return found

    def missed(self) -> Iterator[str]:
        """Statements of which something is left out that others depend on, or that outlives the region.

        Raises UnanalysableError where that depends on data.
        """
        live = {a.name for a in self.source.p.arrays if a.live_out}
        yield from (s.statement for s in self._gone if s.reference.array in live)
        if self._gone:
            found = (w for some in self.writers.values() for w in some)
            yield from (w.statement for w in found if self.leaves_out(w.statement, w.number))
        if self.left_out:
            yield from (s.name for s in self.source.p.statements if self._misses_local(s))

    def _misses_local(self, s: PolyStatement) -> bool:
        kept = [(n, a) for n, a in numbered(s.body) if not self.leaves_out(s.name, n)]
        gone = [(n, a.name) for n, a in numbered(s.body) if isinstance(a, Let) and (n, a) not in kept]
        return any(n < number and name in locals_of(a) for n, name in gone for number, a in kept)

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

    def _olds(self, read: Slot, writers: list[Writer]) -> Iterator[Slot]:
        """The old values that `writers` may leave to `read`."""
        for w in writers:
            old = self._implied.get((w.statement, w.number))
            if old is not None and not _behind(read, w).is_empty():
                yield old

    @cached_property
    def _lasting(self) -> list[Slot]:
        """The old values of writes that nothing is sure to overwrite, in arrays that outlive the region."""
        live = {s.array for s in self._implied.values() if self.source.p.array(s.reference.array).live_out}
        last = (w for array in sorted(live) for w in self.source.last(array))
        return [self._implied[place] for w in last if (place := (w.statement, w.number)) in self._implied]


def _behind(read: Slot, w: Writer) -> isl.Map:
    """The pairs of reading and writing instances in which the write may not have happened."""
    branch = w.number[:-1]
    if read.statement != w.statement or read.number[: len(branch)] != branch:
        return w.instances
    return w.instances.subtract(isl.Map.identity(w.instances.get_space()))
