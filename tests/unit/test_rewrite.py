"""The shape of expressions, actions and kernel statements: parts, walks, and copies with parts replaced."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Name, Reference, Select, Unary
from polygpu.model.kernel import Assign, Barrier, Declare, For, If, Move, Statement
from polygpu.model.kernel_walk import (
    bodies,
    free_names,
    has_barrier,
    hidden_names,
    map_operands,
    map_statements,
    names_used,
    operands,
    reads,
    statements,
    touched,
    with_bodies,
)
from polygpu.model.rewrite import (
    actions,
    children,
    map_references,
    names_in,
    references,
    rewrite,
    scalars_in,
    walk,
    with_children,
)
from polygpu.model.scop import Branch, Let, Store

IT, J, N = Name("i"), Name("j"), Name("n")


def at(array: str, *subscripts: Expr) -> Reference:
    return Reference(array, subscripts, "float")


GATHERED = at("x", at("index", IT))
COMPUTED = Select(
    Binary("<", IT, N), Call("sqrtf", (GATHERED,), "float"), Unary("-", Cast("float", at("x", J)))
)
COPY = Move(at("tile", IT), at("x", Binary("+", IT, J)), 4)
STORE = Assign(at("y", IT), Binary("+", at("tile", IT), Name("sum", "float")))
KERNEL: tuple[Statement, ...] = (
    Declare("sum", "float", Int(0), mutable=True),
    For("i", Int(0), N, 1, (COPY, Barrier(), If(Binary("<", IT, J), (STORE,), (), False)), uniform=True),
)


@pytest.mark.parametrize("expr", list(walk(COMPUTED)), ids=str)
def test_an_expression_with_its_own_children_is_itself(expr: Expr) -> None:
    assert with_children(expr, children(expr)) == expr


def test_parts_follow_what_they_are_parts_of() -> None:
    assert [r.array for r in references(COMPUTED)] == ["x", "index", "x"]


def test_names_of_scalars_and_of_arrays() -> None:
    assert scalars_in(COMPUTED, Name("m")) == {"i", "n", "j", "m"}
    assert names_in(COMPUTED) == {"i", "n", "j", "x", "index"}


def test_what_replaces_a_part_is_final() -> None:
    assert rewrite(Binary("+", IT, J), lambda e: Binary("*", IT, J) if e == IT else None) == Binary(
        "+", Binary("*", IT, J), J
    )


def test_references_of_actions_change_from_their_subscripts_on() -> None:
    seen: list[tuple[str, bool]] = []

    def change(r: Reference, written: bool) -> Reference:
        seen.append((r.array, written))
        return at(f"{r.array}_2", *r.subscripts)

    body = (Branch(at("t"), (Store(at("y", at("index", IT)), GATHERED),), (Let("v", "float", GATHERED),)),)
    new = at("x_2", at("index_2", IT))
    assert map_references(body, change) == (
        Branch(at("t_2"), (Store(at("y_2", at("index_2", IT)), new),), (Let("v", "float", new),)),
    )
    assert [array for array, written in seen if written] == ["y"]
    assert len(list(actions(body))) == 3


@pytest.mark.parametrize("s", list(statements(KERNEL)), ids=lambda s: type(s).__name__)
def test_a_statement_with_its_own_bodies_is_itself(s: Statement) -> None:
    assert with_bodies(s, bodies(s)) == s


def test_statements_at_any_depth() -> None:
    assert [type(s) for s in statements(KERNEL)] == [Declare, For, Move, Barrier, If, Assign]
    assert [has_barrier(s) for s in KERNEL] == [False, True]


def test_what_a_statement_reads_of_its_target() -> None:
    assert operands(STORE) == (STORE.target, STORE.value)
    assert reads(STORE) == (IT, STORE.value)
    assert reads(Assign(IT, J)) == (J,)
    assert reads(COPY) == (IT, COPY.source)


def test_names_that_kernels_use() -> None:
    assert free_names(KERNEL) == ["n", "j"]
    assert names_used(KERNEL) == {"n", "i", "j", "sum", "tile", "x", "y"}
    assert touched(KERNEL) == ({"x", "tile"}, {"tile", "y"})


def test_names_that_are_hidden() -> None:
    assert not [*hidden_names(KERNEL)]
    loop = For("i", Int(0), Int(4), 1, (Declare("t", "int", IT),), uniform=True)
    beside = replace(loop, body=(*loop.body, replace(loop, index="j", body=())))
    assert not [*hidden_names((loop, beside, Declare("i", "int", J)))]
    assert [*hidden_names((Declare("i", "int", J), loop))] == ["i"]
    assert [*hidden_names((loop,), frozenset({"t"}))] == ["t"]
    inner = If(IT, (), (replace(loop, body=(loop,)),), uniform=True)
    assert [*hidden_names((inner,))] == ["i"]


def test_indices_and_values_change_apart() -> None:
    def marked(mark: str) -> list[Expr]:
        return [Call(mark, (e,), "int") for e in (IT, J)]

    def value(e: Expr) -> Expr:
        return Call("value", (e,), "int")

    def index(e: Expr) -> Expr:
        return Call("index", (e,), "int")

    given, place = marked("value"), marked("index")
    assert map_operands(Assign(at("x", IT), J), value, index) == Assign(at("x", place[0]), given[1])
    assert map_operands(Assign(IT, at("x", J)), value, index) == Assign(IT, at("x", place[1]))
    assert map_operands(Declare("v", "int", IT), value, index) == Declare("v", "int", given[0])
    assert map_operands(If(IT, (), (), False), value, index) == If(given[0], (), (), False)
    loop = For("k", IT, J, 1, (STORE,), uniform=False)
    assert map_operands(loop, value, index) == For("k", place[0], place[1], 1, (STORE,), uniform=False)


def test_statements_change_at_any_depth() -> None:
    (loop,) = map_statements(KERNEL[1:], lambda s: Declare("b", "int", None) if s == Barrier() else s)
    assert isinstance(loop, For)
    assert loop.body == (
        COPY,
        Declare("b", "int", None),
        KERNEL[1].body[2] if isinstance(KERNEL[1], For) else (),
    )
