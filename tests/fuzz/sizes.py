"""The sizes at which programs are tried: small ones, and those at the bounds of tiles and around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from random import Random

from tests.fuzz.program import PARAMETERS, If, Loop, Node, Program
from tests.fuzz.ranges import at, extents
from tests.fuzz.wrapping import within_bounds

ELEMENTS = 2_000_000  # of an array, at most
SIZES = {
    1: ((0, 0), (1, 2), (7, 5), (37, 33)),
    2: ((0, 0), (1, 0), (2, 3), (7, 5)),
    3: ((0, 0), (1, 2), (7, 5)),
    4: ((0, 0), (1, 2), (5, 3)),
}
LARGEST = {  # at the bounds of tiles and around
    1: ((130, 257), (256, 255), (127, 129), (64, 300), (513, 31)),
    2: ((37, 33), (32, 32), (31, 33), (33, 16), (15, 65), (64, 17), (47, 48)),
    3: ((18, 21), (16, 16), (17, 15), (15, 33), (32, 9)),
    4: ((9, 7), (8, 8), (7, 9), (16, 3)),
}
TILES = {
    1: (16, 32, 64, 96, 128, 256, 512),
    2: (16, 32, 32, 48, 64, 96, 128),
    3: (8, 16, 16, 32),
    4: (4, 8, 8),
}
SMALL = (1, 2, 3, 5, 7)
MOST = {1: 513, 2: 129, 3: 33, 4: 16}  # of a parameter
ASSUMED = ((7, 5), (16, 16), (32, 16), (33, 32), (48, 31), (64, 32), (96, 96), (128, 64))


def constant_size(random: Random, level: int) -> int:
    """A size for loops nested `level` deep or arrays of as many dimensions: often a multiple of tiles."""
    kind = random.random()
    if kind < 0.25:
        return random.choice(SMALL)
    return random.choice(TILES[level]) + (0 if kind < 0.7 else random.choice((-1, 1)))


def chosen_sizes(random: Random, depth: int, level: int, constants: set[str]) -> tuple[tuple[int, int], ...]:
    """For a program with loops `depth` deep; all have the same values for `constants`."""
    sizes = (*SIZES[depth], random.choice(LARGEST[depth]))
    values = {name: constant_size(random, level) for name in PARAMETERS if name in constants}
    fixed = ((values.get("n", n), values.get("m", m)) for n, m in sizes)
    return tuple(dict.fromkeys(fixed))


def in_memory(p: Program) -> Program:
    """Without sizes at which an array is large: the emulator has some 50 bytes of notes for each element."""
    needed = extents(p).values()

    def fits(n: int, m: int) -> bool:
        return all(prod(at(e, n, m) for e in sizes) <= ELEMENTS for sizes in needed)

    sizes = p.sizes
    while not any(fits(*size) for size in sizes) and any(map(any, sizes)):
        sizes = tuple((n // 2, m // 2) for n, m in sizes)
    return replace(p, sizes=tuple(size for size in sizes if fits(*size)))


def tried_at(p: Program, values: Mapping[str, int]) -> Program:
    """`p` with one more size, of these `values`, where its parameters have any and are no long work at it."""
    values = {name: value for name, value in values.items() if name in p.unknown}
    if not values or max(values.values()) > MOST[min(4, max(nesting(region) for region in p.regions))]:
        return p
    n, m = p.sizes[-1]
    size = (values.get("n", n), values.get("m", m))
    more = in_memory(replace(p, sizes=tuple(dict.fromkeys((*p.sizes, size)))))
    return within_bounds(more) if has_unsigned(p) or _counts_narrow(p) else more


def has_unsigned(p: Program) -> bool:
    """Whether a parameter or an iterator is unsigned."""
    return any("unsigned" in ctype for ctype in (p.parameter, *_counted_by(p)))


def _counts_narrow(p: Program) -> bool:
    """Whether an iterator is of a type that may be too small for a size."""
    return any("char" in ctype or "short" in ctype for ctype in _counted_by(p))


def _counted_by(p: Program) -> Iterator[str]:
    """The types of iterators."""
    todo = [node for region in p.regions for node in region]
    while todo:
        match todo.pop():
            case Loop(type=ctype, body=body):
                yield ctype
                todo += body
            case If(_, then, otherwise):
                todo += (*then, *otherwise)


def nesting(nodes: tuple[Node, ...]) -> int:
    """How deep the loops are."""
    deepest = 0
    for node in nodes:
        match node:
            case Loop(body=body):
                deepest = max(deepest, 1 + nesting(body))
            case If(_, then, otherwise):
                deepest = max(deepest, nesting((*then, *otherwise)))
    return deepest
