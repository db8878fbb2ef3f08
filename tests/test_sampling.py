"""Launches of which few blocks run count what full launches count, to 0.1 %."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import programs
from polygpu import pipeline
from polygpu.compilation import Options
from tests import emulated
from tests.support_kernels import some_by_default

LARGE = [
    ("mm", (500, 700, 300)),
    ("syrk", (700,)),
    ("transpose", (1500, 1100)),
    ("jacobi-2d", (1200, 2)),
    ("covariance", (500,)),
    ("symm", (400, 300)),
    ("lu", (250,)),
    ("tmv", (12000, 500)),
    ("trmm", (300, 500)),
    ("cholesky", (250,)),
    ("correlation", (300, 300)),
    ("gramschmidt", (200, 150)),
    ("floyd-warshall", (80,)),
]
LARGER = [
    ("mm", (1024, 1024, 1024)),
    ("lu", (1024,)),
    ("trmm", (700, 700)),
    ("syrk", (1024, 700)),
    ("floyd-warshall", (300,)),
    ("cholesky", (700,)),
    ("gramschmidt", (500, 400)),
    ("ludcmp", (300,)),
]
LONG = ("mm", "syrk")  # run for so long that they are optimised
FEW = {"mm": 0.1, "syrk": 0.2, "transpose": 0.05, "jacobi-2d": 0.1, "tmv": 0.3}


def kernels(program: Path, sizes: tuple[int, ...], sample: str = "") -> list[dict[str, Any]]:
    profile = program.with_suffix(".json")
    programs.call((program, *map(str, sizes)), 600, POLYGPU_PROFILE=str(profile), POLYGPU_SAMPLE=sample)
    document = json.loads(profile.read_text())
    found: list[dict[str, Any]] = [kernel for region in document["regions"] for kernel in region["kernels"]]
    return found


def flat(counters: dict[str, Any]) -> dict[str, int]:
    found: dict[str, int] = dict(counters["instructions"])
    return found | {k: v for k, v in counters.items() if k != "instructions"}


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "sizes"), LARGER, ids=[kernel for kernel, _ in LARGER])
@pytest.mark.parametrize("device", ["8800gtx", "gtx285", "h100"])
def test_counters_of_larger_launches(kernel: str, sizes: tuple[int, ...], device: str) -> None:
    assert_close(kernel, sizes, device)


@pytest.mark.slow
def test_a_product_of_4096_is_timed_in_two_seconds() -> None:
    """From the command's start to its end, in seconds of processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    arguments = ("run", "--target", "emulator", "--model-only", programs.source_of("mm"))
    done = programs.call((sys.executable, "-m", "polygpu", *arguments, "--", "4096"), 60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout == ""
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2


@pytest.mark.parametrize(
    ("kernel", "sizes"), some_by_default(LARGE, one_in=2), ids=[kernel for kernel, _ in LARGE]
)
def test_counters_of_sampled_launches(kernel: str, sizes: tuple[int, ...]) -> None:
    assert_close(kernel, sizes, "8800gtx", level="-O1" if kernel in LONG else "-O0")


@pytest.mark.parametrize(
    ("kernel", "choice", "sizes"),
    [
        ("conv2d", ("constant(filter) texture(image) stage()",), (700, 500)),
        ("mm", ("texture(A, B) stage()",), (300, 250, 280)),
        ("trmm", ("texture(A)",), (300, 500)),
    ],
)
@pytest.mark.parametrize("device", ["8800gtx", "h100"])
def test_counters_of_cached_reads(
    kernel: str, choice: tuple[str, ...], sizes: tuple[int, ...], device: str
) -> None:
    assert_close(kernel, sizes, device, choice, "-O0")


def assert_close(
    kernel: str, sizes: tuple[int, ...], device: str, choice: tuple[str, ...] = (), level: str = "-O1"
) -> None:
    program = emulated.program(kernel, device, choice, level=level)
    full, few = kernels(program, sizes), kernels(program, sizes, sample="1")
    for whole, sampled in zip(full, few, strict=True):
        assert sampled["launches"] == whole["launches"]
        assert sampled["blocks_total"] == whole["blocks_total"] == whole["blocks_run"]
        assert sampled["partitions"] == whole["partitions"]
        assert sampled["textures"] == whole["textures"]
        assert flat(sampled["counters"]) == pytest.approx(flat(whole["counters"]), rel=1e-3, abs=2)
        for a, b in zip(whole["stages"], sampled["stages"], strict=True):
            assert b["executions"] == pytest.approx(a["executions"], rel=1e-3, abs=2)
            assert b["counters"]["slots"] == pytest.approx(a["counters"]["slots"], rel=1e-3, abs=2)
    if kernel in FEW and device == "8800gtx" and not choice:
        ran = sum(k["blocks_run"] for k in few) / sum(k["blocks_total"] for k in few)
        assert ran < FEW[kernel]


HISTOGRAM = """
#include <stdlib.h>
#include <stdio.h>
void f(int n, int *restrict k, float a[restrict n], float b[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        b[i] = a[k[i]];
#pragma endscop
}
int main(void)
{
    static int k[40000];
    static float a[40000], b[40000];
    for (int i = 0; i < 40000; i++)
        k[i] = i * 7919 % 40000;
    f(40000, k, a, b);
    return 0;
}
"""


def test_all_blocks_run_where_addresses_depend_on_data(tmp_path: Path) -> None:
    source = tmp_path / "gather.c"
    source.write_text(HISTOGRAM)
    made = pipeline.compile_file(str(source), Options(target="emulator", device="8800gtx"))
    for suffix, text in made.files.items():
        (tmp_path / f"gather{suffix}").write_text(text)
    program = tmp_path / "gather"
    programs.call(("gcc", *emulated.FLAGS, *tmp_path.glob("gather_*.c"), "-o", program, "-lm"))
    (full,), (sampled,) = kernels(program, ()), kernels(program, (), sample="1")
    assert sampled == full
    assert full["blocks_run"] == full["blocks_total"] > 100
