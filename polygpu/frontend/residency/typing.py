"""The types of expressions, as far as they are known."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Function, Scope, Variable
from polygpu.frontend.names.types import Basic, CType, Pointer, Qualified, Vector

_NUMBER = Basic("int")
_TESTS = frozenset(("<", ">", "<=", ">=", "==", "!=", "&&", "||"))


def type_of(scope: Scope, node: Any) -> CType | None:
    """None where it is not known. Of numbers only that they are some."""
    match node:
        case c_ast.Constant():
            return Pointer(Basic("char")) if node.type == "string" else _NUMBER
        case c_ast.ID() | c_ast.ArrayRef() | c_ast.StructRef():
            return _of_place(scope, node)
        case c_ast.UnaryOp():
            return _of_operator(scope, node)
        case c_ast.Cast():
            return scope.resolve(node.to_type.type)
        case c_ast.BinaryOp():
            return _NUMBER if node.op in _TESTS else _of_operands(scope, node)
        case c_ast.TernaryOp():
            return type_of(scope, node.iftrue)
        case c_ast.Assignment():
            return type_of(scope, node.lvalue)
        case c_ast.FuncCall(name=c_ast.ID(name=name)):
            function = scope.find(name)
            return scope.resolve(function.node.type.type) if isinstance(function, Function) else None
    return None


def _of_place(scope: Scope, node: Any) -> CType | None:
    match node:
        case c_ast.ID():
            found = scope.find(node.name)
            return found.type if isinstance(found, Variable) else _NUMBER
        case c_ast.ArrayRef():
            return _behind(type_of(scope, node.name)) or _behind(type_of(scope, node.subscript))
    whole = type_of(scope, node.name)
    return _member(whole if node.type == "." else _behind(whole), node.field.name)


def _of_operator(scope: Scope, node: Any) -> CType | None:
    if node.op in ("sizeof", "!"):
        return _NUMBER
    inner = type_of(scope, node.expr)
    if node.op == "*":
        return _behind(inner)
    return Pointer(inner) if node.op == "&" and inner is not None else None if node.op == "&" else inner


def _of_operands(scope: Scope, node: Any) -> CType | None:
    sides = type_of(scope, node.left), type_of(scope, node.right)
    pointers = [side for side in sides if isinstance(side, Pointer | Vector)]
    if len(pointers) == 2:
        return _NUMBER
    return pointers[0] if pointers else None if None in sides else sides[0]


def _behind(ctype: CType | None) -> CType | None:
    match ctype:
        case Pointer(target):
            return target
        case Vector():
            return ctype.element
    return None


def _member(ctype: CType | None, name: str) -> CType | None:
    members = ctype.record.members or () if isinstance(ctype, Qualified) else ()
    return next((member.type for member in members if member.name == name), None)
