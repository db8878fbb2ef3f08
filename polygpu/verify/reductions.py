"""Sums whose terms are added in another order than the source's, and likewise products and so on.

The source updates an element by a chain of instances, each of which reads what the one before has written.
The device may combine the same terms in any order: threads start from neutral values, update them by terms,
and combine such partial results, until an action updates the element itself by the last of them. For that to
be a permutation of the source's sum,

- a term's execution is an instance of the source, and no two are the same one (and each is executed: see
  `instances`),
- a value that has terms in it is read just once by what makes another partial result of it, and with terms
  of the same element only: so each term gets, by exactly one way, into an update of its element,
- partial results that get to other launches are each stored once in a turn of the host's loops, by a launch
  before that which reads them,
- an element is updated once in a turn, from its own old value, and only where it has instances,
- of an element's instances in a turn just one does not read what another of them has written: they follow
  each other in the source, with nothing in between. The update reads what the first of them reads and stores
  what the last of them does.

What other instances read of the element is then for the other checks: they find the values between the first
and the last of a turn nowhere stored, and refuse what reads a partial result. Races are for `races`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from functools import cached_property, reduce
from itertools import combinations
from math import inf

import islpy as isl

from polygpu.model.expr import Binary, Cast, Expr, Int, Literal, Unary, is_floating, limits
from polygpu.model.scop import Number
from polygpu.model.updates import EXTREMES, FUNCTIONS
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, coalesced
from polygpu.verify.counterexample import doer, example, fixed_at
from polygpu.verify.events import Do, executions
from polygpu.verify.last import subtracted
from polygpu.verify.order import BLOCK, WHOLE, Frame
from polygpu.verify.partials import Partials, groups, operator_of, same, same_place, store_of, updated
from polygpu.verify.session import Session
from polygpu.verify.slots import Slot
from polygpu.verify.source import UnanalysableError
from polygpu.verify.values import Use, Uses
from polygpu.verify.verdict import VALUES, Failure


def check_reductions(session: Session, uses: Uses, reassociated: Collection[str]) -> None:
    """Allowed are sums in arrays that may be `reassociated`; others are left open."""
    for actions in groups(session):
        with session.step(VALUES, actions[0].point.launch.kernel):
            session.partial.update((a, ()) for a in actions)
            session.partial.update((a, updated(session, a)) for a in actions)
            _Reduction(session, Partials(session, actions)).check(uses, reassociated)


@dataclass
class _Reduction:
    """The sums of a launch, or of several in turn, in one array."""

    session: Session
    partials: Partials
    named: dict[bool, dict[Do, isl.Map]] = field(default_factory=dict)
    updated: dict[Do, isl.Map] = field(default_factory=dict)  # executions to the one element they are for

    @cached_property
    def where(self) -> tuple[str, Number]:
        """The statement of the terms, and the number of its action."""
        matched = (a.matched for a in self.partials.terms)
        found = {(m.statement, m.number) for m in matched if m is not None}
        if len(found) != 1:
            raise UnanalysableError(f"terms of {len(found)} statements are combined")
        return found.pop()

    @cached_property
    def write(self) -> Slot:
        return self._slot(True)

    @cached_property
    def read(self) -> Slot:
        return self._slot(False)

    def _slot(self, write: bool) -> Slot:
        """The chain's access of its element."""
        slot = self.session.source.writing(*self.where)
        assert slot is not None and not slot.implied
        accesses = (s for s in self.session.source.at(*self.where) if s.write == write)
        found = next(s for s in accesses if same(s.reference, slot.reference))
        if found.relation is None:
            raise UnanalysableError(f"'{found.array}' has a subscript that depends on data")
        return found

    @cached_property
    def element(self) -> isl.Map:
        """Instances to the element that they update."""
        assert self.write.relation is not None
        return self.write.relation.reset_tuple_id(D.out)

    @cached_property
    def operator(self) -> str:
        a = self.partials.terms[0].matched
        assert a is not None
        found = operator_of(store_of(self.session, a))
        assert found is not None
        functions = self.session.region.functions
        if found in FUNCTIONS and any(re.search(rf"\b{found}\s*\(", text) for text in functions):
            raise UnanalysableError(f"'{found}' is a function of the source")
        return found

    def check(self, uses: Uses, reassociated: Collection[str]) -> None:
        array = self.write.array
        if array not in reassociated and is_floating(self.write.reference.type):
            raise UnanalysableError(f"terms of '{array}' are combined in another order than the source's")
        self._well_formed()
        actions, terms, ends = self.partials.actions, self.partials.terms, self.partials.ends
        sound = [*map(self._instances, terms), self._once(), *map(self._reads, actions)]
        sound += [self._used(a) for a in actions if a not in ends]
        sound += [self._one_element(a) for a in (*terms, *ends)]
        self._kept_once()
        if all(sound):
            self._stands_for(uses)
            self.session.reassociated[array] = self.operator

    def _well_formed(self) -> None:
        """What an action may be: a constant, a copy on the chip, a combination, a term, an update."""
        for a in self.partials.actions:
            if a.asynchronous or a.combines not in ("", self.operator):
                raise UnanalysableError(f"'{self.write.array}' is combined by something else as well")
            updates = self.session.partial[a]
            places = (updates[0].place,) if updates else () if a in self.partials.ends else a.reads
            if any(map(self.partials.outside, places)):
                raise UnanalysableError(f"a partial result of '{self.write.array}' has its old value in it")
        for a in self.partials.ends:
            target, old = a.target, [r for r in a.reads if self.partials.outside(r)]
            if not a.combines or len(old) != 1 or target is None or not same_place(old[0], target):
                raise UnanalysableError(f"partial results of '{self.write.array}' leave the chip")
            if self.operator in EXTREMES and a.reads[0] is not old[0]:
                raise UnanalysableError(f"the old value of '{self.write.array}' is taken for a term")
            if target.array != self.write.array:
                raise UnanalysableError(f"sums of '{self.write.array}' are stored in '{target.array}'")

    def _elements(self, exactly: bool) -> dict[Do, isl.Map]:
        """Executions whose value has terms in it, to the elements whose terms these are.

        There are some more unless `exactly` these are asked for.
        """
        if exactly not in self.named:
            found = {a: self._own(a) for a in self.partials.actions}
            self.partials.solve(found, lambda a: self._elements_read(a, found, exactly))
            self.named[exactly] = found
        return self.named[exactly]

    def _own(self, a: Do) -> isl.Map:
        """Of terms."""
        if a.matched is not None:
            return self.session.instances(a, self.partials.frame).apply_range(self.element)
        space = self.partials.executions(a).get_space()
        return isl.Map.from_domain_and_range(isl.Set.empty(space), self.element.range())

    def _elements_read(self, a: Do, known: Mapping[Do, isl.Map], exactly: bool) -> isl.Map:
        """The elements whose terms are in what an execution reads, given those of others."""
        parts = [
            pairs.apply_range(known[by])
            for by, pairs in self.partials.edges(a)
            if not self.partials.full(by).is_empty()
        ]
        everywhere = self.partials.executions(a)
        nothing = self._own(a).intersect_domain(isl.Set.empty(everywhere.get_space()))
        found = coalesced(reduce(isl.Map.union, parts, nothing))
        if exactly or found.is_empty():
            return found
        return isl.Map.from_basic_map(found.remove_divs().simple_hull()).intersect_domain(everywhere)

    def _instances(self, a: Do) -> bool:
        """Each execution of a term is an instance of the source."""
        dims = WHOLE.dims(a.point)
        beyond = executions(a.point, dims).subtract(self.session.instances(a, WHOLE).domain())
        return self._holds("a term that no instance of the source has", a, beyond, WHOLE)

    def _once(self) -> bool:
        """No instance is executed twice, in any launch."""
        found = [
            (a, self.session.instances(a, WHOLE))
            for trace in self.session.traces
            for a in trace.actions
            if a.matched is not None and (a.matched.statement, a.matched.number) == self.where
        ]
        message = "a term is in the sum more than once"
        for a, instances in found:
            others = instances.apply_range(instances.reverse())
            twice = others.subtract(isl.Map.identity(others.get_space())).domain()
            if not self._holds(message, a, twice, WHOLE):
                return False
        return all(
            self._holds(message, a, one.intersect_range(two.range()).domain(), WHOLE)
            for (a, one), (_, two) in combinations(found, 2)
        )

    def _reads(self, a: Do) -> bool:
        """What an action combines, or copies for one that does, are terms and neutral values."""
        sound = True
        for k in range(len(self.partials.operands(a))):
            missing = self.partials.live[a]
            for by, pairs in self.partials.made(a, k):
                missing = subtracted(missing, pairs.domain())
                if by.matched is None and not by.reads:
                    start = self.partials.executions(a).intersect(pairs.domain())
                    neutral = _is_neutral(by, self.operator)
                    message = f"a sum starts from what is not neutral for '{self.operator}'"
                    sound &= neutral or self._holds(message, a, start)
            sound &= self._holds("a partial result is read that nobody computed", a, missing)
        return sound

    def _used(self, a: Do) -> bool:
        """What has terms in it is read once by what makes a new partial result, or the end result, of it;
        a copy only is if that is read.
        """
        full = self.partials.full(a).intersect(self.partials.live[a])
        seen = twice = isl.Set.empty(full.get_space())
        for reader in self.partials.actions:
            for by, pairs in self.partials.edges(reader):
                if by is a:
                    uses = pairs.intersect_domain(self.partials.live[reader]).reverse().intersect_domain(full)
                    twice = twice.union(seen.intersect(uses.domain())).union(_several(uses))
                    seen = seen.union(uses.domain())
        bad = {"a partial result is combined with others twice": twice}
        bad["a partial result is left out"] = full.subtract(seen)
        return all(
            where.is_empty() or self._holds(message, a, where.intersect(self.partials.full(a, exactly=True)))
            for message, where in bad.items()
        )

    def _one_element(self, a: Do) -> bool:
        """Terms of other elements stay out of what an instance or an update reads."""
        for exactly in (False, True):
            found = self._elements_read(a, self._elements(exactly), exactly)
            mixed = _several(found) if a.matched is None else found.subtract(self._own(a)).domain()
            if mixed.is_empty():
                self.updated[a] = found
                return True
        return self._holds("terms of several elements are combined", a, mixed)

    def _holds(self, message: str, a: Do, bad: isl.Set, frame: Frame | None = None) -> bool:
        """Whether there are no `bad` executions, in the partial results' frame; they are reported."""
        if bad.is_empty():
            return True
        p = self.session.p
        if (frame or self.partials.frame) is BLOCK:
            bad = _in_whole(a, isl.Map.from_domain(bad)).domain()
        found = example(p, isl.Map.from_domain(bad))
        by = doer(p, a, fixed_at(WHOLE.dims(a.point), found.pair))
        self.session.failures.append(
            Failure(VALUES, a.point.launch.kernel, message, by=by, parameters=found.parameters)
        )
        return False

    def _stands_for(self, uses: Uses) -> None:
        """The updates as what the first instance of a launch reads, and the last one writes."""
        first, last = self._chain()
        updates = {a: self._for_element(a) for a in self.partials.ends}
        if not _once_each(updates.values()):
            raise UnanalysableError(f"'{self.write.array}' is updated several times in a launch")
        for a, keyed in updates.items():
            assert a.target is not None
            address = self.session.address(a, a.target, WHOLE)
            beyond = address.domain().subtract(keyed.apply_range(first).domain())
            if not self._holds("a store that no instance of the source makes", a, beyond, WHOLE):
                continue
            place = next(r for r in a.reads if r.space == "global")
            trace = self.session.traces[a.point.launch.number]
            uses.add(Use(trace, a, place, address, keyed.apply_range(first), self.read, False))
            uses.add(Use(trace, a, a.target, address, keyed.apply_range(last), self.write, True))

    def _for_element(self, a: Do) -> isl.Map:
        """An update's executions to their turn of the host's loops, and the element that gets the terms.

        That need not be where the device stores it: a temporary may have an element for each iteration.
        """
        found = self.updated[a] if self.partials.frame is WHOLE else _in_whole(a, self.updated[a])
        found = found.intersect_domain(executions(a.point, WHOLE.dims(a.point)))
        return _turn(found.domain(), self.rank).flat_range_product(found)

    def _kept_once(self) -> None:
        """Raises UnanalysableError where a temporary's element gets several partial results in a turn."""
        for array in {a.target.array for a in self.partials.kept if a.target is not None}:
            mine = [a for a in self.partials.kept if a.target is not None and a.target.array == array]
            if not _once_each(map(self._keyed, mine)):
                raise UnanalysableError(f"'{array}' has several partial results in one element")

    def _keyed(self, a: Do) -> isl.Map:
        """Executions to their turn of the host's loops, and the element that they store to."""
        assert a.target is not None
        address = self.session.address(a, a.target, WHOLE)
        return _turn(address.domain(), self.rank).flat_range_product(address)

    @property
    def rank(self) -> int:
        """The loops of the host, which are the first dimensions of executions in frame WHOLE."""
        return len(self.partials.loops)

    def _chain(self) -> tuple[isl.Map, isl.Map]:
        """Turns and elements to the first of an element's instances in the turn, and to the last."""
        executed = [self.session.instances(a, WHOLE).reverse() for a in self.partials.terms]
        turns = (m.apply_range(_turn(m.range(), self.rank)) for m in executed)
        turn = coalesced(reduce(isl.Map.union, turns))
        same = turn.apply_range(turn.reverse())
        writers, _ = self.session.source.writers(self.read)
        before = [w.instances for w in writers if (w.statement, w.number) == self.where]
        inside = reduce(isl.Map.union, before, isl.Map.empty(same.get_space())).intersect(same)
        keyed = turn.flat_range_product(self.element)
        first = keyed.subtract_domain(inside.domain())
        last = keyed.subtract_domain(inside.range())
        if not (first.is_injective() and last.is_injective()):
            raise UnanalysableError(f"other statements use '{self.write.array}' between terms of a sum")
        return first.reverse(), last.reverse()


