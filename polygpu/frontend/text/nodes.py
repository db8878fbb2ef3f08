"""A walk over the syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

RECENT = 16  # functions of which facts are remembered: each of their regions asks again


def nodes(node: Any) -> Iterator[Any]:
    """`node` and all nodes below it, in the order of the source."""
    left = [node]
    while left:
        found = left.pop()
        yield found
        left.extend(reversed(list(found)))


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
