"""Random choices of tiles, threads, points, staging and code are proved, whatever the model thinks of them.

All of a device: `pytest -m slow -n 16 -k 8800gtx tests/test_verified_choices.py`. A part takes one to five
seconds of a processor, all 600 of them about 1,500.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from random import Random

import pytest

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.model.decisions import Decision, parse
from polygpu.pipeline import File
from polygpu.search.space import Space, nests_of
from polygpu.support.diagnostics import Diagnosed
from polygpu.verify.certificate import certify

KERNELS = ("mv", "tmv", "mvt", "mm", "transpose", "conv2d", "jacobi-2d", "gemver", "syrk", "gesummv")
DEVICES = {"8800gtx": "emulator", "gtx285": "emulator", "h100": "cuda"}
ALL, PART, FEW = 100, 5, 2  # choices of a kernel, and those of one test
# Tiles of time are proved for smaller nests (test_time_tiles.py): here they take long.
STEPS = {"jacobi-2d": parse("steps(t: 0)")}


@lru_cache(1)
def regions(kernel: str, device: str) -> tuple[tuple[CompiledRegion, Realiser], ...]:
    """The regions of a kernel as rules make them, and what makes others."""
    file = File(str(programs.source_of(kernel)), Options(device=device, target=DEVICES[device]))
    made = file.realise(STEPS.get(kernel, ()), {}).regions
    realisers = {scop.name: realiser for scop, realiser in file.realisers.items()}
    return tuple((r, realisers[r.scop.name]) for r in made if "kernel" in r.region.name)


def choices(r: CompiledRegion, realiser: Realiser, chance: Random) -> Iterator[tuple[Decision, ...]]:
    """For all nests of a region at once, at random among those that are worth making."""
    spaces = [Space(nest, realiser.device) for nest in nests_of(r)]
    while True:
        drawn = [
            next(space[n] for n in space.drawn(chance) if not space.why_not(space[n])) for space in spaces
        ]
        yield tuple(d for space, one in zip(spaces, drawn, strict=True) for d in one.decisions(space.nest))


def assert_proved(kernel: str, device: str, part: int, count: int) -> None:
    """So many choices that the compiler does not refuse: nothing of them is refuted, or left open."""
    for r, realiser in regions(kernel, device):
        proved = 0
        for choice in choices(r, realiser, Random(f"{kernel}:{device}:{part}")):
            try:
                made = realiser.realise((*choice, *STEPS.get(kernel, ())))
            except Diagnosed:
                continue
            certificate = certify(made)
            decided = "; ".join(map(str, choice))
            assert not certificate.failures, f"{decided}: {certificate.failures[0]}"
            assert not certificate.unproved, f"{decided}: {certificate.unproved[0]}"
            proved += 1
            if proved == count:
                break


@pytest.mark.parametrize(("kernel", "device"), [("mm", "8800gtx"), ("transpose", "h100")])
def test_few(kernel: str, device: str) -> None:
    assert_proved(kernel, device, 0, FEW)


@pytest.mark.parametrize(
    ("kernel", "device", "choice"),
    [
        (  # stores of eight results with strides of 2,048: their order takes more steps than most
            "mv",
            "h100",
            "tile(i: 2048, j: 8) threads(i: 256) deal(i: grouped) stage(y) buffer(none) wide(16) unroll(4)",
        ),
        (  # isl crashed on a union of pieces whose equalities are pairs of bounds
            "mm",
            "8800gtx",
            "order(i, j) tile(i: 2, j: 256, k: 4) threads(i: 1, j: 128) "
            "deal(i: cyclic, j: cyclic) stage(B) buffer(none) wide(0) unroll(4)",
        ),
    ],
)
def test_choices_that_were_not_proved(kernel: str, device: str, choice: str) -> None:
    for _, realiser in regions(kernel, device):
        certificate = certify(realiser.realise(parse(choice)))
        assert not certificate.failures and not certificate.unproved


@pytest.mark.slow
@pytest.mark.parametrize("part", range(ALL // PART))
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("device", DEVICES)
def test_all(device: str, kernel: str, part: int) -> None:
    assert_proved(kernel, device, part, PART)
