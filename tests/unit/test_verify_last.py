"""The last of several writes, against enumeration."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
import pytest

from polygpu.support.isl_idioms import TooLongError, steps
from polygpu.support.recent import Recent
from polygpu.verify import last
from polygpu.verify.last import latest

ORDER = "{ [v, w] -> [9, v, 3, w, 1] }"
# staged in turns of 64, of which every third element is written
PAIRS = """[n, t, b, m] -> {
    [] -> [v, w] : v mod 64 = 0 and (v + 64w) mod 192 = 0 and 0 <= t <= 63 and b >= 0 and m > t + 64b
                   and v >= 64 and w <= 62 and w <= 3n - 3 - v and 3*floor((1 + v)/3) <= v + w;
    [] -> [0, w] : w mod 3 = 0 and 0 <= t <= 63 and b >= 0 and m > t + 64b and 0 <= w <= 60 and w <= 3n - 3 }
"""


def enumerated(n: int) -> tuple[int, int]:
    found = [
        (v, w)
        for v in range(0, 3 * n + 3, 64)
        for w in range(-2, 63)
        if (v + w) % 3 == 0 and 3 * ((1 + v) // 3) <= v + w <= 3 * n - 3
    ]
    return max(found)


@pytest.mark.parametrize("n", [1, 5, 21, 22, 23, 64, 65, 86, 130])
def test_the_last_write_of_a_staged_tile(n: int) -> None:
    fixed = isl.Set(f"[n, t, b, m] -> {{ : n = {n} and t = 1 and b = 0 and m = 5 }}")
    pairs = isl.Map(PAIRS).intersect_params(fixed)
    order = isl.Map(ORDER)
    v, w = enumerated(n)
    expected = isl.Map(f"[n, t, b, m] -> {{ [] -> [{v}, {w}] }}").intersect_params(fixed)
    assert latest(pairs, order).is_equal(expected)


@pytest.mark.parametrize(
    "pairs",
    [
        "{ [i] -> [i, 3]; [i] -> [j, k] : 0 <= j < i and 0 <= k <= 3 }",  # always in the same iteration
        "{ [i] -> [i, 3] : i mod 2 = 0; [i] -> [j, k] : 0 <= j < i and 0 <= k <= 3 }",  # or an earlier one
        "{ [i] -> [0, 0]; [i] -> [j, k] : 0 <= j < i and 0 <= k <= 3 }",  # one that is mostly followed
        "{ [i] -> [i, 0]; [i] -> [i, 2] : i > 3; [i] -> [j, 3] : 0 <= j < i }",  # of two, the second
    ],
)
def test_the_last_write_may_be_of_the_same_iteration(pairs: str) -> None:
    found = latest(isl.Map(pairs).intersect_domain(isl.Set("{ [i] : 0 <= i < 9 }")), isl.Map(ORDER))
    for i in range(9):
        of_one = isl.Map(pairs).intersect_domain(isl.Set(f"{{ [{i}] }}"))
        assert found.intersect_domain(isl.Set(f"{{ [{i}] }}")).is_equal(of_one.lexmax())


def test_a_maximum_that_takes_long_is_looked_for_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process that ends in time; without an answer the last write is found all the same."""
    pairs, order = isl.Map(PAIRS), isl.Map(ORDER)
    expected = latest(pairs, order)
    monkeypatch.setattr(last, "_FLOORS", 0)
    assert latest(pairs, order).is_equal(expected)
    monkeypatch.setattr(last, "_SECONDS", 0)
    assert latest(pairs, order).is_equal(expected)


def test_a_search_for_a_maximum_ends() -> None:
    """isl looks for the one of these times for half a minute, in 3 million steps."""
    times = isl.Map("""[n, t0, b0, t2, t1, b2, b1] -> {
        [] -> [5, v, 0, 0, 0, 0, 3, 0, 0, 0, 0, w, 0, x, 2, 0, 1] :
            t0 = 0 and b0 = 0 and t2 = 0 and t1 = 0 and b2 = 0 and b1 = 0
            and x mod 3 = 0 and w mod 2 = 0 and (v - 128w) mod 12288 = 0
            and n <= 513 and 0 <= v <= 256 and v <= 128w <= 24448 + v and 0 <= x <= 95
            and 12288*floor((128n - 129v)/12288) >= -12160 + 128n - 129v
            and 12288*floor((128n - 129v)/12288) >= 128 - v + 128w }""")
    start = steps()
    last._maximum(times)
    assert steps() - start < 1_000_000


