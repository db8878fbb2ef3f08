"""What the model chooses, and who is said to have chosen."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import pytest

from benchmarks import programs
from polygpu.compilation import Compilation, Options
from polygpu.compiler import compile_certified
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.model.decisions import Decision, listing
from polygpu.model.device import Device
from polygpu.search import choose
from polygpu.search.choose import Chooser
from polygpu.search.found import Effort, Found, faster
from polygpu.search.price import Price, price
from polygpu.search.space import Items, is_taken, nests_of

SIZES = {"n": 4096, "m": 4096, "p": 4096, "steps": 100}  # at which choices are made


def compiled(
    kernel: str, level: int, device: str = "8800gtx", *decisions: str, replayed: str = ""
) -> Compilation:
    options = Options(
        target="emulator", device=device, level=level, decisions=decisions, replayed=replayed, certify="off"
    )
    return compile_certified(str(programs.source_of(kernel)), options)


@cache
def known(kernel: str, level: int, device: str = "8800gtx", *decisions: str) -> Compilation:
    """Made once, for tests that compile it as it is and only look at it."""
    return compiled(kernel, level, device, *decisions)


def by(made: Compilation, author: str) -> list[Decision]:
    return [t.decision for r in made.regions for nest in r.taken for t in nest if t.by == author]


def seconds(made: Compilation) -> list[float]:
    (r,) = (r for r in made.regions if "kernel" in r.region.name)
    return [price(r, k, made.device, SIZES).seconds for k in range(len(r.region.kernels))]


@pytest.mark.parametrize(
    ("kernel", "most"), [("mm", 0.5), ("gemver", 0.8), ("transpose", 1), ("jacobi-2d", 0.8)]
)
def test_the_model_prefers_what_it_chooses(kernel: str, most: float) -> None:
    rules, chosen = seconds(known(kernel, 1)), seconds(known(kernel, 2))
    assert sum(chosen) <= most * sum(rules)


def test_a_choice_gains_the_margin_of_the_device() -> None:
    """The model of an H100 errs by more than the few percent for which others leave what rules choose."""
    rules, chosen = seconds(known("conv2d", 1, "h100")), seconds(known("conv2d", 2, "h100"))
    margin = known("conv2d", 1, "h100").device.margin
    assert margin > 0.1 and sum(chosen) < (1 - margin) * sum(rules)
    assert not by(known("transpose", 2, "h100"), "model")


def test_nests_alike_are_chosen_for_alike() -> None:
    (r,) = (r for r in known("3mm", 2).regions if "kernel" in r.region.name)
    shapes = [
        [str(v) for t in nest for _, v in t.decision.items if t.by == "model" and t.decision.key == "tile"]
        for nest in r.taken
    ]
    assert len(shapes) == 3 and shapes[0] and shapes[0] == shapes[1] == shapes[2]


def test_nests_alike_are_chosen_for_however_many_they_are(tmp_path: Path) -> None:
    """Steps that update matrices: more than are looked at by themselves."""
    source, names = tmp_path / "updates.c", "ABCD"
    arrays = ", ".join(f"float {name}[n][n]" for name in names)
    update = (
        "for (int i = k + 1; i < n; i++) for (int j = k + 1; j < n; j++) {0}[i][j] -= {0}[i][k] * {0}[k][j];"
    )
    steps = "\n".join(update.format(name) for name in names)
    source.write_text(
        f"void f(int n, {arrays})\n{{\n#pragma scop\n"
        f"for (int k = 0; k < n; k++) {{\n{steps}\n}}\n#pragma endscop\n}}\n"
    )
    made = compile_certified(str(source), Options(target="emulator", device="8800gtx", certify="off"))
    threads = [d.items for d in by(made, "model") if d.key == "threads"]
    assert len(threads) == len(names) > choose._FEW and len({*threads}) == 1


def test_shallower_nests_are_chosen_for_where_the_deepest_are_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (r,) = (r for r in known("covariance", 1).regions if "kernel" in r.region.name)
    deepest = max(choose._depth(r, nest) for nest in nests_of(r))

    def looked_at(too_much: bool) -> set[int]:
        found: set[int] = set()

        def priced(r: CompiledRegion, k: int, device: Device, sizes: Mapping[str, int], *_: Any) -> Price:
            nest = next(n for n in nests_of(r) if n.kernel == k)
            found.add(choose._depth(r, nest))
            return Price(inf if too_much and choose._depth(r, nest) == deepest else 1.0, 1, 1, device)

        monkeypatch.setattr(choose, "price", priced)
        Chooser(Realiser(r.prepared, known("covariance", 1).device), SIZES, ())._of_nests(r)
        return found

    assert looked_at(False) == {deepest} and looked_at(True) == {deepest, deepest - 1}


def test_kernels_are_fused_where_that_gains() -> None:
    """The update of A and the product with its columns; which loads coalesce and what shared memory holds is
    chosen for both before they are compared.
    """
    made, apart = known("gemver", 2), known("gemver", 2, "8800gtx", "split(22)")
    assert [str(d) for d in by(made, "model") if d.key == "fuse"] == ["19: fuse(19, 22, 24)"]
    assert sum(seconds(made)) < 0.97 * sum(seconds(apart))
    assert not any(d.key == "fuse" for d in by(known("gemver", 2, "h100"), "model"))


def test_kernels_are_fused_whatever_others_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """The means of covariance and what subtracts them, also where its product is too much to look at."""
    made, rules = known("covariance", 2), known("covariance", 1)
    fused = ["17: fuse(17, 19, 20, 24)"]
    assert [str(d) for d in by(made, "model") if d.key == "fuse"] == fused
    assert seconds(made)[0] < (1 - made.device.margin) * sum(seconds(rules)[:2])

    def priced(r: CompiledRegion, k: int, device: Device, sizes: Mapping[str, int], *how: Any) -> Price:
        found = price(r, k, device, sizes, *how)
        nest = next(n for n in nests_of(r) if n.kernel == k)
        too_much = choose._depth(r, nest) > 2 and max(sizes.values()) > 2048
        return replace(found, kernels=inf) if too_much else found

    monkeypatch.setattr(choose, "price", priced)
    assert [str(d) for d in by(compiled("covariance", 2), "model") if d.key == "fuse"] == fused


def test_what_is_left_of_the_effort_is_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Correlation scales its rows beside a product, for which is chosen first."""
    made = known("correlation", 2)
    assert {d.place.line for d in by(made, "model") if d.place} >= {35, 41}
    (_, scaled, *_), (_, rules, *_) = seconds(made), seconds(known("correlation", 1))
    assert scaled < 0.85 * rules
    monkeypatch.setattr(choose, "_SPARE", 0)
    assert {d.place.line for d in by(compiled("correlation", 2), "model") if d.place} == {41}


