"""Accesses of global memory that the source orders are ordered on the device.

Loads stand for the instances that use what they bring, stores for the instance whose value they store.
With all conflicting pairs ordered as in the source, a load brings the value the source reads if the instance
that computes this value stores it at all, where the load looks; likewise for what is left at the end. Where a
subscript that depends on data hides whether two accesses conflict, they do not if a pragma says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial, reduce
from math import inf, prod
from typing import TypeAlias

import islpy as isl

from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, TooLongError, bounded, coalesced
from polygpu.verify.counterexample import Example, element, example, sample, shown, values
from polygpu.verify.last import subtracted
from polygpu.verify.order import WHOLE, Order, launches_before, lexicographic, universe
from polygpu.verify.session import Session
from polygpu.verify.slots import Slot, touching
from polygpu.verify.source import UnanalysableError, Writer
from polygpu.verify.values import Unchanged, Use, Uses, unstored
from polygpu.verify.verdict import DEPENDENCES, VALUES, Failure

_Fixed: TypeAlias = tuple[int | None, ...]
_PIECES = 16  # pairs of pieces, of two accesses' addresses and instances together
_STEPS = 30_000  # of isl, for hulls
_COALESCING, _UNCOALESCED = 60_000, 150_000  # of isl, for few pieces, and for what there is in many
_PIECES_STORED = 12  # pieces of what stores stand for: all that is not stored has many then


def check_dependences(session: Session, uses: Uses, complete: bool) -> None:
    """Not `complete` are uses that leave out some whose values are open: what is stored may be among them."""
    for array in sorted(uses.found):
        stores, loads = uses.stores(array), uses.loads(array)
        session.counts[DEPENDENCES] += len(stores) * (len(stores) + 2 * len(loads))
        layers, loaded = _Layers(stores), _Layers(loads)
        for store in stores:
            if session.budget.is_spent():
                for kind in (DEPENDENCES, VALUES):
                    session.undecided(kind, "", "budget")
                return
            for other in layers.meeting(store):
                with session.step(DEPENDENCES, store.trace.kernel.name):
                    _ordered(session, store, other)
            for load in loaded.meeting(store):
                with session.step(DEPENDENCES, store.trace.kernel.name):
                    _ordered(session, store, load)
                with session.step(DEPENDENCES, load.trace.kernel.name):
                    _ordered(session, load, store)
            for kept in uses.unchanged.get(array, []):
                with session.step(DEPENDENCES, kept.trace.kernel.name):
                    _left_alone(session, kept, store)
        temporary = not session.buffer(array).host
        if temporary:
            with session.step(VALUES, ""):
                _one_element(session, array, stores)
        for load in loads if complete else ():
            with session.step(VALUES, load.trace.kernel.name):
                _supplied(session, load, stores, temporary)


@dataclass(frozen=True)
class _Layers:
    """Accesses of an array by the constants among their subscripts, by which subscripts are constants."""

    uses: list[Use]

    @cached_property
    def found(self) -> dict[tuple[bool, ...], dict[_Fixed, list[Use]]]:
        found: dict[tuple[bool, ...], dict[_Fixed, list[Use]]] = {}
        for use in self.uses:
            found.setdefault(_known(use.fixed), {}).setdefault(use.fixed, []).append(use)
        return found

    def meeting(self, use: Use) -> Iterator[Use]:
        """Those that constants do not tell from what `use` accesses."""
        for known, layers in self.found.items():
            if known == _known(use.fixed):
                yield from layers.get(use.fixed, ())
            else:
                yield from (u for fixed, uses in layers.items() if not _apart(fixed, use.fixed) for u in uses)


def _known(fixed: _Fixed) -> tuple[bool, ...]:
    return tuple(value is not None for value in fixed)


def _apart(one: _Fixed, other: _Fixed) -> bool:
    return any(None not in (a, b) and a != b for a, b in zip(one, other, strict=False))


def _ordered(session: Session, first: Use, second: Use) -> None:
    """Where the source has `first` before `second`, so has the device."""
    a, b = first.action.point, second.action.point
    one, two = WHOLE.dims(a), WHOLE.dims(b)
    base, _ = lexicographic(universe(one, two), a.launch.path, b.launch.path, one, two, False)
    if base is not None and base.plain_is_universe():
        return
    s, t = first.slot, second.slot
    parts = session.source.before_parts(s.statement, s.rank, t.statement, t.rank)
    told = True  # which elements are accessed, or that they are the source's
    if s.relation is None or t.relation is None:
        promised = session.source.promised(s.statement, t.statement, s.reference.array)
        parts = parts if promised is None else tuple(part.subtract(promised) for part in parts)
        if told := s.array == t.array and all(_in_place(session, use) for use in (first, second)):
            meeting = touching(session.p, s).apply_range(touching(session.p, t).reverse())
            parts = tuple(part.intersect(meeting) for part in parts)
    left = [part for part in parts if not _in_later_launches(session, first, second, part)]
    if not left:
        return
    before = left[0] if len(left) == 1 else left[0].union(left[1])
    if _plainly_ordered(session, first, second, before):
        return
    meet = first.address.apply_range(second.address.reverse())
    if meet.is_empty():
        return
    dependent = first.instances.apply_range(before).apply_range(second.instances.reverse())
    try:
        with bounded(_COALESCING):  # each piece of one meets each of the other
            # Where equalities hide in pairs of bounds isl was seen to crash.
            meet, dependent = (coalesced(pairs.detect_equalities()) for pairs in (meet, dependent))
            limit = inf
    except TooLongError:
        limit = _UNCOALESCED  # isl's numbers may grow like those of hulls
    with bounded(limit):
        late = _late(session, first, second, meet.intersect(dependent))
    if not late.is_empty() and (first.only or second.only):
        _ordered(session, *(use.exact if use.only else use for use in (first, second)))
    elif not late.is_empty() and not told:
        raise UnanalysableError(f"'{s.array}' has a subscript that depends on data")
    elif not late.is_empty():
        session.failures.append(_broken(session, first, second, late))


def _late(session: Session, first: Use, second: Use, pairs: isl.Map) -> isl.Map:
    """Those of the pairs of executions that are out of order."""
    if pairs.is_empty():
        return pairs
    a, b = first.action.point, second.action.point
    late = pairs.subtract(launches_before(a, b, WHOLE.dims(a), WHOLE.dims(b)))
    if not late.is_empty() and first.trace is second.trace:
        late = late.subtract(_inside(session, first, second))
    return late


def _plainly_ordered(session: Session, first: Use, second: Use, before: isl.Map) -> bool:
    """Whether the few pairs that are out of order in hulls of both are no conflict, where exact sets have
    many pieces.

    An execution that both are of is looked at exactly: hulls do not tell that it is for one instance. Nothing
    is said where isl takes long: its numbers may grow out of what a word holds, steps with them.
    """
    sizes = (m.n_basic_map() for use in (first, second) for m in (use.address, use.instances))
    if prod(sizes) < _PIECES:
        return False
    try:
        with bounded(_STEPS):
            late = _late_hulls(session, first, second, before)
        with bounded(_COALESCING):  # of many pieces sooner than `is_disjoint`
            return bool(late.is_empty() or late.intersect(_conflicts(first, second, before)).is_empty())
    except TooLongError:
        return False


def _late_hulls(session: Session, first: Use, second: Use, before: isl.Map) -> isl.Map:
    """The pairs out of order in hulls of both: none where those do not meet."""
    a, b = first.action.point, second.action.point
    one, two = WHOLE.dims(a), WHOLE.dims(b)
    late = first.around.address.apply_range(second.around.address.reverse()).remove_divs()
    late = late.subtract(launches_before(a, b, one, two))
    if first.trace is second.trace:
        late = late.subtract(_inside(session, first, second))
    if first.action is second.action and _alike_in_order(first, second, before):
        late = late.subtract(isl.Map.identity(late.get_space()))
    dependent = first.around.instances.apply_range(before).apply_range(second.around.instances.reverse())
    return isl.Map.empty(late.get_space()) if late.is_disjoint(dependent) else late


def _conflicts(first: Use, second: Use, before: isl.Map) -> isl.Map:
    """Pairs of executions that touch an element for instances of which one is `before` the other.

    Elements and instances are looked at together: a piece of an execution's elements meets the same piece of
    its instances, not each.
    """
    same = isl.Map.identity(first.address.get_space().range().map_from_set())
    return first.both.apply_range(same.product(before)).apply_range(second.both.reverse())


def _alike_in_order(first: Use, second: Use, before: isl.Map) -> bool:
    """Whether no execution stands for an instance of `first` that is `before` one of `second`."""
    if first is second and first.instances.is_single_valued():
        return bool(before.is_disjoint(isl.Map.identity(before.get_space())))
    if first.instances.domain().is_disjoint(second.instances.domain()):
        return True
    return bool(first.instances.reverse().apply_range(second.instances).is_disjoint(before))


def _in_place(session: Session, use: Use) -> bool:
    """Whether what is accessed are the elements of the source's array that the source accesses, or those of
    a temporary whose last subscripts are the source's: the first ones say whose copy it is.

    Where data tell, an instance is known to take them so; stores to what the host has are seen to elsewhere.
    """
    host = session.buffer(use.place.array).host
    if use.slot.array != use.place.array and host:
        return False
    if use.slot.relation is None or host:
        return True
    more = use.address.dim(D.out) - use.slot.relation.dim(D.out)
    if more < 0:
        return False
    used = use.address.intersect_domain(use.instances.domain())  # not what clamped copies bring beside
    meant = use.instances.apply_range(use.slot.relation.reset_tuple_id(D.out))
    return bool(used.project_out(D.out, 0, more).is_subset(meant))


def _in_later_launches(session: Session, first: Use, second: Use, before: isl.Map) -> bool:
    """Whether dependent instances are in different launches, in order, wherever they are in these."""
    s, t = first.slot, second.slot
    if s.relation is None or t.relation is None or not session.buffer(first.place.array).host:
        return False
    pairs = before.intersect(s.relation.apply_range(t.relation.reverse()))
    if pairs.is_empty():
        return True
    a, b = first.action.point, second.action.point
    turns = first.turns.apply_range(pairs).apply_range(second.turns.reverse())
    loops = a.launch.loops, b.launch.loops
    return bool(turns.is_disjoint(universe(*loops).subtract(launches_before(a, b, *loops))))


def _inside(session: Session, first: Use, second: Use) -> isl.Map:
    order = Order(first.trace, WHOLE)
    if first.action.asynchronous and not first.write:
        return order.completed(first.action, second.action.point)
    tie = not first.write and second.write
    return order.before(first.action.point, second.action.point, tie)


def _broken(session: Session, first: Use, second: Use, late: isl.Map) -> Failure:
    found = example(session.p, late)
    s, t = first.slot, second.slot
    ones, twos = found.of(first.instances).range(), found.of(second.instances, D.out).range()
    before = session.source.before(s.statement, s.rank, t.statement, t.rank)
    pair = sample(before.intersect_params(found.pair.params()).intersect_domain(ones).intersect_range(twos))
    return Failure(
        DEPENDENCES,
        second.trace.kernel.name,
        "a dependence of the source is not kept",
        found.access(s, values(pair, D.in_)),
        found.access(t, values(pair, D.out)),
        element(first.place.array, found.image(first.address)),
        found.parameters,
        (found.position(s), found.position(t)),
    )


def _left_alone(session: Session, kept: Unchanged, store: Use) -> None:
    """Nobody writes an element between its load and the store of the same value."""
    k, s, ld = kept.store.point, store.action.point, kept.load.point
    meet = kept.address.apply_range(store.address.intersect_domain(store.instances.domain()).reverse())
    meet = meet.intersect_domain(kept.pairs.domain())
    one, two, three = WHOLE.dims(k), WHOLE.dims(s), WHOLE.dims(ld)
    after = launches_before(k, s, one, two)
    before = kept.pairs.apply_range(launches_before(s, ld, two, three).reverse())
    if kept.trace is store.trace:
        order = Order(kept.trace, WHOLE)
        after = after.union(order.before(k, s))
        before = before.union(kept.pairs.apply_range(order.before(s, ld).reverse()))
    lost = meet.subtract(after).subtract(before)
    if lost.is_empty():
        return
    found = example(session.p, lost)
    session.failures.append(
        Failure(
            DEPENDENCES,
            kept.trace.kernel.name,
            "a store of an unchanged value may undo another store",
            found.access(store.slot, found.image(store.instances, D.out)),
            "",
            element(store.place.array, found.image(kept.address)),
            found.parameters,
        )
    )


def _one_element(session: Session, array: str, stores: list[Use]) -> None:
    """An element of a temporary holds values of one element of the source's array."""
    names = {s.slot.array for s in stores}
    relation: isl.Map | None = None
    for s in stores:
        if s.slot.relation is None:
            return
        part = s.address.reverse().apply_range(s.instances).apply_range(s.slot.relation.reset_tuple_id(D.out))
        relation = part if relation is None else relation.union(part)
    if len(names) > 1 or (relation is not None and not relation.is_single_valued()):
        message = f"temporary '{array}' mixes elements of the source's arrays"
        session.failures.append(Failure(VALUES, "", message))


