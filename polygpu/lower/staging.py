"""Copy code: the box of a staged array, dealt to the threads with the innermost dimension fastest.

A copy is one of
    direct    shared = global                          barriers around it
    fetch/put registers = global ... shared = registers  the next tile is on its way while this one is used,
                                                        to the same place or to another slot
    in flight shared[slot] <- global, asynchronously      a ring of tiles
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import TypeAlias

from polygpu.lower.buffers import Layout
from polygpu.lower.registers import zero
from polygpu.lower.rows import in_a_row
from polygpu.lower.tidy import substituted
from polygpu.lower.versions import Choice, Only
from polygpu.mapping.program import ELEMENT, Box
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
from polygpu.model.rewrite import substitute
from polygpu.support.dataclass import dataclass

Local: TypeAlias = tuple[Expr, ...]  # indices in a box
One: TypeAlias = Callable[[Local, Expr], tuple[Statement, ...]]
_UNROLLED = 32  # turns of a thread at most


@dataclass(frozen=True)
class Copy:
    """Copy code of box `s`, which starts at `offsets`, by `threads` threads numbered `tid`.

    Subscripts are clamped to the array, since elements of the box outside of it are never used, except in
    dimensions along which the box is `inside`. Where the box may not be `needed`, the array may be empty and
    is then not read. It is copied in each of several tiles if `stepped`. `multiples` says what names are
    known to be multiples of, `positive` which are known not to be negative. Lanes move `widest` bytes at once
    where rows allow it. A direct copy has `loads` loads of a thread in flight, 0 for all of them. By
    `choices` elements come from elsewhere, and `only` some are copied at all, which exist. Dimensions go
    `along` as many threads, by number, or rows along all of the block.
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
    only: Only | None = None
    along: tuple[tuple[Expr, int], ...] = ()

    @property
    def type(self) -> str:
        return self.layout.buffer.type

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(side.size for side in self.s.sides)

    @property
    def width(self) -> int:
        """Elements a lane moves at once: wide when rows are pitched and the box starts aligned."""
        if not self.stepped or self.choices or self.only is not None:
            return 1  # read once or twice, often across rows: padding by single words is worth more
        width = self.widest // SIZES.get(self.type, self.widest or 1)
        while width > 1 and not self._aligned(width):
            width //= 2
        return max(width, 1)

    def _aligned(self, width: int) -> bool:
        pitched = self.layout.is_pitched(width)
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
    def _rows(self) -> int:
        """Rows that threads are in at once."""
        return max(1, self.threads // self._columns)

    @property
    def _plane(self) -> int:
        """Rows of the box that are dealt together: all, or those of a plane, the index of which is then no
        quotient by a number that is no power of two. That is worth twice as many turns.
        """
        size = self.sizes[-2] if len(self.sizes) > 2 else 1
        alone = self._height // size * -(-size // self._rows)
        worth = alone <= 2 * -(-self._height // self._rows)
        return size if size & (size - 1) and worth else self._height

    @property
    def _turns(self) -> tuple[int, int, int]:
        """How often a thread advances by planes, by rows of one, and by columns."""
        rows = -(-self._plane // self._rows)
        return self._height // self._plane, rows, -(-self._row // self._columns)

    def direct(self) -> tuple[Statement, ...]:
        what = Comment(f"{self.s.name} = {self.s.array} ({self.s.reason})")
        if self.width > 1 and not self.s.as_it_comes:  # wide on one side only: by way of registers
            return (what, self.registers(), *self.fetch(), *self.put())
        deal = self._deal if self.only is None else self._dealt  # `only` is of what exists
        return (what, *deal(self._move_direct, self.loads))

    def in_flight(self, slot: Expr) -> tuple[Statement, ...]:
        """The copy into `slot` of the ring, not waited for."""
        return self._deal(lambda local, _: self._move(self._source(local), local, slot))

    def out(self, target: Choice, skipped: tuple[Expr, ...]) -> tuple[Statement, ...]:
        """A part of a box, behind what is `skipped` of it, to where its elements are stored."""

        def one(local: Local, _: Expr) -> tuple[Statement, ...]:
            test, there = target.at(self._element(local))
            inside = tuple(add(index, first) for index, first in zip(local, skipped, strict=True))
            store = Assign(there, self._target(inside, None))
            return (store,) if test is None else (If(test, (store,), (), uniform=False),)

        code = (Comment(f"{target.then.array} = {self.s.name}"), *self._deal(one))
        return code if target.block is None else (If(target.block, code, (), uniform=True),)

    def registers(self) -> DeclareArray:
        turns = prod(self._turns)
        return DeclareArray(self._fetched, self.type, (turns, self.width) if self.width > 1 else (turns,))

    def fetch(self) -> tuple[Statement, ...]:
        """The box on its way into registers."""
        return self._deal(self._fetch_one)

    def put(self, slot: Expr | None = None) -> tuple[Statement, ...]:
        """What was fetched into shared memory, of several slots into this one."""
        return self._deal(lambda local, turn: self._put_one(local, turn, slot))

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

    def _fetch_one(self, local: Local, turn: Expr) -> tuple[Statement, ...]:
        source = self._source(local)
        if self.width == 1:
            return (Assign(self._register(turn, 0), source),)
        return (Move(self._register(turn, 0), source, self.width),)

    def _put_one(self, local: Local, turn: Expr, slot: Expr | None) -> tuple[Statement, ...]:
        if self.width > 1 and self.s.as_it_comes:
            return (Move(self._target(local, slot), self._register(turn, 0), self.width),)
        *front, last = local
        return tuple(
            Assign(self._target((*front, add(last, lane)), slot), self._made(self._register(turn, lane)))
            for lane in range(self.width)
        )

    def _move_direct(self, local: Local, turn: Expr) -> tuple[Statement, ...]:
        if self.width > 1:
            return (Move(self._target(local, None), self._source(local), self.width),)
        copy: Statement = Assign(self._target(local, None), self._made(self._source(local)))
        for choice in self.choices:
            test, other = choice.at(self._element(local))
            there = Assign(self._target(local, None), self._made(other))
            copy = there if test is None else If(test, (there,), (copy,), uniform=False)
        if self.only is not None:
            nothing = self._zero(local, turn) if self.s.zeros else ()
            if self.only.test == Int(0):
                return nothing
            copy = If(self.only.at(self._element(local)), (copy,), nothing, uniform=False)
        return (copy,)

    def zeros(self, skipped: tuple[Expr, ...] = ()) -> tuple[Statement, ...]:
        """Nothing in the box, or in a part of it behind what is `skipped`."""

        def one(local: Local, turn: Expr) -> tuple[Statement, ...]:
            inside = (add(index, first) for index, first in zip(local, skipped or local, strict=True))
            return self._zero(tuple(inside) if skipped else local, turn)

        return (Comment(f"{self.s.name} = 0 ({self.s.reason})"), *self._dealt(one))

    def _zero(self, local: Local, _: Expr) -> tuple[Statement, ...]:
        return (Assign(self._target(local, None), zero(self.type)),)

    def _made(self, element: Expr) -> Expr:
        """What the box holds of an element."""
        return element if self.s.form is None else substitute(self.s.form, {ELEMENT: element})

    def _move(self, source: Reference, local: Local, slot: Expr) -> tuple[Statement, ...]:
        return (Move(self._target(local, slot), source, self.width, asynchronous=True),)

    def _element(self, local: Local) -> tuple[Expr, ...]:
        return tuple(add(offset, index) for offset, index in zip(self.offsets, local, strict=True))

    def _source(self, local: Local) -> Reference:
        subscripts = tuple(self._clamped(k, index) for k, index in enumerate(local))
        return Reference(self.s.array, subscripts, self.type, site=self.site)

    def _target(self, local: Local, slot: Expr | None) -> Reference:
        stored = tuple(local[k] for k in self.s.order)
        subscripts = stored if slot is None else (slot, *stored)
        return Reference(self.s.name, subscripts, self.type, site=self.site)

    def _clamped(self, k: int, index: Expr) -> Expr:
        offset, extent, size = self.offsets[k], self.layout.extent(k), self.sizes[k]
        place = add(offset, index)
        first = self.layout.first(k)
        skipped = subtract(offset, first)
        inside = (
            isinstance(skipped, Int) and isinstance(extent, Int) and 0 <= skipped.value <= extent.value - size
        )
        if inside or self.only is not None or (self.inside and self.inside[k]):
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

    def _deal(self, one: One, together: int = 0) -> tuple[Statement, ...]:
        """What `_dealt` makes, unless there is no element of the array."""
        body = self._dealt(one, together)
        test = conjunction(list(self._not_empty()))
        return body if test is None else (If(test, body, (), uniform=True),)

    def _dealt(self, one: One, together: int = 0) -> tuple[Statement, ...]:
        """`one(indices in the box, turn)` for every element (or group of `width`) the thread copies.

        `together` of them follow each other without a loop's end between them, 0 for all.
        """
        return self._along_axes(one) if self.along else self._by_rows(one, together)

    def _along_axes(self, one: One) -> tuple[Statement, ...]:
        """Each dimension dealt to the threads along its axis."""
        names = [Name(f"{self.s.name}_{k}") for k in range(len(self.sizes))]
        body = one(tuple(names), Int(0))
        for name, (thread, count), size in reversed(list(zip(names, self.along, self.sizes, strict=True))):
            body = _dealt(name.name, thread, count, size, body, 0)
        return body

    def _by_rows(self, one: One, together: int) -> tuple[Statement, ...]:
        """Rows dealt to as many threads as cover one, all of the box, or of a plane, one after another."""
        row, column = Name(f"{self.s.name}_row"), Name(f"{self.s.name}_column")
        planes, row_turns, column_turns = self._turns
        plane: Expr = Name(f"{self.s.name}_plane") if planes > 1 else Int(0)
        row_turn: Expr = Name(f"{row.name}_r") if row_turns > 1 else Int(0)
        column_turn: Expr = Name(f"{column.name}_r") if column_turns > 1 else Int(0)
        turn = add(multiply(add(multiply(plane, row_turns), row_turn), column_turns), column_turn)
        number = row if self._plane > 1 else Int(0)
        rows_of = _unflatten(number, self.sizes[:-1])
        if planes > 1:
            rows_of = (*_unflatten(plane, self.sizes[:-2]), number)
        body = one((*rows_of, multiply(column, self.width)), turn)
        start = simplify(Binary("%", Name("tid"), Int(self._columns)))
        body = _dealt(column.name, start, self._columns, self._row, body, together)
        if self._plane > 1:
            first = simplify(Binary("/", Name("tid"), Int(self._columns)))
            left = max(1, together // column_turns) if together else 0
            body = _dealt(row.name, first, self._rows, self._plane, body, left)
        if isinstance(plane, Name):
            unroll = planes * row_turns <= _UNROLLED
            body = (For(plane.name, Int(0), Int(planes), 1, body, uniform=True, unroll=unroll),)
        busy = self._columns * (self._rows if self._plane > 1 else 1)
        if busy < self.threads:
            body = (If(Binary("<", Name("tid"), Int(busy)), body, (), uniform=False),)
        return body

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
    loop = For(turn.name, Int(0), Int(count), 1, body, uniform=True, unroll=count <= _UNROLLED and not row)
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
