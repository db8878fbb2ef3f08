"""Delinearisation: whatever shape is found, the subscripts name the same element of memory."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polygpu.frontend.shape.affine import Affine, expression, polynomial
from polygpu.frontend.shape.delinearize import (
    Shape,
    find_shape,
    subscripts_for,
    sums_in,
    with_known_extents,
)
from polygpu.model.expr import Binary, Call, Expr, Int, Name, Unary
from polygpu.model.rewrite import scalars_in
from polygpu.model.scop import Scop
from polygpu.support.position import Position
from tests.unit.frontend_interpreter import Interpreter
from tests.unit.frontend_text import shown

ITERATORS = frozenset({"i", "j", "k"})
PARAMETERS = ("n", "m", "p")
NOTHING = Scop("", "", "", 0, 0, Position("", 1, 1), (), (), (), ())

values = st.fixed_dictionaries({name: st.integers(-50, 50) for name in (*ITERATORS, *PARAMETERS)})
linear = st.dictionaries(st.sampled_from(["i", "j", "k", ""]), st.integers(-4, 4), max_size=3)


def value(expr: Expr, names: dict[str, int]) -> int:
    result = Interpreter(NOTHING, {}, {}, 0).value(expr, dict(names))
    assert isinstance(result, int)
    return result


def weighted(parts: dict[str, int]) -> Expr:
    result: Expr = Int(0)
    for name, factor in parts.items():
        term = Binary("*", Int(factor), Name(name)) if name else Int(factor)
        result = Binary("+", result, term)
    return result


def flat(rows: list[dict[str, int]], sizes: tuple[str, ...]) -> Expr:
    """Horner's form of a subscript in an array whose inner dimensions have these sizes."""
    result = weighted(rows[0])
    for row, size in zip(rows[1:], sizes, strict=True):
        result = Binary("+", Binary("*", result, Name(size)), weighted(row))
    return result


@st.composite
def accesses(draw: st.DrawFn) -> list[Expr]:
    sizes = tuple(draw(st.permutations(PARAMETERS))[: draw(st.integers(0, 2))])
    rows = st.lists(linear, min_size=len(sizes) + 1, max_size=len(sizes) + 1)
    return [flat(draw(rows), sizes) for _ in range(draw(st.integers(1, 3)))]


@given(accesses(), values)
def test_subscripts_name_the_same_element(subscripts: list[Expr], names: dict[str, int]) -> None:
    shape = find_shape(map(polynomial, subscripts), ITERATORS)
    if isinstance(shape, str):
        return
    strides = [s.factor * prod(value(p, names) for p in s.parameters) for s in shape.strides]
    for subscript in subscripts:
        found = subscripts_for(polynomial(subscript), shape)
        total = sum(value(part, names) * stride for part, stride in zip(found, strides, strict=True))
        assert total == value(subscript, names)
    extents = [value(extent, names) for extent in shape.extents]
    assert strides == [prod(extents[k:]) for k in range(len(strides))]


@given(accesses(), values)
def test_polynomials_keep_the_value(subscripts: list[Expr], names: dict[str, int]) -> None:
    for subscript in subscripts:
        assert value(expression(polynomial(subscript)), names) == value(subscript, names)


def test_shapes() -> None:
    def shape(*texts: tuple[list[dict[str, int]], tuple[str, ...]]) -> Shape | str:
        return find_shape([polynomial(flat(rows, sizes)) for rows, sizes in texts], ITERATORS)

    matrix = shape(([{"i": 1}, {"j": 1}], ("n",)))
    assert isinstance(matrix, Shape)
    assert [shown(extent) for extent in matrix.extents] == ["n"]
    cube = shape(([{"i": 1}, {"j": 1}, {"k": 1}], ("m", "n")), ([{"i": 1}, {}, {}], ("m", "n")))
    assert isinstance(cube, Shape)
    assert [shown(extent) for extent in cube.extents] == ["m", "n"]
    both = shape(([{"i": 1}, {"j": 1}], ("n",)), ([{"j": 1}, {"i": 1}], ("m",)))
    assert both == "its accesses have the strides 'n' and 'm', which fit no one shape"
    assert isinstance(shape(([{"i": 1, "j": 1}], ())), str)


def test_rows_as_long_as_the_source_says() -> None:
    """A factor `n + 2` is the length of a row, not n with two more elements of each row beyond it."""
    rows, planes = Binary("+", Name("n"), Int(2)), Binary("-", Name("m"), Int(1))
    plane = Binary("+", Binary("*", Name("i"), rows), Name("j"))
    inner = Binary("-", Name("k"), Int(1))
    cell = Binary("+", Binary("*", plane, planes), inner)
    found = find_shape([polynomial(cell)], ITERATORS, sums_in(cell))
    assert isinstance(found, Shape)
    assert found.extents == (rows, planes)
    assert subscripts_for(polynomial(cell), found) == (Name("i"), Name("j"), inner)


