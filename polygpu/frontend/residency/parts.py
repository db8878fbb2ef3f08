"""What a file shows of other files of its program: functions that it calls, or that it is for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Function
from polygpu.frontend.read.directives import parsed
from polygpu.frontend.read.openmp import is_for_devices
from polygpu.frontend.read.state import FileContext
from polygpu.frontend.residency.walk import LOOPS, called
from polygpu.frontend.text.nodes import nodes

_OUT_OF_SIGHT = re.compile(r"\b(?:weak|alias|ifunc|_*asm_*)\b")


def is_part(context: FileContext) -> bool:
    """Whether it calls functions that other files define, or defines some that a header declares.

    A file with neither loops nor `main` is for others, too, and so is one with pragmas about a device,
    or that is said to be.
    """
    if context.part or maps_data(context):
        return True
    defined = [node for node in context.root.ext if isinstance(node, c_ast.FuncDef)]
    if defined and not any(f.decl.name == "main" or _has_loops(f) for f in defined):
        return True
    return bool(outside(context) & called(context.root)) or any(
        _is_declared(context, f) for f in exported(context)
    )


def is_program(context: FileContext) -> bool:
    """Whether it is all of a program, as far as it shows."""
    defined = (node.decl.name for node in context.root.ext if isinstance(node, c_ast.FuncDef))
    return "main" in defined and not is_part(context)


def maps_data(context: FileContext) -> bool:
    """Whether it has pragmas that run loops on a device, or map arrays to it, as others may for these."""
    pragmas = (node for node in nodes(context.root) if isinstance(node, c_ast.Pragma))
    return any(is_for_devices(parsed(pragma)) for pragma in pragmas)


def _has_loops(function: Any) -> bool:
    return any(isinstance(node, LOOPS) for node in nodes(function.body))


def outside(context: FileContext) -> frozenset[str]:
    """The functions that the user declares and this file does not define."""
    functions = (
        s
        for s in context.scope.symbols.values()
        if isinstance(s, Function) and (s.definition is None or s.borrowed)
    )
    return frozenset(f.name for f in functions if context.at(f.node).file in context.positions.sources)


def exported(context: FileContext) -> Iterator[Any]:
    """The definitions of the file that others call by name, whatever else is linked.

    A weak one may be replaced, an inline one may stand in another file, too; what assembly does nobody knows.
    """
    path, texts = context.source.path, context.positions.sources.values()
    if any(_OUT_OF_SIGHT.search(source.text) for source in texts):
        return
    for function in context.root.ext:
        if isinstance(function, c_ast.FuncDef) and context.at(function).file == path:
            said = [function.decl, *_declarations(context, function.decl.name)]
            words = {word for node in said for word in (*(node.storage or ()), *(node.funcspec or ()))}
            if function.decl.name != "main" and not words & {"static", "inline", "__inline", "__inline__"}:
                yield function


def _declarations(context: FileContext, name: str) -> list[Any]:
    """Those of a function, without a body."""
    return [n for n in context.root.ext if isinstance(n, c_ast.Decl) and n.name == name]


def _is_declared(context: FileContext, function: Any) -> bool:
    """Whether a header of the user's has it."""
    files = {context.at(node).file for node in _declarations(context, function.decl.name)}
    return bool(files - {context.source.path})
