"""Partial results of a block's threads: held in registers, then combined in a tree through shared memory.

reduced ::= neutral registers, block, parts = registers,
            for half = threads / 2, ..., 1: barrier, parts[t] = parts[t] op parts[t + half] where t < half;
            element = element op parts[0] in the first thread, or parts[0] where it has no old value

The order depends on the number of threads only: first the lanes of each group of 32, then the groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from polygpu.lower.context import KernelContext, several
from polygpu.lower.registers import at_points, cleared, element
from polygpu.mapping.program import Axis, Reduced
from polygpu.model.expr import (
    Binary,
    Expr,
    Int,
    Reference,
)
from polygpu.model.kernel import Assign, Barrier, If, SharedArray, Statement
from polygpu.model.linear import add, multiply, simplify
from polygpu.model.updates import combined, neutral

_LANES = 32  # of a group, on any device: another number would be another order


def reduced(c: KernelContext, r: Reduced, block: tuple[Statement, ...], again: bool) -> tuple[Statement, ...]:
    """`block` between neutral registers and the tree; `again` says that it may run more than once."""
    h, threads = r.array, _threads(c, r)
    total, rank = element(c, h), _rank(c, r)
    part = Assign(_part(c, r, _place(rank, threads)), c.register(h))
    first = _part(c, r, Int(0))
    update = Assign(total, combined(r.operator, total, first) if h.load else first)
    result = at_points(c, c.owners(h), h.points, update)
    return (
        *cleared(c, h, neutral(r.operator, _type(c, r))),
        *block,
        *c.points.open(several(c.owners(h)), (part,), guarded=False),
        *_tree(c, r, rank, threads),
        *_where(rank, 1, threads, result),
        *([Barrier()] if again else []),
    )


def _tree(c: KernelContext, r: Reduced, rank: Expr, threads: int) -> Iterator[Statement]:
    mine = _part(c, r, rank)
    half = threads // 2
    while half:
        both = Assign(mine, combined(r.operator, mine, _part(c, r, add(rank, half))))
        yield Barrier()
        yield from _where(
            rank, half, threads, c.points.open(several(c.owners(r.array)), (both,), guarded=False)
        )
        half //= 2


def _where(rank: Expr, count: int, threads: int, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    return body if count == threads else (If(Binary("<", rank, Int(count)), body, (), uniform=False),)


def shared_parts(c: KernelContext, r: Reduced) -> SharedArray:
    """The partial results of all registers of all threads: those that are combined are next to each other."""
    others = c.owners(r.array)
    extents = (
        *(a.per_thread for a in several(c.owners(r.array))),
        *(a.threads for a in others if a.threads > 1),
    )
    return SharedArray(r.parts, _type(c, r), (*extents, _threads(c, r)), alignment=16)


def _part(c: KernelContext, r: Reduced, place: Expr) -> Reference:
    indices = [c.points.register_index(a) for a in several(c.owners(r.array))]
    indices += [_thread(c, a) for a in c.owners(r.array) if a.threads > 1]
    return Reference(r.parts, (*indices, place), _type(c, r))


def _place(rank: Expr, threads: int) -> Expr:
    """Where a thread's part begins: lanes of all groups lie together, so that halves fold lanes first."""
    groups = threads // min(_LANES, threads)
    if groups == 1:
        return rank
    lane = simplify(Binary("%", rank, Int(_LANES)))
    return add(multiply(lane, groups), simplify(Binary("/", rank, Int(_LANES))))


def _rank(c: KernelContext, r: Reduced) -> Expr:
    """The thread's number among those along the reduced axes, the last of which is the fastest."""
    rank: Expr = Int(0)
    for a in _along(c, r):
        rank = add(multiply(rank, a.threads), _thread(c, a))
    return rank


def _threads(c: KernelContext, r: Reduced) -> int:
    return prod(a.threads for a in _along(c, r))


def _along(c: KernelContext, r: Reduced) -> tuple[Axis, ...]:
    return tuple(a for a in c.m.axes if a.name in r.axes)


def _thread(c: KernelContext, axis: Axis) -> Expr:
    return c.points.thread(c.m.axes.index(axis))


def _type(c: KernelContext, r: Reduced) -> str:
    return c.layouts[r.array.array].buffer.type
