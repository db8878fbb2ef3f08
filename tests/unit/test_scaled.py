"""Constants of double precision as two floats: right for every float, or not taken apart."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from polygpu.printing.scaled import factor, number

Floats = NDArray[np.float32]


def by_doubles(constant: float, x: Floats) -> Floats:
    return (constant * x.astype(np.float64)).astype(np.float32)


def by_floats(constant: float, x: Floats) -> Floats:
    """The sum fits into a long double: it is rounded once, as the multiply-add of floats rounds it."""
    found = factor(constant)
    assert found is not None
    low = np.float32(found.low) * x
    return (np.longdouble(found.high) * x + low).astype(np.float32)


def all_significands() -> Floats:
    return np.arange(0x3F800000, 0x40000000, dtype=np.uint32).view(np.float32)


@pytest.mark.parametrize("constant", [0.33333, -0.1, 1e-3, 0.15, 2.718281828459045])
def test_every_significand_gives_the_float_of_the_double(constant: float) -> None:
    x = all_significands()
    assert by_floats(constant, x).tobytes() == by_doubles(constant, x).tobytes()


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("constant", [0.33333, -0.1, 1e-3, 700.1])
def test_every_magnitude_from_the_least_on(constant: float) -> None:
    found = factor(constant)
    assert found is not None
    bits = np.random.default_rng(1).integers(0, 1 << 32, 1_000_000, dtype=np.uint32)
    x = bits.view(np.float32)
    x = np.append(x[np.abs(x) >= found.least], np.array([found.least, -found.least, np.inf], np.float32))
    assert by_floats(constant, x).tobytes() == by_doubles(constant, x).tobytes()
    below = np.float32(found.least * 2.0**-30)
    assert np.float32(found.low) * below != np.float64(found.low) * below


def test_constants_that_some_float_tells_apart_stay_doubles() -> None:
    """Of all significands one at least is rounded the other way with the two floats of 3.14159."""
    x, constant = all_significands(), 3.14159
    high = np.float32(3.1415899)
    assert constant - float(high) > 0
    low = np.float32(constant - float(high))
    by_two = (np.longdouble(high) * x + low * x).astype(np.float32)
    assert (by_two != by_doubles(constant, x)).any()
    assert factor(constant) is None


@pytest.mark.parametrize("constant", [0.0, 0.5, 9.0, float(np.float32(0.1)), 0.7, 1e300, 1e-40])
def test_what_is_not_taken_apart(constant: float) -> None:
    """Floats, what is nearly a fraction with many hits (7 / 10), what floats do not reach."""
    assert factor(constant) is None


def test_numbers_as_c_spells_them() -> None:
    assert [number(text) for text in ("0.5", ".5", "1e-3", "0x1p-3", "0X1.8P+1")] == [
        0.5,
        0.5,
        1e-3,
        0.125,
        3.0,
    ]
