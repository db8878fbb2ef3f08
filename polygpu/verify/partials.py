"""Partial results: values that threads make of some terms of a sum, and pass on to each other.

They do so on the chip, and through temporaries from one launch to a later one in the same turn of the host's
loops.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property, reduce
from itertools import permutations, takewhile
from typing import TypeVar

import islpy as isl

from polygpu.model.expr import Expr, Reference
from polygpu.model.rewrite import numbered, rewrite
from polygpu.model.scop import Store
from polygpu.model.updates import update
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import coalesced
from polygpu.verify.events import Do, Leaf, Matched, Place, executions
from polygpu.verify.order import BLOCK, WHOLE, Frame, equal, launches_before
from polygpu.verify.session import Session
from polygpu.verify.source import UnanalysableError
from polygpu.verify.values import whole

Edge = tuple[Do, isl.Map]  # who made a value, and executions that read it to those that made it
Relation = TypeVar("Relation", isl.Set, isl.Map)
Memory = tuple[int, str]  # an array, of a launch if it is on the chip
_ROUNDS = 4


def groups(session: Session) -> Iterator[tuple[Do, ...]]:
    """The actions that make and pass on the values that are combined, those of the same arrays together."""
    actions = [a for trace in session.traces for a in trace.actions]
    carried = _carried(session, actions)
    left = [a for a in actions if a.combines]
    while left:
        arrays: set[Memory] = set()
        while more := {m for a in _touching(actions, arrays, left[0]) for m in _local(a, carried)} - arrays:
            arrays |= more
        group = tuple(_touching(actions, arrays, left[0]))
        yield from _in_turns(group, carried)
        left = [a for a in left if a not in group]


def _in_turns(group: tuple[Do, ...], carried: Collection[str]) -> Iterable[tuple[Do, ...]]:
    """The actions apart that are in different loops of the host, none within another, where the launches of
    each have temporaries from each other alone: one loop may be several, with other launches in each.

    No turn of one has launches of another in it. What these have stored before is no matter if a turn has
    stored all that it reads, which `Partials` finds out.
    """
    parts: dict[tuple[str, ...], list[Do]] = {}
    for a in group:
        parts.setdefault(a.point.launch.loops, []).append(a)
    if any(one[: len(other)] == other for one, other in permutations(parts, 2)):
        return (group,)
    for part in parts.values():
        stored = {a.target.array for a in part if a.target is not None}
        read = {r.array for a in part for r in a.reads if r.array in carried}
        if not read <= stored or not any(a.matched is not None for a in part):
            return (group,)
    return map(tuple, parts.values())


def _carried(session: Session, actions: Iterable[Do]) -> frozenset[str]:
    """The temporaries of the device that only copies write."""
    written: dict[str, bool] = {}
    for a in actions:
        if a.target is not None and a.target.space == "global":
            copies = a.matched is None and not a.combines and bool(a.reads)
            written[a.target.array] = written.get(a.target.array, True) and copies
    return frozenset(array for array, copies in written.items() if copies and not session.buffer(array).host)


def _memory(a: Do, place: Place) -> Memory:
    return (-1 if place.space == "global" else a.point.launch.number), place.array


def _touching(actions: Iterable[Do], arrays: set[Memory], first: Do) -> Iterator[Do]:
    """Those that write the arrays, and those that move or combine what they read there."""
    for a in actions:
        writes = a.target is not None and _memory(a, a.target) in arrays
        moves = a.matched is None and any(_memory(a, r) in arrays for r in a.reads)
        if writes or moves or a is first:
            yield a


def _local(a: Do, carried: Collection[str]) -> Iterator[Memory]:
    """The memory that an action moves or combines values in: of an instance, what it updates.

    That is memory on the chip, and what is `carried` from launch to launch.
    """
    places = (a.target,) if a.matched is not None else (a.target, *a.reads)
    here = (p for p in places if p is not None and (p.space != "global" or p.array in carried))
    return (_memory(a, p) for p in here)


def updated(session: Session, a: Do) -> tuple[Leaf, ...]:
    """Where an instance reads what it updates, all of one place; none where the action is no instance's.

    Raises UnanalysableError.
    """
    m = a.matched
    if m is None:
        return ()
    store = store_of(session, m)
    if operator_of(store) is None or len(m.number) > 1:
        raise UnanalysableError(f"{m.statement} does not only add to '{store.target.array}'")
    found = [x for x in m.leaves if isinstance(x.source, Reference) and same(x.source, store.target)]
    if a.target is None or not all(same_place(x.place, a.target) for x in found):
        raise UnanalysableError(f"{m.statement} does not update what it reads of '{store.target.array}'")
    return tuple(found)


def same_place(one: Place, other: Place) -> bool:
    """Whether both are plainly the same element."""
    if one.array != other.array or one.index is None or other.index is None:
        return False
    return all(a.is_equal(b) for a, b in zip(one.index, other.index, strict=True))


def store_of(session: Session, m: Matched) -> Store:
    action = dict(numbered(session.p.statement(m.statement).body))[m.number]
    if not isinstance(action, Store):
        raise UnanalysableError("a local of an instance is combined with others")
    return action


def operator_of(store: Store) -> str | None:
    """The operator of an update whose terms may read other elements of the array, as `values` proves.

    What of these is the same element, in some instance, is a partial result that nothing may read.
    """
    target = store.target

    def renamed(e: Expr) -> Expr | None:
        if not isinstance(e, Reference) or e.array != target.array or same(e, target):
            return None
        return replace(e, array=f"other {e.array}")

    return update(replace(store, value=rewrite(store.value, renamed)))


def same(one: Reference, other: Reference) -> bool:
    return replace(one, site=-1) == replace(other, site=-1)


@dataclass
class Partials:
    """The `actions` that make and pass on the partial results of one array, in one launch or in several."""

    session: Session
    actions: tuple[Do, ...]
    known: dict[tuple[Do, int], list[Edge]] = field(default_factory=dict)
    filled: dict[bool, dict[Do, isl.Set]] = field(default_factory=dict)

    @cached_property
    def frame(self) -> Frame:
        """In which executions are compared: those of one block, unless several launches make a sum."""
        return BLOCK if len({a.point.launch.number for a in self.actions}) == 1 else WHOLE

    @cached_property
    def carried(self) -> frozenset[str]:
        """The temporaries through which partial results get into other launches."""
        everything = [a for trace in self.session.traces for a in trace.actions]
        return _carried(self.session, everything)

    @property
    def loops(self) -> tuple[str, ...]:
        """Those of the host around all of the launches."""
        levels = zip(*(a.point.launch.loops for a in self.actions), strict=False)
        return tuple(names[0] for names in takewhile(lambda names: len({*names}) == 1, levels))

    def executions(self, a: Do) -> isl.Set:
        return executions(a.point, self.frame.dims(a.point))

    @cached_property
    def terms(self) -> tuple[Do, ...]:
        """The executions of terms."""
        return tuple(a for a in self.actions if a.matched is not None)

    @cached_property
    def ends(self) -> tuple[Do, ...]:
        """The updates of the array itself."""
        return tuple(a for a in self.actions if a.target is not None and self.outside(a.target))

    @cached_property
    def kept(self) -> tuple[Do, ...]:
        """The stores of partial results for other launches."""
        return tuple(
            a
            for a in self.actions
            if a.target is not None and a.target.space == "global" and not self.outside(a.target)
        )

    def outside(self, place: Place) -> bool:
        """Whether something else than partial results is there."""
        return place.space == "global" and place.array not in self.carried

    def operands(self, a: Do) -> tuple[Place, ...]:
        """Where an action reads partial results."""
        old = self.session.partial[a]
        return tuple(r for r in ((old[0].place,) if old else a.reads) if not self.outside(r))

    def edges(self, a: Do) -> list[Edge]:
        """Who made the values that `a` reads, over all its operands."""
        return [e for k in range(len(self.operands(a))) for e in self.made(a, k)]

    def made(self, a: Do, operand: int) -> list[Edge]:
        key = a, operand
        if key not in self.known:
            place = self.operands(a)[operand]
            found = list(self._kept_for(a, place) if place.space == "global" else self._written(a, place))
            if any(by not in self.actions for by, _ in found):
                raise UnanalysableError("a partial result is made of something else")
            self.known[key] = found
        return self.known[key]

    def _written(self, a: Do, place: Place) -> Iterator[Edge]:
        """Who wrote last what an execution reads on the chip."""
        locals_ = self.session.locals[a.point.launch.number]
        for by, pairs in locals_.writers(a, place):
            yield by, pairs if self.frame is BLOCK else whole(pairs, a)

    def _kept_for(self, a: Do, place: Place) -> Iterator[Edge]:
        """Who stored what an execution reads of a temporary, in an earlier launch of the same turn."""
        read, here = self.session.address(a, place, WHOLE), WHOLE.dims(a.point)
        for by in self.kept:
            assert by.target is not None
            if by.target.array == place.array:
                there = WHOLE.dims(by.point)
                pairs = read.apply_range(self.session.address(by, by.target, WHOLE).reverse())
                earlier = launches_before(by.point, a.point, there, here).reverse()
                yield by, equal(pairs, self.loops, here, there).intersect(earlier)

    @cached_property
    def live(self) -> dict[Do, isl.Set]:
        """The executions whose value gets into a sum: all but copies, of which a box that is filled has more
        than anything reads. Where loops pass values on, each is one.
        """
        found = {a: self.executions(a) for a in self.actions}
        for a in reversed(() if self.looped else self.actions):
            if self.is_copy(a):
                edges = ((found[reader], e) for reader in self.actions for e in self.edges(reader))
                reads = (pairs.intersect_domain(live).range() for live, (by, pairs) in edges if by is a)
                found[a] = coalesced(reduce(isl.Set.union, reads, isl.Set.empty(found[a].get_space())))
        return found

    def is_copy(self, a: Do) -> bool:
        """Whether it passes one partial result on as it is."""
        return a.matched is None and not a.combines and bool(a.reads) and a not in self.ends

    def full(self, a: Do, exactly: bool = False) -> isl.Set:
        """The executions whose value has terms in it, and some more unless `exactly` these are asked for."""
        if exactly not in self.filled:
            self.filled[exactly] = self._filled(exactly)
        return self.filled[exactly][a]

    def _filled(self, exactly: bool) -> dict[Do, isl.Set]:
        everywhere = {a: self.executions(a) for a in self.actions}
        found = {
            a: e if a.matched is not None else isl.Set.empty(e.get_space()) for a, e in everywhere.items()
        }

        def filled(a: Do) -> isl.Set:
            parts = (pairs.intersect_range(found[by]).domain() for by, pairs in self.edges(a))
            union = coalesced(reduce(isl.Set.union, parts, found[a]))
            if exactly or union.is_empty():
                return union
            return isl.Set.from_basic_set(union.remove_divs().simple_hull()).intersect(everywhere[a])

        self.solve(found, filled)
        return found

    def solve(self, found: dict[Do, Relation], step: Callable[[Do], Relation]) -> None:
        """The least solution of found[a] = step(a), from what is `found` without what others make.

        Raises UnanalysableError where values that loops combine do not soon have one.
        """
        made = [a for a in self.actions if a.matched is None]
        for _ in range(_ROUNDS):
            before = dict(found)
            for a in made:
                found[a] = step(a)
            if not self.looped or all(found[a].is_subset(before[a]) for a in made):
                return
        raise UnanalysableError("partial results are combined in a loop")

    @cached_property
    def looped(self) -> bool:
        """Whether an action reads what it, or a later one, has made in an earlier iteration."""
        order = {a: k for k, a in enumerate(self.actions)}
        return any(
            order[by] >= order[a] for a in self.actions if a.matched is None for by, _ in self.edges(a)
        )
