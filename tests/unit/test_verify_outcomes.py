"""What outcomes of tests imply, against all values of their parts."""

from __future__ import annotations

from itertools import product
from random import Random

import islpy as isl
import pytest

from polygpu.model.expr import Binary, Expr, Int, Name, Unary
from polygpu.verify.outcomes import implied

DATA = ("p", "q")  # tests of data, which are not affine
VALUES = range(-3, 4)


def tree(random: Random, depth: int) -> Expr:
    if depth == 0 or random.random() < 0.15:
        if random.random() < 0.4:
            return Binary(">", Name(random.choice(DATA), "int"), Int(0))
        op = random.choice(("<", "<=", ">", ">=", "==", "!="))
        return Binary(op, Name("x", "int"), Int(random.randrange(-2, 3)))
    inner = tree(random, depth - 1)
    match random.randrange(4):
        case 0:
            return Unary("!", inner)
        case 1:
            return Binary(random.choice(("==", "!=")), inner, Int(random.choice((0, 1))))
    return Binary(random.choice(("&&", "||")), inner, tree(random, depth - 1))


def truth(test: Expr, values: dict[str, int]) -> bool:
    match test:
        case Unary("!", inner):
            return not truth(inner, values)
        case Binary("&&", left, right):
            return truth(left, values) and truth(right, values)
        case Binary("||", left, right):
            return truth(left, values) or truth(right, values)
        case Binary("==" | "!=" as op, Binary() | Unary() as inner, Int(number)):
            return (truth(inner, values) == bool(number)) == (op == "==")
        case Binary(op, Name(name), Int(number)):
            return bool(eval(f"{values[name]} {op} {number}"))
    raise AssertionError(test)


def condition(test: Expr) -> isl.Set | None:
    match test:
        case Binary(op, Name("x"), Int(number)):
            spelled = {"==": "=", "!=": "!="}.get(op, op)
            return isl.Set(f"{{ [x] : x {spelled} {number} }}")
    return None


@pytest.mark.parametrize("seed", range(40))
def test_nothing_that_may_be_is_left_out(seed: int) -> None:
    """And without data nothing else is in it."""
    test = tree(Random(seed), 3)
    for holds in (True, False):
        found = implied(test, holds, condition)
        for x in VALUES:
            outcomes = {truth(test, {"x": x, "p": p, "q": q}) for p, q in product((0, 1), repeat=2)}
            inside = found is None or not found.intersect(isl.Set(f"{{ [{x}] }}")).is_empty()
            assert inside or holds not in outcomes
            if not any(name in str(test) for name in ("'p'", "'q'")):
                assert inside is (holds in outcomes)


def test_a_truth_is_compared() -> None:
    """As `switch (p > 0 && x < 1) case 0: continue;` does it."""
    both = Binary("&&", Binary(">", Name("p", "int"), Int(0)), Binary("<", Name("x", "int"), Int(1)))
    for test in (
        Unary("!", Binary("==", both, Int(0))),
        Binary("!=", both, Int(0)),
        Binary("==", both, Int(1)),
    ):
        found = implied(test, True, condition)
        assert found is not None and found.is_equal(isl.Set("{ [x] : x < 1 }"))
        assert implied(test, False, condition) is None
