"""What was made recently is not made again, and what was not asked for longest is forgotten."""

from __future__ import annotations

import pytest

from polygpu.support.dataclass import dataclass
from polygpu.support.recent import Recent, Same, parts


def test_the_value_not_asked_for_longest_goes_first() -> None:
    recent: Recent[str] = Recent(2)
    made: list[str] = []

    def get(key: str) -> str:
        def make() -> str:
            made.append(key)
            return key.upper()

        return recent.get(key, make)

    assert [get(key) for key in ("a", "b", "a", "c", "a", "b")] == ["A", "B", "A", "C", "A", "B"]
    assert made == ["a", "b", "c", "b"]


def test_what_fails_is_tried_again() -> None:
    recent: Recent[float] = Recent(2)
    with pytest.raises(ZeroDivisionError):
        recent.get("x", lambda: 1 / 0)
    assert recent.get("x", lambda: 2.0) == 2.0


def test_only_the_same_object_equals_itself_as_a_key() -> None:
    one, other = [1], [1]
    assert Same(one) == Same(one)
    assert Same(one) != Same(other)
    assert len({Same(one), Same(one), Same(other)}) == 2


@dataclass(frozen=True)
class Named:
    name: str
    values: list[int]
    number: int = 0


def test_all_but_one_of_the_fields_are_a_key() -> None:
    values = [1]
    one = parts(Named("a", values, 1), "name")
    assert one == parts(Named("b", values, 1), "name")
    assert hash(one) == hash(parts(Named("b", values, 1), "name"))
    assert one != parts(Named("a", values, 2), "name")
    assert one != parts(Named("a", [1], 1), "name")
    assert one != parts(Named("a", values, 1), "number")
