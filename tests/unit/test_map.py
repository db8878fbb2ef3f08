"""Which dimension the lanes follow, the classes of nests, and the tile sizes that come of them."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import prod

import islpy as isl
import pytest

from polygpu import devices
from polygpu.mapping.map import map_nest
from polygpu.mapping.program import Grid
from polygpu.mapping.rules import NestClass, buffering, classify, tile_sizes
from polygpu.mapping.wanted import wanted
from polygpu.schedule.nests import nests
from polygpu.schedule.tree import Leaf, Member, Nest
from polygpu.support.diagnostics import Diagnosed
from tests.unit.middle import MATRICES, VECTORS, mapped, scheduled

TWO = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) "
LATER = TWO.replace("i = 0", "i = 1")
CUBE = "int n, int m, float A[restrict n][m], float B[restrict m][m], float C[restrict n][m]"
PRODUCT = TWO + "for (int k = 0; k < m; k++) C[i][j] += A[i][k] * B[k][j];"


def lanes(m: Grid) -> str:
    return m.axes[-1].name


def nest_class(parameters: str, body: str, device: str = "8800gtx") -> NestClass:
    return classify(mapped(parameters, body, device))


@pytest.mark.parametrize(
    ("body", "lane"),
    [
        (TWO + "A[i][j] = B[i][j];", "j"),
        (TWO + "C[j][i] = C[j][i] + 1;", "i"),
        (TWO + "C[j][i] = A[i][j];", "i"),  # a strided write costs more than a strided read
        (TWO + "A[i][j] = C[j][i];", "j"),
        ("for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) A[i][j] = B[i][j];", "j"),
        (TWO + "A[i][j] = 1;", "j"),
    ],
)
def test_lanes_follow_neighbours(body: str, lane: str) -> None:
    assert lanes(mapped(MATRICES, body)) == lane


@pytest.mark.parametrize(
    ("body", "walked"),
    [
        ("x[n - 1 - i] = y[n - 1 - i];", "-i"),
        ("x[i] = y[i];", "i"),
        ("x[i] = y[n - 1 - i];", "i"),  # as many forwards as backwards: as the schedule has it
    ],
)
def test_lanes_walk_forwards(body: str, walked: str) -> None:
    p, _ = scheduled(VECTORS, f"for (int i = 0; i < n; i++) {body}")
    along = Member({"S0": isl.PwAff("[n] -> { S0[i] -> [(i)] }")})
    nest = Nest((along,), Leaf(("S0",)))
    m = map_nest(p, nest, (), devices.load("8800gtx"), wanted(p, nest, (), care=0))
    assert m.axes[0].member.text() == f"S0: {walked}"


def test_names_of_axes_differ_from_everything_else() -> None:
    m = mapped("int n, float i_tile[restrict n]", "for (int i = 0; i < n; i++) i_tile[i] = 0;")
    assert [a.name for a in m.axes] == ["i2"]


@pytest.mark.parametrize(
    ("parameters", "body", "true"),
    [
        (MATRICES, TWO + "A[i][j] = B[i][j];", {"rectangular"}),
        (CUBE, PRODUCT, {"product", "loops", "rectangular"}),
        (CUBE, PRODUCT.replace("k < m", "k < i"), {"product", "loops"}),
        (MATRICES, TWO + "C[j][i] = A[i][j];", {"transposing", "rectangular"}),
        (MATRICES, LATER + "A[i][j] = B[i][j] + B[i - 1][j];", {"stencil", "rectangular"}),
    ],
)  # fmt: skip
def test_classes(parameters: str, body: str, true: set[str]) -> None:
    found = nest_class(parameters, body)
    assert {name for name, value in asdict(found).items() if value} == true


@pytest.mark.parametrize("device", ["8800gtx", "gtx285", "h100"])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("bits", range(32))
def test_blocks_fit_every_device(device: str, count: int, bits: int) -> None:
    kind = NestClass(*(bool(bits >> k & 1) for k in range(5)))
    chip = devices.load(device)
    sizes, step = tile_sizes(count, kind, chip)
    threads = 1
    for t, points, group in sizes:
        threads *= t
        assert points % group == 0
    assert len(sizes) == count
    assert threads <= chip.max_threads_per_block
    assert threads % chip.warp == 0
    assert sizes[-1][0] % 16 == 0  # whole half-warps along the lanes
    assert step % 16 == 0


@pytest.mark.parametrize(
    ("device", "one", "two", "doubles"),
    [("8800gtx", 64, 48, 48), ("gtx285", 64, 48, 48), ("generic", 64, 32, 32), ("h100", 64, 64, 32)],
)
def test_a_multiprocessor_has_room_for_two_blocks(device: str, one: int, two: int, doubles: int) -> None:
    """Or at least a block for tiles of all that it reads by columns."""
    loops, add = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)", "s[i] += A[i][j];"
    sums = f"{loops} {{ {add} {add.replace('s', 't').replace('A', 'B')} }}"
    parameters = f"{MATRICES}, float s[restrict n], float t[restrict n]"
    many = {"n": 1 << 20}
    grids = [
        mapped(parameters, f"{loops} {add}", device, typical=many),
        mapped(parameters, sums, device, typical=many),
    ]
    grids.append(mapped(parameters.replace("float", "double"), sums, device, typical=many))
    assert [g.shape[0] for g in grids] == [one, two, doubles]
    assert {box.array for box, _ in grids[-1].boxes} == {"A", "B"}


@pytest.mark.parametrize(
    ("device", "typical", "threads"),
    [
        ("h100", {}, 16),  # 4096
        ("h100", {"n": 8384}, 32),
        ("h100", {"n": 8385}, 64),
        ("h100", {"n": 1000}, 8),
        ("h100", {"n": 1000, "m": 1 << 20}, 8),
        ("8800gtx", {}, 64),
    ],
)
def test_blocks_are_narrow_where_there_are_few_at_typical_sizes(
    device: str, typical: dict[str, int], threads: int
) -> None:
    """The H100 has 132 multiprocessors, which are to have a block each."""
    sums = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) s[i] += A[i][j];"
    grid = mapped(f"{MATRICES}, float s[restrict n]", sums, device, typical=typical)
    assert [a.threads for a in grid.axes if not a.copies] == [threads]
    assert sum(a.copies for a in grid.axes) == (threads < 64)


def test_buffering() -> None:
    old, new = devices.load("8800gtx"), devices.load("h100")
    product = NestClass(True, False, False, True, True)
    stream = NestClass(False, False, False, True, True)
    assert buffering(product, 2, old) == "none"
    assert buffering(product, 2, new) == "prefetch"
    assert buffering(stream, 1, new) == "ring"
    assert buffering(stream, 2, new) == "none"
    assert buffering(NestClass(False, False, False, False, True), 1, new) == "none"


DOWN = "for (int i = 0; i < n; i++) for (int j = m - 1; j > 0; j--) C[i][j - 1] = C[i][j] + A[i][j];"


def test_a_loop_that_runs_down_has_a_ring_too() -> None:
    """Its tiles begin below 0."""
    up = mapped(CUBE, DOWN.replace("m - 1; j > 0; j--", "0; j < m; j++").replace("j - 1", "j + 1"), "h100")
    assert {tiles.buffering for tiles in up.loops} == {"ring"}
    assert {tiles.buffering for tiles in mapped(CUBE, DOWN, "h100").loops} == {"ring"}


def test_a_ring_needs_asynchronous_copies() -> None:
    with pytest.raises(Diagnosed, match="copies that are not waited for"):
        mapped(CUBE, PRODUCT, "h100", "buffer(ring) wide(0)")


def test_products_on_a_current_device_are_register_tiled() -> None:
    m = mapped(CUBE, PRODUCT, "h100")
    (tiles,) = m.loops
    assert [(a.name, a.threads, a.per_thread, a.group) for a in m.axes] == [("i", 8, 8, 4), ("j", 16, 8, 4)]
    assert (m.shape, tiles.width, tiles.buffering, m.registers) == ((16, 8, 1), 8, "prefetch", 128)
    assert [a.tile for a in m.axes] == [64, 128]


@pytest.mark.parametrize(
    ("size", "body", "tile", "buffering"),
    [
        (4096, PRODUCT, [128, 256], "ring"),
        (2000, PRODUCT, [128, 256], "ring"),
        (4097, PRODUCT, [64, 128], "prefetch"),  # a fifth wave, nearly empty
        (1000, PRODUCT, [64, 128], "prefetch"),  # blocks for a third of the chip
        (4096, PRODUCT.replace("j < m", "j <= i"), [128, 128], "prefetch"),
        (1000, PRODUCT.replace("j < m", "j <= i"), [64, 64], "prefetch"),
        (500, PRODUCT, [32, 64], "prefetch"),  # blocks for most of it
    ],
)
def test_products_of_known_sizes_fill_the_chip(size: int, body: str, tile: list[int], buffering: str) -> None:
    known = {"[n]": f"[{size}]", "[m]": f"[{size}]", "restrict n": f"restrict {size}"}
    known |= {f"< {name};": f"< {size};" for name in "nm"}
    parameters = CUBE.removeprefix("int n, int m, ")
    for name, value in known.items():
        parameters, body = parameters.replace(name, value), body.replace(name, value)
    grid = mapped(parameters, body, "h100")
    (tiles,) = grid.loops
    assert ([a.tile for a in grid.axes], tiles.buffering) == (tile, buffering)


def test_accumulators_of_eight_bytes_have_smaller_tiles() -> None:
    grid = mapped(CUBE.replace("float", "double"), PRODUCT, "h100")
    assert ([a.tile for a in grid.axes], grid.registers) == ([64, 128], 0)


def test_one_thread() -> None:
    m = mapped(VECTORS, "for (int i = 1; i < n; i++) x[i] = x[i - 1];")
    assert m.axes == ()
    assert m.shape == (1, 1, 1)


def test_blocks_fit_a_device_smaller_than_the_rules_know() -> None:
    p, found = scheduled(CUBE, PRODUCT)
    (nest,) = nests(found.host)
    chip = replace(devices.load("8800gtx"), max_threads_per_block=64)
    assert prod(map_nest(p, nest, (), chip, wanted(p, nest, (), care=0)).shape) == 64
