"""`do S while (0)` as S: macros of several statements are written so.

do { A; if (t) break; B } while (0);   ->   { A; if (!t) { B } }
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Scope
from polygpu.frontend.normal.jumps import Structured, UnstructuredError, breaks_out
from polygpu.frontend.normal.trees import Names, block, is_loop, statements
from polygpu.model.expr import Int


def without_once(items: list[Any], scope: Scope, names: Names) -> list[Any]:
    """The statements of a block, with blocks for loops that run once, where no `continue` is left in them."""
    return [_of_item(item, scope, names) if isinstance(item, c_ast.DoWhile) else item for item in items]


def _of_item(loop: c_ast.DoWhile, scope: Scope, names: Names) -> Any:
    found = scope.constant(loop.cond)
    if found is None or found.expr != Int(0) or Structured(_goes_on, is_loop, names).jumps(loop.stmt):
        return loop
    try:
        return block(Structured(_end, breaks_out, names).of(statements(loop.stmt)), loop.coord)
    except UnstructuredError:
        return loop


def _goes_on(node: Any) -> list[Any] | None:
    return [] if isinstance(node, c_ast.Continue) else None


def _end(node: Any) -> list[Any] | None:
    return [] if isinstance(node, c_ast.Break) else None
