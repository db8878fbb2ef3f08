"""`continue`: what stands behind it goes under the opposite test.

for (...) { if (t) continue; A }   ->   for (...) { if (!t) { A } }
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polygpu.frontend.normal.jumps import Structured, UnstructuredError
from polygpu.frontend.normal.trees import Names, block, changed, is_loop, statements


def without_continue(items: list[Any], names: Names) -> list[Any]:
    """The statements of a block, with loops that have no `continue` of their own where that can be."""
    return [_of_loop(item, names) if is_loop(item) else item for item in items]


def _of_loop(loop: Any, names: Names) -> Any:
    structured = Structured(_end, is_loop, names)
    if not structured.jumps(loop.stmt):
        return loop
    try:
        body = structured.of(statements(loop.stmt))
    except UnstructuredError:
        return loop
    return changed(loop, stmt=block(body, loop.stmt.coord))


def _end(node: Any) -> list[Any] | None:
    return [] if isinstance(node, c_ast.Continue) else None
