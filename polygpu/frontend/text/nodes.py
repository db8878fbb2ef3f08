"""A walk over the syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from pycparser import c_ast

T = TypeVar("T")

_LEAVES = frozenset(
    {
        c_ast.Break, c_ast.Constant, c_ast.Continue, c_ast.EllipsisParam, c_ast.EmptyStatement, c_ast.Goto,
        c_ast.ID, c_ast.IdentifierType,
    }
)  # fmt: skip
RECENT = 16  # functions of which facts are remembered: each of their regions asks again


def nodes(node: Any) -> Iterator[Any]:
    """`node` and all nodes below it, in the order of the source."""
    left = [node]
    while left:
        found = left.pop()
        yield found
        if type(found) not in _LEAVES:
            left += [*found][::-1]


def remembered(question: Callable[[Any], T]) -> Callable[[Any], T]:
    """`question`, asked once of a tree, which no longer changes: each region of a function asks."""
    answers: WeakKeyDictionary[Any, T] = WeakKeyDictionary()

    @wraps(question)
    def asked(tree: Any) -> T:
        if tree not in answers:
            answers[tree] = question(tree)
        return answers[tree]

    return asked


@remembered
def inside(tree: Any) -> frozenset[int]:
    """The identities of all nodes of a tree."""
    return frozenset(map(id, nodes(tree)))


def parts_of(node: Any) -> list[Any]:
    """What the parts of a `for` header do one after the other."""
    match node:
        case None:
            return []
        case c_ast.DeclList():
            return list(node.decls)
        case c_ast.ExprList():
            return list(node.exprs)
    return [node]
