"""Expression statements that decide or that hold several calls, as statements.

t ? f() : g();   ->   if (t) f(); else g();
t && f();        ->   if (t) f();
f(), g();        ->   f(); g();
x = (f(), y);    ->   f(); x = y;
for (i = k = 0; ...)    ->   k = 0; for (i = k; ...)
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Scope
from polygpu.frontend.normal.trees import assigns, changed, choice, has_effects, negated
from polygpu.frontend.text.nodes import nodes


def in_sequence(items: list[Any], _scope: Scope) -> list[Any]:
    """The statements of a block, with several for those of them that are to be split."""
    return [part for item in items for part in _split(item)]


def _split(item: Any) -> list[Any]:
    match item:
        case c_ast.ExprList() if _calls(item):
            return [part for expr in item.exprs for part in _effects(expr)]
        case c_ast.TernaryOp():
            test = c_ast.If(item.cond, item.iftrue, item.iffalse, item.coord)
            return choice(test, _effects(item.iftrue), _effects(item.iffalse))
        case c_ast.BinaryOp(op="&&" | "||" as op):
            test = item.left if op == "&&" else negated(item.left)
            return choice(c_ast.If(test, item.right, None, item.coord), _effects(item.right), [])
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(), rvalue=c_ast.ExprList(exprs=[_, _, *_] as parts)):
            return [*_first(parts), changed(item, rvalue=parts[-1])]
        case c_ast.Decl(init=c_ast.ExprList(exprs=[_, _, *_] as parts)):
            return [*_first(parts), changed(item, init=parts[-1])]
        case c_ast.For(init=c_ast.Assignment(op="=", rvalue=c_ast.Assignment() as inner) as first) if (
            _chained(inner)
        ):
            return [*_in_order(inner), changed(item, init=changed(first, rvalue=inner.lvalue))]
        case c_ast.If(cond=c_ast.ExprList(exprs=[_, _, *_] as parts)):
            return [*_first(parts), changed(item, cond=parts[-1])]
    return [item]


def is_chain(node: Any) -> bool:
    """Whether a loop starts with one value for several variables."""
    match node:
        case c_ast.For(init=c_ast.Assignment(op="=", rvalue=inner)):
            return _chained(inner)
    return False


def _chained(value: Any) -> bool:
    """Whether it is `b = c`, `b = c = d` and so on, of variables."""
    match value:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(), rvalue=inner):
            return _chained(inner) or not assigns(inner)
    return False


def _in_order(chain: c_ast.Assignment) -> list[Any]:
    """a = b = 0   ->   b = 0; a = b;"""
    if not isinstance(chain.rvalue, c_ast.Assignment):
        return [chain]
    return [*_in_order(chain.rvalue), changed(chain, rvalue=chain.rvalue.lvalue)]


def _calls(node: Any) -> bool:
    """Whether a part of a comma expression is more than an assignment."""
    return any(isinstance(part, c_ast.FuncCall | c_ast.TernaryOp) for part in nodes(node))


def _first(parts: list[Any]) -> list[Any]:
    return [made for part in parts[:-1] for made in _effects(part)]


def _effects(value: Any) -> list[Any]:
    return _split(value) if has_effects(value) else []
