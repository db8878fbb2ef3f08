"""Addresses that are lent to functions, which use them and keep none.

double next(double *seed) { *seed = *seed * 5; return *seed; }
... x = next(&s); ...       // behind the call no pointer holds the address of s
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Function, Scope
from polygpu.frontend.names.types import Basic, Pointer, Vector
from polygpu.frontend.text.clean import INLINE_ASSEMBLY
from polygpu.frontend.text.nodes import nodes
from polygpu.support.dataclass import dataclass


class UnaryOp(c_ast.UnaryOp):  # type: ignore[misc]
    """The address of a variable that a call is lent."""

    __slots__ = ()


def mark_lent(root: Any, scope: Scope) -> None:
    """Marks the addresses of variables in a file that are lent. `scope` has the functions that it calls."""
    lending = _Lending(
        scope, {n.name for n in nodes(root) if isinstance(n, c_ast.Decl) and not _is_function(n)}
    )
    for call in nodes(root):
        for k, given in _arguments(call):
            match given:
                case c_ast.UnaryOp(op="&", expr=c_ast.ID()) if lending.lends(call.name.name, k):
                    call.args.exprs[k] = UnaryOp("&", given.expr, given.coord)


def _is_function(declaration: Any) -> bool:
    return isinstance(declaration.type, c_ast.FuncDecl)


def _arguments(node: Any) -> Iterator[tuple[int, Any]]:
    """Of a call by name, with their positions."""
    match node:
        case c_ast.FuncCall(name=c_ast.ID(), args=c_ast.ExprList(exprs=given)):
            yield from enumerate(given)


@dataclass
class _Lending:
    """`others` are names that may be those of no functions somewhere in the file."""

    scope: Scope
    others: set[str]
    found: dict[tuple[str, int], bool] = field(default_factory=dict)

    def lends(self, name: str, k: int) -> bool:
        """Whether the function only uses the numbers that its argument `k` points to."""
        if (name, k) not in self.found:
            self.found[name, k] = False  # of one that calls itself
            match self.scope.find(name):
                case Function(definition=body) if body is not None and name not in self.others:
                    self.found[name, k] = self._is_used(body, k)
        return self.found[name, k]

    def _is_used(self, definition: Any, k: int) -> bool:
        given = definition.decl.type.args.params if definition.decl.type.args else ()
        if k >= len(given) or not isinstance(given[k], c_ast.Decl):
            return False
        match self.scope.resolve(given[k].type):
            case Pointer(Basic()) | Vector(Basic()):
                return self._only_uses(definition.body, given[k].name)
        return False

    def _only_uses(self, body: Any, name: str) -> bool:
        """Whether a function reads and writes what the pointer is to, and does nothing else with it."""
        parts = list(nodes(body))
        if any(isinstance(n, c_ast.Decl) and n.name == name for n in parts):
            return False
        named = {id(n) for n in parts if isinstance(n, c_ast.ID) and n.name == name}
        if any(isinstance(n, c_ast.ID) and n.name == INLINE_ASSEMBLY for n in parts):
            return False
        used = {id(base) for n in parts for base in self._uses(n)}
        return named <= used - {
            id(_base(n.expr)) for n in parts if isinstance(n, c_ast.UnaryOp) and n.op == "&"
        }

    def _uses(self, node: Any) -> Iterator[Any]:
        """Where a node uses pointers, and goes on with none."""
        if (base := _base(node)) is not None:
            yield base
        for k, given in _arguments(node):
            if isinstance(given, c_ast.ID) and self.lends(node.name.name, k):
                yield given
        match node:
            case c_ast.BinaryOp(op="==" | "!="):
                yield from (node.left, node.right)
            case c_ast.UnaryOp(op="!"):
                yield node.expr


def _base(node: Any) -> Any:
    """The pointer of `p[i]` and of `*p`."""
    match node:
        case c_ast.ArrayRef(name=c_ast.ID() as base) | c_ast.UnaryOp(op="*", expr=c_ast.ID() as base):
            return base
    return None
