"""Rows of iterations whose loads come first, in kernels written by hand."""

from __future__ import annotations

from polygpu.lower.ahead import loads_before_rows
from polygpu.model.expr import Binary, Expr, Int, Name, Reference, Select
from polygpu.model.kernel import Assign, DeclareArray, For, Statement
from polygpu.model.kernel_walk import reads, statements
from polygpu.model.rewrite import references

BOXES = frozenset({"A_s", "x_s"})


def at(array: str, *subscripts: Expr | str) -> Reference:
    return Reference(array, tuple(Name(s) if isinstance(s, str) else s for s in subscripts), "float")


def row(count: int, *body: Statement) -> For:
    return For("u", Int(0), Int(count), 1, body, uniform=True, unroll=True)


def chain(*factors: Expr) -> Assign:
    s = Name("s", "float")
    value: Expr = factors[0]
    for factor in factors[1:]:
        value = Binary("*", value, factor)
    return Assign(s, Binary("-", s, value))


def read(s: Statement) -> list[str]:
    return [r.array for e in reads(s) for r in references(e)]


def test_loads_come_before_what_computes() -> None:
    tiles = For("k", Int(0), Name("n"), 32, (row(32, chain(at("A_s", "u"), at("x_s", "u"))),), uniform=True)
    (made,) = loads_before_rows((tiles,), BOXES)
    assert isinstance(made, For)
    first, second, loads, computes = made.body
    assert isinstance(first, DeclareArray)
    assert isinstance(second, DeclareArray)
    assert (first.extents, second.extents) == ((32,), (32,))
    assert isinstance(loads, For)
    assert isinstance(computes, For)
    assert [read(s) for s in loads.body] == [["A_s"], ["x_s"]]
    assert [read(s) for s in computes.body] == [[first.name, second.name]]


def test_an_element_is_loaded_once_an_iteration() -> None:
    body = (row(32, chain(at("A_s", "u"), at("A_s", "u"))),)
    _, loads, computes = loads_before_rows(body, BOXES)
    assert [read(s) for s in statements((loads,))][1:] == [["A_s"]]
    assert [len(read(s)) for s in statements((computes,))][1:] == [2]


def test_rows_are_left_where_loads_cannot_go_first() -> None:
    there, fixed = at("A_s", "u"), at("A_s", "i")
    rows = [
        row(32, Assign(there, Binary("+", there, at("x_s", "u")))),  # an iteration stores what others read
        row(32, chain(Select(Name("t"), there, Name("s", "float")))),  # there may be no such element
        row(32, chain(fixed)),  # the same in all iterations
        row(128, chain(there)),  # too many registers
        row(32, chain(at("B", "u"))),  # not in shared memory
        For("u", Int(0), Name("n"), 1, (chain(there),), uniform=True),  # no row
    ]
    for body in rows:
        assert loads_before_rows((body,), BOXES) == (body,)
