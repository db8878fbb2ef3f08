"""What `polygpu inspect` predicts of a compilation at given sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from polygpu.codegen.lanes import uniform
from polygpu.codegen.launches import SIZE, host_values
from polygpu.model.device import Device
from polygpu.model.facts import CompilationFacts
from polygpu.model.kernel import HostFor, Region
from polygpu.report.kernels import kernel_lines
from polygpu.report.layout import Line, Span, indented, line
from polygpu.report.run import measures, region_record

_ITERATIONS = 16  # of a host loop, that stand for all where these are too many
_BLOCKS = 2**17  # looked at where no sizes are asked for: a second or two
_PATIENCE = 2**21  # looked at for sizes that are
_SMALLEST = 64


@dataclass(frozen=True, slots=True)
class Prediction:
    """`regions` have the form of a profile's. `chosen`: `sizes` were asked for; of the kernels, `inexact`
    are those that data decide on, `sampled` those with more iterations than are looked at. So many
    `host_iterations` of each host loop stand for all; None where all are looked at.
    """

    device: Device
    facts: CompilationFacts
    regions: tuple[Mapping[str, Any], ...]
    sizes: Mapping[str, int]
    chosen: bool
    inexact: tuple[str, ...]
    sampled: tuple[str, ...]
    host_iterations: int | None = None


def predict_all(
    regions: list[Region], device: Device, facts: CompilationFacts, sizes: Mapping[str, int]
) -> Prediction:
    """One call of each region; without `sizes`, for 4096 or what is quick.

    Raises ImportError without numpy.
    """
    from polygpu.codegen.predict import predict  # noqa: PLC0415 - numpy is optional, and slow to import

    scalars = {s.name for r in regions for s in r.scalars if s.type not in ("float", "double")}
    chosen = dict(sizes) if sizes or not scalars else _quick(regions, scalars)
    enough = _PATIENCE if sizes else _BLOCKS
    looped = any(isinstance(s, HostFor) for r in regions for s in r.body)
    most = _ITERATIONS if looped and _blocks(regions, chosen, None, enough) > enough else None
    found = [predict(region, device, chosen, most) for region in regions]
    values = {n: value for r in regions for n, value in host_values(r, chosen).items() if n in scalars}
    inexact = tuple(name for p in found for name in p.inexact)
    sampled = tuple(name for p in found for name in p.sampled)
    records = tuple(p.record for p in found)
    return Prediction(device, facts, records, values, bool(sizes), inexact, sampled, most)


def _quick(regions: list[Region], scalars: set[str]) -> dict[str, int]:
    """The largest power of two up to the typical size that leaves few enough blocks to look at."""
    size = SIZE
    while size > _SMALLEST and _blocks(regions, dict.fromkeys(scalars, size), _ITERATIONS, _BLOCKS) > _BLOCKS:
        size //= 2
    return dict.fromkeys(scalars, size)


def _blocks(regions: list[Region], sizes: Mapping[str, int], most: int | None, enough: int) -> int:
    """Blocks of the launches to look at, equal ones once; none are counted after `enough`."""
    from polygpu.codegen.predict import launches  # noqa: PLC0415

    total = 0
    for region in regions:
        seen = set()
        for launch, at, _ in launches(region.body, host_values(region, sizes), most):
            grid = tuple(max(0, uniform(extent, at) or 0) for extent in launch.grid)
            key = launch.kernel, grid, tuple(uniform(value, at) for value in launch.scalars)
            total += 0 if key in seen else max(1, prod(grid))
            seen.add(key)
            if total > enough:
                return total
    return total


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
    if p.sampled:
        yield line()
        yield line(f"  some iterations of the loops of {', '.join(p.sampled)} stand for all: they are many")


def prediction_record(p: Prediction) -> dict[str, Any]:
    """For JSON: "sizes", and "regions" as in `polygpu run --json`, of one call each."""
    regions = [region_record(r, measures(list(r["kernels"]), p.device, p.facts)) for r in p.regions]
    return {
        "sizes": dict(p.sizes),
        "inexact": list(p.inexact),
        "sampled": list(p.sampled),
        "host_iterations_looked_at": p.host_iterations,
        "regions": regions,
    }
