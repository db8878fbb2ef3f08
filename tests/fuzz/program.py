"""Random programs as values, and their C text.

    program   ::= array*, scalar*, region*                 one C function
    region    ::= node*
    node      ::= Loop | If | Assign | Declare
    value     ::= Operation | Read | Scalar | Affine       an Operation is a template of C text with operands

Programs are generic data: `shrink` replaces any part of one by a smaller part of the same kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

RECORD = "struct record"
FIELDS = (("x", "float"), ("k", "int"), ("w", "double"), ("c", "unsigned char"))
INTEGERS = ("char", "unsigned char", "short", "int", "unsigned int", "long", "unsigned long")
FLOATS = ("float", "double")


@dataclass(frozen=True, slots=True)
class Affine:
    """A sum of iterators and parameters times constants, and a constant."""

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def __str__(self) -> str:
        text = ""
        for name, factor in self.terms:
            sign = ("-" if factor < 0 else "") if not text else (" - " if factor < 0 else " + ")
            text += f"{sign}{'' if abs(factor) == 1 else f'{abs(factor)} * '}{name}"
        if not text:
            return str(self.constant)
        return text + (f" {'-' if self.constant < 0 else '+'} {abs(self.constant)}" if self.constant else "")

    def __add__(self, other: Affine) -> Affine:
        total: dict[str, int] = {}
        for name, factor in (*self.terms, *other.terms):
            total[name] = total.get(name, 0) + factor
        return Affine(tuple((k, v) for k, v in total.items() if v), self.constant + other.constant)

    def __mul__(self, factor: int) -> Affine:
        return Affine(tuple((name, k * factor) for name, k in self.terms), self.constant * factor)

    def factor(self, name: str) -> int:
        return next((k for n, k in self.terms if n == name), 0)


@dataclass(frozen=True, slots=True)
class Scalar:
    name: str


@dataclass(frozen=True, slots=True)
class Read:
    """An element, read or written; `member` is a structure's."""

    array: str
    subscripts: tuple[Value, ...]
    member: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """`template` with {0}, {1}, ... for the operands; `floating` tells the two kinds of values apart."""

    template: str
    operands: tuple[Value, ...] = ()
    floating: bool = False


Value: TypeAlias = Operation | Read | Scalar | Affine


@dataclass(frozen=True, slots=True)
class Assign:
    """`template` has {0} for the target and {1} for the value."""

    target: Read | Scalar
    template: str
    value: Value


@dataclass(frozen=True, slots=True)
class Declare:
    """A scalar with a value, or an array of constant extents that are computed from its uses."""

    name: str
    type: str
    value: Value | None
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Loop:
    """All values from the largest of `lowers` to below the least of `uppers`, up (step > 0) or down."""

    iterator: str
    lowers: tuple[Affine, ...]
    uppers: tuple[Affine, ...]
    step: int
    body: tuple[Node, ...]
    inclusive: bool = False
    type: str = "int"


@dataclass(frozen=True, slots=True)
class If:
    test: Operation
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()


Node: TypeAlias = Loop | If | Assign | Declare


@dataclass(frozen=True, slots=True)
class Array:
    """`storage`: "restrict" or "plain" (a parameter with its extents), "flat" (a pointer), "global"."""

    name: str
    type: str
    rank: int
    storage: str = "restrict"


@dataclass(frozen=True, slots=True)
class Program:
    """`scalars` are declared before the first region and live after the last; `old` declares iterators first.

    Parameters are `n` and `m`, of type `parameter`. `sizes` are what they are when the program is tried.
    """

    arrays: tuple[Array, ...]
    scalars: tuple[tuple[str, str], ...]
    regions: tuple[tuple[Node, ...], ...]
    sizes: tuple[tuple[int, int], ...]
    parameter: str = "int"
    old: bool = False


def is_floating(ctype: str) -> bool:
    return ctype in FLOATS
