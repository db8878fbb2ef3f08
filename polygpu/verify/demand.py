"""Which values of the original program matter: those that outlive it, and what they depend on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import islpy as isl

from polygpu.support.isl_idioms import D, coalesced
from polygpu.verify.last import last_writes
from polygpu.verify.slots import Slot
from polygpu.verify.source import Source, known, timed

_STEPS = 3


@dataclass(frozen=True)
class Observed:
    """The instances of a write whose `value` may matter, and those where the `old` one may, if it does not
    happen.
    """

    value: isl.Set
    given: isl.Set | None = None

    @property
    def old(self) -> isl.Set:
        return self.value if self.given is None else self.given

    def is_subset(self, other: Observed) -> bool:
        return bool(self.value.is_subset(other.value) and self.old.is_subset(other.old))

    def also(self, instances: isl.Set) -> Observed:
        return Observed(self.value.union(instances), self.old.union(instances))


@dataclass(frozen=True)
class Demand:
    """What is asked of the writes of `source`, computed when it is asked for."""

    source: Source

    def observed(self, write: Slot) -> isl.Set:
        """The instances of a write whose value, new or old, may matter in the end.

        All of them where the array outlives the region and no write of it depends on data.
        """
        return self._observed.get(write, Observed(self.source.p.statement(write.statement).domain)).value

    def outlasting(self, write: Slot) -> isl.Set:
        """Those instances of a write after which an old value that it leaves in place may matter.

        What reads the element within the same branch finds the new one.
        """
        return self._observed.get(write, Observed(self.source.p.statement(write.statement).domain)).old

    def deciding(self, read: Slot) -> isl.Set:
        """The instances of a read on which a value depends that may matter."""
        return self._matters(read, self._observed)

    @cached_property
    def _observed(self) -> dict[Slot, Observed]:
        """A few steps down from all instances of writes that may matter at all.

        Those to subscripts that depend on data stay.
        """
        local = {a.name for a in self.source.p.arrays if not a.live_out}
        conditional = {s.reference.array for s in self.source.slots if s.implied}
        unclear = {s.array for s in self.source.slots if s.relation is None}
        writes = [
            w
            for w in self.source.slots
            if w.write and w.reference.array in local | conditional and w.array not in unclear
        ]
        last = self._last_of({w.array for w in writes if w.reference.array not in local})
        found = self._reaching(writes, last)
        for _ in range(_STEPS + len(writes)):
            fewer = {w: self._readers(w, found) for w in writes}
            fewer |= {w: fewer[w].also(instances) for w, instances in last.items()}
            if all(found[w].is_subset(fewer[w]) for w in writes):
                break
            found = fewer
        return found

    def _reaching(self, writes: list[Slot], last: Iterable[Slot]) -> dict[Slot, Observed]:
        """All instances of writes from which a chain of values leads to what matters, and none of others."""
        values, olds = set(last), set(last)

        def matters(read: Slot) -> bool:
            if read.implied:
                return any(w in olds or w not in writes for w in self._depending(read))
            return any(w in values or w not in writes for w in self._depending(read))

        grown = True
        while grown:
            before = len(values) + len(olds)
            values |= {w for w in writes if any(matters(read) for read, _, _ in self._uses(w))}
            olds |= {
                w for w in writes if any(matters(r) and not kept.is_empty() for r, _, kept in self._uses(w))
            }
            grown = len(values) + len(olds) > before
        empty = {w: w.reached.subtract(w.reached) for w in writes}
        return {
            w: Observed(w.reached if w in values else empty[w], w.reached if w in olds else empty[w])
            for w in writes
        }

    def _depending(self, read: Slot) -> list[Slot]:
        """The writes that may depend on a read."""
        numbers = self.source.dependents(read.statement, read.number)
        mine = (w for w in self.source.slots if w.statement == read.statement and w.write)
        return [w for w in mine if w.number in numbers]

    def _uses(self, write: Slot) -> list[tuple[Slot, isl.Map, isl.Map]]:
        """Who reads what a write leaves: all pairs, and those that may find the old value in its place."""
        found = self._used.get(write)
        if found is None:
            found = self._used[write] = list(self._find_uses(write))
        return found

    @cached_property
    def _used(self) -> dict[Slot, list[tuple[Slot, isl.Map, isl.Map]]]:
        return {}

    def _find_uses(self, write: Slot) -> Iterator[tuple[Slot, isl.Map, isl.Map]]:
        same = self.source.p.statement(write.statement).domain.identity()
        branch = write.number[:-1]
        for read in self.source.slots:
            if read.write or read.array != write.array:
                continue
            for w in self.source.writers(read)[0]:
                if (w.statement, w.number) == (write.statement, write.number):
                    within = read.statement == write.statement and read.number[: len(branch)] == branch
                    yield read, w.instances, w.instances.subtract(same) if within else w.instances

    def _last_of(self, arrays: Iterable[str]) -> dict[Slot, isl.Set]:
        """The instances of writes that leave something behind: nothing is sure to overwrite it."""
        found: dict[Slot, isl.Set] = {}
        for array in sorted(arrays):
            writes = self.source.writes_of(array)
            numbers = sorted({w.rank for w in writes})
            times = {w: timed(self.source.p.statement(w.statement), numbers.index(w.rank)) for w in writes}
            written = {w: known(w).reset_tuple_id(D.out).reverse() for w in writes}
            found |= {w: pairs.range() for w, pairs in last_writes(written, times).items()}
        return found

    def _readers(self, write: Slot, observed: dict[Slot, Observed]) -> Observed:
        """The instances of `write` that are read, if not only for a write that is `observed` nowhere."""
        value = old = isl.Set.empty(write.reached.get_space())
        for read, pairs, kept in self._uses(write):
            matters = self._matters(read, observed)
            value = value.union(pairs.intersect_domain(matters).range())
            old = old.union(kept.intersect_domain(matters).range())
        return Observed(coalesced(value), coalesced(old))

    def _matters(self, read: Slot, observed: dict[Slot, Observed]) -> isl.Set:
        """The instances whose `read` decides about a write that matters."""
        domain = self.source.p.statement(read.statement).domain
        found = isl.Set.empty(domain.get_space())
        for w in self._depending(read):
            asked = observed.get(w, Observed(domain))
            found = found.union(asked.old if read.implied else asked.value)
        return found
