"""What `polygpu inspect` predicts of a compilation at given sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polygpu.codegen.launches import host_values
from polygpu.model.device import Device
from polygpu.model.facts import CompilationFacts
from polygpu.model.kernel import Region
from polygpu.report.kernels import kernel_lines
from polygpu.report.layout import Line, Span, indented, line
from polygpu.report.run import measures, region_record

_ITERATIONS = 16  # of a host loop, that stand for all where no sizes are asked for


@dataclass(frozen=True, slots=True)
class Prediction:
    """`regions` have the form of a profile's. `chosen`: `sizes` were asked for; of the kernels, `inexact`
    are those that data decide on, `sampled` those with more iterations than are looked at.
    """

    device: Device
    facts: CompilationFacts
    regions: tuple[Mapping[str, Any], ...]
    sizes: Mapping[str, int]
    chosen: bool
    inexact: tuple[str, ...]
    sampled: tuple[str, ...]


def predict_all(
    regions: list[Region], device: Device, facts: CompilationFacts, sizes: Mapping[str, int]
) -> Prediction:
    """One call of each region; without `sizes`, typical ones. Raises ImportError where there is no numpy."""
    from polygpu.codegen.predict import predict  # noqa: PLC0415 - numpy is optional, and slow to import

    most = None if sizes else _ITERATIONS
    found = [predict(region, device, sizes, most) for region in regions]
    scalars = {s.name for r in regions for s in r.scalars if s.type not in ("float", "double")}
    values = {
        name: value for r in regions for name, value in host_values(r, sizes).items() if name in scalars
    }
    inexact = tuple(name for p in found for name in p.inexact)
    sampled = tuple(name for p in found for name in p.sampled)
    return Prediction(device, facts, tuple(p.record for p in found), values, bool(sizes), inexact, sampled)


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
        "regions": regions,
    }
