"""Bounds of a step that its loop tests: computed before it, where several are of one side."""

from __future__ import annotations

from polygpu.lower.stretches import with_stretches
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Barrier, Declare, For, If, Statement
from polygpu.model.linear import conjunction
from polygpu.perf.lanes import evaluate

STEP, POINT, C = Name("step"), Name("i"), Name("c")
STORE = Assign(Reference("a", (STEP,), "float"), Int(0))
BOUNDS = (
    Binary(">=", STEP, POINT),
    Binary("<", Binary("-", C, POINT), STEP),
    Binary("<=", POINT, Int(40)),
    Binary(">=", Binary("+", POINT, Int(30)), STEP),
    Binary(">", Binary("*", Int(2), C), STEP),
)


def loop(*tests: Expr, first: tuple[Statement, ...] = ()) -> For:
    test = conjunction(list(tests))
    assert test is not None
    inside = If(test, (STORE,), (), uniform=False)
    return For("step", Int(0), Int(100), 1, (*first, inside, Barrier()), uniform=True)


def stored(body: tuple[Statement, ...], i: int, c: int) -> list[int]:
    """The steps whose store runs."""
    known, found = {"i": i, "c": c}, []
    for s in body:
        if isinstance(s, Declare):
            assert s.value is not None
            known[s.name] = number(s.value, known)
        elif isinstance(s, For):
            (test,) = (part.test for part in s.body if isinstance(part, If))
            found += [k for k in range(100) if number(test, {**known, "step": k})]
    return found


def number(expr: Expr, known: dict[str, int]) -> int:
    found = evaluate(expr, known)
    assert isinstance(found, int)
    return found


def test_the_same_steps_run() -> None:
    before = (loop(*BOUNDS),)
    after = with_stretches(before)
    assert [s.name for s in after if isinstance(s, Declare)] == ["step_from", "step_to"]
    for i in (0, 3, 20, 40, 41):
        for c in (-5, 0, 17, 30, 90):
            assert stored(after, i, c) == stored(before, i, c), (i, c)
    assert stored(before, 3, 30) == list(range(28, 34))


def test_what_the_loop_changes_is_tested_in_it() -> None:
    """`i` has another value in each step: what is known before it are the bounds by `c`."""
    changes = Declare("i", "int", Binary("-", C, STEP))
    before = (loop(*BOUNDS, first=(changes,)),)
    assert with_stretches(before) == before


def test_one_bound_of_a_side_stays() -> None:
    before = (loop(BOUNDS[0], BOUNDS[2], BOUNDS[3]),)
    assert with_stretches(before) == before


def test_loops_in_a_row_have_bounds_of_their_own() -> None:
    after = with_stretches((loop(*BOUNDS), loop(*BOUNDS)))
    names = [s.name for s in after if isinstance(s, Declare)]
    assert len(names) == len(set(names)) == 4
    assert stored(after, 3, 30) == 2 * list(range(28, 34))
