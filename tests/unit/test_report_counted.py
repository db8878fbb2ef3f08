"""Counters that are predicted for a profile of measured times."""

from __future__ import annotations

import json
from typing import Any

import pytest

from polygpu.compilation import Compilation, Options
from polygpu.perf.predict import predict
from polygpu.pipeline import compile_file
from polygpu.report.counted import with_counts
from polygpu.report.explain import explain
from polygpu.report.run import run_json, run_text

STEPS = """\
void steps(int n, int t, float x[restrict n], float y[restrict n])
{
#pragma scop
    for (int s = 0; s < t; s++) {
        for (int i = 0; i < n; i++)
            y[i] = x[i] + 1;
        for (int i = 0; i < n; i++)
            x[i] = 2 * y[n - 1 - i];
    }
#pragma endscop
}
"""


@pytest.fixture(scope="module")
def compilation(tmp_path_factory: pytest.TempPathFactory) -> Compilation:
    path = tmp_path_factory.mktemp("counted") / "steps.c"
    path.write_text(STEPS)
    return compile_file(str(path), Options(target="opencl", device="h100"))


def profile(compilation: Compilation, *calls: tuple[int, dict[str, int]], lost: int = 0) -> dict[str, Any]:
    """What a program that made `calls`, and some that were not kept, would write: 2 ms for each kernel."""
    region = compilation.regions[0].region
    kernels = [
        {"name": k.name, "launches": sum(n * v["t"] for n, v in calls), "grid": [1, 1, 1], "ms": 2.0}
        | {"block": list(k.block)}
        for k in region.kernels
    ]
    sizes = [{"calls": times, "values": values} for times, values in calls]
    record = {"name": region.name, "calls": sum(n for n, _ in calls) + lost, "bytes_in": 0, "bytes_out": 0}
    return {"target": "cuda", "device": "a GPU", "regions": [record | {"sizes": sizes, "kernels": kernels}]}


def completed(compilation: Compilation, document: dict[str, Any]) -> dict[str, Any]:
    return with_counts(document, [r.region for r in compilation.regions], compilation.device)


def test_calls_add_up(compilation: Compilation) -> None:
    """Three calls of 1000 elements and one of 77, which leaves warps with less to do than others."""
    large, small = {"n": 1000, "t": 2}, {"n": 77, "t": 5}
    found = completed(compilation, profile(compilation, (3, large), (1, small)))
    region, device = compilation.regions[0].region, compilation.device
    for number, kernel in enumerate(found["regions"][0]["kernels"]):
        a, b = (predict(region, device, sizes).record["kernels"][number] for sizes in (large, small))
        assert kernel["predicted"] == "exactly"
        assert (kernel["ms"], kernel["launches"]) == (2.0, 11)
        for name in ("requests", "slots", "lane_accesses", "wide_bytes"):
            assert kernel["counters"][name] == 3 * a["counters"][name] + b["counters"][name] > 0
            groups = [g for stage in kernel["stages"] for g in stage["groups"]]
            assert sum(g["counters"][name] for g in groups) == kernel["counters"][name]
        assert kernel["blocks_total"] == 3 * a["blocks_total"] + b["blocks_total"]
        assert all(sum(g["warps"] for g in s["groups"]) * 32 >= kernel["block"][0] for s in kernel["stages"])


def test_a_part_of_many_launches_stands_for_all(compilation: Compilation) -> None:
    document = completed(compilation, profile(compilation, (1, {"n": 100, "t": 100_000})))
    text = run_text(document, compilation.device, explain(compilation))
    assert "counted by prediction for NVIDIA H100" in text.splitlines()[1]
    assert "by prediction, from some iterations for all" in text
    report = json.loads(run_json(document, compilation.device, explain(compilation)))
    for kernel in report["regions"][0]["kernels"]:
        assert kernel["counters_are"] == "predicted in part"
        assert kernel["float_operations"] == 100_000 * 128  # four warps


def test_what_cannot_be_predicted_says_why(compilation: Compilation, monkeypatch: pytest.MonkeyPatch) -> None:
    def reasons(document: dict[str, Any]) -> set[str]:
        found = completed(compilation, document)
        text = run_text(found, compilation.device, explain(compilation))
        why = {kernel["not_counted"] for kernel in found["regions"][0]["kernels"]}
        assert all(f"nothing: {reason}" in text for reason in why)
        assert "by prediction" not in text
        return why

    known = (1, {"n": 100, "t": 1})
    assert reasons(profile(compilation, known, lost=1)) == {
        "the profile lacks sizes that its region is called with"
    }
    assert reasons(profile(compilation, (1, {"n": 2**40, "t": 1}))) == {
        "there are too many blocks and iterations to predict what they count"
    }


def test_counters_and_other_programs_regions_stay(compilation: Compilation) -> None:
    document = profile(compilation, (1, {"n": 100, "t": 1}))
    document["regions"][0]["name"] = "of_another_file"
    assert completed(compilation, document) == document
    counted = completed(compilation, profile(compilation, (1, {"n": 100, "t": 1})))
    assert completed(compilation, counted) == counted
