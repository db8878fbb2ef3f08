"""Expressions that are asked for often have the values that `lanes.uniform` finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Literal, Name, Reference, Select, Unary
from polygpu.perf.functions import _OFTEN, Uniform
from polygpu.perf.lanes import BINARY, uniform

OPERATORS = sorted(set(BINARY) - {"min", "max", "floord", "<<", ">>"})
LEAVES: st.SearchStrategy[Expr] = st.one_of(
    st.integers(-9, 9).map(Int),
    st.sampled_from(["n", "m", "c0", "data"]).map(Name),
    st.sampled_from(["7", "010", "0x1f"]).map(lambda text: Literal(text, "int")),
    st.just(Reference("a", (Name("n"),), "int")),
)


def larger(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.builds(Binary, st.sampled_from(OPERATORS), parts, parts),
        st.builds(
            lambda f, a: Call(f, tuple(a), "int"),
            st.sampled_from(["min", "max"]),
            st.lists(parts, min_size=1, max_size=3),
        ),
        st.builds(lambda a, b: Call("floord", (a, b), "int"), parts, parts),
        st.builds(lambda a, b: Binary(">>", a, Int(b)), parts, st.integers(0, 5)),
        st.builds(Unary, st.sampled_from(["-", "+", "!", "~"]), parts),
        st.builds(Select, parts, parts, parts),
        st.builds(Cast, st.sampled_from(["long long", "float"]), parts),
    )


@given(st.recursive(LEAVES, larger, max_leaves=12), st.integers(-20, 20), st.integers(-3, 3))
def test_values_are_those_of_lanes(expr: Expr, n: int, m: int) -> None:
    value = Uniform()
    for c0 in range(2 * _OFTEN):
        values = {"n": n, "m": m, "c0": c0}
        found = value(expr, values)
        assert found == uniform(expr, values)
        assert found is None or type(found) is int or c0 < _OFTEN


@pytest.mark.parametrize("deep", [2, 80, 100, 250])
def test_expressions_of_any_depth_have_values(deep: int) -> None:
    """Python's parser takes no more than 200 parentheses in each other."""
    sums: Expr = Name("n")
    signs: Expr = Name("n")
    for _ in range(deep):
        sums, signs = Binary("+", sums, Int(1)), Unary("-", signs)
    for expr in (sums, signs):
        value = Uniform()
        assert {value(expr, {"n": 1}) for _ in range(2 * _OFTEN)} == {uniform(expr, {"n": 1})}
