"""The original program as the certificate sees it: every access of every action, its order, its dataflow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import islpy as isl

from polygpu.analysis.polyhedra import AffineBuilder, Polyhedra, PolyStatement, access_relation, array_tuple
from polygpu.analysis.rewrite import references, walk
from polygpu.model.expr import Binary, Expr, Name, Position, Reference, wraps
from polygpu.model.scop import Access, Action, Branch, Let, Store
from polygpu.support.isl_idioms import D, coalesced
from polygpu.verify.last import last_writes
from polygpu.verify.liveness import Liveness, Number
from polygpu.verify.outcomes import implied

_STEPS = 3


@dataclass(frozen=True)
class Slot:
    """An access of an action: `relation` maps instances to elements; None for one that depends on data.

    It happens in the instances `reached`, as far as affine tests decide that. `implied` is the read of its
    old value that a conditional write stands for: such a write counts as one that always happens there, of
    either the new value or the old one.
    """

    statement: str
    number: Number
    array: str
    reference: Reference
    write: bool
    relation: isl.Map | None
    reached: isl.Set
    implied: bool = False

    @property
    def rank(self) -> tuple[Number, int]:
        """Order within an instance: an action's reads precede its write."""
        return self.number, int(self.write)


@dataclass(frozen=True)
class Writer:
    """The instance of `statement` whose action `number` wrote what a read instance reads."""

    statement: str
    number: Number
    instances: isl.Map  # reading instance to writing instance


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
class Source:
    """The dataflow of the original program `p`, array by array, computed when asked for."""

    p: Polyhedra

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(slot for s in self.p.statements for slot in _slots(self.p, s, self.happens(s.name)))

    def happens(self, statement: str) -> Mapping[Number, isl.Set]:
        """The instances in which each action of a statement may happen, as far as affine tests tell."""
        found = self._happens.get(statement)
        if found is None:
            found = self._happens[statement] = _reached(self.p, self.p.statement(statement))
        return found

    @cached_property
    def _happens(self) -> dict[str, Mapping[Number, isl.Set]]:
        return {}

    def reading(self, statement: str, number: Number, reference: Reference) -> Slot:
        return next(
            s
            for s in self.slots
            if (s.statement, s.number) == (statement, number) and not s.write and s.reference == reference
        )

    def writing(self, statement: str, number: Number) -> Slot | None:
        found = (s for s in self.slots if (s.statement, s.number) == (statement, number) and s.write)
        return next(found, None)

    def may_keep(self, statement: str, number: Number) -> bool:
        """Whether the old value may stay where a conditional assignment has its place."""
        mine = [s for s in self.slots if (s.statement, s.number) == (statement, number)]
        return any(s.implied for s in mine) or not any(s.write for s in mine)

    def writes_of(self, array: str) -> tuple[Slot, ...]:
        return tuple(s for s in self.slots if s.write and s.array == array)

    @cached_property
    def written(self) -> frozenset[str]:
        return frozenset(s.array for s in self.slots if s.write)

    def before(self, first: str, a: tuple[Number, int], second: str, b: tuple[Number, int]) -> isl.Map:
        """Pairs of instances of `first` and `second` whose accesses ranked `a` and `b` come in this order."""
        earlier, *same = self.before_parts(first, a, second, b)
        return earlier.union(same[0]) if same else earlier

    def before_parts(
        self, first: str, a: tuple[Number, int], second: str, b: tuple[Number, int]
    ) -> tuple[isl.Map, ...]:
        """The pairs of `before`: different instances, and then those of one instance, if any."""
        one, two = self.p.statement(first), self.p.statement(second)
        order = one.schedule.lex_lt_map(two.schedule)
        both = first == second and a < b and not exclusive(a[0], b[0])
        return (order, one.domain.identity()) if both else (order,)

    def writers(self, read: Slot) -> tuple[list[Writer], isl.Set]:
        """Who wrote what `read` reads, and the instances that read the contents from before the region.

        Raises Unanalysable where an access of the array depends on data.
        """
        found = self._flows.get(read)
        if found is None:
            found = self._flows[read] = self._flow(read)
        return found

    @cached_property
    def _flows(self) -> dict[Slot, tuple[list[Writer], isl.Set]]:
        return {}

    def observed(self, write: Slot) -> isl.Set:
        """The instances of a write whose value, new or old, may matter in the end.

        All of them where the array outlives the region and no write of it depends on data.
        """
        return self._observed.get(write, Observed(self.p.statement(write.statement).domain)).value

    def outlasting(self, write: Slot) -> isl.Set:
        """Those instances of a write after which an old value that it leaves in place may matter.

        What reads the element within the same branch finds the new one.
        """
        return self._observed.get(write, Observed(self.p.statement(write.statement).domain)).old

    def deciding(self, read: Slot) -> isl.Set:
        """The instances of a read on which a value depends that may matter."""
        return self._matters(read, self._observed)

    def locals(self, statement: str) -> Liveness:
        """Which assignments to locals of an instance matter."""
        found = self._locals.get(statement)
        if found is None:
            found = self._locals[statement] = Liveness()
            found.walk(self.p.statement(statement).body)
        return found

    @cached_property
    def _locals(self) -> dict[str, Liveness]:
        return {}

    def assigned(self, statement: str, number: Number, name: str, implied: bool) -> dict[Number, isl.Set]:
        """The assignments to a local whose value, new or old, action `number` finds, and in which instances.

        What is `implied` stands for the value after the whole branch, be it made on the other side.
        """
        s, happens = self.p.statement(statement), self.happens(statement)
        earlier = [n for n, a, _ in numbered(s.body) if isinstance(a, Let) and a.name == name and n < number]
        left = happens[number]
        found: dict[Number, isl.Set] = {}
        for n in reversed(earlier):
            if implied or not exclusive(n, number):
                found[n] = left.intersect(happens[n])
                left = left.subtract(happens[n])
        return found

    @cached_property
    def _observed(self) -> dict[Slot, Observed]:
        """A few steps down from all instances of writes that may matter at all.

        Those to subscripts that depend on data stay.
        """
        local = {a.name for a in self.p.arrays if not a.live_out}
        conditional = {s.reference.array for s in self.slots if s.implied}
        unclear = {s.array for s in self.slots if s.relation is None}
        writes = [
            w
            for w in self.slots
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
        """The writes that depend on a read, be it by a test or a local."""
        own = self.writing(read.statement, read.number)
        return [own] if own else [w for w in self.slots if w.statement == read.statement and w.write]

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
        same = self.p.statement(write.statement).domain.identity()
        branch = write.number[:-1]
        for read in self.slots:
            if read.write or read.array != write.array:
                continue
            for w in self.writers(read)[0]:
                if (w.statement, w.number) == (write.statement, write.number):
                    within = read.statement == write.statement and read.number[: len(branch)] == branch
                    yield read, w.instances, w.instances.subtract(same) if within else w.instances

    def _last_of(self, arrays: Iterable[str]) -> dict[Slot, isl.Set]:
        """The instances of writes that leave something behind: nothing is sure to overwrite it."""
        found: dict[Slot, isl.Set] = {}
        for array in sorted(arrays):
            writes = self.writes_of(array)
            numbers = sorted({w.rank for w in writes})
            times = {w: timed(self.p.statement(w.statement), numbers.index(w.rank)) for w in writes}
            written = {w: _known(w).reset_tuple_id(D.out).reverse() for w in writes}
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
        domain = self.p.statement(read.statement).domain
        found = isl.Set.empty(domain.get_space())
        for w in self._depending(read):
            known = observed.get(w, Observed(domain))
            found = found.union(known.old if read.implied else known.value)
        return found

    def _flow(self, read: Slot) -> tuple[list[Writer], isl.Set]:
        writes = self.writes_of(read.array)
        domain = self.p.statement(read.statement).domain
        if not writes:
            return [], domain
        numbers = sorted({s.rank for s in (read, *writes)})
        times = {w: timed(self.p.statement(w.statement), numbers.index(w.rank)) for w in writes}
        now = timed(self.p.statement(read.statement), numbers.index(read.rank))
        sink = _known(read)
        earlier: dict[Slot, isl.Map] = {}
        for w in writes:
            meet = sink.apply_range(_known(w).reverse()).intersect(times[w].lex_lt_map(now).reverse())
            # the old value that an implied read stands for may be what the other branch has written
            if w.statement == read.statement and exclusive(w.number, read.number) and not read.implied:
                meet = meet.subtract(domain.identity())
            if not meet.is_empty():
                earlier[w] = meet
        fresh = domain
        for pairs in earlier.values():
            fresh = fresh.subtract(pairs.domain())
        last = last_writes(earlier, times)
        return [Writer(w.statement, w.number, pairs) for w, pairs in last.items()], fresh


class UnanalysableError(Exception):
    """What the method cannot decide, with the reason as its message."""


def _known(slot: Slot) -> isl.Map:
    if slot.relation is None:
        raise UnanalysableError(f"'{slot.array}' has a subscript that depends on data")
    return slot.relation


def timed(s: PolyStatement, rank: int) -> isl.Map:
    zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(s.domain.get_space()))
    return s.schedule.flat_range_product(isl.Map.from_aff(zero.set_constant_val(isl.Val(rank))))


