"""Dead declarations and empty branches go, everything that has an effect stays."""

from __future__ import annotations

from polygpu.lower.tidy import substituted, tidy, typed
from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Literal, Name, Reference
from polygpu.model.kernel import Assign, Barrier, Declare, For, If, Move, Origin, Statement
from polygpu.model.kernel_walk import statements

IT, J, K = Name("i"), Name("j"), Name("k")
ZERO = Literal("0.0f", "float")


def at(array: str, *subscripts: Expr) -> Reference:
    return Reference(array, subscripts, "float")


def loop(*body: Statement, index: str = "i", upper: Expr = K) -> For:
    return For(index, Int(0), upper, 1, body, uniform=False)


def branch(test: Expr, *then: Statement, otherwise: tuple[Statement, ...] = (), uniform: bool = False) -> If:
    return If(test, then, otherwise, uniform)


STORE = Assign(at("x", IT), ZERO)


def test_unread_declarations_go() -> None:
    assert tidy((Declare("i", "int", Int(0)), Declare("j", "int", IT), STORE)) == (
        Declare("i", "int", Int(0)),
        STORE,
    )


def test_scalars_passed_as_int() -> None:
    """What polyhedra say of m - j may be negative; what the source computes of an unsigned m wraps around.

    Affine subscripts are of int, others name m as the source does.
    """
    m, signed = Name("m", "unsigned int"), Name("m")
    bound = Call("min", (Int(16), Binary("-", signed, J)), "int")
    place, value = at("x", Binary("+", signed, IT)), Binary("-", m, Int(5))
    body = loop(Assign(place, at("x", Binary("%", value, m))), Assign(place, value), upper=bound)
    (found,) = typed((body,), {"m": "unsigned int"})
    cast = Cast("unsigned int", signed)
    less = Binary("-", cast, Int(5))
    assert found == loop(Assign(place, at("x", Binary("%", less, cast))), Assign(place, less), upper=bound)


def test_chains_of_unread_declarations_go() -> None:
    assert tidy((Declare("i", "int", Int(0)), Declare("j", "int", IT), Declare("k", "int", J))) == ()


def test_assignments_of_locals_nobody_reads_go() -> None:
    body = (Declare("j", "int", None, True), Assign(J, Int(1)), STORE)
    assert tidy(body) == (STORE,)


def test_values_for_the_next_iteration_stay() -> None:
    body = (
        Declare("j", "int", Int(0), True),
        loop(Assign(at("x", J), ZERO), Assign(J, Binary("+", J, Int(1)))),
    )
    assert tidy(body) == body


def test_values_for_the_iteration_after_the_next_stay() -> None:
    """x[j] takes what k was an iteration before."""
    declared = (Declare("j", "int", Int(0), True), Declare("k", "int", Int(0), True))
    body = (*declared, loop(Assign(at("x", J), ZERO), Assign(J, K), Assign(K, IT), upper=Int(9)))
    assert tidy(body) == body


def test_values_read_after_the_loop_stay() -> None:
    body = (Declare("j", "int", Int(0), True), loop(Assign(J, IT)), Assign(at("x", J), ZERO))
    assert tidy(body) == body


def test_empty_loops_and_branches_go_with_what_only_they_read() -> None:
    dead = Declare("j", "int", Int(0))
    assert tidy((Declare("k", "int", Int(9)), loop(dead))) == ()
    assert tidy((Declare("k", "int", Int(9)), branch(K, dead, otherwise=(dead,)))) == ()


def test_barriers_and_moves_stay() -> None:
    move = Move(at("s", J), at("x", K), 4)
    body = (Declare("j", "int", Int(0)), Declare("k", "int", Int(4)), move, Barrier())
    assert tidy(body) == body


def test_names_in_bounds_tests_and_subscripts_are_read() -> None:
    declared = tuple(Declare(n, "int", Int(1)) for n in ("j", "k"))
    for use in (
        loop(STORE, upper=Binary("*", J, K)),
        branch(Binary("<", J, K), STORE),
        Assign(at("x", J, K), ZERO),
    ):
        assert tidy((*declared, use)) == (*declared, use)


def test_nested_tests_become_one() -> None:
    inner = branch(J, STORE, uniform=True)
    assert tidy((branch(K, inner, uniform=True),)) == (branch(Binary("&&", K, J), STORE, uniform=True),)
    assert tidy((branch(K, branch(J, STORE), uniform=True),)) == (branch(Binary("&&", K, J), STORE),)
    kept = branch(K, inner, otherwise=(STORE,))
    assert tidy((kept,)) == (kept,)
    two = branch(K, inner, STORE)
    assert tidy((two,)) == (two,)
    other = branch(K, branch(J, STORE, otherwise=(Barrier(),)))
    assert tidy((other,)) == (other,)


def test_substitution_reaches_every_expression_that_is_read() -> None:
    values: dict[str, Expr] = {"k": Binary("+", IT, Int(2))}
    body = (
        Declare("j", "int", K),
        Assign(at("x", Binary("-", K, Int(2))), at("y", K)),
        Move(at("s", K), at("x", K), 2),
        loop(Assign(K, K), upper=K),
        branch(K, STORE, otherwise=(Assign(at("x", K), ZERO),)),
    )
    moved = Binary("+", IT, Int(2))
    assert substituted(body, values) == (
        Declare("j", "int", moved),
        Assign(at("x", IT), at("y", moved)),
        Move(at("s", moved), at("x", moved), 2),
        loop(Assign(K, moved), upper=moved),
        branch(moved, STORE, otherwise=(Assign(at("x", moved), ZERO),)),
    )


def test_what_a_later_loop_reads_stays_in_the_loop_before() -> None:
    """One loop twice, of which only the first is followed by what reads its scalar."""
    inner = loop(Assign(J, IT), Assign(at("x", IT), ZERO))
    read = Assign(at("y", J), ZERO)
    body = (Declare("j", "int", Int(0), True), inner, read, inner)
    assert tidy(body) == (body[0], inner, read, loop(Assign(at("x", IT), ZERO)))


def test_deep_nests_are_gone_over_once_a_loop() -> None:
    """Going over each body twice takes 2**30 times as long for the innermost of 30 loops."""
    body: Statement = Assign(at("x", IT), ZERO)
    for depth in range(30):
        body = loop(Declare(f"d{depth}", "int", IT), body, index=f"i{depth}")
    (found,) = tidy((body,))
    assert not any(isinstance(s, Declare) for s in statements((found,)))


def test_a_loop_of_the_same_name_is_not_what_a_dropped_declaration_gives() -> None:
    step, origin = Name("s"), Origin("S0", 0, (Name("s"),), None)
    store = Assign(at("x", J), ZERO, origin)
    body = (Declare("s", "int", Int(-256)), store, loop(store, index="s"))
    first, second = tidy(body)
    assert isinstance(first, Assign) and first.origin is not None and first.origin.arguments == (Int(-256),)
    assert second == loop(store, index="s")
    assert store.origin is not None and store.origin.arguments == (step,)
