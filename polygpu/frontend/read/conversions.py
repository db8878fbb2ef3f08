"""Values that a conversion may change, where polyhedra count in integers and C in types.

With an unsigned n, `i < n` is false of i = -1: the comparison takes it as 2^32 - 1 (C99 6.3.1.8). Sums,
differences and products need no care, since both views of them agree modulo 2^32. What looks at the value
itself does: comparisons, quotients, remainders, right shifts, and conversions to wider types. An iterator
of type char takes what fits into char, at its start and after each step. And kernels count in int what the
source may count in long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polygpu.frontend.names.constants import integer
from polygpu.frontend.read.loops import Header
from polygpu.frontend.read.values import converted
from polygpu.frontend.shape.affine import Affine, invert, is_mask
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
    common_type,
    is_floating,
    limits,
    type_of,
)
from polygpu.model.rewrite import children, reads_memory, rewrite
from polygpu.model.scop import COUNTED, Action, Branch, Let, Repeat, Store
from polygpu.support.dataclass import dataclass

_ORDER = frozenset({"<", "<=", ">", ">="})
_PARTS = frozenset({"/", "%", ">>"})


@dataclass(frozen=True)
class Taken:
    """`value` becomes a `type` where all `guards` hold: polyhedra are right if that does not change it."""

    value: Expr
    type: str
    guards: tuple[Expr, ...] = ()

    def where(self, guard: Expr | None) -> Taken:
        return self if guard is None else replace(self, guards=(guard, *self.guards))


def of_start(affine: Affine, header: Header) -> Iterator[Taken]:
    """Of the start of a loop, where the loop is reached."""
    yield from _taken(affine, header.counter.start)
    yield from _converted(header.counter.start, header.counter.type)


def of_first_test(affine: Affine, header: Header) -> Iterator[Taken]:
    """Of the test before the first iteration, where the loop is reached."""
    yield from _taken(affine, _tested(affine, header, header.counter.start))


def of_tests(affine: Affine, header: Header) -> Iterator[Taken]:
    """Of the tests before and after an iteration, in each of them."""
    yield from _taken(affine, header.test)
    yield from _taken(affine, _tested(affine, header, _following(header)))


def of_step(header: Header) -> Iterator[Taken]:
    """Of the step to the next iteration, in each of them."""
    if SIZES[header.counter.type] < SIZES["int"]:  # a wider type matters in the test that follows
        yield from _converted(_following(header), header.counter.type)


def _following(header: Header) -> Expr:
    return Binary("+", converted(Name(header.counter.name), _promoted(header.counter.type)), Int(header.step))


def _promoted(ctype: str) -> str:
    """The type in which arithmetic takes a `ctype`."""
    return common_type(ctype, "int")


def of_if(affine: Affine, test: Expr) -> Iterator[Taken]:
    """Of an `if`, of which only parts may be affine."""
    yield from _in_test(affine, test, True)


def _in_test(affine: Affine, test: Expr, decides: bool) -> Iterator[Taken]:
    """Of a test; what parts of it are affine matters where it `decides` which memory is accessed."""
    if decides and affine.condition(test) is not None:
        yield from _taken(affine, test)
    elif isinstance(test, Unary) and test.op == "!":
        yield from _in_test(affine, test.operand, decides)
    elif isinstance(test, Binary) and test.op in ("&&", "||"):
        yield from _in_test(affine, test.left, decides or reads_memory(test.right))
        guard = _outcome(affine.condition(test.left), test.op == "&&")
        yield from (t.where(guard) for t in _in_test(affine, test.right, decides))
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
            yield from _in_test(affine, test, True)
            for inner in (*then, *otherwise):
                yield from of_action(affine, inner)
        case Repeat(test, body):
            yield from _in_test(affine, test, True)
            for inner in body:
                yield from of_action(affine, inner)


def _tested(affine: Affine, header: Header, value: Expr) -> Expr:
    """The loop's test with `value` in place of the iterator."""

    def change(expr: Expr) -> Expr | None:
        if isinstance(expr, Call) and expr in affine.inlined:
            return rewrite(affine.inlined[expr], change)
        return Cast(_promoted(header.counter.type), value) if expr == Name(header.counter.name) else None

    return rewrite(header.test, change)