def test_effort_that_is_spent_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "LEFT", 1)
    assert not by(compiled("mm", 2), "model")


def test_prices_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (r,) = known("mm", 1).regions
    asked: list[int] = []

    def priced(r: CompiledRegion, k: int, device: Device, sizes: Mapping[str, int], *how: Any) -> Price:
        asked.append(sizes["n"])
        return Price(inf if sizes["n"] > 512 else 1.0, 0, 1, device)

    monkeypatch.setattr(choose, "price", priced)
    chooser = Chooser(Realiser(r.prepared, known("mm", 1).device), SIZES, ())
    for n, expected in ((4096, inf), (512, 1.0), (4096, inf), (512, 1.0)):
        assert chooser._priced(r, 0, {"n": n}).seconds == expected
    assert asked == [4096, 512]


def test_seconds_beyond_a_limit_are_a_bound() -> None:
    """What partitions of the memory move is counted for what does not take more without."""
    (r,) = (r for r in known("symm", 1).regions if "kernel" in r.region.name)
    it, at = known("symm", 1).device, {"n": 256, "m": 256}
    whole = price(r, 0, it, at)
    bound = price(r, 0, it, at, limit=0.0)
    assert not whole.more and bound.more and 0 < bound.seconds < whole.seconds
    assert price(r, 0, it, at, limit=whole.seconds).seconds == whole.seconds


@pytest.mark.parametrize("kernel", ["adi", "gemver", "mm"])
def test_what_rules_choose_makes_their_kernels(kernel: str) -> None:
    """Decisions that say what rules choose anyway, which are not tried, and others, which are."""
    (r,) = (r for r in known(kernel, 1).regions if "kernel" in r.region.name)
    realiser = Realiser(r.prepared, known(kernel, 1).device)
    rules = realiser.realise()
    for nest in nests_of(rules):
        keys = ("order", "tile", "threads", "unroll", "stage")
        own: dict[str, Items] = {key: nest.taken[key].items for key in keys}
        own |= {"deal": tuple((a.removeprefix("-"), "cyclic") for a in nest.axes)}
        assert is_taken(nest, own)
        made = realiser.realise(choose._decisions(nest, own)).region.kernels[nest.kernel]
        assert made == rules.region.kernels[nest.kernel]
        others: dict[str, Items] = {"stage": (("nothing", None),), "order": own["order"] * 2}
        others["unroll"] = (("", 3),)
        for key, other in others.items():
            assert not is_taken(nest, {**own, key: other})


