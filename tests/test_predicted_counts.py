"""What the emulator counts is predicted exactly: each benchmark kernel's whole profile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.perf.predict import Predicted, Work, predict
from polygpu.pipeline import compile_file
from polygpu.report.explain import explain
from polygpu.report.predicted import predict_all
from tests.emulated import compiled, program
from tests.support_kernels import in_turns, some_by_default

KERNELS = programs.kernel_names()
DEVICES = ("8800gtx", "gtx285", "h100")
EXTENTS = (37, 21, 29, 35, 19)  # no tile divides them
LARGER = (131, 70, 45, 67, 83)
LARGE = (91, 70, 45, 67, 83)  # for loops nested deeply
EQUAL = tuple((n,) * 5 for n in (0, 1, 33, 64, 100))


def sizes_of(kernel: str, extents: programs.Sizes) -> programs.Sizes:
    names = programs.parameters_of(kernel)
    return extents[: programs.extents_of(kernel)] + (2,) * (len(names) - programs.extents_of(kernel))


def counted(
    kernel: str, device: str, sizes: programs.Sizes, *variant: tuple[str, ...]
) -> list[dict[str, Any]]:
    """The records of the kernel's regions in the profile that the program writes."""
    made = program(kernel, device, *variant)
    document = made.with_suffix(".json")
    programs.run(made, sizes, POLYGPU_PROFILE=str(document))
    regions = json.loads(document.read_text())["regions"]
    return [r for r in regions if r["name"].startswith("polygpu_kernel_")]


def predicted(kernel: str, device: str, sizes: programs.Sizes, *variant: tuple[str, ...]) -> list[Predicted]:
    compilation = compiled(kernel, device, *variant)
    names = dict(zip(programs.parameters_of(kernel), sizes, strict=True))
    if "more" in names:  # rows than columns
        names["n"] = names["m"] + names["more"]
    return [predict(r.region, compilation.device, names) for r in compilation.regions]


def assert_same(kernel: str, device: str, extents: programs.Sizes, *variant: tuple[str, ...]) -> None:
    sizes = sizes_of(kernel, extents)
    predictions = predicted(kernel, device, sizes, *variant)
    found = [p for p in predictions if p.record["name"].startswith("polygpu_kernel_")]
    assert not any(p.inexact or p.sampled for p in found)
    assert [p.record for p in found] == counted(kernel, device, sizes, *variant)


# the larger extents of every fifth kernel, of the others by hand
@pytest.mark.parametrize(
    ("kernel", "extents"),
    [(kernel, EXTENTS) for kernel in KERNELS] + some_by_default([(k, LARGE) for k in KERNELS], one_in=5),
)
def test_profiles_are_predicted(kernel: str, extents: programs.Sizes) -> None:
    assert_same(kernel, "8800gtx", extents)


OTHERS = ("mm", "mv", "lu", "heat-3d", "floyd-warshall", "trisolv", "adi")


@pytest.mark.parametrize(("kernel", "device"), in_turns(OTHERS, DEVICES[1:]))
def test_profiles_are_predicted_by_other_rules(kernel: str, device: str) -> None:
    assert_same(kernel, device, EXTENTS)


