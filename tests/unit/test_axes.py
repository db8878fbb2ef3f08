"""Which parallel loops are axes of a grid, and how many threads there are along short ones."""

from __future__ import annotations

from itertools import product
from math import prod
from pathlib import Path

import pytest

from benchmarks import programs
from polygpu import devices, pipeline
from polygpu.compilation import Options
from polygpu.compiler import compile_certified
from polygpu.mapping.check import check_grid
from polygpu.mapping.products import Sizes
from polygpu.mapping.program import Grid, Meet, Tiles, walk
from polygpu.mapping.rules import fitted
from polygpu.mapping.transformations import Deal
from polygpu.model.decisions import parse
from polygpu.support.diagnostics import Diagnosed
from tests.support_kernels import require_opencl, some_by_default
from tests.unit.middle import mapped

REALCODE = Path(__file__).parents[1] / "realcode"
LAYERS = "float A[restrict n][m][p][q], float B[restrict n][m][p][q]"
FOUR = "".join(f"for (int {i} = 0; {i} < {n}; {i}++) " for i, n in zip("ijkl", "nmpq", strict=True))
COPY = "A[i][j][k][l] = B[i][j][k][l];"


def made(body: str, decisions: str = "", parameters: str = LAYERS, device: str = "h100") -> Grid:
    return mapped(f"int n, int m, int p, int q, {parameters}", body, device, decisions)


def names(grid: Grid) -> tuple[str, list[str]]:
    """Loops of blocks, and axes."""
    inside = "".join(b.name for b in walk(grid.block) if isinstance(b, Tiles) and b.width == 1)
    return inside, [a.name for a in grid.axes]


@pytest.mark.parametrize(
    ("body", "decisions", "expected"),
    [
        (FOUR + COPY, "", ("i", ["j", "k", "l"])),
        (FOUR + "A[i][j][k][l] = B[l][k][j][i];", "", ("i", ["j", "k", "l"])),  # stored along l
        (FOUR + "B[l][k][j][i] = A[l][k][j][i];", "", ("j", ["k", "l", "i"])),
        (FOUR + COPY, "order(i, k, l)", ("j", ["i", "k", "l"])),
        (FOUR + COPY, "threads(i: 2)", ("j", ["i", "k", "l"])),
        (FOUR + COPY, "sequential(k)", ("", ["i", "j", "l"])),
        (FOUR.replace("< m", "< 3") + COPY, "", ("i", ["j", "k", "l"])),  # enough points are left
        (
            FOUR.replace("< p", "< 3").replace("< m", "< 5").replace("< q", "< 100") + COPY,
            "",
            ("k", [*"ijl"]),
        ),
    ],
)
def test_one_of_four_parallel_loops_is_of_blocks(
    body: str, decisions: str, expected: tuple[str, list[str]]
) -> None:
    assert names(made(body, decisions)) == expected


def test_blocks_meet_where_they_use_tiles_again() -> None:
    body = (
        FOUR.replace("= 0; l < q", "= 1; l < q - 1")
        + "A[i][j][k][l] = B[i][j][k][l - 1] + B[i][j][k][l + 1];"
    )
    assert any(isinstance(b, Meet) for b in walk(made(body, "stage(B)").block))
    assert not any(isinstance(b, Meet) for b in walk(made(body, "stage()").block))


def test_what_one_of_four_loops_computes_stays_in_registers() -> None:
    """A layer of a network is one kernel, whose sums are no array."""
    options = Options(device="h100", certify="off", offload="always")
    found = pipeline.compile_file(str(REALCODE / "convolution_layer.c"), options)
    (layer,) = (r for r in found.regions if r.scop.function == "convolve")
    (kernel,) = layer.region.kernels
    assert sorted(a.name for a in kernel.arrays) == ["bias", "in", "out", "weight"]


LEVELS, PROGRAMS, DEVICES = (0, 1, 2), ("convolution_layer", "colours_of_an_image"), ("8800gtx", "h100")


@pytest.mark.parametrize(
    ("level", "program", "device"),
    some_by_default(list(product(LEVELS, PROGRAMS, DEVICES)), one_in=3),
)
def test_layers_and_colours_are_the_originals(level: int, program: str, device: str, tmp_path: Path) -> None:
    """To the bit, and nothing is refuted."""
    source = REALCODE / f"{program}.c"
    options = Options(target="emulator", device=device, level=level, offload="always")
    found = compile_certified(str(source), options)
    assert not [f for c in found.certificates for f in c.failures]
    for suffix, text in found.files.items():
        (tmp_path / f"{program}{suffix}").write_text(text)
    flags = ("-O1", "-ffp-contract=off", "-w")
    programs.call(("gcc", *flags, source, "-o", tmp_path / "original", "-lm"))
    files = sorted(tmp_path.glob(f"{program}_*.c"))
    programs.call(("gcc", *flags, "-fopenmp", *files, "-o", tmp_path / "made", "-lm"))
    assert programs.call((tmp_path / "made",)).stdout == programs.call((tmp_path / "original",)).stdout


@pytest.mark.parametrize("program", ["convolution_layer", "colours_of_an_image"])
def test_decisions_of_layers_and_colours_replay(program: str) -> None:
    path, options = str(REALCODE / f"{program}.c"), Options(device="h100", certify="off", offload="always")
    once = pipeline.compile_file(path, options)
    taken = tuple(t.decision for r in once.regions for each in r.taken for t in each)
    assert pipeline.File(path, options).realise(taken, {}).files == once.files


