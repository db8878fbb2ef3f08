"""Copy code, run thread by thread: it fills the box, once an element, from the clamped places."""

from __future__ import annotations

from collections import Counter
from itertools import product

import islpy as isl
import pytest

from polygpu.lower.buffers import Layout
from polygpu.lower.staging import Copy
from polygpu.mapping.footprint import Side
from polygpu.mapping.program import Box
from polygpu.model.expr import Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Buffer, Declare, DeclareArray, For, If, Move, Statement
from polygpu.perf.lanes import uniform

Place = tuple[int, ...]
Moves = list[tuple[Reference, Reference, int, dict[str, int]]]  # target, source, elements, values then


def copy(
    sizes: tuple[int, ...],
    order: tuple[int, ...] | None = None,
    threads: int = 64,
    widest: int = 0,
    extents: tuple[int, ...] = (100, 100, 100),
    stepped: bool = True,
    aligned: int = 32,
) -> Copy:
    """Copies the box of `sizes` that starts at (p, r, c) of `A`, whose names are multiples of `aligned`."""
    names = ("p", "r", "c")[-len(sizes) :]
    sides = tuple(Side(isl.PwAff("{ [(0)] }"), size) for size in sizes)
    box = Box("A", "A", "A_s", sides, order or tuple(range(len(sizes))), "reuse", frozenset())
    shape = tuple(Int(e) for e in extents[-len(sizes) :])
    pitch = Int(-(-extents[-1] // 32) * 32) if len(sizes) > 1 else None
    layout = Layout(Buffer("A", "float", shape, shape, (), pitch, True, True, False), {})
    offsets, multiples = tuple(Name(n) for n in names), dict.fromkeys(names, aligned)
    return Copy(box, offsets, layout, threads, 7, frozenset(names), multiples, widest, stepped=stepped)


def run(body: tuple[Statement, ...], values: dict[str, int], moves: Moves) -> None:
    """Runs `body` for one thread, and notes each copy with the values of the names then."""
    for s in body:
        match s:
            case For(index, lower, upper, step, inner, _, _):
                for x in range(_int(lower, values), _int(upper, values), step):
                    run(inner, {**values, index: x}, moves)
            case If(test, then, otherwise, _):
                run(then if _int(test, values) else otherwise, values, moves)
            case Declare(name, _, value, _):
                assert value is not None
                values = {**values, name: _int(value, values)}
            case Assign(Reference() as target, Reference() as source):
                moves.append((target, source, 1, values))
            case Move(target, source, width, _):
                moves.append((target, source, width, values))
            case DeclareArray():
                pass


def _int(expr: Expr, values: dict[str, int]) -> int:
    found = uniform(expr, values)
    assert found is not None
    return found


def traffic(copy_: Copy, body: tuple[Statement, ...], **values: int) -> dict[Place, Place]:
    """Which element of A ends in which element of A_s; registers between are followed."""
    found: dict[Place, Place] = {}
    written: Counter[Place] = Counter()
    for tid in range(copy_.threads):
        moves: Moves = []
        run(body, {"tid": tid, **values}, moves)
        registers: dict[tuple[str, Place], Place] = {}
        for target, source, width, now in moves:
            to, start = _place(target, now), _place(source, now)
            for k in range(width):
                here, there = _moved(to, k), _moved(start, k)
                origin = there if source.array == "A" else registers[source.array, there]
                if target.array == "A_s":
                    found[here] = origin
                    written[here] += 1
                else:
                    registers[target.array, here] = origin
    assert set(written.values()) == {1}
    return found


def _place(r: Reference, values: dict[str, int]) -> Place:
    return tuple(_int(s, values) for s in r.subscripts)


def _moved(place: Place, k: int) -> Place:
    return (*place[:-1], place[-1] + k)


def expected(c: Copy, *start: int, extent: int = 100) -> dict[Place, Place]:
    """Each place of the box and its element, subscripts clamped to the array."""
    found: dict[Place, Place] = {}
    for local in product(*map(range, c.sizes)):
        first = start[-len(local) :]
        source = tuple(min(s + x, extent - 1) for s, x in zip(first, local, strict=True))
        found[tuple(local[k] for k in c.s.order)] = source
    return found


@pytest.mark.parametrize(
    "sizes", [(16, 16), (8, 34), (3, 5), (64, 17), (1, 16), (40, 1), (34,), (300,), (16,)]
)
@pytest.mark.parametrize("threads", [1, 48, 64, 256])
def test_every_element_is_copied_once(sizes: tuple[int, ...], threads: int) -> None:
    c = copy(sizes, threads=threads)
    assert traffic(c, c.direct(), r=32, c=64) == expected(c, 32, 64)


@pytest.mark.parametrize("sizes", [(3, 6, 18), (18, 6, 33), (2, 3, 5), (9, 1, 7), (2, 40, 34), (20, 3, 5)])
@pytest.mark.parametrize("threads", [1, 48, 64, 256])
def test_boxes_of_planes(sizes: tuple[int, ...], threads: int) -> None:
    """No thread divides to find its row of a plane, unless most had none if planes were copied one by one."""
    c = copy(sizes, threads=threads)
    for body in (c.direct(), (c.registers(), *c.fetch(), *c.put())):
        assert traffic(c, body, p=96, r=32, c=64) == expected(c, 96, 32, 64)
    divides = "Binary(op='%', left=Name(name='A_s_row'" in str(c.direct())
    assert divides == (sizes == (20, 3, 5) and threads > 48)


@pytest.mark.parametrize("sizes", [(16, 16), (8, 64), (64, 4)])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_wide_copies(sizes: tuple[int, ...], order: tuple[int, ...]) -> None:
    c = copy(sizes, order, widest=16)
    assert c.width == 4
    assert c.s.transposed == (order == (1, 0))
    for body in (c.direct(), (c.registers(), *c.fetch(), *c.put())):
        assert traffic(c, body, r=0, c=32) == expected(c, 0, 32)


def test_outside_of_the_array_addresses_are_clamped() -> None:
    c = copy((16, 16))
    found = traffic(c, c.direct(), r=96, c=96)
    assert max(found.values()) == (99, 99)
    wide = copy((16, 16), widest=16)
    inside = traffic(wide, wide.direct(), r=96, c=96)
    assert all(inside[y, x] == (96 + y, 96 + x) for y in range(4) for x in range(16))
    beyond = traffic(wide, wide.direct(), r=0, c=128)  # rows are pitched to 128 elements
    assert {place[1] for place in beyond.values()} == {124, 125, 126, 127}


def test_below_zero_addresses_are_clamped_where_that_can_be() -> None:
    base = copy((16,))
    c = Copy(base.s, (Name("q"),), base.layout, 64, 7, frozenset(), {}, 0)
    found = traffic(c, c.direct(), q=-3)
    assert found == {(x,): (max(x - 3, 0),) for x in range(16)}


def test_a_box_inside_the_array_needs_no_clamp() -> None:
    base = copy((16, 16))
    c = Copy(base.s, (Int(0), Int(84)), base.layout, 64, 7, frozenset(), {}, 0)
    assert "min" not in str(c.direct())
    past = Copy(base.s, (Int(0), Int(85)), base.layout, 64, 7, frozenset(), {}, 0)
    assert "min" in str(past.direct())


@pytest.mark.parametrize(
    ("change", "width"),
    [
        ({}, 4),
        ({"sizes": (16, 18)}, 2),
        ({"sizes": (16, 17)}, 1),
        ({"aligned": 2}, 2),
        ({"stepped": False}, 1),
        ({"widest": 8}, 2),
        ({"widest": 0}, 1),
        ({"sizes": (16,)}, 1),
    ],
)
def test_width(change: dict[str, object], width: int) -> None:
    made = copy(**{"sizes": (16, 16), "widest": 16, **change})  # type: ignore[arg-type]
    assert made.width == width


def test_lanes_follow_rows() -> None:
    """Neighbouring threads copy neighbouring elements."""
    c = copy((16, 16))
    firsts = []
    for tid in range(16):
        moves: Moves = []
        run(c.direct(), {"tid": tid, "r": 0, "c": 0}, moves)
        firsts.append(_place(moves[0][1], moves[0][3]))
    assert firsts == [(0, tid) for tid in range(16)]


def test_rings() -> None:
    c = copy((64,), widest=16)
    body = c.in_flight(Name("slot"))
    moves: Moves = []
    run(body, {"tid": 3, "c": 0, "slot": 2}, moves)
    assert [_place(target, now) for target, _, _, now in moves] == [(2, 3)]
    assert "asynchronous=True" in str(body)
