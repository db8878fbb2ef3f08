"""Each value an instance reads is the one the source reads; what loads and stores stand for.

Values that stay on the chip are followed to the instance that computed them or to the load that brought
them; that instance must be the one the source's dataflow names, the loaded element the source's element.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property, reduce
from itertools import chain

import islpy as isl

from polygpu.model.expr import Position
from polygpu.model.scop import Number
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, coalesced
from polygpu.verify.counterexample import Example, doer, element, example, fixed_at, named, shown, values
from polygpu.verify.elements import everything
from polygpu.verify.events import BLOCKS, Do, Leaf, Matched, Place
from polygpu.verify.local import Locals, Origin, lifted
from polygpu.verify.order import BLOCK, WHOLE
from polygpu.verify.passed import Passed, check_once, ordered_hull
from polygpu.verify.session import Session
from polygpu.verify.slots import Slot
from polygpu.verify.source import UnanalysableError
from polygpu.verify.trace import Trace
from polygpu.verify.verdict import INSTANCES, VALUES, Failure


@dataclass(frozen=True)
class Around:
    """More than a use's address and instances, each in one piece."""

    address: isl.Map
    instances: isl.Map


@dataclass(frozen=True, eq=False)
class Use:
    """Accesses of global memory by `action`: `instances` maps its executions to what they stand for.

    Where `only` has sets of instances it is for those alone, and `instances` has some more, in one piece.
    """

    trace: Trace
    action: Do
    place: Place
    address: isl.Map
    instances: isl.Map
    slot: Slot
    write: bool
    only: list[isl.Set] = field(default_factory=list)

    @property
    def exact(self) -> Use:
        """Without the instances that it is not for."""
        return replace(
            self, instances=self.instances.intersect_range(reduce(isl.Set.union, self.only)), only=[]
        )

    @cached_property
    def fixed(self) -> tuple[int | None, ...]:
        """The subscripts that are plainly constants."""
        found = (self.address.plain_get_val_if_fixed(D.out, k) for k in range(self.address.dim(D.out)))
        return tuple(value.to_python() if value.is_int() else None for value in found)

    @cached_property
    def turns(self) -> isl.Map:
        """The turns of the host's loops, to the instances accessed for in their launch, or more."""
        loops = len(self.action.point.launch.loops)
        found = self.instances.remove_divs() if self.instances.n_basic_map() > 1 else self.instances
        found = found.project_out(D.in_, loops, found.dim(D.in_) - loops)
        if found.n_basic_map() == 1:
            return found
        return hull(found)

    @cached_property
    def stood_for(self) -> isl.Set:
        """The instances that it is for."""
        return coalesced(self.instances.range())

    def is_part_of(self, other: Use) -> bool:
        """Whether the other one is the same access, for the same instances and maybe more."""
        same = (self.action, self.place, self.slot, self.write) == (
            other.action,
            other.place,
            other.slot,
            other.write,
        )
        return same and self.instances.is_subset(other.instances)

    @cached_property
    def both(self) -> isl.Map:
        """Executions to their elements and instances together: a piece of one with its own of the other."""
        return coalesced(self.address.range_product(self.instances))

    @cached_property
    def around(self) -> Around:
        return Around(hull(self.address), hull(self.instances))


@dataclass(frozen=True, eq=False)
class Unchanged:
    """Stores of what the same thread loaded from the same element: `pairs` maps stores to loads."""

    trace: Trace
    store: Do
    load: Do
    address: isl.Map
    pairs: isl.Map


@dataclass
class Uses:
    """What a region does to global arrays, by the kernel's names of these."""

    found: dict[str, list[Use]] = field(default_factory=dict)
    unchanged: dict[str, list[Unchanged]] = field(default_factory=dict)
    passed: dict[str, list[Passed]] = field(default_factory=dict)

    def add(self, use: Use) -> None:
        if not use.instances.is_empty():
            self.found.setdefault(use.place.array, []).append(use)

    def stores(self, array: str) -> list[Use]:
        return [u for u in self.found.get(array, []) if u.write]

    def loads(self, array: str) -> list[Use]:
        return [u for u in self.found.get(array, []) if not u.write]


