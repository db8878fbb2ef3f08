"""Which variables a function may change, itself or by what it calls."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import address_kept, assigned_names, iterator_name, jumps_back
from polygpu.frontend.names.scopes import Function, Scope, Symbol, Variable
from polygpu.frontend.names.types import Basic
from polygpu.frontend.text.nodes import RECENT, inside, nodes, parts_of, remembered
from polygpu.support.recent import Recent, Same

_CHANGED: Recent[frozenset[str]] = Recent(RECENT)


@lru_cache(RECENT)
def changed_names(body: Any) -> frozenset[str]:
    """Variables that the function assigns, the iterators of its loops included."""
    return frozenset(assigned_names(body)) | frozenset(outer_iterators(body))


def changed_since(body: Any, declaration: Any) -> frozenset[str]:
    """Variables that the function may assign where it is behind one of its declarations; wherever it may, if
    it does not declare this itself.
    """
    order = list(nodes(body))
    start = next((k for k, node in enumerate(order) if node is declaration), None)
    if start is None or jumps_back(body):
        return changed_names(body)
    kept = (name for name in changed_names(body) if address_kept(body, name))
    return frozenset(kept).union(*map(_assigned_by, order[start:]))


def _assigned_by(node: Any) -> frozenset[str]:
    match node:
        case c_ast.Assignment(lvalue=c_ast.ID(name=name)):
            return frozenset({name})
        case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--" | "&", expr=c_ast.ID(name=name)):
            return frozenset({name})
    return frozenset()


def outer_iterators(tree: Any) -> Iterator[str]:
    """Iterators that are declared before their loops."""
    for loop in (node for node in nodes(tree) if isinstance(node, c_ast.For)):
        declared = [part.name for part in parts_of(loop.init) if isinstance(part, c_ast.Decl)]
        name = iterator_name(loop)
        if name and name not in declared:
            yield name


@remembered
def given_values(tree: Any) -> frozenset[str]:
    """The names that a tree assigns or declares."""
    declared = (inner.name for inner in nodes(tree) if isinstance(inner, c_ast.Decl))
    return assigned_names(tree).union(outer_iterators(tree), declared)


def changed_around(body: Any, place: Any) -> frozenset[str]:
    """What loops of a function around a statement assign or declare, itself among it."""
    node, found = body, frozenset[str]()
    while node is not place:
        if isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile):
            found |= given_values(node)
        node = next((part for part in node if id(place) in inside(part)), place)
    return found


def used_outside(tree: Any, name: str) -> bool:
    """Whether the tree names an iterator outside of its loops, or has a loop that starts at its value."""
    if isinstance(tree, c_ast.ID):
        return bool(tree.name == name)
    if isinstance(tree, c_ast.For) and iterator_name(tree) == name:
        parts = parts_of(tree.init)
        starts = [_start(part, name) for part in parts]
        return all(s is p for s, p in zip(starts, parts, strict=True)) or any(
            used_outside(start, name) for start in starts if start is not None
        )
    return any(used_outside(part, name) for part in tree)


def _start(part: Any, name: str) -> Any:
    """The value that a part of a loop's header sets the name to; the part itself if it sets another."""
    match part:
        case c_ast.Decl(name=found, init=value) if found == name:
            return value
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=found), rvalue=value) if found == name:
            return value
    return part


def changed_by_calls(definition: Any, scope: Scope) -> frozenset[str]:
    """Global numbers that functions which `definition` names may assign; `scope` is the file's.

    One that is declared but not defined here may assign all of them, as may one called through a pointer.
    Those that no file of the user's declares are the C library's, and assign none.
    """
    return _CHANGED.get((definition, Same(scope)), lambda: _changed_by_calls(definition, scope))


def _changed_by_calls(definition: Any, scope: Scope) -> frozenset[str]:
    numbers = frozenset(name for name, symbol in scope.symbols.items() if _is_number(symbol))
    if not numbers:
        return numbers
    found: frozenset[str] = frozenset()
    reached = {definition.decl.name: definition}
    waiting = [definition]
    while waiting:
        function = waiting.pop()
        own = _declared(function)
        if _calls_through_pointer(function.body, scope, own):
            return numbers
        for name in _names(function.body) - own - reached.keys():
            symbol = scope.find(name)
            if isinstance(symbol, Function):
                if symbol.definition is None:
                    return numbers
                reached[name] = symbol.definition
                waiting.append(symbol.definition)
                found |= changed_names(symbol.definition.body)
    return numbers & found


def _is_number(symbol: Symbol) -> bool:
    match symbol:
        case Variable(type=Basic(qualifiers=qualifiers)):
            return "const" not in qualifiers
    return False


def _declared(function: Any) -> frozenset[str]:
    """Names of variables that the function declares, its parameters included."""
    declarations = (node for node in nodes(function) if isinstance(node, c_ast.Decl))
    return frozenset(d.name for d in declarations if not isinstance(d.type, c_ast.FuncDecl))


def _names(tree: Any) -> frozenset[str]:
    return frozenset(node.name for node in nodes(tree) if isinstance(node, c_ast.ID))


def _calls_through_pointer(tree: Any, scope: Scope, own: frozenset[str]) -> bool:
    called = (node.name for node in nodes(tree) if isinstance(node, c_ast.FuncCall))
    return any(
        not isinstance(f, c_ast.ID) or f.name in own or isinstance(scope.find(f.name), Variable)
        for f in called
    )
