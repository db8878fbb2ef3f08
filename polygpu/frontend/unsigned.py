"""Values that C takes as unsigned, where those below 0 mean something else than in polyhedra.

With an unsigned n, `i < n` is false of i = -1: the comparison takes it as 2^32 - 1 (C99 6.3.1.8). Sums,
differences and products need no care, since both views of them agree modulo 2^32. What looks at the value
itself does: comparisons, quotients, remainders, right shifts, and conversions to wider types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from polygpu.frontend.affine import Affine, invert
from polygpu.frontend.loops import Header
from polygpu.frontend.selects import reads, rewritten
from polygpu.model.expr import (
    SIZES,
    Binary,
    Call,
    Cast,
    Expr,
    Int,
    Literal,
    Name,
    Reference,
    Select,
    Unary,
    is_floating,
    type_of,
)
from polygpu.model.scop import Action, Branch, Let, Store

_ORDER = frozenset({"<", "<=", ">", ">="})
_PARTS = frozenset({"/", "%", ">>"})


@dataclass(frozen=True)
class Taken:
    """`value` is taken as unsigned where all `guards` hold: both views agree if it is at least 0 then."""

    value: Expr
    guards: tuple[Expr, ...] = ()

    def where(self, guard: Expr | None) -> Taken:
        return self if guard is None else replace(self, guards=(guard, *self.guards))


def of_start(affine: Affine, header: Header) -> Iterator[Taken]:
    """Of the start of a loop, where the loop is reached."""
    yield from _taken(affine, header.start)
    yield from _converted(header.start, header.type)


def of_first_test(affine: Affine, header: Header) -> Iterator[Taken]:
    """Of the test before the first iteration, where the loop is reached."""
    yield from _taken(affine, _tested(affine, header, header.start))


def of_tests(affine: Affine, header: Header) -> Iterator[Taken]:
    """Of the tests before and after an iteration, in each of them."""
    following = Binary("+", Name(header.iterator), Int(header.step))
    yield from _taken(affine, header.test)
    yield from _taken(affine, _tested(affine, header, following))


def of_if(affine: Affine, test: Expr) -> Iterator[Taken]:
    """Of an `if`, of which only parts may be affine."""
    if affine.condition(test) is not None:
        yield from _taken(affine, test)
    elif isinstance(test, Binary) and test.op in ("&&", "||"):
        yield from of_if(affine, test.left)
        guard = affine.condition(test.left)
        if guard is not None and test.op == "||":
            guard = invert(guard)
        yield from (t.where(guard) for t in of_if(affine, test.right))
    else:
        yield from _in_value(affine, test)


def of_action(affine: Affine, action: Action) -> Iterator[Taken]:
    """Of all that an action computes."""
    match action:
        case Store(target, value):
            yield from _in_value(affine, target)
            yield from _in_value(affine, value)
        case Let(_, _, value, _):
            yield from _in_value(affine, value)
        case Branch(test, then, otherwise):
            yield from _in_value(affine, test)
            for inner in (*then, *otherwise):
                yield from of_action(affine, inner)


def _tested(affine: Affine, header: Header, value: Expr) -> Expr:
    """The loop's test with `value` in place of the iterator."""

    def change(expr: Expr) -> Expr:
        if isinstance(expr, Call) and expr in affine.inlined:
            return rewritten(affine.inlined[expr], change)
        return Cast(header.type, value) if expr == Name(header.iterator) else expr

    return rewritten(header.test, change)


def _converted(expr: Expr, ctype: str) -> Iterator[Taken]:
    """The conversion of an affine `expr` itself, as of a loop's start to the type of its iterator."""
    if (ctype.startswith("unsigned") or _widened(expr, ctype)) and not _never_below(expr):
        yield Taken(expr)


