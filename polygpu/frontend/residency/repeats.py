"""How often statements in loops of the host run, as far as their text tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycparser import c_ast


def repeats(node: Any, counts: Callable[[Any], bool]) -> tuple[int, int]:
    """How often the innermost statements of those that count run: (unknown, times).

    That is `times` the iterations of so many loops whose `unknown` lengths nobody knows.
    """
    if not counts(node):
        return 0, 1
    unknown, times = max((repeats(child, counts) for child in node), default=(0, 1))
    if not isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile):
        return unknown, times
    length = _length(node) if isinstance(node, c_ast.For) else 0
    return (unknown, times * length) if length else (unknown + 1, times)


def _length(loop: Any) -> int:
    """Of `for (t = 0; t < 10; t++)`; 0 where it is not known."""
    match loop.init, loop.cond, loop.next:
        case (
            c_ast.DeclList(decls=[c_ast.Decl(init=c_ast.Constant(value=first))])
            | c_ast.Assignment(op="=", rvalue=c_ast.Constant(value=first)),
            c_ast.BinaryOp(op="<" | "<=" as op, right=c_ast.Constant(value=last)),
            c_ast.UnaryOp(op="++" | "p++"),
        ) if first.isdecimal() and last.isdecimal():
            return max(0, int(last) - int(first) + int(op == "<="))
    return 0