def _several(uses: isl.Map) -> isl.Set:
    """Values that several executions read."""
    pairs = uses.reverse().apply_range(uses)
    apart = pairs.subtract(isl.Map.identity(pairs.get_space()))
    return uses.intersect_range(apart.domain()).domain()


def _once_each(keyed: Iterable[isl.Map]) -> bool:
    """Whether no two executions have the same key."""
    found = tuple(keyed)
    apart = all(one.range().is_disjoint(two.range()) for one, two in combinations(found, 2))
    return apart and all(k.is_injective() for k in found)


def _turn(whole: isl.Set, rank: int) -> isl.Map:
    """Executions in frame WHOLE to their turn of the host's loops."""
    return whole.identity().project_out(D.out, rank, whole.dim(D.set) - rank)


def _in_whole(a: Do, found: isl.Map) -> isl.Map:
    """A relation of executions in frame BLOCK in frame WHOLE."""
    missing = (n for n in WHOLE.dims(a.point) if n not in BLOCK.dims(a.point))
    for k, name in enumerate(missing):
        position = found.find_dim_by_name(D.param, name)
        if position < 0:
            found = found.insert_dims(D.in_, k, 1)
        else:
            found = found.move_dims(D.in_, k, D.param, position, 1)
    return found


def _is_neutral(a: Do, operator: str) -> bool:
    """Whether a constant changes no value that it is combined with, not even the sign of a zero."""
    assert a.target is not None and a.constant is not None
    ctype = a.target.type
    if isinstance(a.constant, Literal) and a.constant.text == "NAN":
        return operator in FUNCTIONS
    if is_floating(ctype):
        return _number(a.constant) == {
            "+": (0.0, -1.0),
            "*": (1.0, 1.0),
            ">": (inf, -1.0),
            ">=": (inf, -1.0),
            "<": (inf, 1.0),
            "<=": (inf, 1.0),
        }.get(operator)
    least, most = limits(ctype)
    neutral = {"*": 1, "&": -1, "&&": 1, ">": least, ">=": least, "<": most, "<=": most}.get(operator, 0)
    value = _integer(a.constant, ctype)
    return value is not None and (value - neutral) % (most - least + 1) == 0


def _integer(constant: Expr, ctype: str) -> int | None:
    """The value of a constant, which is one of int or else of `ctype`."""
    match constant:
        case Int(value):
            return value
        case Cast(given, operand) if given == ctype:
            return _integer(operand, ctype)
        case Binary("-", left, right):
            one, other = _integer(left, ctype), _integer(right, ctype)
            return None if one is None or other is None else one - other
    return None


def _number(constant: Expr) -> tuple[float, float] | None:
    """A floating constant: how large it is, and its sign. -0 of an integer is none."""
    if isinstance(constant, Unary) and constant.op == "-":
        found = _number(constant.operand)
        return None if found is None else (found[0], -found[1])
    if not isinstance(constant, Literal) or not is_floating(constant.type):
        return None
    try:
        return float(constant.text.lower().rstrip("f") if constant.text != "INFINITY" else inf), 1.0
    except ValueError:
        return None
