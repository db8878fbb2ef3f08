"""Which elements the lanes of a request touch, in kernels written by hand and in a compiled one."""

from __future__ import annotations

from polygpu.model.expr import Binary, Expr, Int, Literal, Name, Reference
from polygpu.model.kernel import (
    ArrayArgument,
    Assign,
    Declare,
    For,
    If,
    Kernel,
    Move,
    ScalarArgument,
    SharedArray,
    Statement,
)
from polygpu.perf.launches import SIZE
from polygpu.perf.requests import Requests, requests
from tests.unit.middle import lowered

X, Y = Name("thread_x"), Name("thread_y")
ZERO = Literal("0.0f", "float")


def at(array: str, *subscripts: Expr) -> Reference:
    return Reference(array, subscripts, "float")


def plus(left: Expr, right: Expr | int) -> Expr:
    return Binary("+", left, Int(right) if isinstance(right, int) else right)


def times(factor: int, right: Expr) -> Expr:
    return Binary("*", Int(factor), right)


def kernel(*body: Statement, block: tuple[int, int, int] = (16, 2, 1)) -> Kernel:
    a = ArrayArgument("a", "float", (None,), None, read=True, written=True)
    s = SharedArray("s", "float", (64, 64))
    return Kernel("k", (), (ScalarArgument("n", "int"),), (a,), block, (s,), body)


def one(*body: Statement, width: int = 16, block: tuple[int, int, int] = (16, 2, 1)) -> Requests:
    (found,) = requests(kernel(*body, block=block), width)
    return found


def first(r: Requests) -> list[tuple[int, ...] | None]:
    return list(r.lanes[0])


def test_lanes_of_a_request() -> None:
    r = one(Assign(at("s", Y, times(2, X)), ZERO))
    assert r.write
    assert r.lanes == tuple(tuple((y, 2 * x) for x in range(16)) for y in range(2))
    assert (r.weight, r.wide) == (1.0, 1)


def test_reads_are_found_in_every_expression() -> None:
    body = Declare("v", "float", Binary("+", at("s", Int(0), X), Binary("*", ZERO, at("s", X, Int(0)))))
    found = requests(kernel(body), 16)
    assert [(r.reference.subscripts, r.write) for r in found if r.lanes] == [
        ((Int(0), X), False),
        ((X, Int(0)), False),
    ]


def test_loops_weigh_by_their_length() -> None:
    loop = For("t", Int(0), Int(8), 2, (Assign(at("s", Name("t"), X), ZERO),), uniform=True)
    assert one(loop).weight == 4.0
    outer = For("u", Int(0), Int(5), 1, (loop,), uniform=True)
    assert one(outer).weight == 20.0


def test_idle_lanes() -> None:
    r = one(If(Binary("<", X, Int(3)), (Assign(at("s", Y, X), ZERO),), (), uniform=False))
    assert first(r) == [(0, 0), (0, 1), (0, 2), *[None] * 13]
    body = If(
        Binary("<", X, Int(3)), (Assign(at("s", Y, X), ZERO),), (Assign(at("s", X, Y), ZERO),), uniform=False
    )
    yes, no = requests(kernel(body), 16)
    assert [i is None for i in first(yes)] == [i is not None for i in first(no)]


def test_names_follow_their_declarations() -> None:
    r = one(Declare("p", "int", plus(X, 5)), Assign(at("s", Int(0), plus(Name("p"), 1)), ZERO))
    assert first(r) == [(0, 6 + x) for x in range(16)]


def test_wide_moves() -> None:
    found = requests(kernel(Move(at("s", Y, times(4, X)), at("a", times(4, X)), 4)), 16)
    assert {(r.reference.array, r.write, r.wide) for r in found} == {("a", False, 4), ("s", True, 4)}


def test_data_dependent_subscripts_are_unknown() -> None:
    found = requests(kernel(Declare("v", "float", at("s", Int(0), at("a", X)))), 16)
    assert {r.reference.array: bool(r.lanes) for r in found} == {"s": False, "a": True}


def test_only_the_arrays_asked_for() -> None:
    body = Assign(at("s", Int(0), X), at("a", X))
    found = requests(kernel(body), 16, arrays=["a"])
    assert [r.reference.array for r in found if r.lanes] == ["a"]


def test_warps_of_another_width() -> None:
    r = one(Assign(at("s", Y, X), ZERO), width=32)
    assert [len(group) for group in r.lanes] == [32]
    assert r.lanes[0][31] == (1, 15)


def test_sizes_are_large() -> None:
    guarded = If(Binary("<", plus(X, 1000), Name("n")), (Assign(at("a", X), ZERO),), (), uniform=False)
    assert None not in first(one(guarded))
    assert SIZE % 128 == 0


def test_a_compiled_product() -> None:
    """On the 8800 GTX, lanes read one element of A and neighbours of B, and copies coalesce."""
    parameters = "int n, float A[restrict n][n], float B[restrict n][n], float C[restrict n][n]"
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
    body += " for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j];"
    found = [r for r in requests(lowered(parameters, body), 16) if r.lanes]
    steps: dict[tuple[str, bool], set[tuple[int, ...]]] = {}
    for r in found:
        zero, second = r.lanes[0][:2]
        assert zero is not None
        assert second is not None
        key = r.reference.array, r.write
        steps.setdefault(key, set()).add(tuple(b - a for a, b in zip(zero, second, strict=True)))
    assert steps == {
        ("A", False): {(0, 1)},
        ("B", False): {(0, 1)},
        ("C", False): {(0, 1)},
        ("C", True): {(0, 1)},
        ("A_s", True): {(0, 1)},
        ("B_s", True): {(0, 1)},
        ("A_s", False): {(0, 0)},
        ("B_s", False): {(0, 1)},
    }
