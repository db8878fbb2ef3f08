"""Tests of whether parameters are equal, as parameters that are 0 or 1.

    if (kind == a) S; else if (kind == b) T;   ->   T where kind_is_a < 1 and kind_is_b >= 1

Values that are not equal are less or greater: T would have two domains, and each further branch twice as many
as the one before. What else is about such values keeps them as they are, and so do tests of one value against
many constants, as in a long `switch`: what is left of its values is as many ranges as there are tests, while
parameters that are 0 or 1 have twice as many combinations for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from polygpu.model.expr import Binary, Expr, Int, Name, Select, Unary
from polygpu.model.rewrite import children, rewrite, scalars_in

Domain = tuple[Expr, ...]
_OPPOSITE = {"==": "!=", "!=": "=="}
_MOST = 9  # constants that one value is told apart from by parameters


def with_truths(
    domains: Iterable[Domain], elsewhere: frozenset[str], known: Callable[[Expr], Name | None]
) -> Callable[[Domain], Domain]:
    """What changes domains like these so that each test takes one range of a parameter.

    `elsewhere` are the names that more than domains are about, `known` has the parameters for values of
    others alone.
    """
    conditions = [c for domain in domains for c in domain]
    apart = _without_long(dict.fromkeys(test for c in conditions for test in _apart(c, True)))
    others = elsewhere | scalars_in(*(part for c in conditions for part in _no_test(c, apart)))
    truths = {
        test: truth
        for test in apart
        if scalars_in(test).isdisjoint(others) and (truth := known(test)) is not None
    }

    def put(e: Expr) -> Expr | None:
        match e:
            case Binary("==" | "!=" as op, left, right) if truth := truths.get(Binary("==", left, right)):
                return Binary(">=" if op == "==" else "<", truth, Int(1))
        return None

    def changed(domain: Domain) -> Domain:
        return tuple(rewrite(c, put) for c in domain) if truths else domain

    return changed


def _without_long(tests: dict[Binary, None]) -> dict[Binary, None]:
    """Without all tests of values that are compared with many constants."""
    compared = Counter(test.left for test in tests if not scalars_in(test.right))
    compared.update(test.right for test in tests if not scalars_in(test.left))
    return {t: None for t in tests if max(compared[t.left], compared[t.right]) <= _MOST}


def _apart(condition: Expr, holds: bool) -> Iterator[Binary]:
    """The tests for equality that fail where the condition holds, or else where it does not."""
    match condition:
        case Binary("&&" | "||", left, right):
            yield from _apart(left, holds)
            yield from _apart(right, holds)
        case Unary("!", operand):
            yield from _apart(operand, not holds)
        case Select(test, yes, no):
            for part in (test, yes, no):
                yield from (*_apart(part, True), *_apart(part, False))
        case Binary("==" | "!=" as op, left, right) if isinstance(left, Select) or isinstance(right, Select):
            yield from (*_apart(left, True), *_apart(right, True))
        case Binary("==" | "!=" as op, left, right):
            if (op if holds else _OPPOSITE[op]) == "!=":
                yield Binary("==", left, right)


def _no_test(condition: Expr, tests: Iterable[Expr]) -> Iterator[Expr]:
    """The largest parts that are about other things than whether those are equal."""
    match condition:
        case Binary("==" | "!=", left, right) if Binary("==", left, right) in tests:
            return
        case Binary("&&" | "||" | "==" | "!=") | Unary("!") | Select():
            for part in children(condition):
                yield from _no_test(part, tests)
        case _:
            yield condition
