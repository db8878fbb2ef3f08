"""What calls of regions are priced at, beside numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polygpu import devices
from polygpu.compilation import Compilation, Options
from polygpu.lower import work
from polygpu.model.device import Device
from polygpu.offload.instances import counter, operations
from polygpu.offload.offers import Offer, offers
from polygpu.offload.seconds import Price
from polygpu.pipeline import compile_file
from polygpu.printing.printer import print_expr
from polygpu.report.explain import explain
from polygpu.report.text import inspect_text
from polygpu.support.diagnostics import Diagnosed
from tests.unit.middle import analysed

VECTORS = "int n, float a, float x[restrict n], float y[restrict n]"
SAXPY = "for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];"
CHIP = replace(devices.load("8800gtx"), clock=1e9, bandwidth=2e9)  # 16 multiprocessors
COSTS = {
    "efficiency": 0.5, "raw": 10.0, "flops_per_cycle": 16.0, "launch": 10e-6, "copy": 1e-6,
    "allocation": 2e-6, "to_device": 1e9, "from_device": 2e9, "host_rate": 1e9, "host_bandwidth": 1e9,
}  # fmt: skip


def device(**costs: float) -> Device:
    return replace(CHIP, costs=CHIP.costs | COSTS | costs)


def compiled(directory: Path, parameters: str, body: str, **options: Any) -> Compilation:
    file = directory / "k.c"
    file.write_text(f"void f({parameters})\n{{\n    {body}\n}}\n")
    return compile_file(str(file), Options(device="8800gtx", **options))


def offer(directory: Path, parameters: str, body: str, chip: Device, **stated: int) -> Offer:
    (found,) = offers(compiled(directory, parameters, body).regions, chip, stated)
    return found


@pytest.mark.parametrize(
    ("loops", "instances"),
    [
        ("for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)", 300 * 50),
        ("for (int i = 2; i < n; i += 3) for (int j = m; j > 0; j--)", 100 * 50),
        ("for (int i = 0; i < n; i++) for (int j = 0; j <= i; j++)", 300 * 301 / 2),
        ("for (int i = 0; i < 4; i++) for (int j = 0; j < i; j++)", 0 + 1 + 2 + 3),
        ("for (int i = 0; i < n; i++) if (m > 60) for (int j = 0; j < n; j++)", 0),
        (
            "for (int i = 0; i < n; i++) for (int j = i; j < n; j++) for (int k = i; k < j; k++)",
            299 * 300 * 301 / 6,
        ),
    ],
)  # fmt: skip
def test_instances_of_loops(loops: str, instances: float) -> None:
    p = analysed("int n, int m, float A[restrict n][n]", f"{loops} A[i][0] = 0;")
    found = sum(counter(w.instances)[0]({"n": 300, "m": 50}) for w in work.work_of(p))
    assert found == pytest.approx(instances, rel=0.01)


def test_hulls_are_counted_where_isl_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hull of every second element has them all."""
    p = analysed("int n, float A[restrict n]", "for (int i = 0; i < n; i += 2) A[i] = 0;")
    for steps, instances in ((work._STEPS, 50), (1, 100)):
        monkeypatch.setattr(work, "_STEPS", steps)
        (found,) = work.work_of(p)
        assert counter(found.instances)[0]({"n": 100}) == instances


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("y[i] = a * x[i] + y[i];", 2 + 3),
        ("y[i] = 0;", 1),
        ("y[i + 2 * n] += -x[i];", 2 + 3),
        ("y[i] = sqrtf(x[i]) > a ? x[i] : 1.0f;", 2 + 20 + 3),
        ("if (x[i] > a) y[i] = 1;", 1 + 2),
    ],
)
def test_operations_of_an_instance(body: str, count: int) -> None:
    pointers = VECTORS.replace("[restrict n]", "[restrict]")
    (s,) = analysed(pointers, f"for (int i = 0; i < n; i++) {body}").statements
    assert operations(s) == count


def test_the_price_of_a_vector_sum(tmp_path: Path) -> None:
    """Of 1000 elements.

    Host: 5 operations an element take 5 us, 8000 bytes 8 us. Copies: two to the device and one from it. The
    kernel moves 8000 bytes at 1 GB/s: y is read and written, but no more than all of it counts.
    """
    price = offer(tmp_path, VECTORS, SAXPY, device()).ledger.at({"n": 1000})
    assert price.host == pytest.approx(8e-6)
    assert price.copies == pytest.approx(2 * (1e-6 + 4e-6) + (1e-6 + 2e-6))
    assert price.launches == pytest.approx(10e-6)
    assert price.allocations == pytest.approx(2e-6)
    assert price.kernels == pytest.approx(8e-6)
    assert price.device == pytest.approx(33e-6)
    assert not price.gains