def test_programs_find_the_threads_that_they_are_asked_for() -> None:
    """As many as are asked for, or as the library takes: not the one with which numbers are predicted."""
    script = "import os, polygpu.perf.predict; print(os.environ.get('OPENBLAS_NUM_THREADS'))"
    for asked in ("7", None):
        left = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
        left |= {"OPENBLAS_NUM_THREADS": asked} if asked else {}
        found = subprocess.run(
            (sys.executable, "-c", script), env=left, capture_output=True, text=True, check=True
        )
        assert found.stdout.strip() == str(asked)


def test_samples_have_to_be_faster_than_they_may_err() -> None:
    whole, coarse = Found(seconds=1.0), Found(seconds=0.91, most=4)
    assert faster(whole, coarse) is whole
    assert faster(coarse, whole) is coarse
    assert faster(whole, replace(coarse, seconds=0.89)).seconds == 0.89
    assert faster(replace(coarse, most=16), replace(coarse, most=16, seconds=0.9)).seconds == 0.9


def test_lines_are_no_longer_than_keeps_a_device_busy() -> None:
    """16 multiprocessors hold 12,288 threads; 16 points of each are the square of some 256."""
    (r,) = (r for r in known("jacobi-1d", 1).regions if "kernel" in r.region.name)
    chooser = Chooser(Realiser(r.prepared, known("jacobi-1d", 1).device), {"n": 1 << 22, "steps": 100}, ())
    (nest, *_) = nests_of(r)
    assert dict(chooser.looked_at(r, nest).sizes) == {"n": 4 * 256**2, "steps": 100}


def test_choices_are_looked_at_as_those_before_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was too much for rules, or for the choice before, is not tried again; at other sizes it is."""
    asked: list[int | None] = []

    def priced(r: CompiledRegion, k: int, device: Device, sizes: Mapping[str, int], *how: Any) -> Price:
        asked.append(how[0].most)
        most = (16, None, None, None, 4, 16)[min(len(asked) - 1, 5)]
        return Price(1.0 / len(asked), 1, 1, device, 1, most)

    monkeypatch.setattr(choose, "price", priced)
    assert by(compiled("mm", 2), "model")
    assert asked[:7] == [None, 4, 16, 4, 16, 4, 4]


def test_what_takes_far_more_in_few_iterations_is_not_looked_at_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int | None] = []

    def priced(r: CompiledRegion, k: int, device: Device, sizes: Mapping[str, int], *how: Any) -> Price:
        asked.append(how[0].most)
        return Price(2.0 if asked[1:] else 1.0, 0, 1, device, 1, how[0].most or 16)

    monkeypatch.setattr(choose, "price", priced)
    assert not by(compiled("mm", 2), "model")
    assert asked[:1] == [None] and {*asked[1:]} == {4}


def test_where_nothing_was_better_nests_alike_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []

    def priced(r: CompiledRegion, k: int, device: Device, sizes: Mapping[str, int], *how: Any) -> Price:
        looked_at.append(k)
        return Price(1.0, 1, 1, device, 1)

    monkeypatch.setattr(choose, "price", priced)
    assert not by(compiled("3mm", 2), "model")
    assert len(looked_at) > 1 and {*looked_at} == {0}


PRODUCT = """
void {f}(int n, int m, int p, float {c}[restrict n][m], float {a}[restrict n][p], float {b}[restrict p][m])
{{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int k = {first}; k < p; k++)
                {c}[i][j] += {a}[i{of}][k] * {b}[k][j];
}}
"""


def test_of_nests_alike_in_other_regions_only_the_best_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    looked_at: list[str] = []

    def priced(r: CompiledRegion, k: int, device: Device, sizes: Mapping[str, int], *how: Any) -> Price:
        looked_at.append(r.scop.function)
        return price(r, k, device, sizes, *how)

    monkeypatch.setattr(choose, "price", priced)
    other, turned = {"a": "x", "b": "y", "c": "z", "first": 1, "of": ""}, {"of": " - i"}
    plain = {"a": "a", "b": "b", "c": "c", "first": 0, "of": ""}
    path = tmp_path / "products.c"
    texts = ({"f": "one"} | plain, {"f": "two"} | other, {"f": "three"} | plain | turned)
    path.write_text("".join(PRODUCT.format(**names) for names in texts))
    made = compile_certified(str(path), Options(target="emulator", device="8800gtx", certify="off"))
    one, two, three = (looked_at.count(name) for name in ("one", "two", "three"))
    assert 0 < two < one / 2 and three > two
    chosen = [
        [(t.decision.key, [v for _, v in t.decision.items]) for t in r.taken[0] if t.by == "model"]
        for r in made.regions
    ]
    assert chosen[0] and chosen[0] == chosen[1]


def test_kernels_that_take_little_are_not_fused_for_a_try() -> None:
    (r,) = known("gemver", 1).regions
    realiser = Realiser(r.prepared, known("gemver", 1).device)
    (nest, *_), margin = nests_of(r), realiser.device.margin
    seconds = sum(price(r, k, realiser.device, SIZES).seconds for k in (0, 1))

    def may_gain(all_take: float, left: float = inf) -> bool:
        chooser = Chooser(realiser, SIZES, (), effort=Effort(left))
        return chooser._may_gain(r, r.grids[:2], [(nest, Found(seconds=all_take)), (nest, Found())])

    assert may_gain(0.99 * seconds / margin) and not may_gain(1.01 * seconds / margin)
    effort = Effort(left=10**9)
    for k in (0, 1):
        Chooser(realiser, SIZES, (), effort=effort)._seconds(r, k, SIZES)
    taken = 10**9 - effort.left
    assert may_gain(0, 2.01 * taken) and not may_gain(0, 1.99 * taken)


def test_choices_are_the_same_where_each_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are made as if int held all that kernels compute; where it does not, again with tests of each."""
    quick, tested = by(known("mm", 2), "model"), []
    realise = Realiser.realise

    def noted(self: Realiser, *arguments: Any, **options: Any) -> CompiledRegion:
        tested.append(options.get("tested", True))
        return realise(self, *arguments, **options)

    monkeypatch.setattr(Realiser, "realise", noted)
    monkeypatch.setattr(choose.Chooser, "fits", lambda *_: False)
    assert by(compiled("mm", 2), "model") == quick and quick
    assert tested.count(True) > tested.count(False) > 1


