"""Labels of loops: decisions go by them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pycparser import c_ast

from polygpu.frontend.text.nodes import RECENT, nodes


@lru_cache(RECENT)
def labels(function: Any) -> dict[int, str]:
    """The label of each loop of a function that has one, by the identity of the loop's node."""
    found: dict[int, str] = {}
    for node in nodes(function):
        if isinstance(node, c_ast.Label):
            found[id(node.stmt)] = node.name
        last = ""
        for item in getattr(node, "block_items", None) or ():  # a pragma may stand between
            last = item.name if isinstance(item, c_ast.Label) else last
            if last and isinstance(item, c_ast.For):
                found[id(item)] = last
            last = last if isinstance(item, c_ast.Label | c_ast.Pragma) else ""
    return found


@lru_cache(RECENT)
def jumped_to(function: Any) -> frozenset[str]:
    """The labels that some `goto` of a function names."""
    return frozenset(node.name for node in nodes(function) if isinstance(node, c_ast.Goto))
