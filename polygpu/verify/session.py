"""What the checks share: the traces of a region, its source, and what was found so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cached_property

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra, array_tuple
from polygpu.model.expr import Reference
from polygpu.model.kernel import Buffer, Region
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import TooLongError
from polygpu.verify.budget import Budget
from polygpu.verify.computed import Computed
from polygpu.verify.demand import Demand
from polygpu.verify.events import Do, Leaf, Place, relation, somewhere
from polygpu.verify.last import subtracted
from polygpu.verify.local import Locals
from polygpu.verify.order import Frame
from polygpu.verify.source import Source, UnanalysableError
from polygpu.verify.trace import Trace
from polygpu.verify.verdict import BARRIERS, BOUNDS, RANGES, Failure, Unproved

_NEEDED = (BARRIERS, BOUNDS, RANGES)  # decided before all else, whatever it takes


@dataclass(frozen=True)
class Copied:
    """What a temporary holds: `elements` are its own to those of an `array`, as they were before the region.

    Launches after number `launch` find it there.
    """

    array: str
    elements: isl.Map
    launch: int


@dataclass
class Session:
    """One certification. Checks report to it.

    `partial` are the actions that make and pass on partial results, each with its reads of what it updates;
    `reassociated` the arrays, with operators, whose terms are combined in another order than the source's.
    Those `rounded` are sums of tensor cores, by their policies.
    `initial` are the temporaries that hold what arrays held in the beginning.
    """

    region: Region
    source: Source
    traces: list[Trace]
    budget: Budget
    failures: list[Failure] = field(default_factory=list)
    unproved: list[Unproved] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    computed: Computed = field(default_factory=Computed)
    partial: dict[Do, tuple[Leaf, ...]] = field(default_factory=dict)
    reassociated: dict[str, str] = field(default_factory=dict)
    rounded: dict[str, str] = field(default_factory=dict)
    initial: dict[str, Copied] = field(default_factory=dict)

    @property
    def p(self) -> Polyhedra:
        return self.source.p

    @cached_property
    def demand(self) -> Demand:
        return Demand(self.source)

    @cached_property
    def locals(self) -> dict[int, Locals]:
        return {t.launch.number: Locals(t) for t in self.traces}

    @cached_property
    def buffers(self) -> dict[str, Buffer]:
        return {b.name: b for b in self.region.buffers}

    def buffer(self, array: str) -> Buffer:
        """The buffer of an array, or of a member of the structures it holds."""
        return self.buffers.get(array) or self._structures[array]

    @cached_property
    def _structures(self) -> dict[str, Buffer]:
        """The buffers by what sets call their members."""
        return {
            array_tuple(Reference(b.name, (), ctype, path)): b
            for b in self.region.buffers
            if b.structure is not None
            for path, ctype in b.structure.fields
        }

    @contextmanager
    def step(self, kind: str, kernel: str, needed: bool = False) -> Iterator[None]:
        """A part of the work that may end undecided, for want of time or of method."""
        try:
            with self.budget.step(needed or kind in _NEEDED):
                yield
        except UnanalysableError as error:
            self.undecided(kind, kernel, str(error))
        except TooLongError:
            self.undecided(kind, kernel, "budget")
        except isl.Error as error:  # an assertion of isl's own that some sets break
            self.undecided(kind, kernel, f"isl: {error}")

    def undecided(self, kind: str, kernel: str, reason: str) -> None:
        found = Unproved(kind, kernel, reason)
        if found not in self.unproved:
            self.unproved.append(found)

    def address(self, action: Do, place: Place, frame: Frame) -> isl.Map:
        """Executions of `action` to the element `place` is, every element where it depends on data."""
        dims = frame.dims(action.point)
        if place.index is not None:
            return relation(action.point, place.index, dims)
        return somewhere(action.point, dims, place.partly or (None,) * len(self.buffer(place.array).extents))

    def instances(self, action: Do, frame: Frame) -> isl.Map:
        """Executions of a matched action that are instances of the source, to these instances."""
        m = action.matched
        assert m is not None
        dims = frame.dims(action.point)
        key = (m.statement, dims, str(action.point.domain), str(m.claimed), *map(str, m.arguments))
        if key not in self._instances:
            statement = self.p.statement(m.statement)
            point = replace(action.point, domain=action.point.domain.intersect(m.claimed))
            found = relation(point, m.arguments, dims, statement.name)
            self._instances[key] = found.intersect_range(statement.domain)
        return self._instances[key]

    def happening(self, action: Do, place: Place, executed: isl.Set, frame: Frame) -> isl.Set:
        """Of executions of `action` those that read `place`, as far as affine tests of the source's
        conditional expressions decide that: the kernel has the same tests, wherever it is an instance.
        """
        leaf = action.leaf(place)
        if leaf is None or not isinstance(leaf.source, Reference):
            return executed
        m = action.matched
        assert m is not None, "of which it is a leaf"
        slot = self.source.reading(m.statement, m.number, leaf.source, leaf.implied)
        if slot.relation is None or self.p.statement(slot.statement).domain.is_subset(slot.relation.domain()):
            return executed
        without = self.instances(action, frame).subtract_range(slot.relation.domain())
        return executed.subtract(without.domain())

    def outside(self, action: Do, executed: isl.Set, frame: Frame) -> isl.Set:
        """The executions of a matched action, of those `executed`, that are no instances of the source.

        What the action's own domain says is left out of what instances are: that is so of all executions,
        and a difference of two sets that both have it takes hundreds of times as long.
        """
        m = action.matched
        assert m is not None
        statement = self.p.statement(m.statement)
        claimed = replace(action.point, domain=m.claimed)
        meant = relation(claimed, m.arguments, frame.dims(action.point), statement.name)
        return subtracted(executed, meant.intersect_range(statement.domain).domain())

    @cached_property
    def _instances(self) -> dict[Hashable, isl.Map]:
        """Many actions of straight-line code have the same."""
        return {}

    def beyond(self, instances: isl.Set, executed: isl.Map) -> isl.Set:
        """`instances` without those that are `executed`."""
        key = id(instances), id(executed)
        if key not in self._beyond:
            self._beyond[key] = instances, executed, subtracted(instances, executed.range())
        return self._beyond[key][-1]

    @cached_property
    def _beyond(self) -> dict[tuple[int, int], tuple[isl.Set, isl.Map, isl.Set]]:
        """By identity of what is kept with the answer."""
        return {}
