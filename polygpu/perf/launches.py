"""A typical launch of a kernel, out of the region's host program: what predictions are made for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import lcm
from typing import TypeAlias

from polygpu.model.expr import Binary, Int, Name
from polygpu.model.kernel import HostFor, HostIf, HostStatement, Launch, Region
from polygpu.model.rewrite import scalars_in, walk
from polygpu.perf.functions import Uniform
from polygpu.perf.lanes import uniform
from polygpu.support.dataclass import dataclass

SIZE = 4096  # the value of every size while predicting: large, and a multiple of all tiles
_PERIOD = 24  # iterations looked at one after the other
SEGMENT = 32  # elements: rows are pitched to multiples of it

Block: TypeAlias = tuple[int, int, int]
Sizes: TypeAlias = Mapping[str, int]
Step: TypeAlias = Callable[[], object]


@dataclass(frozen=True)
class TypicalLaunch:
    """Values of a kernel's integer arguments, and the extents of its grid."""

    values: Sizes
    grid: Block

    def blocks(self) -> Iterator[Block]:
        """Blocks in the inside of the grid, off its diagonal first: a nest may fill a triangle only."""
        x, y, z = self.grid
        yield x // 4, 3 * y // 4, z // 2
        yield 3 * x // 4, y // 4, z // 2
        yield x // 2, y // 2, z // 2


@dataclass(frozen=True)
class Calls:
    """`times` calls of a region with the same values of its integer scalars."""

    times: int
    sizes: Sizes


@dataclass(frozen=True)
class Made:
    """A launch of a kernel with these arguments, None where data decide, and so many blocks."""

    kernel: str
    arguments: tuple[int | None, ...]
    grid: Block


def typical_launch(region: Region, kernel: str, sizes: Sizes | None = None) -> TypicalLaunch | None:
    """The launch in the middle of the host loops around it; None when none has blocks.

    `sizes` are values of the region's integer scalars, `SIZE` for those that are not given.
    """
    arguments = next(k.scalars for k in region.kernels if k.name == kernel)
    for launch, values, _ in launches(region.body, host_values(region, sizes or {}), most=1):
        grid = [uniform(extent, values) or 0 for extent in launch.grid]
        if launch.kernel == kernel and min(grid) > 0:
            known = ((a.name, uniform(e, values)) for a, e in zip(arguments, launch.scalars, strict=True))
            return TypicalLaunch({n: v for n, v in known if v is not None}, (grid[0], grid[1], grid[2]))
    return None


def host_values(region: Region, sizes: Sizes) -> dict[str, int]:
    """Values of the region's integer scalars, and of the pitches that follow from them."""
    values = {s.name: SIZE for s in region.integers} | dict(sizes)
    for b in region.buffers:
        if isinstance(b.pitch, Name):
            length = uniform(b.extents[-1], values)
            values[b.pitch.name] = SIZE if length is None else -(-length // SEGMENT) * SEGMENT
    return values


def launches(
    body: tuple[HostStatement, ...], values: Sizes, most: int | None = None, step: Step = lambda: None
) -> Iterator[tuple[Launch, Sizes, int]]:
    """Launches in order, with the values of the host's variables and how many each stands for.

    `step` is called for each iteration of a host loop that is looked at, whether it launches anything or not.
    """
    return _launches(body, values, most, step, Uniform())


def _launches(
    body: tuple[HostStatement, ...], values: Sizes, most: int | None, step: Step, value: Uniform
) -> Iterator[tuple[Launch, Sizes, int]]:
    for s in body:
        match s:
            case Launch():
                yield s, values, 1
            case HostIf(test, inner):
                if value(test, values) != 0:
                    yield from _launches(inner, values, most, step, value)
            case HostFor(index, lower, upper, stride, inner):
                first, end = value(lower, values), value(upper, values)
                together = period(inner) if most else 1
                for i, times in _spread(range(first or 0, end or 0, stride), most, together):
                    step()
                    for launch, at, inside in _launches(inner, {**values, index: i}, most, step, value):
                        yield launch, at, times * inside


def evaluated(
    body: tuple[HostStatement, ...], values: Sizes, most: int | None = None, step: Step = lambda: None
) -> Iterator[tuple[Made, int]]:
    """Launches in order, as what they are at their values, and how many each stands for, as `launches`."""
    known: dict[tuple[int, ...], Made] = {}
    value = Uniform()
    names: dict[int, list[str]] = {}  # that a launch of `body` is made of, by identity
    for launch, at, times in launches(body, values, most, step):
        if id(launch) not in names:
            names[id(launch)] = [n for n in scalars_in(*launch.grid, *launch.scalars) if n in at]
        key = id(launch), *(at[name] for name in names[id(launch)])
        if key not in known:
            x, y, z = (max(0, value(e, at) or 0) for e in launch.grid)
            known[key] = Made(launch.kernel, tuple(value(e, at) for e in launch.scalars), (x, y, z))
        yield known[key], times


def fewest(a: int | None, b: int | None) -> int | None:
    """The smaller of two numbers of iterations, None: all."""
    return b if a is None else a if b is None else min(a, b)


def period(body: tuple[HostStatement, ...]) -> int:
    """After how many iterations of a loop around `body` tests of remainders are the same again.

    `if ((c0 + 3) % 3 >= 1) ... else for (p...) ...` is one launch, another one, and then many.
    """
    tests = (s.test for s in _host_statements(body) if isinstance(s, HostIf))
    moduli = {
        e.right.value
        for test in tests
        for e in walk(test)
        if isinstance(e, Binary) and e.op == "%" and isinstance(e.right, Int)
    }
    found = lcm(*moduli)
    return found if found <= _PERIOD else 1


def _host_statements(body: tuple[HostStatement, ...]) -> Iterator[HostStatement]:
    for s in body:
        yield s
        if isinstance(s, HostIf | HostFor):
            yield from _host_statements(s.body)


def _spread(iterations: range, most: int | None, together: int = 1) -> Iterator[tuple[int, int]]:
    """Iterations in the middle of `most` equal parts, so many `together`, and how many each stands for."""
    parts = len(iterations) if most is None else min(most, -(-len(iterations) // together))
    for k in range(parts):
        part = iterations[k * len(iterations) // parts : (k + 1) * len(iterations) // parts]
        few = min(together, len(part))
        for i in range(few):
            yield part[len(part) // 2 - few // 2 + i], len(part[i::few])
