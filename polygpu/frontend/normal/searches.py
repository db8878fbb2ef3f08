"""Loops that end with the first iteration that passes a test: a search.

for (i = 0; i < n; i++) { if (a[i] > t) { at = i; goto found; } } found:
->   for (i = 0; i < n; i++) { if (a[i] > t) { at = i; break; } } found:
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from pycparser import c_ast

from polygpu.frontend.normal.trees import block, changed, is_loop, statements
from polygpu.frontend.text.nodes import nodes, remembered

_LEAVING = (c_ast.Break, c_ast.Continue, c_ast.Goto, c_ast.Return, c_ast.Label)


def leaving_at_end(items: Sequence[Any], body: Any) -> list[Any]:
    """The statements of a region of a function, with `break` for jumps to right behind the last of them."""
    if not items or not isinstance(items[-1], c_ast.For):
        return list(items)
    label = _labels_behind(body).get(id(items[-1]))
    if label is None:
        return list(items)
    loop = items[-1]
    return [*items[:-1], changed(loop, stmt=_breaking(loop.stmt, label))]


@remembered
def _labels_behind(body: Any) -> dict[int, str]:
    """The label right behind a statement, by this one's identity."""
    blocks = (statements(node) for node in nodes(body) if isinstance(node, c_ast.Compound))
    pairs = (pair for block in blocks for pair in pairwise(block))
    return {id(here): str(behind.name) for here, behind in pairs if isinstance(behind, c_ast.Label)}


def _breaking(node: Any, label: str) -> Any:
    """A statement with `break` for jumps to the label, but for those within other loops."""
    match node:
        case c_ast.Goto(name=name) if name == label:
            return c_ast.Break(node.coord)
        case c_ast.Compound():
            return block([_breaking(item, label) for item in statements(node)], node.coord)
        case c_ast.If() if not is_loop(node):
            sides = (None if s is None else _breaking(s, label) for s in (node.iftrue, node.iffalse))
            return c_ast.If(node.cond, *sides, node.coord)
    return node


def search(loop: Any) -> Any:
    """A loop that does nothing but leave under a test, as one that goes on then; None for other loops."""
    if not isinstance(loop, c_ast.For):
        return None
    match statements(loop.stmt):
        case [c_ast.If(iffalse=None) as test]:
            *stores, last = statements(test.iftrue) or [None]
            if isinstance(last, c_ast.Break) and stores and not any(map(_jumps, stores)):
                body = c_ast.If(test.cond, block(stores, test.coord), None, test.coord)
                return changed(loop, stmt=block([body], loop.stmt.coord))
    return None


def _jumps(node: Any) -> bool:
    return any(isinstance(inner, _LEAVING) for inner in nodes(node))
