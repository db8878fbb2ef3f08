"""What is copied between a host array and its device copy, as expressions over the region's parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polygpu.model.expr import Binary, Expr, Int, Name, Select
from polygpu.model.kernel import Buffer
from polygpu.model.offsets import extent_of, last_row, linear_offset, product, sum_of
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Transfer:
    """Copies of `rows` rows of `width` elements, one for each combination of values of the `loops`' counters.

    Counters go from 0 up to the numbers beside them. `row` is the first row on the device, that of the
    array where it is None; it starts at `offset` on the host, where rows are `host_pitch` apart.
    """

    loops: tuple[tuple[str, Expr], ...]
    row: Expr | None
    offset: Expr
    host_pitch: Expr
    width: Expr
    rows: Expr

    def expressions(self) -> tuple[Expr, ...]:
        """All of them."""
        counts = (count for _, count in self.loops)
        return (*counts, self.row or Int(0), self.offset, self.host_pitch, self.width, self.rows)


def row_pitch(buffer: Buffer) -> Expr:
    """Elements from one row of the device copy to the next."""
    return buffer.extents[-1] if buffer.pitch is None else buffer.pitch


def sizes(buffer: Buffer) -> dict[str, Expr]:
    """The variables with the numbers of rows and of elements a row; none of a row alone."""
    if len(buffer.extents) < 2:
        return {}
    rows = product(map(extent_of, buffer.extents[:-1]))
    return {f"rows_of_{buffer.name}": rows, f"pitch_of_{buffer.name}": row_pitch(buffer)}


def elements(buffer: Buffer) -> Expr:
    """How many the device copy has, in terms of `sizes`."""
    rows, pitch = f"rows_of_{buffer.name}", f"pitch_of_{buffer.name}"
    return Binary("*", Name(rows), Name(pitch)) if sizes(buffer) else product(map(extent_of, buffer.extents))


def transfers(buffer: Buffer) -> Iterator[Transfer]:
    """The box of a buffer, or its rows up to that of the last element and then this one."""
    box = _box(buffer)
    if not buffer.last:
        yield box
        return
    row, width = last_row(buffer)
    some = Binary(">", buffer.extents[0], Int(0))
    yield replace(box, rows=Select(some, row, Int(0)))
    offset = linear_offset([*buffer.last[:-1], Int(0)], buffer.host_extents[1:], "long long")
    yield replace(box, row=row, offset=offset, width=width, rows=Select(some, Int(1), Int(0)))


def is_kept(buffer: Buffer) -> bool:
    """Whether the array may stay on the device: what is copied of it lies together on the host."""
    if not (buffer.host and buffer.extents and (buffer.copy_in or buffer.copy_out)) or buffer.rows:
        return False
    origin = buffer.host_origin or (Int(0),) * len(buffer.extents)
    inner = zip(buffer.extents[1:], buffer.host_extents[1:], origin[1:], strict=True)
    return all(extent == host and start == Int(0) for extent, host, start in inner)


def _box(buffer: Buffer) -> Transfer:
    """A box of `extents` at `origin` of the host array; dimensions the box spans fully are merged."""
    extents, host = buffer.extents or (Int(1),), buffer.host_extents or (Int(1),)
    origin = buffer.host_origin or (Int(0),) * len(extents)
    rank = len(extents)
    outer = max(rank - 2, 0)
    while outer and extents[outer] == host[outer] and origin[outer] == Int(0):
        outer -= 1
    counters: list[Expr] = [Name(f"at_{d}", "long long") for d in range(outer)]
    inner = [Int(0)] * (rank - outer)
    starts = [sum_of(o, c) for o, c in zip(origin, [*counters, *inner], strict=True)]
    rows = product(map(extent_of, extents[outer:-1]))
    return Transfer(
        loops=tuple((f"at_{d}", extent_of(extents[d])) for d in range(outer)),
        row=linear_offset([*counters, *inner[1:]], map(extent_of, extents[1:-1])) if counters else None,
        offset=linear_offset(starts, host[1:], "long long"),
        host_pitch=(host[-1] or Int(0)) if rank > 1 else Int(0),
        width=extents[-1],
        rows=rows if outer or rank < 2 else Name(f"rows_of_{buffer.name}"),
    )
