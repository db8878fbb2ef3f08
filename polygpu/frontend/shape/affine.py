"""Which expressions are affine, and polynomials for those that are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import TypeAlias

from polygpu.frontend.names.constants import fold, integer
from polygpu.model import linear
from polygpu.model.expr import (
    SIZES,
    Binary,
    Call,
    Cast,
    Expr,
    Int,
    Literal,
    Name,
    Select,
    Unary,
    differs,
    is_floating,
    type_of,
    wraps,
)
from polygpu.model.offsets import negated, product, product_of
from polygpu.model.rewrite import rewrite
from polygpu.support.dataclass import dataclass

# Sums of products of atoms: {(i, n): 1, (j,): 2, (): -1} is i*n + 2*j - 1. Types do not matter: these are the
# integers that the source means, where `polygpu.model.linear` has those that a kernel computes in int.
Polynomial: TypeAlias = dict[tuple[Expr, ...], int]

_COMPARE = frozenset({"<", "<=", ">", ">=", "==", "!="})
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def add(left: Expr, right: Expr) -> Expr:
    """`left + right` without zeros; constants stay where the source has them."""
    match left, right:
        case Int(a), Int(b):
            return Int(a + b)
        case _, Int(0):
            return left
        case Int(0), _:
            return right
        case _, Int(b) if b < 0:
            return Binary("-", left, Int(-b))
        case _, Unary("-", operand):
            return Binary("-", left, operand)
    return Binary("+", left, right)


def subtract(left: Expr, right: Expr) -> Expr:
    match left, right:
        case Int(a), Int(b):
            return Int(a - b)
        case _, Int(0):
            return left
        case _, Int(b) if b < 0:
            return Binary("+", left, Int(-b))
        case Int(0), _:
            return negated(right)
    return Int(0) if left == right else Binary("-", left, right)


def invert(test: Expr) -> Expr:
    """The opposite of a condition."""
    match test:
        case Binary(op, left, right) if op in _NEGATED:
            return Binary(_NEGATED[op], left, right)
        case Unary("!", operand):
            return operand
    return Unary("!", test)


def plain(test: Expr) -> Expr:
    """A test of another one's value as that: `!(a < b) == 0`, which `switch` makes, is `a < b`."""
    match test:
        case Binary(op, value, Int(number)) if op in _COMPARE and _is_truth(stripped(value)):
            match holds := [fold(op, truth, number) for truth in (0, 1)]:
                case [0, 1]:
                    return plain(stripped(value))
                case [1, 0]:
                    return plain(Unary("!", stripped(value)))
            return Int(holds[0] or 0)
        case Unary("!", Unary("!", operand)):
            return plain(operand)
        case Unary("!", operand):
            return Unary("!", plain(operand))
    return test


def _is_truth(expr: Expr) -> bool:
    """Whether the value is 0 or 1."""
    match expr:
        case Unary("!", _):
            return True
        case Binary(op, _, _):
            return op in _COMPARE or op in ("&&", "||")
    return False


def stripped(expr: Expr) -> Expr:
    """`expr` without conversions between integer types that keep the value (int or wider)."""
    while isinstance(expr, Cast) and _widening(expr.type) and not is_floating(type_of(expr.operand)):
        expr = expr.operand
    return expr


def _widening(ctype: str) -> bool:
    return not is_floating(ctype) and SIZES[ctype] >= 4


def counted(form: Expr) -> Expr:
    """The affine form as code computes it: in int, which holds its values, whatever the source's types."""

    def in_int(e: Expr) -> Expr | None:
        match e:
            case Name(name):
                return Name(name)
            case Call(function, arguments):  # the smaller of two unsigned values is not compared as one
                return Call(function, tuple(map(counted, arguments)), "int")
        return None

    return rewrite(form, in_int)


def _unknown(value: Expr) -> Expr | None:
    return None


