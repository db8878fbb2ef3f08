"""Random programs as values, and their C text.

    program   ::= array*, scalar*, region*                 one C function
    region    ::= node*
    node      ::= Loop | If | Assign | Declare | Turn | Leave
    value     ::= Operation | Read | Scalar | Affine       an Operation is a template of C text with operands

Programs are generic data: `shrink` replaces any part of one by a smaller part of the same kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

RECORD = "struct record"
FIELDS = (("x", "float"), ("v_1", "int"), ("w", "double"), ("c", "unsigned char"))
VECTOR = "v"  # the member that is an array of three floats, beside v_1, for which v[1] could be taken
PARAMETERS = ("n", "m")
SPELLINGS = ("macro", "enum", "literal", "const")
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
    """All values from the largest of `lowers` to below the least of `uppers`, up (step > 0) or down.

    `apart` tests each of several bounds: i < n && i < 96. `pragmas` stand before it, in a block of its own
    behind the first where that is a construct of several.
    """

    iterator: str
    lowers: tuple[Affine, ...]
    uppers: tuple[Affine, ...]
    step: int
    body: tuple[Node, ...]
    inclusive: bool = False
    type: str = "int"
    apart: bool = False
    pragmas: tuple[str, ...] = ()

    @property
    def wraps(self) -> bool:
        """Whether it counts down to 0 in a type in which it is large then: for (i = n - 1; i < n; i--)."""
        wide = self.type in ("unsigned int", "unsigned long")
        to_zero = self.step == -1 and len(self.uppers) == 1 and self.lowers == (Affine(),)
        return wide and to_zero


@dataclass(frozen=True, slots=True)
class If:
    test: Operation
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """A loop of `form` "for", "while" or "do" that data bound: an int `counter` goes up to below `limit`."""

    form: str
    counter: str
    start: Value
    limit: Value
    step: int
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Leave:
    """`how`: break or continue."""

    how: str


Node: TypeAlias = Loop | If | Assign | Declare | Turn | Leave


@dataclass(frozen=True, slots=True)
class Array:
    """`storage`: "restrict" or "plain" (a parameter with its extents), "flat" (a pointer), "rows" (to
    pointers to rows), "open" (a parameter without its first extent), "global".

    A `constant` array has the extents of the largest size as numbers, and rows `padding` longer than they
    need to be.
    """

    name: str
    type: str
    rank: int
    storage: str = "restrict"
    constant: bool = False
    padding: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """`scalars` are declared before the first region and live after the last; `old` declares iterators first.

    Parameters are `n` and `m`, of type `parameter`. `sizes` are what they are when the program is tried.
    `constants` are the parameters that have one value in all sizes and are no parameters of the function,
    with their spelling: a "macro", an "enum", a "literal" in each place, a "const" variable. `spelling` is
    the seed of how statements are written (`spellings`), "" for plainly. `held` are sizes
    and arrays that the regions find elsewhere (`tests.fuzz.held`). `carried` is the seed of how scalars
    pass subscripts and iterators on (`tests.fuzz.carried`), "" where none does, `pointing` that of how loops
    go over pointers (`tests.fuzz.pointing`). Numbers that are `chosen`, each with another one, are variables
    that a branch sets (`tests.fuzz.chosen`), and parameters of a function of the `old_style` have their types
    behind the list. Outermost loops step by a parameter of the value `step` where that is not 0. Of the
    values `kinds` a parameter has the first: what a store stores depends on which of the others that is, and
    whether a loop prints, one of those that are innermost, by the number `noted`.
    `widths` is the seed of how rows of flattened arrays are computed (`tests.fuzz.widths`), "" where none is.
    Variables of loops are declared `outside`, each with its type, in front of all regions.
    """

    arrays: tuple[Array, ...]
    scalars: tuple[tuple[str, str], ...]
    regions: tuple[tuple[Node, ...], ...]
    sizes: tuple[tuple[int, int], ...]
    parameter: str = "int"
    old: bool = False
    constants: tuple[tuple[str, str], ...] = ()
    spelling: str = ""
    held: tuple[tuple[str, str], ...] = ()
    carried: str = ""
    pointing: str = ""
    chosen: tuple[tuple[str, str], ...] = ()
    old_style: bool = False
    step: int = 0
    kinds: tuple[str, ...] = ()
    noted: int = 0
    widths: str = ""
    outside: tuple[tuple[str, str], ...] = ()

    @property
    def unknown(self) -> tuple[str, ...]:
        """The parameters whose values are known at run time only."""
        return tuple(name for name in PARAMETERS if name not in dict(self.constants))

    def spelled(self, *spellings: str) -> dict[str, int]:
        """The values of the constants with one of these spellings."""
        values = dict(zip(PARAMETERS, self.sizes[0], strict=True)) if self.sizes else {}
        return {name: values[name] for name, spelling in self.constants if spelling in spellings}


def bodies(node: Node) -> tuple[tuple[Node, ...], ...]:
    """What a node has inside: the body of a loop, the branches of an `if`."""
    match node:
        case Loop(body=body) | Turn(body=body):
            return (body,)
        case If(_, then, otherwise):
            return then, otherwise
    return ()


def all_nodes(nodes: Iterable[Node]) -> Iterator[Node]:
    """Those and all inside of them, in their order."""
    for node in nodes:
        yield node
        for body in bodies(node):
            yield from all_nodes(body)


def is_floating(ctype: str) -> bool:
    return ctype in FLOATS


def substituted(part: Any, name: str, value: Affine) -> Any:
    """`part` with `value` for an iterator or a parameter, in its place in each sum."""
    if isinstance(part, tuple):
        return tuple(substituted(item, name, value) for item in part)
    if isinstance(part, Affine):
        if not part.factor(name):
            return part
        total = Affine()
        for text, factor in part.terms:
            total = total + (value if text == name else Affine(((text, 1),))) * factor
        return total + Affine((), part.constant)
    if hasattr(part, "__dataclass_fields__"):
        changed = {f.name: substituted(getattr(part, f.name), name, value) for f in fields(part)}
        return replace(part, **changed)
    return part


def with_literals(p: Program) -> tuple[tuple[Node, ...], ...]:
    """The regions as they are written: with the numbers of literals."""
    regions = p.regions
    for name, value in p.spelled("literal").items():
        regions = substituted(regions, name, Affine((), value))
    return regions


def constant_type(spelling: str, parameter: str) -> str:
    """The C type of a constant's uses in a program whose parameters are of type `parameter`."""
    return parameter if spelling in ("macro", "const") else "int"
