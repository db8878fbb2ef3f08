"""Integer values of a kernel for all its blocks, loop iterations and threads at once.

A point is one iteration of the loops around a piece of code in one block of one launch. Arrays over points
have one dimension an axis, in the order (innermost loop, ..., outermost loop, block z, y, x, launch), of
length 1 along the axes that the values do not depend on; so code deeper inside adds axes on the left and
numpy broadcasts. Arrays over threads have two more dimensions on the right, (warp, lane).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, reduce
from math import prod
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from polygpu.model.device import WARP
from polygpu.perf.lanes import BINARY, Arithmetic
from polygpu.support.dataclass import dataclass
from polygpu.support.recent import Recent

T = TypeVar("T")

Integers: TypeAlias = npt.NDArray[np.int64]
Bits: TypeAlias = npt.NDArray[np.uint32]  # lanes of a warp; shape (axes..., warps or 1)

ALL = np.uint32(0xFFFFFFFF)
LARGEST = 1 << 25  # elements of an array: more would not fit into memory, with others
LEAST = 1 << 25  # elements that an attempt may look at in any case
SORTED = 3  # elements looked at in the time that one is sorted
_SHAPES = 1 << 12  # of which answers are remembered
_ZERO = np.zeros((), np.int64)


class TooLargeError(Exception):
    """An array over points would have more than `LARGEST` elements."""


class TooMuchError(TooLargeError):
    """The arrays looked at have more elements together than the work around allows. No loop that was looked
    at until then has more than the `longest` iterations.
    """

    longest = LARGEST


@dataclass
class Work:
    """Elements of arrays that may be looked at, some 10 ns each, None: any number; how many have been; the
    `least` that an attempt may look at; how many iterations of loops at `most`, None: any number; and
    whether it is counted what each of the memory's `partitions` moves.
    """

    left: int | None
    spent: int = 0
    least: int = LEAST
    most: int | None = None
    partitions: bool = True


_work: ContextVar[Work | None] = ContextVar("_work", default=None)


@contextmanager
def half_of(work: Work) -> Iterator[None]:
    """Inside, `spend` raises TooMuchError when half of what is left of `work`, or its least, is spent."""
    allowed = None if work.left is None else max(work.least, work.left // 2)
    half = Work(allowed)
    token = _work.set(half)
    try:
        yield
    finally:
        _work.reset(token)
        work.spent += half.spent
        if work.left is not None and allowed is not None and half.left is not None:
            work.left = max(0, work.left - (allowed - max(0, half.left)))


def spend(elements: int) -> None:
    """Says that so many elements of arrays are looked at. Raises TooMuchError."""
    work = _work.get()
    if work is None:
        return
    work.spent += elements
    if work.left is not None:
        work.left -= elements
        if work.left < 0:
            raise TooMuchError


def remembered(recent: Recent[tuple[T, int]], key: Hashable, make: Callable[[], T]) -> T:
    """What `make` makes, or has made for the key: that takes as much of the work around as it did then."""
    work = _work.get() or Work(None)
    before = work.spent
    found, spent = recent.get(key, lambda: (make(), work.spent - before))
    spend(spent - (work.spent - before))
    return found


def fitting(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of arrays of these shapes together, which is looked at. Raises TooLargeError."""
    shape = in_memory(*shapes)
    spend(prod(shape))
    return shape