def _supplied(session: Session, load: Use, stores: list[Use], temporary: bool) -> None:
    """The instance whose value the source reads stores it where `load` looks."""
    writes = session.source.writes_of(load.slot.array)
    if not session.demand.matters(load.slot):
        return
    if temporary:
        alike = all(map(_is_of_same_element, (load, *stores))) and not _reads_fresh(session, load)
        if alike and _stored(session, load, stores):
            return
    else:
        all_of = partial(_all_stored, session, writes, stores)
        these = partial(_stored, session, load, stores)
        many = sum(s.instances.n_basic_map() for s in stores) >= _PIECES_STORED
        if any(holds() for holds in ((these, all_of) if many else (all_of, these))):
            return
    users = load.instances.reverse().apply_range(load.address)
    if load.slot.relation is not None:
        users = users.intersect_domain(load.slot.relation.domain())
    if load.slot.implied:
        users = users.intersect_domain(session.demand.instances(load.slot))
    writers, fresh = session.source.writers(load.slot)
    # what a temporary held before its first write is never used: the source could not know it either
    left = users if temporary and not load.slot.implied else users.subtract_domain(fresh)
    right = (
        w.instances.apply_range(s.instances.reverse().apply_range(s.address))
        for w in writers
        for s in stores
        if (s.slot.statement, s.slot.number) == (w.statement, w.number)
    )
    # together they have fewer floors than one by one
    found = coalesced(reduce(isl.Map.union, right, isl.Map.empty(left.get_space())))
    if left.is_subset(found):
        return
    if load.only:
        _supplied(session, load.exact, stores, temporary)
        return
    left = left.subtract(found)
    bad = example(session.p, left)
    session.failures.append(
        Failure(
            VALUES,
            load.trace.kernel.name,
            "reads an element whose value was not stored",
            _computing(bad, writers),
            bad.access(load.slot, values(bad.pair, D.in_)),
            bad.element(load.place.array),
            bad.parameters,
            (bad.position(load.slot),),
        )
    )


