"""The order in which a thread updates its points, in kernels written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from polygpu.lower.snake import by_columns, wound
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Declare, DeclareArray, For, Statement
from polygpu.model.kernel_walk import Body
from polygpu.model.linear import simplify
from polygpu.model.rewrite import references, substitute

MEMORY = frozenset({"A", "B", "C"})
Update = tuple[tuple[int, ...], frozenset[tuple[str, tuple[int, ...]]]]


def at(array: str, *subscripts: Expr | str) -> Reference:
    return Reference(array, tuple(Name(s) if isinstance(s, str) else s for s in subscripts), "float")


def plus(left: Expr | str, right: Expr | str) -> Expr:
    one, other = (Name(e) if isinstance(e, str) else e for e in (left, right))
    return Binary("+", one, other)


def by_four(group: str, r: str) -> Expr:
    return plus(Binary("*", Int(4), Name(group)), r)


def unrolled(index: str, count: int, *body: Statement) -> For:
    return For(index, Int(0), Int(count), 1, body, uniform=True, unroll=True)


def update(target: Reference, a: Expr, b: Expr) -> Assign:
    return Assign(target, Binary("+", target, Binary("*", a, b)))


def product(rows: int, columns: int) -> Body:
    """As values are loaded once: those of B before, of A in each row."""
    target = at("C_r", "i", by_four("j_g", "j"))
    inner = unrolled(
        "j_g", columns, unrolled("j", 4, update(target, Name("a", "float"), at("b", "j_g", "j")))
    )
    return (unrolled("i", rows, Declare("a", "float", at("A", "k", "i")), inner),)


def number(e: Expr, values: dict[str, Expr]) -> int:
    found = simplify(substitute(e, values))
    assert isinstance(found, Int)
    return found.value


def updates(body: Body, values: dict[str, Expr]) -> Iterator[Update]:
    """The elements of C_r in the order of their updates, each with what it is updated by: `A` and `b`."""
    known: dict[str, Expr] = {**values}
    for s in body:
        match s:
            case For(index, Int(lower), Int(upper), step):
                for k in range(lower, upper, step):
                    yield from updates(s.body, known | {index: Int(k)})
            case Declare(name, _, Reference() as value):
                known[name] = replaced(value, known)
            case Assign(Reference("C_r") as target, value):
                read = (replaced(r, known) for r in references(substitute(value, known)) if r.array != "C_r")
                where = tuple(number(e, known) for e in target.subscripts)
                yield where, frozenset((r.array, tuple(number(e, known) for e in r.subscripts)) for r in read)


def replaced(r: Reference, values: dict[str, Expr]) -> Reference:
    kept: dict[str, Expr] = {name: value for name, value in values.items() if isinstance(value, Int)}
    subscripts = (substitute(e, kept) for e in r.subscripts)
    return Reference(r.array, tuple(simplify(e) for e in subscripts), r.type)


def ran(body: Body) -> list[Update]:
    return list(updates(body, {"k": Int(7)}))


def shared(order: list[Update]) -> int:
    """How many updates share an operand with the one before."""
    return sum(bool(one[1] & other[1]) for one, other in pairwise(order))


def test_rows_go_forth_and_back() -> None:
    before, after = ran(product(4, 2)), ran(wound(product(4, 2), MEMORY))
    assert sorted(before) == sorted(after)
    assert [where for where, _ in after[:16]] == [(0, j) for j in range(8)] + [(1, 7 - j) for j in range(8)]
    assert (shared(before), shared(after)) == (28, 31)


def test_columns_go_forth_and_back_behind_the_loads() -> None:
    made = by_columns(product(4, 2), MEMORY, 32)
    assert made[0] == DeclareArray("a", "float", (4,))
    (loads, points) = made[1:]
    assert loads == unrolled("i", 4, Assign(at("a", "i"), at("A", "k", "i")))
    order = [where for where, _ in ran(wound((points,), MEMORY))]
    assert order == [(3 - i if j % 2 else i, j) for j in range(8) for i in range(4)]


def test_an_odd_number_of_rows_stays_as_it_is() -> None:
    assert wound(product(3, 2), MEMORY) == product(3, 2)


def test_operands_that_need_too_many_registers_stay_in_rows() -> None:
    assert by_columns(product(4, 2), MEMORY, 12) != product(4, 2)
    assert by_columns(product(4, 2), MEMORY, 11) == product(4, 2)


DEPENDENT = {
    "one element": update(at("C_r", Int(0), Int(0)), at("a", "i"), at("b", "j")),
    "elements of two rows": update(at("C_r", plus("i", "j"), Int(0)), at("a", "i"), at("b", "j")),
    "a neighbour": Assign(at("C_r", "i", "j"), Binary("*", at("C_r", "i", plus("j", Int(1))), at("b", "j"))),
    "memory": update(at("C", "i", "j"), at("a", "i"), at("b", "j")),
    "a scalar": Assign(Name("s", "float"), Binary("+", Name("s", "float"), at("b", "j"))),
    "nothing shared": Assign(at("C_r", "i", "j"), Int(0)),
}


@pytest.mark.parametrize("kind", DEPENDENT)
def test_updates_that_may_depend_on_each_other_keep_their_order(kind: str) -> None:
    body = (unrolled("i", 4, unrolled("j", 4, DEPENDENT[kind])),)
    assert wound(body, MEMORY) == body
    assert by_columns(body, MEMORY, 32) == body


def test_loops_that_are_not_unrolled_keep_their_order() -> None:
    (loop,) = product(4, 2)
    assert isinstance(loop, For)
    rolled = (For("i", Int(0), Name("n"), 1, loop.body, uniform=True),)
    assert wound(rolled, MEMORY) == rolled
