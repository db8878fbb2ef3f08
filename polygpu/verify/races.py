"""Threads of a block never touch a shared element at the same time, unless both read."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from itertools import combinations_with_replacement

import islpy as isl

from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D
from polygpu.verify.counterexample import Example, element, example, shown, values
from polygpu.verify.events import THREADS, Do, Place, executions, tuples
from polygpu.verify.last import without
from polygpu.verify.order import BLOCK, Order, equal, without_names
from polygpu.verify.session import Session
from polygpu.verify.source import UnanalysableError
from polygpu.verify.trace import Trace
from polygpu.verify.verdict import VALUES, Failure

UNCOUNTED = "the groups of asynchronous copies cannot be counted"
RACE = "two threads touch a shared element with no barrier in between"
UNDER_WAY = "a shared element is touched while an asynchronous copy to it is under way"


@dataclass(frozen=True, eq=False)
class Touch:
    """An access of a shared array, as an action reads or `writes` it."""

    session: Session
    action: Do
    place: Place
    writes: bool

    @property
    def late(self) -> bool:
        return self.action.asynchronous and self.writes

    @cached_property
    def elements(self) -> isl.Map:
        """Executions to elements."""
        if self.place.index is None:
            raise UnanalysableError(f"'{self.place.text}' has a subscript that depends on data")
        found = self.session.address(self.action, self.place, BLOCK)
        return found if self.writes or not self.action.fragment else _of_all_threads(self.action, found)

    @cached_property
    def text(self) -> str:
        return without_names(self.elements, self.action.point.loops)

    @cached_property
    def happening(self) -> isl.Set:
        """The executions in which it touches anything."""
        executed = self.elements.domain()
        if self.writes or self.action.fragment:
            return executed
        return self.session.happening(self.action, self.place, executed, BLOCK)


def _of_all_threads(action: Do, elements: isl.Map) -> isl.Map:
    """What any thread reads is taken to be read by each: which one loads it for the others is not said."""
    everywhere = executions(action.point, BLOCK.dims(action.point))
    anyone = elements.project_out(D.in_, 0, len(THREADS)).insert_dims(D.in_, 0, len(THREADS))
    return anyone.intersect_domain(everywhere)


def check_races(session: Session) -> None:
    for trace in session.traces:
        order, good = Order(trace, BLOCK, _cases(trace)), set[Hashable]()
        for array in trace.kernel.shared:
            touches = _touches(session, trace, array.name)
            for one, two in combinations_with_replacement(touches, 2):
                if one.writes or two.writes:
                    with session.step(VALUES, trace.kernel.name, needed=True):
                        _pair(session, order, one, two, good)


def _cases(trace: Trace) -> isl.Set | None:
    """For which parameters a block is executed, if these have several cases. Each access and each barrier has
    all of them, and to take pairs that a barrier orders from those that meet, isl compares case with case:
    of barriers the order says only what is not so of the whole block.
    """
    if not trace.kernel.shared or trace.scope.domain.n_basic_set() == 1:
        return None
    dims = tuple(name for name in THREADS if trace.scope.domain.find_dim_by_name(D.param, name) >= 0)
    return tuples(trace.scope.domain, dims).params()


def check_arrivals(session: Session) -> None:
    """Asynchronous copies are waited for before what they bring is read, as far as reads are known."""
    for trace in session.traces:
        order = Order(trace, BLOCK)
        for action, writer, pairs in session.locals[trace.launch.number].direct:
            if writer.asynchronous:
                with session.step(VALUES, trace.kernel.name):
                    _arrived(session, order, action, writer, pairs)


def _touches(session: Session, trace: Trace, array: str) -> list[Touch]:
    found: list[Touch] = []
    for a in trace.actions:
        mine = (r for r in a.reads if r.array == array and r.space == "shared")
        found.extend(Touch(session, a, r, False) for r in mine)
        if a.target is not None and a.target.array == array and a.target.space == "shared":
            found.append(Touch(session, a, a.target, True))
    return found


def _pair(session: Session, order: Order, one: Touch, two: Touch, good: set[Hashable]) -> None:
    """Adds what is known of a pair of accesses to `good`: arrays of one use have many like it."""
    late = one.late or two.late
    key = (one.text, two.text, *order.places(one.action.point, two.action.point))
    if late or key not in good:
        meet = _met(order, one, two)
        if meet.is_empty():
            good.add(None if late else key)
            return
        meet = meet.intersect_domain(one.happening).intersect_range(two.happening)
        if meet.is_empty():
            return
        if late and not order.countable:
            raise UnanalysableError(UNCOUNTED)
        session.failures.append(_race(session, order.trace, one, two, meet))


def _met(order: Order, one: Touch, two: Touch) -> isl.Map:
    """The executions of both that nothing orders, and that touch the same element."""
    a, b = one.action, two.action
    meet = one.elements.apply_range(two.elements.reverse())
    if meet.is_empty():
        return meet
    forth = order.completed(a, b.point) if one.late else order.before(a.point, b.point)
    meet = without(meet, forth)  # what is ordered goes first: that leaves little, and in few pieces
    if meet.is_empty():
        return meet
    back = order.completed(b, a.point) if two.late else order.before(b.point, a.point)
    meet = without(meet, back.reverse())
    if meet.is_empty():
        return meet
    dims, others = BLOCK.dims(a.point), BLOCK.dims(b.point)
    if not (one.late or two.late):
        return without(meet, equal(isl.Map.universe(meet.get_space()), THREADS, dims, others))
    return meet.subtract(executions(a.point, dims).identity()) if a is b else meet


def _race(session: Session, trace: Trace, one: Touch, two: Touch, meet: isl.Map) -> Failure:
    found, a, b = example(session.p, meet), one.action, two.action
    return Failure(
        VALUES,
        trace.kernel.name,
        UNDER_WAY if a.asynchronous or b.asynchronous else RACE,
        _who(session, a, one.writes, found, D.in_),
        _who(session, b, two.writes, found, D.out),
        element(one.place.array, found.image(one.elements)),
        found.parameters,
    )


def _who(session: Session, a: Do, writes: bool, found: Example, end: isl.dim_type) -> str:
    x, y, z = values(found.pair, end)[:3]
    what = "writes" if writes else "reads"
    statement = ""
    if a.matched is not None:
        mine = session.instances(a, BLOCK)
        if not found.of(mine, end).is_empty():
            s = session.p.statement(a.matched.statement)
            statement = f" in {shown(session.p, s, found.image(mine, end), None, writes)}"
    elif a.reads and a.target is not None:
        statement = f" in the copy of '{a.reads[0].text}' to '{a.target.text}'"
    return f"thread ({x}, {y}, {z}) {what}{statement}"


def _arrived(session: Session, order: Order, reader: Do, writer: Do, pairs: isl.Map) -> None:
    """Asynchronous copies are waited for before what they bring is read."""
    early = pairs.reverse().subtract(order.completed(writer, reader.point))
    if early.is_empty():
        return
    if not order.countable:
        raise UnanalysableError(UNCOUNTED)
    found = example(session.p, early)
    assert writer.target is not None
    session.failures.append(
        Failure(
            VALUES,
            order.trace.kernel.name,
            "an asynchronous copy is read before it is waited for",
            _who(session, writer, True, found, D.in_),
            _who(session, reader, False, found, D.out),
            writer.target.array,
            found.parameters,
        )
    )
