"""Traffic of tiles of every benchmark kernel, against isl's enumeration of what a tile's iterations touch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import product

import islpy as isl
import pytest

from benchmarks import programs
from polygpu.analysis.polyhedra import array_tuple
from polygpu.compilation import Options
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.program import Grid
from polygpu.mapping.traffic import Count, tile_size, traffic
from polygpu.pipeline import compile_file
from polygpu.support.isl_idioms import D

KERNELS = tuple(sorted(path.stem for path in programs.KERNELS.glob("*.c")))
DIFFICULT = ("deriche", "durbin", "floyd-warshall", "heat-3d", "lu", "nussinov", "seidel-2d", "symm")
SIZE, TILE = 17, 3


def grids(kernel: str) -> Iterator[Grid]:
    for region in compile_file(str(programs.source_of(kernel)), Options(target="emulator")).regions:
        yield from region.grids


def fixed(values: dict[str, int], item: isl.Set) -> isl.Set:
    for name, value in values.items():
        position = item.find_dim_by_name(D.param, name)
        item = item.fix_val(D.param, position, isl.Val(value)) if position >= 0 else item
    return item


def launches(m: Grid) -> Iterator[dict[str, int]]:
    """Values of the parameters in the first, a middle and the last iteration of the host loops."""
    sizes = dict.fromkeys(m.p.parameters, SIZE)
    names = [f.name for f in m.outer]
    parts = [fixed(sizes, m.domain(s)).params() for s in m.statements]
    points: set[tuple[int, ...]] = set()
    for part in parts:
        places = [part.find_dim_by_name(D.param, name) for name in names]
        points |= set(_points(part, places)) if names else {()}
    ordered = sorted(points)
    for point in dict.fromkeys((ordered[0], ordered[len(ordered) // 2], ordered[-1])):
        yield {**sizes, **dict(zip(names, point, strict=True))}


def _points(part: isl.Set, places: list[int]) -> list[tuple[int, ...]]:
    found: list[isl.Point] = []
    part.foreach_point(found.append)
    return [tuple(point.get_coordinate_val(D.param, k).to_python() for k in places) for point in found]


def tiles(m: Grid, values: dict[str, int]) -> Iterator[dict[str, int]]:
    """The first values of tiles all over what runs."""
    starts: list[list[int]] = []
    for a in m.axes:
        rows = [fixed(values, m.domain(s)).apply(isl.Map.from_pw_aff(a.member.rows[s])) for s in m.statements]
        lines = [row for row in rows if not row.is_empty()]
        low = min(row.dim_min_val(0).to_python() for row in lines)
        high = max(row.dim_max_val(0).to_python() for row in lines)
        last = max(low, high - TILE + 1)
        starts.append(sorted({low, (low + last) // 2, last}))
    for corner in product(*starts):
        yield dict(zip((a.origin for a in m.axes), corner, strict=True))


def is_full(m: Grid, values: dict[str, int]) -> bool:
    """Whether all statements run at all points of the tile."""
    inside = tuple(Fixed(a.member, a.origin, TILE) for a in m.axes)
    for s in m.statements:
        points = isl.Map.from_domain(fixed(values, m.domain(s, inside)))
        for a in m.axes:
            points = points.flat_range_product(isl.Map.from_pw_aff(a.member.rows[s]))
        dealt = fixed(values, points.range())
        if dealt.project_out(D.param, 0, dealt.dim(D.param)).count_val().to_python() < TILE ** len(m.axes):
            return False
    return True


def touched(m: Grid, array: str, write: bool, values: dict[str, int]) -> int:
    found: list[isl.Set] = []
    inside = tuple(Fixed(a.member, a.origin, TILE) for a in m.axes)
    for s in m.statements:
        domain = fixed(values, m.domain(s, inside))
        for a in m.p.statement(s).accesses:
            if a.write == write and array_tuple(a.reference) == array:
                image = domain.apply(a.relation)
                found.append(fixed(values, image).project_out(D.param, 0, image.dim(D.param)))
    union = reduce(isl.Set.union, found)
    return int(union.count_val().to_python()) if union.is_bounded() else 0


def check(m: Grid) -> int:
    """No tile moves more than is said, and a full one as much where that is exact. How many were full."""
    found, full = traffic(m), 0
    for values in launches(m):
        symbols = {**values, **{str(tile_size(a)): TILE for a in m.axes}}
        for tile in tiles(m, values):
            whole = is_full(m, values | tile)
            full += whole
            for write, counts in ((False, found.loads), (True, found.stores)):
                for array, count in counts.items():
                    if count is not None and known(count, symbols):
                        moved, most = touched(m, array, write, values | tile), count.at(symbols)
                        assert moved == most if whole and count.exact else moved <= most, (m.name, array)
    return full


def known(count: Count, symbols: dict[str, int]) -> bool:
    names = {str(s) for image in count.images for size in image.sizes for s in size.free_symbols}
    return names <= symbols.keys()


@pytest.mark.parametrize("kernel", DIFFICULT)
def test_difficult_kernels(kernel: str) -> None:
    assert sum(map(check, grids(kernel))) > 0


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_all_kernels(kernel: str) -> None:
    assert sum(map(check, grids(kernel))) > 0
