"""How many launches a host program makes, told from few iterations of its loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from polygpu.model.expr import Binary, Expr, Int, Name
from polygpu.model.kernel import HostFor, HostIf, HostStatement, Launch, Region, ScalarArgument
from polygpu.perf.effort import QUICK, too_many
from polygpu.perf.launches import Calls, launches, period

STEPS, INNER = 192, 40


def launch(name: str, blocks: Expr) -> Launch:
    return Launch(name, (blocks, Int(1), Int(1)), ())


def remainder(divisor: int, value: int, op: str = "==") -> Expr:
    return Binary(op, Binary("%", Binary("+", Name("t"), Int(divisor)), Int(divisor)), Int(value))


def loop(*body: HostStatement) -> tuple[HostStatement, ...]:
    return (HostFor("t", Int(-1), Binary("-", Name("steps"), Int(1)), 1, body),)


def counted(body: tuple[HostStatement, ...], most: int | None) -> Counter[str]:
    found: Counter[str] = Counter()
    for made, _, times in launches(body, {"steps": STEPS, "inner": INNER}, most):
        found[made.kernel] += times
    return found


INSIDE = HostFor("p", Int(0), Name("inner"), 1, (launch("inner", Int(1)),))
BODIES: dict[str, Callable[[int], tuple[HostStatement, ...]]] = {
    "a test": lambda m: loop(HostIf(remainder(m, 0), (launch("outer", Int(1)),))),
    "a loop in some steps": lambda m: loop(
        HostIf(remainder(m, 1, ">="), (launch("outer", Int(1)),)), HostIf(remainder(m, 0), (INSIDE,))
    ),
    "a test in a loop": lambda m: loop(
        HostFor("p", Int(0), Name("inner"), 1, (HostIf(remainder(m, 1), (launch("inner", Int(1)),)),))
    ),
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("divisor", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_steps_of_every_remainder_are_looked_at(body: str, divisor: int, most: int) -> None:
    """`STEPS` is a multiple of all divisors, but parts of it are not."""
    made = BODIES[body](divisor)
    assert period(made) == divisor
    assert counted(made, most) == counted(made, None)


@pytest.mark.parametrize("steps", [1, 2, 5, 7])
def test_there_are_no_more_iterations_than_the_loop_has(steps: int) -> None:
    made = loop(HostIf(remainder(6, 2), (launch("outer", Int(1)),)), launch("each", Int(1)))
    found = [times for made, _, times in launches(made, {"steps": steps}, 2) if made.kernel == "each"]
    assert sum(found) == steps


def test_a_long_period_is_left_alone() -> None:
    made = loop(HostIf(remainder(64, 0), (launch("outer", Int(1)),)), launch("each", Int(1)))
    assert period(made) == 1
    assert counted(made, 2)["each"] == STEPS


def test_iterations_that_launch_nothing_end_the_look() -> None:
    """Four nested loops of a million steps and no launch: they are too many, which shows after a few."""
    body: tuple[HostStatement, ...] = (HostIf(Binary("<", Name("n"), Int(0)), (launch("never", Int(1)),)),)
    for index in "abcd":
        body = (HostFor(index, Int(0), Name("n"), 1, body),)
    region = Region("looped", (ScalarArgument("n", "int"),), (), (), body, ())
    assert too_many([(region, [Calls(1, {"n": 1_000_000})])], None, QUICK)
    assert not too_many([(region, [Calls(1, {"n": 8})])], None, QUICK)