def _taken(affine: Affine, expr: Expr) -> Iterator[Taken]:
    """All within an affine value or test, a C expression with the types of the source."""
    match expr:
        case Cast(ctype, operand):
            yield from _widening(ctype, operand)
            yield from _taken(affine, operand)
        case Unary(_, operand):
            yield from _taken(affine, operand)
        case Binary("&&" | "||" as op, left, right):
            yield from _taken(affine, left)
            guard = affine.condition(left, unsigned=True)
            if guard is not None and op == "||":
                guard = invert(guard)
            yield from (t.where(guard) for t in _taken(affine, right))
        case Binary(op, left, right):
            yield from _operands(op, left, right)
            yield from _taken(affine, left)
            yield from _taken(affine, right)
        case Select(test, yes, no):
            yield from _taken(affine, test)
            guard = affine.condition(test, unsigned=True)
            for part, holds in ((yes, guard), (no, None if guard is None else invert(guard))):
                found = (*_widening(type_of(expr), part), *_taken(affine, part))
                yield from (t.where(holds) for t in found)
        case Call():
            yield from _call(affine, expr)


def _call(affine: Affine, call: Call) -> Iterator[Taken]:
    if call in affine.inlined:
        yield from _taken(affine, affine.inlined[call])
        return
    for argument in call.arguments:
        if "unsigned" in call.type:  # min and max made of a < b ? a : b
            yield from _converted(argument, call.type)
        yield from _widening(call.type, argument)
        yield from _taken(affine, argument)


def _operands(op: str, left: Expr, right: Expr) -> Iterator[Taken]:
    """Of one operator, its operands converted to their common type."""
    common = type_of(Binary("+", left, right))
    if op in _ORDER:
        for side in (left, right):
            yield from _converted(side, common)
    elif op in _PARTS:
        yield from _converted(left, type_of(Binary(op, left, right)))
    else:
        yield from _widening(common, left)
        yield from _widening(common, right)


def _widening(ctype: str, operand: Expr) -> Iterator[Taken]:
    if _widened(operand, ctype) and not _never_below(operand):
        yield Taken(operand)


def _widened(expr: Expr, ctype: str) -> bool:
    """Whether the conversion keeps what an unsigned `expr` has wrapped around to."""
    before = type_of(expr)
    if not before.startswith("unsigned") or SIZES[before] < 4:
        return False
    return is_floating(ctype) or SIZES[ctype] > SIZES[before]


def _never_below(expr: Expr) -> bool:
    """Whether an integer is certainly at least 0, at one glance; iterators may be anything."""
    match expr:
        case Int(value):
            return value >= 0
        case Literal():
            return True
        case Name(_, ctype):
            return ctype.startswith("unsigned")
        case Cast(_, operand):
            return _never_below(operand)
        case Binary("+" | "*" | "/" | "%" | ">>" | "<<", left, right):
            return _never_below(left) and _never_below(right)
    return False


def _in_value(affine: Affine, expr: Expr) -> Iterator[Taken]:
    """Of what is computed as in C: its affine subscripts, and the tests that make cases of a statement."""
    match expr:
        case Reference(_, subscripts, _, _, _):
            for subscript in subscripts:
                within = _in_value if reads(subscript) else _taken
                yield from within(affine, subscript)
        case Unary(_, operand) | Cast(_, operand):
            yield from _in_value(affine, operand)
        case Binary(op, left, right):
            yield from _in_value(affine, left)
            guard = affine.condition(left) if op in ("&&", "||") else None
            if guard is not None and op == "||":
                guard = invert(guard)
            yield from (t.where(guard) for t in _in_value(affine, right))
        case Select(test, yes, no):
            guard = affine.condition(test)
            within = _taken if guard is not None and (reads(yes) or reads(no)) else _in_value
            yield from within(affine, test)
            yield from (t.where(guard) for t in _in_value(affine, yes))
            yield from (t.where(None if guard is None else invert(guard)) for t in _in_value(affine, no))
        case Call(_, arguments, _):
            for argument in arguments:
                yield from _in_value(affine, argument)