def check_stores(session: Session, uses: Uses) -> None:
    """What reaches global memory is of instances of the source, and goes to their elements.

    Whether a copy goes to elements that the source writes at all is soon decided, and always, but where the
    caller does not see these; what it brings there, where it is of these, takes dataflow.
    """
    copies: list[tuple[_Action, Place]] = []
    for trace in session.traces:
        for action in trace.actions:
            outside = action.target is not None and action.target.space == "global"
            if action.target is not None and outside and action not in session.partial:
                with session.step(VALUES, trace.kernel.name, needed=True):
                    checked = _Action(session, trace, action, uses)
                    if action.matched is None and checked.may_copy_to(action.target):
                        copies.append((checked, action.target))
                    else:
                        checked.stored(action.target)
    for copy, target in copies:
        with session.step(VALUES, copy.kernel):
            copy.stored(target)
    for array, passed in uses.passed.items():
        with session.step(VALUES, ""):
            stores = (u.address.intersect_domain(u.instances.domain()) for u in uses.stores(array))
            kept = (u.address for u in uses.unchanged.get(array, ()))
            check_once(array, passed, chain(stores, kept))


def check_values(session: Session, uses: Uses) -> None:
    """What instances read, they get from where the source does."""
    for trace in session.traces:
        for action in trace.actions:
            if action.matched is not None:
                with session.step(VALUES, trace.kernel.name):
                    _Action(session, trace, action, uses).reads(action.matched)


def whole(relation: isl.Map, action: Do) -> isl.Map:
    """A relation between executions of a launch in frame BLOCK, in frame WHOLE."""
    return lifted(relation, (*action.point.launch.names, *BLOCKS))


def hull(relation: isl.Map) -> isl.Map:
    """One piece around all of `relation`."""
    if relation.n_basic_map() == 1:
        return relation
    return isl.Map.from_basic_map(relation.remove_divs().simple_hull())