def numbered(body: tuple[Action, ...], prefix: Number = ()) -> Iterator[tuple[Number, Action, bool]]:
    """All actions with their numbers, and whether a branch decides if they happen."""
    for k, action in enumerate(body):
        number = (*prefix, k)
        yield number, action, bool(prefix)
        if isinstance(action, Branch):
            yield from numbered(action.then, (*number, 0))
            yield from numbered(action.otherwise, (*number, 1))


def exclusive(one: Number, other: Number) -> bool:
    """Whether two actions stand in different branches of a test."""
    apart = next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return apart % 2 == 1


def _reached(p: Polyhedra, s: PolyStatement) -> dict[Number, isl.Set]:
    """The instances in which each action happens, as far as the affine tests around it decide that.

    Of a write not more than the scop says of it, which may see through more tests: what the front end
    concludes from the source's tests is taken as given, as the domains of statements are.
    """
    builder = AffineBuilder(s.domain.get_space())

    def condition(test: Expr) -> isl.Set | None:
        if isinstance(test, Binary) and wraps(test):
            return None
        return builder.condition(test) if _is_affine(test, s, p) else None

    found: dict[Number, isl.Set] = {}
    for number, action, _ in numbered(s.body):
        here = found.setdefault(number, s.domain)
        if isinstance(action, Store) and len(number) > 1:
            touching = _touching(s, action.target, True)
            found[number] = here if here.is_subset(touching) else coalesced(here.intersect(touching))
        elif isinstance(action, Branch):
            for side, branch in enumerate((action.then, action.otherwise)):
                holds = implied(action.test, side == 0, condition)
                inside = here if holds is None else coalesced(here.intersect(holds))
                found |= {(*number, side, k): inside for k in range(len(branch))}
    return found


