"""What kernels compute on the emulator, against plain Python."""

from __future__ import annotations

from array import array

import pytest

from polygpu.model.expr import Binary, Call, Cast, Int, Literal, Name, Select
from polygpu.model.kernel import Assign, Buffer, Declare, HostFor, HostIf, If, Launch
from polygpu.model.scop import Structure
from tests.unit.emulator_harness import (
    BX,
    Program,
    X,
    argument,
    at,
    buffer,
    kernel,
    less,
    plus,
    run,
    times,
)
from tests.unit.emulator_programs import ROW, N, products, reduction, ring, saxpy, transpose, triangle, wide

SERIAL = ("-Wno-unknown-pragmas",)


def single(value: float) -> float:
    """`value` rounded to float."""
    return float(array("f", [value])[0])


@pytest.mark.parametrize(("n", "block"), [(1000, 128), (100, 48), (5, 16), (33, 32)])
def test_guarded_threads_beyond_the_end_do_nothing(n: int, block: int) -> None:
    x, y = [float(i % 17) for i in range(n)], [float(i % 5) for i in range(n)]
    outcome = run(saxpy(n, block), {"x": x, "y": y})
    assert outcome.arrays["y"] == [2 * a + b for a, b in zip(x, y, strict=True)]


@pytest.mark.parametrize("padding", [0, 1])
def test_transpose_through_shared_memory(padding: int) -> None:
    a = [float(i) for i in range(48 * 48)]
    outcome = run(transpose(48, padding), {"a": a, "b": [0.0] * len(a)})
    assert outcome.arrays["b"] == [a[j * 48 + i] for i in range(48) for j in range(48)]


@pytest.mark.parametrize("flags", [("-fopenmp",), SERIAL, ("-DPOLYGPU_COUNTERS=0", "-O2", "-fopenmp")])
def test_values_cross_barriers_in_a_loop(flags: tuple[str, ...]) -> None:
    x = [i * i % 101 - 50 for i in range(128 * 9)]
    outcome = run(reduction(9), {"x": x, "out": [0] * 9}, flags=flags)
    assert outcome.arrays["out"] == [sum(x[128 * b : 128 * b + 128]) for b in range(9)]


@pytest.mark.parametrize("n", [1, 31, 70])
def test_loops_whose_lanes_end_apart(n: int) -> None:
    a = [float(i % 13) for i in range(n * n)]
    outcome = run(triangle(n), {"a": a, "out": [0.0] * n})
    assert outcome.arrays["out"] == [sum(a[i * n : i * n + i + 1]) for i in range(n)]


def test_wide_moves_through_registers() -> None:
    x = [float(i) for i in range(512)]
    outcome = run(wide(512), {"x": x, "y": [0.0] * 512})
    assert outcome.arrays["y"] == [value + 1 for value in x]


def test_asynchronous_copies_land_when_waited_for() -> None:
    x = [float(i) for i in range(5 * 64)]
    outcome = run(ring(5, pending=1), {"x": x, "y": [0.0] * len(x)}, device="h100")
    assert outcome.arrays["y"] == [x[64 * r + 63 - i] + 1 for r in range(5) for i in range(64)]
    early = run(ring(5, pending=2), {"x": x, "y": [0.0] * len(x)}, device="h100")
    assert early.arrays["y"] != outcome.arrays["y"]


def test_no_multiply_is_fused_with_an_add() -> None:
    """Even where the compiler's default is to fuse: gnu11 on a machine with fused multiply-add."""
    x = [1 + i * 2.0**-13 for i in range(64)]
    y = [-single(single(a * 2.0) * single(1 / 3)) for a in x]
    third = Literal("(1.0f / 3.0f)", "float")
    value = plus(times(times(at("x", X), Literal("2.0f", "float")), third), at("y", X))
    code = kernel([Assign(at("y", X), value)], [argument("x"), argument("y")], (64, 1, 1))
    program = Program((code,), (buffer("x", 64), buffer("y", 64)))
    flags = ("-std=gnu11", "-O2", "-march=native", "-fopenmp")
    assert run(program, {"x": x, "y": y}, flags=flags).arrays["y"] == [0.0] * 64


