"""What isl takes too long for ends, and something simpler takes its place."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import islpy as isl
import pytest

from polygpu import pipeline
from polygpu.analysis.conditions import _without
from polygpu.compilation import Options
from polygpu.lower import checked_scan, intricate, realise, scan
from polygpu.lower.intricate import is_intricate
from polygpu.lower.realise import Realiser
from polygpu.model.decisions import listing
from polygpu.pipeline import File, compile_file
from polygpu.schedule.prepare import Prepared, is_single
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.isl_idioms import TooLongError, bounded, few_cases, few_floors, hurried, slow, steps
from polygpu.support.recent import Recent
from polygpu.verify.certificate import certify
from tests.processor import at_most

SKEWED = """
void f(int n, float a[restrict n][n]) {
#pragma scop
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n - 1; j++)
            a[i][j] += a[i - 1][j + 1] + a[i][j - 1];
#pragma endscop
}
"""

TURNS = """
void f(long n, int A[restrict]) {
#pragma scop
    for (int i = -1; i < 130; i++) {
        A[(i + 1) * 294 + 2] = 0;
        for (int j = n - 1; j > -1; j--)
            A[(i + 1) * 294 + 2] += A[((i + 3) / 2 % 2) * 294 + j + 1] & 15;
    }
    for (int i = 127; i > -1; i--) {
        A[2 * i + 1] = 0;
        for (int j = 0; j <= n - i - 1; j++)
            A[2 * i + 1] += A[(2 * i) * 294 + i] & 15;
    }
#pragma endscop
}
"""

LU = """
void f(int n, float a[restrict n][n]) {
#pragma scop
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) {
            a[i][k] /= a[k][k];
            for (int j = k + 1; j < n; j++)
                a[i][j] -= a[i][k] * a[k][j];
        }
#pragma endscop
}
"""


def _work() -> isl.Set:
    union = isl.Set("{ [i] : false }")
    for k in range(20):
        union = union.union(isl.Set(f"{{ [i] : i mod {k + 2} = 1 }}"))
    return union.complement()


def test_steps_are_limited_also_inside_of_a_limit() -> None:
    with bounded(50_000_000):
        with pytest.raises(isl.Error), bounded(10):
            _work()
        isl.Set("{ [i] : 0 <= i < 10 }").complement()
    with pytest.raises(isl.Error), bounded(10):
        with bounded(50_000_000):
            isl.Set("{ [i] : 0 <= i < 10 }").complement()
        _work()


@pytest.mark.parametrize(
    ("domain", "single"),
    [
        # isl has an error for the least element of this set
        ("[n] -> { [i, j] : (1 + i) mod 3 = 0 and i < n and n - i <= j <= 1 + i and j < n }", False),
        ("[n] -> { [i, j] : (1 + i) mod 3 = 0 and n <= i < n + 3 and j = 2i }", True),
        ("[n] -> { [i] : i = n or i = 2n }", False),
        ("[n] -> { [i] : i >= n }", False),
        ("[n] -> { [i] : false }", True),
    ],
)
def test_one_instance_at_most(domain: str, single: bool) -> None:
    assert is_single(isl.Set(domain)) == single


def test_nothing_starts_when_time_is_up() -> None:
    with hurried(0), pytest.raises(isl.Error), bounded(1000):
        pass
    with hurried(600), bounded(1000):
        pass


def test_floors_are_limited() -> None:
    few = isl.Set("{ [i] : i mod 3 = 1 and i mod 5 < 2 }")
    assert few_floors(few).is_equal(few)
    primes = (2, 3, 5, 7, 11, 13, 17, 19, 23)
    many = " and ".join(f"i mod {k} < {k - 1}" for k in primes)
    few_floors(isl.Set(f"{{ [i] : {many} }}"))
    with hurried(600), pytest.raises(TooLongError):
        few_floors(isl.Set(f"{{ [i] : {many} }}"))


def test_code_in_the_order_of_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the wavefront's code is out of reach, with a warning; still a right translation."""
    (tmp_path / "skewed.c").write_text(SKEWED)
    real = Realiser._in_time
    asked: list[object] = []

    def never_first(self: Realiser, order: Prepared, *others: Any) -> object:
        asked.append(order)
        return None if len(asked) == 1 else real(self, order, *others)

    monkeypatch.setattr(Realiser, "_in_time", never_first)
    done = compile_file(str(tmp_path / "skewed.c"), Options(target="emulator"))
    assert len(asked) == 2
    (found,) = (d for d in done.diagnostics if d.id in ("PG308", "PG315"))
    assert found.id == "PG315" and "source's order" in found.message
    assert found.position is not None and found.position.line == SKEWED[: SKEWED.index("#")].count("\n") + 1
    (compiled,) = done.regions
    assert certify(compiled).holds