def _slots(p: Polyhedra, s: PolyStatement, happens: Mapping[Number, isl.Set]) -> Iterator[Slot]:
    first = _never_kept(p, s)
    for number, action, conditional in numbered(s.body):
        match action:
            case Store(target, value):
                reads = [*references(value), *(r for x in target.subscripts for r in references(x))]
                yield from (_slot(p, s, number, r, False, happens[number]) for r in dict.fromkeys(reads))
                if conditional and number not in first:
                    yield _slot(p, s, number, target, False, happens[number], implied=True)
                yield _slot(p, s, number, target, True, happens[number])
            case Let(_, _, value, _) | Branch(value, _, _):
                yield from (
                    _slot(p, s, number, r, False, happens[number]) for r in dict.fromkeys(references(value))
                )


def _never_kept(p: Polyhedra, s: PolyStatement) -> frozenset[Number]:
    """The first writes of elements that a branch writes on both sides: values from before it are gone.

    Such a write counts as one that happens and gives the element any value, up to the one that really does.
    """
    found: set[Number] = set()
    for outer, branch, _ in numbered(s.body):
        if not isinstance(branch, Branch):
            continue
        sure = _written(p, s, (branch,))
        first: dict[Reference, Number] = {}
        for number, action, _ in numbered(s.body):
            if isinstance(action, Store) and number[: len(outer)] == outer:
                r = _placeless(action.target)
                if r in sure:
                    first.setdefault(r, number)
        found.update(first.values())
    return frozenset(found)


def _written(p: Polyhedra, s: PolyStatement, body: tuple[Action, ...]) -> frozenset[Reference]:
    """What `body` writes for sure."""
    found: frozenset[Reference] = frozenset()
    for action in body:
        match action:
            case Store(target, _) if all(_is_affine(x, s, p) for x in target.subscripts):
                found |= {_placeless(target)}
            case Branch(_, then, otherwise):
                found |= _written(p, s, then) & _written(p, s, otherwise)
    return found


def _placeless(r: Reference) -> Reference:
    """The reference wherever it stands in the source."""
    return replace(r, site=-1)


def _slot(
    p: Polyhedra,
    s: PolyStatement,
    number: Number,
    r: Reference,
    write: bool,
    inside: isl.Set,
    implied: bool = False,
) -> Slot:
    relation = None
    if all(_is_affine(x, s, p) for x in r.subscripts):
        access = Access(r, write, True, True, s.position, s.text)
        relation = access_relation(AffineBuilder(s.domain.get_space()), inside, access)
        if not write and not implied:
            relation = relation.intersect_domain(_touching(s, r, False))
    return Slot(s.name, number, array_tuple(r), r, write, relation, inside, implied)


def _touching(s: PolyStatement, r: Reference, write: bool) -> isl.Set:
    """The instances in which `s` may access `r`: no affine test within it says otherwise."""
    found = [a.relation.domain() for a in s.accesses if a.reference == r and a.write == write]
    return reduce(isl.Set.union, found) if found else s.domain


def _is_affine(expr: Expr, s: PolyStatement, p: Polyhedra) -> bool:
    """Whether a subscript or a test is an affine one of iterators and parameters."""
    known = {*s.iterators, *p.parameters}
    names = {e.name for e in walk(expr) if isinstance(e, Name)}
    if not names <= known or any(references(expr)):
        return False
    try:
        AffineBuilder(s.domain.get_space()).condition(expr)
    except (ValueError, isl.Error):
        return False
    return True


def position_of(s: PolyStatement, r: Reference, write: bool) -> Position:
    return next(
        (a.position for a in s.accesses if a.reference == r and a.write == write),
        s.position,
    )