@dataclass(frozen=True)
class Affine:
    """Decides and normalises: results hold only what `polygpu.analysis.polyhedra` understands.

    `locals` are names that are no parameters although they are read like one; `inlined` gives the value
    of calls of the user's own one-line integer functions, `known` the parameter for a value of parameters
    alone such as `n * m`. Unsigned values count as mathematical
    integers, which `polygpu.frontend.read.conversions` sees to.
    """

    locals: Set[str]
    inlined: Mapping[Call, Expr]
    known: Callable[[Expr], Expr | None] = _unknown

    def value(self, expr: Expr) -> Expr | None:
        """`expr` in affine form, None where it has none."""
        match expr:
            case Int():
                return expr
            case Literal(text, ctype):
                value = None if is_floating(ctype) else integer(text)
                return None if value is None else Int(value)
            case Name(name, ctype):
                return None if name in self.locals or is_floating(ctype) else expr
            case Cast(ctype, operand):
                found = self.value(operand) if _widening(ctype) else None
                return self.known(expr) if found is None and is_floating(type_of(operand)) else found
            case Unary(op, operand):
                return self._unary(op, operand)
            case Binary():
                return self._binary(expr)
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
        return None

    def _unary(self, op: str, operand: Expr) -> Expr | None:
        value = self.value(operand)
        if value is None or op == "!":
            return None
        if op == "~":
            return subtract(negated(value), Int(1))
        return negated(value) if op == "-" else value

    def _binary(self, expr: Binary) -> Expr | None:
        if expr.op in _COMPARE or expr.op in ("&&", "||"):
            test = self.condition(expr, unsigned=True)
            return None if test is None else Select(test, Int(1), Int(0))
        left, right = self.value(expr.left), self.value(expr.right)
        if left is None or right is None:
            return None
        match expr.op:
            case "+":
                return add(left, right)
            case "-":
                return subtract(left, right)
            case "*" if isinstance(left, Int) or isinstance(right, Int):
                return product_of(left, right)
        if isinstance(right, Int) and not is_floating(type_of(expr)):
            op = "&" if is_mask(expr, right.value) else expr.op
            found = _by_constant(op, left, right.value - (op != expr.op))
            return self.known(expr) if found is None else found
        return self.known(expr)

    def _select(self, expr: Select) -> Expr | None:
        yes, no = self.value(expr.yes), self.value(expr.no)
        test = self.condition(expr.test, unsigned=True)
        if test is None or yes is None or no is None:
            return None
        return extremum(Select(test, yes, no)) or Select(test, yes, no)

    def _call(self, call: Call) -> Expr | None:
        if call in self.inlined:
            return self.value(self.inlined[call])
        name = call.function
        if name in ("floor", "ceil"):
            return self._rounded(name, call.arguments[0])
        values = [self.value(_exact(argument)) for argument in call.arguments]
        found = [value for value in values if value is not None]
        if len(found) < len(values):
            return None
        if name in ("min", "max", "fmin", "fmax"):
            return Call("min" if "min" in name else "max", tuple(found), "int")
        return Call(name, tuple(found), "int") if name == "floord" else None

    def _rounded(self, name: str, quotient: Expr) -> Expr | None:
        """`floor((double)x / c)` of integers, as PolyBench's generated code spells floord."""
        match quotient:
            case Binary("/", above, below) if type_of(quotient) == "double":
                value, divisor = self.value(_exact(above)), self.value(_exact(below))
                if value is not None and isinstance(divisor, Int) and divisor.value > 0:
                    top = add(value, Int(divisor.value - 1)) if name == "ceil" else value
                    return floored(top, divisor.value)
        return None

    def condition(self, expr: Expr, unsigned: bool = False) -> Expr | None:
        """A test in affine form. Differences of unsigned values wrap around in C, so that a comparison of
        them is better computed than taken for one of integers, which `unsigned` asks for.
        """
        match expr := plain(expr):
            case Binary("&&" | "||" as op, left, right):
                first, second = self.condition(left, unsigned), self.condition(right, unsigned)
                return None if first is None or second is None else Binary(op, first, second)
            case Unary("!", operand):
                test = self.condition(operand, unsigned)
                return None if test is None else invert(test)
            case Binary(op, left, right) if op in _COMPARE:
                if not unsigned and wraps(expr):
                    return None
                low, high = self.value(left), self.value(right)
                return None if low is None or high is None else Binary(op, low, high)
        value = self.value(expr)
        return None if value is None else Binary("!=", value, Int(0))


