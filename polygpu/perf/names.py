"""What the emulator makes of the names of kernel code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Literal, TypeAlias

from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.kernel import ArrayArgument
from polygpu.model.rewrite import references, rewrite

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


def element(r: Reference) -> Reference:
    """The element that `r` is, wherever the source mentions it."""
    return replace(r, site=-1)


def reloaded(test: Expr, side: Expr) -> Expr:
    """`side` of a selection, where a name stands for each element that `test` has loaded."""
    known = {element(r) for r in references(test)}
    return rewrite(
        side, lambda e: Name(e.array, e.type) if isinstance(e, Reference) and element(e) in known else None
    )
