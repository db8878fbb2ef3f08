"""What is known of names where code stands: intervals, and sums that are not negative."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property, lru_cache, reduce
from typing import Any, TypeAlias

import islpy as isl

from polygpu.analysis.intervals import Interval, interval, whole
from polygpu.analysis.polyhedra import AffineBuilder, parameter_space
from polygpu.model.expr import Binary, Call, Expr, Int, Name, limits, type_of
from polygpu.model.linear import Linear, linear
from polygpu.model.rewrite import REMEMBERED, scalars_in
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import bounded
from polygpu.support.recent import Recent

_COMBINED = 2  # facts
_INT = limits("int")
_STEPS = 50_000  # of isl, for one expression: there may be a hundred
_HOLD: Recent[isl.Set] = Recent(256)  # what tests say of names: kernels that are tried have the same
Options: TypeAlias = tuple[tuple[Linear, ...], ...]
Beyond = list[tuple[Expr, Interval]]


@dataclass(frozen=True)
class Choice:
    """Several conjunctions, of which one holds, and the `names` that they are about."""

    options: Options
    names: frozenset[str]

    @staticmethod
    def of(options: Options) -> Choice:
        return Choice(options, frozenset(n for option in options for fact in option for n in fact.names))


@dataclass(frozen=True)
class Known:
    """What `tests` say: `facts` are sums that are at least 0; of each of `choices`, one of several
    conjunctions holds. isl is asked as well where it should be `exact`. Nothing is said of names that are not
    `mentioned`. Choices have been looked at since names were narrowed, but for those that are `narrowed`.
    """

    names: Mapping[str, Interval] = field(default_factory=dict)
    facts: tuple[Linear, ...] = ()
    choices: tuple[Choice, ...] = ()
    tests: tuple[Expr, ...] = ()
    exact: bool = True
    mentioned: frozenset[str] = frozenset()
    narrowed: frozenset[str] = frozenset()

    def interval(self, expr: Expr, beyond: Beyond) -> Interval | None:
        """As `analysis.intervals.interval`, and by the facts."""
        return interval(expr, self.names, beyond, self._tightened)

    def bind(self, name: str, found: Interval | None) -> Known:
        """With a new meaning of `name`, of which nothing else is known."""
        names = {n: i for n, i in self.names.items() if n != name}
        known = replace(self, names=names if found is None else {**names, name: found})
        if name not in self.mentioned:
            return known
        facts = tuple(f for f in self.facts if name not in f.names)
        choices = tuple(c for c in self.choices if name not in c.names)
        tests = tuple(t for t in self.tests if name not in scalars_in(t))
        return replace(known, facts=facts, choices=choices, tests=tests)

    def where(self, test: Expr) -> Known:
        """Where `test` holds, as far as it consists of comparisons of sums."""
        if isinstance(test, Binary) and test.op == "&&":
            return self.where(test.left).where(test.right)
        tests, mentioned = (*self.tests, test), self.mentioned | scalars_in(test)
        if isinstance(test, Binary) and test.op == "||":
            choice = Choice.of(tuple(_options(test)))
            known = replace(self, tests=tests, mentioned=mentioned, choices=(*self.choices, choice))
            return replace(known, narrowed=self.narrowed | choice.names)._chosen()
        return self._with(_facts(test), tests=tests, mentioned=mentioned)._chosen()

    def _with(self, facts: tuple[Linear, ...], **changes: Any) -> Known:
        names = dict(self.names)
        for fact in facts:
            _narrow(names, fact)
        changed = {n for f in facts for n in f.names if names.get(n) != self.names.get(n)}
        narrowed = self.narrowed | changed
        return replace(self, names=names, facts=(*self.facts, *facts), narrowed=narrowed, **changes)

    def _chosen(self) -> Known:
        """With what is left of choices of which all else is refuted."""
        if not self.narrowed or not self.choices:
            return self
        known, kept = replace(self, narrowed=frozenset()), []
        for choice in self.choices:
            left = choice
            if choice.names & self.narrowed:
                left = Choice.of(tuple(o for o in choice.options if not any(map(self._refuted, o))))
            if len(left.options) == 1:
                known = known._with(left.options[0])
            else:
                kept.append(left)
        return replace(known, choices=tuple(kept))

    def _refuted(self, fact: Linear) -> bool:
        most = self._most(fact)
        return most is not None and most < 0

    def _most(self, sum_: Linear) -> int | None:
        total = sum_.constant
        for term in sum_.terms:
            most = _most_of(self.names, *term)
            if most is None:
                return None
            total += most
        return total

    def _tightened(self, expr: Expr, found: Interval) -> Interval:
        known = self._looked_up.get(expr)
        if known is None:
            known = self._looked_up[expr] = self._tight(expr, found)
        return known

    def _tight(self, expr: Expr, found: Interval) -> Interval:
        sum_, (low, high) = linear(expr), found
        high = min(high, self._bound(sum_, high, _COMBINED))
        low = max(low, -self._bound(sum_.times(-1), -low, _COMBINED))
        least, most = limits(type_of(expr))
        if not self.exact or (least <= low and high <= most):
            return low, max(low, high)
        return self._exactly(expr, (low, high))

    def _exactly(self, expr: Expr, found: Interval) -> Interval:
        """What isl knows: `found`, without what is beyond the type where nothing is."""
        low, high = limits(type_of(expr))
        try:
            with bounded(_STEPS):
                builder = self._builder
                value = builder.value(expr)
                here = self._where(scalars_in(expr))
                over = found[1] > high and value.gt_set(builder.value(Int(high)))
                under = found[0] < low and value.lt_set(builder.value(Int(low)))
                most = high if over and here.is_disjoint(over) else found[1]
                return (low if under and here.is_disjoint(under) else found[0]), most
        except (isl.Error, ValueError):
            return found

    @cached_property
    def _builder(self) -> AffineBuilder:
        return AffineBuilder(parameter_space(tuple(self.names)).set_from_params())

    @cached_property
    def _looked_up(self) -> dict[Expr, Interval]:
        """What expressions that may not fit lie in."""
        return {}

    @cached_property
    def _places(self) -> dict[frozenset[str], isl.Set]:
        return {}

    def _where(self, names: frozenset[str]) -> isl.Set:
        """All that is known of `names`, and of names that this mentions."""
        if names not in self._places:
            self._places[names] = self._intersected(names)
        return self._places[names]

    def _intersected(self, names: frozenset[str]) -> isl.Set:
        builder = self._builder
        left, related = list(self.tests), list[Expr]()
        while found := [t for t in left if names & scalars_in(t)]:
            left = [t for t in left if t not in found]
            names, related = names | scalars_in(*found), related + found
        for name in sorted(names & set(self.names)):
            low, high = map(Int, self.names[name])
            related.append(Binary("&&", Binary("<=", low, Name(name)), Binary("<=", Name(name), high)))

        def holds() -> isl.Set:
            conditions = sorted(map(builder.condition, related), key=isl.Set.n_basic_set)  # many pieces last
            return reduce(isl.Set.intersect, conditions, isl.Set.universe(builder.space))

        return _HOLD.get((tuple(self.names), *related), holds)

    @cached_property
    def _helping(self) -> dict[tuple[Expr, bool], list[Linear]]:
        """The facts by their atoms, and whether these count as positive."""
        found: dict[tuple[Expr, bool], list[Linear]] = {}
        for fact in self.facts:
            for atom, c in fact.terms:
                found.setdefault((atom, c > 0), []).append(fact)
        return found

    def _bound(self, sum_: Linear, most: int, count: int) -> int:
        """What `sum_` is at most: a sum s is at most s + f for facts f, up to `count` of them together."""
        found = self._most(sum_)
        most = most if found is None else min(most, found)
        if not count:
            return most
        opposite = (self._helping.get((atom, c < 0), ()) for atom, c in sum_.terms)
        for fact in {id(f): f for facts in opposite for f in facts}.values():
            most = min(most, self._bound(sum_.plus(fact), most, count - 1))
        return most


def _narrow(names: dict[str, Interval], fact: Linear) -> None:
    """Bounds each name of the sum by what the rest of it is at most."""
    each = [_most_of(names, *term) for term in fact.terms]
    total, unknown = fact.constant + sum(most or 0 for most in each), each.count(None)
    for (atom, c), mine in zip(fact.terms, each, strict=True):
        if isinstance(atom, Name) and atom.name in names and unknown == (mine is None):
            low, high = names[atom.name]
            most = total - (mine or 0)  # c x >= -most
            low, high = (max(low, -(most // c)), high) if c > 0 else (low, min(high, most // -c))
            names[atom.name] = (low, max(low, high))


def _most_of(names: Mapping[str, Interval], atom: Expr, c: int) -> int | None:
    """What `c` times an atom is at most."""
    ends = names.get(atom.name) if isinstance(atom, Name) and atom.type == "int" else None
    if ends is None or not _INT[0] <= ends[0] <= ends[1] <= _INT[1]:
        ends = whole(atom, names)  # that what it consists of fits may be what is asked about
    return None if ends is None else c * ends[1 if c > 0 else 0]


def _options(test: Expr) -> Iterator[tuple[Linear, ...]]:
    match test:
        case Binary("||", left, right):
            yield from (*_options(left), *_options(right))
        case _:
            yield _facts(test)


@lru_cache(REMEMBERED)
def _facts(test: Expr) -> tuple[Linear, ...]:
    return tuple(_sums(test))


def _sums(test: Expr) -> Iterator[Linear]:
    match test:
        case Binary("&&", left, right):
            yield from (*_facts(left), *_facts(right))
        case Binary("<", left, right):
            yield from _less(left, right, 1)
        case Binary("<=", left, right):
            yield from _less(left, right, 0)
        case Binary(">", left, right):
            yield from _less(right, left, 1)
        case Binary(">=", left, right):
            yield from _less(right, left, 0)
        case Binary("==", left, right):
            yield from (*_less(left, right, 0), *_less(right, left, 0))


def _less(left: Expr, right: Expr, by: int) -> Iterator[Linear]:
    """Of left + by <= right: also of each operand of a minimum on the right, of a maximum on the left."""
    match left, right:
        case _, Call("min", arguments, _):
            for a in arguments:
                yield from _less(left, a, by)
        case Call("max", arguments, _), _:
            for a in arguments:
                yield from _less(a, right, by)
        case _, Call("floord", (a, Int(divisor)), _):
            yield from _less(Binary("*", left, Int(divisor)), a, by * divisor)
        case _:
            yield linear(right).plus(linear(left), -1).plus(Linear((), by), -1)