def test_the_host_measures_at_each_call(tmp_path: Path) -> None:
    """Of 1000 subscripts that data tell: 4000 bytes, or a load and two comparisons each, four at once."""
    gather = "int n, const int *restrict c, const float *restrict x, float *restrict y"
    for bandwidth, seconds in ((1e9, 4e-6), (1e12, 0.75e-6)):
        found = offer(
            tmp_path, gather, "for (int i = 0; i < n; i++) y[i] = x[c[i]];", device(host_bandwidth=bandwidth)
        )
        for settled, times in ((False, 1), (True, 2 / 100)):
            price = replace(found, calls=100, settled=settled).ledger.at({"n": 1000, "x_extent": 50})
            assert price.measuring == pytest.approx(times * seconds)
        assert price.device > price.measuring
        assert price.bytes == 8000 + 50 * 4


def test_extents_that_the_host_measures_have_typical_sizes(tmp_path: Path) -> None:
    gather = "int n, const int *restrict c, const float *restrict x, float *restrict y"
    loop = "for (int i = 0; i < n; i++) y[i] = x[c[i]];"
    made = compiled(tmp_path, gather, loop, assume_typical=("x_extent=50",))
    (region,) = explain(made).regions
    assert region.price is not None and region.price.sizes == {"n": 1 << 22, "x_extent": 50}
    with pytest.raises(Diagnosed, match="x_extent"):
        compiled(tmp_path, gather, loop, assume=("x_extent=50",))


def test_a_thread_computes_one_operation_after_the_other(tmp_path: Path) -> None:
    """256 threads, one operation in 10 ns each: 64 rows of 100 elements, 6 operations an element."""
    rows = "int n, int m, float A[restrict n][m], float x[restrict n]"
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i] = x[i] * 0.5f + A[i][j];"
    chip = replace(device(), bandwidth=1e15)
    found = offer(tmp_path, rows, body, chip)
    threads = found.region.region.kernels[0].block[0]
    price = found.ledger.at({"n": 64, "m": 100})
    assert price.kernels == pytest.approx(64 * 100 * 5 / (threads / 10e-9))
    assert price.host == pytest.approx(64 * 100 * 5 / 1e9)


def test_the_peak_bounds_what_many_threads_compute(tmp_path: Path) -> None:
    """16 multiprocessors, 16 operations a cycle of 1 ns each."""
    chip = replace(device(raw=1e-3), bandwidth=1e15)
    price = offer(tmp_path, VECTORS, SAXPY, chip).ledger.at({"n": 1 << 20})
    assert price.kernels == pytest.approx((1 << 20) * 5 / (16 * 16 * 1e9))


STEPS = "int steps, " + VECTORS
SWEEPS = (
    "for (int t = 0; t < steps; t++) { for (int i = 1; i < n - 1; i++) y[i] = x[i - 1] + x[i + 1];"
    " for (int i = 1; i < n - 1; i++) x[i] = y[i - 1] + y[i + 1]; }"
)


def test_each_step_launches_its_kernels(tmp_path: Path) -> None:
    price = offer(tmp_path, STEPS, SWEEPS, device()).ledger.at({"n": 1000, "steps": 7})
    assert price.launches == pytest.approx(2 * 7 * 10e-6)
    assert price.host == pytest.approx(2 * 7 * 998 * 4 / 1e9)


@pytest.mark.parametrize(
    ("parameters", "body", "sizes"),
    [
        (VECTORS, SAXPY, {"n": 1 << 22}),
        (STEPS, SWEEPS, {"steps": 100, "n": 1 << 22}),
        (
            "int n, int m, float A[restrict n][m]",
            "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] *= 2;",
            {"n": 4096, "m": 4096},
        ),
        (
            "int n, float A[restrict n][n][n]",
            "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)"
            " A[i][j][k] *= 2;",
            {"n": 256},
        ),
        (
            VECTORS,
            "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i] += x[i] * x[j];",
            {"n": 4096},
        ),
        (
            "int n, float A[restrict n][n]",  # t has an element for each i and j on the device
            "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < 3; k++)"
            " { float t = A[i][j]; A[i][j] = t * t; }",
            {"n": 4096},
        ),
        (
            "int first, int end, float *restrict x",
            "for (int i = first; i < end; i++) x[i] *= 2;",
            {"first": 0, "end": 1 << 22},
        ),
    ],
)  # fmt: skip
def test_typical_sizes(parameters: str, body: str, sizes: dict[str, int], tmp_path: Path) -> None:
    assert offer(tmp_path, parameters, body, device()).sizes == sizes