# tiles of 16 in which 4 at a time are summed up, from the diagonal on
TILES = """[n] -> {
    [v] -> [9, v, x, 1, y] : 0 <= v < n and x mod 16 = 0 and y mod 4 = 0 and v < x <= n - 16 and 0 <= y <= 12;
    [v] -> [9, v, x, 1, y] : 0 <= v < n and x mod 16 = 0 and y mod 4 = 0 and x > v and n - 15 <= x < n
        and 0 <= y <= 12 and y < 4*floor((n - x)/4);
    [v] -> [9, v, x, 1, y] : 0 <= v < n and x mod 16 = 0 and (y - v) mod 4 = 1 and x <= v and y > v - x
        and x >= 16*floor((v + 1)/16) and y < 4*floor((n - v - 1)/4) + v - x
        and y <= 4*floor((x - v - 1)/4) + 15;
    [v] -> [9, v, 0, 1, y] : v = 7 and n > 20 and y = 0 }"""


def test_the_greatest_of_times_by_one_dimension_after_the_other() -> None:
    times = isl.Map(TILES)
    found = last._maximum(times)
    assert found.n_basic_map() <= 6
    for n in (11, 16, 17, 31, 38):
        of_n = isl.Set(f"[n] -> {{ : n = {n} }}")
        every: dict[tuple[int, ...], tuple[int, ...]] = {}
        for read, time in _pairs(times.intersect_params(of_n)):
            every[read] = max(time, every.get(read, time))
        assert every
        assert dict(_pairs(found.intersect_params(of_n))) == every


def _pairs(relation: isl.Map) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    count = relation.dim(isl.dim_type.in_)
    points: list[isl.Point] = []
    relation.wrap().foreach_point(points.append)
    width = count + relation.dim(isl.dim_type.out)
    at = [tuple(p.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(width)) for p in points]
    return [(x[:count], x[count:]) for x in at]


WRITES = {  # each read i of an element, and the executions of one write of it before that
    "a": "{ [i] -> [v, w] : 0 <= w <= 3 and v mod 2 = 0 and 0 <= v <= i }",
    "b": "{ [i] -> [v, w] : w = 2 and v mod 3 = 0 and 0 <= v < i; [i] -> [0, 1] : i mod 4 = 1 }",
    "c": "{ [i] -> [v, w] : 3v = i and w = 0; [i] -> [v, 3] : 5v = i - 2; [i] -> [v, 3] : 7v = 3i + 1; "
    "[i] -> [i, 3] : i mod 5 = 3; [i] -> [v, 2] : 2v = i and i mod 3 = 1; [i] -> [i - 2, 1] : 7 <= i }",
}


def test_the_last_of_several_writes_in_many_pieces() -> None:
    reads = isl.Set("{ [i] : 0 <= i < 16 }")
    earlier = {name: isl.Map(text).intersect_domain(reads) for name, text in WRITES.items()}
    times = {name: isl.Map(f"{{ [v, w] -> [9, v, w, {k}] }}") for k, name in enumerate(WRITES)}
    found = last.last_writes(earlier, times)
    for i in range(16):
        here = {
            (v, w, name)
            for name, pairs in earlier.items()
            for v in range(16)
            for w in range(4)
            if not pairs.intersect(isl.Map(f"{{ [{i}] -> [{v}, {w}] }}")).is_empty()
        }
        for name in WRITES:
            wanted = isl.Map.empty(earlier[name].get_space())
            if here and max(here)[2] == name:
                v, w, _ = max(here)
                wanted = isl.Map(f"{{ [{i}] -> [{v}, {w}] }}")
            mine = found.get(name, isl.Map.empty(earlier[name].get_space()))
            assert mine.intersect_domain(isl.Set(f"{{ [{i}] }}")).is_equal(wanted)


STRIDED = isl.Map(
    "[n] -> { [i] -> [v, w] : 0 <= v < n and 0 <= w <= 3 and (v + w) mod 5 = 0 and 837v <= 836i }"
)


