"""The accesses of the original program's actions, and the instances in which they happen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import reduce

import islpy as isl

from polygpu.analysis.polyhedra import AffineBuilder, PolyAccess, Polyhedra, PolyStatement, array_tuple
from polygpu.model.expr import Binary, Expr, Int, Name, Position, Reference, wraps
from polygpu.model.rewrite import numbered, reads_of, references, sides, walk
from polygpu.model.scop import Action, Branch, Number, Repeat, Store
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import coalesced
from polygpu.verify.outcomes import implied


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

    def is_apart(self, other: Slot) -> bool:
        """Whether a subscript of one is another constant than the other's, of two of one array."""
        pairs = zip(self.reference.subscripts, other.reference.subscripts, strict=True)
        return any(isinstance(a, Int) and isinstance(b, Int) and a.value != b.value for a, b in pairs)


def reached(p: Polyhedra, s: PolyStatement) -> dict[Number, isl.Set]:
    """The instances in which each action happens, as far as the affine tests around it decide that.

    Of a write not more than the scop says of it, which may see through more tests: what the front end
    concludes from the source's tests is taken as given, as the domains of statements are.
    """
    builder = AffineBuilder(s.domain.get_space())

    def condition(test: Expr) -> isl.Set | None:
        if any(isinstance(e, Binary) and wraps(e) for e in walk(test)):
            return None
        return builder.condition(test) if _is_affine(test, s, p) else None

    found: dict[Number, isl.Set] = {}
    for number, action in numbered(s.body):
        here = found.setdefault(number, s.domain)
        if isinstance(action, Store) and len(number) > 1:
            touching = _touching(s, action.target)
            found[number] = here if here.is_subset(touching) else coalesced(here.intersect(touching))
        elif isinstance(action, Branch | Repeat):
            for side, inner in sides(action):
                holds = implied(action.test, side != 1, condition)
                inside = here if holds is None else coalesced(here.intersect(holds))
                found |= {(*number, side, k): inside for k in range(len(inner))}
    return found


def slots_of(p: Polyhedra, s: PolyStatement, happens: Mapping[Number, isl.Set]) -> Iterator[Slot]:
    new = _Slots(s)
    for number, action in numbered(s.body):
        reads = dict.fromkeys(r for x in reads_of(action) for r in references(x))
        yield from (new.slot(number, r, False, happens[number]) for r in reads)
        if isinstance(action, Store):
            if len(number) > 1:
                yield new.slot(number, action.target, False, happens[number], implied=True)
            yield new.slot(number, action.target, True, happens[number])


def touching(p: Polyhedra, slot: Slot) -> isl.Map:
    """Instances to the elements that an access may touch, also where that depends on data."""
    if slot.relation is not None:
        return slot.relation
    found = p.statement(slot.statement).accesses_of[slot.reference, slot.write or slot.implied]
    return reduce(isl.Map.union, (a.relation for a in found))


def first_writes(
    p: Polyhedra, s: PolyStatement, happens: Mapping[Number, isl.Set]
) -> dict[Number, list[Number]]:
    """Branches that write an element on both sides, by the writes of it that no other in them may precede.

    On both sides of an affine test there is one: they do not happen in the same instances.
    """
    found: dict[Number, list[Number]] = {}
    for outer, branch in numbered(s.body):
        sure = _written(p, s, (branch,)) if isinstance(branch, Branch) else frozenset()
        earlier: dict[Reference, isl.Set] = {}
        for number, a in numbered(s.body):
            if isinstance(a, Store) and number[: len(outer)] == outer and _placeless(a.target) in sure:
                before = earlier.get(target := _placeless(a.target))
                if before is None or before.is_disjoint(happens[number]):
                    found.setdefault(number, []).append(outer)
                earlier[target] = happens[number] if before is None else before.union(happens[number])
    return found


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


@dataclass(frozen=True)
class _Slots:
    """Slots of a statement, of which many have the same relation, in the same instances."""

    s: PolyStatement
    inside: dict[tuple[int, ...], tuple[list[PolyAccess], isl.Set, isl.Map]] = field(default_factory=dict)

    def slot(self, number: Number, r: Reference, write: bool, inside: isl.Set, implied: bool = False) -> Slot:
        found = self.s.accesses_of.get((r, write or implied), [])
        known = self._known(found, inside)
        relation = known if all(a.affine for a in found) else None
        if relation is None and not write and not implied:
            inside = known.domain()  # affine tests of a conditional expression say more
        return Slot(self.s.name, number, array_tuple(r), r, write, relation, inside, implied)

    def _known(self, found: list[PolyAccess], inside: isl.Set) -> isl.Map:
        """By identity of what is kept with the answer."""
        key = id(inside), *(id(a.relation) for a in found)
        if key not in self.inside:
            known = reduce(isl.Map.union, (a.relation for a in found)).intersect_domain(inside)
            self.inside[key] = found, inside, known
        return self.inside[key][-1]


def _touching(s: PolyStatement, r: Reference) -> isl.Set:
    """The instances in which `s` may write `r`: no affine test within it says otherwise."""
    found = [a.relation.domain() for a in s.accesses if a.reference == r and a.write]
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
    return next((a.position for a in s.accesses_of.get((r, write), [])), s.position)
