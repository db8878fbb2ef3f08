"""Products of a float and a constant of double precision, rounded to float, as two operations of float.

C computes `0.33333 * x` in double and rounds it where a float takes it. Chips convert few numbers between
the two at a time. With `high` and `low`, floats that add up to nearly the constant, `fma(high, x, low * x)`
rounds once what differs by less than 2^-45 of itself; so it can only be another float where the product is
that close to the middle of two floats. Of the 2^23 significands of x few bring it there: Euclid's algorithm
finds them, and they are tried here, as integers. So the constant decides whether it is right for every x.
Where `low * x` is below the least normal number, it is rounded more coarsely: `least` is an x from which on
it is not.

N. Brisebarre and J.-M. Muller, Correctly rounded multiplication by arbitrary precision constants, IEEE
Transactions on Computers 57(2), 2008.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from math import frexp, isfinite, ldexp

from polygpu.support.dataclass import dataclass

_FLOAT, _DOUBLE = 24, 53  # bits of significands
_LEAST = -126  # exponent of the least normal float
_MOST = 4096  # significands to try; near a fraction such as 7/10 there may be hundreds of thousands
_FAR = 60  # exponents of constants up to this, so that neither part nor `least` is beyond the floats


@dataclass(frozen=True, slots=True)
class Factor:
    """A constant as floats, and the magnitude from which on the product with them is right."""

    high: float
    low: float
    least: float


@lru_cache(256)
def factor(constant: float) -> Factor | None:
    """None where the constant is a float, whose product compilers narrow, where for some x another float
    results, or where too many would have to be tried.
    """
    fraction, exponent = frexp(abs(constant))
    if not isfinite(constant) or not constant or abs(exponent) > _FAR:
        return None
    whole = int(ldexp(fraction, _DOUBLE))
    high, rest = _parts(whole)
    low = _rounded(rest, _FLOAT)
    near = list(islice(_near(whole), _MOST))
    if not rest or len(near) == _MOST or any(_product(whole, x) != _sum(high, low, x) for x in near):
        return None
    unit = ldexp(1.0 if constant > 0 else -1.0, exponent - _DOUBLE)
    least = ldexp(1.0, _LEAST - frexp(abs(low * unit))[1] + 1)
    return Factor(high * unit, low * unit, least)


def number(text: str) -> float:
    """The value of a constant of C's type double."""
    return float.fromhex(text) if text[:2].lower() == "0x" else float(text)


def _parts(whole: int) -> tuple[int, int]:
    """The leading bits that a float holds, and the rest: both of the sign of the whole, as zeros want it."""
    rest = whole % (1 << _DOUBLE - _FLOAT)
    return whole - rest, rest


def _product(whole: int, x: int) -> int:
    return _rounded(_rounded(whole * x, _DOUBLE), _FLOAT)


def _sum(high: int, low: int, x: int) -> int:
    return _rounded(high * x + _rounded(low * x, _FLOAT), _FLOAT)


def _rounded(value: int, bits: int) -> int:
    """To so many leading bits, halves to even."""
    shift = value.bit_length() - bits
    if shift <= 0:
        return value
    kept, left = value >> shift, value & (1 << shift) - 1
    half = 1 << shift - 1
    return kept + (left > half or (left == half and kept & 1)) << shift


def _near(whole: int) -> Iterator[int]:
    """The significands whose product is so near to the middle of two floats that rounding may go wrong.

    Products with `whole` have 76 or 77 bits; what is rounded away of them on the ways is less than 2^30.
    """
    first, last = 1 << _FLOAT - 1, 1 << _FLOAT
    longer = -(-(1 << _FLOAT + _DOUBLE - 1) // whole)  # from here on products have a bit more
    for begin, end, bits in ((first, longer, 1), (longer, last, 0)):
        unit = 1 << _DOUBLE - bits
        yield from _hits(whole, unit, unit // 2, 1 << 30, begin, end)


def _hits(a: int, modulus: int, middle: int, width: int, begin: int, end: int) -> Iterator[int]:
    """The x of the interval for which a * x modulo the modulus is within `width` of `middle`."""
    x = begin
    while x < end:
        lower = (middle - width - a * x) % modulus
        upper = lower + 2 * width
        step = 0 if upper >= modulus else _first(a % modulus, modulus, lower, upper)
        if step is None or x + step >= end:
            return
        x += step
        yield x
        x += 1


def _first(a: int, modulus: int, lower: int, upper: int) -> int | None:
    """The least x >= 0 for which a * x modulo the modulus is from `lower` to `upper`."""
    if lower == 0:
        return 0
    if a == 0:
        return None
    if 2 * a > modulus:
        return _first(modulus - a, modulus, modulus - upper, modulus - lower)
    x = -(-lower // a)
    if a * x <= upper:
        return x
    turns = _first(-modulus % a, a, lower % a, upper % a)
    return None if turns is None else -(-(lower + modulus * turns) // a)
