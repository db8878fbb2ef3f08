"""Predicted costs of accesses against what the emulator counts: Python's rules and C's on the same code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import product

import pytest

from benchmarks import programs
from polygpu.mapping.pad import request_steps
from polygpu.mapping.padding import distinct, layout_of
from polygpu.model.device import Device
from polygpu.model.facts import AccessFact
from polygpu.model.kernel import HostFor, HostIf, HostStatement, Kernel, Launch, Region
from polygpu.perf.lanes import uniform
from polygpu.perf.launches import host_values, typical_launch
from polygpu.perf.requests import run
from polygpu.report.access_facts import access_facts, global_costs
from polygpu.report.explain import explain
from tests.emulated import compiled, counted, profiles
from tests.support_kernels import some_by_default

DEVICES = ("8800gtx", "gtx285", "h100")

# Sizes that all tiles divide, of every kernel whose nests are boxes that begin at 0.
RECTANGULAR: dict[str, programs.Sizes] = {
    "saxpy": (1024,), "vecadd": (1024,), "transpose": (512, 512), "mv": (512, 512), "tmv": (512, 512),
    "mvt": (512,), "gemver": (512,), "gesummv": (512,), "atax": (512, 512), "bicg": (512, 512),
    "conv2d": (512, 512), "mm": (128, 256, 64), "gemm": (128, 256, 64),
    "2mm": (128, 256, 64, 256), "3mm": (128, 256, 64, 256, 64), "doitgen": (2, 128, 256),
}  # fmt: skip

# Small sizes that no tile divides; nests of all shapes, no access that data decide on.
UNEVEN: dict[str, programs.Sizes] = {
    "mv": (70, 41), "transpose": (37, 50), "mm": (33, 17, 9), "conv2d": (21, 35), "jacobi-2d": (37, 1),
    "fdtd-2d": (35, 20, 1), "heat-3d": (12, 1), "syrk": (21, 10), "trmm": (20, 21), "trisolv": (40,),
    "lu": (18,), "covariance": (11, 19), "seidel-2d": (20, 1),
}  # fmt: skip


def on_devices(kernels: Iterable[str], devices: tuple[str, ...] = DEVICES) -> list[object]:
    """Each kernel on each device: by default all tests have the same ones, one or two for each kernel."""
    pairs = list(product(kernels, DEVICES))
    cases = zip(pairs, some_by_default(pairs, one_in=2), strict=True)
    return [case for (_, device), case in cases if device in devices]


def assert_same(fact: AccessFact, device: str, kernel: str, sizes: programs.Sizes) -> None:
    found = counted(profiles(kernel, device, sizes)[fact.kernel], fact)
    assert found.coalesced == fact.coalesced, fact
    assert (found.transactions is None) == (fact.transactions is None), fact
    assert found.transactions is None or found.transactions == pytest.approx(fact.transactions, 1e-12), fact
    assert found.bank_steps == pytest.approx(fact.bank_steps, 1e-12), fact


@pytest.mark.parametrize(("kernel", "device"), on_devices(RECTANGULAR))
def test_what_is_predicted_for_a_size_is_counted(kernel: str, device: str) -> None:
    """Also what is fetched ahead of the last tile, where loads are clamped to the array."""
    sizes = RECTANGULAR[kernel]
    compilation = compiled(kernel, device)
    names = dict(zip(programs.parameters_of(kernel), sizes * 5, strict=False))
    region = compilation.regions[0].region
    predicted = [
        fact
        for k in region.kernels
        for fact in access_facts(
            k, region.sites, compilation.device, launch=typical_launch(region, k.name, names)
        )
    ]
    assert any(fact.transactions for fact in predicted)
    for fact in predicted:
        assert_same(fact, device, kernel, sizes)


@pytest.mark.parametrize(("kernel", "device"), on_devices(RECTANGULAR, ("8800gtx", "gtx285")))
def test_what_inspect_shows_is_counted(kernel: str, device: str) -> None:
    """Nothing is fetched ahead there, so full tiles cost the same at any size."""
    for fact in explain(compiled(kernel, device)).regions[0].accesses:
        assert_same(fact, device, kernel, RECTANGULAR[kernel])


@pytest.mark.parametrize(("kernel", "device"), on_devices(RECTANGULAR))
def test_degrees_bound_the_counted_steps(kernel: str, device: str) -> None:
    """A degree of 1 is no conflict at all; the mean of requests is at most the worst one's degree."""
    for fact in explain(compiled(kernel, device)).regions[0].accesses:
        found = counted(profiles(kernel, device, RECTANGULAR[kernel])[fact.kernel], fact)
        assert (found.bank_steps > 0) == (fact.degree_after > 0)
        assert (found.bank_steps <= 1) == (fact.degree_after <= 1)
        assert found.bank_steps <= fact.degree_after <= max(1, fact.degree_before)


