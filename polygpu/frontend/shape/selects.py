"""Splitting a statement at `?:` with affine tests, so that each case reads only its own elements.

x[i] = i > 0 ? a[i - 1] : 0    ->    x[i] = a[i - 1] where i > 0;  x[i] = 0 where i <= 0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from polygpu.frontend.shape.affine import Affine, conjuncts, invert
from polygpu.model.expr import Binary, Call, Cast, Expr, Reference, Select, Unary, type_of
from polygpu.model.scop import Action, Branch, Let, Store

# A statement with more cases than this keeps its `?:`.
MOST_CASES = 16


def split(affine: Affine, action: Action, depth: int = 0) -> list[tuple[tuple[Expr, ...], Action]]:
    """(conditions, action) of each case; the conditions are affine and exclude each other."""
    select = _find(affine, action) if 2**depth < MOST_CASES else None
    if select is None:
        return [((), action)]
    test = affine.condition(select.test)
    assert test is not None
    found = []
    for conditions, value in ((conjuncts(test), select.yes), ((invert(test),), select.no)):
        # The other branch still decides the type of the value (C99 6.5.15).
        ctype = type_of(select)
        exact = value if type_of(value) == ctype else Cast(ctype, value)
        replaced = _in_action(action, _replacement(select, exact))
        found += [((*conditions, *more), body) for more, body in split(affine, replaced, depth + 1)]
    return found


@dataclass(frozen=True)
class Case:
    """Where `conditions` hold, a test is `remaining`: known, or the part that depends on data."""

    conditions: tuple[Expr, ...]
    remaining: Expr | bool


def cases(affine: Affine, test: Expr) -> list[Case]:
    """The test with its affine parts decided; the conditions exclude each other and cover everything.

    C does not compute `b` in `a && b` when `a` is false: `i > 0 && x[i - 1] > 0` reads x only where
    i > 0, which bounds the domain of that case.
    """
    condition = affine.condition(test)
    if condition is not None:
        return [Case(tuple(conjuncts(condition)), True), Case((invert(condition),), False)]
    if not (isinstance(test, Binary) and test.op in ("&&", "||")):
        return [Case((), test)]
    decided = test.op == "||"
    found: list[Case] = []
    for case in cases(affine, test.left):
        if isinstance(case.remaining, bool):
            following = [Case((), decided)] if case.remaining == decided else cases(affine, test.right)
            found += [Case((*case.conditions, *more.conditions), more.remaining) for more in following]
        else:
            found.append(Case(case.conditions, Binary(test.op, case.remaining, test.right)))
    return found if len(found) <= MOST_CASES else [Case((), test)]


def implied(affine: Affine, test: Expr, holds: bool) -> Expr | None:
    """An affine condition that follows from the test, or from its opposite; None if there is none.

    The certificate draws its own conclusions in `polygpu.verify.outcomes`.
    """
    condition = affine.condition(test)
    if condition is not None:
        return condition if holds else invert(condition)
    match test:
        case Unary("!", operand):
            return implied(affine, operand, not holds)
        case Binary("&&" | "||" as op, left, right):
            first, second = implied(affine, left, holds), implied(affine, right, holds)
            if holds == (op == "&&"):  # both hold, or neither does
                return second if first is None else first if second is None else Binary("&&", first, second)
            return None if first is None or second is None else Binary("||", first, second)
    return None


def _replacement(select: Select, value: Expr) -> Callable[[Expr], Expr]:
    return lambda expr: value if expr is select else expr


def _find(affine: Affine, action: Action) -> Select | None:
    """The outermost such `?:` that is computed in every instance of the statement."""
    match action:
        case Store(_, value) | Let(_, _, value, _):
            return _find_in(affine, value)
        case Branch(test, _, _):
            return _find_in(affine, test)


def _find_in(affine: Affine, expr: Expr) -> Select | None:
    if isinstance(expr, Select):
        if (reads(expr.yes) or reads(expr.no)) and affine.condition(expr.test) is not None:
            return expr
        return _find_in(affine, expr.test)
    for part in _certain(expr):
        if (found := _find_in(affine, part)) is not None:
            return found
    return None


def _certain(expr: Expr) -> tuple[Expr, ...]:
    """The parts of `expr` that are computed whenever it is."""
    match expr:
        case Unary(_, operand) | Cast(_, operand):
            return (operand,)
        case Binary("&&" | "||", left, _):
            return (left,)
        case Binary(_, left, right):
            return left, right
        case Call(_, arguments, _):
            return arguments
    return ()


def reads(expr: Expr) -> bool:
    """Whether `expr` reads memory."""
    match expr:
        case Reference():
            return True
        case Select(test, yes, no):
            return reads(test) or reads(yes) or reads(no)
        case Binary(_, left, right):
            return reads(left) or reads(right)
    return any(map(reads, _certain(expr)))


def _in_action(action: Action, change: Callable[[Expr], Expr]) -> Action:
    match action:
        case Store(target, value):
            return Store(target, rewritten(value, change))
        case Let(name, ctype, value, assign):
            return Let(name, ctype, rewritten(value, change), assign)
        case Branch(test, then, otherwise):
            return Branch(rewritten(test, change), then, otherwise)


def rewritten(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """`expr` with `change` applied to every part, outermost first; a changed part is final."""
    new = change(expr)
    if new is not expr:
        return new
    match expr:
        case Unary(op, operand):
            return Unary(op, rewritten(operand, change))
        case Cast(ctype, operand):
            return Cast(ctype, rewritten(operand, change))
        case Binary(op, left, right):
            return Binary(op, rewritten(left, change), rewritten(right, change))
        case Select(test, yes, no):
            return Select(rewritten(test, change), rewritten(yes, change), rewritten(no, change))
        case Call(name, arguments, ctype):
            return Call(name, tuple(rewritten(a, change) for a in arguments), ctype)
    return expr
