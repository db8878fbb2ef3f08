"""What the emulator counts is predicted exactly: each benchmark kernel's whole profile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import programs
from polygpu.codegen.predict import Predicted, predict
from polygpu.pipeline import Options, compile_file
from tests.emulated import compiled, program

KERNELS = programs.kernel_names()
DEVICES = ("8800gtx", "gtx285", "h100")
EXTENTS = (37, 21, 29, 35, 19)  # no tile divides them
LARGER = (131, 70, 45, 67, 83)


def sizes_of(kernel: str, extents: programs.Sizes) -> programs.Sizes:
    names = programs.parameters_of(kernel)
    return extents[: programs.extents_of(kernel)] + (2,) * (len(names) - programs.extents_of(kernel))


def counted(kernel: str, device: str, sizes: programs.Sizes) -> list[dict[str, Any]]:
    """The records of the kernel's regions in the profile that the program writes."""
    made = program(kernel, device)
    document = made.with_suffix(".json")
    programs.run(made, sizes, POLYGPU_PROFILE=str(document))
    regions = json.loads(document.read_text())["regions"]
    return [r for r in regions if r["name"].startswith("polygpu_kernel_")]


def predicted(kernel: str, device: str, sizes: programs.Sizes) -> list[Predicted]:
    compilation = compiled(kernel, device)
    names = dict(zip(programs.parameters_of(kernel), sizes, strict=True))
    if "more" in names:  # rows than columns
        names["n"] = names["m"] + names["more"]
    return [predict(r.region, compilation.device, names) for r in compilation.regions]


def assert_same(kernel: str, device: str, extents: programs.Sizes) -> None:
    sizes = sizes_of(kernel, extents)
    found = [p for p in predicted(kernel, device, sizes) if p.record["name"].startswith("polygpu_kernel_")]
    assert not any(p.inexact for p in found)
    assert [p.record for p in found] == counted(kernel, device, sizes)


@pytest.mark.parametrize("extents", [EXTENTS, LARGER], ids=["small", "larger"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_profiles_are_predicted(kernel: str, extents: programs.Sizes) -> None:
    assert_same(kernel, "8800gtx", extents)


@pytest.mark.parametrize("device", ["gtx285", "h100"])
@pytest.mark.parametrize("kernel", ["mm", "mv", "lu", "heat-3d", "floyd-warshall", "trisolv"])
def test_profiles_are_predicted_by_other_rules(kernel: str, device: str) -> None:
    assert_same(kernel, device, EXTENTS)


@pytest.mark.slow
@pytest.mark.parametrize("extents", [EXTENTS, LARGER, (64, 64, 64, 64, 64), (1, 1, 1, 1, 1), (0, 0, 0, 0, 0)])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_all_profiles_are_predicted(kernel: str, device: str, extents: programs.Sizes) -> None:
    assert_same(kernel, device, extents)


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
