"""Loads and stores of tiles (ICS'08, section 4.6), against the paper's product and against enumeration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.mapping.program import Grid
from polygpu.mapping.traffic import Images, Traffic, evaluated, symbol, traffic
from polygpu.pipeline import compile_file
from tests.unit.middle import mapped

Element = tuple[object, ...]  # an array's name, and subscripts
Iteration = dict[str, int]


def grid(kernel: str) -> Grid:
    return compile_file(str(programs.source_of(kernel)), Options(target="emulator")).regions[0].grids[0]


def test_the_product_of_the_paper() -> None:
    """Tiles of 16 x 16: N^3 / 16 loads of A and of B, N^2 stores; ours adds to C, so it is loaded too."""
    found = traffic(grid("mm"))
    n = sympy.Symbol("N", positive=True)
    sizes = {symbol(s): n for s in "nmp"} | {symbol(f"T_{s}"): 16 for s in "ij"}

    def total(counts: object) -> sympy.Expr:
        return found.total(counts).subs(sizes)  # type: ignore[arg-type]

    assert {a: total(c) for a, c in found.loads.items()} == {"A": n**3 / 16, "B": n**3 / 16, "C": n**2}
    assert {a: total(c) for a, c in found.stores.items()} == {"C": n**2}


@dataclass(frozen=True)
class Program:
    """A kernel in Python: its loops at some sizes, outermost first, and the elements of an iteration."""

    sizes: dict[str, int]
    loops: dict[str, range]
    reads: Callable[..., Iterable[Element]]
    writes: Callable[..., Iterable[Element]]

    def touched(self, touching: Callable[..., Iterable[Element]], inside: dict[str, range]) -> set[Element]:
        """What iterations touch, in which some loops are `inside` ranges."""
        ranges = [inside.get(name, all_) for name, all_ in self.loops.items()]
        points = (dict(zip(self.loops, values, strict=True)) for values in product(*ranges))
        return {element for point in points for element in touching(**point)}


def five(array: str) -> Callable[..., Iterable[Element]]:
    return lambda i, j: [(array, i + a, j + b) for a, b in [(0, 0), (0, -1), (0, 1), (1, 0), (-1, 0)]]


PROGRAMS = {
    "mm": Program(
        {"n": 8, "m": 12, "p": 5},
        {"i": range(8), "j": range(12), "k": range(5)},
        lambda i, j, k: [("C", i, j), ("A", i, k), ("B", k, j)],
        lambda i, j, k: [("C", i, j)],
    ),
    "mv": Program(
        {"n": 12, "m": 7},
        {"i": range(12), "j": range(7)},
        lambda i, j: [("x", i), ("A", i, j), ("y", j)],
        lambda i, j: [("x", i)],
    ),
    "jacobi-2d": Program(
        {"n": 14, "steps": 1},
        {"i": range(1, 13), "j": range(1, 13)},
        five("A"),
        lambda i, j: [("B", i, j)],
    ),
    "conv2d": Program(
        {"n": 8, "m": 12},
        {"i": range(8), "j": range(12), "r": range(3), "s": range(3)},
        lambda i, j, r, s: [("result", i, j), ("filter", r, s), ("image", i + r, j + s)],
        lambda i, j, r, s: [("result", i, j)],
    ),
    "transpose": Program(
        {"n": 8, "m": 12},
        {"i": range(8), "j": range(12)},
        lambda i, j: [("A", i, j)],
        lambda i, j: [("B", j, i)],
    ),
}


def tiles(program: Program, size: dict[str, int]) -> Iterator[dict[str, range]]:
    starts = [program.loops[name][:: size[name]] for name in size]
    for corner in product(*starts):
        yield {name: range(first, first + size[name]) for name, first in zip(size, corner, strict=True)}


@pytest.mark.parametrize("size", [(4, 4), (2, 6), (4, 1), (1, 3)])
@pytest.mark.parametrize("kernel", PROGRAMS)
def test_tiles_of_real_programs_are_counted_exactly(kernel: str, size: tuple[int, int]) -> None:
    program, found = PROGRAMS[kernel], traffic(grid(kernel))
    tile = dict(zip(sorted(a.name for a in found.axes), size, strict=False))
    values = {**program.sizes, **{f"T_{name}": n for name, n in tile.items()}}
    every = list(tiles(program, tile))
    for touching, counts in ((program.reads, found.loads), (program.writes, found.stores)):
        touched = [program.touched(touching, one) for one in every]
        assert {element[0] for element in touched[0]} == counts.keys()
        for array, count in counts.items():
            expected = [sum(element[0] == array for element in one) for one in touched]
            assert count is not None
            assert count.exact
            assert {count.at(values)} == set(expected)
            assert found.total_at(count, values) == sum(expected)
            if min(size) > 1:  # images that are no smaller than the distance between references
                assert evaluated(count.symbolic(), values) == expected[0]
                assert evaluated(found.total(count), values) == sum(expected)


ARRAYS = "int n, float A[restrict 9 * n][9 * n], float y[restrict n][n]"
REFERENCES = [
    (["A[i][j]", "A[i][j + 3]"], True),
    (["A[i][j]", "A[i + 2][j + 3]", "A[i + 1][j]"], True),
    (["A[2 * i][j]", "A[2 * i + 1][j]"], True),  # they never meet
    (["A[2 * i][j]", "A[2 * i + 4][j]"], True),
    (["A[n - 1 - i][j]", "A[n - 3 - i][j]"], True),
    (["A[i][j]", "A[i + n][j]"], False),  # n apart: together as many only if n is no less than the tile
    (["A[i + j][0]"], True),
    (["A[i + j][3]", "A[i + j + 2][3]"], True),
    (["A[i][i]"], True),
    (["A[i + j][i]"], True),
    (["A[i][j]", "A[j][i]"], False),
    (["A[2 * i + 3 * j][0]"], False),
    (["A[7][n]"], True),
]  # fmt: skip
N = 10


def bounded(texts: list[str]) -> Traffic:
    body = f"for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i][j] = {' * '.join(texts)};"
    return traffic(mapped(ARRAYS, body))


@pytest.mark.parametrize(("texts", "exact"), REFERENCES)
def test_unions_of_images(texts: list[str], exact: bool) -> None:
    """Exact where it says so, and never less than what enumeration finds."""
    count = bounded(texts).loads["A"]
    assert count is not None
    assert count.exact == exact
    subscripts = [text[2:-1].split("][") for text in texts]
    more: list[int] = []
    for wide, high in product((1, 2, 4, 5), repeat=2):
        points = product(range(4, 4 + high), range(3, 3 + wide))
        names: list[Iteration] = [{"i": i, "j": j, "n": N} for i, j in points]
        elements = {tuple(eval(k, {}, point) for k in each) for each in subscripts for point in names}
        more.append(count.at({"n": N, "T_i": high, "T_j": wide}) - len(elements))
    assert min(more) >= 0
    assert max(more) == 0 or not exact


def test_a_triangle_bounds_its_loops_by_a_box() -> None:
    square = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"
    body = f"{square} for (int k = 0; k < i; k++) y[i][j] += A[i][k];"
    found = traffic(mapped(ARRAYS, body))
    count = found.loads["A"]
    assert count is not None
    assert (count.exact, str(count.symbolic())) == (False, "T_i*n - T_i")
    assert found.box
    triangle = "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) y[i][j] = A[i][j];"
    assert not traffic(mapped(ARRAYS, triangle)).box


def test_diagonals_are_no_boxes() -> None:
    """Both begin at A[0][0]; of the second, every element of even number is one of the first."""
    body = (
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) y[i][j] += {};"
    )
    count = traffic(mapped(ARRAYS, body.format("A[k][k] * A[2 * k][2 * k]"))).loads["A"]
    assert count is not None
    assert (count.exact, str(count.symbolic())) == (False, "2*n")
    once = traffic(mapped(ARRAYS, body.format("A[k][k] * A[k][k]"))).loads["A"]
    assert once is not None
    assert (once.exact, str(once.symbolic())) == (True, "n")


def test_where_data_decide_each_iteration_may_touch_another_element() -> None:
    parameters = "int n, float A[restrict n], int t[restrict n], float y[restrict n][n]"
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i][j] = A[t[i]];"
    count = traffic(mapped(parameters, body)).loads["A"]
    assert count is not None
    assert (count.exact, str(count.symbolic())) == (False, "T_i*T_j")


def test_tiles_larger_than_what_there_is_are_not_full() -> None:
    found = traffic(grid("mm"))
    (count,) = (c for a, c in found.loads.items() if a == "A")
    values = found.chosen({"n": 3, "m": 100, "p": 7})
    assert count is not None
    assert count.at(values) == 3 * 7


@given(
    st.integers(1, 3).flatmap(
        lambda d: st.tuples(
            st.tuples(*[st.integers(0, 5)] * d),
            st.lists(st.tuples(*[st.integers(-4, 4)] * d), min_size=1, max_size=5),
        )
    )
)
def test_unions_of_boxes(drawn: tuple[tuple[int, ...], list[tuple[int, ...]]]) -> None:
    sizes, corners = drawn
    boxes = (product(*(range(a, a + n) for a, n in zip(c, sizes, strict=True))) for c in corners)
    images = Images.of(tuple(map(sympy.Integer, sizes)), corners)
    assert images.at({}) == len({point for box in boxes for point in box})