def _outcome(condition: Expr | None, holds: bool) -> Expr | None:
    """The condition, or its opposite; None where it is not affine."""
    return condition if condition is None or holds else invert(condition)


def _converted(expr: Expr, ctype: str) -> Iterator[Taken]:
    """The conversion of an affine `expr` itself, as of a loop's start to the type of its iterator."""
    if SIZES[ctype] < SIZES["int"]:
        if not _fits(expr, ctype):
            yield Taken(expr, ctype)
    elif (ctype.startswith("unsigned") or _widened(expr, ctype)) and not _never_below(expr):
        yield Taken(expr, ctype if ctype.startswith("unsigned") else type_of(expr))


def _taken(affine: Affine, expr: Expr) -> Iterator[Taken]:
    """All within an affine value or test, a C expression with the types of the source."""
    if _counted(expr):
        yield Taken(expr, "int")
    match expr:
        case Cast(ctype, operand):
            yield from _widening(ctype, operand)
            yield from _taken(affine, operand)
        case Unary(_, operand):
            yield from _taken(affine, operand)
        case Binary("&&" | "||" as op, left, right):
            yield from _taken(affine, left)
            guard = _outcome(affine.condition(left, unsigned=True), op == "&&")
            yield from (t.where(guard) for t in _taken(affine, right))
        case Binary(op, left, right):
            divisor = affine.value(right) if op == "%" else None
            if not isinstance(divisor, Int) or not is_mask(expr, divisor.value):
                yield from _operands(op, left, right)
            yield from _taken(affine, left)
            yield from _taken(affine, right)
        case Select(test, yes, no):
            yield from _taken(affine, test)
            condition = affine.condition(test, unsigned=True)
            for part, holds in ((yes, True), (no, False)):
                found = (*_widening(type_of(expr), part), *_taken(affine, part))
                yield from (t.where(_outcome(condition, holds)) for t in found)
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
        yield Taken(operand, type_of(operand))


def _widened(expr: Expr, ctype: str) -> bool:
    """Whether the conversion keeps what an unsigned `expr` has wrapped around to."""
    before = type_of(expr)
    if not before.startswith("unsigned") or SIZES[before] < 4:
        return False
    return is_floating(ctype) or SIZES[ctype] > SIZES[before]


def _counted(expr: Expr) -> bool:
    """Whether C computes `expr` in a type that holds more than int; less would be undefined in C."""
    match expr:
        case Int(value):
            return abs(value) > COUNTED
        case Literal(text, ctype):
            number = None if is_floating(ctype) else integer(text)
            return number is not None and number > COUNTED
        case Binary("+" | "-" | "*" | "<<"):
            ctype = type_of(expr)
            return not is_floating(ctype) and ctype != "int"
    return False


def _fits(expr: Expr, ctype: str) -> bool:
    """Whether `ctype` holds an integer certainly, at one glance."""
    low, high = limits(ctype)
    if isinstance(expr, Int):
        return low <= expr.value <= high
    least, most = limits(type_of(expr))
    return low <= least and most <= high


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
                within = _in_value if reads_memory(subscript) else _taken
                yield from within(affine, subscript)
        case Binary("&&" | "||"):
            yield from _in_test(affine, expr, False)
        case Select(test, yes, no):
            condition = affine.condition(test)
            yield from _in_test(affine, test, reads_memory(yes) or reads_memory(no))
            for part, holds in ((yes, True), (no, False)):
                yield from (t.where(_outcome(condition, holds)) for t in _in_value(affine, part))
        case _:
            for part in children(expr):
                yield from _in_value(affine, part)
