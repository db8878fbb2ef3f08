"""When two programs print the same."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygpu.runtime.compare import compare_outputs, relative_difference, remaining


def test_equal_to_the_bit() -> None:
    comparison = compare_outputs("a[0] 1.5\nn 3\n", "a[0] 1.5\nn 3\n")
    assert comparison.agrees
    assert comparison.identical
    assert comparison.numbers == 1
    assert comparison.largest == 0


def test_numbers_within_the_tolerance() -> None:
    comparison = compare_outputs("x = 1.000000, 2e3\n", "x =  1.000001, 2.0e3\n", 1e-5)
    assert comparison.agrees
    assert not comparison.identical
    assert comparison.numbers == 2
    assert comparison.largest == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.parametrize(
    ("expected", "found", "line"),
    [
        ("1.0\n2.0\n", "1.0\n2.1\n", 2),
        ("1.0\n", "1.0\n2.0\n", 2),
        ("1.0 2.0\n", "1.0\n", 1),
        ("sum 1.0\n", "mean 1.0\n", 1),
        ("count 100000\n", "count 100001\n", 1),
        ("nan\n", "1.0\n", 1),
        ("inf\n", "-inf\n", 1),
        ("1.0\n", "-1.0\n", 1),
        ("0.0\n", "1e-30\n", 1),
    ],
)
def test_differences_are_found_with_their_line(expected: str, found: str, line: int) -> None:
    difference = compare_outputs(expected, found, 1e-5).difference
    assert difference is not None
    assert difference.line == line


def test_not_a_number_equals_itself_whatever_its_sign() -> None:
    assert compare_outputs("nan inf\n", "-nan inf\n").agrees


@given(st.floats(allow_nan=True), st.floats(allow_nan=True))
def test_relative_difference_is_symmetric_and_bounded(a: float, b: float) -> None:
    difference = relative_difference(a, b)
    assert difference == relative_difference(b, a)
    assert difference >= 0
    if math.isfinite(a) and math.isfinite(b):
        assert difference <= 2


@given(st.lists(st.floats(allow_nan=True)))
def test_what_printf_prints_is_read_back(values: list[float]) -> None:
    """A number changed by one part in a thousand is found wherever it stands."""
    text = "".join(f"a[{index}] {value:.9g}\n" for index, value in enumerate(values))
    assert compare_outputs(text, text).identical
    for index, value in enumerate(values):
        if "." in f"{value:.9g}" and math.isfinite(value * 1.001):
            other = text.replace(f"a[{index}] {value:.9g}\n", f"a[{index}] {value * 1.001:.9g}\n")
            assert not compare_outputs(text, other, 1e-5).agrees or value * 1.001 == value
            assert compare_outputs(text, other, 1e-2).agrees or abs(value) < 1e-300


def test_what_is_ignored() -> None:
    output = "time 1.5 s\nx 2.0 in 3 ms, y 4.0 in 5 ms\nend"
    assert remaining(output, ()) == output
    assert remaining(output, ["^(time|Time)"]) == "x 2.0 in 3 ms, y 4.0 in 5 ms\nend"
    assert remaining(output, [r"in (?P<time>\d+) ms", "end"]) == "time 1.5 s\nx 2.0 in  ms, y 4.0 in  ms"
