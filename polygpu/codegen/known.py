"""What is known of names where code stands: intervals, and sums that are not negative."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from polygpu.analysis.intervals import Interval, interval
from polygpu.codegen.linear import Linear, linear
from polygpu.model.expr import Binary, Call, Expr, Int, Name

_COMBINED = 2
Beyond = list[tuple[Expr, Interval]]


@dataclass(frozen=True)
class Known:
    """`facts` are sums that are at least 0."""

    names: Mapping[str, Interval] = field(default_factory=dict)
    facts: tuple[Linear, ...] = ()

    def interval(self, expr: Expr, beyond: Beyond) -> Interval | None:
        """As `analysis.intervals.interval`, and by the facts."""
        return interval(expr, self.names, beyond, self._tightened)

    def bind(self, name: str, found: Interval | None) -> Known:
        """With a new meaning of `name`, of which nothing else is known."""
        names = {n: i for n, i in self.names.items() if n != name}
        facts = tuple(f for f in self.facts if all(atom != Name(name) for atom, _ in f.terms))
        return Known(names if found is None else {**names, name: found}, facts)

    def where(self, test: Expr) -> Known:
        """Where `test` holds, as far as it is a conjunction of comparisons of sums."""
        known = replace(self, facts=(*self.facts, *_facts(test)))
        for fact in known.facts[len(self.facts) :]:
            known = known._narrowed(fact)
        return known

    def _narrowed(self, fact: Linear) -> Known:
        """Each name of the sum bounded by what the rest of it is at most."""
        names = dict(self.names)
        for atom, c in fact.terms:
            most = self._most(fact.plus(Linear(((atom, c),)), -1))
            if isinstance(atom, Name) and atom.name in names and most is not None:
                low, high = names[atom.name]
                # c x >= -most
                low, high = (max(low, -(most // c)), high) if c > 0 else (low, min(high, most // -c))
                names[atom.name] = (low, max(low, high))
        return replace(self, names=names)

    def _most(self, sum_: Linear) -> int | None:
        total = sum_.constant
        for atom, c in sum_.terms:
            ends = interval(atom, self.names, [])
            if ends is None:
                return None
            total += c * ends[1 if c > 0 else 0]
        return total

    def _tightened(self, expr: Expr, found: Interval) -> Interval:
        sum_, (low, high) = linear(expr), found
        high = min(high, self._bound(sum_, high, _COMBINED))
        low = max(low, -self._bound(sum_.times(-1), -low, _COMBINED))
        return low, max(low, high)

    def _bound(self, sum_: Linear, most: int, count: int) -> int:
        """What `sum_` is at most: a sum s is at most s + f for facts f, up to `count` of them together."""
        found = self._most(sum_)
        most = most if found is None else min(most, found)
        if not count:
            return most
        terms = dict(sum_.terms)
        for fact in self.facts:
            if any(c * terms.get(atom, 0) < 0 for atom, c in fact.terms):
                most = min(most, self._bound(sum_.plus(fact), most, count - 1))
        return most


def _facts(test: Expr) -> Iterator[Linear]:
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