# Staging, tiles that threads share out in each way, copies ahead of their use, unrolling, padding.
DECIDED = [
    ("mm", "8800gtx", "tile(i: 7, j: 9) stage()"),
    ("mm", "8800gtx", "tile(i: 16, j: 16) unroll(none) stage(A)"),
    ("mm", "8800gtx", "tile(i: 16, j: 16, k: 12) unroll(5) loads(1)"),
    ("mm", "gtx285", "tile(i: 32, j: 32, k: 8) threads(i: 16, j: 16) deal(cyclic)"),
    ("mm", "gtx285", "tile(i: 32, j: 32, k: 8) threads(i: 8, j: 16) deal(blocked) buffer(prefetch)"),
    ("mm", "h100", "tile(i: 32, j: 64) threads(i: 8, j: 8) deal(blocked) buffer(ring: 4)"),
    ("mm", "h100", "tile(i: 64, j: 64, k: 32) threads(i: 8, j: 8) deal(grouped)"),
    ("mm", "h100", "tile(i: 32, j: 64) threads(i: 4, j: 16) deal(grouped) buffer(ring: 3) walk(columns)"),
    ("mm", "8800gtx", "tile(i: 16, j: 32) threads(i: 4, j: 16) deal(cyclic) walk(snake)"),
    ("syrk", "h100", "tile(i: 16, j: 32, k: 4) threads(i: 4, j: 4) deal(grouped) walk(columns)"),
    ("gemm", "h100", "tile(i: 32, j: 64, k: 8) threads(i: 4, j: 8) deal(grouped) buffer(double)"),
    ("gemm", "8800gtx", "scale(A)"),
    ("syr2k", "h100", "tile(i: 16, j: 16, k: 4) threads(i: 4, j: 8) buffer(double) wide(0)"),
    ("mv", "8800gtx", "tile(i: 64, j: 64) threads(i: 64) stage(y) unroll(3)"),
    ("mv", "gtx285", "tile(i: 128) threads(i: 128) stage(A, y) loads(2) unroll(none) pad(0)"),
    ("tmv", "h100", "tile(i: 128) threads(i: 32) deal(blocked)"),
    ("transpose", "8800gtx", "pad(0)"),
    ("jacobi-2d", "gtx285", "tile(i: 8, j: 32) threads(i: 4, j: 32) deal(cyclic)"),
    ("jacobi-1d", "h100", "steps(t: 3) tile(i: 60) threads(i: 4)"),
    ("jacobi-2d", "h100", "steps(t: 2) tile(i: 16, j: 24) threads(i: 4, j: 8)"),
    ("jacobi-2d", "h100", "steps(t: 2) tile(i: 16, j: 24) threads(i: 4, j: 8) hold()"),
    ("fdtd-2d", "h100", "steps(t: 2) tile(i: 16, j: 24) threads(i: 4, j: 24)"),
    ("trmm", "8800gtx", "unroll(3) loads(2)"),
    ("syrk", "h100", "tile(i: 16, j: 16, k: 4) buffer(ring)"),
    ("adi", "h100", "tile(i: 8) threads(i: 8) attend(64)"),
    ("deriche", "h100", "tile(i: 16, j: 16) threads(i: 16, j: 16) attend(128)"),
    ("ludcmp", "h100", "attend(32)"),
    ("ludcmp", "8800gtx", "attend(j: 32)"),
    (
        "trmm",
        "h100",
        "tile(i: 32, j: 64, k: 8) threads(i: 8, j: 16) deal(grouped) stage(A, B) buffer(prefetch)",
    ),
    ("symm", "gtx285", "tile(i: 32, j: 32) threads(i: 8, j: 16) deal(cyclic) stage(A)"),
]


@pytest.mark.parametrize(("kernel", "device", "choice"), DECIDED)
def test_profiles_of_other_kernels_are_predicted(kernel: str, device: str, choice: str) -> None:
    assert_same(kernel, device, LARGER, (choice,))


@pytest.mark.parametrize(
    ("device", "sizes"), [("8800gtx", (70, 3072)), ("8800gtx", (2900, 40)), ("gtx285", (48, 4100))]
)
@pytest.mark.parametrize("choice", ["tile(i: 16) threads(i: 16)", "tile(i: 16) threads(i: 16) stage()"])
def test_profiles_of_rows_far_apart_are_predicted(device: str, sizes: programs.Sizes, choice: str) -> None:
    """Requests of a warp, coalesced or not, lie in several rows and partitions of the memory."""
    assert_same("transpose", device, sizes, (choice,))
    records = (
        kernel for region in counted("transpose", device, sizes, (choice,)) for kernel in region["kernels"]
    )
    assert any(r["counters"]["hops"] > 0 and r["partitions"]["bytes"] > 0 for r in records)


@pytest.mark.parametrize(
    ("kernel", "device", "real"),
    [
        ("mm", "h100", "double"),
        ("mm", "h100", "char"),
        ("mv", "gtx285", "double"),
        ("mv", "8800gtx", "short"),
        ("conv2d", "gtx285", "char"),
        ("transpose", "8800gtx", "char"),
    ],
)
def test_profiles_of_other_types_are_predicted(kernel: str, device: str, real: str) -> None:
    assert_same(kernel, device, LARGER, (), (f"REAL={real}",))


@pytest.mark.slow
@pytest.mark.parametrize("extents", [EXTENTS, LARGER, *EQUAL])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_all_profiles_are_predicted(kernel: str, device: str, extents: programs.Sizes) -> None:
    assert_same(kernel, device, extents)