def test_lanes_that_are_off_neither_divide_nor_load() -> None:
    """Beyond n divisors are zero and indices are wild; at 0 there is no left neighbour."""
    n, wild = 40, 10**9
    x = list(range(64))
    where = [(7 * i) % 64 for i in range(n)] + [wild] * 24
    divisor = [i % 5 + 1 for i in range(n)] + [0] * 24
    left = Select(Binary(">", X, Int(0)), at("x", Binary("-", X, Int(1)), ctype="int"), Int(-1))
    quotient = Binary("/", at("x", at("where", X, ctype="int"), ctype="int"), at("divisor", X, ctype="int"))
    either = Binary(
        "&&", Binary(">", X, Int(3)), Binary("==", at("x", Binary("-", X, Int(4)), ctype="int"), Int(2))
    )
    store = Assign(at("y", X, ctype="int"), plus(quotient, times(left, Int(1000)), times(either, Int(100))))
    names = ("x", "where", "divisor", "y")
    code = kernel(
        [If(less(X, N), (store,), (), uniform=False)],
        [argument(name, ctype="int") for name in names],
        (64, 1, 1),
        scalars=["n"],
    )
    program = Program((code,), tuple(buffer(name, 64, ctype="int") for name in names), scalars={"n": n})
    data = {"x": x, "where": where, "divisor": divisor, "y": [0] * 64}
    expected = [x[where[i]] // divisor[i] + 1000 * (i - 1) + 100 * (i == 6) for i in range(n)]
    assert run(program, data).arrays["y"] == expected + [0] * 24


def test_integer_functions_follow_c_and_the_polyhedral_model() -> None:
    shifted = Binary("-", X, Int(16))
    value = plus(
        Call("floord", (shifted, Int(3)), "int"),
        times(Int(100), Binary("/", shifted, Int(3))),
        times(Int(10_000), Call("min", (X, Int(20), plus(X, Int(-1))), "int")),
        Call("twice", (shifted,), "int"),
    )
    code = kernel([Assign(at("y", X, ctype="int"), value)], [argument("y", ctype="int")], (32, 1, 1))
    function = "int twice(int a)\n{\n    return 2 * a;\n}\n"
    program = Program((code,), (buffer("y", 32, ctype="int"),), functions=(function,))
    expected = [
        (i - 16) // 3 + 100 * int((i - 16) / 3) + 10_000 * min(20, i - 1) + 2 * (i - 16) for i in range(32)
    ]
    assert run(program, {"y": [0] * 32}).arrays["y"] == expected


def test_structures_and_origins() -> None:
    """A window of rows 2..5 and columns 1..16 of points, whose y becomes x + 1."""
    structure = Structure("struct point", "struct point { float x, y; };", (("x", "float"), ("y", "float")))
    window = Buffer(
        "p", "struct point", (Int(4), Int(16)), (None, Int(20)), (Int(2), Int(1)), Int(32), True, True, True,
        structure,
    )  # fmt: skip
    row, column = plus(BX, Int(2)), plus(X, Int(1))
    store = Assign(
        at("p", row, column, member="y"), plus(at("p", row, column, member="x"), Literal("1.0f", "float"))
    )
    points = argument("p", None, Int(16), ctype="struct point", pitch=Int(32))
    points = type(points)(
        "p", "struct point", (None, Int(16)), Int(32), True, True, structure, (Int(2), Int(1))
    )
    program = Program((kernel([store], [points], (16, 1, 1)),), (window,), (4, 1, 1))
    data = [float(i) for i in range(2 * 8 * 20)]
    expected = list(data)
    for i in range(2, 6):
        for j in range(1, 17):
            expected[2 * (20 * i + j) + 1] = expected[2 * (20 * i + j)] + 1
    assert run(program, {"p": data}).arrays["p"] == expected


def test_the_host_loops_over_launches_and_skips_empty_grids() -> None:
    t = Name("t")
    guard = less(ROW, N)
    add = Assign(at("y", ROW, ctype="int"), plus(at("y", ROW, ctype="int"), Name("t")))
    code = kernel(
        [Declare("i", "int", plus(times(BX, Int(32)), X)), If(guard, (add,), (), uniform=False)],
        [argument("y", ctype="int")],
        (32, 1, 1),
        scalars=["n", "t"],
    )
    grid = (Binary("/", plus(N, Int(31)), Int(32)), Int(1), Int(1))
    body = (
        HostFor("t", Int(0), Int(5), 2, (HostIf(Binary("!=", t, Int(2)), (Launch("k", grid, (N, t)),)),)),
        Launch("k", (Int(0), Int(1), Int(1)), (N, Int(1))),
    )
    program = Program((code,), (buffer("y", 40, ctype="int"),), scalars={"n": 40}, body=body)
    outcome = run(program, {"y": [1] * 40})
    assert outcome.arrays["y"] == [1 + 0 + 4] * 40
    assert outcome.kernel["launches"] == 2
    assert outcome.kernel["grid"] == [2, 1, 1]
    assert outcome.kernel["blocks_total"] == 4


def test_a_chip_without_doubles_computes_in_double() -> None:
    value = times(Cast("double", Literal("0.1", "double")), Literal("3.0", "double"))
    code = kernel([Assign(at("y", X, ctype="double"), value)], [argument("y", ctype="double")], (32, 1, 1))
    program = Program((code,), (buffer("y", 32, ctype="double"),))
    outcome = run(program, {"y": [0.0] * 32})
    assert outcome.arrays["y"] == [0.1 * 3.0] * 32
    assert outcome.errors == ""


@pytest.mark.parametrize("which", [0, 1])
def test_products_keep_the_order_of_additions(which: int) -> None:
    n = 32
    a = [single((i * 7 % 101) / 50) for i in range(n * n)]
    b = [single((i * 13 % 103) / 50) for i in range(n * n)]
    outcome = run(products(n)[which], {"A": a, "B": b, "C": [0.0] * (n * n)})
    expected = []
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(n):
                total = single(total + single(a[i * n + k] * b[k * n + j]))
            expected.append(total)
    assert outcome.arrays["C"] == expected
