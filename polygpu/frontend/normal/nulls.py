"""Functions that are called with NULL, or with an array, for a pointer that they compare with NULL.

    float t = bias != NULL ? bias[i] : 0;   ->   float t = 0;        with NULL for bias
    if (bias) d[i] += bias[i];              ->                       (nothing)
    g(n, bias);                             ->   g(n, NULL);
    if (bias) d[i] += bias[i];              ->   d[i] += bias[i];    with an array

What would read what is not there is left out, so that regions need no pointer for it.
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import Vector
from polygpu.frontend.normal.trees import changed, copied, has_effects, mapped


def is_null(value: Any) -> bool:
    """Whether an expression is written as a null pointer: 0 or `(void *)0`."""
    match value:
        case c_ast.Constant(type="int", value=text):
            return bool(text == "0")
        case c_ast.Cast(expr=inner):
            return isinstance(value.to_type.type, c_ast.PtrDecl) and is_null(inner)
    return False


def is_there(value: Any, scope: Scope) -> bool:
    """Whether a pointer is made of an array, or of the address of something."""
    match value:
        case c_ast.UnaryOp(op="&"):
            return True
        case c_ast.ID(name=name):
            symbol = scope.find(name)
            if not isinstance(symbol, Variable) or symbol.place == "parameter":
                return False
            return isinstance(symbol.type, Vector)
        case c_ast.BinaryOp(op="+" | "-", left=left):
            return is_there(left, scope)
    return False


def with_tests_done(tree: Any, name: str, null: Any) -> Any:
    """The tree where the pointer of that name, which nothing changes, is `null`; or is none, without one."""

    def holds(test: Any) -> bool | None:
        """What a condition is; None where the pointer does not tell."""
        match test:
            case c_ast.ID():
                return null is None if _is(test, name) else None
            case c_ast.UnaryOp(op="!", expr=inner):
                known = holds(inner)
                return None if known is None else not known
            case c_ast.BinaryOp(op="==" | "!=" as op, left=left, right=right):
                compared = (_is(left, name) and is_null(right)) or (_is(right, name) and is_null(left))
                return bool((op == "==") is (null is not None)) if compared else None
            case c_ast.BinaryOp(op="&&" | "||" as op, left=left, right=right):
                first, second = holds(left), holds(right)
                if first is (op == "||") or (second is (op == "||") and not has_effects(left)):
                    return bool(op == "||")
                return first if first is not None and second is not None else None
        return None

    def change(node: Any) -> Any:
        match node:
            case c_ast.If() | c_ast.TernaryOp() if (known := holds(node.cond)) is not None:
                taken = node.iftrue if known else node.iffalse
                return c_ast.EmptyStatement(node.coord) if taken is None else change(taken)
            case c_ast.BinaryOp(op="==" | "!=" | "&&" | "||") | c_ast.UnaryOp(op="!"):
                known = holds(node)
                if known is not None:
                    return c_ast.Constant("int", str(int(known)), node.coord)
            case c_ast.FuncCall(args=c_ast.ExprList(exprs=given)) if null is not None:
                passed = [copied(null) if _is(e, name) else change(e) for e in given]
                return changed(node, args=changed(node.args, exprs=passed))
        return mapped(node, change)

    return change(tree)


def _is(node: Any, name: str) -> bool:
    return isinstance(node, c_ast.ID) and node.name == name
