"""Access patterns by their names in Jang, Choi and Kim (2014), "Automating memory and thread mapping".

A reference is `m = A x + o`, with a column of A for each loop around it. Columns of loops that threads share
out are its inter-thread pattern, those of loops that one thread runs its intra-thread pattern:

    B[k][j + 1]   j on tx, k in the thread   A = (0 1; 1 0), o = (0, 1)   between threads: true shifted
                                                                         within a thread: linear
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from polygpu.analysis.patterns import Vector
from polygpu.support.dataclass import dataclass

Kind: TypeAlias = Literal[
    "none", "linear", "reverse linear", "shifted", "overlapping", "non-unit stride", "random"
]
Columns: TypeAlias = tuple[Vector | None, ...]  # a change of each subscript; None where it is not constant


@dataclass(frozen=True)
class JangReference:
    """A reference to `array`, whose elements have `size` bytes; `text` is that of the source.

    `inter` has a column for each parallel loop, `intra` one for each loop in a thread, whose `lengths` are
    None where they depend on the problem's size. `offset` has a constant a subscript, None where it varies.
    """

    array: str
    text: str
    write: bool
    size: int
    inter: Columns
    intra: Columns
    lengths: tuple[int | None, ...]
    offset: tuple[int | None, ...]

    @property
    def random(self) -> bool:
        return None in (*self.inter, *self.intra)

    def between(self, d: int) -> Kind:
        """The inter-thread pattern along parallel loop `d`."""
        return _kind(self.inter, d, self.offset)

    def within(self, d: int) -> Kind:
        """The intra-thread pattern along loop `d` of a thread."""
        return _kind(self.intra, d, (0,) * len(self.offset))

    def true(self, lane: int) -> bool:
        """Whether the entry of the loop on tx stands in the last row: adjacent lanes, adjacent addresses."""
        column = self.inter[lane]
        return column is not None and any(column) and not any(column[:-1])

    def coalesced(self, lane: int) -> bool:
        """Only true linear and true reverse linear references count."""
        return self.true(lane) and self.between(lane) in ("linear", "reverse linear")

    def indexed_by(self) -> tuple[int, ...]:
        """The parallel loops that move it; those that move it in an unknown way included."""
        return tuple(d for d, column in enumerate(self.inter) if column is None or any(column))

    @property
    def same_address(self) -> bool:
        """Whether all threads walk together through a number of elements that is always the same."""
        walked = [n for n, c in zip(self.lengths, self.intra, strict=True) if c is None or any(c)]
        return not self.indexed_by() and not self.random and bool(walked) and None not in walked

    @property
    def walked(self) -> int:
        """How many elements at most a thread walks through, in loops of known length."""
        count = 1
        for length, column in zip(self.lengths, self.intra, strict=True):
            count *= (length or 1) if column is None or any(column) else 1
        return count

    @property
    def prefetchable(self) -> bool:
        """Whether a loop of a thread walks linearly: its strips can be staged in shared memory."""
        kinds = {self.within(d) for d in range(len(self.intra))}
        return not self.random and bool(kinds & {"linear", "reverse linear"})


def _kind(columns: Columns, d: int, offset: tuple[int | None, ...]) -> Kind:
    """The pattern along column `d` of a part of the matrix; an offset counts in the row of its entry."""
    column = columns[d]
    if column is None:
        return "random"
    rows = [k for k, entry in enumerate(column) if entry]
    if not rows:
        return "none"
    if len(rows) > 1:
        return "random"
    row, entry = rows[0], column[rows[0]]
    if abs(entry) != 1:
        return "non-unit stride"
    if any(c is not None and c[row] for k, c in enumerate(columns) if k != d):
        return "overlapping"
    if entry < 0:
        return "reverse linear"
    return "linear" if offset[row] == 0 else "shifted"
