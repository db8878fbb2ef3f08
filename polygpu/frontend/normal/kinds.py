"""The types of simple expressions, by declarations alone."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import CType, Pointer, Qualified, Vector


def type_of(node: Any, scope: Scope) -> CType | None:
    """The type of a variable, an element or a member; None for any other expression."""
    match node:
        case c_ast.ID(name=name):
            symbol = scope.find(name)
            return symbol.type if isinstance(symbol, Variable) else None
        case c_ast.ArrayRef():
            return pointed(node.name, scope)
        case c_ast.UnaryOp(op="*"):
            return pointed(node.expr, scope)
        case c_ast.StructRef(field=member):
            whole = type_of(node.name, scope) if node.type == "." else pointed(node.name, scope)
            members = whole.record.members or () if isinstance(whole, Qualified) else ()
            return next((m.type for m in members if m.name == member.name), None)
    return None


def pointed(node: Any, scope: Scope) -> CType | None:
    """What a pointer, or an array as one, points to."""
    match node:
        case c_ast.UnaryOp(op="&", expr=part):
            return type_of(part, scope)
        case c_ast.BinaryOp(op="+" | "-", left=left):
            return pointed(left, scope)
        case c_ast.Cast(expr=inner):
            return pointed(inner, scope)
    match type_of(node, scope):
        case Pointer(target, _):
            return target
        case Vector(element, _, _, _):
            return element
    return None
