"""Loops whose iterations run several in a row: unrolled in part."""

from __future__ import annotations

from dataclasses import replace

from polygpu.lower.tidy import substituted
from polygpu.model.expr import Call, Expr, Int, Name
from polygpu.model.kernel import For, Statement
from polygpu.model.kernel_walk import loop_length
from polygpu.model.linear import add, multiply, subtract


def in_a_row(loop: For, count: int) -> tuple[Statement, ...]:
    """for (i = a; i < b; i++) S(i)  ->  for (i = a; i < c; i += count) { S(i) S(i + 1) ... } and the rest.

    What is left of a constant length is unrolled too, else it is a loop.
    """
    length = loop_length(loop)
    if count <= 1:
        return (loop,)
    if length is None:
        middle = _after_whole_rows(loop, count)
        return _rows(replace(loop, upper=middle), count), replace(loop, lower=middle)
    if length <= count:
        return (replace(loop, unroll=True),)
    assert isinstance(loop.lower, Int)
    end = Int(loop.lower.value + length // count * count * loop.step)
    rest = (replace(loop, lower=end, unroll=True),) if length % count else ()
    return _rows(replace(loop, upper=end), count), *rest


def _rows(loop: For, count: int) -> For:
    within = f"{loop.index}_u"
    body = substituted(loop.body, {loop.index: add(Name(loop.index), Name(within))})
    row = For(within, Int(0), Int(count * loop.step), loop.step, body, uniform=True, unroll=True)
    return replace(loop, step=count * loop.step, body=(row,))


def _after_whole_rows(loop: For, count: int) -> Expr:
    """Where the last whole row ends, no earlier than the loop's start."""
    length = Call("max", (subtract(loop.upper, loop.lower), Int(0)), "int")
    row = count * loop.step
    return add(loop.lower, multiply(Call("floord", (length, Int(row)), "int"), row))