def _exact(expr: Expr) -> Expr:
    """An integer behind conversions to double, also one spelled as a floating constant. A float does not hold
    every int, so that conversions to float stay.
    """
    while isinstance(expr, Cast) and expr.type == "double":
        expr = expr.operand
    if isinstance(expr, Literal) and is_floating(expr.type):
        try:
            number = float(expr.text.rstrip("fF"))
        except ValueError:
            return expr
        most = 2**24 if expr.type == "float" else 2**53
        return Int(int(number)) if number.is_integer() and abs(number) <= most else expr
    return expr


def is_mask(expr: Binary, divisor: int) -> bool:
    """Whether a remainder is that of the integers, rounded down, also where an unsigned difference wraps
    around below 0: by a power of two, of which 2^32 and 2^64 are multiples.
    """
    power = divisor > 1 and divisor & (divisor - 1) == 0
    return power and expr.op == "%" and differs(expr.left) and _is_unsigned(expr)


def _is_unsigned(expr: Binary) -> bool:
    return type_of(expr).startswith("unsigned") and type_of(expr) == type_of(expr.left)


def _by_constant(op: str, left: Expr, right: int) -> Expr | None:
    if isinstance(left, Int):
        value = fold(op, left.value, right)
        return None if value is None else Int(value)
    match op:
        case "/" if right > 0:
            return left if right == 1 else Binary("/", left, Int(right))
        case "%" if right > 0:
            return Binary("%", left, Int(right))
        case "<<" if 0 <= right < 31:
            return product_of(left, Int(1 << right))
        case ">>" if 0 <= right < 31:
            return floored(left, 1 << right)
        case "&" if right > 0 and right & (right + 1) == 0:
            return subtract(left, product_of(Int(right + 1), floored(left, right + 1)))
    return None


def floored(value: Expr, divisor: int) -> Expr:
    """value / divisor, rounded towards minus infinity."""
    if isinstance(value, Int):
        return Int(value.value // divisor)
    return value if divisor == 1 else Call("floord", (value, Int(divisor)), "int")


def extremum(select: Select) -> Call | None:
    """`a < b ? a : b` on integers as a call of min, and so on."""
    match select.test:
        case Binary("<" | "<=" | ">" | ">=" as op, left, right):
            if is_floating(type_of(select)) or left == right:
                return None
            if (select.yes, select.no) == (left, right):
                return Call("min" if "<" in op else "max", (left, right), type_of(select))
            if (select.yes, select.no) == (right, left):
                return Call("max" if "<" in op else "min", (left, right), type_of(select))
    return None


def polynomial(expr: Expr) -> Polynomial:
    """`expr` as a polynomial; whatever is no sum or product of integers is an atom."""
    expr = stripped(expr)
    match expr:
        case Int(value):
            return {(): value} if value else {}
        case Literal(text, ctype) if not is_floating(ctype) and (number := integer(text)) is not None:
            return {(): number} if number else {}
        case Unary("-", operand):
            return scaled(polynomial(operand), -1)
        case Unary("+", operand):
            return polynomial(operand)
        case Binary("+", left, right):
            return total(polynomial(left), polynomial(right))
        case Binary("-", left, right):
            return total(polynomial(left), scaled(polynomial(right), -1))
        case Binary("*", left, right):
            return multiplied(polynomial(left), polynomial(right))
    return {(expr,): 1}


def total(left: Polynomial, right: Polynomial) -> Polynomial:
    result = dict(left)
    for monomial, factor in right.items():
        result[monomial] = result.get(monomial, 0) + factor
    return {monomial: factor for monomial, factor in result.items() if factor}


def scaled(polynomial: Polynomial, factor: int) -> Polynomial:
    return {monomial: value * factor for monomial, value in polynomial.items() if factor}


def multiplied(left: Polynomial, right: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for a, x in left.items():
        for b, y in right.items():
            result = total(result, {tuple(sorted((*a, *b), key=repr)): x * y})
    return result


def expression(polynomial: Polynomial) -> Expr:
    """The polynomial as C, constants last."""
    terms = tuple((product(atoms), factor) for atoms, factor in polynomial.items() if atoms and factor)
    return linear.expression(linear.Linear(terms, polynomial.get((), 0)))