def test_choices_are_the_model_s() -> None:
    made = known("mm", 2)
    assert {d.key for d in by(made, "model")} >= {"tile", "threads", "stage"}
    assert not by(made, "person") and not by(known("mm", 1), "model")


def test_choices_are_the_same_each_time_and_replay() -> None:
    first, second = known("gemver", 2), compiled("gemver", 2)
    assert first.files == second.files
    text = listing(nest for r in first.regions for nest in r.taken)
    for level in (1, 2):
        again = compiled("gemver", level, replayed=text)
        assert again.files == first.files and not by(again, "model")


def test_persons_go_before_the_model() -> None:
    made = known("mm", 2, "8800gtx", "threads(i: 8, j: 16)")
    assert [str(d) for d in by(made, "person")] == ["18: threads(i: 8, j: 16)"]
    assert not by(made, "model")
    beside = known("mm", 2, "8800gtx", "pad(0)")
    assert {"tile", "threads"} <= {d.key for d in by(beside, "model")}
    assert {d.key for d in by(beside, "person")} == {"pad"}


def test_more_choices_are_no_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "MANY", 12)
    few, many = compiled("transpose", 2), compiled("transpose", 3)
    assert sum(seconds(many)) <= sum(seconds(few))


def test_models_that_nobody_calibrated_choose_nothing() -> None:
    assert compiled("mm", 2, "generic").files == compiled("mm", 1, "generic").files


def test_level_0_keeps_the_order_and_stages_nothing(tmp_path: Path) -> None:
    source = tmp_path / "order.c"
    source.write_text("""void f(int n, float A[n][n], float B[n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            B[i][j] = A[j][i];
#pragma endscop
}
""")
    options = Options(target="emulator", device="8800gtx", level=0)
    made = compile_certified(str(source), options)
    (kernel,) = made.regions[0].region.kernels
    assert not kernel.shared
    (nest,) = made.regions[0].taken
    decided = {t.decision.key: t.decision for t in nest}
    assert decided["order"].names == ("i",) and decided["stage"].items == ()
    assert all(d.id != "PG316" for d in made.diagnostics)
    assert made.certificates[0].holds
