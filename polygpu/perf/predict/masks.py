"""Which lanes are active: tests over all points and threads, and how often each outcome occurs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache, reduce
from typing import Any, TypeAlias

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

Hashes: TypeAlias = npt.NDArray[np.uint64]
Kinds: TypeAlias = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
"""The first place of each kind, and the kind of each place."""

_CODES = 1 << 62  # kinds of several arrays that a number tells apart
_ONE_KIND: Kinds = (np.zeros(1, np.intp), np.zeros(1, np.intp))
_WORDS = 1 << 12


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


@dataclass(frozen=True, eq=False)
class Compared:
    """An array over points and warps, (some axes..., warps or 1), whose slices are compared once, whatever it
    is put together with; those of `like` are alike where its are.
    """

    array: npt.NDArray[Any]
    like: Compared | None = None

    @cached_property
    def kinds(self) -> tuple[Kinds, ...]:
        """Along each axis, those of the indices' slices."""
        if self.like is not None:
            return self.like.kinds
        left = self.array
        found: list[Kinds] = []
        for axis in range(left.ndim - 1):
            if left.shape[axis] == 1:
                found.append(_ONE_KIND)
                continue
            spend(left.size)
            first, number = kinds_of(_hashed(left, axis))
            found.append((first, number))
            if len(first) < len(number):
                left = np.take(left, first, axis)
        return tuple(found)

    @property
    def inverted(self) -> Compared:
        return Compared(~self.array, self)


@dataclass(frozen=True)
class Joint:
    """Arrays over points and warps, shortened along axes where points are alike; `weights` counts those.

    All have the dimensions (axes..., warps or 1).
    """

    arrays: tuple[npt.NDArray[Any], ...]
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

    def outer(self, count: int, what: npt.NDArray[np.bool_]) -> int:
        """How many indices of the last `count` axes have a place where it is so in the first warp."""
        first = np.broadcast_to(what[..., 0], self.shape)
        inner = len(self.weights) - count
        weight = Joint((), self.weights[inner:]).weight()
        return int((weight * first.any(axis=tuple(range(inner)))).sum())


def joint(arrays: Sequence[Compared], axes: Sequence[Integers]) -> Joint:
    """`arrays` together; `axes` has how often each index of an axis counts."""
    rank = len(axes)
    kept = [a.array.reshape((1,) * (rank + 1 - a.array.ndim) + a.array.shape) for a in arrays]
    shapes = [[*array.shape] for array in kept]
    weights = list(axes)
    for axis, weight in enumerate(axes):
        moving = [k for k, shape in enumerate(shapes) if shape[axis] > 1]
        if len(weight) == 1 or not moving:
            weights[axis] = weight if len(weight) == 1 else weight.sum(keepdims=True)
            continue
        spend((SORTED + len(moving)) * len(weight))
        first, number = _together([arrays[k].kinds[axis - rank + len(arrays[k].kinds)] for k in moving])
        if len(first) < len(number):
            weights[axis] = np.bincount(number, weight, len(first)).astype(np.int64)
            for k in moving:
                kept[k], shapes[k][axis] = np.take(kept[k], first, axis), len(first)
    return Joint(tuple(kept), tuple(weights))


def _together(found: Sequence[Kinds]) -> Kinds:
    """Those of indices whose slices are alike in all of the arrays."""
    if len(found) == 1:
        return found[0]
    code, radix = found[0][1], len(found[0][0])
    for first, number in found[1:]:
        if radix * len(first) > _CODES:
            known, code = kinds_of(code)
            radix = len(known)
        code, radix = code * len(first) + number, radix * len(first)
    return kinds_of(code)


def _hashed(array: npt.NDArray[Any], axis: int) -> Hashes:
    """A word for each slice."""
    rows = np.ascontiguousarray(array.swapaxes(axis, 0)).reshape(array.shape[axis], -1)
    whole = rows.shape[1] * rows.itemsize % 8 == 0
    words = rows.view(np.uint64) if whole else rows.astype(np.uint64)
    return words @ random_words(words.shape[1])


def distinct_rows(rows: Integers) -> Kinds:
    """Those of the rows."""
    spend(SORTED * len(rows) + rows.size)
    mixed = rows.astype(np.uint64) @ random_words(rows.shape[1])
    return kinds_of(mixed)


def kinds_of(words: npt.NDArray[Any]) -> Kinds:
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


def random_words(count: int) -> Hashes:
    """Odd words: rows that differ have products with them that differ, but for a chance of 2**-63."""
    return _random_words(max(_WORDS, 1 << (count - 1).bit_length()))[:count]


@lru_cache(maxsize=8)
def _random_words(count: int) -> Hashes:
    """Those of splitmix64; numpy's own generators take 20 ms to import."""
    words = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return (words ^ (words >> np.uint64(31))) | np.uint64(1)


def active(masks: Sequence[npt.NDArray[Any]]) -> Bits:
    """The lanes that all masks leave."""
    fitting(*(m.shape for m in masks))
    return reduce(np.bitwise_and, masks, np.asarray([ALL]))


def reached(masks: Sequence[Compared], axes: Sequence[Integers]) -> tuple[Joint, npt.NDArray[np.bool_]]:
    """The points, and whether each warp, or all of them, gets there with an active lane."""
    found = joint(masks, axes)
    bits = active(found.arrays)
    fitting(bits.shape, (*found.shape, 1))
    return found, bits != 0
