"""Which names kernel code uses, and what the emulator makes of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Literal, TypeAlias

from polygpu.model.expr import Binary, Call, Cast, Expr, Name, Reference, Select, Unary
from polygpu.model.kernel import (
    ArrayArgument,
    Assign,
    Barrier,
    Declare,
    For,
    If,
    Move,
    Statement,
)
from polygpu.model.rewrite import rewrite

Space: TypeAlias = Literal["global", "constant", "texture", "shared", "private"]


class Kind(Enum):
    """Where a name's value lives: one for the block, one a lane, or elements in a memory space."""

    UNIFORM = auto()
    LANES = auto()
    PRIVATE = auto()
    SHARED = auto()
    GLOBAL = auto()


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name of the kernel: `c` is its spelling, `extents` those of an on-chip array with its padding.

    `number` counts the arrays of one space, `base` is the first byte of a shared array; a persistent
    symbol outlives its stage and has one copy a thread of the block instead of one a lane.
    """

    c: str
    type: str
    kind: Kind
    extents: tuple[int, ...] = ()
    number: int = 0
    base: int = 0
    persistent: bool = False
    argument: ArrayArgument | None = None

    @property
    def space(self) -> Space | None:
        """Where an array's elements lie, as the counters tell memories apart; None for other names."""
        match self.kind:
            case Kind.PRIVATE:
                return "private"
            case Kind.SHARED:
                return "shared"
            case Kind.GLOBAL:
                return self.argument.space if self.argument is not None else "global"
        return None

    @property
    def elements(self) -> int:
        count = 1
        for extent in self.extents:
            count *= extent
        return count


def spell(name: str) -> str:
    """A user's name, kept apart from the emulator's own."""
    stem = name.rstrip("_")
    return f"{name}_" if stem in ("pg", "polygpu") or stem.startswith(("pg_", "polygpu_")) else name


def children(expr: Expr) -> tuple[Expr, ...]:
    """The operands of an expression, in order."""
    match expr:
        case Unary(_, operand) | Cast(_, operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Select(test, yes, no):
            return (test, yes, no)
        case Call(_, arguments, _):
            return arguments
        case Reference():
            return expr.subscripts
    return ()


def references(expr: Expr) -> Iterator[Reference]:
    """Every array element in `expr`, those in subscripts first."""
    for child in children(expr):
        yield from references(child)
    if isinstance(expr, Reference):
        yield expr


def element(r: Reference) -> Reference:
    """The element that `r` is, wherever the source mentions it."""
    return replace(r, site=-1)


def reloaded(test: Expr, side: Expr) -> Expr:
    """`side` of a selection, where a name stands for each element that `test` has loaded."""
    known = {element(r) for r in references(test)}
    return rewrite(
        side, lambda e: Name(e.array, e.type) if isinstance(e, Reference) and element(e) in known else None
    )


def names_in(expr: Expr) -> frozenset[str]:
    """Names of scalars and arrays."""
    own = {expr.name} if isinstance(expr, Name) else {expr.array} if isinstance(expr, Reference) else set()
    return frozenset(own).union(*(names_in(child) for child in children(expr)))


def operands(statement: Statement) -> tuple[Expr, ...]:
    """The expressions of a statement, those of its bodies excluded."""
    match statement:
        case Declare(value=value):
            return () if value is None else (value,)
        case Assign(target, value):
            return (value, target)
        case Move(target, source):
            return (source, target)
        case For(lower=lower, upper=upper):
            return (lower, upper)
        case If(test=test):
            return (test,)
    return ()


def bodies(statement: Statement) -> tuple[Statement, ...]:
    """The statements inside a statement."""
    match statement:
        case For(body=body):
            return body
        case If(then=then, otherwise=otherwise):
            return (*then, *otherwise)
    return ()


def names_used(statements: Iterable[Statement]) -> frozenset[str]:
    """Names that the statements mention, at any depth."""
    used: set[str] = set()
    for statement in statements:
        for expr in operands(statement):
            used |= names_in(expr)
        used |= names_used(bodies(statement))
    return frozenset(used)


def has_barrier(statement: Statement) -> bool:
    """Whether the statement is a barrier or contains one."""
    return isinstance(statement, Barrier) or any(has_barrier(s) for s in bodies(statement))