def test_sizes_of_short_axes() -> None:
    device = devices.load("h100")

    def found(sizes: Sizes, *extents: int | None) -> Sizes:
        return fitted(sizes, extents, device)

    wide: Sizes = [(4, 1, 1), (64, 1, 1)]
    assert found(wide, None, None) == wide
    assert found(wide, None, 64) == wide
    assert found(wide, None, 3) == [(64, 1, 1), (3, 1, 1)]
    assert found(wide, 2, 3) == [(2, 1, 1), (3, 1, 1)]
    assert found(wide, 20, 3) == [(16, 1, 1), (3, 1, 1)]
    assert found([(1, 1, 1), (8, 1, 1), (32, 1, 1)], None, 3, 3) == [(16, 1, 1), (3, 1, 1), (3, 1, 1)]
    assert found([(16, 4, 4), (16, 8, 4)], None, 40) == [(16, 4, 4), (16, 3, 3)]
    assert found([(256, 1, 1)], 100) == [(256, 1, 1)]  # of one axis, warps that are not needed end at once


def test_points_of_short_axes_are_whole_groups() -> None:
    """All shapes that rules have, and all extents: each point is a thread's."""
    device = devices.load("h100")
    shapes = [(t, p, g) for t in (4, 8, 16, 32) for p in (1, 2, 4, 8, 16) for g in (1, 2, 4) if p % g == 0]
    for shape, extent in product(shapes, range(1, 520)):
        threads, points, group = fitted([(1, 1, 1), shape], [None, extent], device)[1]
        assert points % group == 0, (shape, extent)
        assert threads * points >= min(extent, shape[0] * shape[1]), (shape, extent)
        assert points <= shape[1] and group <= shape[2]


@pytest.mark.parametrize(
    ("ctype", "device"),
    some_by_default(list(product(("float", "double"), ("h100", "generic", "8800gtx"))), one_in=2),
)
def test_products_of_few_points_are_well_formed(ctype: str, device: str) -> None:
    for rows, columns in [(n, 34 - n) for n in range(1, 34, 2)] + [(n, n) for n in range(18, 140, 15)]:
        arrays = f"{ctype} A[{rows}][20], {ctype} B[20][{columns}], {ctype} C[{rows}][{columns}]"
        loops = f"for (int i = 0; i < {rows}; i++) for (int j = 0; j < {columns}; j++) "
        inner = "for (int k = 0; k < 20; k++) C[i][j] += A[i][k] * B[k][j];"
        assert not [*check_grid(made(loops + inner, "", arrays, device))], (rows, columns)


def test_groups_that_do_not_divide_points_are_refused() -> None:
    grid = made(FOUR + COPY, "")
    shapes = tuple((8, 3, 2) if k == len(grid.axes) - 1 else (1, 1, 1) for k in range(len(grid.axes)))
    refusal = Deal(shapes).refuse(grid, devices.load("h100"))
    assert refusal is not None
    assert "3 points of a thread cannot be dealt 2 at once" in refusal.why


def test_lanes_are_of_all_colours() -> None:
    parameters = "float A[restrict n][m][3], float B[restrict n][m][3]"
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int c = 0; c < 3; c++) "
    grid = made(loops + "A[i][j][c] = B[i][j][c] * 2;", "", parameters)
    assert [(a.name, a.threads) for a in grid.axes] == [("i", 1), ("j", 64), ("c", 3)]
    assert prod(grid.shape) == 192


def test_short_rows_lie_behind_each_other() -> None:
    """There is no room between the pixels of an image, and some behind its longer rows."""
    found = pipeline.compile_file(
        str(REALCODE / "colours_of_an_image.c"), Options(device="h100", certify="off", offload="always")
    )
    buffers = {b.extents[-1]: b.pitch for r in found.regions for b in r.region.buffers if b.pitch is not None}
    assert any(str(extent) == str(pitch) for extent, pitch in buffers.items())
    assert any(str(extent) != str(pitch) for extent, pitch in buffers.items())


def test_the_order_of_axes_is_that_of_decisions() -> None:
    for order in (("i", "j", "k"), ("l", "k", "i"), ("j", "i", "l")):
        grid = made(FOUR + COPY, str(parse(f"order({', '.join(order)})")[0]))
        assert tuple(a.name for a in grid.axes) == order


def test_a_fourth_axis_is_refused() -> None:
    with pytest.raises(Diagnosed, match="a grid has 3 axes, and 4 loops are named"):
        made(FOUR + COPY, "order(i, j, k, l)")


def test_pocl_has_layers_too(tmp_path: Path) -> None:
    require_opencl()
    source = REALCODE / "convolution_layer.c"
    made_ = pipeline.compile_file(str(source), Options(target="opencl", certify="off", offload="always"))
    for suffix, text in made_.files.items():
        (tmp_path / f"layers{suffix}").write_text(text)
    flags = ("-O1", "-ffp-contract=off", "-w")
    programs.call(("gcc", *flags, source, "-o", tmp_path / "original", "-lm"))
    files = sorted(tmp_path.glob("layers_*.c"))
    programs.call(("gcc", *flags, *files, "-o", tmp_path / "made", "-lOpenCL", "-lm"))
    assert programs.call((tmp_path / "made",)).stdout == programs.call((tmp_path / "original",)).stdout
