"""Which stores update what they write, and by which operator."""

from __future__ import annotations

import pytest

from polygpu.model.expr import Binary, Call, Expr, Int, Reference, Select
from polygpu.model.scop import Store
from polygpu.model.updates import combination, combined, update

T, A = Reference("t", (), "int", site=1), Reference("a", (), "int", site=2)
TEST = Binary(">", A, Int(3))


def floats(e: Expr) -> Expr:
    match e:
        case Reference(array, subscripts, _, _, site):
            return Reference(array, subscripts, "float", site=site)
        case Select(test, yes, no):
            return Select(floats(test), floats(yes), floats(no))
        case Binary(op, left, right):
            return Binary(op, floats(left), floats(right))
    return e


UPDATES: list[tuple[Expr, str | None]] = [
    (Binary("+", T, A), "+"),
    (Binary("-", Binary("+", A, T), Int(1)), "+"),
    (Binary("-", A, T), None),
    (Binary("+", T, T), None),
    (Binary("+", Binary("*", T, A), A), None),
    (Binary("&&", T, A), "&&"),
    (Select(TEST, Binary("+", T, A), T), "+"),
    (Select(TEST, Binary("+", T, A), Binary("-", T, A)), "+"),
    (Select(TEST, Binary("*", T, A), Binary("+", T, A)), None),
    (Select(Binary(">", A, T), Binary("+", T, A), T), None),
    (Select(TEST, Binary("&&", T, A), T), None),
    (Select(Binary(">", A, T), A, T), ">"),
    (Select(Binary("<=", T, A), A, T), ">="),
    (Select(Binary("<", T, A), T, A), "<"),
    (Select(Binary(">", A, T), Int(1), T), None),
    (Select(Binary(">", T, T), T, T), None),
]


@pytest.mark.parametrize(("value", "operator"), UPDATES)
def test_operators(value: Expr, operator: str | None) -> None:
    assert update(Store(T, value)) == operator


def test_an_old_value_that_is_no_number_stays() -> None:
    """`t < a ? t : a` takes a NaN of either side, which a least value of others does not."""
    kept = Select(Binary(">", A, T), A, T)
    lost = Select(Binary("<", T, A), T, A)
    target = Reference("t", (), "float", site=1)
    assert update(Store(target, floats(kept))) == ">"
    assert update(Store(target, floats(lost))) is None


def test_sites_do_not_tell_references_apart() -> None:
    again = Reference("a", (), "int", site=9)
    assert update(Store(T, Select(Binary(">", A, T), again, T))) == ">"


@pytest.mark.parametrize("operator", ["+", "&&", ">", "<=", "fmaxf"])
def test_combinations_are_found_again(operator: str) -> None:
    assert combination(combined(operator, T, A)) == (operator, T, A)
    assert combination(Binary("/", T, A)) is None
    assert combination(Select(Binary(">", A, T), T, A)) is None
    assert combination(Call("sqrt", (T,), "double")) is None
