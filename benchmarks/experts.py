"""Points that an expert would try for a nest: those of publications, and a grid of the usual ones.

Threads and points a thread are those of a nest's last two axes, or of its only one, the lanes' last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from polygpu.model.decisions import Value
from polygpu.search.space import DEALS, Choice, Nest

BLOCKED = DEALS[1]
SQUARES = (4, 8, 12, 16)  # Ryoo et al., PPoPP'08: tiles of a product; results a thread and unrolling below
RESULTS = ((1, 1), (1, 2), (1, 4))
TIMES: tuple[Value, ...] = (1, 2, 4, "full")
BUFFERS = ("none", "prefetch")
GROUPS = (
    (2, 256), (4, 128), (8, 64), (16, 32), (32, 16), (2, 128), (4, 64), (8, 32), (16, 16), (2, 64), (4, 32),
    (8, 16),
)  # fmt: skip
"""Jang et al. 2014: work-groups of a product, whose strips are as long as the shorter side."""
LINES = (32, 64, 128, 256, 512)  # Ryoo et al.: MRI-FHD; Jang et al.: vector addition, matrix-vector
LINE_TIMES: tuple[Value, ...] = (1, 2, 4, 8, 16)
SHAPES = (
    ((1, 64), (16, 1)),  # Volkov and Demmel, SC'08: a product whose results are a thread's registers
    ((8, 32), (4, 1)),  # Ruetsch and Micikevicius: a transposition by tiles of 32 x 32
    ((4, 16), (1, 8)),  # Podlozhnyuk: convolution of rows
    ((8, 16), (8, 1)),  # and of columns
    ((16, 16), (1, 1)),  # Micikevicius, GPGPU'09: stencils
    ((16, 32), (1, 1)),
    ((32, 16), (1, 1)),
)
DEEP = (
    ((1, 16, 16), (16, 1, 1)),
    ((1, 16, 32), (16, 1, 1)),
    ((4, 4, 16), (1, 1, 1)),
    ((2, 4, 32), (1, 1, 1)),
)
"""Of three axes: marching along the outermost one (Micikevicius), and boxes."""
WIDTHS = (8, 16, 32)  # of tiles of the usual points
BLOCKS = (*GROUPS, (8, 8), (1, 64), (1, 128), (1, 256), (1, 512), (2, 32))
POINTS = ((1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (4, 1), (4, 4), (8, 1), (16, 1), (1, 16))
LINE_POINTS = (1, 2, 4, 8, 16)


def points_of(nest: Nest) -> tuple[Choice, ...]:
    """All of them for a nest, none twice; a choice that says nothing of loops or copies it has not."""
    made = _lines(nest) if nest.depth == 1 else (*_published(nest), *_usual(nest))
    return tuple(dict.fromkeys(_fitted(choice, nest) for choice in made))


def _fitted(choice: Choice, nest: Nest) -> Choice:
    if not nest.loops:
        return replace(choice, buffer="none", width=0, unroll="auto")
    return choice if choice.staged else replace(choice, buffer="none")


def _choice(
    nest: Nest,
    threads: Sequence[int],
    points: Sequence[int],
    staged: tuple[str, ...],
    width: int = 16,
    buffer: str = "none",
    unroll: Value = "auto",
) -> Choice:
    """With 1 thread and point of axes before the last ones; what a thread has of outer ones is cyclic."""
    front = (1,) * (nest.depth - len(threads))
    shape = (*front, *threads), (*front, *points)
    return Choice(nest.axes, *shape, DEALS[0], width, staged, buffer, 0, unroll)


def _stagings(nest: Nest) -> Iterator[tuple[str, ...]]:
    """Nothing, each array alone, and all of them."""
    yield from dict.fromkeys(((), *((a,) for a in nest.arrays), nest.arrays))


def _published(nest: Nest) -> Iterator[Choice]:
    for side, points, unroll, buffer in product(SQUARES, RESULTS, TIMES, BUFFERS):
        yield _choice(nest, (side, side), points, nest.arrays, side, buffer, unroll)
    for shape, unroll in product(GROUPS, ("auto", "full")):
        yield _choice(nest, shape, (1, 1), nest.arrays, min(shape), unroll=unroll)
    shapes = (*SHAPES, *(DEEP if nest.depth > 2 else ()))
    for (threads, points), staged, buffer in product(shapes, _stagings(nest), BUFFERS):
        made = _choice(nest, threads, points, staged, 16, buffer, "full")
        yield made
        yield replace(made, deal=BLOCKED) if max(points[:-1]) > 1 else made


def _usual(nest: Nest) -> Iterator[Choice]:
    for threads, points, staged in product(BLOCKS, POINTS, dict.fromkeys(((), nest.arrays))):
        yield _choice(nest, threads, points, staged, unroll="full")
    turned = (*nest.axes[:-2], nest.axes[-1], nest.axes[-2])
    squares = ((8, 8), (16, 16), (32, 16), (16, 32))
    for threads, points, staged, width in product(squares, POINTS[:7], _stagings(nest), WIDTHS):
        made = _choice(nest, threads, points, staged, width, unroll="full")
        yield made
        yield replace(made, order=turned)


def _lines(nest: Nest) -> Iterator[Choice]:
    for threads, staged, unroll in product(LINES, _stagings(nest), LINE_TIMES):
        yield _choice(nest, (threads,), (1,), staged, min(threads, 64), unroll=unroll)
    sizes: Iterable[tuple[int, int]] = product((*LINES, 96, 192, 384), LINE_POINTS)
    for (threads, points), staged, width in product(sizes, dict.fromkeys(((), nest.arrays)), WIDTHS):
        for buffer in BUFFERS:
            yield _choice(nest, (threads,), (points,), staged, width, buffer, "full")
