"""Copy code: the box of a staged array, dealt to the threads with the innermost dimension fastest.

A copy is one of
    direct    shared = global                          barriers around it
    fetch/put registers = global ... shared = registers  the next tile is on its way while this one is used
    in flight shared[slot] <- global, asynchronously      a ring of tiles
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

from polygpu.lower.buffers import Layout
from polygpu.lower.rows import in_a_row
from polygpu.lower.tidy import substituted
from polygpu.lower.versions import Choice
from polygpu.mapping.program import Box
from polygpu.model.expr import SIZES, Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Comment, Declare, DeclareArray, For, If, Move, Statement
from polygpu.model.linear import (
    add,
    conjunction,
    divides,
    linear,
    maximum,
    minimum,
    multiply,
    simplify,
    subtract,
)


@dataclass(frozen=True)
class Copy:
    """Copy code of box `s`, which starts at `offsets`, by `threads` threads numbered `tid`.

    Subscripts are clamped to the array, since elements of the box outside of it are never used, except in
    dimensions along which the box is `inside`. Where the box may not be `needed`, the array may be empty and
    is then not read. It is copied in each of several tiles if `stepped`. `multiples` says
    what names are known to be multiples of, `positive` which are known not to be negative. Lanes move
    `widest` bytes at once where rows allow it. A direct copy has `loads` loads of a thread in flight, 0 for
    all of them.
    """

    s: Box
    offsets: tuple[Expr, ...]
    layout: Layout
    threads: int
    site: int
    positive: frozenset[str]
    multiples: dict[str, int]
    widest: int
    loads: int = 0
    inside: tuple[bool, ...] = ()
    needed: bool = True
    stepped: bool = False
    choices: tuple[Choice, ...] = ()

    @property
    def type(self) -> str:
        return self.layout.buffer.type

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(side.size for side in self.s.sides)

    @property
    def width(self) -> int:
        """Elements a lane moves at once: wide when rows are pitched and the box starts aligned."""
        if not self.stepped or self.choices:
            return 1  # read once or twice, often across rows: padding by single words is worth more
        width = self.widest // SIZES.get(self.type, self.widest or 1)
        while width > 1 and not self._aligned(width):
            width //= 2
        return max(width, 1)

    def _aligned(self, width: int) -> bool:
        pitched = self.layout.buffer.pitch is not None and not self.layout.buffer.origin
        return pitched and self.sizes[-1] % width == 0 and divides(width, self.offsets[-1], self.multiples)

    @property
    def _columns(self) -> int:
        """Threads along a row of the box: the power of two that covers it."""
        size = 1
        while size < min(self._row, self.threads):
            size *= 2
        return min(size, self.threads)

    @property
    def _row(self) -> int:
        return self.sizes[-1] // self.width

    @property
    def _height(self) -> int:
        return prod(self.sizes[:-1])

    @property
    def _turns(self) -> tuple[int, int]:
        """How often a thread advances by rows and by columns."""
        rows = max(1, self.threads // self._columns)
        return -(-self._height // rows), -(-self._row // self._columns)

    def direct(self) -> tuple[Statement, ...]:
        what = Comment(f"{self.s.name} = {self.s.array} ({self.s.reason})")
        if self.width > 1 and self.s.transposed:  # wide on one side only: by way of registers
            return (what, self.registers(), *self.fetch(), *self.put())
        return (what, *self._deal(self._move_direct, self.loads))

    def in_flight(self, slot: Expr) -> tuple[Statement, ...]:
        """The copy into `slot` of the ring, not waited for."""
        return self._deal(lambda row, column, _: self._move(self._source(row, column), row, column, slot))

    def registers(self) -> DeclareArray:
        turns = prod(self._turns)
        return DeclareArray(self._fetched, self.type, (turns, self.width) if self.width > 1 else (turns,))

    def fetch(self) -> tuple[Statement, ...]:
        """The box on its way into registers."""
        return self._deal(self._fetch_one)

    def put(self) -> tuple[Statement, ...]:
        """What was fetched into shared memory."""
        return self._deal(self._put_one)

    @property
    def single(self) -> bool:
        """Whether a thread copies one element, or one group, at most."""
        return prod(self._turns) == 1

    @property
    def _fetched(self) -> str:
        return f"{self.s.name}_next"

    def _register(self, turn: Expr, lane: int) -> Reference:
        subscripts = (turn, Int(lane)) if self.width > 1 else (turn,)
        return Reference(self._fetched, subscripts, self.type, site=self.site)

    def _fetch_one(self, row: Expr, column: Expr, turn: Expr) -> tuple[Statement, ...]:
        source = self._source(row, column)
        if self.width == 1:
            return (Assign(self._register(turn, 0), source),)
        return (Move(self._register(turn, 0), source, self.width),)

    def _put_one(self, row: Expr, column: Expr, turn: Expr) -> tuple[Statement, ...]:
        if self.width > 1 and not self.s.transposed:
            return (Move(self._target(row, column, None), self._register(turn, 0), self.width),)
        return tuple(
            Assign(self._target(row, add(column, lane), None), self._register(turn, lane))
            for lane in range(self.width)
        )

    def _move_direct(self, row: Expr, column: Expr, turn: Expr) -> tuple[Statement, ...]:
        if self.width > 1:
            return (Move(self._target(row, column, None), self._source(row, column), self.width),)
        copy: Statement = Assign(self._target(row, column, None), self._source(row, column))
        for choice in self.choices:
            test, other = choice.at(self._element(row, column))
            there = Assign(self._target(row, column, None), other)
            copy = there if test is None else If(test, (there,), (copy,), uniform=False)
        return (copy,)

    def _move(self, source: Reference, row: Expr, column: Expr, slot: Expr) -> tuple[Statement, ...]:
        return (Move(self._target(row, column, slot), source, self.width, asynchronous=True),)

    def _element(self, row: Expr, column: Expr) -> tuple[Expr, ...]:
        local = (*_unflatten(row, self.sizes[:-1]), column)
        return tuple(add(offset, index) for offset, index in zip(self.offsets, local, strict=True))

    def _source(self, row: Expr, column: Expr) -> Reference:
        local = (*_unflatten(row, self.sizes[:-1]), column)
        subscripts = tuple(self._clamped(k, index) for k, index in enumerate(local))
        return Reference(self.s.array, subscripts, self.type, site=self.site)

    def _target(self, row: Expr, column: Expr, slot: Expr | None) -> Reference:
        local = (*_unflatten(row, self.sizes[:-1]), column)
        stored = tuple(local[k] for k in self.s.order)
        subscripts = stored if slot is None else (slot, *stored)
        return Reference(self.s.name, subscripts, self.type, site=self.site)

    def _clamped(self, k: int, index: Expr) -> Expr:
        offset, extent, size = self.offsets[k], self.layout.extent(k), self.sizes[k]
        place = add(offset, index)
        first = self.layout.buffer.origin[k] if self.layout.buffer.origin else Int(0)
        skipped = subtract(offset, first)
        inside = (
            isinstance(skipped, Int) and isinstance(extent, Int) and 0 <= skipped.value <= extent.value - size
        )
        if inside or (self.inside and self.inside[k]):
            return place
        last = add(first, subtract(extent, 1))
        if k == len(self.sizes) - 1 and self.width > 1:
            pitch = self.layout.pitch()
            assert pitch is not None, "rows of wide accesses are pitched, from the origin 0"
            last = subtract(pitch, self.width)
        bounded = minimum(place, last)
        return bounded if self._nonnegative(skipped) else maximum(bounded, first)

    def _nonnegative(self, offset: Expr) -> bool:
        sum_ = linear(offset)
        names = all(isinstance(a, Name) and a.name in self.positive and c > 0 for a, c in sum_.terms)
        return names and sum_.constant >= 0

    def _deal(
        self, one: Callable[[Expr, Expr, Expr], tuple[Statement, ...]], together: int = 0
    ) -> tuple[Statement, ...]:
        """`one(row, column, turn)` for every element (or group of `width`) the thread copies.

        `together` of them follow each other without a loop's end between them, 0 for all.
        """
        row, column = Name(f"{self.s.name}_row"), Name(f"{self.s.name}_column")
        row_turns, column_turns = self._turns
        row_turn: Expr = Name(f"{row.name}_r") if row_turns > 1 else Int(0)
        column_turn: Expr = Name(f"{column.name}_r") if column_turns > 1 else Int(0)
        turn = add(multiply(row_turn, column_turns), column_turn)
        body = one(row if self._height > 1 else Int(0), multiply(column, self.width), turn)
        start = simplify(Binary("%", Name("tid"), Int(self._columns)))
        body = _dealt(column.name, start, self._columns, self._row, body, together)
        rows = max(1, self.threads // self._columns)
        if self._height > 1:
            first = simplify(Binary("/", Name("tid"), Int(self._columns)))
            left = max(1, together // column_turns) if together else 0
            body = _dealt(row.name, first, rows, self._height, body, left)
        busy = self._columns * (rows if self._height > 1 else 1)
        if busy < self.threads:
            body = (If(Binary("<", Name("tid"), Int(busy)), body, (), uniform=False),)
        test = conjunction(list(self._not_empty()))
        return body if test is None else (If(test, body, (), uniform=True),)

    def _not_empty(self) -> Iterator[Expr]:
        for k in range(len(self.sizes)):
            extent = self.layout.extent(k)
            clamped = not (self.inside and self.inside[k])
            if not self.needed and clamped and extent is not None and not isinstance(extent, Int):
                yield Binary(">", extent, Int(0))


def _dealt(
    index: str, start: Expr, stride: int, total: int, body: tuple[Statement, ...], row: int
) -> tuple[Statement, ...]:
    """`body` for index = start, start + stride, ... below total, as a loop of constant length.

    It is unrolled, or `row` turns of it where that is not 0.
    """
    count = -(-total // stride)
    if total % stride:
        body = (If(Binary("<", Name(index), Int(total)), body, (), uniform=False),)
    if count == 1:
        return substituted(body, {index: start})
    turn = Name(f"{index}_r")
    body = (Declare(index, "int", add(start, multiply(turn, stride))), *body)
    loop = For(turn.name, Int(0), Int(count), 1, body, uniform=True, unroll=count <= 32 and not row)
    return in_a_row(loop, row) if row else (loop,)


def _unflatten(row: Expr, sizes: tuple[int, ...]) -> tuple[Expr, ...]:
    """Indices of a box with `sizes` from the number of a row of it."""
    if not sizes:
        return ()
    result: list[Expr] = []
    rest = row
    for size in reversed(sizes[1:]):
        result.append(simplify(Binary("%", rest, Int(size))))
        rest = simplify(Binary("/", rest, Int(size)))
    return (rest, *reversed(result))
