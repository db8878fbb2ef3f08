"""Splitting a statement at `?:` with affine tests, so that each case reads only its own elements.

x[i] = i > 0 ? a[i - 1] : 0    ->    x[i] = a[i - 1] where i > 0;  x[i] = 0 where i <= 0
"""

from __future__ import annotations

from dataclasses import replace

from polygpu.frontend.shape.affine import Affine, invert, plain
from polygpu.model.expr import Binary, Cast, Expr, Int, Reference, Select, Unary, type_of
from polygpu.model.linear import conjuncts
from polygpu.model.rewrite import children, reads_memory, rewrite
from polygpu.model.scop import Action, Branch, Let, Store
from polygpu.support.dataclass import dataclass

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
        replaced = _replaced(action, select, exact)
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
    match plain(test):
        case Unary("!", operand):
            return implied(affine, operand, not holds)
        case Binary("==" | "!=" as op, truth, Int(0)) | Binary("==" | "!=" as op, Int(0), truth):
            return implied(affine, truth, holds == (op == "!="))
        case Binary("&&" | "||" as op, left, right):
            first, second = implied(affine, left, holds), implied(affine, right, holds)
            if holds == (op == "&&"):  # both hold, or neither does
                return second if first is None else first if second is None else Binary("&&", first, second)
            return None if first is None or second is None else Binary("||", first, second)
    return None


def _find(affine: Affine, action: Action) -> Select | None:
    """The outermost such `?:` that is computed in every instance of the statement."""
    match action:
        case Store(_, value) | Let(_, _, value, _):
            return _find_in(affine, value)
        case Branch(test, _, _):
            return _find_in(affine, test)
    return None


def _find_in(affine: Affine, expr: Expr) -> Select | None:
    if isinstance(expr, Select):
        if (reads_memory(expr.yes) or reads_memory(expr.no)) and affine.condition(expr.test) is not None:
            return expr
        return _find_in(affine, expr.test)
    for part in _certain(expr):
        if (found := _find_in(affine, part)) is not None:
            return found
    return None


def _certain(expr: Expr) -> tuple[Expr, ...]:
    """The parts of `expr` that are computed whenever it is."""
    match expr:
        case Binary("&&" | "||", left, _):
            return (left,)
        case Reference():
            return ()
    return children(expr)


def _replaced(action: Action, select: Select, value: Expr) -> Action:
    """`action` with `value` in place of the `select` that `_find` found."""

    def put(expr: Expr) -> Expr:
        return rewrite(expr, lambda e: value if e is select else None)

    match action:
        case Branch():
            return replace(action, test=put(action.test))
        case Store() | Let():
            return replace(action, value=put(action.value))
    return action