def test_a_diagonal_keeps_its_rows() -> None:
    diagonal = Binary("+", Binary("*", Name("i"), Name("n")), Binary("+", Name("i"), Name("j")))
    found = find_shape([polynomial(diagonal)], ITERATORS, sums_in(diagonal))
    assert isinstance(found, Shape)
    assert found.extents == (Name("n"),)


def test_rows_may_be_as_long_as_a_sum_of_parameters() -> None:
    width = Binary("+", Binary("+", Name("n"), Int(4)), Name("m"))
    cell = Binary("+", Binary("*", width, Name("i")), Binary("+", Name("j"), Name("m")))
    found = find_shape([polynomial(cell)], ITERATORS, sums_in(cell))
    assert isinstance(found, Shape)
    assert [sorted(scalars_in(extent)) for extent in found.extents] == [["m", "n"]]
    assert [shown(part) for part in subscripts_for(polynomial(cell), found)] == ["i", "(j + m)"]


@pytest.mark.parametrize(
    ("least", "parts"),
    [
        ({}, ["(i + 1)", "((j - m) - 2)"]),
        ({"j": {Int(1)}}, ["i", "(((j + (n + 4)) - m) - 2)"]),
        ({"j": {Int(1), Name("m")}}, ["i", "(((j + (n + 4)) - m) - 2)"]),
        ({"j": {Int(1), Binary("+", Name("m"), Int(2))}}, ["(i + 1)", "((j - m) - 2)"]),
    ],
)
def test_what_starts_below_a_row_is_at_the_end_of_the_row_before(
    least: dict[str, set[Expr]], parts: list[str]
) -> None:
    """A[(n + 4) * i + (n + j) - (m - 2)], with m <= j known or not: elements are the same."""
    width = Binary("+", Name("n"), Int(4))
    column = Binary("-", Binary("+", Name("n"), Name("j")), Binary("-", Name("m"), Int(2)))
    cell = Binary("+", Binary("*", width, Name("i")), column)
    found = find_shape([polynomial(cell)], ITERATORS, sums_in(cell))
    assert isinstance(found, Shape)
    assert [shown(part) for part in subscripts_for(polynomial(cell), found, least)] == parts


def test_a_fixed_subscript_between_others_tells_a_stride() -> None:
    """e[(i * n + 0) * m + j], e[(i * n + 1) * m + j] and e[(i * n + n - 1) * m + j]"""
    i, j, n, m = map(Name, "ijnm")
    rows = (Int(0), Int(1), Binary("-", n, Int(1)), Binary("+", Name("p"), Int(2)))
    first, second, last, other = (
        polynomial(Binary("+", Binary("*", Binary("+", Binary("*", i, n), row), m), j)) for row in rows
    )
    shape = find_shape([first, last, second], ITERATORS)
    assert isinstance(shape, Shape)
    assert [shown(e) for e in shape.extents] == ["n", "m"]
    assert [shown(e) for e in subscripts_for(last, shape)] == ["i", "(n - 1)", "j"]
    shape = find_shape([other], ITERATORS)
    assert isinstance(shape, Shape)
    assert [shown(e) for e in subscripts_for(other, shape)] == ["i", "(p + 2)", "j"]
    shape = find_shape([first], ITERATORS)  # nothing tells where a row begins
    assert isinstance(shape, Shape)
    assert [shown(e) for e in shape.extents] == ["(m * n)"]
    offset = {**first, (Name("p"), Name("q")): 1}  # nor in which plane `p * q` more elements are
    assert isinstance(find_shape([offset], ITERATORS), str)


@pytest.mark.parametrize(
    ("length", "known"),
    [
        (Binary("<<", Int(1), Name("n")), Name("p")),
        (Binary("/", Name("n"), Name("m")), Name("p")),
        (Binary(">>", Name("n"), Int(1)), Call("floord", (Name("n"), Int(2)), "int")),
        (Binary("+", Name("n"), Int(2)), Binary("+", Name("n"), Int(2))),
        (Binary("&", Name("n"), Unary("~", Int(3))), Name("p")),
    ],
)
def test_rows_of_a_computed_length(length: Expr, known: Expr) -> None:
    """a[i * (1 << n) + j] has rows of as many elements as an affine form, or a parameter, has."""
    cell = Binary("+", Binary("*", Name("i"), length), Name("j"))
    found = find_shape([polynomial(cell)], ITERATORS, sums_in(cell))
    assert isinstance(found, Shape)
    shape = with_known_extents(Affine(ITERATORS, {}, lambda _: Name("p")), found)
    assert isinstance(shape, Shape)
    assert shape.extents == (known,)
    assert [shown(s) for s in subscripts_for(polynomial(cell), shape)] == ["i", "j"]
    assert isinstance(with_known_extents(Affine({"n"}, {}), found), str)
