"""Loops from sets: interpreted, they visit the set's points in order."""

from __future__ import annotations

from itertools import product

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygpu.lower.checked_scan import scan
from polygpu.lower.checked_scan import tested as guarded_scan
from polygpu.lower.scan import (
    Scan,
    ScanBlock,
    ScanFor,
    ScanIf,
    ScanLeaf,
    value_of,
)
from polygpu.lower.scan import test_of as scan_test
from polygpu.perf.lanes import uniform
from polygpu.support.isl_idioms import maps, set_options
from tests.unit.frontend_text import shown

Visit = tuple[str, tuple[int | None, ...]]


def visits(tree: Scan, values: dict[str, int]) -> list[Visit]:
    """The statement instances that the code runs."""
    match tree:
        case ScanBlock(children):
            return [v for c in children for v in visits(c, values)]
        case ScanFor(index, lower, upper, step, body):
            low, high = uniform(lower, values), uniform(upper, values)
            assert low is not None
            assert high is not None
            return [v for x in range(low, high, step) for v in visits(body, {**values, index: x})]
        case ScanIf(test, then, otherwise):
            if uniform(test, values):
                return visits(then, values)
            return visits(otherwise, values) if otherwise else []
        case ScanLeaf(statement, arguments):
            return [(statement, tuple(uniform(a, values) for a in arguments))]


def expected(schedule: isl.UnionMap, n: int) -> list[Visit]:
    """The same by enumeration."""
    points: list[tuple[tuple[int, ...], Visit]] = []
    bound = schedule.intersect_params(isl.Set(f"[n] -> {{ : n = {n} }}"))

    def collect(point: isl.Point) -> None:
        instance = isl.Map(str(isl.UnionSet.from_point(point).unwrap()))
        name = instance.get_tuple_name(isl.dim_type.in_)
        inside, order = instance.domain().sample_point(), instance.range().sample_point()
        points.append((_coordinates(order), (name, _coordinates(inside))))

    bound.wrap().foreach_point(collect)
    return [visit for _, visit in sorted(points)]


def _coordinates(point: isl.Point) -> tuple[int, ...]:
    count = point.get_space().dim(isl.dim_type.set)
    return tuple(point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(count))


