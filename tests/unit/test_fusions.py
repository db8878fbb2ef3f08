"""Which kernels might be one or two, and what prices say of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.model.decisions import parse
from polygpu.model.device import Device
from polygpu.pipeline import File, decisions_of
from polygpu.search.fusions import fusions
from polygpu.search.price import price

SIZES = {"n": 4096, "m": 4096}


def seconds(r: CompiledRegion, device: Device, sizes: dict[str, int]) -> float:
    """Of all kernels in one call of the region, their launches included."""
    return sum(price(r, k, device, sizes).seconds for k in range(len(r.region.kernels)))


def realised(kernel: str, device: str, *decisions: str) -> tuple[CompiledRegion, Realiser]:
    """The region of a kernel as rules have it."""
    file = File(str(programs.source_of(kernel)), Options(device=device, decisions=decisions))
    (region,) = file.realise(decisions_of(file.options), {}).regions
    (realiser,) = file.realisers.values()
    return region, realiser


def found(kernel: str, device: str, *decisions: str) -> Iterator[tuple[str, float]]:
    """What might be decided, and its share of the time."""
    region, realiser = realised(kernel, device, *decisions)
    before = seconds(region, realiser.device, SIZES)
    for choice, _ in fusions(region, realiser.device.rule):
        yield str(choice), seconds(realiser.realise((choice,)), realiser.device, SIZES) / before


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("gemver", []),  # A is updated by rows, then staged to be read by columns; w needs all of x
        ("mvt", ["fuse(18, 21)"]),  # both read A
        ("bicg", ["fuse(16, 18)"]),
        ("gesummv", ["split(21)"]),  # before the second sum
        ("correlation", ["fuse(39, 41)", "fuse(41, 44)", "split(23)", "split(26)"]),
        ("mm", []),
        ("floyd-warshall", []),  # all of it is in tiles of steps
    ],
)
def test_what_might_be(kernel: str, expected: list[str]) -> None:
    assert [str(choice) for choice, _ in fusions(realised(kernel, "h100")[0], "sector")] == expected


def test_persons_have_decided() -> None:
    assert not list(fusions(realised("gemver", "h100", "fuse(19, 22)")[0], "sector"))


def test_prices_of_gemver() -> None:
    """An update of A by as many threads as it has columns is slow where there is room for more threads."""
    ((choice, old),) = found("gemver", "8800gtx")
    region, realiser = realised("gemver", "h100")
    together = realiser.realise(parse(choice))
    new = seconds(together, realiser.device, SIZES) / seconds(region, realiser.device, SIZES)
    assert old < 0.6 and new > 1.5


def test_prices_of_sums() -> None:
    """One loop has two rows in flight."""
    for device in ("8800gtx", "h100"):
        ((_, share),) = found("gesummv", device)
        assert share > 1.1