@dataclass(frozen=True)
class _Action:
    session: Session
    trace: Trace
    action: Do
    uses: Uses

    @property
    def locals(self) -> Locals:
        return self.session.locals[self.trace.launch.number]

    @property
    def kernel(self) -> str:
        return self.trace.kernel.name

    def reads(self, matched: Matched) -> None:
        here = self.session.instances(self.action, BLOCK)
        if not here.is_empty():
            for leaf in matched.leaves:
                if leaf in self.session.partial.get(self.action, ()):
                    continue
                slot = self._slot(leaf)
                if slot is None or self.session.demand.matters(slot):
                    self._leaf(leaf, slot, here)

    def may_copy_to(self, target: Place) -> bool:
        """Whether all of what is stored there goes where the source writes, or to a temporary."""
        return self._temporary(target) or self._goes_where_the_source_writes(target)

    def _goes_where_the_source_writes(self, target: Place) -> bool:
        slots = [s for s in self.session.source.slots if s.write and s.array == target.array]
        address = self.session.address(self.action, target, WHOLE)
        for slot in slots:
            # What the compiler expanded has more dimensions than the source's array of its name.
            if slot.relation is not None and slot.relation.dim(D.out) == address.dim(D.out):
                address = address.subtract_range(slot.relation.range().reset_tuple_id())
        return bool(address.is_empty())

    def stored(self, target: Place) -> None:
        m = self.action.matched
        if m is None:
            self._store_of_copy(target)
            return
        slot = self.session.source.writing(m.statement, m.number)
        instances = self.session.instances(self.action, WHOLE)
        address = self.session.address(self.action, target, WHOLE)
        beyond = self.session.outside(self.action, address.domain(), WHOLE)
        if slot is None or not beyond.is_empty():
            self._visible(target, isl.Map.from_domain(beyond))
            return
        self._store(target, address, instances, slot)

    def _visible(self, target: Place, beyond: isl.Map) -> None:
        address = self.session.address(self.action, target, WHOLE).intersect_domain(beyond.domain())
        if address.is_empty():
            return
        found = example(self.session.p, address)
        fixed = fixed_at(WHOLE.dims(self.action.point), found.pair)
        self.session.failures.append(
            Failure(
                INSTANCES,
                self.kernel,
                "a store that no instance of the source makes",
                by=doer(self.session.p, self.action, fixed),
                element=found.element(target.array),
                parameters=found.parameters,
            )
        )

    def _store(self, target: Place, address: isl.Map, instances: isl.Map, slot: Slot) -> None:
        m = self.action.matched
        plainly = m is not None and target.array == slot.array and _equal(target, m.element, m.inside)
        if not plainly and not self._temporary(target):
            inside = address.intersect_domain(instances.domain())
            if not self._same_element(target, inside, instances, slot):
                return
        self.uses.add(Use(self.trace, self.action, target, address, instances, slot, True))

    def _temporary(self, place: Place) -> bool:
        return not self.session.buffer(place.array).host

    def _same_element(self, place: Place, address: isl.Map, instances: isl.Map, slot: Slot) -> bool:
        """Whether all elements are the source's, or the source computes the subscript from data (matched)."""
        bad = address
        if place.array == slot.array:
            if slot.relation is None:
                return True
            meant = instances.apply_range(slot.relation.reset_tuple_id(D.out))
            bad = self._defined(address.subtract(meant), meant, slot)
        if bad.is_empty():
            return True
        what = "stores to" if slot.write else "reads"
        text = self._meant(bad, instances, slot)
        self._fail(f"{what} another element than the source", place, bad, instances, slot, text)
        return False

    def _defined(self, bad: isl.Map, meant: isl.Map, slot: Slot) -> isl.Map:
        """Without executions of which the array does not have the elements `meant` in the source: a program
        that uses them is not defined.
        """
        array = next((a for a in self.session.p.arrays if a.name == slot.array), None)
        if bad.is_empty() or array is None:
            return bad
        try:
            return bad.intersect_domain(meant.intersect_range(everything(self.session, array)).domain())
        except UnanalysableError:
            return bad

    def _meant(self, bad: isl.Map, instances: isl.Map, slot: Slot) -> str:
        """`, not A[3]`: the element of the source where the kernel takes another one."""
        if slot.relation is None:
            return ""
        found = example(self.session.p, bad)
        meant = found.image(instances.intersect_domain(found.pair.domain()).apply_range(slot.relation))
        return f", not {element(slot.array, meant)}"

    def _fail(
        self,
        message: str,
        place: Place,
        bad: isl.Map,
        instances: isl.Map,
        slot: Slot | None,
        meant: str = "",
    ) -> None:
        """`bad` maps executions to elements of `place`."""
        found = example(self.session.p, bad)
        what = found.element(place.text or place.array) + meant
        target, positions = ("", ()) if slot is None else self._shown(found, instances, slot)
        self.session.failures.append(
            Failure(VALUES, self.kernel, message, "", target, what, found.parameters, positions)
        )

    def _read(self, place: Place, executions: isl.Set) -> isl.Map:
        """Executions to the elements of `place` that they read."""
        return self.session.address(self.action, place, BLOCK).intersect_domain(executions)

    def _shown(self, found: Example, instances: isl.Map, slot: Slot) -> tuple[str, tuple[Position, ...]]:
        if found.of(instances).is_empty():
            return f"an execution that is no instance of {slot.statement}", ()
        return found.access(slot, found.image(instances)), (found.position(slot),)

    def _leaf(self, leaf: Leaf, slot: Slot | None, here: isl.Map) -> None:
        self.session.counts[VALUES] += 1
        origins = self.locals.origins(self.action, leaf.place, leaf.implied)
        if slot is not None and slot.relation is not None:
            here = here.intersect_range(slot.relation.domain())
        inside = here.domain()
        unwritten = origins.unknown.intersect(inside)
        if not unwritten.is_empty():
            unwritten = self._possible(self._needed(unwritten, here, slot), here, slot)
        if not unwritten.is_empty():
            unwritten = self.locals.of_use(self.action, unwritten)
        if not unwritten.is_empty():
            if slot is not None and slot.implied and slot.array in self.session.demand.unclear:
                raise UnanalysableError(f"it depends on data what finds old values of '{slot.array}'")
            bad = self._read(leaf.place, unwritten)
            self._fail("reads a value that nobody computed", leaf.place, bad, here, slot)
            return
        for o in origins.found:
            pairs = o.pairs.intersect_domain(inside)
            if pairs.is_empty():
                continue
            if o.loaded is not None:
                self._loaded(o, o.loaded, pairs, here, slot, leaf)
            else:
                self._computed(o, pairs, here, slot, leaf)

    def _needed(self, executions: isl.Set, here: isl.Map, slot: Slot | None) -> isl.Set:
        """Without those of conditional writes that nothing finds, be it the new value or the old one."""
        if slot is None or not slot.implied:
            return executions
        return executions.intersect(here.intersect_range(self.session.demand.instances(slot)).domain())

    def _possible(self, executions: isl.Set, here: isl.Map, slot: Slot | None) -> isl.Set:
        """Without those that would read what the array does not have, if it were for the data to happen."""
        if slot is None or slot.relation is None:
            return executions
        statement = self.session.p.statement(slot.statement)
        access = next((a for a in statement.accesses if a.reference == slot.reference and not a.write), None)
        if access is None or access.must:
            return executions
        elements = everything(self.session, self.session.p.array(slot.reference.array))
        read = here.intersect_domain(executions).apply_range(slot.relation.reset_tuple_id(D.out))
        return read.intersect_range(elements).domain()

    def _slot(self, leaf: Leaf) -> Slot | None:
        m = self.action.matched
        assert m is not None
        if isinstance(leaf.source, str):
            return None
        return self.session.source.reading(m.statement, m.number, leaf.source, leaf.implied)

    def _loaded(
        self, o: Origin, loaded: Place, pairs: isl.Map, here: isl.Map, slot: Slot | None, leaf: Leaf
    ) -> None:
        if slot is None:
            bad = self._read(leaf.place, pairs.domain())
            self._fail(f"reads global memory for the local '{leaf.source}'", leaf.place, bad, here, None)
            return
        if loaded.array in self.session.initial:
            self._initial(o, loaded, pairs, here, slot)
            return
        m = self.action.matched
        direct = m is not None and o.by is self.action
        plainly = direct and m is not None and _equal(loaded, leaf.element, m.inside)
        if not self._temporary(loaded) and not (plainly and loaded.array == slot.array):
            reads = pairs.apply_range(self.session.address(o.by, loaded, BLOCK))
            if not self._same_element(loaded, reads, here, slot):
                return
        users = self.session.instances(self.action, WHOLE)
        if not direct:
            users = whole(pairs.reverse(), self.action).apply_range(users)
        place = self.session.address(o.by, loaded, WHOLE)
        for p in self.uses.passed.get(loaded.array, ()):
            copied = place.intersect_range(p.address.range()).domain()
            self._copied(p, o, place, users.intersect_domain(copied), slot)
            users = users.subtract_domain(copied)
        self.uses.add(Use(self.trace, o.by, loaded, place, users, slot, False))

    def _copied(self, p: Passed, o: Origin, place: isl.Map, users: isl.Map, slot: Slot) -> None:
        """Reads of copies, which stand for reads of what was copied: of some more instances, in one piece."""
        if users.is_empty():
            return
        if slot.relation is None:
            raise UnanalysableError(f"'{p.place.array}' is copied for reads that depend on data")
        p.check_order(self.trace, o.by, place.intersect_domain(users.domain()))
        loaded = p.pairs.apply_range(self.session.address(p.load, p.place, WHOLE))
        meant = slot.relation.reset_tuple_id(D.out)
        elements = users.reverse().apply_range(place).apply_range(p.address.reverse()).apply_range(loaded)
        if p.place.array != slot.array or not elements.is_subset(meant):
            raise UnanalysableError(
                f"a copy of another element of '{p.place.array}' than the source's is read"
            )
        by = (
            meant.intersect_domain(ordered_hull(users.range()))
            .apply_range(loaded.reverse())
            .apply_range(p.pairs)
        )
        address = self.session.address(p.load, p.place, WHOLE)
        use = Use(p.trace, p.load, p.place, address, by.reverse(), slot, False, [users.range()])
        for other in self.uses.found.get(p.place.array, ()):
            if use.is_part_of(other):
                other.only.extend(use.only if other.only else ())
                return
        self.uses.add(use)

    def _initial(self, o: Origin, loaded: Place, pairs: isl.Map, here: isl.Map, slot: Slot) -> None:
        """Reads of what an array held in the beginning, in a temporary that it was copied to."""
        copied = self.session.initial[loaded.array]
        if self.trace.launch.number <= copied.launch or slot.relation is None or copied.array != slot.array:
            raise UnanalysableError(f"'{loaded.array}' is read for something else than '{copied.array}'")
        reads = pairs.apply_range(self.session.address(o.by, loaded, BLOCK))
        meant = here.apply_range(slot.relation.reset_tuple_id(D.out))
        missing = self._defined(reads.subtract_range(copied.elements.domain()), meant, slot)
        if not missing.is_empty():
            self._fail("reads an element that nobody copied", loaded, missing, here, slot)
            return
        other = self._defined(reads.apply_range(copied.elements).subtract(meant), meant, slot)
        if not other.is_empty():
            text = self._meant(other, here, slot)
            self._fail("reads a copy of another element than the source", loaded, other, here, slot, text)
            return
        _, before = self.session.source.writers(slot)
        late = reads.intersect_domain(here.subtract_range(before).domain())
        if not late.is_empty():
            self._fail("reads what was before the region, not what it has written", loaded, late, here, slot)

    def _computed(self, o: Origin, pairs: isl.Map, here: isl.Map, slot: Slot | None, leaf: Leaf) -> None:
        """`pairs`: reading executions to those of the action that computed what they read."""
        made = self._made(o)
        theirs = self.session.instances(o.by, BLOCK)
        flow = here.reverse().apply_range(pairs)
        # garbage computed outside of the statement's domain must not be read
        missing = pairs.subtract_range(theirs.domain())
        if not missing.is_empty():
            bad = self._read(leaf.place, missing.domain())
            self._fail("reads what no instance of the source computed", leaf.place, bad, here, slot)
            return
        allowed = self._expected(slot, leaf, made.statement, made.number)
        got = flow.apply_range(theirs)
        wrong = got if allowed is None else got.subtract(allowed)
        if slot is not None and not wrong.is_empty():
            wrong = wrong.subtract_domain(self.session.source.undefined(slot))
        if not wrong.is_empty():
            self._other_writer(wrong, o, slot)

    def _made(self, o: Origin) -> Matched:
        """What the maker of a value is in the source."""
        if o.by in self.session.partial:
            raise UnanalysableError("a partial result is read that may not be complete")
        assert o.by.matched is not None
        return o.by.matched

    def _expected(self, slot: Slot | None, leaf: Leaf, statement: str, number: Number) -> isl.Map | None:
        """Reading to writing instances that the source has for this writing action."""
        m = self.action.matched
        assert m is not None
        if slot is None:
            assert isinstance(leaf.source, str)
            given = self.session.source.assigned(m.statement, m.number, leaf.source, leaf.implied)
            return given[number].identity() if statement == m.statement and number in given else None
        writers, _ = self.session.source.writers(slot)
        found: isl.Map | None = None
        for w in writers:
            if (w.statement, w.number) == (statement, number):
                found = w.instances if found is None else found.union(w.instances)
        return found

    def _other_writer(self, wrong: isl.Map, o: Origin, slot: Slot | None) -> None:
        assert o.by.matched is not None
        m = self.action.matched
        assert m is not None
        p = self.session.p
        found = example(p, wrong)
        writer, reader = p.statement(o.by.matched.statement), p.statement(m.statement)
        reading, writing = values(found.pair, D.in_), values(found.pair, D.out)
        self.session.failures.append(
            Failure(
                VALUES,
                self.kernel,
                "an instance reads what another one computed than in the source",
                shown(p, writer, writing, None, True).rstrip(";") + self._right_writer(found, slot),
                shown(p, reader, reading, slot.reference if slot else None, False),
                _element_read(found, slot),
                found.parameters,
                (writer.position, reader.position),
            )
        )

    def _right_writer(self, found: Example, slot: Slot | None) -> str:
        """`, not S0[i=3]`: who computed in the source what the first of the pair reads."""
        if slot is None:
            return ""
        for w in self.session.source.writers(slot)[0]:
            if not found.of(w.instances).is_empty():
                return f", not {named(found.p, found.p.statement(w.statement), found.image(w.instances))}"
        return ", not the value from before"

    def _store_of_copy(self, target: Place) -> None:
        """A store of what was kept on the chip, or of what was loaded."""
        if target.array in self.session.initial:
            return
        if not self.action.reads:
            self._visible(target, self.session.address(self.action, target, WHOLE))
            return
        origins = self.locals.origins(self.action, self.action.reads[0])
        if not origins.unknown.is_empty():
            self._visible(target, whole(origins.unknown.identity(), self.action))
        for o in origins.found:
            self._store_from(target, o)

    def _store_from(self, target: Place, o: Origin) -> None:
        address = self.session.address(self.action, target, WHOLE)
        pairs = whole(o.pairs, self.action)
        if o.loaded is not None:
            loaded = pairs.apply_range(self.session.address(o.by, o.loaded, WHOLE))
            if o.loaded.index is not None and self._temporary(target) and not self._temporary(o.loaded):
                there = address.intersect_domain(pairs.domain())
                passed = Passed(self.trace, self.action, o.by, o.loaded, there, pairs)
                self.uses.passed.setdefault(target.array, []).append(passed)
                return
            same = o.loaded.array == target.array and loaded.is_subset(address)
            if not same or o.loaded.index is None:
                raise UnanalysableError(f"'{target.array}' gets a copy of '{o.loaded.array}'")
            kept = Unchanged(self.trace, self.action, o.by, address, pairs)
            self.uses.unchanged.setdefault(target.array, []).append(kept)
            return
        matched = self._made(o)
        made = self.session.instances(o.by, WHOLE)
        garbage = pairs.subtract_range(made.domain())
        if not garbage.is_empty():
            self._visible(target, garbage)
            return
        slot = self.session.source.writing(matched.statement, matched.number)
        if slot is None:
            raise UnanalysableError("a local of an instance is stored")
        instances = pairs.apply_range(made)
        self._store(target, address.intersect_domain(instances.domain()), instances, slot)


def _equal(place: Place, element: tuple[isl.PwAff, ...] | None, inside: isl.Set) -> bool:
    """Whether the subscripts are these ones, without a look at what instances they belong to."""
    if place.index is None or element is None or len(element) != len(place.index):
        return False
    return all(inside.is_disjoint(a.ne_set(b)) for a, b in zip(place.index, element, strict=True))


def _element_read(found: Example, slot: Slot | None) -> str:
    if slot is None or slot.relation is None:
        return slot.array if slot is not None else "a local of the instance"
    return element(slot.array, found.image(slot.relation))


def unstored(session: Session, w: Slot, stores: list[Use]) -> isl.Set:
    """The instances of a write of the source whose value never reaches global memory."""
    missing = w.reached
    for s in stores:
        if (s.slot.statement, s.slot.number) == (w.statement, w.number):
            missing = session.beyond(missing, s.instances)
    return missing