def test_no_time_for_a_schedule(tmp_path: Path) -> None:
    """A simpler schedule, with a warning where the region is; still a right translation, without waiting."""
    (tmp_path / "skewed.c").write_text(SKEWED)
    source = str(tmp_path / "skewed.c")
    hasty = compile_file(source, Options(target="emulator", time_budget=0))
    (found,) = (d for d in hasty.diagnostics if d.id == "PG308")
    assert "time budget" in found.message and found.position is not None and found.position.line == 3
    assert found.help is not None and "--time-budget" in found.help
    assert certify(hasty.regions[0]).holds
    patient = compile_file(source, Options(target="emulator"))
    assert not any(d.id == "PG308" for d in patient.diagnostics)


def test_no_code_at_all_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "skewed.c").write_text(SKEWED)
    monkeypatch.setattr(realise, "_STEPS", 10)
    with pytest.raises(Diagnosed) as error:
        compile_file(str(tmp_path / "skewed.c"), Options(target="emulator"))
    assert [d.id for d in error.value.diagnostics] == ["PG314"]


def test_an_extent_out_of_reach_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.c").write_text(
        "void f(int n, int m, float (* restrict a)[m])\n{\n#pragma scop\n"
        "    for (int i = 0; i < n; i += 3) for (int j = i; j < m; j += 2) a[2 * i + j][j] = 1;\n"
        "#pragma endscop\n}\n"
    )
    monkeypatch.setattr(scan, "_STEPS", 10)
    with pytest.raises(Diagnosed) as error:
        compile_file(str(tmp_path / "rows.c"), Options(target="emulator"))
    (found,) = error.value.diagnostics
    assert found.id == "PG314"
    assert found.position is not None and found.position.line == 1
    assert "'a'" in found.message


def test_the_last_of_elements_that_take_turns_is_not_looked_for_for_ever(tmp_path: Path) -> None:
    (tmp_path / "turns.c").write_text(TURNS)
    with at_most(20 * slow(), "what the region accesses"), pytest.raises(Diagnosed) as error:
        compile_file(str(tmp_path / "turns.c"), Options(target="emulator", level=0))
    (found,) = error.value.diagnostics
    assert found.id == "PG314" and "'A'" in found.message and "its size" in (found.help or "")


def test_code_where_floors_are_many_does_without_them() -> None:
    floors = " and ".join(f"(n + {k}m) mod {k} < {k - 1}" for k in (2, 3, 5, 7, 11, 13, 17, 19, 23))
    context = isl.Set(f"[n, m] -> {{ : n >= 0 and {floors} }}")
    order = isl.UnionMap("[n, m] -> { S[i] -> [i] : 0 <= i < n and 3i < m; T[i] -> [2i] : 0 <= 5i < n }")
    start = steps()
    tree = scan.generated(order, context, ("c",))
    assert steps() - start < 25_000  # with them it is some 50,000, each of which takes longer
    assert checked_scan._faithful(tree, order, context)
    assert tree == scan.generated(order, isl.Set("[n, m] -> { : n >= 0 }"), ("c",))


