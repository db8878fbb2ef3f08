"""`#pragma polygpu` before a loop: decisions for the nests in it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import dropwhile
from typing import Any

from pycparser import c_ast

from polygpu.frontend.options import Decided
from polygpu.frontend.read.directives import pragma_text, pragma_word
from polygpu.frontend.read.state import FileContext
from polygpu.frontend.text.nodes import nodes
from polygpu.support.diagnostics import Diagnosed, Diagnostic


def decided(context: FileContext) -> Iterator[Decided]:
    """Each pragma's text, with the places of the pragma and of its loop.

    Raises Diagnosed for one that stands before something else.
    """
    for node in nodes(context.root):
        items = list(getattr(node, "block_items", None) or getattr(node, "stmts", None) or ())
        for index, item in enumerate(items):
            if isinstance(item, c_ast.Pragma) and pragma_word(item) == "polygpu":
                text = pragma_text(item).strip().removeprefix("polygpu")
                yield Decided(text.strip(), context.at(item), context.at(_loop(context, items, index)))


def _loop(context: FileContext, items: list[Any], index: int) -> Any:
    behind = next(dropwhile(lambda item: isinstance(item, c_ast.Pragma), items[index:]), None)
    while isinstance(behind, c_ast.Label):
        behind = behind.stmt
    if isinstance(behind, c_ast.For):
        return behind
    message = "'#pragma polygpu' is about a loop, and none stands behind it"
    raise Diagnosed(Diagnostic("PG303", "error", message, context.at(items[index]), "move it before a loop"))
