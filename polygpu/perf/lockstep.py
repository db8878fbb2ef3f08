"""What a kernel's warps do in lockstep and what is charged for it: `polygpu.perf.charges` makes it, once.

    lockstep ::= points, accesses, part*                  run by a block
    part     ::= Charge | Do | Loop(part*) | Branch(part*) | Repeat(part*) | Stage
    stage    ::= step*                                    run by each of its warps, between two barriers
    step     ::= Charge | Do | Loop(step*) | Branch(step*) | Repeat(step*)
    value    ::= load*, expression                        loads happen in this order
    load     ::= Access | Choice(value, load*, load*)

The emulator is printed from it, and what the emulator counts is predicted from it: neither decides what is
charged where, or which accesses there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.kernel import For, If, Kernel, Statement, While
from polygpu.perf.elements import Space
from polygpu.support.dataclass import dataclass

Row: TypeAlias = tuple[int, str, bool]
"""Source access, array, whether it is written: what a profile adds up in one entry."""


SCHEDULERS = 4  # instructions of a warp that are under way at once, at most
TWELVE = 12  # parts of an instruction, which 1 to `SCHEDULERS` divide


@dataclass(frozen=True, slots=True)
class Point:
    """A run of statements of one stage: what a warp issues in it, by class, and how often it waits.

    `overlapped` twelfths of these instructions wait for no other's result, as some of unrolled loops.
    """

    stage: int
    cost: Counter[str]
    rounds: int
    overlapped: int = 0


@dataclass(frozen=True, slots=True)
class Access:
    """One load or store of `width` elements in the kernel's text.

    `subscripts` are those of the `element` with names for what they load in `loads`; where they are one
    value for the block by their names alone, it is `uniform`. `number` counts accesses, `place` those of one
    space.
    """

    element: Reference
    subscripts: tuple[Expr, ...]
    loads: tuple[Load, ...]
    uniform: bool
    space: Space
    write: bool
    width: int
    stage: int
    number: int
    place: int

    @property
    def name(self) -> Name:
        """Stands for the loaded element; it is no name of the kernel."""
        return Name(f"load {self.number}", self.element.type)

    @property
    def row(self) -> Row:
        return self.element.site, self.element.array, self.write


@dataclass(frozen=True, slots=True)
class Choice:
    """A test on which it depends what is loaded next."""

    number: int
    test: Value
    then: tuple[Load, ...]
    otherwise: tuple[Load, ...]

    @property
    def name(self) -> Name:
        """Stands for the outcome."""
        return Name(f"choice {self.number}")


Load: TypeAlias = Access | Choice


@dataclass(frozen=True, slots=True)
class Value:
    """The kernel's expression `source`, and `expr`, the same with names for what `loads` loads before.

    It is `uniform` where it is one value for the block by its names alone.
    """

    source: Expr
    expr: Expr
    loads: tuple[Load, ...]
    uniform: bool


@dataclass(frozen=True, slots=True)
class Charge:
    """Here every warp that gets here is charged for a point."""

    point: int


@dataclass(frozen=True, slots=True)
class Do:
    """A statement without a body, after what it loads: its value, the element it copies, the one it writes.

    `uniform`: it declares one value for the block. `kept`: later stages use what it declares.
    """

    statement: Statement
    value: Value | None = None
    source: Access | None = None
    target: Access | None = None
    uniform: bool = False
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """Bounds belong to `stage`. Where lanes have not `agreed` on them they leave one by one: the body starts
    with the charge of `point`, at which that is noted.
    """

    statement: For
    stage: int
    lower: Value
    upper: Value
    agreed: bool
    point: int
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """The test belongs to `stage`. Where lanes have not `agreed` on it they part, as noted at `point`."""

    statement: If
    stage: int
    test: Value
    agreed: bool
    point: int
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Runs until no lane is left: each time `start`, whose last charge is that of `point`, and the test come
    before the body. At `point` it is noted that lanes part.
    """

    statement: While
    stage: int
    test: Value
    point: int
    start: tuple[Node, ...]
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """What each warp does between two barriers; `used` are the names that it mentions."""

    number: int
    used: frozenset[str]
    steps: tuple[Node, ...]


Node: TypeAlias = Charge | Do | Loop | Branch | Repeat | Stage


@dataclass(frozen=True, slots=True)
class Lockstep:
    """`start`, if there is any, is the point of what is computed once, before everything else."""

    kernel: Kernel
    points: tuple[Point, ...]
    accesses: tuple[Access, ...]
    choices: tuple[Choice, ...]
    start: int | None
    stages: int
    parts: tuple[Node, ...]

    @property
    def rows(self) -> Mapping[Row, Access]:
        """The first access of each entry of a profile, in the entries' order."""
        rows: dict[Row, Access] = {}
        for access in self.accesses:
            if access.space != "private":
                rows.setdefault(access.row, access)
        return rows