@pytest.mark.parametrize(
    ("kernel", "extents"), [("trmm", (150, 140)), ("lu", (90,)), ("mm", (200, 200, 900))]
)
def test_more_iterations_than_fit_are_sampled(
    kernel: str, extents: programs.Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then what is predicted is close, and said to be sampled."""
    (exact,) = predicted(kernel, "8800gtx", extents)
    monkeypatch.setattr("polygpu.perf.predict.values.LARGEST", 1 << 14)
    (few,) = predicted(kernel, "8800gtx", extents)
    assert not exact.sampled
    for all_of_it, close in zip(exact.record["kernels"], few.record["kernels"], strict=True):
        if close["name"] not in few.sampled:
            assert close == all_of_it
        for name in ("slots", "bytes", "requests"):
            assert close["counters"][name] == pytest.approx(all_of_it["counters"][name], rel=0.03)


def test_too_much_to_look_at_is_sampled() -> None:
    made = compiled("trmm", "8800gtx", ("version()",))
    region, device = made.regions[0].region, made.device
    sizes = dict.fromkeys(programs.parameters_of("trmm"), 400)
    exact, few = predict(region, device, sizes), predict(region, device, sizes, work=Work(0))
    assert not exact.sampled and exact.most is None
    assert few.sampled and few.most
    for name in ("slots", "bytes", "requests"):
        counted_all, close = (p.record["kernels"][0]["counters"][name] for p in (exact, few))
        assert close == pytest.approx(counted_all, rel=0.03)


def test_iterations_may_be_few_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more are looked at where more would not be too much; launches together, or each by itself."""
    made = compiled("gramschmidt", "8800gtx")
    region, device = made.regions[0].region, made.device
    sizes = dict.fromkeys(programs.parameters_of("gramschmidt"), 40)
    found = [predict(region, device, sizes, work=Work(None, most=most)) for most in (None, 4, 1)]
    assert [p.most for p in found] == [None, 4, 1]
    assert [bool(p.sampled) for p in found] == [False, True, True]
    monkeypatch.setattr("polygpu.perf.predict.region._EFFORTS", ((1, 1),))
    assert predict(region, device, sizes).record == found[-1].record


@pytest.mark.parametrize(
    ("kernel", "decisions"),
    [
        ("conv2d", ("tile(i: 256, j: 16)", "threads(i: 16, j: 16)", "deal(i: cyclic)", "stage()")),
        ("conv2d", ("tile(i: 4, j: 512)", "threads(i: 4, j: 16)", "deal(j: cyclic)", "stage()")),
        (
            "transpose",
            ("order(j, i)", "tile(j: 256, i: 32)", "threads(j: 8, i: 32)", "deal(j: blocked)", "stage()"),
        ),
        ("tmv", ("tile(i: 1024, j: 8)", "threads(i: 64)", "deal(i: cyclic)", "stage()")),
    ],
)
def test_tiles_longer_than_loops_are_sampled_where_threads_work(
    kernel: str, decisions: tuple[str, ...]
) -> None:
    made = compiled(kernel, "8800gtx", decisions)
    region, device = made.regions[0].region, made.device
    sizes = dict.fromkeys(programs.parameters_of(kernel), 61)
    exact, few = (predict(region, device, sizes, work=Work(None, most=most)) for most in (None, 1))
    assert few.sampled and not exact.sampled
    for name in ("slots", "bytes", "requests"):
        counted_all, close = (p.record["kernels"][0]["counters"][name] for p in (exact, few))
        assert counted_all / 1.5 < close < counted_all * 1.5


def test_many_launches_under_a_test_are_sampled() -> None:
    """The loop over the launches of seidel-2d is in a test of its sizes."""
    made = compiled("seidel-2d", "8800gtx")
    regions = [r.region for r in made.regions]
    assert predict_all(regions, made.device, explain(made), {}).host_iterations == 16


DATA = """
void pick(int n, int a[restrict n], float x[restrict n], float y[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        if (a[i] > 0)
            y[i] = x[i];
#pragma endscop
}
"""


def test_what_data_decide_is_said_not_to_be_exact(tmp_path: Path) -> None:
    source = tmp_path / "pick.c"
    source.write_text(DATA)
    compilation = compile_file(str(source), Options(target="emulator"))
    region = compilation.regions[0].region
    found = predict(region, compilation.device, {"n": 100})
    assert found.inexact == tuple(k.name for k in region.kernels)
    assert found.record["kernels"][0]["blocks_total"] > 0
