"""A region prepared once and realised often has the kernels, and the counts, of one realised alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks import programs
from polygpu.compilation import Options
from polygpu.lower import realise, region
from polygpu.lower.realise import CompiledRegion
from polygpu.model.decisions import parse
from polygpu.perf import charges
from polygpu.perf.charges import lockstep
from polygpu.perf.launches import Calls
from polygpu.perf.predict import Work, predict_calls
from polygpu.pipeline import File
from tests.support_kernels import in_turns

DEVICES = ("8800gtx", "h100")
CHOICES = {
    "mm": ("stage()", "tile(i: 32, j: 32, k: 8) threads(i: 8, j: 8)", "tile(i: 16, j: 16)", "order(j, i)"),
    "covariance": ("tile(i: 8, j: 64) threads(i: 8, j: 32)", "stage() deal(blocked)", "order(-j)"),
    "correlation": ("fuse(39, 41)", "stage()", "split(23)", "split(26) tile(i: 8, j: 64)"),
    "heat-3d": ("tile(i: 2, j: 8, k: 32) threads(i: 1, j: 8, k: 16)", "order(k, j, i)"),
}


def realised(file: File, choice: str) -> CompiledRegion:
    (region,) = file.realise(parse(choice) if choice else (), {}).regions
    return region


def fresh(kernel: str, device: str) -> File:
    return File(str(programs.source_of(kernel)), Options(device=device))


def counted(file: File, made: CompiledRegion) -> dict[str, Any]:
    sizes = {s.name: 20 for s in made.region.integers}
    return predict_calls(made.region, file.device, [Calls(1, sizes)], work=Work(None)).record


@pytest.mark.parametrize(("kernel", "device"), in_turns(CHOICES, DEVICES))
def test_a_choice_is_realised_alike_whatever_was_before(kernel: str, device: str) -> None:
    often = fresh(kernel, device)
    alone = {}
    for choice in CHOICES[kernel]:
        file = fresh(kernel, device)
        made = realised(file, choice)
        alone[choice] = made, counted(file, made)
    for choice in (*CHOICES[kernel], *CHOICES[kernel]):
        mine, (its, counts) = realised(often, choice), alone[choice]
        assert mine.region == its.region
        assert mine.taken == its.taken
        assert counted(often, mine) == counts


@pytest.mark.parametrize("choice", ["fuse(39, 41)", "split(23)"])
def test_kernels_that_only_get_other_names_are_not_made_again(
    choice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those behind two that are one now, or behind one that is two."""

    def named(r: CompiledRegion) -> dict[tuple[str, ...], str]:
        trees = [lockstep(k, doubles=False) for k in r.region.kernels]
        names = [t.kernel.name for t in trees]
        assert names == [g.name for g in r.grids] == [p.kernel.name for p in r.padded]
        return {g.statements: name for g, name in zip(r.grids, names, strict=True)}

    def noted(module: Any, name: str) -> None:
        make = getattr(module, name)

        def noting(*arguments: Any) -> Any:
            count[name] = count.get(name, 0) + 1
            return make(*arguments)

        monkeypatch.setattr(module, name, noting)

    file = fresh("correlation", "8800gtx")
    realised(file, "")
    (realiser,) = file.realisers.values()
    before, count = named(realiser.realise()), dict[str, int]()
    for module, name in ((realise, "map_nest"), (region, "lower"), (realise, "pad"), (charges, "_charged")):
        noted(module, name)
    after = named(realiser.realise(parse(choice)))
    assert any(before.get(statements, name) != name for statements, name in after.items())
    new = len(after.keys() - before.keys())
    assert 0 < new < len(after) and [*count.values()] == [new] * 4


@pytest.mark.parametrize("change", [{"block": (16, 16, 1)}, {"registers": 20}, {"comment": ("x",)}])
def test_kernels_with_the_same_code_are_told_apart(change: dict[str, Any]) -> None:
    (kernel,) = realised(fresh("vecadd", "8800gtx"), "").region.kernels
    named, other = replace(kernel, name="other"), replace(kernel, **change)
    first, second, third = (lockstep(k, doubles=False) for k in (kernel, named, other))
    assert first.parts is second.parts and first.parts is not third.parts
    assert (first.kernel, second.kernel, third.kernel) == (kernel, named, other)
