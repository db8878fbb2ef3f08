"""What `polygpu inspect` predicts of a compilation at given sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from polygpu.model.device import Device
from polygpu.model.facts import CompilationFacts
from polygpu.model.kernel import Region
from polygpu.perf.effort import ITERATIONS, QUICK, THOROUGH, Called, Patience, look, marked, too_many
from polygpu.perf.launches import SIZE, Calls, host_values
from polygpu.report.kernels import kernel_lines
from polygpu.report.layout import Line, Span, indented, line
from polygpu.report.run import measures, region_record
from polygpu.support.dataclass import dataclass

_SMALLEST = 64


@dataclass(frozen=True, slots=True)
class Prediction:
    """`regions` have the form of a profile's. `chosen`: `sizes` were asked for; of the kernels, `inexact`
    are those that data decide on, `sampled` those with more iterations than are looked at, `turning` those
    with loops that data end. So many
    `host_iterations` of each host loop stand for all; None where all are looked at.
    """

    device: Device
    facts: CompilationFacts
    regions: tuple[Mapping[str, Any], ...]
    sizes: Mapping[str, int]
    chosen: bool
    inexact: tuple[str, ...]
    sampled: tuple[str, ...]
    turning: tuple[str, ...]
    host_iterations: int | None = None


def predict_all(
    regions: list[Region], device: Device, facts: CompilationFacts, sizes: Mapping[str, int]
) -> Prediction:
    """One call of each region; without `sizes`, for 4096 or what is quick.

    Raises MemoryError where a part of the iterations of each loop is too much.
    """
    scalars = {s.name for r in regions for s in r.integers}
    if sizes or not scalars:
        return _at_sizes(regions, device, facts, sizes, THOROUGH)
    size = SIZE
    while True:
        quick = dict.fromkeys(scalars, size)
        try:
            if size <= _SMALLEST or not too_many(_once(regions, quick), ITERATIONS, QUICK):
                return replace(_at_sizes(regions, device, facts, quick, QUICK), chosen=False)
        except MemoryError:
            if size <= _SMALLEST:
                raise
            size //= 2  # what failed is hardly too much by little
        size //= 2


def _at_sizes(
    regions: list[Region],
    device: Device,
    facts: CompilationFacts,
    sizes: Mapping[str, int],
    patience: Patience,
) -> Prediction:
    found, most = look(_once(regions, sizes), device, patience)
    scalars = {s.name for r in regions for s in r.integers}
    values = {n: value for r in regions for n, value in host_values(r, sizes).items() if n in scalars}
    inexact = tuple(name for p in found for name in p.inexact if name not in p.turning)
    sampled = tuple(name for p in found for name in p.sampled)
    records = tuple(p.record | {"kernels": marked(p, most)} for p in found)
    turning = tuple(name for p in found for name in p.turning)
    return Prediction(device, facts, records, values, bool(scalars), inexact, sampled, turning, most)


def _once(regions: list[Region], sizes: Mapping[str, int]) -> Called:
    return [(region, (Calls(1, sizes),)) for region in regions]


def prediction_lines(p: Prediction, width: int = 0) -> Iterator[Line]:
    sizes = ", ".join(f"{name} = {value}" for name, value in sorted(p.sizes.items()))
    yield line()
    hint = "" if p.chosen or not sizes else "; --size NAME=N for others"
    yield line(Span(f"predicted{f' for {sizes}' if sizes else ''}", "title"), Span(hint, "dim"))
    for region in p.regions:
        kernels = measures(list(region["kernels"]), p.device, p.facts)
        if len(p.regions) > 1:
            yield line()
            yield line("  ", Span(region["name"], "title"))
        yield line()
        yield from indented(kernel_lines(kernels, width - 2))
    if p.host_iterations:
        yield line()
        yield line(f"  {p.host_iterations} iterations of each host loop stand for all of them")
    if p.inexact:
        yield line()
        yield line(f"  data decide what is counted of {', '.join(p.inexact)}: what is predicted is the most")
    if p.turning:
        yield line()
        yield line(f"  data end loops of {', '.join(p.turning)}: one iteration of each is predicted")
    if p.sampled:
        yield line()
        yield line(f"  some iterations of the loops of {', '.join(p.sampled)} stand for all: they are many")


def prediction_record(p: Prediction) -> dict[str, Any]:
    """For JSON: "sizes", and "regions" as in `polygpu run --json`, of one call each."""
    regions = [region_record(r, measures(list(r["kernels"]), p.device, p.facts)) for r in p.regions]
    return {
        "sizes": dict(p.sizes),
        "inexact": [*p.inexact, *p.turning],
        "sampled": list(p.sampled),
        "turning": list(p.turning),
        "host_iterations_looked_at": p.host_iterations,
        "regions": regions,
    }