@pytest.mark.parametrize(
    "schedule",
    [
        "S[i, j] -> [i, j] : 0 <= i < n and 0 <= j <= i",
        "S[i, j] -> [i + j, i] : 0 <= i < n and 0 <= j < n",
        "S[i] -> [-i] : 0 <= i < n",
        "S[i] -> [i] : 1 <= i < n and exists a: i = 3a + 1",
        "S[i] -> [i, 0] : 0 <= i < n; T[i] -> [i, 1] : 2 <= i < n - 1",
        "S[i, j] -> [floor(i/4), j, i] : 0 <= i < n and 0 <= j < 3",
        "S[i] -> [i] : i = n - 2",
        "S[i, j] -> [i, j] : 0 <= i < n and max(0, i - 2) <= j < min(n, i + 2)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_visits_in_order(schedule: str, n: int) -> None:
    set_options()
    union = isl.UnionMap(f"[n] -> {{ {schedule} }}")
    tree = scan(union, isl.Set("[n] -> { : n >= 0 }"), ("a", "b", "c"))
    assert visits(tree, {"n": n}) == expected(union, n)


def _instance(values: dict[str, int], union: isl.UnionMap) -> list[Visit]:
    """What `expected` enumerates, for given values of all parameters."""
    names = ", ".join(values)
    fixed = " and ".join(f"{k} = {v}" for k, v in values.items())
    return expected(union.intersect_params(isl.Set(f"[{names}] -> {{ : {fixed} }}")), values["n"])


TURNS = (
    "[n, p] -> {"
    " S1[i, j = p + 2i] -> [1 - n + 4i, 0, 1] : 0 <= i < n and -1 - p <= 2i < n - p;"
    " S0[i] -> [-1 + 2i, 0, 0] : p = 0 and 0 <= i < n;"
    " S4[i, j] -> [2i, 4 - 2n + 2j, 4] : p = 0 and 0 <= i < n and -1 <= j < n;"
    " S2[i, j = -2 + n] -> [2i, -1, 2] : p = 0 and 0 <= i < n;"
    " S3[i, j = -2 - p] -> [2 - n + 4i, 0, 3] : -n < p < 0 and 0 <= i < n }"
)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_statements_that_take_turns_in_strides(n: int) -> None:
    """isl's own code executes S1 three steps early wherever it shares a loop with S0 and S4."""
    set_options()
    union = isl.UnionMap(TURNS)
    tree = scan(union, isl.Set("[n, p] -> { : n > 0 and -2n <= p < n }"), ("a", "b", "c"))
    for p in range(-2 * n, n):
        assert visits(tree, {"n": n, "p": p}) == _instance({"n": n, "p": p}, union)


HALVES = (
    "[p, k, j] -> {"
    " S1[j' = j, k' = k] -> [3, 2] : p = 2 and 0 <= k <= 4 and 0 <= j <= 8;"
    " S0[j' = j, k'] -> [12 - p - j, 0] :"
    "  k = 0 and 2k' = 10 - p - j and 2 - p <= j <= 10 - p and 0 <= j <= 8;"
    " S3[j' = 3 - k, k' = -3 + p + k] -> [p, 1] : j = 3 - k and k >= -5 and 3 - p <= k <= 7 - p and k <= 3 }"
)


@pytest.mark.parametrize(("k", "j"), [(0, 6), (0, 3), (1, 6)])
def test_instances_at_half_of_what_loops_around_them_say(k: int, j: int) -> None:
    """isl's own code executes S0[6, 1] before S1[6, 0] at p = 2."""
    set_options()
    union = isl.UnionMap(HALVES)
    context = isl.Set(
        "[p, k, j] -> {"
        " : -5 <= k <= 4 and 0 <= j <= 8 and -k <= j and p >= -j and -6 <= p <= 12 and -6-k <= p <= 10-k }"
    )
    tree = scan(union, context, ("a", "b"))
    for p in range(-6, 11 - k):
        values = {"p": p, "k": k, "j": j}
        assert visits(tree, values) == _instance({"n": 0, **values}, union)


@given(
    rows=st.lists(
        st.tuples(st.integers(-3, 3), st.integers(-4, 4), st.integers(-1, 1)), min_size=2, max_size=3
    ),
    halves=st.lists(
        st.tuples(st.integers(1, 3), st.integers(-1, 1), st.integers(-6, 6)), min_size=3, max_size=3
    ),
)
@settings(deadline=None, max_examples=60)
def test_any_instances_at_parts_of_what_loops_around_them_say(
    rows: list[tuple[int, int, int]], halves: list[tuple[int, int, int]]
) -> None:
    set_options()
    union = isl.UnionMap("[n, p] -> { }")
    for k, ((factor, offset, skew), (stride, of, first)) in enumerate(zip(rows, halves, strict=False)):
        where = f"0 <= i < n and {stride}i = {of}p + {first}"
        piece = f"S{k}[i] -> [{factor}i + {offset} + {skew}p, {k}] : {where}"
        union = union.union(isl.UnionMap(f"[n, p] -> {{ {piece} }}"))
    tree = scan(union, isl.Set("[n, p] -> { : n >= 0 and -6 <= p <= 6 }"), ("a", "b"))
    for n in (1, 6):
        for p in (-3, 0, 2):
            assert visits(tree, {"n": n, "p": p}) == _instance({"n": n, "p": p}, union)


TWICE = (
    "[k, c, j] -> {"
    " S6[x = -1 + c, y = j] -> [c, 2] : k = 2 and 0 <= c <= 4 and c <= j <= 2 + c;"
    " S5_2[x = 3, y = 5] -> [5, 3] : k = 4 and c = 0 and j = 6;"
    " S5_2[x = 2, y = 3] -> [5, 3] : k = 3 and c = 0 and j = 5;"
    " S5_2[x = -3 + k, y = -5 + 2k] -> [5, 3] : c = 0 and j = k and 3 <= k <= 4;"
    " S8_1[x = -1, y = 1 - c] -> [2 - 2c, 1] : k = 2 and j = 2 and 0 <= c <= 1;"
    " S8_1[x = -3 + k, y = -1 + k - c] -> [-2 + 2k - 2c, 1] :"
    "  j = k and k <= 6 and 0 <= c <= 1 and c <= -3 + k;"
    " S8_0[x = -3 + k, y = k] -> [1, 0] : c = 0 and j = 2 and 2 <= k <= 6 }"
)


TWICE_CONTEXT = "[c, j, k] -> { : 0 <= c <= 4 and c <= j <= 6 and 2 <= k <= 6 and k <= 4 + j }"


@pytest.mark.parametrize("guarded", [False, True])
def test_places_at_twice_what_loops_around_them_say(guarded: bool) -> None:
    """isl's own code executes S8_1 at 6 before S5_2 at 5 where j = 4, and that for hulls does, too."""
    set_options()
    union = isl.UnionMap(TWICE)
    context = isl.Set(TWICE_CONTEXT).params()
    if guarded:
        times = {m.get_tuple_name(isl.dim_type.in_): m.range() for m in maps(union)}
        tree = guarded_scan(union, times, context, context, ("a", "b"))
    else:
        tree = scan(union, context, ("a", "b"))
    for c, j, k in product(range(5), range(7), range(2, 7)):
        if c <= j and k <= 4 + j:
            values = {"c": c, "j": j, "k": k}
            assert visits(tree, values) == _instance({"n": 0, **values}, union)


BETWEEN = (
    "[p, q] -> {"
    " S3[0, 0, 4] -> [-2 + p, 3 - p, 3] : p >= 0 and 0 <= q <= 1;"
    " S0[i, 0, 0] -> [1 + q - i, 3, 0] : q >= 0 and i >= p - q and -9 <= i <= 1;"
    " S2[i, 0, 3] -> [3 - p - i, 5 - q - i, 2] : 0 <= q <= 2 and i >= p - q and -9 <= i <= 3 }"
)


def test_statements_between_others_without_a_stride() -> None:
    """isl's own code executes S2[1, 0, 3] at (2, 2) behind S0[1, 0, 0] at (2, 3) where p = 0 and q = 2."""
    set_options()
    union = isl.UnionMap(BETWEEN)
    tree = scan(
        union, isl.Set("[p, q] -> { : 0 <= p <= 5 and 0 <= q and 2 - p <= q <= 5 }").params(), ("a", "b", "c")
    )
    for p, q in product(range(6), range(6)):
        if p + q >= 2:
            assert visits(tree, {"p": p, "q": q}) == _instance({"n": 0, "p": p, "q": q}, union)


@st.composite
def schedules(draw: st.DrawFn) -> str:
    """Of two to four statements with two iterators, at two sums of them and of what loops around them say."""
    unit, few = st.sampled_from((-1, 0, 0, 1)), st.integers(-4, 5)
    ends = ("0", "p", "q", "-1", "p - q"), ("p", "q", "3", "p + q", "4", "q + 1")
    pieces: list[str] = []
    for k in range(draw(st.integers(2, 4))):
        places = [
            f"{draw(unit)}p + {draw(unit)}q + {draw(unit)}i + {draw(unit)}j + {draw(few)}" for _ in range(2)
        ]
        limits = [
            f"{draw(st.sampled_from(ends[0]))} <= {x} <= {draw(st.sampled_from(ends[1]))}" for x in "ij"
        ]
        which = st.sampled_from(
            ("j = 0", "i = 1", "p = 2", "q = 1", "p = q", "i = p - 1", "j >= 0", "q >= 2")
        )
        where = " and ".join([*limits, draw(which), "-9 <= i <= 9", "-9 <= j <= 9"])
        pieces.append(f"S{k}[i, j] -> [{', '.join(places)}, {k}] : {where}")
    return f"[p, q] -> {{ {'; '.join(pieces)} }}"


@given(schedules())
@settings(deadline=None, max_examples=80)
def test_any_statements_at_sums_of_what_loops_around_them_say(schedule: str) -> None:
    set_options()
    union = isl.UnionMap(schedule)
    if not all(m.is_injective() for m in maps(union)):
        return  # instances at one place have no order
    tree = scan(union, isl.Set("[p, q] -> { : 0 <= p, q <= 4 }").params(), ("a", "b", "c"))
    for p, q in product(range(5), range(5)):
        assert visits(tree, {"p": p, "q": q}) == _instance({"n": 0, "p": p, "q": q}, union)


@given(
    places=st.lists(
        st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-6, 6)), min_size=2, max_size=4
    ),
    ends=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=4, max_size=4),
)
@settings(deadline=None, max_examples=60)
def test_any_places_that_loops_around_tell(
    places: list[tuple[int, int, int]], ends: list[tuple[int, int]]
) -> None:
    set_options()
    union = isl.UnionMap("[n, p, q] -> { }")
    for k, ((of_p, of_q, first), (low, count)) in enumerate(zip(places, ends, strict=False)):
        where = f"{low} <= p < {low + count + 1} and 0 <= q <= {count} and i = 0"
        piece = f"S{k}[i] -> [{of_p}p + {of_q}q + {first}, {k}] : {where}"
        union = union.union(isl.UnionMap(f"[n, p, q] -> {{ {piece} }}"))
    tree = scan(union, isl.Set("[n, p, q] -> { : 0 <= p, q <= 6 }"), ("a", "b"))
    for p, q in product(range(6), range(4)):
        values = {"n": 0, "p": p, "q": q}
        assert visits(tree, values) == _instance(values, union)


