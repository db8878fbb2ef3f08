"""Which variables a function may change, itself or by what it calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import assigned_names, iterator_name
from polygpu.frontend.names.scopes import Function, Scope, Symbol, Variable
from polygpu.frontend.names.types import Basic


def changed_names(body: Any) -> frozenset[str]:
    """Variables that the function assigns, the iterators of its loops included."""
    return frozenset(assigned_names(body)) | frozenset(outer_iterators(body))


def outer_iterators(node: Any) -> Iterator[str]:
    """Iterators that are declared before their loops."""
    if isinstance(node, c_ast.For) and isinstance(node.init, c_ast.Assignment):
        yield iterator_name(node)
    for _, child in node.children():
        yield from outer_iterators(child)


def changed_by_calls(definition: Any, scope: Scope) -> frozenset[str]:
    """Global numbers that functions which `definition` names may assign; `scope` is the file's.

    One that is declared but not defined here may assign all of them, as may one called through a pointer.
    Those that no file of the user's declares are the C library's, and assign none.
    """
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


def _declared(node: Any) -> frozenset[str]:
    """Names of variables that the function declares, its parameters included."""
    here = [node.name] if isinstance(node, c_ast.Decl) and not isinstance(node.type, c_ast.FuncDecl) else []
    return frozenset(here).union(*(_declared(child) for _, child in node.children()))


def _names(node: Any) -> frozenset[str]:
    here = [node.name] if isinstance(node, c_ast.ID) else []
    return frozenset(here).union(*(_names(child) for _, child in node.children()))


def _calls_through_pointer(node: Any, scope: Scope, own: frozenset[str]) -> bool:
    if isinstance(node, c_ast.FuncCall):
        name = node.name.name if isinstance(node.name, c_ast.ID) else None
        if name is None or name in own or isinstance(scope.find(name), Variable):
            return True
    return any(_calls_through_pointer(child, scope, own) for _, child in node.children())
