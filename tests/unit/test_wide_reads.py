"""What a lane reads of a staged tile at once, in kernels written by hand."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from polygpu.lower.wide_reads import read_wide
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Declare, DeclareArray, For, Move, SharedArray, Statement
from polygpu.model.kernel_walk import operands, statements
from polygpu.model.rewrite import references


def at(array: str, *subscripts: Expr | str | int, ctype: str = "float") -> Reference:
    made = (Name(s) if isinstance(s, str) else Int(s) if isinstance(s, int) else s for s in subscripts)
    return Reference(array, tuple(made), ctype)


def plus(left: Expr | str, right: Expr | str | int) -> Expr:
    parts = (Name(e) if isinstance(e, str) else Int(e) if isinstance(e, int) else e for e in (left, right))
    return Binary("+", *parts)


def times(factor: int, name: str) -> Expr:
    return Binary("*", Int(factor), Name(name))


def unrolled(index: str, count: int, *body: Statement) -> For:
    return For(index, Int(0), Int(count), 1, body, uniform=True, unroll=True)


def tile(*extents: int, ctype: str = "float") -> dict[str, SharedArray]:
    return {"A_s": SharedArray("A_s", ctype, extents, 0, 16)}


def moves(body: Iterable[Statement]) -> list[Move]:
    return [s for s in statements(tuple(body)) if isinstance(s, Move)]


def values(read: Reference, count: int = 4) -> tuple[Statement, ...]:
    """A value of the tile, used for two results."""
    use = Assign(at("C_r", "i", "j"), Binary("*", Name("A_v", read.type), Int(2)))
    return (unrolled("i", count, Declare("A_v", read.type, read), unrolled("j", 2, use)),)


SIDE_BY_SIDE = at("A_s", "k", plus(times(4, "thread_y"), "i"))


def test_a_loop_that_fills_registers_is_a_move() -> None:
    source = at("A_s", "k", plus(plus(times(4, "thread_x"), "r"), times(64, "g")))
    fill = unrolled("g", 2, unrolled("r", 4, Assign(at("A_v", "g", "r"), source)))
    _, outer = read_wide((DeclareArray("A_v", "float", (2, 4)), fill), tile(16, 128), 16)
    assert isinstance(outer, For)
    (move,) = outer.body
    first = at("A_s", "k", plus(times(4, "thread_x"), times(64, "g")))
    assert isinstance(move, Move) and move.width == 4 and move.target == at("A_v", "g", 0)
    assert {str(e) for e in move.source.subscripts} == {str(e) for e in first.subscripts}


def test_values_of_iterations_are_read_before_them() -> None:
    array, move, loop = read_wide(values(SIDE_BY_SIDE), tile(16, 64), 16)
    assert array == DeclareArray("A_v", "float", (4,))
    assert move == Move(at("A_v", 0), at("A_s", "k", times(4, "thread_y")), 4)
    assert isinstance(loop, For) and loop.upper == Int(4)
    used = [r for s in statements((loop,)) for e in operands(s) for r in references(e)]
    assert at("A_v", "i") in used and all(r.array != "A_s" for r in used)


@pytest.mark.parametrize(
    ("read", "count", "extents", "widest", "widths"),
    [
        (SIDE_BY_SIDE, 4, (16, 64), 8, [2, 2]),
        (at("A_s", "k", plus(times(8, "thread_y"), "i")), 8, (16, 64), 16, [4, 4]),
        (at("A_s", plus(times(2, "thread_y"), "i")), 2, (33,), 16, [2]),
        (at("A_s", "k", plus(times(4, "thread_y"), "i"), ctype="double"), 4, (16, 64), 16, [2, 2]),
    ],
    ids=["8 bytes", "8 values", "a single row", "doubles"],
)
def test_widths(
    read: Reference, count: int, extents: tuple[int, ...], widest: int, widths: list[int]
) -> None:
    found = moves(read_wide(values(read, count), tile(*extents, ctype=read.type), widest))
    assert [m.width for m in found] == widths


@pytest.mark.parametrize(
    ("read", "count", "extents", "widest"),
    [
        (SIDE_BY_SIDE, 4, (16, 64), 0),
        (SIDE_BY_SIDE, 3, (16, 64), 16),
        (SIDE_BY_SIDE, 4, (16, 63), 16),
        (SIDE_BY_SIDE, 16, (16, 64), 16),
        (at("A_s", "k", plus("thread_y", "i")), 4, (16, 64), 16),
        (at("A_s", "k", plus(plus(times(4, "thread_y"), "i"), 1)), 4, (16, 64), 16),
        (at("A_s", "k", plus("thread_y", times(16, "i"))), 4, (16, 64), 16),
        (at("A_s", plus(times(4, "thread_y"), "i"), "k"), 4, (64, 16), 16),
        (at("A_s", "i", plus(times(4, "thread_y"), "i")), 4, (16, 64), 16),
        (at("A", "k", plus(times(4, "thread_y"), "i")), 4, (16, 64), 16),
    ],
    ids=[
        "not asked for", "3 values", "odd rows", "too many", "threads in between", "one further", "apart",
        "down a column", "down a diagonal", "global memory",
    ],
)  # fmt: skip
def test_what_stays(read: Reference, count: int, extents: tuple[int, ...], widest: int) -> None:
    body = values(read, count)
    assert read_wide(body, tile(*extents), widest) == body


@pytest.mark.parametrize(
    "target",
    [at("B", "g", "r"), at("A_v", "g", "r", ctype="double"), at("A_v", "r", "r"), at("A_v", "r", "g")],
    ids=["memory", "another type", "a diagonal", "apart"],
)
def test_what_registers_are_not_filled_with(target: Reference) -> None:
    fill = unrolled("g", 4, unrolled("r", 4, Assign(target, at("A_s", "g", "r"))))
    body = (DeclareArray("A_v", target.type, (4, 4)), fill)
    assert read_wide(body, tile(16, 64), 16) == body


def test_values_of_another_type_are_converted_one_by_one() -> None:
    loop = unrolled("i", 4, Declare("A_v", "double", SIDE_BY_SIDE), Assign(at("C_r", "i"), Name("A_v")))
    assert read_wide((loop,), tile(16, 64), 16) == (loop,)


def test_what_the_loop_writes_is_not_read_before_it() -> None:
    store = Assign(at("A_s", "k", "i"), Int(0))
    body = (unrolled("i", 4, Declare("A_v", "float", SIDE_BY_SIDE), store),)
    assert read_wide(body, tile(16, 64), 16) == body


def test_loops_behind_one_another_may_have_values_of_one_name() -> None:
    found = read_wide((*values(SIDE_BY_SIDE), *values(SIDE_BY_SIDE)), tile(16, 64), 16)
    assert [s.name for s in found if isinstance(s, DeclareArray)] == ["A_v", "A_v2"]
    assert [m.target.array for m in moves(found)] == ["A_v", "A_v2"]
    used = {r.array for s in statements(found[-1:]) for e in operands(s) for r in references(e)}
    assert used == {"A_v2", "C_r"}


def test_a_loop_that_runs_on_is_left_alone() -> None:
    loop = For("i", Int(0), Int(4), 1, (Declare("A_v", "float", SIDE_BY_SIDE),), uniform=True)
    assert read_wide((loop,), tile(16, 64), 16) == (loop,)
