"""The grammar of decisions: read, printed and written as JSON they stay the same; what is wrong is said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygpu.model.decisions import KEYS, MOST, Decision, Key, Place, Value, from_record, parse, record

Items = tuple[tuple[str, Value], ...]

LOOPS = st.sampled_from(("i", "j2", "k_", "i@14", "t + i", "2t - i", "t + i@7"))
ARRAYS = st.sampled_from(("A", "sum_all", "A[i][k]", "x[2 * j + 1]", "B[n - 1 - k][0]@3", "y@14"))
FUNCTIONS = st.sampled_from(("f", "kernel_mm", "p3"))
NUMBERED = st.builds(
    Place,
    line=st.integers(1, 5000),
    file=st.sampled_from(("", "mm.c", "src/a-b.c")),
    column=st.integers(0, 99),
    number=st.integers(0, 9),
)
PLACES = st.none() | st.builds(Place, function=FUNCTIONS) | NUMBERED


@pytest.mark.parametrize(
    ("text", "key", "items"),
    [
        ("tile(i: 64, j: 128, k: 16)", "tile", (("i", 64), ("j", 128), ("k", 16))),
        ("order(i, -j)", "order", (("i", None), ("-j", None))),
        ("deal(cyclic)", "deal", (("", "cyclic"),)),
        ("deal(i: blocked, j: 4)", "deal", (("i", "blocked"), ("j", 4))),
        ("stage(A, B[k][j]: k)", "stage", (("A", None), ("B[k][j]", "k"))),
        ("stage(x[2*j+1]: block)", "stage", (("x[2*j+1]", "block"),)),
        ("stage()", "stage", ()),
        ("stage(A[f(i, j)]: t + i)", "stage", (("A[f(i, j)]", "t + i"),)),
        ("hold(ring)", "hold", (("ring", None),)),
        ("buffer(ring: 3)", "buffer", (("ring", 3),)),
        ("buffer(prefetch)", "buffer", (("", "prefetch"),)),
        ("loads(all)", "loads", (("", "all"),)),
        ("pad(1)", "pad", (("", 1),)),
        ("pad(A: 1, B: auto)", "pad", (("A", 1), ("B", "auto"))),
        ("wide(0)", "wide", (("", 0),)),
        ("expand(t: i  j, s, r: none)", "expand", (("t", "i j"), ("s", None), ("r", "none"))),
        ("fuse(12, 15.9#2, inc.h:3)", "fuse", (("12", None), ("15.9#2", None), ("inc.h:3", None))),
    ],
)  # fmt: skip
def test_decisions(text: str, key: str, items: Items) -> None:
    assert parse(text) == (Decision(key, items),)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("14", Place(14)),
        ("14.9", Place(14, column=9)),
        ("14#2", Place(14, number=2)),
        ("14.9#2", Place(14, column=9, number=2)),
        ("mm.c:14", Place(14, "mm.c")),
        ("a/mm.c:14.9#2", Place(14, "a/mm.c", 9, 2)),
        ("kernel_mm", Place(function="kernel_mm")),
    ],
)
def test_places(text: str, place: Place) -> None:
    asked = (Decision("unroll", (("", 4),), place), Decision("stage", (), place))
    assert parse(f"{text}: unroll(4) stage()") == parse(f" {text} :unroll( 4 )stage( )") == asked
    assert str(place) == text


def _values(key: Key) -> st.SearchStrategy[Value]:
    words: st.SearchStrategy[Value] = st.sampled_from(key.words) if key.words else st.nothing()
    numbers = st.integers(key.least, 4096) if key.least is not None else st.nothing()
    return words | numbers


def _items(name: str, key: Key) -> st.SearchStrategy[Items]:
    """Items that the key can have: for names of its kind, or a value alone where that means something."""
    lists: st.SearchStrategy[Items] = st.nothing()
    alone: st.SearchStrategy[Items] = st.nothing()
    if key.named == "statement":
        names = NUMBERED.map(str) | st.sampled_from(("A", "sum_all"))
        lists = st.lists(names, unique=True).map(lambda found: tuple((name, None) for name in found))
    elif key.named:
        values = _values(key) if not key.plain else st.none()
        values = values | LOOPS | st.just("block") if name == "stage" else values
        names = ARRAYS if key.named == "array" else LOOPS
        pairs = st.tuples(names, values)
        lists = st.lists(pairs, min_size=0 if key.plain else 1, unique_by=lambda pair: pair[0]).map(tuple)
    if name == "buffer":
        lists = st.builds(lambda count: (("ring", count),), st.integers(2, 9))
    if not key.named or not key.plain:
        words = st.sampled_from(key.words) if key.words else st.nothing()
        single = words if key.named == "loop" or name == "buffer" else _values(key)
        alone = single.map(lambda value: (("", value),))
    return lists | alone


DECISIONS = st.sampled_from(sorted(KEYS)).flatmap(
    lambda key: st.builds(Decision, st.just(key), _items(key, KEYS[key]), PLACES)
)


@settings(deadline=None)
@given(DECISIONS)
def test_what_is_printed_is_read_as_the_same(decision: Decision) -> None:
    assert parse(str(decision)) == (decision,)


@settings(deadline=None)
@given(st.lists(DECISIONS, unique_by=lambda d: d.key), PLACES)
def test_json_there_and_back(decisions: list[Decision], place: Place | None) -> None:
    here = [Decision(d.key, d.items, place) for d in decisions]
    assert list(from_record(json.loads(json.dumps(record(here))), place)) == here


def test_json_is_as_plain_as_it_can_be() -> None:
    text = "order(i, j) tile(i: 64) stage() hold(C) stage(A, B: k) deal(cyclic) buffer(ring: 3) unroll(4)"
    assert record(parse(text)) == {
        "order": ["i", "j"],
        "tile": {"i": 64},
        "hold": ["C"],
        "stage": {"A": None, "B": "k"},
        "deal": "cyclic",
        "buffer": {"ring": 3},
        "unroll": 4,
    }


@pytest.mark.parametrize(
    "text",
    ["", "14:", "f:", "tile", "tile=64x128", "tile(i: 4", "tile(i: 4)) pad(1)", "pad(1) and more", "4"],
)
def test_what_is_no_decision(text: str) -> None:
    with pytest.raises(ValueError, match=r"' is no decision; write KEY\(\.\.\.\), as in tile\(i: 64, "):
        parse(text)


def test_unknown_keys() -> None:
    known = f"'tiles' is no decision; they are {', '.join(KEYS)}"
    with pytest.raises(ValueError) as read:
        parse("tile(i: 4) tiles(i: 64)")
    with pytest.raises(ValueError) as written:
        list(from_record({"tiles": {"i": 64}}, None))
    assert str(read.value) == str(written.value) == known


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("tile(i: 0)", {"tile": {"i": 0}}),
        ("tile(i)", {"tile": ["i"]}),
        ("tile(8)", {"tile": 8}),
        ("tile(i: large)", {"tile": {"i": "large"}}),
        ("tile(i: -4)", {"tile": {"i": "-4"}}),
        ("tile(i: ²)", {"tile": {"i": "²"}}),
        ("tile(i: true)", {"tile": {"i": True}}),
        ("loads(false)", {"loads": False}),
        ("tile()", {"tile": []}),
        ("deal(random)", {"deal": ["random"]}),
        ("deal(i: random)", {"deal": {"i": "random"}}),
        ("order(i: 2)", {"order": {"i": 2}}),
        ("order(2)", {"order": 2}),
        ("stage(A: 16)", {"stage": {"A": 16}}),
        ("hold(A: 2)", {"hold": {"A": 2}}),
        ("buffer(ring: 1)", {"buffer": {"ring": 1}}),
        ("buffer(some: 3)", {"buffer": {"some": 3}}),
        ("buffer(sometimes)", {"buffer": "sometimes"}),
        ("wide(A)", {"wide": "A"}),
        ("loads(0)", {"loads": 0}),
        ("unroll(0)", {"unroll": 0}),
        ("registers()", {"registers": []}),
        ("pad(A)", {"pad": ["A"]}),
        ("split(A[i])", {"split": ["A[i]"]}),
        ("fuse(12:15:3)", {"fuse": ["12:15:3"]}),
    ],
)
def test_items_that_are_not_those_of_the_key(text: str, values: dict[str, Any]) -> None:
    (name,) = values
    key = KEYS[name]
    said = f": {name} is {key.about}, as in {key.example}"
    for wrong in (lambda: parse(text), lambda: list(from_record(values, None))):
        with pytest.raises(ValueError) as caught:
            wrong()
        assert str(caught.value) == f"'{text}'{said}"


@pytest.mark.parametrize("number", [MOST + 1, 2**31 - 1, 10**20])
@pytest.mark.parametrize("of_a_name", [True, False])
@pytest.mark.parametrize("key", [name for name, key in KEYS.items() if key.least is not None])
def test_numbers_that_leave_no_room_in_int(key: str, of_a_name: bool, number: int) -> None:
    """Tiles of the last iterations that kernels count to end within int; nothing else needs more."""
    name = "ring" if key == "buffer" else "i"
    text = f"{key}({name}: {number})" if of_a_name else f"{key}({number})"
    values: dict[str, Any] = {key: {name: number} if of_a_name else number}
    for wrong in (lambda: parse(text), lambda: list(from_record(values, None))):
        with pytest.raises(ValueError) as caught:
            wrong()
        said = f"'{text}': {number} is more than 32768, behind which int has no room; ask for less"
        assert str(caught.value) == said


def test_the_largest_number() -> None:
    assert parse(f"tile(i: {MOST})")[0].items == (("i", 32768),)


def test_examples_of_keys_are_decisions_of_theirs() -> None:
    for name, key in KEYS.items():
        assert [d.key for d in parse(key.example)] == [name]


def test_a_word_that_is_a_value_names_a_loop_by_its_line() -> None:
    assert parse("order(ring@14)")[0].names == ("ring@14",)
    assert parse("order(ring)")[0].names == ("ring",)
