"""Statements of a block that pycparser puts into others: those behind a label and a pragma."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pycparser import c_ast


def unfold(node: Any) -> None:
    """Makes `label: #pragma ... statement` the label, the pragma and the statement of the block, everywhere.

    pycparser takes a pragma and the statement behind it for a block where C wants one statement.
    """
    for child in node:
        unfold(child)
    if isinstance(node, c_ast.Compound) and node.block_items:
        node.block_items = list(_unfolded(node.block_items))
    elif isinstance(node, c_ast.Case | c_ast.Default) and node.stmts:
        node.stmts = list(_unfolded(node.stmts))


def _unfolded(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        if isinstance(item, c_ast.Label):
            first, *others = _unfolded([item.stmt])
            if isinstance(first, c_ast.Pragma):
                first, others = c_ast.EmptyStatement(item.coord), [first, *others]
            yield c_ast.Label(item.name, first, item.coord)
            yield from others
        elif _is_folded(item):
            yield from _unfolded(item.block_items)
        else:
            yield item


def _is_folded(node: Any) -> bool:
    """Whether a block has no braces: it begins where its first pragma does."""
    if not isinstance(node, c_ast.Compound) or not node.block_items:
        return False
    first = node.block_items[0]
    return isinstance(first, c_ast.Pragma) and str(first.coord) == str(node.coord)
