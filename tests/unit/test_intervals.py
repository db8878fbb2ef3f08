"""Intervals of integer expressions hold all their values, and what does not fit is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygpu.analysis.intervals import Interval, interval
from polygpu.lower.known import Known
from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Name, Reference, Select, Unary

NAMES = {"a": (-3, 4), "b": (0, 7), "c": (2, 2)}
numbers = st.integers(-5, 5)
leaves = st.one_of(numbers.map(Int), st.sampled_from(sorted(NAMES)).map(Name))


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    positive = st.integers(1, 6).map(Int)
    return st.one_of(
        st.builds(Binary, st.sampled_from("+-*"), inner, inner),
        st.builds(Binary, st.sampled_from("/%"), inner, positive),
        st.builds(lambda f, a, b: Call(f, (a, b), "int"), st.sampled_from(["min", "max"]), inner, inner),
        st.builds(lambda a, b: Call("floord", (a, b), "int"), inner, positive),
        st.builds(lambda a: Unary("-", a), inner),
        st.builds(lambda a, b, c: Select(Binary("<", a, b), b, c), inner, inner, inner),
    )


def value(expr: Expr, names: dict[str, int]) -> int:
    match expr:
        case Int(number):
            return number
        case Name(name, _):
            return names[name]
        case Unary("-", operand):
            return -value(operand, names)
        case Select(Binary("<", left, right), yes, no):
            return value(yes if value(left, names) < value(right, names) else no, names)
        case Call("floord", (left, right), _):
            return value(left, names) // value(right, names)
        case Call("min" | "max" as function, arguments, _):
            found = [value(a, names) for a in arguments]
            return min(found) if function == "min" else max(found)
        case Binary(op, left, right):
            a, b = value(left, names), value(right, names)
            if op in "+-*":
                return {"+": a + b, "-": a - b, "*": a * b}[op]
            quotient = abs(a) // b * (1 if a >= 0 else -1)
            return quotient if op == "/" else a - quotient * b
    raise AssertionError(expr)


@given(st.recursive(leaves, _larger, max_leaves=8), st.data())
def test_values_lie_inside(expr: Expr, data: st.DataObject) -> None:
    beyond: list[tuple[Expr, Interval]] = []
    found = interval(expr, NAMES, beyond)
    names = {n: data.draw(st.integers(*ends)) for n, ends in NAMES.items()}
    assert beyond == []
    assert found is None or found[0] <= value(expr, names) <= found[1]


def test_what_does_not_fit_is_named_once() -> None:
    large = Binary("*", Int(391679), Name("c0"))
    bound = Call("floord", (Binary("+", large, Int(1440)), Int(391680)), "int")
    beyond: list[tuple[Expr, Interval]] = []
    interval(bound, {"c0": (0, 5482)}, beyond)
    assert beyond == []
    interval(bound, {"c0": (0, 5483)}, beyond)
    assert [e for e, _ in beyond] == [large, Binary("+", large, Int(1440))]


def test_other_types() -> None:
    """Unsigned arithmetic wraps around, long has room, and of data nothing is known."""
    huge = {"n": (0, 2**31 - 1)}
    beyond: list[tuple[Expr, Interval]] = []
    assert interval(Binary("*", Int(2), Cast("long long", Name("n"))), huge, beyond) == (0, 2**32 - 2)
    assert interval(Binary("*", Int(4), Name("n", "unsigned int")), huge, beyond) is None
    assert interval(Binary("+", Reference("x", (Name("n"),), "int"), Int(1)), huge, beyond) is None
    assert beyond == []


def test_what_is_known_of_a_loop() -> None:
    """Inside of `for (k = 0; k < n; k++)`, n - k is positive, and 2 * k fits where n does."""
    known = Known({"n": (-(2**31), 2**31 - 1)})
    inside = known.where(Binary("<", Int(0), Name("n"))).bind("k", (0, 2**31 - 2))
    inside = inside.where(Binary("<", Name("k"), Name("n")))
    beyond: list[tuple[Expr, Interval]] = []
    inside.interval(Binary("-", Name("n"), Name("k")), beyond)
    assert beyond == []
    inside.interval(Binary("-", Unary("-", Name("n")), Name("k")), beyond)
    assert len(beyond) == 1
    limited = inside.where(Binary("<=", Name("n"), Int(2**30)))
    beyond.clear()
    limited.interval(Binary("-", Unary("-", Name("n")), Name("k")), beyond)
    assert beyond == []


def test_of_choices_what_is_left_holds() -> None:
    """n < 0 or m < 5, and n or m as it turns out later; k, which is bound anew, says nothing of either."""
    wide = (-(2**31), 2**31 - 1)
    negative, few = Binary("<", Name("n"), Int(0)), Binary("<", Name("m"), Int(5))
    known = Known({"n": wide, "m": wide, "k": wide}).where(Binary("||", negative, few))
    assert known.names["m"] == wide
    other = known.bind("k", (0, 1)).where(Binary("<", Name("k"), Int(1)))
    assert other.names["m"] == wide
    assert other.where(Binary(">=", Name("n"), Int(0))).names["m"] == (wide[0], 4)
    assert other.where(Binary(">=", Name("m"), Int(5))).names["n"] == (wide[0], -1)


def test_what_a_choice_leaves_decides_the_next_one() -> None:
    """n < 0 or m < 5; m > 7 or k > 9: of n >= 0 follows m < 5, and of that k > 9 at the next test."""
    wide = (-(2**31), 2**31 - 1)
    first = Binary("||", Binary("<", Name("n"), Int(0)), Binary("<", Name("m"), Int(5)))
    second = Binary("||", Binary(">", Name("m"), Int(7)), Binary(">", Name("k"), Int(9)))
    known = (
        Known(dict.fromkeys("nmk", wide)).where(second).where(first).where(Binary(">=", Name("n"), Int(0)))
    )
    assert known.where(Binary("<=", Name("n"), Int(100))).names["k"] == (10, wide[1])


def test_tests_are_of_whole_numbers() -> None:
    """All n below -1 have n >= 3 * floord(6 * n - 5, 12) + 2, also those of which int does not hold 6 * n."""
    wide = (-(2**31), 2**31 - 1)
    sixfold = Binary("-", Binary("*", Int(6), Name("n")), Int(5))
    most = Binary("+", Binary("*", Int(3), Call("floord", (sixfold, Int(12)), "int")), Int(2))
    known = Known({"n": wide}, exact=False).where(Binary(">=", Name("n"), most))
    assert known.names["n"] == wide
    few = known.where(Binary("<=", Int(-1000), Name("n"))).where(Binary("<=", Name("n"), Int(1000)))
    assert few.where(Binary(">=", Name("n"), most)).names["n"] == (-1000, 1000)


@pytest.mark.parametrize("exact", [True, False])
def test_a_product_does_not_fit_because_it_would_as_a_part_of_itself(exact: bool) -> None:
    """8 * ((int)q + 1), which is no sum of names."""
    expr = Binary("*", Int(8), Binary("+", Cast("int", Cast("long", Name("q"))), Int(1)))
    beyond: list[tuple[Expr, Interval]] = []
    Known({"q": (0, 2**29)}, exact=exact).interval(expr, beyond)
    assert beyond == [(expr, (8, 8 * (2**29 + 1)))]
