"""What was made for recent keys, so that it need not be made again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import field, fields
from typing import Any, Generic, TypeVar

from polygpu.support.dataclass import dataclass

T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class Same:
    """An object as a key, which only the same object equals; the key keeps it."""

    it: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.it is other.it

    def __hash__(self) -> int:
        return id(self.it)


def parts(it: Any, without: str) -> tuple[Same, ...]:
    """The fields of a frozen dataclass but for one as a key: what copies made to change that one share."""
    return tuple([Same(getattr(it, f.name)) for f in fields(it) if f.name != without])


@dataclass
class Recent(Generic[T]):
    """At most `most` values by key: the one that was not asked for longest goes first."""

    most: int
    found: OrderedDict[Hashable, T] = field(default_factory=OrderedDict)

    def put(self, key: Hashable, value: T) -> None:
        self.get(key, lambda: value)

    def replace(self, key: Hashable, value: T) -> None:
        self.found.pop(key, None)
        self.put(key, value)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The key's value, which is what `make` makes where there is none."""
        if key not in self.found:
            self.found[key] = make()
            if len(self.found) > self.most:
                self.found.popitem(last=False)
        self.found.move_to_end(key)
        return self.found[key]