def test_stated_sizes_are_taken(tmp_path: Path) -> None:
    assert offer(tmp_path, STEPS, SWEEPS, device(), n=500).sizes == {"steps": 100, "n": 500}


def test_the_crossover(tmp_path: Path) -> None:
    """Host: 8 ns an element. Device: 42 us of a launch, arrays and copies, nothing an element: from 5250."""
    fast = {"to_device": 1e15, "from_device": 1e15, "copy": 10e-6, "raw": 1e-9, "flops_per_cycle": 1e9}
    chip = replace(device(**fast), bandwidth=1e15)
    found = offer(tmp_path, VECTORS, SAXPY, chip)
    assert found.test is not None
    assert print_expr(found.test) == f"n > {found.least}"
    assert 5200 <= found.least <= 5400
    assert not found.ledger.at({"n": found.least - 200}).gains
    assert found.ledger.at({"n": found.least + 200}).gains


def test_what_no_size_makes_faster(tmp_path: Path) -> None:
    """8 us a 1000 elements on the host, 10 of them in copies alone."""
    found = offer(tmp_path, VECTORS, SAXPY, device())
    assert found.scale is None
    assert found.test is None


def test_typical_sizes_decide_where_isl_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of 2, 4, ... floats, from a few on: there is no test of the sizes."""
    made = compiled(tmp_path, VECTORS, SAXPY).regions
    monkeypatch.setattr(work, "_STEPS", 1)
    fast = device(to_device=1e15, from_device=1e15)
    few, many = (offers(made, replace(fast, bandwidth=1e15), {"n": n})[0] for n in (10, 10**6))
    assert (few.test, few.faster) == (None, "never")
    assert (many.test, many.faster) == (None, "always")


def test_what_is_always_faster(tmp_path: Path) -> None:
    found = offer(tmp_path, VECTORS, SAXPY, device(host_rate=1.0))
    assert found.scale == 0
    assert found.test is None


def test_what_does_not_fit_is_not_faster(tmp_path: Path) -> None:
    fast = {"to_device": 1e15, "from_device": 1e15, "copy": 10e-6, "raw": 1e-9, "flops_per_cycle": 1e9}
    chip = replace(device(**fast), bandwidth=1e15, device_memory=20_000)
    assert offer(tmp_path, VECTORS, SAXPY, chip).scale is None


@pytest.mark.parametrize("cost", sorted(COSTS))
def test_each_cost_changes_a_price(cost: str, tmp_path: Path) -> None:
    """Of few or of many elements, where memories are slow or where they are fast."""
    made = compiled(tmp_path, VECTORS, SAXPY).regions

    def prices(**other: float) -> list[Price]:
        slow = device(**other)
        fast = replace(slow, bandwidth=1e15, costs=slow.costs | {"host_bandwidth": 1e15})
        found = (offers(made, chip, {})[0].ledger for chip in (slow, fast))
        return [ledger.at({"n": n}) for ledger in found for n in (10, 10**6)]

    assert prices(**{cost: COSTS[cost] * 1.5}) != prices()


def test_what_inspect_says(tmp_path: Path) -> None:
    said = inspect_text(explain(compiled(tmp_path, STEPS, SWEEPS)))
    assert "price of a call, roughly, for steps = 100, n = 4194304" in said
    (region,) = explain(compiled(tmp_path, STEPS, SWEEPS, assume_typical=("n=70",))).regions
    assert region.price is not None
    assert region.price.sizes == {"steps": 100, "n": 70}
    assert region.price.faster == "from"
    assert region.price.test.startswith("steps * n > ")
    (region,) = explain(compiled(tmp_path, STEPS, SWEEPS), {"steps": 3, "other": 4}).regions
    assert region.price is not None
    assert region.price.sizes == {"steps": 3, "n": 1 << 22}
