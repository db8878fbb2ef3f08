"""What local pointers lead to, where a function tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import address_taken
from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import Pointer, Vector
from polygpu.frontend.text.nodes import nodes


def targets(function: Any, pointer: Variable, scope: Scope) -> frozenset[Variable] | None:
    """The global arrays into which a local pointer of the function points; None where others may be.

    `scope` is that of the file. The pointer is set to such arrays, or to places in them, and to nothing else.
    """
    body, name = function.body, pointer.name
    declared = [node.name for node in nodes(function) if isinstance(node, c_ast.Decl)]
    if not isinstance(pointer.type, Pointer) or declared.count(name) != 1 or address_taken(body, name):
        return None
    found = set[Variable]()
    for value in _values(body, pointer):
        base = _base(value)
        target = scope.find(base) if base not in declared else None
        if not isinstance(target, Variable) or not isinstance(target.type, Vector):
            return None
        found.add(target)
    return frozenset(found) or None


def _values(body: Any, pointer: Variable) -> Iterator[Any]:
    """What the pointer is set to."""
    if pointer.initial is not None:
        yield pointer.initial
    for node in nodes(body):
        match node:
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=pointer.name)):
                yield node.rvalue


def _base(value: Any) -> str:
    """The array that a pointer into it is computed of: `A`, `A + 3`, `&A[i][j]`; "" for anything else."""
    match value:
        case c_ast.ID(name=name):
            return str(name)
        case c_ast.Cast(expr=inner) | c_ast.BinaryOp(op="+" | "-", left=inner):
            return _base(inner)
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef() as inner):
            while isinstance(inner, c_ast.ArrayRef):
                inner = inner.name
            return str(inner.name) if isinstance(inner, c_ast.ID) else ""
    return ""
