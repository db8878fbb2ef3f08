"""Comparisons of what generated code computes, as sets of its variables."""

from __future__ import annotations

import islpy as isl
from hypothesis import given
from hypothesis import strategies as st

from polygpu.model.expr import Binary, Call, Expr, Int, Name
from polygpu.perf.lanes import uniform
from polygpu.verify.affine import Scope, parameter
from tests.processor import at_most

NAMES = ("low", "high", "end")


def minimum(*values: Expr) -> Expr:
    return Call("min", values, "int")


def maximum(*values: Expr) -> Expr:
    return Call("max", values, "int")


def minus(left: Expr, right: Expr) -> Expr:
    return Binary("-", left, right)


LOW, HIGH, END = (Name(name, "int") for name in NAMES)
FIRST = maximum(Int(0), minus(LOW, END))
LAST = minimum(Int(64), minus(HIGH, LOW), Binary("+", minus(END, LOW), Int(1)))
FOURS = Call("floord", (maximum(minus(LAST, FIRST), Int(0)), Int(4)), "int")
"""How many times a loop from `FIRST` below `LAST` that is unrolled by 4 runs."""


def compared() -> isl.Set:
    scope = Scope(isl.Set("{ [] : }"), {name: parameter(name) for name in NAMES})
    rest = Binary("+", FIRST, Binary("*", Int(4), FOURS))
    return scope.condition(Binary("<", rest, LAST))


def test_where_the_rest_of_an_unrolled_loop_runs_has_few_pieces() -> None:
    """Term by term there are thousands, which isl finds to be those of a few cases in a minute."""
    with at_most(1, "a comparison"):
        assert compared().n_basic_set() < 30


@given(st.tuples(*[st.integers(-70, 70)] * 3))
def test_it_runs_where_iterations_are_left(values: tuple[int, int, int]) -> None:
    known = dict(zip(NAMES, values, strict=True))
    found = compared()
    for name, value in known.items():
        found = found.fix_val(isl.dim_type.param, found.find_dim_by_name(isl.dim_type.param, name), value)
    first, last = uniform(FIRST, known), uniform(LAST, known)
    assert first is not None
    assert last is not None
    assert found.is_empty() == (max(last - first, 0) // 4 * 4 + first >= last)