def _is_of_same_element(use: Use) -> bool:
    """Whether a temporary's element has the subscripts of that of the source's array it stands for."""
    if use.slot.relation is None:
        return False
    meant = use.slot.relation.reset_tuple_id(D.out)
    found = use.address.reverse().apply_range(use.instances).apply_range(meant)
    if found.dim(D.in_) != found.dim(D.out):
        return False
    return bool(found.is_subset(isl.Map.identity(found.get_space())))


def _reads_fresh(session: Session, load: Use) -> bool:
    """Whether the source reads anything there that nothing has written before."""
    fresh = session.source.writers(load.slot)[1]
    return not load.stood_for.is_disjoint(fresh)


def _all_stored(session: Session, writes: tuple[Slot, ...], stores: list[Use]) -> bool:
    """Whether every instance that writes the array of the source stores what it computes."""
    return all(unstored(session, w, stores).is_empty() for w in writes)


def _stored(session: Session, load: Use, stores: list[Use]) -> bool:
    """Whether the instances that compute what `load` brings store it at all.

    They do so to the source's elements, and the load reads the source's.
    """
    if load.slot.relation is None:
        return False
    readers = load.instances.range()
    writers, _ = session.source.writers(load.slot)
    for w in writers:
        left = coalesced(w.instances.intersect_domain(readers).range())
        mine = (s for s in stores if (s.slot.statement, s.slot.number) == (w.statement, w.number))
        for s in mine:
            if left.is_empty():
                break
            left = subtracted(left, s.stood_for)
        if not left.is_empty():
            return False
    return True


def _computing(found: Example, writers: list[Writer]) -> str:
    """The instance that computes in the source what the first of the pair reads."""
    for w in writers:
        if not found.of(w.instances).is_empty():
            return shown(found.p, found.p.statement(w.statement), found.image(w.instances), None, True)
    return ""
