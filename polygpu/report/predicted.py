"""What `polygpu inspect` predicts of a compilation at given sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from typing import Any

from polygpu.codegen.lanes import uniform
from polygpu.codegen.launches import SIZE, host_values
from polygpu.model.device import Device
from polygpu.model.facts import CompilationFacts
from polygpu.model.kernel import HostFor, HostIf, HostStatement, Region
from polygpu.report.kernels import kernel_lines
from polygpu.report.layout import Line, Span, indented, line
from polygpu.report.run import measures, region_record

_ITERATIONS = 16  # of a host loop, that stand for all where these are too many
_SMALLEST = 64


@dataclass(frozen=True, slots=True)
class _Patience:
    """How many `blocks` and `launches` are looked at before iterations of host loops are left out, and how
    many `elements` of arrays, all kernels together, before those of the kernels' loops are.
    """

    blocks: int
    launches: int
    elements: int


_QUICK = _Patience(2**17, 2**13, 2 * 10**8)  # where no sizes are asked for: a second or two
_THOROUGH = _Patience(2**21, 2**15, 4 * 10**8)


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

    Raises ImportError without numpy; MemoryError where a part of the iterations of each loop is too much.
    """
    scalars = {s.name for r in regions for s in r.scalars if s.type not in ("float", "double")}
    if sizes or not scalars:
        return _at_sizes(regions, device, facts, sizes, _THOROUGH)
    size = SIZE
    while True:
        quick = dict.fromkeys(scalars, size)
        try:
            if size <= _SMALLEST or not _too_many(regions, quick, _ITERATIONS, _QUICK):
                return replace(_at_sizes(regions, device, facts, quick, _QUICK), chosen=False)
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
    patience: _Patience,
) -> Prediction:
    from polygpu.codegen.predict import Work, predict  # noqa: PLC0415 - numpy is optional, and slow to import

    scalars = {s.name for r in regions for s in r.scalars if s.type not in ("float", "double")}
    looped = any(_loops(r.body) for r in regions)
    most = _ITERATIONS if looped and _too_many(regions, sizes, None, patience) else None
    try:
        work = Work(patience.elements)
        found = [predict(region, device, sizes, most, work) for region in regions]
    except MemoryError:
        if most or not looped:
            raise
        most, work = _ITERATIONS, Work(patience.elements)
        found = [predict(region, device, sizes, most, work) for region in regions]
    values = {n: value for r in regions for n, value in host_values(r, sizes).items() if n in scalars}
    inexact = tuple(name for p in found for name in p.inexact)
    sampled = tuple(name for p in found for name in p.sampled)
    records = tuple(p.record for p in found)
    return Prediction(device, facts, records, values, bool(scalars), inexact, sampled, most)


def _loops(body: Iterable[HostStatement]) -> bool:
    return any(isinstance(s, HostFor) or (isinstance(s, HostIf) and _loops(s.body)) for s in body)


def _too_many(regions: list[Region], sizes: Mapping[str, int], most: int | None, patience: _Patience) -> bool:
    """Whether there are more launches, or more blocks in those that differ, than `patience` allows."""
    from polygpu.codegen.predict import launches  # noqa: PLC0415

    made = [launches(r.body, host_values(r, sizes), most) for r in regions]
    found = [(launch, at) for each in made for launch, at, _ in islice(each, patience.launches + 1)]
    if len(found) > patience.launches:
        return True
    blocks, seen = 0, set()
    for launch, at in found:
        grid = tuple(max(0, uniform(extent, at) or 0) for extent in launch.grid)
        key = launch.kernel, grid, tuple(uniform(value, at) for value in launch.scalars)
        blocks += 0 if key in seen else max(1, prod(grid))
        if blocks > patience.blocks:
            return True
        seen.add(key)
    return False


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
