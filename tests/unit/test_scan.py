"""Loops from sets: interpreted, they visit the set's points in order."""

from __future__ import annotations

import islpy as isl
import pytest

from polygpu.codegen.lanes import uniform
from polygpu.codegen.lower.scan import (
    Scan,
    ScanBlock,
    ScanFor,
    ScanIf,
    ScanLeaf,
    scan,
    value_of,
)
from polygpu.codegen.lower.scan import test_of as scan_test
from polygpu.support.isl_idioms import set_options
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
