"""What all calls of a function pass: the sizes of arrays behind its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from pycparser import c_ast, c_generator

from polygpu.frontend.names.allocations import allocated
from polygpu.frontend.names.liveness import assigned_names
from polygpu.frontend.names.scopes import Scope, Variable, function_scope
from polygpu.frontend.names.types import Basic, CType, Pointer, Qualified, Vector
from polygpu.frontend.normal.trees import renamed
from polygpu.frontend.text.nodes import RECENT, nodes


def size_in_calls(root: Any, scope: Scope, parameter: Variable, is_whole: Callable[[], bool]) -> Any:
    """The elements that the array behind a parameter has in every call, if the file has all calls: an
    expression of constants and other parameters, None where it is not known.

    `root` is the file's tree, `scope` its scope; it `is_whole` if its program has no other file. Known are
    arrays of one dimension, of constant sizes, of which the smallest counts, and what callers allocate, if
    all have the same for it; the function leaves the parameters as they are.
    """
    function = next((f for f in _functions(root) if parameter.node in _parameters(f)), None)
    if function is None or parameter.name in assigned_names(function.body):
        return None
    if not _is_called_by_name(root, function) or not (_is_static(root, function) or is_whole()):
        return None
    calls = [(caller, call) for caller in _functions(root) for call in _calls(caller, function)]
    sizes = [_size(root, caller, scope, call, function, parameter) for caller, call in calls]
    numbers = [number for size in sizes if size is not None and (number := scope.constant(size))]
    if sizes and len(numbers) == len(sizes):
        return c_ast.Constant("int", str(min(number.value for number in numbers)))
    written = {None if size is None else c_generator.CGenerator().visit(size) for size in sizes}
    return sizes[0] if len(written) == 1 else None


def _functions(root: Any) -> Iterator[Any]:
    return (node for node in root.ext if isinstance(node, c_ast.FuncDef))


def _parameters(function: Any) -> list[Any]:
    arguments = function.decl.type.args
    return list(arguments.params) if arguments else []


@lru_cache(RECENT)
def _is_called_by_name(root: Any, function: Any) -> bool:
    """Whether nothing but calls by its name reaches the function, in this file."""
    mentions = sum(1 for n in nodes(root) if isinstance(n, c_ast.ID) and n.name == function.decl.name)
    return mentions == sum(1 for f in _functions(root) for _ in _calls(f, function))


def _is_static(root: Any, function: Any) -> bool:
    declared = [n for n in root.ext if isinstance(n, c_ast.Decl) and n.name == function.decl.name]
    return any("static" in (d.storage or ()) for d in (function.decl, *declared))


def _calls(caller: Any, function: Any) -> Iterator[Any]:
    name = function.decl.name
    for node in nodes(caller.body):
        if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID) and node.name.name == name:
            yield node


def _size(root: Any, caller: Any, scope: Scope, call: Any, function: Any, parameter: Variable) -> Any:
    """Of the array that a call passes for a parameter."""
    arguments = call.args.exprs if call.args else []
    place = _parameters(function).index(parameter.node)
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
            known = isinstance(extent, c_ast.Node) and scope.constant(extent) is not None
            return extent if known else None
        case Pointer(first), Vector(second) | Pointer(second) if own and _is_one(first, second):
            inside = function_scope(caller, scope).child()
            for item in caller.body.block_items or ():
                inside.declare(item, "local")
            pointer = inside.find(argument.name)
            count = allocated(root, inside, pointer) if isinstance(pointer, Variable) else None
            return None if count is None else _in_parameters(count, arguments, function, inside, scope)
    return None


def _in_parameters(count: Any, arguments: list[Any], function: Any, caller: Scope, file: Scope) -> Any:
    """What a caller computes of its variables, by the parameters that it passes them for; None where it does
    not pass one, or as another type.
    """
    assigned = assigned_names(function.body)
    names: dict[str, str] = {}
    for node in nodes(count):
        variable = caller.find(node.name) if isinstance(node, c_ast.ID) else None
        if isinstance(variable, Variable):
            passed = (
                p.name
                for p, a in zip(_parameters(function), arguments, strict=False)
                if isinstance(a, c_ast.ID) and a.name == node.name and p.name not in assigned
                if _is_one(file.resolve(p.type), variable.type)
            )
            names[node.name] = next(passed, "")
    return renamed(count, names) if all(names.values()) else None


def _is_one(first: CType, second: CType) -> bool:
    match first, second:
        case Qualified(one), Qualified(other):
            return one is other
        case Basic(one_name), Basic(other_name):
            return one_name == other_name
    return False
