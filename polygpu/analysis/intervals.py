"""Between which numbers the values of integer expressions lie, and which may not fit into their type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from polygpu.model.expr import (
    COMPARISONS,
    Binary,
    Call,
    Cast,
    Expr,
    Int,
    Name,
    Select,
    Unary,
    is_floating,
    limits,
    type_of,
)
from polygpu.model.rewrite import children

Interval: TypeAlias = tuple[int, int]
"""The least and the greatest value."""
Tighten: TypeAlias = Callable[[Expr, Interval], Interval]
"""What a value lies in, given what it lies in at most: by what else is known of the names in it."""


def interval(
    expr: Expr,
    names: Mapping[str, Interval],
    beyond: list[tuple[Expr, Interval]],
    tighten: Tighten = lambda _, found: found,
) -> Interval | None:
    """What `expr` lies in where `names` lie in theirs; None of data, and of products of variables.

    Of the expressions that it consists of, those of a signed type that may not fit go to `beyond`, with what
    they lie in; computed on, they count as what fits. `tighten` is asked before. Comparisons have no
    interval, only parts.
    """
    operands = children(expr)
    parts = tuple([interval(part, names, beyond, tighten) for part in operands]) if operands else ()
    found = _value(expr, parts, names)
    if found is None:
        return None
    ctype = type_of(expr)
    low, high = limits(ctype)
    if _inside(found, (low, high)):
        return found
    if ctype.startswith("unsigned"):
        return None  # C wraps it around
    found = tighten(expr, found)
    if not _inside(found, (low, high)):
        beyond.append((expr, found))
    return max(low, min(found[0], high)), min(high, max(found[1], low))


def whole(expr: Expr, names: Mapping[str, Interval]) -> Interval | None:
    """As `interval`, of whole numbers: no part counts as what fits."""
    found = _value(expr, tuple([whole(part, names) for part in children(expr)]), names)
    if found is None:
        return None
    ctype = type_of(expr)
    return None if ctype.startswith("unsigned") and not _inside(found, limits(ctype)) else found


def _inside(found: Interval, limit: Interval) -> bool:
    return limit[0] <= found[0] and found[1] <= limit[1]


def _value(expr: Expr, parts: tuple[Interval | None, ...], names: Mapping[str, Interval]) -> Interval | None:
    match expr:
        case Int(value):
            return value, value
        case Name(name, _):
            return names.get(name)
        case Select():
            return _union(parts[1:])
        case Binary(op) if op in COMPARISONS:
            return None
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(parts) or not parts:
        return None
    match expr:
        case Unary("-"):
            return -known[0][1], -known[0][0]
        case Unary("+"):
            return known[0]
        case Cast(ctype, _) if not is_floating(ctype):
            low, high = limits(ctype)
            return known[0] if low <= known[0][0] and known[0][1] <= high else None
        case Binary(op):
            return _arithmetic(op, *known)
        case Call("min" | "max" as function, _, _):
            best = min if function == "min" else max
            return best(k[0] for k in known), best(k[1] for k in known)
        case Call("floord", _, _) if known[1][0] > 0:
            ends = [a // b for a in known[0] for b in known[1]]
            return min(ends), max(ends)
    return None


def _arithmetic(op: str, left: Interval, right: Interval) -> Interval | None:
    constant = right[0] if right[0] == right[1] else None
    match op:
        case "+":
            return left[0] + right[0], left[1] + right[1]
        case "-":
            return left[0] - right[1], left[1] - right[0]
        case "*" if constant is not None or left[0] == left[1]:
            ends = [a * b for a in left for b in right]
            return min(ends), max(ends)
        case "/" if constant is not None and constant > 0:
            return _truncated(left[0], constant), _truncated(left[1], constant)
        case "%" if constant is not None and constant > 0:
            return max(min(left[0], 0), 1 - constant), min(max(left[1], 0), constant - 1)
    return None


def _truncated(value: int, divisor: int) -> int:
    """C's quotient."""
    return value // divisor if value >= 0 else -(-value // divisor)


def _union(parts: tuple[Interval | None, ...]) -> Interval | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return min(k[0] for k in known), max(k[1] for k in known)