def in_memory(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of arrays of these shapes together. Raises TooLargeError."""
    none: tuple[int, ...] = ()
    shape = reduce(together, shapes, none)
    if prod(shape) > LARGEST:
        raise TooLargeError
    return shape


@lru_cache(_SHAPES)
def together(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of arrays of these two shapes together; numpy's own function takes ten times as long."""
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    start = len(long) - len(short)
    return (*long[:start], *(y if x == 1 else x for x, y in zip(long[start:], short, strict=True)))


@dataclass(frozen=True)
class Value:
    """The sum of `points`, arrays over points, and `threads`, arrays over points and threads.

    Each depends on other axes than the others of its kind: as long as they are not added up, code in the
    three dimensions of a grid costs the sum of its extents and not their product.
    """

    points: tuple[Integers, ...] = ()
    threads: tuple[Integers, ...] = ()

    def of_points(self) -> Integers:
        fitting(*(p.shape for p in self.points))
        return reduce(np.add, self.points, _ZERO)

    def whole(self) -> Integers:
        """One number a point and thread, of length 1 along (warp, lane) where threads agree."""
        points = self.of_points()[..., None, None]
        fitting(points.shape, *(t.shape for t in self.threads))
        return reduce(np.add, self.threads, points)

    @property
    def constant(self) -> int | None:
        """The value where it is one for all points and threads."""
        known = not self.threads and all(p.size == 1 for p in self.points)
        return sum(int(p.flat[0]) for p in self.points) if known else None

    def extreme(self, pick: Callable[[Integers], np.int64]) -> int:
        """A bound: the largest (np.max) or smallest (np.min) value, if not exceeded somewhere."""
        return sum(int(pick(term)) for term in (*self.points, *self.threads))


Environment: TypeAlias = Mapping[str, Value | None]


@lru_cache(_SHAPES)
def constant(value: int) -> Value:
    return Value((np.asarray(value, np.int64),))


def scaled(value: Value, factor: int) -> Value:
    """factor * value"""
    if factor == 1:
        return value
    return Value(tuple(factor * p for p in value.points), tuple(factor * t for t in value.threads))


def plus(a: Value, b: Value, factor: int = 1) -> Value:
    """a + factor * b"""
    if b is constant(0):  # where arrays start, mostly
        return a
    b = scaled(b, factor)
    return Value(_added(a.points, b.points, 0), _added(a.threads, b.threads, 2))


def _added(a: tuple[Integers, ...], b: tuple[Integers, ...], inner: int) -> tuple[Integers, ...]:
    """The terms of both; those that depend on the same axes, `inner` ones apart, added up."""
    terms = {_axes(t.shape, inner): t for t in a}
    for t in b:
        axes = _axes(t.shape, inner)
        terms[axes] = terms[axes] + t if axes in terms else t
    return tuple(terms.values())


@lru_cache(_SHAPES)
def _axes(shape: tuple[int, ...], inner: int) -> tuple[int, ...]:
    """The axes that a term of this shape depends on, counted from the right."""
    rank = len(shape) - inner
    return tuple(rank - k for k in range(rank) if shape[k] > 1)


def at_least_zero(value: Value) -> Bits:
    """The lanes in which `value` >= 0."""
    points = value.of_points()
    if not value.threads:
        return np.where(points >= 0, ALL, np.uint32(0))[..., None]
    if len(value.threads) > 1 or _axes(value.threads[0].shape, 2):
        return packed(value.whole() >= 0)
    least = -value.threads[0].reshape(value.threads[0].shape[-2:])
    steps = distinct(least)
    table = packed(np.concatenate([[least.min() - 1], steps])[:, None, None] >= least)
    return table[np.searchsorted(steps, points, "right")]


def distinct(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The values of an array in order. As np.unique, which imports numpy's masked arrays to ask for them."""
    ordered = array.flatten()
    ordered.sort()
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def packed(active: npt.NDArray[np.bool_]) -> Bits:
    """Bit k of a warp's word is lane k."""
    wide = np.broadcast_to(active, (*active.shape[:-1], WARP)) if active.shape[-1] != WARP else active
    octets = np.packbits(wide, axis=-1, bitorder="little")
    return np.ascontiguousarray(octets).view("<u4")[..., 0]


def _unary(op: str, value: Value | None) -> Value | None:
    if value is None or op == "+":
        return value
    match op:
        case "-":
            return scaled(value, -1)
        case "!":
            return _apply(lambda v: (v == 0).astype(np.int64), value)
        case _:
            return _apply(np.invert, value)


def binary(op: str, left: Value | None, right: Value | None) -> Value | None:
    """The values of two operands by an operator, `min`, `max` or `floord`."""
    if left is None or right is None:
        one = left or right
        return one if op == "&&" and one is not None and one.constant == 0 else None
    if op in "+-":
        return plus(left, right, 1 if op == "+" else -1)
    if op == "*":
        for factor, other in ((left, right), (right, left)):
            if (known := factor.constant) is not None:
                return scaled(other, known)
    threads = bool(left.threads or right.threads)
    a, b = (v.whole() if threads else v.of_points() for v in (left, right))
    fitting(a.shape, b.shape)
    found = np.asarray(_BINARY[op](a, b), np.int64)
    return _of_threads(found) if threads else Value((found,))


def _apply(function: Callable[[Integers], Integers], value: Value) -> Value:
    return _of_threads(function(value.whole())) if value.threads else Value((function(value.of_points()),))


def _of_threads(whole: Integers) -> Value:
    axes = whole.ndim - 2
    if axes and max(whole.shape[:axes]) == 1:
        whole = whole.reshape(whole.shape[axes:])
    return Value((), (whole,))


def _select(test: Value | None, yes: Value | None, no: Value | None) -> Value | None:
    if test is None or yes is None or no is None:
        return None
    if test.constant is not None:
        return yes if test.constant else no
    if test.threads or yes.threads or no.threads:
        return _of_threads(np.where(test.whole() != 0, yes.whole(), no.whole()))
    return Value((np.where(test.of_points() != 0, yes.of_points(), no.of_points()),))


def _quotient(a: Integers, b: Integers) -> Integers:
    """C's division, which truncates towards zero; 0 where b is 0, in idle threads."""
    safe = np.where(b == 0, 1, b)
    result: Integers = np.where(b == 0, 0, np.abs(a) // np.abs(safe) * np.sign(a) * np.sign(safe))
    return result


def _floored(a: Integers, b: Integers) -> Integers:
    result: Integers = np.where(b == 0, 0, a // np.where(b == 0, 1, b))
    return result


_BINARY: Mapping[str, Callable[[Integers, Integers], npt.NDArray[Any]]] = BINARY | {
    "min": np.minimum,
    "max": np.maximum,
    "floord": _floored,
    "/": _quotient,
    "%": lambda a, b: a - b * _quotient(a, b),
    "&&": np.logical_and,
    "||": np.logical_or,
}
evaluate = Arithmetic(constant, _unary, binary, _select).evaluate
