"""Tests that end the program where they fail, as `if`: what `assert` is made into.

((void) sizeof ((x < n) ? 1 : 0), ({ if (x < n) ; else __assert_fail(...); }));
((x < n) ? (void) (0) : __assert_fail(...));
                                              ->  if (x < n) ; else __assert_fail(...);
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pycparser import c_ast

EXITS = "exit _exit _Exit quick_exit abort __builtin_trap __builtin_abort __builtin_exit"
ASSERTS = "__assert_fail __assert_rtn __assert_func __assert __assert_perror_fail _assert"
_ENDING = frozenset((*EXITS.split(), *ASSERTS.split()))


def is_ending(name: str) -> bool:
    """Whether a function of the C library never returns: it ends the program."""
    return name in _ENDING


def ends(node: Any) -> bool:
    """Whether the last thing that a statement does is to end the program, whatever it does before."""
    match node:
        case c_ast.Compound(block_items=[*_, last]):
            return ends(last)
        case c_ast.FuncCall(name=c_ast.ID(name=name)):
            return is_ending(name)
        case c_ast.ExprList(exprs=[*_, last]):
            return ends(last)
    return False


def spell_out(node: Any) -> None:
    """Makes expressions that are such tests statements, everywhere below a node."""
    for child in node:
        spell_out(child)
    match node:
        case c_ast.Compound(block_items=[*items]):
            node.block_items = list(_spelled(items))
        case c_ast.Case(stmts=[*items]) | c_ast.Default(stmts=[*items]):
            node.stmts = list(_spelled(items))
        case c_ast.If():
            node.iftrue, node.iffalse = _statement(node.iftrue), _statement(node.iffalse)
        case c_ast.For() | c_ast.While() | c_ast.DoWhile() | c_ast.Label():
            node.stmt = _statement(node.stmt)


def _spelled(items: Iterable[Any]) -> Iterator[Any]:
    return map(_statement, items)


def _statement(node: Any) -> Any:
    match node:
        case c_ast.ExprList(exprs=[c_ast.Cast(expr=c_ast.UnaryOp(op="sizeof")), c_ast.Compound() as block]):
            return _statement(block)
        case c_ast.Compound(block_items=[c_ast.If(iffalse=otherwise) as test]) if ends(otherwise):
            test.cond = _without_text(test.cond)
            return test
        case c_ast.TernaryOp(cond=cond, iftrue=then, iffalse=otherwise) if ends(otherwise):
            then = c_ast.EmptyStatement(node.coord) if _does_nothing(then) else then
            return c_ast.If(_without_text(cond), then, otherwise, node.coord)
    return node


def _does_nothing(node: Any) -> bool:
    """Whether it is `(void) 0`."""
    return isinstance(node, c_ast.Constant) or (isinstance(node, c_ast.Cast) and _does_nothing(node.expr))


def _without_text(test: Any) -> Any:
    """`x < n && "too far"` without what says so."""
    match test:
        case c_ast.BinaryOp(op="&&", left=left, right=c_ast.Constant(type="string")):
            return _without_text(left)
        case c_ast.BinaryOp(op="&&", left=c_ast.Constant(type="string"), right=right):
            return _without_text(right)
    return test
