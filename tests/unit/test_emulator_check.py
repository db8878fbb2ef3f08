"""Check mode: right kernels pass, and each kind of mistake is found and named with its place."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from polygpu.model.expr import Binary, Expr, Int, Literal, Reference
from polygpu.model.kernel import Assign, Barrier, DeclareArray, If, SharedArray, Statement
from tests.unit.emulator_harness import (
    BX,
    Outcome,
    Program,
    X,
    argument,
    at,
    buffer,
    kernel,
    less,
    plus,
    run,
    site,
    times,
)
from tests.unit.emulator_programs import products, reduction, ring, saxpy, transpose, triangle, wide

CHECK = ("-DPOLYGPU_CHECK=1", "-fopenmp")


def check(program: Program, device: str = "8800gtx") -> Outcome:
    sizes = {b.name: [e.value for e in b.extents if isinstance(e, Int)] for b in program.buffers}
    data = {name: [0] * (shape[0] * (shape[1] if len(shape) > 1 else 1)) for name, shape in sizes.items()}
    return run(program, data, device, CHECK)


RIGHT = {
    "saxpy": saxpy(100, 48),
    "transpose": transpose(32, 1),
    "reduction": reduction(3),
    "triangle": triangle(40),
    "wide": wide(256),
    "ring": ring(5, pending=1),
    "product": products(32)[1],
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_pass(name: str) -> None:
    outcome = check(RIGHT[name])
    assert (outcome.status, outcome.errors) == (0, "")


def test_a_dropped_barrier_is_a_race() -> None:
    outcome = check(transpose(32, 1, barrier=False))
    assert outcome.status == 3
    assert "race between two barriers: read of 'a[i][j]' as tile[thread_x][thread_y]" in outcome.errors
    assert "test.c:10:5: error: " in outcome.errors


def test_reading_ahead_of_an_asynchronous_copy() -> None:
    outcome = check(ring(5, pending=2), "h100")
    assert outcome.status == 3
    assert "asynchronous copy not waited for: read of 'buffer[" in outcome.errors


def one_block(
    body: Sequence[Statement], *shared: SharedArray, blocks: int = 1, threads: int = 32, length: int = 64
) -> Program:
    """A kernel that writes `y`, whose sites 0 and 1 are `first` and `second`."""
    code = kernel(body, [argument("y")], (threads, 1, 1), shared)
    sites = (site(0, "y", "first"), site(1, "y", "second", write=True))
    return Program((code,), (buffer("y", length),), (blocks, 1, 1), sites=sites)


def neighbour(by: int) -> Expr:
    return Binary("%", plus(X, Int(by)), Int(32))


def test_an_unwritten_shared_word() -> None:
    """Half of the threads fill the array, all of them read it."""
    body: list[Statement] = [
        If(less(X, Int(16)), (Assign(at("s", X), at("y", X)),), (), uniform=False),
        Barrier(),
        Assign(at("y", X, site=1), at("s", neighbour(1), site=0)),
    ]
    outcome = check(one_block(body, SharedArray("s", "float", (32,))))
    assert outcome.status == 3
    assert "test.c:10:5: error: read of a word that was never written: read of 'first'" in outcome.errors
    assert "16 problems found" in outcome.errors


def test_an_unwritten_private_word() -> None:
    body: list[Statement] = [
        DeclareArray("mine", "float", (4,)),
        Assign(at("mine", Binary("%", X, Int(4))), at("y", X)),
        Assign(at("y", X), at("mine", Int(0), site=0)),
    ]
    outcome = check(one_block(body))
    assert outcome.status == 3
    assert "never written: read of 'first' as mine[0]" in outcome.errors
    assert "24 problems found" in outcome.errors


@pytest.mark.parametrize(
    ("target", "shared", "problems"),
    [
        (at("y", plus(X, Int(40)), site=1), (), 8),
        (at("y", Binary("-", X, Int(3)), site=1), (), 3),
        (at("s", plus(X, Int(4)), site=1), (SharedArray("s", "float", (32,)),), 4),
        # Within the array, but beyond its row:
        (at("s", Int(0), X, site=1), (SharedArray("s", "float", (2, 28)),), 4),
        (at("mine", plus(X, Int(-1)), site=1), (), 1),
    ],
)
def test_addresses_out_of_bounds(target: Reference, shared: tuple[SharedArray, ...], problems: int) -> None:
    body: list[Statement] = [DeclareArray("mine", "float", (31,)), Assign(target, Literal("1.0f", "float"))]
    outcome = check(one_block(body, *shared))
    assert outcome.status == 3
    assert "test.c:11:5: error: out of bounds: write of 'second'" in outcome.errors
    assert f"polygpu: {problems} problems found" in outcome.errors


def test_beyond_a_pitched_row() -> None:
    """Column 32 of rows of 32 is an address of the array, but not of the row."""
    code = kernel([Assign(at("a", BX, plus(X, Int(1)), site=1), at("a", BX, X))],
                  [argument("a", None, Int(32), pitch=Int(32))], (32, 1, 1))  # fmt: skip
    program = Program((code,), (buffer("a", 3, 32),), (2, 1, 1), sites=(site(1, "a", "a[i][j + 1]"),))
    assert "out of bounds: write of 'a[i][j + 1]'" in check(program).errors


def test_two_blocks_that_write_one_word() -> None:
    body: list[Statement] = [Assign(at("y", plus(X, times(BX, Int(16))), site=1), at("y", X, site=0))]
    outcome = check(one_block(body, blocks=2))
    assert outcome.status == 3
    assert "race between blocks: write of 'second'" in outcome.errors


def test_bytes_of_one_word_are_no_race() -> None:
    body: list[Statement] = [Assign(at("c", X, ctype="char"), X)]
    program = Program(
        (kernel(body, [argument("c", ctype="char")], (32, 1, 1)),), (buffer("c", 32, ctype="char"),)
    )
    assert check(program).status == 0


def test_threads_that_part_ways_around_a_barrier() -> None:
    body: list[Statement] = [
        If(less(X, Int(16)), (Barrier(), Assign(at("y", X), at("y", X))), (), uniform=True)
    ]
    outcome = check(one_block(body))
    assert outcome.status == 3
    assert "part ways around a barrier" in outcome.errors