def test_long_strides_are_worked_on_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few steps with them may go on for ever, where nothing but the end of a process ends them."""
    order = isl.Map(ORDER)
    (found,) = last.last_writes({"w": STRIDED}, {"w": order}).values()
    for n, i in ((1, 0), (7, 3), (7, 9)):
        one = found.intersect_params(isl.Set(f"[n] -> {{ : n = {n} }}")).intersect_domain(
            isl.Set(f"{{ [{i}] }}")
        )
        expected = max((v, w) for v in range(n) for w in range(4) if 837 * v <= 836 * i and (v + w) % 5 == 0)
        assert points(one) == [expected]
    monkeypatch.setattr(last, "_DOUBTFUL_SECONDS", 0)
    assert last.last_writes({"w": STRIDED}, {"w": order}) == {"w": found}  # it is known
    monkeypatch.setattr(last, "_FOUND", Recent(1))
    with pytest.raises(TooLongError, match="the last of some writes"):
        last.last_writes({"w": STRIDED}, {"w": order})
    assert last.subtracted(isl.Set("{ [5] }"), isl.Set("{ [i] : i > 5 }")).is_equal(isl.Set("{ [5] }"))
    with pytest.raises(TooLongError, match="a difference"):
        last.subtracted(STRIDED.wrap(), STRIDED.wrap())
    monkeypatch.undo()
    assert last.subtracted(STRIDED.wrap(), STRIDED.wrap()).is_empty()


FLOORS = isl.Map(
    "{ [i] -> [v, w] : 0 <= i, v, w <= 60 and (i + v) mod 3 <= 1 and (v + 2w) mod 5 <= 3"
    " and (i + w) mod 7 <= 4 and (i + 2v + w) mod 4 <= 2 }"
)


def test_a_short_difference_of_pieces_with_many_floors_is_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last, "_FOUND", Recent(1))
    others = isl.Map("{ [i] -> [v, w] : w > 30 }")
    elsewhere = last.without(FLOORS, others)
    monkeypatch.setattr(last, "_FOUND", Recent(1))
    monkeypatch.setattr(last, "_DOUBTFUL_SECONDS", 0)
    assert last.without(FLOORS, others).is_equal(elsewhere)
    assert elsewhere.is_equal(FLOORS.subtract(others))
    monkeypatch.setattr(last, "_FOUND", Recent(1))
    monkeypatch.setattr(last, "_SOON", 10)
    with pytest.raises(TooLongError, match="a difference"):
        last.without(FLOORS, others)


def points(pairs: isl.Map) -> list[tuple[int, ...]]:
    """The values of a map with no parameters left."""
    found: list[tuple[int, ...]] = []
    values = pairs.range().project_out(isl.dim_type.param, 0, 1)

    def note(point: isl.Point) -> None:
        found.append(tuple(point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(2)))

    values.foreach_point(note)
    return found


@pytest.mark.parametrize("places", [(0, 1, 2), (3, 7, 9), (-4, 5, 40), (9, 7, 3), (5, 5, 2), (0, 2, 2)])
def test_of_places_only_the_order_counts(places: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Write w of an iteration is at places[w]; of those at one place, the larger w comes last."""
    monkeypatch.setattr(last, "_LAST", Recent(8))
    asked, find = [], last._last_writes

    def noted(writes: Sequence[tuple[isl.Map, isl.Map]]) -> list[isl.Map]:
        asked.append(writes)
        return find(writes)

    monkeypatch.setattr(last, "_last_writes", noted)
    domains = ["0 <= j <= i", "0 <= j < i", "0 <= j <= i - 2"]

    def earlier() -> dict[int, isl.Map]:
        return {w: isl.Map(f"{{ [i] -> [j] : 0 <= i < 6 and {d} }}") for w, d in enumerate(domains)}

    def at(*where: int) -> dict[int, isl.Map]:
        return {w: isl.Map(f"{{ [j] -> [8, j, {where[w]}, 0, {w}] }}") for w in range(3)}

    found = last.last_writes(earlier(), at(*places))
    for i in range(6):
        j, _, w = max((j, places[w], w) for w in range(3) for j in range(i + 1 - w))
        here = isl.Set(f"{{ [{i}] }}")
        left = {
            k: m.intersect_domain(here) for k, m in found.items() if not m.intersect_domain(here).is_empty()
        }
        assert left.keys() == {w}
        assert left[w].is_equal(isl.Map(f"{{ [{i}] -> [{j}] }}"))
    ranks = {place: rank for rank, place in enumerate(sorted({*places}))}
    again = last.last_writes(earlier(), at(*(10 + 3 * ranks[p] for p in places)))
    assert len(asked) == 1
    assert all(again[w].is_equal(m) for w, m in found.items())