@pytest.mark.parametrize(("kernel", "device"), on_devices(UNEVEN))
def test_whole_runs_cost_what_is_counted(kernel: str, device: str) -> None:
    """Every block of every launch, evaluated in Python, against the totals of each kernel."""
    sizes = UNEVEN[kernel]
    compilation = compiled(kernel, device)
    names = dict(zip(programs.parameters_of(kernel), sizes * 5, strict=False))
    expected = totals(compilation.regions[0].region, names, compilation.device)
    for name, profile in profiles(kernel, device, sizes).items():
        found = {key: profile.counters[key] for key in KEYS}
        assert found == {key: expected[name][key] for key in KEYS}, name


KEYS = ("requests", "coalesced", "transactions_32", "transactions_64", "transactions_128", "lanes",
        "shared_requests", "conflict_steps")  # fmt: skip


def totals(region: Region, names: Mapping[str, int], device: Device) -> dict[str, Counter[str]]:
    """The counters of each kernel, from all blocks of all launches."""
    kernels = {k.name: k for k in region.kernels}
    found: dict[str, Counter[str]] = {name: Counter() for name in kernels}
    for launch, values in launches(region.body, host_values(region, names)):
        kernel = kernels[launch.kernel]
        scalars = zip(kernel.scalars, launch.scalars, strict=True)
        known = {s.name: uniform(value, values) for s, value in scalars}
        arguments = {name: value for name, value in known.items() if value is not None}
        grid = [uniform(extent, values) or 0 for extent in launch.grid]
        for z, y, x in product(*(range(extent) for extent in reversed(grid))):
            found[kernel.name].update(block_costs(kernel, (x, y, z), arguments, device))
    return found


def launches(
    body: tuple[HostStatement, ...], values: Mapping[str, int]
) -> Iterator[tuple[Launch, Mapping[str, int]]]:
    """Each launch in order, with the values of the host's variables."""
    for s in body:
        match s:
            case Launch():
                yield s, values
            case HostIf(test, inner):
                if uniform(test, values):
                    yield from launches(inner, values)
            case HostFor(index, lower, upper, step, inner):
                first, end = uniform(lower, values), uniform(upper, values)
                assert first is not None
                assert end is not None
                for i in range(first, end, step):
                    yield from launches(inner, {**values, index: i})


def block_costs(
    kernel: Kernel, block: tuple[int, int, int], values: Mapping[str, int], device: Device
) -> Counter[str]:
    arrays = [*(a.name for a in kernel.arrays), *(s.name for s in kernel.shared)]
    found = run(kernel, device.request_lanes, values, block, arrays, None)
    total: Counter[str] = Counter()
    for cost, _ in global_costs(kernel, found, device, values):
        total.update({"requests": 1, "coalesced": int(cost.coalesced), "lanes": cost.passes})
        total.update({f"transactions_{size}": count for size, count in cost.transactions})
    for s in kernel.shared:
        layout = layout_of(s, device)
        for request in distinct(s, (r for r in found if r.reference.array == s.name), layout):
            steps = request_steps(request, layout, s.padding)
            total["shared_requests"] += round(request.weight * steps.requests)
            total["conflict_steps"] += round(request.weight * (steps.steps - steps.requests))
    return total
