"""`goto` forward to a label of the same block, or of a block around it.

if (t) goto a; X; goto b; a: Y; b: Z   ->   if (t) { Y } else { X } Z
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from pycparser import c_ast

from polygpu.frontend.normal.jumps import Structured, UnstructuredError
from polygpu.frontend.normal.trees import Names, used_names
from polygpu.frontend.text.nodes import nodes


def jumps_to(tree: Any) -> Counter[str]:
    """How often each label is jumped to."""
    return Counter(node.name for node in nodes(tree) if isinstance(node, c_ast.Goto))


def without_goto(items: list[Any], names: Names, every: Counter[str]) -> list[Any]:
    """The statements of a block, without those of its labels that are only jumped to from before them.

    `every` counts the jumps of the whole function.
    """
    plain, places = _unlabelled(items, every)
    if not places:
        return items
    first = next(index for index, item in enumerate(plain) if places.keys() & jumps_to(item).keys())
    if _skips_declaration(plain, places, first):
        return items
    done, start = plain[:first], first
    try:
        for end in _joins(plain, places):
            done += Structured(_within(plain, places, end), lambda _: False, names).of(plain[start:end])
            start = end
    except UnstructuredError:
        return items
    return [*done, *plain[start:]]


def _within(items: list[Any], places: dict[str, int], end: int) -> Callable[[Any], list[Any] | None]:
    """What runs from a jump on up to an end that none goes beyond."""

    def follow(node: Any) -> list[Any] | None:
        if isinstance(node, c_ast.Goto) and node.name in places:
            return items[places[node.name] : end]
        return None

    return follow


def _joins(items: list[Any], places: dict[str, int]) -> list[int]:
    """The places that no jump goes over, in order."""
    jumps = [
        (index, places[name]) for index, item in enumerate(items) for name in jumps_to(item) if name in places
    ]
    return [
        place
        for place in sorted(set(places.values()))
        if all(end <= place or start >= place for start, end in jumps)
    ]


def _unlabelled(items: list[Any], every: Counter[str]) -> tuple[list[Any], dict[str, int]]:
    """The items without such labels, and where these stood."""
    places: dict[str, int] = {}
    before: Counter[str] = Counter()
    plain = []
    for index, item in enumerate(items):
        statement = item
        while isinstance(statement, c_ast.Label) and 0 < every[statement.name] == before[statement.name]:
            places[statement.name] = index
            statement = statement.stmt
        plain.append(statement)
        before += jumps_to(statement)
    return plain, places


def _skips_declaration(items: list[Any], places: dict[str, int], first: int) -> bool:
    """Whether a jump may go over the declaration of a variable that is used behind it."""
    for index in range(first, max(places.values())):
        if isinstance(item := items[index], c_ast.Decl):
            behind = items[min(place for place in places.values() if place > index) :]
            if any(item.name in used_names(other) for other in behind):
                return True
    return False
