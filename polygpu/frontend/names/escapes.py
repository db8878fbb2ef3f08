"""Which variables pointers may point into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import address_kept
from polygpu.frontend.names.scopes import Variable
from polygpu.frontend.names.types import Basic, CType, Pointer, Qualified, Vector


def escapes(body: Any, variable: Variable) -> bool:
    """Whether the tree takes the address of the variable, or of a part of it, where a pointer may keep it.

    Arrays, members of structures included, do so wherever they are used other than element by element.
    """
    whole = isinstance(variable.type, Basic | Pointer)  # which is no part of anything
    return address_kept(body, variable.name) or (not whole and _decays(body, variable))


def _decays(node: Any, variable: Variable) -> bool:
    part = _part(node, variable)
    if isinstance(part, Vector):
        return True
    inner = _subscripts(node) if part is not None else _operands(node)
    return any(_decays(child, variable) for child in inner)


def _operands(node: Any) -> Iterator[Any]:
    if isinstance(node, c_ast.StructRef):
        yield node.name  # the member may have the variable's name
    else:
        yield from node


def _subscripts(node: Any) -> Iterator[Any]:
    """Those of an lvalue such as a[i].b[j]."""
    while not isinstance(node, c_ast.ID):
        if isinstance(node, c_ast.ArrayRef):
            yield node.subscript
        node = node.expr if isinstance(node, c_ast.UnaryOp) else node.name


def _part(node: Any, variable: Variable) -> CType | None:
    """The type of the part of the variable that an lvalue names; None for any other expression."""
    match node:
        case c_ast.ID(name=variable.name):
            return variable.type
        case c_ast.ArrayRef():
            return _element(_part(node.name, variable))
        case c_ast.UnaryOp(op="*"):
            return _element(_part(node.expr, variable))
        case c_ast.StructRef():
            whole = _part(node.name, variable)
            return _member(whole if node.type == "." else _element(whole), node.field.name)
    return None


def _element(ctype: CType | None) -> CType | None:
    return ctype.element if isinstance(ctype, Vector) else None


def _member(ctype: CType | None, name: str) -> CType | None:
    members = ctype.record.members or () if isinstance(ctype, Qualified) else ()
    return next((member.type for member in members if member.name == name), None)