def test_loops_that_take_long_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step of isl is long here: it looks for strides of what moduli and an unknown iterator give."""
    tiles = isl.UnionMap(
        "[n, m, i] -> { value[t] -> [t] : i mod 3 = 0 and 0 <= i < n and (exists e: e > i and 2 <= e < m and "
        "64*floor(i/4) <= 62 - i + 64t - e - 64*floor(e/64) and "
        "128*floor(i/4) >= -5 - 2i + 128t - 3e - 128*floor(e/64) or i <= -2 + m and "
        "12*floor((-4 + i - 4t)/12) <= -8 + i - 4t and 33 - m + 32t + 32*floor((-4 + i - 4t)/12) "
        "<= 32*floor(i/4) and 32*floor(i/4) <= 62 - i + 32t + 32*floor((-4 + i - 4t)/12)) }"
    )
    given = isl.Set("[n, m, i] -> { : 0 <= i <= m - 2 and i < n }")
    monkeypatch.setattr(checked_scan, "_LAST", 50_000)
    with at_most(10 * slow(), "giving it up"), pytest.raises(TooLongError):
        checked_scan.scan(tiles, given, ("c",))


def test_limits_inside_count_for_those_around() -> None:
    """However often steps are counted from 0 on the way."""
    with pytest.raises(TooLongError), bounded(20_000):
        for _ in range(100):
            with bounded(10_000):
                isl.Set("{ [i] : 0 <= i < 10 }").complement()
    assert isl.DEFAULT_CONTEXT.get_max_operations() == 0


def test_steps_are_counted_to_a_third() -> None:
    for work in (300, 5_000, 200_000):
        start = steps()
        for _ in range(work):
            isl.Val(1)
        assert 0.6 * work < steps() - start < 1.6 * work


def test_values_of_many_cases_with_floors_are_not_compared_in_limited_time() -> None:
    cases = " or ".join(f"(m = {2 * k} and n mod 7 < 3)" for k in range(70))
    many = isl.PwAff(f"[n, m] -> {{ [] -> [(n)] : {cases} }}")
    assert few_cases(many) is many
    with hurried(600), pytest.raises(TooLongError):
        few_cases(many)
    with hurried(600):
        few_cases(isl.PwAff("[n] -> { [] -> [(n)] : n mod 2 = 0; [] -> [(0)] : n mod 2 = 1 }"))


@pytest.mark.parametrize("local", [True, False], ids=["locals", "elements"])
def test_values_that_double_are_not_put_in_place_for_ever(tmp_path: Path, local: bool) -> None:
    """Each is read twice for the next: 2^60 parts of the last, whose largest is looked for."""
    names = [f"t{k}" if local else f"t[{k}]" for k in range(61)]
    steps = "".join(f"        {'double ' * local}{b} = {a} * {a} + {a};\n" for a, b in pairwise(names))
    source = tmp_path / "doubling.c"
    source.write_text(
        "void f(int n, double x[restrict n], double t[restrict 61], double best[restrict 1]) {\n"
        "#pragma scop\n"
        "    for (int i = 0; i < n; i++) {\n"
        f"        {'double ' * local}{names[0]} = x[i];\n{steps}"
        f"        if ({names[-1]} > best[0]) best[0] = {names[-1]};\n"
        "    }\n"
        "#pragma endscop\n"
        "}\n"
    )
    with at_most(20 * slow(), "compiling it"):
        assert compile_file(str(source), Options(target="emulator", device="generic")).regions


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "found"])
def test_a_region_that_takes_isl_too_long_is_the_host_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marked: bool
) -> None:
    monkeypatch.setattr(pipeline, "_LEAST", 0.002)
    monkeypatch.setattr(pipeline, "_PATIENCE", 0)
    source = tmp_path / "skewed.c"
    source.write_text(
        SKEWED if marked else SKEWED.replace("#pragma scop\n", "").replace("#pragma endscop\n", "")
    )
    with pytest.raises(Diagnosed) as error:  # nothing is left
        compile_file(str(source), Options(target="emulator"))
    first = error.value.diagnostics[0]
    assert first.id == ("PG314" if marked else "PG181")
    (found,) = (first,) if marked else first.notes
    assert found.id == "PG314" and "longer than --time-budget" in found.message


def test_a_region_without_what_takes_too_long_to_choose(tmp_path: Path) -> None:
    source = tmp_path / "skewed.c"
    source.write_text(SKEWED)

    def choose(*_: Any) -> Any:
        raise TooLongError("too many steps")

    made = File(str(source), options := Options(target="emulator"), choose).realise((), {})
    assert made.regions[0].region == compile_file(str(source), options).regions[0].region
    assert not made.regions[0].chosen


def test_fewer_sizes_where_those_that_are_bad_take_isl_long() -> None:
    most, quotient = 2**31 - 32784, "32*floor((8 - n + e0)/32)"
    bad = isl.Set(
        f"[n, m] -> {{ : exists (e0: e0 < m and e0 <= 2n - {most} and {quotient} >= -19 - e0 and"
        f" {quotient} >= {most} - n - 2e0 and {quotient} <= 12 - e0 and {quotient} <= 31 + n - 3e0) }}"
    )
    with at_most(5 * slow(), "subtracting them"):
        left = _without(isl.Set("[n, m] -> { : }"), bad)
    assert left.intersect(isl.Set("[n, m] -> { : n > 1431655800 and 2m > n }")).is_empty()
    assert isl.Set("[n, m] -> { : n < 1000000 }").is_subset(left)


def test_kernels_that_are_intricate_give_way_to_simpler_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "lu.c"
    source.write_text(LU)
    options = Options(target="emulator", device="h100")
    steps_together = compile_file(str(source), options).regions[0]
    assert len(steps_together.region.kernels) > 2 and not is_intricate(steps_together.region)
    monkeypatch.setattr(intricate, "_KERNEL", 30)
    monkeypatch.setattr(intricate, "_STORE", 0)
    monkeypatch.setattr(intricate, "_FOUND", Recent(512))
    assert is_intricate(steps_together.region)
    simpler = compile_file(str(source), options).regions[0]
    assert len(simpler.region.kernels) == 2 and not is_intricate(simpler.region)
    assert not certify(simpler).unproved and not certify(simpler).failures
    replayed = replace(options, replayed=listing(simpler.taken))
    assert compile_file(str(source), replayed).regions[0].region == simpler.region
    asked = replace(options, decisions=("batch(k: 32)",))
    assert is_intricate(compile_file(str(source), asked).regions[0].region)


def test_loops_over_quotients_of_large_numbers_are_given_up() -> None:
    hard = (
        "0 <= p < 1900 and -119 + p - 2a <= 1900b <= -101 + p - 2a and -5100 + 50p - 101a <= 95950b and"
        " 95950b <= -5078 + 50p - 101a and -10318 + 101p - 204a <= 193819b <= -10302 + 101p - 204a"
    )
    digits = "0 <= a < 97 and 0 <= b < 97 and -96 + p - 10000a <= 100b <= p - 10000a"
    schedules = [isl.UnionMap(f"[p] -> {{ S[p] -> [0] : exists (a, b: {text}) }}") for text in (hard, digits)]
    context = isl.Set("[p] -> { : 0 <= p < 2000000 }")
    with at_most(5 * slow(), "finding no code"), pytest.raises(TooLongError):
        checked_scan.scan(schedules[0], context, ("c",))
    assert checked_scan.scan(schedules[1], context, ("c",))
