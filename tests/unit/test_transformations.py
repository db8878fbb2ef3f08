"""Transformations of small nests: before and after, what is refused and why, and what their spaces hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from polygpu import devices
from polygpu.lower.buffers import Layout, layouts
from polygpu.lower.kernels import lower
from polygpu.mapping.map import plain
from polygpu.mapping.owned import promote
from polygpu.mapping.place import stage
from polygpu.mapping.program import Copied, Grid, Held, Run, Tiles, walk
from polygpu.mapping.transformations import Access, Deal, Hold, Order, Stage, Strip, Transformation
from polygpu.mapping.wanted import wanted
from polygpu.model.device import Device
from polygpu.schedule.driver import schedule
from polygpu.schedule.nests import nests
from polygpu.schedule.tree import Nest
from tests.unit.middle import expanded

TWO = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) "
CUBE = "int n, int m, float A[restrict n][m], float B[restrict m][m], float C[restrict n][m]"
PRODUCT = TWO + "for (int k = 0; k < m; k++) C[i][j] += A[i][k] * B[k][j];"
OLD, NEW = devices.load("8800gtx"), devices.load("h100")


@cache
def prepared() -> tuple[Grid, dict[str, Layout]]:
    """A product of matrices as the schedule has it, and the layouts of its arrays."""
    p, d, _ = expanded(CUBE, PRODUCT)
    return plain(p, nests(schedule(p, d).host)[0], ()), layouts(p, d)


def product() -> Grid:
    return prepared()[0]


def axes(grid: Grid) -> list[str]:
    return [a.member.text().removeprefix("S0: ") for a in grid.axes]


def staged(grid: Grid, device: Device) -> Stage:
    """What rules stage of it."""
    nest = Nest(tuple(a.member for a in grid.axes), grid.node)
    return stage(grid, device, wanted(grid.p, nest, (), care=0))


def refusal(t: Transformation, grid: Grid, device: Device) -> tuple[str, str]:
    found = t.refuse(grid, device)
    assert found is not None
    return found.number, found.why


def test_order() -> None:
    grid = product()
    assert axes(grid) == ["i", "j"]
    turned = Order((1, 0), frozenset({1})).apply(grid)
    assert axes(turned) == ["-j", "i"]
    assert turned.node == grid.node


def test_an_order_names_each_axis_once() -> None:
    for order in ((0,), (0, 0), (0, 1, 2), (1, 2)):
        said = refusal(Order(order), product(), NEW)
        assert said == ("PG304", "the nest has 2 parallel loops, each to be named once")


def test_deal() -> None:
    grid = Deal(((8, 8, 4), (16, 8, 8))).apply(product())
    assert [(a.threads, a.per_thread, a.group, a.tile) for a in grid.axes] == [(8, 8, 4, 64), (16, 8, 8, 128)]
    assert grid.shape == (16, 8, 1)


def test_blocks_are_as_large_as_the_device_has_them() -> None:
    many, high = Deal(((32, 1, 1), (32, 1, 1))), Deal(((512, 1, 1), (1, 1, 1)))
    assert many.refuse(product(), NEW) is None
    assert refusal(many, product(), OLD) == ("PG304", f"a block of 1024 threads; {OLD.title} allows 512")
    narrow = replace(OLD, max_block=(512, 256, 64))
    limits = f"a block of 1 x 512 x 1 threads; {OLD.title} allows 512 x 256 x 64"
    assert refusal(high, product(), narrow) == ("PG304", limits)


def test_access() -> None:
    grid = Access(16, 2, 4, 8).apply(product())
    assert (grid.widest, grid.loads, grid.unroll, grid.reuse) == (16, 2, 4, 8)
    assert refusal(Access(32, 0, None, 0), product(), NEW) == (
        "PG304",
        f"accesses of 32 bytes; {NEW.title} has 16",
    )


def test_strip() -> None:
    grid = Strip((16,), "ring", 4).apply(product())
    (tiles,) = grid.loops
    assert (tiles.name, tiles.width, tiles.buffering, tiles.stages) == ("k_tile", 16, "ring", 4)
    assert isinstance(tiles.block, Run)
    assert Strip((0,), "none").apply(product()).loops == ()


def test_loads_are_of_copies_that_are_waited_for() -> None:
    grid = Access(0, 2, None, 0).apply(product())
    assert Strip((16,), "none").refuse(grid, NEW) is None
    said = "'loads' is about copies that are waited for, not about buffer(prefetch)"
    assert refusal(Strip((16,), "prefetch"), grid, NEW) == ("PG304", said)


def test_hold() -> None:
    grid = product()
    held = promote(grid)
    assert [h.array for h in Hold(held).apply(grid).held] == ["C"]
    assert Hold(()).apply(grid) == grid
    assert Hold(held).refuse(grid, OLD) is None


def tiled(grid: Grid) -> Grid:
    """16 x 16 points, and 16 iterations of the sequential loop."""
    return Strip((16,), "none").apply(Deal(((16, 1, 1), (16, 1, 1))).apply(grid))


def test_stage() -> None:
    grid = tiled(product())
    after = staged(grid, OLD).apply(grid)
    (tiles,) = after.loops
    assert isinstance(tiles.block, Copied)
    found = {box.name: (box.extents, at) for box, at in after.boxes}
    assert found == {"A_s": ((16, 16), tiles), "B_s": ((16, 16), tiles)}


def test_loops_in_which_nothing_is_copied_are_whole_again() -> None:
    grid = tiled(product())
    assert Stage(()).apply(grid).loops == ()
    assert Stage((), keep=frozenset({0})).apply(grid) == grid


def test_boxes_fit_into_shared_memory() -> None:
    """Two tiles of 1 KiB, and in a ring three of each."""
    grid = tiled(product())
    boxes = staged(grid, OLD)
    small = replace(OLD, shared_per_block=2047, shared_reserved=0, arguments_in_shared=False)
    array = boxes.boxes[1].box.array
    why = f"the tile of '{array}' takes 1024 bytes of shared memory; {OLD.title} has 1023 left"
    assert boxes.refuse(grid, OLD) is None
    assert boxes.refuse(grid, replace(small, shared_per_block=2048)) is None
    assert refusal(boxes, grid, small) == ("PG305", why)
    ring = Strip((16,), "ring").apply(Deal(((16, 1, 1), (16, 1, 1))).apply(product()))
    assert "takes 3072 bytes" in refusal(boxes, ring, small)[1]


def outcome(device: Device, *steps: Transformation) -> str:
    """The number of the refusal, or "lowers" where a kernel comes of the steps and of what rules stage."""
    grid, sizes = prepared()
    for t in steps:
        found = t.refuse(grid, device)
        if found is not None:
            return found.number
        grid = t.apply(grid)
    last = staged(grid, device)
    found = last.refuse(grid, device)
    if found is not None:
        return found.number
    grid = Hold(promote(grid)).apply(last.apply(grid))
    kernel, _ = lower(grid, sizes)
    assert kernel.body
    return "lowers"


def around(device: Device, t: Transformation) -> tuple[Transformation, ...]:
    """The steps of a mapping, `t` among them, in their order."""
    usual: tuple[Transformation, ...] = (
        Order((0, 1)),
        Deal(((8, 2, 1), (16, 2, 2))),
        Access(0, 0, None, 32),
        Strip((16,), "none"),
    )
    return tuple(t if type(t) is type(other) else other for other in usual)


def members(device: Device) -> Iterator[Transformation]:
    for kind in (Order, Deal, Access, Strip):
        yield from kind.space(product(), device)


def outcomes(device: Device, chosen: Iterable[Transformation]) -> Counter[str]:
    return Counter(outcome(device, *around(device, t)) for t in chosen)


@pytest.mark.parametrize("device", [OLD, NEW], ids=lambda device: device.name)
def test_members_of_the_spaces_are_refused_or_lower(device: Device) -> None:
    """All of the small spaces, and a few of the thousands of deals."""
    every = list(members(device))
    assert len(set(every)) == len(every) > 1000
    deals = [t for t in every if isinstance(t, Deal)]
    others = [t for t in every if not isinstance(t, Deal)]
    found = outcomes(device, [*others, *Random(7).sample(deals, 20)])
    assert found["lowers"] > 20
    assert found.keys() <= {"lowers", "PG304", "PG305"}


@pytest.mark.slow
@pytest.mark.parametrize("device", [OLD, NEW], ids=lambda device: device.name)
def test_every_member_of_the_spaces_is_refused_or_lowers(device: Device) -> None:
    assert outcomes(device, members(device)).keys() <= {"lowers", "PG304", "PG305"}


def test_blocks_of_all_kinds_are_made() -> None:
    grid = tiled(product())
    whole = Hold(promote(grid)).apply(staged(grid, OLD).apply(grid))
    assert [type(b) for b in walk(whole.block)] == [Held, Tiles, Copied, Run]
