"""Linear normal form: by example, and against evaluation for all small values."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygpu.frontend.shape.affine import expression as written
from polygpu.model import offsets
from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Name, Reference, Unary, type_of
from polygpu.model.linear import (
    Linear,
    add,
    conjunction,
    divides,
    linear,
    maximum,
    minimum,
    multiply,
    simplify,
    subtract,
)
from polygpu.perf.lanes import evaluate
from tests.unit.frontend_text import shown

IT, J, N = Name("i"), Name("j"), Name("n")


def floord(a: Expr, b: int) -> Expr:
    return Call("floord", (a, Int(b)), "int")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Binary("-", Binary("+", IT, J), IT), "j"),
        (Binary("*", Int(3), Binary("-", IT, Int(2))), "((3 * i) - 6)"),
        (Binary("-", Int(5), IT), "((-i) + 5)"),
        (Binary("-", J, Binary("*", Int(2), IT)), "(j - (2 * i))"),
        (Binary("*", IT, J), "(i * j)"),
        (Binary("-", Binary("*", IT, J), Binary("*", IT, J)), "((i * j) - (i * j))"),
        (Binary("*", IT, Binary("/", Int(-7), Int(4))), "(i * (-7 / 4))"),
        (Binary("*", Int(3), Binary("+", Int(2), Binary("*", IT, J))), "(3 * (2 + (i * j)))"),
        (Binary("%", Binary("+", Int(2), Binary("/", IT, J)), Int(9)), "((2 + (i / j)) % 9)"),
        (Binary("+", Int(2), Binary("&", IT, Int(3))), "(2 + (i & 3))"),
        (Unary("-", Binary("-", IT, J)), "(j - i)"),
        (Binary("*", Int(-2), IT), "(-2 * i)"),
        (Binary("%", Int(7), Int(4)), "3"),
        (Binary("%", Int(-7), Int(4)), "(-7 % 4)"),
        (Binary("/", Int(7), Int(4)), "1"),
        (Binary("/", IT, Int(1)), "i"),
        (Binary("%", IT, Int(1)), "0"),
        (floord(Int(-7), 4), "-2"),
        (floord(IT, 1), "i"),
        (floord(Binary("-", IT, IT), 4), "0"),
        (Call("min", (Binary("+", IT, Int(3)), IT), "int"), "i"),
        (Call("max", (Binary("+", IT, Int(3)), IT), "int"), "(i + 3)"),
        (Call("min", (IT, Call("min", (J, IT), "int")), "int"), "min(i, j)"),
        (Call("min", (IT, Call("max", (J, IT), "int")), "int"), "min(i, max(j, i))"),
        (Call("min", (Int(4), Int(2)), "int"), "2"),
    ],
)
def test_simplify(expr: Expr, text: str) -> None:
    assert shown(simplify(expr)) == text


U, F, L = Name("u", "unsigned int"), Name("f", "float"), Name("l", "long")
OTHERS = [U, F, L, Reference("a", (IT,), "double"), Cast("unsigned long", IT), Int(2**31)]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize(
    "make",
    [
        lambda x: Binary("-", Binary("+", x, IT), x),
        lambda x: Binary("*", Int(100000), Binary("+", IT, x)),
        lambda x: Binary("*", Int(0), x),
        lambda x: Unary("-", Unary("-", x)),
        lambda x: Binary("==", Binary("-", x, x), Int(0)),
        lambda x: Binary("%", x, Int(1)),
        lambda x: Binary("/", x, Int(1)),
        lambda x: Call("min", (Binary("+", x, Int(1)), x), type_of(x)),
        lambda x: Call("max", (Binary("+", x, Int(1)), x), "int"),
        lambda x: Call("min", (IT, Call("min", (x, IT), type_of(x))), "int"),
        lambda x: Call("f", (Binary("-", x, x),), "int"),
    ],
)
def test_what_is_not_of_int_stays(make: Callable[[Expr], Expr], other: Expr) -> None:
    assert simplify(make(other)) == make(other)


def test_indices_within_other_computations() -> None:
    index = Binary("-", Binary("+", IT, J), IT)
    assert simplify(Binary("%", index, U)) == Binary("%", J, U)
    assert simplify(Call("f", (index, L), "long")) == Call("f", (J, L), "long")


@pytest.mark.parametrize("data", [Reference("a", (IT,), "int"), Cast("int", F), Call("f", (IT,), "double")])
def test_sums_of_data_stay(data: Expr) -> None:
    """`(a[i] - 9) * 3` is in range where `3 * a[i]` may not be."""
    expr = Binary("*", Binary("-", data, Int(9)), Int(3))
    assert simplify(expr) == expr
    assert linear(expr) == Linear(((expr, 1),))


def test_factors_beyond_int_stay_apart() -> None:
    expr = Binary("*", Binary("-", IT, Int(2 * 10**9)), Int(3))
    assert simplify(expr) == expr
    assert type_of(simplify(Binary("+", expr, J))) == "int"


def test_shorthands() -> None:
    assert shown(add(IT, 2)) == "(i + 2)"
    assert shown(subtract(add(IT, 2), 2)) == "i"
    assert shown(multiply(add(IT, 2), 0)) == "0"
    assert shown(minimum(IT, add(IT, -1))) == "(i - 1)"
    assert shown(maximum(IT, add(IT, -1))) == "i"


def test_sums() -> None:
    assert linear(Binary("-", Binary("*", IT, Int(4)), J)) == Linear(((IT, 4), (J, -1)))
    assert Linear(((IT, 4),), 2).plus(Linear(((IT, -4), (J, 1)), 1)) == Linear(((J, 1),), 3)
    assert Linear(((IT, 4),), 2).times(0) == Linear(())


def test_conjunction() -> None:
    first, second = Binary("<", IT, N), Binary(">=", IT, Int(0))
    assert conjunction([]) is None
    assert conjunction([first, second, first]) == Binary("&&", first, second)


def test_divides() -> None:
    tile = {"i": 16}
    assert divides(4, Binary("+", IT, Int(8)), tile)
    assert not divides(4, Binary("+", IT, Int(2)), tile)
    assert not divides(4, Binary("+", IT, J), tile)
    assert divides(4, Binary("*", Int(4), J), tile)
    assert not divides(32, IT, tile)
    assert divides(32, Binary("*", Int(2), IT), tile)


def expressions() -> st.SearchStrategy[Expr]:
    leaves = st.one_of(st.sampled_from([IT, J, N]), st.integers(-4, 4).map(Int))

    def larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        pairs = st.tuples(inner, inner)
        return st.one_of(
            st.tuples(st.sampled_from("+-*"), inner, inner).map(lambda t: Binary(*t)),
            st.tuples(st.sampled_from("/%"), inner, st.integers(1, 4).map(Int)).map(lambda t: Binary(*t)),
            inner.map(lambda e: Unary("-", e)),
            pairs.map(lambda p: Call("min", p, "int")),
            pairs.map(lambda p: Call("max", p, "int")),
            st.tuples(inner, st.integers(1, 4).map(Int)).map(lambda p: Call("floord", p, "int")),
        )

    return st.recursive(leaves, larger, max_leaves=8)


@given(expressions())
@settings(max_examples=300, derandomize=True, database=None)
def test_simplified_expressions_keep_their_value(expr: Expr) -> None:
    simple = simplify(expr)
    for i, j, n in product((-3, 0, 1, 5), repeat=3):
        values = {"i": i, "j": j, "n": n}
        assert evaluate(simple, values) == evaluate(expr, values)


def test_products_without_what_changes_nothing() -> None:
    assert offsets.product([Int(1), N, Int(-1)]) == Unary("-", N)
    assert offsets.product_of(Unary("-", N), Int(-1)) == N
    assert offsets.product([N, Int(0)]) == Int(0)


def test_polynomials_are_written_with_positive_terms_first_and_constants_last() -> None:
    row = Binary("*", IT, N)
    assert written({(): -1, (IT,): -2, (IT, N): 1, (N,): 0}) == Binary(
        "-", Binary("-", row, Binary("*", Int(2), IT)), Int(1)
    )
    assert written({(IT,): 0, (): 0}) == Int(0)
