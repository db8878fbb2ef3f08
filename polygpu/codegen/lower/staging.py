"""Copy code: the box of a staged array, dealt to the threads with the innermost dimension fastest."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from polygpu.codegen.linear import add, linear, maximum, minimum, multiply, simplify, subtract
from polygpu.codegen.lower.buffers import Layout
from polygpu.memory.place import Staged
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Comment, Declare, For, If, Statement


@dataclass(frozen=True)
class CopyPlan:
    """`columns` x `rows` threads over a box of `width` columns and `height` rows (all but the last side)."""

    threads: int
    width: int
    height: int

    @property
    def columns(self) -> int:
        size = 1
        while size < min(self.width, self.threads):
            size *= 2
        return min(size, self.threads)

    @property
    def rows(self) -> int:
        return max(1, self.threads // self.columns)


def copy_in(
    s: Staged, offsets: tuple[Expr, ...], layout: Layout, threads: int, site: int, positive: frozenset[str]
) -> tuple[Statement, ...]:
    """Statements by which the block's threads fill shared array `s` from global memory.

    Subscripts are clamped to the array: elements of the box outside of it are never used. Names in
    `positive` are known not to be negative.
    """
    sizes = [side.size for side in s.sides]
    plan = CopyPlan(threads, sizes[-1], prod(sizes[:-1]))
    row, column = Name(f"{s.name}_row"), Name(f"{s.name}_column")
    local = (*_unflatten(row, sizes[:-1]), column)
    source = tuple(
        _clamped(add(offset, index), offset, layout.extent(k), size, positive)
        for k, (offset, index, size) in enumerate(zip(offsets, local, sizes, strict=True))
    )
    move = Assign(
        Reference(s.name, tuple(local[k] for k in s.order), layout.buffer.type, site=site),
        Reference(s.array, source, layout.buffer.type, site=site),
    )
    inner = _dealt(column.name, simplify(Binary("%", Name("tid"), Int(plan.columns))), plan.columns, plan.width, (move,))
    if plan.height == 1:
        outer = _one_row(plan, row.name, inner)
    else:
        outer = _dealt(row.name, simplify(Binary("/", Name("tid"), Int(plan.columns))), plan.rows, plan.height, inner)
    idle = plan.columns * plan.rows < threads and plan.height > 1
    if idle:
        outer = (If(Binary("<", Name("tid"), Int(plan.columns * plan.rows)), outer, (), uniform=False),)
    return (Comment(f"{s.name} = {s.array} ({s.reason})"), *outer)


def _one_row(plan: CopyPlan, row: str, inner: tuple[Statement, ...]) -> tuple[Statement, ...]:
    body = (Declare(row, "int", Int(0)), *inner)
    if plan.rows == 1 and plan.columns == plan.threads:
        return body
    return (If(Binary("<", Name("tid"), Int(plan.columns)), body, (), uniform=False),)


def _dealt(index: str, start: Expr, stride: int, total: int, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """`body` for index = start, start + stride, ... below total, as an unrolled loop of constant length."""
    count = -(-total // stride)
    if total % stride:
        body = (If(Binary("<", Name(index), Int(total)), body, (), uniform=False),)
    if count == 1:
        return (Declare(index, "int", start), *body)
    turn = Name(f"{index}_r")
    body = (Declare(index, "int", add(start, multiply(turn, stride))), *body)
    return (For(turn.name, Int(0), Int(count), 1, body, uniform=True, unroll=count <= 16),)


def _unflatten(row: Name, sizes: list[int]) -> tuple[Expr, ...]:
    """Indices of a box with `sizes` from the number of a row of it."""
    if not sizes:
        return ()
    result: list[Expr] = []
    rest: Expr = row
    for size in reversed(sizes[1:]):
        result.append(Binary("%", rest, Int(size)))
        rest = Binary("/", rest, Int(size))
    return (rest, *reversed(result))


def _clamped(index: Expr, offset: Expr, extent: Expr, size: int, positive: frozenset[str]) -> Expr:
    if isinstance(offset, Int) and isinstance(extent, Int) and 0 <= offset.value <= extent.value - size:
        return index
    bounded = minimum(index, subtract(extent, 1))
    return bounded if _nonnegative(offset, positive) else maximum(bounded, Int(0))


def _nonnegative(offset: Expr, positive: frozenset[str]) -> bool:
    sum_ = linear(offset)
    names = all(isinstance(a, Name) and a.name in positive and c > 0 for a, c in sum_.terms)
    return names and sum_.constant >= 0
