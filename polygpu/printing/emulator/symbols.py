"""What the emulator makes of the names of kernel code."""

from __future__ import annotations

from enum import Enum, auto
from math import prod

from polygpu.model.kernel import ArrayArgument, Kernel
from polygpu.perf.elements import shared_places
from polygpu.support.dataclass import dataclass


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
    symbol outlives its stage and has one copy a thread of the block instead of one a lane. `data` is what
    memory or the user's arithmetic says, in contrast to an index.
    """

    c: str
    type: str
    kind: Kind
    extents: tuple[int, ...] = ()
    number: int = 0
    base: int = 0
    persistent: bool = False
    data: bool = False
    argument: ArrayArgument | None = None

    @property
    def elements(self) -> int:
        return prod(self.extents)


def spell(name: str) -> str:
    """A user's name, kept apart from the emulator's own."""
    stem = name.rstrip("_")
    return f"{name}_" if stem in ("pg", "polygpu") or stem.startswith(("pg_", "polygpu_")) else name


def symbols_of(kernel: Kernel) -> dict[str, Symbol]:
    """The names that hold in the whole kernel."""
    symbols = {f"thread_{d}": Symbol(f"thread_{d}", "int", Kind.LANES) for d in "xyz"}
    symbols |= {f"block_{d}": Symbol(f"block_{d}", "int", Kind.UNIFORM) for d in "xyz"}
    symbols |= {s.name: Symbol(spell(s.name), s.type, Kind.UNIFORM) for s in kernel.scalars}
    symbols |= {a.name: Symbol(spell(a.name), a.type, Kind.GLOBAL, argument=a) for a in kernel.arrays}
    places = shared_places(kernel.shared)
    return symbols | {
        a.name: Symbol(spell(a.name), a.type, Kind.SHARED, places[a.name].extents, n, places[a.name].first)
        for n, a in enumerate(kernel.shared)
    }
