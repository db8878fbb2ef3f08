"""What rules propose for the model to choose among, and why."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.model.decisions import Decision, parse
from polygpu.perf.effort import THOROUGH
from polygpu.pipeline import File
from polygpu.search.choose import Chooser
from polygpu.search.found import Effort
from polygpu.search.price import price
from polygpu.search.proposals import overlapping
from polygpu.search.space import Nest, nests_of
from polygpu.support.diagnostics import Diagnosed
from tests.support_kernels import some_by_default


def realised(kernel: str, device: str) -> tuple[CompiledRegion, Realiser]:
    """The region of a kernel as rules have it."""
    file = File(str(programs.source_of(kernel)), Options(device=device))
    (region,) = (r for r in file.realise((), {}).regions if "kernel" in r.region.name)
    return region, next(made for scop, made in file.realisers.items() if scop.name == region.scop.name)


def nest_at(region: CompiledRegion, line: int) -> Nest:
    return next(nest for nest in nests_of(region) if nest.place.line == line)


def proposed(kernel: str, device: str, line: int) -> list[str]:
    """The decisions that are proposed for a nest, in words."""
    region, realiser = realised(kernel, device)
    found = Chooser(realiser, {}, ()).proposed(region, nest_at(region, line))
    return [" ".join(str(d).partition(": ")[2] for d in choice) for choice in found]


def share(kernel: str, device: str, line: int, sizes: Mapping[str, int], text: str) -> float:
    """What a choice takes of the time that the choice of rules does, both looked at in full."""
    region, realiser = realised(kernel, device)
    nest = nest_at(region, line)
    choice = tuple(Decision(d.key, d.items, nest.place) for d in parse(text))
    both = region, realiser.realise(choice, tested=False)
    rules, other = (price(r, nest.kernel, realiser.device, sizes, THOROUGH).seconds for r in both)
    return other / rules


# a product whose tiles rules stage; lines whose points have loops of different bounds; steps that update a
# matrix; a triangle of which every reference but one goes down a column; products of triangles; boxes of a
# stencil, whose rows in shared memory are no power of two
GAINS = [
    (
        "syr2k", "gtx285", 18, 512, 0.85,
        "stage(A, B) threads(i: 8, j: 32) tile(i: 32, j: 32) deal(i: cyclic, j: cyclic) buffer(prefetch)",
    ),
    (
        "syr2k", "8800gtx", 18, 512, 0.7,
        "stage(A, B) threads(i: 8, j: 32) tile(i: 32, j: 32) deal(i: cyclic, j: cyclic) buffer(prefetch)",
    ),
    ("nussinov", "8800gtx", 17, 256, 0.75, "threads(i: 32) tile(i: 32) deal(i: cyclic) unroll(4)"),
    ("nussinov", "gtx285", 17, 256, 0.8, "threads(i: 32) tile(i: 32, k: 4) deal(i: cyclic) unroll(4)"),
    ("lu", "gtx285", 18, 256, 0.85, "threads(i: 2, j: 128) tile(i: 32, j: 128) deal(i: blocked, j: cyclic)"),
    ("lu", "8800gtx", 18, 512, 0.95, "threads(i: 4, j: 64) tile(i: 64, j: 128) deal(i: blocked, j: cyclic)"),
    (
        "cholesky", "gtx285", 20, 256, 0.8,
        "threads(i: 32, j: 4) tile(i: 128, j: 32) deal(i: cyclic, j: cyclic)",
    ),
    (
        "lu", "gtx285", 18, 512, 0.5,
        "threads(i: 4, j: 128) tile(i: 128, j: 128) deal(i: blocked, j: cyclic)",
    ),
    (
        "symm", "8800gtx", 18, 256, 0.6,
        "threads(i: 1, j: 128) tile(i: 16, j: 128, k: 8) deal(i: cyclic, j: cyclic) unroll(full)",
    ),
    (
        "symm", "gtx285", 18, 512, 0.6,
        "threads(i: 1, j: 128) tile(i: 16, j: 128, k: 8) deal(i: cyclic, j: cyclic) unroll(full)",
    ),
    (
        "symm", "gtx285", 20, 1024, 0.3,
        "threads(k: 8, j: 16) tile(k: 64, j: 64, i: 8) deal(k: blocked, j: cyclic) unroll(4) "
        "buffer(prefetch)",
    ),
    (
        "heat-3d", "8800gtx", 19, 256, 0.3,
        "stage(A) threads(i: 1, j: 2, k: 64) tile(i: 4, j: 4, k: 64) deal(i: cyclic, j: cyclic, k: cyclic)",
    ),
    (
        "heat-3d", "8800gtx", 19, 256, 0.45,
        "stage(A) threads(i: 1, j: 4, k: 16) tile(i: 8, j: 4, k: 16) deal(i: cyclic, j: cyclic, k: cyclic)",
    ),
    (
        "heat-3d", "gtx285", 19, 256, 0.6,
        "stage(A) threads(i: 2, j: 4, k: 32) tile(i: 16, j: 4, k: 32) deal(i: cyclic, j: cyclic, k: cyclic)",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "device", "line", "size", "most", "text"), some_by_default(GAINS, one_in=2)
)
def test_what_is_proposed_gains(
    kernel: str, device: str, line: int, size: int, most: float, text: str
) -> None:
    assert text in proposed(kernel, device, line)
    sizes = dict.fromkeys(programs.parameters_of(kernel), size)
    assert share(kernel, device, line, sizes, text) < most


def test_square_half_warps_are_for_chips_that_fetch_segments_in_any_order() -> None:
    text = GAINS[-1][-1]
    assert not {text} & {*proposed("cholesky", "8800gtx", 20), *proposed("cholesky", "h100", 20)}
    assert not any("threads(i: 32, j: 4)" in choice for choice in proposed("jacobi-2d", "gtx285", 18))


@pytest.mark.parametrize("device", ["8800gtx", "gtx285", "h100"])
@pytest.mark.parametrize("kernel", ["nussinov", "syr2k", "trmm", "jacobi-1d"])
def test_nothing_is_proposed_twice_or_cannot_be(kernel: str, device: str) -> None:
    """But what a nest has no room for, or reads from before it: only making it tells."""
    region, realiser = realised(kernel, device)
    for nest in nests_of(region):
        choices = list(Chooser(realiser, {}, ()).proposed(region, nest))
        assert len({*choices}) == len(choices)
        for choice in choices:
            try:
                realiser.realise(choice, tested=False)
            except Diagnosed as problem:
                assert "constant length" not in problem.diagnostics[0].message


def test_what_neighbours_read_is_shared() -> None:
    stencils = {("A",), ("B",)}
    for kernel, expected in (
        ("jacobi-1d", stencils), ("saxpy", {()}), ("vecadd", {()}), ("jacobi-2d", stencils),
    ):  # fmt: skip
        region, _ = realised(kernel, "gtx285")
        assert {overlapping(region, nest) for nest in nests_of(region)} == expected


def test_stencils_of_one_axis_are_staged_where_nothing_is_cached() -> None:
    region, realiser = realised("jacobi-1d", "gtx285")
    found = Chooser(realiser, {"n": 1 << 22, "steps": 100}, (), effort=Effort(10**9)).chosen(region)
    assert [str(d) for d in found if d.key == "stage"] == ["16: stage(A)", "18: stage(B)"]
    region, realiser = realised("jacobi-1d", "h100")
    assert not Chooser(realiser, {"n": 1 << 22, "steps": 100}, ()).chosen(region)


def test_loops_are_unrolled_by_few_where_they_differ_from_point_to_point() -> None:
    even = " ".join(proposed("gramschmidt", "gtx285", 29))
    uneven = " ".join(proposed("nussinov", "gtx285", 17))
    assert "unroll(full)" in even and "unroll(4)" not in even
    assert "unroll(4)" in uneven and "unroll(full)" not in uneven


def test_loops_of_several_axes_are_staged_as_they_are_where_they_differ_from_point_to_point() -> None:
    """What is not staged would be loaded again in each of their turns, which are not unrolled."""
    assert not any("stage(A)" in choice and "tile" in choice for choice in proposed("symm", "gtx285", 18))
    assert any("stage(A)" in choice and "tile" in choice for choice in proposed("mm", "gtx285", 18))


def test_boxes_are_for_three_axes_along_which_threads_share_what_they_read() -> None:
    box = "threads(i: 1, j: 4, k: 16)"
    assert any(box in choice for choice in proposed("heat-3d", "8800gtx", 19))
    assert not any(box in choice for choice in proposed("heat-3d", "h100", 19))
    assert not any(box in choice for choice in proposed("doitgen", "8800gtx", 24))
