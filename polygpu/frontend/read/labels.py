"""Labels of loops: decisions go by them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pycparser import c_ast

from polygpu.frontend.text.nodes import RECENT, nodes


@lru_cache(RECENT)
def labels(function: Any) -> dict[str, str]:
    """The label of each loop of a function that has one, by the loop's coordinates."""
    found: dict[str, str] = {}
    for node in nodes(function):
        if isinstance(node, c_ast.Label):
            found[str(node.stmt.coord)] = node.name
        last = ""
        for item in getattr(node, "block_items", None) or ():  # a pragma may stand between
            last = item.name if isinstance(item, c_ast.Label) else last
            if last and isinstance(item, c_ast.For):
                found[str(item.coord)] = last
            last = last if isinstance(item, c_ast.Label | c_ast.Pragma) else ""
    return found


@lru_cache(RECENT)
def jumped_to(function: Any) -> frozenset[str]:
    """The labels that some `goto` of a function names."""
    return frozenset(node.name for node in nodes(function) if isinstance(node, c_ast.Goto))
