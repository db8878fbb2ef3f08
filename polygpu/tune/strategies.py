"""In which order the choices of a space are looked at.

A strategy asks for the seconds of choices by their numbers, and is sent them: inf of what was pruned. What it
asks for depends on the space, its chance and these seconds only.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from math import inf, prod
from random import Random
from typing import TypeAlias

from polygpu.search.space import Space

Asking: TypeAlias = Generator[list[int], dict[int, float], None]
Strategy: TypeAlias = Callable[[Space, int, Random], Asking]
"""Of the space, how many choices are looked at, and its chance."""

_BATCH = 1024  # choices that are asked for at once
_STARTS = 16  # random choices, from the best of which a climb starts
_NEAR = 12  # values of a dimension that a climb looks at


def exhaustive(space: Space, count: int, chance: Random) -> Asking:
    """All by their numbers, the first `count` of them."""
    yield from _batches(range(min(count, len(space))))


def _batches(numbers: Sequence[int]) -> Asking:
    for start in range(0, len(numbers), _BATCH):
        yield list(numbers[start : start + _BATCH])


def random(space: Space, count: int, chance: Random) -> Asking:
    """Each as likely as any other; fewer are the first of more."""
    if count >= len(space):
        yield from exhaustive(space, count, chance)
        return
    yield from _batches(list(islice(space.drawn(chance), count)))


def climb(space: Space, count: int, chance: Random) -> Asking:
    """From the best of a few random choices to the best that differs in one dimension, one dimension after
    the other, until none is faster; then from other ones.
    """
    known: dict[int, float] = {}
    count = min(count, len(space))

    def look(numbers: Iterable[int]) -> Asking:
        new = [n for n in dict.fromkeys(numbers) if n not in known][: count - len(known)]
        if new:
            known.update((yield new))

    while len(known) < count:
        starts = [chance.randrange(len(space)) for _ in range(_STARTS)]
        yield from look(starts)
        here, before = min(starts, key=lambda n: (known.get(n, inf), n)), inf
        while known.get(here, inf) < before:
            before = known[here]
            for k in chance.sample(range(len(space.dimensions)), len(space.dimensions)):
                near = list(_near(space, here, k, chance))
                yield from look(near)
                here = min((here, *near), key=lambda n: (known.get(n, inf), n))


def _near(space: Space, number: int, dimension: int, chance: Random) -> Iterator[int]:
    """Choices that differ from one in a dimension: all, or some of many."""
    sizes = [len(values) for values in space.dimensions]
    step, size = prod(sizes[:dimension]), sizes[dimension]
    mine = number // step % size
    for value in chance.sample(range(size), min(size, _NEAR)):
        if value != mine:
            yield number + (value - mine) * step


STRATEGIES: dict[str, Strategy] = {"random": random, "exhaustive": exhaustive, "climb": climb}
