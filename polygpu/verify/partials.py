"""Partial results: values that threads make of some terms of a sum, and pass on to each other on the chip."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

import islpy as isl

from polygpu.model.expr import Reference
from polygpu.model.rewrite import numbered
from polygpu.model.scop import Store
from polygpu.model.updates import update
from polygpu.verify.events import Do, Leaf, Matched, Place, executions
from polygpu.verify.order import BLOCK
from polygpu.verify.session import Session
from polygpu.verify.source import UnanalysableError
from polygpu.verify.trace import Trace

Edge = tuple[Do, isl.Map]  # who made a value, and executions that read it to those that made it


def groups(trace: Trace) -> Iterator[tuple[Do, ...]]:
    """The actions that make and pass on the values that are combined, those of the same arrays together."""
    left = [a for a in trace.actions if a.combines]
    while left:
        arrays: set[str] = set()
        while more := {p.array for a in _touching(trace, arrays, left[0]) for p in _local(a)} - arrays:
            arrays |= more
        group = tuple(_touching(trace, arrays, left[0]))
        yield group
        left = [a for a in left if a not in group]


def _touching(trace: Trace, arrays: set[str], first: Do) -> Iterator[Do]:
    """Those that write the arrays, and those that move or combine what they read there."""
    for a in trace.actions:
        writes = a.target is not None and a.target.array in arrays
        moves = a.matched is None and any(r.array in arrays for r in a.reads)
        if writes or moves or a is first:
            yield a


def _local(a: Do) -> Iterator[Place]:
    """The memory on the chip that an action moves or combines values in: of an instance, what it updates."""
    places = (a.target,) if a.matched is not None else (a.target, *a.reads)
    return (p for p in places if p is not None and p.space != "global")


def updated(session: Session, a: Do) -> Leaf | None:
    """What an instance updates, None where the action is no instance's. Raises UnanalysableError."""
    m = a.matched
    if m is None:
        return None
    store = store_of(session, m)
    if update(store) is None or len(m.number) > 1:
        raise UnanalysableError(f"{m.statement} does not only add to '{store.target.array}'")
    return next(x for x in m.leaves if isinstance(x.source, Reference) and same(x.source, store.target))


def store_of(session: Session, m: Matched) -> Store:
    action = dict(numbered(session.p.statement(m.statement).body))[m.number]
    if not isinstance(action, Store):
        raise UnanalysableError("a local of an instance is combined with others")
    return action


def same(one: Reference, other: Reference) -> bool:
    return replace(one, site=-1) == replace(other, site=-1)


@dataclass
class Partials:
    """The `actions` of a launch that make and pass on the partial results of one array."""

    session: Session
    trace: Trace
    actions: tuple[Do, ...]
    known: dict[tuple[Do, int], list[Edge]] = field(default_factory=dict)
    filled: dict[tuple[Do, bool], isl.Set] = field(default_factory=dict)
    open: set[Do] = field(default_factory=set)

    @cached_property
    def terms(self) -> tuple[Do, ...]:
        """The executions of terms."""
        return tuple(a for a in self.actions if a.matched is not None)

    @cached_property
    def ends(self) -> tuple[Do, ...]:
        """The updates of the array itself."""
        return tuple(a for a in self.actions if a.target is not None and a.target.space == "global")

    def operands(self, a: Do) -> tuple[Place, ...]:
        """Where an action reads partial results."""
        leaf = self.session.partial[a]
        return tuple(r for r in (a.reads if leaf is None else (leaf.place,)) if r.space != "global")

    def edges(self, a: Do) -> list[Edge]:
        """Who made the values that `a` reads, over all its operands."""
        return [e for k in range(len(self.operands(a))) for e in self.made(a, k)]

    def made(self, a: Do, operand: int) -> list[Edge]:
        key = a, operand
        if key not in self.known:
            locals_ = self.session.locals[self.trace.launch.number]
            found = list(locals_.writers(a, self.operands(a)[operand]))
            if any(by not in self.actions for by, _ in found):
                raise UnanalysableError("a partial result is made of something else")
            self.known[key] = found
        return self.known[key]

    def full(self, a: Do, exactly: bool = False) -> isl.Set:
        """The executions whose value has terms in it, and some more unless `exactly` these are asked for."""
        if (a, exactly) not in self.filled:
            self.filled[a, exactly] = self._filled(a, exactly)
        return self.filled[a, exactly]

    def _filled(self, a: Do, exactly: bool) -> isl.Set:
        everywhere = executions(a.point, BLOCK.dims(a.point))
        if a.matched is not None:
            return everywhere
        with self._visit(a):
            parts = [pairs.intersect_range(self.full(by, exactly)).domain() for by, pairs in self.edges(a)]
        found = reduce(isl.Set.union, parts, isl.Set.empty(everywhere.get_space())).coalesce()
        if exactly:
            return found
        return isl.Set.from_basic_set(found.remove_divs().simple_hull()).intersect(everywhere)

    @contextmanager
    def _visit(self, a: Do) -> Iterator[None]:
        """Terms stop the search for who made a partial result; what else is made of itself never ends."""
        if a in self.open:
            raise UnanalysableError("partial results are combined in a loop")
        self.open.add(a)
        yield
        self.open.discard(a)
