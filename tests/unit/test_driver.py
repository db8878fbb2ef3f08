"""From dependences to host programs: which schedule wins, and what happens without any."""

from __future__ import annotations

from itertools import product
from time import process_time

import islpy as isl
import pytest

from polygpu.schedule import bands, driver
from polygpu.schedule.tree import describe
from polygpu.support.isl_idioms import maps
from polygpu.support.recent import Recent
from tests.legality import broken
from tests.processor import at_most
from tests.unit.middle import MATRICES, VECTORS, expanded, host_text, scheduled

PRODUCT = (
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
    " for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j];"
)
SQUARES = "int n, int m, float A[restrict n][n], float B[restrict n][m], float C[restrict n][m]"


def test_products_have_two_parallel_dimensions() -> None:
    assert host_text(SQUARES, PRODUCT) == ["kernel [S0: i | S0: j]", "  loop [S0: k]", "    S0"]


def test_adjacent_schedule_of_a_transposed_product() -> None:
    """ICS'08's tmv: time j, space i."""
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i] += A[j][i] * y[j];"
    p, found = scheduled("int n, int m, float A[m][n], float x[restrict n], float y[restrict m]", body)
    ((names, solution),) = found.adjacent
    assert names == ("S0",)
    assert solution is not None
    assert describe(found.host) == ["kernel [S0: i]", "  loop [S0: j]", "    S0"]
    assert broken(p, found.host) == []


def test_components_follow_their_dependences() -> None:
    body = "for (int i = 0; i < n; i++) { y[i] = x[i]; z[i] = y[0] + y[i]; }"
    p, found = scheduled(VECTORS, body)
    assert describe(found.host) == ["sequence", "  kernel [S0: i]", "    S0", "  kernel [S1: i]", "    S1"]
    assert broken(p, found.host) == []


def test_the_source_order_where_isl_has_no_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise isl.Error("unable to carry dependences")

    monkeypatch.setattr(bands, "schedule", refuse)
    monkeypatch.setattr(driver, "_solve", lambda *_: None)
    body = "for (int i = n - 2; i >= 0; i--) { x[i] += x[i + 1]; for (int j = 0; j < i; j++) x[j] += x[i]; }"
    p, found = scheduled(VECTORS, body)
    assert describe(found.tree) == [
        "loop [S0: -i; S1: -i]", "  sequence", "    S0", "    loop [S1: j]", "      S1",
    ]  # fmt: skip
    assert broken(p, found.host) == []


def test_isl_is_not_asked_about_large_problems() -> None:
    """40 statements in 3 loops, 200 dependences: isl might take hours, and counts no steps on the way."""
    domain = isl.UnionSet("{ " + "; ".join(f"S{k}[i, j, l]" for k in range(40)) + " }")
    pairs = [(k, (k + d) % 40) for k in range(40) for d in range(1, 6)]
    validity = isl.UnionMap("{ " + "; ".join(f"S{a}[i, j, l] -> S{b}[i + 1, j, l]" for a, b in pairs) + " }")
    with pytest.raises(isl.Error, match="too many"):
        bands.schedule(domain, isl.Set("{ : }"), validity, validity)


def test_isl_is_stopped_when_time_is_up() -> None:
    """12 statements whose dependences differ in each dimension: a large problem, in no time and in enough."""
    domain = isl.UnionSet("{ " + "; ".join(f"S{k}[i, j, l]" for k in range(12)) + " }")
    pairs = [(k, (k + d) % 12) for k in range(12) for d in range(1, 6)]
    validity = isl.UnionMap("{ " + "; ".join(f"S{a}[i, j, l] -> S{b}[i + 1, j, l]" for a, b in pairs) + " }")
    with pytest.raises(TimeoutError):
        bands.schedule(domain, isl.Set("{ : }"), validity, validity, 0.0)
    here = bands.schedule(domain, isl.Set("{ : }"), validity, validity)
    there = bands.schedule(domain, isl.Set("{ : }"), validity, validity, 600.0)
    assert describe(there) == describe(here)


def test_constant_bounds_do_not_keep_isl_busy() -> None:
    """Two stars in three dimensions, where no bound names the parameter: isl never came to an end."""
    box = "0 < t <= 100 and 0 < i <= 398 and 0 < j <= 398 and 0 < k <= 398"
    domain = isl.UnionSet(f"[n] -> {{ S0[t, i, j, k] : {box}; S1[t, i, j, k] : {box} }}")
    signs = [(a, b, c) for a in (1, -1) for b in (1, -1) for c in (1, -1)]
    star = " and ".join(f"{a} * (u - i) + {b} * (v - j) + {c} * (w - k) <= 1" for a, b, c in signs)
    turns = ("S0", "S1", "t"), ("S1", "S0", "t + 1")
    moves = [f"{a}[t, i, j, k] -> {b}[{then}, u, v, w] : {star}" for a, b, then in turns]
    same = [f"{s}[t, i, j, k] -> {s}[t + 1, i, j, k]" for s in ("S0", "S1")]
    every = isl.UnionMap(f"[n] -> {{ {'; '.join((*moves, *same))} }}")
    validity = every.intersect_domain(domain).intersect_range(domain).coalesce()
    found = bands.permutable(domain, isl.Set("[n] -> { : }"), validity, 5.0)
    assert describe(found)[0] == (
        "band (permutable) [S0: t; S1: t | S0: 2t + i; S1: 1 + 2t + i | S0: 2t + j; S1: 1 + 2t + j"
        " | S0: 2t + k; S1: 1 + 2t + k]"
    )


