"""What all calls of a function pass: the sizes of arrays behind its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import assigned_names
from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import Basic, Pointer, Vector
from polygpu.frontend.text.nodes import RECENT, nodes


def least_size(root: Any, scope: Scope, parameter: Variable) -> int | None:
    """The elements that the array behind a parameter has in every call, if the file has all calls.

    `root` is the file's tree, `scope` its scope. None unless all calls pass whole arrays of one dimension, of
    known sizes, and the function leaves the parameter as it is.
    """
    function = next((f for f in _functions(root) if parameter.node in _parameters(f)), None)
    if function is None or parameter.name in assigned_names(function.body) or not _is_hidden(root, function):
        return None
    place = _parameters(function).index(parameter.node)
    calls = ((caller, call) for caller in _functions(root) for call in _calls(caller, function))
    sizes = [_size(caller, scope, call, place, parameter) for caller, call in calls]
    known = [size for size in sizes if size is not None]
    return min(known) if known and len(known) == len(sizes) else None


def _functions(root: Any) -> Iterator[Any]:
    return (node for node in root.ext if isinstance(node, c_ast.FuncDef))


def _parameters(function: Any) -> list[Any]:
    arguments = function.decl.type.args
    return list(arguments.params) if arguments else []


@lru_cache(RECENT)
def _is_hidden(root: Any, function: Any) -> bool:
    """Whether nothing but calls by name in the file reaches the function."""
    name = function.decl.name
    declared = [n for n in root.ext if isinstance(n, c_ast.Decl) and n.name == name]
    static = any("static" in (d.storage or ()) for d in (function.decl, *declared))
    mentions = sum(isinstance(n, c_ast.ID) and n.name == name for n in nodes(root))
    return static and mentions == sum(1 for f in _functions(root) for _ in _calls(f, function))


def _calls(caller: Any, function: Any) -> Iterator[Any]:
    name = function.decl.name
    for node in nodes(caller.body):
        if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID) and node.name.name == name:
            yield node


def _size(caller: Any, scope: Scope, call: Any, place: int, parameter: Variable) -> int | None:
    """Of the array that a call passes at a place."""
    arguments = call.args.exprs if call.args else []
    argument = arguments[place] if place < len(arguments) else None
    if not isinstance(argument, c_ast.ID):
        return None
    own = [n for n in nodes(caller) if isinstance(n, c_ast.Decl) and n.name == argument.name]
    if len(own) > 1 or any(node in _parameters(caller) for node in own):
        return None
    found = scope.find(argument.name)
    ctype = scope.resolve(own[0].type) if own else found.type if isinstance(found, Variable) else None
    match ctype, parameter.type:
        case Vector(Basic(own_name), extent), Vector(Basic(name)) | Pointer(Basic(name)) if own_name == name:
            size = scope.constant(extent) if isinstance(extent, c_ast.Node) else None
            return size.value if size else None
    return None
