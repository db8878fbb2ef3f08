"""Which lanes are active: tests over all points and threads, and how often each outcome occurs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce

import numpy as np
import numpy.typing as npt

from polygpu.model.expr import Binary, Call, Expr, Unary
from polygpu.perf.predict.values import (
    ALL,
    SORTED,
    Bits,
    Environment,
    Integers,
    at_least_zero,
    evaluate,
    fitting,
    packed,
    plus,
    spend,
)
from polygpu.support.dataclass import dataclass

Hashes = npt.NDArray[np.uint64]


def lanes_where(test: Expr, values: Environment) -> Bits | None:
    """The lanes in which `test` holds; None when it depends on data."""
    match test:
        case Binary("&&" | "||", left, right):
            both = lanes_where(left, values), lanes_where(right, values)
            if both[0] is None or both[1] is None:
                return None
            return both[0] & both[1] if test.op == "&&" else both[0] | both[1]
        case Unary("!", operand):
            bits = lanes_where(operand, values)
            return None if bits is None else ~bits
        case Binary("<" | ">=", left, right):
            bits = below(left, right, values)
            return None if bits is None else bits if test.op == "<" else ~bits
        case Binary(">" | "<=", left, right):
            bits = below(right, left, values)
            return None if bits is None else bits if test.op == ">" else ~bits
    value = evaluate(test, values)
    return None if value is None else packed(value.whole() != 0)


def below(left: Expr, right: Expr, values: Environment) -> Bits | None:
    """The lanes in which left < right; each side of a minimum or maximum by itself, which is cheaper."""
    match left, right:
        case _, Call("min" | "max", arguments):
            parts = [below(left, a, values) for a in arguments]
            return _joined(parts, right.function == "min")
        case Call("min" | "max", arguments), _:
            parts = [below(a, right, values) for a in arguments]
            return _joined(parts, left.function == "max")
    a, b = evaluate(left, values), evaluate(right, values)
    if a is None or b is None:
        return None
    return ~at_least_zero(plus(a, b, -1))


def _joined(parts: Sequence[Bits | None], every: bool) -> Bits | None:
    known = [p for p in parts if p is not None]
    if len(known) < len(parts):
        return None
    return reduce(np.bitwise_and if every else np.bitwise_or, known)


@dataclass(frozen=True)
class Joint:
    """Arrays over points and warps, shortened along axes where points are alike; `weights` counts those.

    All have the dimensions (axes..., warps or 1).
    """

    arrays: tuple[npt.NDArray[np.generic], ...]
    weights: tuple[Integers, ...]

    def weight(self) -> Integers:
        """How many points each place stands for, over the axes alone."""
        axes = len(self.weights)
        shaped = [w.reshape([-1 if k == a else 1 for k in range(axes)]) for a, w in enumerate(self.weights)]
        return reduce(np.multiply, shaped)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(w) for w in self.weights)

    def sums(self, what: npt.NDArray[np.bool_]) -> Integers:
        """How many points there are in each warp, or in all, where it is so."""
        wide = np.broadcast_to(what, (*self.shape, what.shape[-1])).reshape(-1, what.shape[-1])
        return self.weight().reshape(-1) @ wide


def joint(arrays: Sequence[npt.NDArray[np.generic]], axes: Sequence[Integers]) -> Joint:
    """`arrays`, (some axes..., warps or 1) each; `axes` has how often each index of an axis counts."""
    rank = len(axes)
    kept = [a.reshape((1,) * (rank + 1 - a.ndim) + a.shape) for a in arrays]
    weights = list(axes)
    for axis in range(rank):
        if len(weights[axis]) == 1:
            continue
        moving = [a for a in kept if a.shape[axis] > 1]
        if not moving:
            weights[axis] = weights[axis].sum(keepdims=True)
            continue
        first, number = _alike(moving, axis, len(weights[axis]))
        if len(first) == len(number):
            continue
        weights[axis] = np.bincount(number, weights[axis], len(first)).astype(np.int64)
        kept = [np.take(a, first, axis) if a.shape[axis] > 1 else a for a in kept]
    return Joint(tuple(kept), tuple(weights))


def _alike(
    arrays: Sequence[npt.NDArray[np.generic]], axis: int, length: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The first index of each kind of slice, and every index's kind."""
    spend(SORTED * length + sum(a.size for a in arrays))
    mixed = np.zeros(length, np.uint64)
    for number, array in enumerate(arrays):
        rows = array.swapaxes(axis, 0).reshape(length, -1)
        words = rows.view(np.uint64) if rows.dtype == np.int64 else rows.astype(np.uint64)
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + words @ random_words(number, rows.shape[1])
    return _kinds(mixed)


def distinct_rows(rows: Integers) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The first of each kind of row, and every row's kind."""
    spend(SORTED * len(rows) + rows.size)
    mixed = rows.astype(np.uint64) @ random_words(0, rows.shape[1])
    return _kinds(mixed)


def _kinds(words: Hashes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The first place of each word, in the words' order, and the number of each place's word in that order.

    As np.unique, which takes five times as long for the few words that there often are.
    """
    order = words.argsort(kind="stable")
    ordered = words[order]
    new = np.ones(len(words), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    number = np.empty(len(words), np.intp)
    number[order] = new.cumsum() - 1
    return order[new], number


@lru_cache(maxsize=64)
def random_words(seed: int, count: int) -> Hashes:
    """Odd words: rows that differ have products with them that differ, but for a chance of 2**-63."""
    return np.random.default_rng(seed).integers(0, 2**63, count, np.uint64) * np.uint64(2) + np.uint64(1)


def active(masks: Sequence[Bits]) -> Bits:
    """The lanes that all masks leave."""
    fitting(*(m.shape for m in masks))
    return reduce(np.bitwise_and, masks, np.asarray([ALL]))


def executions(masks: Sequence[Bits], axes: Sequence[Integers], warps: int) -> Integers:
    """How often each warp gets here with an active lane."""
    found = joint(list(masks), axes)
    bits = active(found.arrays)  # type: ignore[arg-type]
    fitting(bits.shape, (*found.shape, 1))
    return np.broadcast_to(found.sums(bits != 0), (warps,))