def test_bounds_that_take_long_to_leave_out_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """isl may take as long for simpler dependences as for a schedule."""
    domain = isl.UnionSet("{ S0[t, i, j] : 0 < t <= 9 and 0 < i <= 98 and 0 < j <= 98 }")
    moves = [f"S0[t, i, j] -> S0[t + 1, i + {a}, j + {b}]" for a in (-1, 0, 1) for b in (-1, 0, 1)]
    every = isl.UnionMap(f"{{ {'; '.join(moves)} }}").intersect_domain(domain).intersect_range(domain)
    asked = domain, isl.Set("{ : }"), every

    def slow(dependences: isl.UnionMap, domain: isl.UnionSet) -> isl.UnionMap:
        end = process_time() + 30
        while process_time() < end:
            pass
        return dependences

    expected = describe(bands.permutable(*asked, 5.0))
    monkeypatch.setattr(bands, "_unbounded", slow)
    monkeypatch.setattr(bands, "_FOUND", Recent(1))
    with at_most(10, "a schedule"):
        assert describe(bands.permutable(*asked, 5.0)) == expected


def test_dense_dependences_are_scheduled_by_their_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    """isl's dual of a ball within bounds takes a second, those of its translations some milliseconds."""
    inside = " and ".join(f"0 < {i} < n - 1" for i in "ijk")
    domain = isl.UnionSet(f"[n] -> {{ A[t, i, j, k] : {inside}; B[t, i, j, k] : {inside} }}")
    near = [move for move in product((-1, 0, 1), repeat=3) if sum(map(abs, move)) < 2]
    there = [f"A[t, i, j, k] -> B[t, i + {a}, j + {b}, k + {c}]" for a, b, c in near]
    back = [f"B[t, i, j, k] -> A[t + 1, i + {a}, j + {b}, k + {c}]" for a, b, c in near]
    every = isl.UnionMap(f"{{ {'; '.join((*there, *back))} }}")
    every = every.intersect_domain(domain).intersect_range(domain).coalesce()
    assert [m.n_basic_map() for m in maps(every)] == [1, 1]
    apart = bands.by_distance(every)
    assert apart.is_equal(every)
    assert [m.n_basic_map() for m in maps(apart)] == [7, 7]
    asked = domain, isl.Set("[n] -> { : n > 2 }"), every, every
    with at_most(0.5, "a schedule"):
        found = describe(bands.schedule(*asked))
    monkeypatch.setattr(bands, "_FOUND", Recent(1))
    monkeypatch.setattr(bands, "by_distance", lambda dependences: dependences)
    assert found == describe(bands.schedule(*asked))


def test_no_search_without_time() -> None:
    p, d, _ = expanded(SQUARES, PRODUCT)
    found = driver.schedule(p, d, budget=-1)
    assert found.unsearched == ("S0",)
    assert [solution for _, solution in found.adjacent] == [None]
    assert broken(p, found.host) == []


def test_fewer_sequential_loops_are_an_improvement() -> None:
    """A row at a time against both dimensions at once; nothing improves on itself."""
    by_rows = scheduled(
        SQUARES, "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = A[i - 1][j];"
    )
    at_once = scheduled(SQUARES, "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = B[i][j];")
    chain = scheduled(SQUARES, "for (int i = 1; i < n; i++) A[0][i] += A[0][i - 1];")
    deep = scheduled(
        SQUARES,
        "for (int i = 0; i < n; i++) for (int j = 1; j < n; j++) for (int k = 1; k < n; k++)"
        " A[i][j] += A[i][j - 1] * A[i][k];",
    )
    rows, whole, alone, row = (driver.lacks(*found) for found in (by_rows, at_once, chain, deep))
    assert rows == whole == {"S0": (0, 0)}  # as much to read as to compute
    assert (alone, row) == ({"S0": (float("inf"), 0)}, {"S0": (0, 1)})
    for found in (rows, alone, row):
        assert not driver.improves(found, found)
    assert driver.improves(whole, row) and driver.improves(row, alone)
    assert not driver.improves(alone, whole)


def test_the_checker_sees_what_is_broken() -> None:
    """A schedule for independent iterations is illegal for a recurrence."""
    _, parallel = scheduled(VECTORS, "for (int i = 1; i < n; i++) x[i] = y[i];")
    recurrence, _ = scheduled(VECTORS, "for (int i = 1; i < n; i++) x[i] = x[i - 1];")
    assert broken(recurrence, parallel.host) == [
        "a dependence between two points of a kernel",
        "a point's work out of order",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 1; i < n; i++) for (int j = 1; j < m; j++) A[i][j] = A[i - 1][j] + A[i][j - 1];",
        "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) A[i][j] = A[j][i] + B[i][j];",
        "for (int i = 0; i < n; i++) { A[i][0] = 0; for (int j = 0; j < m; j++) A[i][0] += B[i][j]; }",
        "for (int t = 0; t < 5; t++) for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)"
        " A[i][j] = A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1];",
        "float t = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { t += A[i][j]; B[i][j] = t; }",
    ],
)  # fmt: skip
def test_legal(body: str) -> None:
    p, found = scheduled(MATRICES, body)
    assert broken(p, found.host) == []
