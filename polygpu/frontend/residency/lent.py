"""What functions of other files do to memory that their callers lend them, where their text is at hand.

b.c:  void fill(int n, float y[]) { for (int i = 0; i < n; i++) y[i] = i; }
a.c:  fill(9, tmp);    // writes tmp, and nothing else that regions of a.c may have on the device
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import assigned_names
from polygpu.frontend.names.scopes import Scope, Variable, function_scope
from polygpu.frontend.names.types import Basic, CType, Pointer, Vector
from polygpu.frontend.residency.libraries import behaviour
from polygpu.frontend.text.nodes import nodes

_SET = ("++", "--", "p++", "p--")
_PLAIN = (
    c_ast.Compound, c_ast.If, c_ast.For, c_ast.While, c_ast.DoWhile, c_ast.Return, c_ast.DeclList, c_ast.Decl,
    c_ast.TypeDecl, c_ast.IdentifierType, c_ast.Break, c_ast.Continue, c_ast.EmptyStatement, c_ast.Constant,
    c_ast.Assignment, c_ast.BinaryOp, c_ast.TernaryOp, c_ast.ExprList, c_ast.Cast, c_ast.Typename, c_ast.ID,
    c_ast.ArrayRef, c_ast.UnaryOp, c_ast.FuncCall, c_ast.Goto, c_ast.Label, c_ast.Switch, c_ast.Case,
    c_ast.Default,
)  # fmt: skip


def lent(definition: Any, scope: Scope, users: Callable[[Any], bool]) -> Mapping[int, bool] | None:
    """The parameters, by position, through which the function reads numbers, or, if True, writes them.

    None for one that may touch arrays in other ways: by their names, by pointers that it computes or passes
    on, or in functions that it calls. `scope` is that of its file; `users` says which calls are of functions
    of the user's.
    """
    given = definition.decl.type.args.params if definition.decl.type.args else ()
    inner = function_scope(definition, scope)
    parameters = {node.name: k for k, node in enumerate(given) if getattr(node, "name", None)}
    pointers = {name for name in parameters if not isinstance(_type(inner, name), Basic)}
    known = all(_is_number(_target(_type(inner, name))) for name in pointers)
    if not known or pointers & (assigned_names(definition.body) | _declared(definition.body)):
        return None
    parts = list(nodes(definition.body))
    bases = {id(_base(node)): node for node in parts if _base(node) is not None}
    if not all(_is_plain(node, scope, pointers, bases, users) for node in parts):
        return None
    written = {id(_base(place)) for place in _stored(parts)}
    found: dict[int, bool] = {}
    for base, place in bases.items():
        name = _base(place).name
        if name in pointers:
            found[parameters[name]] = found.get(parameters[name], False) or base in written
    return found


def _type(scope: Scope, name: str) -> CType | None:
    found = scope.find(name)
    return found.type if isinstance(found, Variable) else None


def _target(ctype: CType | None) -> CType | None:
    match ctype:
        case Pointer(target):
            return target
        case Vector(element):
            return element
    return None


def _is_number(ctype: CType | None) -> bool:
    return isinstance(ctype, Basic) and not {"volatile", "_Atomic"} & ctype.qualifiers


def _declared(body: Any) -> set[str]:
    return {node.name for node in nodes(body) if isinstance(node, c_ast.Decl)}


def _base(node: Any) -> Any:
    """The name that an element is one of: `p` of `p[i]` and of `*p`."""
    match node:
        case c_ast.ArrayRef(name=c_ast.ID() as base) | c_ast.UnaryOp(op="*", expr=c_ast.ID() as base):
            return base
    return None


def _stored(parts: list[Any]) -> Iterator[Any]:
    for node in parts:
        match node:
            case c_ast.Assignment(lvalue=place):
                yield place
            case c_ast.UnaryOp(op=op, expr=place) if op in _SET:
                yield place


def _is_plain(
    node: Any, scope: Scope, pointers: set[str], bases: Mapping[int, Any], users: Callable[[Any], bool]
) -> bool:
    """Whether a node leads to no memory but the function's own, and what `pointers` reach at once."""
    match node:
        case c_ast.ID(name=name) if name in pointers:
            return id(node) in bases
        case c_ast.ID(name=name):
            found = scope.find(name)  # numbers and pointers never stay on the device between calls
            return not isinstance(found, Variable) or isinstance(found.type, Basic | Pointer | Vector)
        case c_ast.Decl():
            return isinstance(node.type, c_ast.TypeDecl) and "volatile" not in node.quals
        case c_ast.UnaryOp(op="&"):
            return False
        case c_ast.ArrayRef() | c_ast.UnaryOp(op="*"):
            base = _base(node)
            return base is not None and base.name in pointers
        case c_ast.FuncCall():
            return isinstance(node.name, c_ast.ID) and behaviour(node.name.name) == "free" and not users(node)
    return isinstance(node, _PLAIN)
