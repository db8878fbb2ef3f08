"""A region prepared once and realised often has the kernels, and the counts, of one realised alone."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.decisions import parse
from polygpu.perf.launches import Calls
from polygpu.perf.predict import Work, predict_calls
from polygpu.pipeline import File

CHOICES = {
    "mm": ("stage()", "tile(i: 32, j: 32, k: 8) threads(i: 8, j: 8)", "tile(i: 16, j: 16)", "order(j, i)"),
    "covariance": ("tile(i: 8, j: 64) threads(i: 8, j: 32)", "stage() deal(blocked)", "order(-j)"),
    "heat-3d": ("tile(i: 2, j: 8, k: 32) threads(i: 1, j: 8, k: 16)", "order(k, j, i)"),
}


def realised(file: File, choice: str) -> CompiledRegion:
    (region,) = file.realise(tuple(parse(choice)), {}).regions
    return region


def fresh(kernel: str, device: str) -> File:
    return File(str(programs.source_of(kernel)), Options(device=device))


def counted(file: File, made: CompiledRegion) -> dict[str, Any]:
    sizes = {s.name: 20 for s in made.region.integers}
    return predict_calls(made.region, file.device, [Calls(1, sizes)], work=Work(None)).record


@pytest.mark.parametrize("device", ["8800gtx", "h100"])
@pytest.mark.parametrize("kernel", CHOICES)
def test_a_choice_is_realised_alike_whatever_was_before(kernel: str, device: str) -> None:
    often = fresh(kernel, device)
    for choice in (*CHOICES[kernel], *CHOICES[kernel]):
        alone = fresh(kernel, device)
        mine, its = realised(often, choice), realised(alone, choice)
        assert mine.region == its.region
        assert mine.taken == its.taken
        assert counted(often, mine) == counted(alone, its)
