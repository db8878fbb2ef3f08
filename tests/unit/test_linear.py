"""Linear normal form: by example, and against evaluation for all small values."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygpu.codegen.lanes import evaluate
from polygpu.codegen.linear import (
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
from polygpu.model.expr import Binary, Call, Expr, Int, Name, Unary
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
        (Binary("-", Binary("*", IT, J), Binary("*", IT, J)), "0"),
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
