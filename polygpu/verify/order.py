"""What comes before what on the device.

Two accesses are ordered when they are in different launches; or one thread makes both; or the block's
threads meet at a barrier in between. All else may happen in any order, or at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import field
from functools import cached_property
from typing import TypeAlias

import islpy as isl

from polygpu.support.dataclass import dataclass
from polygpu.support.gist import gist_params
from polygpu.support.isl_idioms import D
from polygpu.support.recent import Recent
from polygpu.verify.events import BLOCKS, THREADS, Do, Path, Point, Sync, executions, relation
from polygpu.verify.trace import Trace

Turns: TypeAlias = tuple[isl.Map | None, list[isl.Map]]  # pairs in the same turn of all common loops, others


@dataclass(frozen=True)
class Frame:
    """Which indices are dimensions; the others are parameters, the same for all events compared."""

    host: bool
    block: bool
    thread: bool

    def dims(self, point: Point) -> tuple[str, ...]:
        return (
            *(point.launch.names if self.host else ()),
            *(BLOCKS if self.block else ()),
            *(THREADS if self.thread else ()),
            *point.loops,
        )


WHOLE = Frame(True, True, True)
BLOCK = Frame(False, False, True)
THREAD = Frame(False, False, False)


def universe(a: tuple[str, ...], b: tuple[str, ...]) -> isl.Map:
    one = isl.Set.universe(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(a)))
    two = isl.Set.universe(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(b)))
    return isl.Map.from_domain_and_range(one, two)


def nowhere(a: tuple[str, ...], b: tuple[str, ...]) -> isl.Map:
    return isl.Map.empty(universe(a, b).get_space())


def equal(m: isl.Map, names: Iterable[str], a: tuple[str, ...], b: tuple[str, ...]) -> isl.Map:
    for name in names:
        if name in a and name in b:
            m = m.equate(D.in_, a.index(name), D.out, b.index(name))
    return m


def lexicographic(
    base: isl.Map, one: Path, two: Path, a: tuple[str, ...], b: tuple[str, ...], tie: bool
) -> Turns:
    """Pairs of `base` with `one` before `two`: those in the same turn of all common loops, and the others."""
    earlier: list[isl.Map] = []
    for (at, loop), (other, _) in zip(one, two, strict=False):
        if at != other:
            return (base if at < other else None), earlier
        if loop and loop in a and loop in b:
            earlier.append(base.order_lt(D.in_, a.index(loop), D.out, b.index(loop)))
            base = base.equate(D.in_, a.index(loop), D.out, b.index(loop))
    return (base if tie else None), earlier


Turn: TypeAlias = tuple[int, bool | None]


def turn(one: Path, two: Path) -> Turn:
    """How many loops are around both, and whether `one` comes first there: all that `lexicographic` asks."""
    common = 0
    for (at, loop), (other, _) in zip(one, two, strict=False):
        if at != other:
            return common, at < other
        common += bool(loop)
    return common, None


def _may_be_between(to: Turn, back: Turn) -> bool:
    """Whether a barrier with these turns, of one place to it and of it to another, may be met in between: in
    the same turn of all loops around it and one of the places, and the same or a later one of those around
    the other.
    """
    (later, same), (then_later, then_same) = to, back
    return bool((same and (then_same or then_later)) or (later and then_same))


def union(empty: isl.Map, parts: Iterable[isl.Map | None]) -> isl.Map:
    for part in parts:
        if part is not None:
            empty = empty.union(part)
    return empty


@dataclass(frozen=True, eq=False)
class Order:
    """The order of the events of one launch statement, in frame `frame`.

    With `within`, a condition on parameters, it is the order where that holds. Elsewhere it may have pairs
    that nothing orders: it is for events that all happen `within` only.
    """

    trace: Trace
    frame: Frame
    within: isl.Set | None = None
    _known: Recent[Turns] = field(default_factory=lambda: Recent(1000))
    _barriers: Recent[isl.Map] = field(default_factory=lambda: Recent(1000))
    _numbers: dict[Hashable, int] = field(default_factory=dict)
    _sides: dict[tuple[Path, bool], int] = field(default_factory=dict)
    _numbered: dict[int, tuple[Turn, ...]] = field(default_factory=dict)
    _among: dict[tuple[int, int], int] = field(default_factory=dict)

    def dims(self, point: Point) -> tuple[str, ...]:
        return self.frame.dims(point)

    def launches(self, a: Point, b: Point) -> isl.Map:
        """Pairs of executions in different turns of the host's loops, `a`'s first."""
        return launches_before(a, b, self.dims(a), self.dims(b))

    def together(self, a: Point, b: Point) -> isl.Map:
        """Pairs in the same block of the same launch."""
        one, two = self.dims(a), self.dims(b)
        return equal(universe(one, two), (*a.launch.names, *BLOCKS), one, two)

    def thread(self, a: Point, b: Point, tie: bool) -> isl.Map:
        """Pairs of one thread, `a` first; `tie`: an action's read of an execution, then its write."""
        one, two = self.dims(a), self.dims(b)
        base = equal(self.together(a, b), THREADS, one, two)
        same, earlier = lexicographic(base, a.path, b.path, one, two, tie)
        return union(nowhere(one, two), (same, *earlier))

    @cached_property
    def barriers(self) -> list[Sync]:
        return [s for s in self.trace.syncs if s.pending < 0]

    @cached_property
    def waits(self) -> list[Sync]:
        return [s for s in self.trace.syncs if s.pending >= 0]

    @property
    def countable(self) -> bool:
        """Whether all groups of asynchronous copies could be counted."""
        copies = (a.commits for a in self.trace.actions if a.asynchronous)
        return all(c is not None for c in (*copies, *(w.commits for w in self.waits)))

    def _sync_dims(self, s: Sync) -> tuple[str, ...]:
        return tuple(d for d in self.frame.dims(s.point) if d not in THREADS)

    @cached_property
    def _sync_domains(self) -> dict[Sync, isl.Set]:
        found = {s: executions(at_zero(s.point), self._sync_dims(s)) for s in self.trace.syncs}
        within = self.within
        return found if within is None else {s: gist_params(d, within) for s, d in found.items()}

    def _sync_domain(self, s: Sync) -> isl.Set:
        return self._sync_domains[s]

    def barrier(self, a: Point, b: Point) -> isl.Map:
        """Pairs in one block with a barrier in between, in the same turn of the loops as one of both."""
        return self._barriers.get(self.places(a, b), lambda: self._made_barrier(a, b))

    def places(self, a: Point, b: Point) -> tuple[Hashable, ...]:
        """Where both are, beside each barrier that may be between them: all that matters for how threads are
        ordered there. Others may be anywhere, and loops have any names: sums and tiles of one shape, each
        behind the last, have the same places.
        """
        there, back = self._between(a.path, b.path), self._between(b.path, a.path)
        return len(a.loops), len(b.loops), turn(a.path, b.path), there, back

    def _between(self, one: Path, two: Path) -> int:
        """A number for the barriers that may be behind `one` and before `two`, by where these are beside each
        and where it is executed.
        """
        key = self._beside(one, True), self._beside(two, False)
        if key not in self._among:
            sides = zip(*(self._numbered[k] for k in key), self._alike, strict=True)
            self._among[key] = self._number(tuple(s for s in sides if _may_be_between(*s[:2])))
        return self._among[key]

    def _beside(self, path: Path, first: bool) -> int:
        """A number for where a place among the loops is beside each barrier, which many have in common."""
        if (path, first) not in self._sides:
            found = tuple(turn(path, p) if first else turn(p, path) for p in self._barrier_paths)
            self._sides[path, first] = self._number(found)
            self._numbered[self._sides[path, first]] = found
        return self._sides[path, first]

    def _number(self, found: Hashable) -> int:
        return self._numbers.setdefault(found, len(self._numbers))

    @cached_property
    def _barrier_paths(self) -> tuple[Path, ...]:
        return tuple(s.point.path for s in self.barriers)

    @cached_property
    def _alike(self) -> tuple[int, ...]:
        """A number for where each barrier is executed."""
        places = ((s.point.loops, self._sync_domain(s)) for s in self.barriers)
        return tuple(self._number(without_names(domain, loops)) for loops, domain in places)

    def _made_barrier(self, a: Point, b: Point) -> isl.Map:
        one, two = self.dims(a), self.dims(b)
        found = nowhere(one, two)
        for s in self.barriers:
            same, others = self._to(a, s)
            from_same, from_other = self._from(s, b)
            if same is not None:
                for second in (from_same, *from_other):
                    if second is not None:
                        found = found.union(same.apply_range(second))
            if from_same is not None:
                for first in others:
                    found = found.union(first.apply_range(from_same))
        return found

    def _to(self, a: Point, s: Sync) -> Turns:
        place = turn(a.path, s.point.path)
        return self._known.get((place, len(a.loops), s, True), lambda: self._made_to(a, s))

    def _made_to(self, a: Point, s: Sync) -> Turns:
        one, two = self.dims(a), self._sync_dims(s)
        base = equal(universe(one, two), (*a.launch.names, *BLOCKS), one, two)
        base = base.intersect_range(self._sync_domain(s))
        return lexicographic(base, a.path, s.point.path, one, two, False)

    def _from(self, s: Sync, b: Point) -> Turns:
        place = turn(s.point.path, b.path)
        return self._known.get((place, len(b.loops), s, False), lambda: self._made_from(s, b))

    def _made_from(self, s: Sync, b: Point) -> Turns:
        one, two = self._sync_dims(s), self.dims(b)
        base = equal(universe(one, two), (*b.launch.names, *BLOCKS), one, two)
        base = base.intersect_domain(self._sync_domain(s))
        return lexicographic(base, s.point.path, b.path, one, two, False)

    def before(self, a: Point, b: Point, tie: bool = False) -> isl.Map:
        """Pairs of one block that are ordered, `a` first."""
        return self.thread(a, b, tie).union(self.barrier(a, b))

    def completed(self, a: Do, b: Point) -> isl.Map:
        """Pairs where the asynchronous copy `a` is finished and seen by the thread of `b`."""
        one, two = self.dims(a.point), self.dims(b)
        found = nowhere(one, two)
        for wait in self.waits:
            done = self._done(a, wait)
            if done is None:
                continue
            middle = self._sync_dims(wait)
            same, _ = self._from(wait, b)
            if same is not None:
                own = done.apply_range(same)
                found = found.union(equal(own, THREADS, one, two))
            for barrier in self.barriers:
                there = self._sync_dims(barrier)
                base = equal(universe(middle, there), (*a.point.launch.names, *BLOCKS), middle, there)
                base = base.intersect_range(self._sync_domain(barrier))
                first, _ = lexicographic(base, wait.point.path, barrier.point.path, middle, there, False)
                second, later = self._from(barrier, b)
                if first is None:
                    continue
                for part in (second, *later):
                    if part is not None:
                        found = found.union(done.apply_range(first).apply_range(part))
        return found

    def _done(self, a: Do, wait: Sync) -> isl.Map | None:
        """Pairs of a copy and a wait after it that covers the group the copy is in."""
        one, two = self.dims(a.point), self._sync_dims(wait)
        base = equal(universe(one, two), (*a.point.launch.names, *BLOCKS), one, two)
        same, earlier = lexicographic(base, a.point.path, wait.point.path, one, two, False)
        after = union(nowhere(one, two), (same, *earlier)).intersect_range(self._sync_domain(wait))
        if wait.pending == 0:
            return after
        if a.commits is None or wait.commits is None:
            return None
        mine = relation(a.point, (a.commits,), one)
        theirs = relation(at_zero(wait.point), (wait.commits,), two)
        enough = isl.Map(f"{{ [c] -> [w] : w >= c + 1 + {wait.pending} }}")
        covered = mine.apply_range(enough).apply_range(theirs.reverse())
        return covered.intersect(after)


def without_names(relation: isl.Set | isl.Map, loops: tuple[str, ...]) -> str:
    """What is the same text for relations that are the same but for what the `loops` among their executions'
    dimensions are called.
    """
    text = str(relation)
    for k, name in enumerate(loops):
        text = re.sub(rf"(?<![A-Za-z_]){name}\b", f"loop {k}", text)
    return text


def launches_before(a: Point, b: Point, one: tuple[str, ...], two: tuple[str, ...]) -> isl.Map:
    same, earlier = lexicographic(universe(one, two), a.launch.path, b.launch.path, one, two, False)
    return union(nowhere(one, two), (same, *earlier))


def at_zero(point: Point) -> Point:
    """`point` as thread 0 executes it: what all threads do alike."""
    domain = point.domain
    for name in THREADS:
        position = domain.find_dim_by_name(D.param, name)
        if position >= 0:
            domain = domain.fix_val(D.param, position, isl.Val(0)).project_out(D.param, position, 1)
    return Point(point.launch, point.path, point.loops, domain)