@given(
    rows=st.lists(st.tuples(st.integers(-4, 4).filter(bool), st.integers(-5, 5)), min_size=2, max_size=4),
    strides=st.lists(st.integers(1, 4), min_size=4, max_size=4),
)
@settings(deadline=None, max_examples=60)
def test_any_strides_of_several_statements(rows: list[tuple[int, int]], strides: list[int]) -> None:
    set_options()
    union = isl.UnionMap("[n] -> { }")
    for k, ((factor, offset), stride) in enumerate(zip(rows, strides, strict=False)):
        end = " - n" if k % 2 else ""
        piece = f"S{k}[i] -> [{factor}i + {offset}{end}, {k}] : 0 <= i < n and i mod {stride} = 0"
        union = union.union(isl.UnionMap(f"[n] -> {{ {piece} }}"))
    tree = scan(union, isl.Set("[n] -> { : n >= 0 }"), ("a", "b"))
    for n in (0, 1, 5, 12):
        assert visits(tree, {"n": n}) == expected(union, n)


def test_names_of_loops() -> None:
    square = isl.UnionMap("[n] -> { S[i, j] -> [i, j] : 0 <= i, j < n }")
    tree = scan(square, isl.Set("[n] -> { : }"), ("outer", "inner"))
    assert isinstance(tree, ScanFor)
    assert isinstance(tree.body, ScanFor)
    assert (tree.index, tree.body.index) == ("outer", "inner")


def test_values_and_tests_use_the_context() -> None:
    context = isl.Set("[n, b] -> { : 0 <= b and b + 8 <= n }")
    assert shown(value_of(isl.PwAff("[n, b] -> { [(min(n, b + 8))] }"), context)) == "(b + 8)"
    assert scan_test(isl.Set("[n, b] -> { : b < n }"), context) is None
    left = scan_test(isl.Set("[n, b] -> { : b + 16 <= n and b >= 0 }"), context)
    assert left is not None
    for n, b in ((16, 0), (15, 0), (40, 24), (40, 25)):
        assert bool(uniform(left, {"n": n, "b": b})) == (b + 16 <= n)


def test_negative_quotients_round_down() -> None:
    value = value_of(isl.PwAff("[n] -> { [(floor((n - 5)/4))] }"), isl.Set("[n] -> { : }"))
    assert [uniform(value, {"n": n}) for n in (0, 1, 4, 5, 9)] == [-2, -1, -1, 0, 1]
