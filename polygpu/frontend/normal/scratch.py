"""Arrays of a loop's body that data index, with a value from the start: none lives on from one iteration to
the next, whatever may be written where (C99, 6.2.4), so that any value will do.

int stack[32], top = 0;   ->   int stack[32] = { 0 }, top = 0;
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import assigned_names, iterator_name
from polygpu.frontend.names.scopes import Scope
from polygpu.frontend.names.types import Basic, CType, Vector
from polygpu.frontend.normal.trees import blocks, changed, is_loop, used_names
from polygpu.frontend.text.nodes import nodes

MOST_ELEMENTS = 256
_STEPS = ("p++", "p--", "++", "--")


def with_first_values(items: Sequence[Any], scope: Scope) -> list[Any]:
    """The statements of a region, with such values for arrays that loops within it declare."""
    found: list[Any] = []
    inner = scope.child()
    for item in items:
        inner.declare(item, "local")
        found += blocks([item], inner, _in_a_block) if is_loop(item) else [item]
    return found


def _in_a_block(items: list[Any], scope: Scope) -> list[Any]:
    return [
        _with_value(item) if _is_scratch(item, items[k + 1 :], scope) else item
        for k, item in enumerate(items)
    ]


def _with_value(item: c_ast.Decl) -> c_ast.Decl:
    zero = c_ast.Constant("int", "0", item.coord)
    return changed(item, init=c_ast.InitList([zero], item.coord))


def _is_scratch(item: Any, behind: Sequence[Any], scope: Scope) -> bool:
    """Whether data say which elements of an array are written, and it does not get all of them first."""
    if not isinstance(item, c_ast.Decl) or item.init is not None or item.storage or not item.name:
        return False
    count = _elements(scope.resolve(item.type), scope)
    if not 0 < count <= MOST_ELEMENTS:
        return False
    using = [other for other in behind if item.name in used_names(other)]
    if not using or _only_fills(using[0], item.name):
        return False
    return any(_writes_by_data(other, item.name, frozenset()) for other in using)


def _elements(ctype: CType, scope: Scope) -> int:
    """0 for what is no array of numbers of a constant size."""
    match ctype:
        case Vector(Basic(_, qualifiers), extent, _, _) if not qualifiers:
            known = scope.constant(extent) if isinstance(extent, c_ast.Node) else None
            return known.value if known is not None else 0
    return 0


def _only_fills(node: Any, name: str) -> bool:
    """for (...) for (...) v[...] = ...; of which the value is none of the array's."""
    if not isinstance(node, c_ast.For):
        return False
    while isinstance(node, c_ast.For | c_ast.Compound):
        inside = [node.stmt] if isinstance(node, c_ast.For) else list(node.block_items or ())
        if len(inside) != 1:
            return False
        node = inside[0]
    match node:
        case c_ast.Assignment(op="=", lvalue=c_ast.ArrayRef(name=c_ast.ID(name=found)), rvalue=value):
            return found == name and name not in used_names(value)
    return False


def _writes_by_data(node: Any, name: str, changing: frozenset[str]) -> bool:
    """Whether a store to the array has a subscript of what the statements around it change."""
    if is_loop(node):
        counted = {iterator_name(node)} if isinstance(node, c_ast.For) else set()
        changing = (changing | assigned_names(node)) - counted
    match node:
        case (
            c_ast.Assignment(lvalue=c_ast.ArrayRef(name=c_ast.ID(name=found), subscript=place))
            | c_ast.UnaryOp(expr=c_ast.ArrayRef(name=c_ast.ID(name=found), subscript=place))
        ) if found == name and (isinstance(node, c_ast.Assignment) or node.op in _STEPS):
            moving = any(isinstance(n, c_ast.ArrayRef | c_ast.FuncCall) for n in nodes(place))
            if moving or not changing.isdisjoint(used_names(place)):
                return True
    return any(_writes_by_data(child, name, changing) for child in node)
