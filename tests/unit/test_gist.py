"""Sets and functions are the same where their context holds; isl's own gist may end the program."""

from __future__ import annotations

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygpu.support.gist import function_gist, gist, gist_params
from polygpu.support.isl_idioms import set_options

APART = "3q = -6 + 2r - 3p and -18 - 8r <= 3p and 3p <= 3 + 7r and 12p >= 42 - 55r and 21p <= 96 - 2r"
BOX = "r >= -3 and 0 <= p <= 6 and q >= r and 0 <= q <= 6"


@st.composite
def sums(draw: st.DrawFn) -> str:
    factors = [draw(st.integers(-9, 9)) for _ in "pqr"]
    return f"{factors[0]}p + {factors[1]}q + {factors[2]}r + {draw(st.integers(-40, 40))}"


@st.composite
def parts(draw: st.DrawFn) -> str:
    """An equation and some inequalities."""
    equation = f"{draw(st.integers(1, 6))}{draw(st.sampled_from('pqr'))} = {draw(sums())}"
    return " and ".join([equation, *(f"{draw(sums())} >= 0" for _ in range(draw(st.integers(1, 5))))])


def params(text: str) -> isl.Set:
    return isl.Set(f"[p, q, r] -> {{ : {text} }}").params()


@pytest.mark.parametrize("order", ["r, p, q", "p, q, r"])
def test_equations_that_rule_the_context_out_leave_nothing(order: str) -> None:
    """isl's own gist corrupts the heap in the first order."""
    for _ in range(50):
        item, box = (isl.Set(f"[{order}] -> {{ : {text} }}").params() for text in (APART, BOX))
        assert gist(item, box).is_empty()
        lines, around = (
            isl.Map(f"[{order}] -> {{ [i] -> [{k}] : {text} }}") for k, text in (("i", APART), ("j", BOX))
        )
        assert gist(lines, around).is_empty()
        value = isl.PwAff(f"[{order}] -> {{ [(1)] : {APART}; [(2p)] : q = 5 }}")
        assert (
            function_gist(value, box)
            .intersect_params(box)
            .is_equal(isl.PwAff(f"[{order}] -> {{ [(2p)] : q = 5 and {BOX} }}"))
        )


@given(item=st.lists(parts(), min_size=1, max_size=3), context=st.lists(sums(), max_size=2))
@settings(deadline=None, max_examples=150)
def test_the_same_in_the_context(item: list[str], context: list[str]) -> None:
    set_options()
    box = params(" and ".join([BOX, *(f"{c} >= 0" for c in context)]))
    whole = params(" or ".join(f"({part})" for part in item))
    assert gist(whole, box).intersect(box).is_equal(whole.intersect(box))
    lines = isl.Set(f"[r, q, p] -> {{ [i] : 0 <= i <= p and ({' or '.join(f'({part})' for part in item)}) }}")
    assert gist_params(lines, box).intersect_params(box).is_equal(lines.intersect_params(box))


@given(item=st.lists(parts(), min_size=1, max_size=3), value=sums())
@settings(deadline=None, max_examples=150)
def test_functions_have_the_same_values_in_the_context(item: list[str], value: str) -> None:
    set_options()
    box, domain = params(BOX), params(" or ".join(f"({part})" for part in item))
    function = isl.PwAff(f"[p, q, r] -> {{ [({value})] }}").intersect_params(domain)
    function = function.union_add(isl.PwAff("[p, q, r] -> { [(7)] : p = q }").subtract_domain(domain))
    found = function_gist(function, box)
    assert found.intersect_params(box).is_equal(function.intersect_params(box))


@given(
    ends=st.lists(st.tuples(sums(), st.integers(2, 5), sums()), min_size=1, max_size=3),
    rest=sums(),
    context=st.lists(st.tuples(sums(), st.integers(2, 5), sums()), max_size=2),
)
@settings(deadline=None, max_examples=150)
def test_floors_without_a_definition(
    ends: list[tuple[str, int, str]], rest: str, context: list[tuple[str, int, str]]
) -> None:
    """As projections leave them."""
    set_options()
    names = [f"e{k}" for k in range(len(ends))]
    among = " and ".join(
        f"{n} <= {low} + {k}x and {k}{n} >= {high}" for n, (low, k, high) in zip(names, ends, strict=True)
    )
    space = f"[p, q, r] -> {{ [x] -> [{', '.join(names)}]"
    item = isl.Map(f"{space} : {among} and x + {rest} >= 0 }}").domain()
    floors = " and ".join([BOX, "0 <= x <= 9", *(f"{k}*floor(({a})/{k}) >= {b} - x" for a, k, b in context)])
    box = isl.Set(f"[p, q, r] -> {{ [x] : {floors} }}")
    assert gist(item, box).intersect(box).is_equal(item.intersect(box))
