"""`polygpu.support.dataclass` makes the classes that the standard library makes, only later."""

from __future__ import annotations

import copy
import dataclasses
import operator
import pickle
from collections.abc import Callable
from dataclasses import asdict, field, fields, replace
from itertools import product
from typing import Any, ClassVar

import pytest

from polygpu.support.dataclass import dataclass

OPTIONS: list[dict[str, bool]] = [
    {},
    {"slots": True},
    {"eq": False},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "eq": False},
    {"frozen": True, "order": True},
    {"frozen": True, "order": True, "slots": True},
]
CASES = pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "plain")


def made(decorator: Callable[..., Any], **options: bool) -> Any:
    @decorator(**options)
    class Made:
        many: ClassVar[int] = 0
        a: int
        b: tuple[float, ...] = (1.0,)
        c: list[int] = field(default_factory=list)
        d: str = field(default="d", compare=False, repr=False)
        e: str = field(init=False, default="e")

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError(self.a)

    return Made


def outcome(function: Callable[..., object], *arguments: object, **named: object) -> object:
    """The result or the class of the exception."""
    try:
        return function(*arguments, **named)
    except Exception as error:  # noqa: BLE001 - any is an outcome
        return type(error)


def outcomes(cls: Any) -> list[object]:
    one, same, other = cls(1), cls(1, d="x"), cls(2, (), [3])
    named = cls(b=(float("nan"), 2.0), a=4, c=[5])
    pairs = list(product((one, same, other, named), (one, same, other, named, 1)))
    hashed = replace(one, c=())
    return [
        [repr(x) for x in (one, same, other, named)],
        [(x == y, x != y, outcome(operator.lt, x, y), outcome(operator.ge, x, y)) for x, y in pairs],
        [outcome(hash, one) == object.__hash__(one), outcome(hash, hashed) == hash((1, (1.0,), (), "e"))],
        [outcome(setattr, cls(1), "a", 7), outcome(delattr, cls(1), "a")],
        [outcome(setattr, cls(1), "unknown", 7) is None],
        [outcome(cls), outcome(cls, 1, f=2), outcome(cls, -1), outcome(cls, 1, a=1)],
        [outcome(cls, 1, (), [], "", "")],
        [(f.name, f.type, f.default, f.default_factory, f.compare, f.init) for f in fields(cls)],
        [asdict(other), asdict(replace(other, a=9)), cls.__match_args__, hasattr(one, "__dict__")],
        [asdict(copy.deepcopy(other)), asdict(copy.copy(other)), one.c is not same.c],
        [cls.__init__.__qualname__, cls.__eq__.__qualname__, cls.many],
    ]


@pytest.mark.parametrize("seldom", [0, 1000], ids=["compiled", "seldom"])
@CASES
def test_classes_do_as_those_of_the_standard_library(
    options: dict[str, bool], seldom: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polygpu.support.dataclass._SELDOM", seldom)
    for found, right in zip(
        outcomes(made(dataclass, **options)), outcomes(made(dataclasses.dataclass, **options)), strict=True
    ):
        assert found == right


@dataclass(frozen=True, slots=True)
class Slots:
    a: int
    b: str = "b"


@dataclass(frozen=True)
class Derived(Slots):  # noqa: PLW1641 - the decorator adds it
    c: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return "mine"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slots)


@dataclass
class Hashed:
    a: int

    def __hash__(self) -> int:
        return 5


@pytest.mark.parametrize("value", [Slots(1, "c"), Derived(1, "c", (2,))], ids=["slots", "derived"])
def test_values_are_pickled(value: Slots) -> None:
    found = pickle.loads(pickle.dumps(value))
    assert asdict(found) == asdict(value)
    assert type(found) is type(value)


def test_methods_of_a_class_stay() -> None:
    assert repr(Derived(1)) == "mine"
    assert Derived(1) == Derived(2) and Slots(1) != Slots(2)
    assert hash(Hashed(1)) == 5 and Hashed(1) != Hashed(2)
    assert hash(Derived(1)) == hash((1, "b", ()))


def test_inherited_methods_are_of_the_class_that_has_them() -> None:
    @dataclass(frozen=True)
    class Base:
        a: int

    @dataclass(frozen=True, eq=False)
    class More(Base):
        b: int = 0

    assert More(1, 2) == More(1, 3) != More(2, 3)
    assert hash(More(1, 2)) == hash(Base(1)) == hash((1,))


def test_patterns_match_by_position() -> None:
    match Derived(1, "x", (3,)):
        case Slots(a, b):
            assert (a, b) == (1, "x")


def test_fields_are_read_when_they_are_asked_for() -> None:
    @dataclass
    class Base:
        a: int = 1

    class Plain(Base):
        pass

    @dataclass
    class Derived(Plain):
        b: int = 2

    assert Derived.__match_args__ == ("a", "b") and [f.name for f in fields(Plain)] == ["a"]
    match object.__new__(Derived):  # as pickle makes it
        case Base(a):
            assert a == 1
    assert Derived(3) == Derived(3, 2) and Plain.__match_args__ == ("a",)


def test_what_contains_itself_is_shown() -> None:
    @dataclass
    class Node:
        next: object = None

    node = Node()
    node.next = node
    assert repr(node).endswith("Node(next=...)")
