"""Stores that update what they write: `s[i] = s[i] + a - b` combines the old value with terms by +."""

from __future__ import annotations

from dataclasses import replace

from polygpu.model.expr import (
    Binary,
    Call,
    Cast,
    Expr,
    Int,
    Literal,
    Reference,
    Select,
    Unary,
    is_floating,
    limits,
    type_of,
)
from polygpu.model.rewrite import children, references, rewrite, with_children
from polygpu.model.scop import Store

FUNCTIONS = frozenset({"fmin", "fmax", "fminf", "fmaxf"})
EXTREMES = frozenset({"<", "<=", ">", ">="})
"""By which a term is compared with the old value, whose place it takes: `s = a > s ? a : s`."""
OPERATORS = frozenset({"+", "*", "&", "|", "^", "&&", "||"}) | FUNCTIONS
"""Commutative, and associative up to rounding, in each type that `update` lets them have."""

TRUTH = frozenset({"&&", "||"})  # which make 1 of all that is true, wherever they are executed at all
OTHER_SIDE = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def update(store: Store) -> str | None:
    """The operator by which `store` combines the old value of its target, an operand once, with terms.

    Terms do not read the array. Integers wrap around, so what is computed in a wider type may be cut at
    each step or at the end; what is computed in a floating type is not of an integer. Of `EXTREMES`, the old
    value stays where it is no number.
    """
    target = store.target
    if target.type == "_Bool" or is_floating(target.type) != is_floating(type_of(store.value)):
        return None
    extreme = _extreme(store.value, target)
    operators = {extreme} if extreme else set(_path(store.value, target) or ())
    found = operators.pop() if len(operators) == 1 else None
    plain = found not in FUNCTIONS | EXTREMES or type_of(store.value) == target.type
    return found if plain else None


def element_update(store: Store) -> str | None:
    """The same where terms may read what other subscripts of the array say."""
    target = store.target

    def renamed(e: Expr) -> Expr | None:
        if not isinstance(e, Reference) or e.array != target.array or alike(e, target):
            return None
        return replace(e, array=f"other {e.array}")

    return update(replace(store, value=rewrite(store.value, renamed)))


def combined(operator: str, old: Expr, term: Expr) -> Expr:
    """What an update makes of the old value and a term, or of two partial results."""
    if operator in EXTREMES:
        return Select(Binary(operator, term, old), term, old)
    if operator.isidentifier():
        return Call(operator, (old, term), old.type)  # type: ignore[union-attr]
    return Binary(operator, old, term)


def combination(value: Expr) -> tuple[str, Expr, Expr] | None:
    """The operator, the old value and the term of what `combined` makes."""
    match value:
        case Select(Binary(op, term, old), yes, no) if op in EXTREMES and (term, old) == (yes, no):
            return op, old, term
        case Binary(op, old, term) | Call(op, (old, term), _) if op in OPERATORS:
            return op, old, term
    return None


def _extreme(value: Expr, target: Reference) -> str | None:
    """The operator of `a > s ? a : s`, however it is written."""
    match value:
        case Select(Binary(op, left, right), yes, no) if op in EXTREMES:
            if _is(left, target):
                op, left, right = OTHER_SIDE[op], right, left
            if _is(left, target) or not _is(right, target) or _reads(left, target):
                return None
            if alike(yes, left) and _is(no, target):
                return op
            if alike(no, left) and _is(yes, target) and not is_floating(target.type):
                return OTHER_SIDE[op]
    return None


def _is(value: Expr, target: Reference) -> bool:
    return isinstance(value, Reference) and alike(value, target)


def alike(one: Expr, other: Expr) -> bool:
    """Whether both are the same, wherever they stand in the source."""
    if isinstance(one, Reference) and isinstance(other, Reference) and one.array != other.array:
        return False  # most that are compared
    return _unnumbered(one) == _unnumbered(other)


def _unnumbered(e: Expr) -> Expr:
    parts = with_children(e, tuple(map(_unnumbered, children(e))))
    return replace(parts, site=-1) if isinstance(parts, Reference) else parts


def _reads(value: Expr, target: Reference) -> bool:
    return any(r.array == target.array for r in references(value))


def _path(value: Expr, target: Reference) -> tuple[str, ...] | None:
    """The operators around `target` in `value`, None where others are or it is not there just once.

    Of two alternatives, it is there once in each.
    """
    match value:
        case Reference() if _is(value, target):
            return ()
        case Binary("-", left, right):
            return _step("+", left, right, target)
        case Binary(op, left, right) | Call(op, (left, right), _) if op in OPERATORS:
            return _step(op, left, right, target) or _step(op, right, left, target)
        case Select(test, yes, no) if not _reads(test, target):
            one, other = _path(yes, target), _path(no, target)
            if one is None or other is None or TRUTH & {*one, *other}:
                return None
            return one + other
    return None


def _step(op: str, old: Expr, term: Expr, target: Reference) -> tuple[str, ...] | None:
    path = _path(old, target)
    return None if path is None or _reads(term, target) else (op, *path)


def neutral(operator: str, ctype: str) -> Expr:
    """What changes nothing of any value, the sign of a zero included."""
    if operator in FUNCTIONS:
        return Literal("NAN", ctype)
    if operator in EXTREMES:
        return _least(ctype) if operator in (">", ">=") else _most(ctype)
    if not is_floating(ctype):
        return Cast(ctype, Int({"*": 1, "&": -1, "&&": 1}.get(operator, 0)))
    suffix = "f" if ctype == "float" else ""
    return Literal(f"1.0{suffix}", ctype) if operator == "*" else Unary("-", Literal(f"0.0{suffix}", ctype))


def _least(ctype: str) -> Expr:
    if is_floating(ctype):
        return Unary("-", Literal("INFINITY", ctype))
    least, _ = limits(ctype)
    return Cast(ctype, Binary("-", Int(least + 1), Int(1)) if least else Int(0))


def _most(ctype: str) -> Expr:
    if is_floating(ctype):
        return Literal("INFINITY", ctype)
    return Cast(ctype, Int(-1 if ctype.startswith("unsigned") else limits(ctype)[1]))
