"""Typed C expressions: what statement bodies, affine forms and kernel code are made of.

    expr ::= Int | Literal | Name | Unary | Binary | Select | Call | Cast | Reference

Arithmetic has C's meaning (`/` and `%` truncate towards zero). Types are canonical C spellings:
"char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long",
"unsigned long", "long long", "unsigned long long", "float", "double", "_Bool".
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

from polygpu.support.dataclass import dataclass
from polygpu.support.position import Position as Position  # noqa: PLC0414 - other modules import it from here


class _Compound:
    """An expression with parts, which keeps its hash, for which tables by expressions ask often, and which
    elements of arrays it reads: see `rewrite.references`.
    """

    __slots__ = ("_hash", "references")
    __match_args__: tuple[str, ...]
    _hash: int
    references: tuple[Reference, ...]

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            found = hash(tuple([getattr(self, name) for name in self.__match_args__]))
            object.__setattr__(self, "_hash", found)
            return found


@dataclass(frozen=True, slots=True)
class Int:
    """An integer constant of type int (long long where it does not fit)."""

    value: int


@dataclass(frozen=True, slots=True)
class Literal:
    """Any other constant, spelled as in the source: `0.5f`, `1e-3`, `3u`, `'a'`."""

    text: str
    type: str


@dataclass(frozen=True, slots=True)
class Name:
    """A scalar value: an iterator, a parameter, a local; in kernels also the built-in indices."""

    name: str
    type: str = "int"


@dataclass(frozen=True, slots=True)
class Unary(_Compound):
    """`op` is one of - + ! ~"""

    __hash__ = _Compound.__hash__

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(_Compound):
    """`op` is one of + - * / % << >> & | ^ && || == != < <= > >="""

    __hash__ = _Compound.__hash__

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Select(_Compound):
    """`test ? yes : no`"""

    __hash__ = _Compound.__hash__

    test: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True)
class Call(_Compound):
    """A call of a function without side effects.

    Integer `min` and `max` are calls too (any number of arguments); `floord(a, b)` is the quotient
    rounded towards minus infinity with b > 0. All other names are C math functions (`sqrtf`) or
    functions of the user's file, which the device file repeats.
    """

    __hash__ = _Compound.__hash__

    function: str
    arguments: tuple[Expr, ...]
    type: str


@dataclass(frozen=True, slots=True)
class Cast(_Compound):
    __hash__ = _Compound.__hash__

    type: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Reference(_Compound):
    """One array element, or with no subscripts a scalar in memory; read, or written when it is a target.

    `array` names a declared array; `subscripts` has one expression a dimension. `field` is the
    member path within a structure element ("", "x", "position.x"). `site` numbers the access in the
    source (-1: made by the compiler), shared by all copies of it, so that counters find their line.
    """

    __hash__ = _Compound.__hash__

    array: str
    subscripts: tuple[Expr, ...]
    type: str
    field: str = ""
    site: int = -1


Expr: TypeAlias = Int | Literal | Name | Unary | Binary | Select | Call | Cast | Reference

_RANK = {
    "_Bool": 0, "char": 1, "signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2,
    "int": 3, "unsigned int": 3, "long": 4, "unsigned long": 4, "long long": 5,
    "unsigned long long": 5, "float": 8, "double": 9,
}  # fmt: skip
SIZES = {
    "_Bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2,
    "int": 4, "unsigned int": 4, "long": 8, "unsigned long": 8, "long long": 8,
    "unsigned long long": 8, "float": 4, "double": 8,
}  # fmt: skip
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "&&", "||"})


def is_floating(ctype: str) -> bool:
    return ctype in ("float", "double")


@cache
def limits(ctype: str) -> tuple[int, int]:
    """The least and the largest value of an integer type, LP64 with a signed char."""
    if ctype == "_Bool":
        return 0, 1
    bits = 8 * SIZES[ctype]
    return (0, 2**bits - 1) if ctype.startswith("unsigned") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def common_type(left: str, right: str) -> str:
    """C's usual arithmetic conversions (C99 6.3.1.8) on canonical type names, LP64."""
    if "double" in (left, right):
        return "double"
    if "float" in (left, right):
        return "float"
    left, right = (t if _RANK[t] >= 3 else "int" for t in (left, right))
    if left == right:
        return left
    high, low = (left, right) if _RANK[left] >= _RANK[right] else (right, left)
    if low.startswith("unsigned") and not high.startswith("unsigned"):
        return high if SIZES[high] > SIZES[low] else f"unsigned {high}"
    if _RANK[high] == _RANK[low]:
        return high if high.startswith("unsigned") else low
    return high


def type_of(expr: Expr) -> str:
    """The C type of `expr`."""
    match expr:
        case Int(value):
            return "int" if -(2**31) <= value < 2**31 else "long long"
        case Unary("!", _):
            return "int"
        case Unary(_, operand):
            return common_type(type_of(operand), "int")
        case Binary(op, left, right):
            if op in COMPARISONS:
                return "int"
            if op in ("<<", ">>"):
                return common_type(type_of(left), "int")
            return common_type(type_of(left), type_of(right))
        case Select(_, yes, no):
            return common_type(type_of(yes), type_of(no))
        case Literal() | Name() | Call() | Cast() | Reference():
            return expr.type


def wraps(comparison: Binary) -> bool:
    """Whether C compares unsigned values of which one is a difference, which wraps around below 0."""
    sides = (comparison.left, comparison.right)
    return any(differs(side) for side in sides) and "unsigned" in type_of(Binary("+", *sides))


def differs(expr: Expr) -> bool:
    """Whether it is made of a difference."""
    match expr:
        case Binary("-", _, _) | Unary("-" | "~", _):
            return True
        case Binary(_, left, right):
            return differs(left) or differs(right)
        case Cast(_, operand):
            return differs(operand)
        case Call(_, arguments, _):
            return any(map(differs, arguments))
    return False
