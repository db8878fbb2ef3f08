"""Each instance of the source is executed, and what it leaves behind reaches the caller. The rest is dead."""

from __future__ import annotations

import islpy as isl

from polygpu.model.kernel import Buffer
from polygpu.model.scop import Array
from polygpu.support.isl_idioms import D
from polygpu.verify.counterexample import element, example, shown, values
from polygpu.verify.demand import Demand
from polygpu.verify.elements import copied
from polygpu.verify.order import WHOLE
from polygpu.verify.session import Session
from polygpu.verify.slots import Slot
from polygpu.verify.values import Use, Uses, unstored
from polygpu.verify.verdict import INSTANCES, Failure


def check_executed(session: Session) -> None:
    """Whether something is said to be each instance, whatever it computes."""
    for slot in session.source.slots:
        if slot.write:
            with session.step(INSTANCES, ""):
                _executed(session, slot)


def check_instances(session: Session, uses: Uses) -> None:
    """Whether what each leaves behind reaches the caller, once it is known what values accesses carry."""
    for array in session.p.scop.arrays:
        with session.step(INSTANCES, ""):
            _array(session, array, uses)


def check_left_out(session: Session, whole: Demand) -> None:
    """What the source as it was has and the session's lacks: nothing depends on it."""
    with session.step(INSTANCES, ""):
        for s in dict.fromkeys(whole.missed()):
            text, place = whole.source.p.statement(s).text, whole.source.p.statement(s).position
            message = "what others depend on, or outlives the region, is left out"
            session.failures.append(Failure(INSTANCES, "", message, f"{s}: {text}", positions=(place,)))


def _executed(session: Session, write: Slot) -> None:
    """A write in each instance; a local that is not computed is missed where it is read."""
    session.counts[INSTANCES] += 1
    s = session.p.statement(write.statement)
    missing = write.reached
    for trace in session.traces:
        for a in trace.actions:
            m = a.matched
            if m is not None and (m.statement, m.number) == (write.statement, write.number):
                missing = session.beyond(missing, session.instances(a, WHOLE))
    if missing.is_empty():
        return
    found = example(session.p, isl.Map.from_domain(missing))
    text = shown(session.p, s, values(found.pair, D.in_), None, True)
    message = "an instance of the source is never executed"
    session.failures.append(
        Failure(INSTANCES, "", message, text, parameters=found.parameters, positions=(s.position,))
    )


def _array(session: Session, array: Array, uses: Uses) -> None:
    """What the region writes is copied out, what it reads first or leaves alone was copied in."""
    parts = {s.array for s in session.source.slots if s.reference.array == array.name}
    buffer = next((b for b in session.region.buffers if b.name == array.name and b.host), None)
    for part in sorted(parts):
        writes = session.source.writes_of(part)
        if writes and array.live_out:
            if buffer is None or not buffer.copy_out:
                _missing(session, f"'{array.name}' is not copied back")
                continue
            _left(session, part, writes, uses.stores(part))
        if buffer is not None and not buffer.copy_in:
            _no_old_values(session, array, part, buffer, uses)


def _missing(session: Session, message: str) -> None:
    session.failures.append(Failure(INSTANCES, "", message))


def _left(session: Session, array: str, writes: tuple[Slot, ...], stores: list[Use]) -> None:
    """The last write of each element is stored."""
    left = [(w, m) for w in writes if not (m := unstored(session, w, stores)).is_empty()]
    if not left:
        return
    final = session.source.last(array)
    for w, missing in left:
        if w not in final:
            continue
        lost = final[w].intersect_range(missing)
        if not lost.is_empty():
            found = example(session.p, lost)
            session.failures.append(
                Failure(
                    INSTANCES,
                    "",
                    "the last value of an element is not stored",
                    found.access(w, values(found.pair, D.out)),
                    "",
                    element(array, values(found.pair, D.in_)),
                    found.parameters,
                    (found.position(w),),
                )
            )


def _no_old_values(session: Session, array: Array, part: str, buffer: Buffer, uses: Uses) -> None:
    """Without a copy from the host: nothing reads old values, and none are copied back."""
    for load in uses.loads(part):
        if not session.demand.matters(load.slot):
            continue
        fresh = session.source.writers(load.slot)[1].intersect(load.slot.reached)
        if load.slot.implied:
            fresh = fresh.intersect(session.demand.instances(load.slot))
        if not load.instances.intersect_range(fresh).is_empty():
            _missing(session, f"'{array.name}' is read before it is written, and not copied to the device")
    if buffer.copy_out:
        written = [w.relation.range() for w in session.source.writes_of(part) if w.relation is not None]
        if not written or not copied(session, array, buffer).is_subset(_together(written)):
            _missing(session, f"'{array.name}' is copied back though parts of it were never written")


def _together(parts: list[isl.Set]) -> isl.Set:
    found = parts[0].reset_tuple_id()
    for p in parts[1:]:
        found = found.union(p.reset_tuple_id())
    return found
