"""Where the regions of a file are: between pragmas, or as maximal loop nests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import Block
from polygpu.frontend.names.scopes import Scope, function_scope
from polygpu.frontend.read import openmp
from polygpu.frontend.read.directives import pragma_word
from polygpu.frontend.read.state import FileContext
from polygpu.frontend.read.unsupported import note
from polygpu.frontend.regions.scops import Extract
from polygpu.frontend.regions.teams import Team
from polygpu.frontend.text.nodes import nodes
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnostic
from polygpu.support.position import Position


@dataclass(frozen=True)
class Sequence:
    """The items of one block (or one statement without braces) with the scope at its start.

    `threads` is the pragma of the innermost OpenMP construct that all of it stands in, or None, and `team`
    the threads that run all of it where that is a `parallel`.
    """

    function: Any
    node: Any
    items: tuple[Any, ...]
    scope: Scope
    threads: Any = None
    team: Team | None = None


def functions(context: FileContext) -> Iterator[Sequence]:
    """The body of each function of the file."""
    for node in context.root.ext:
        if isinstance(node, c_ast.FuncDef):
            scope = function_scope(node, context.scope)
            yield Sequence(node, node.body, tuple(node.body.block_items or ()), scope)


def name_of_regions(context: FileContext, function: Any) -> str:
    """What the names of a function's regions begin with.

    Regions are external functions. Those of a function that other files cannot see have the name of the
    file in them, since functions of other files may have the same name.
    """
    name = str(function.decl.name)
    stem = re.sub(r"\W", "_", Path(context.source.path).stem)
    if _is_internal(context.root, function) and f"_{stem}_" not in f"_{name}_":
        name = f"{stem}_{name}"
    return f"polygpu_{name}"


def _is_internal(root: Any, function: Any) -> bool:
    """Whether another file may define a function of the name: `static` at any declaration, or inline."""
    declarations = [function.decl, *(d for d in root.ext if isinstance(d, c_ast.Decl))]
    own = [d for d in declarations if d.name == function.decl.name]
    static = any("static" in d.storage for d in own)
    inline = all("inline" in d.funcspec and "extern" not in d.storage for d in own)
    return static or inline


def inner_sequences(outer: Sequence, node: Any, scope: Scope) -> Iterator[Sequence]:
    """The blocks directly within a statement."""
    if isinstance(node, c_ast.Compound):
        yield replace(outer, node=node, items=tuple(node.block_items or ()), scope=scope.child())
        return
    if isinstance(node, c_ast.Case | c_ast.Default):
        # What a case declares is visible in the cases after it.
        yield replace(outer, node=node, items=tuple(node.stmts or ()), scope=scope)
        return
    inner = scope.child()
    for part in ("init", "stmt", "iftrue", "iffalse"):
        child = getattr(node, part, None)
        if isinstance(child, c_ast.DeclList):
            for declaration in child.decls:
                inner.declare(declaration, "local")
        elif isinstance(child, c_ast.Compound):
            yield from inner_sequences(outer, child, inner)
        elif isinstance(child, c_ast.Node) and part != "init":
            yield replace(outer, node=child, items=(child,), scope=inner.child())


def has_pragmas(tree: Any) -> bool:
    pragmas = (node for node in nodes(tree) if isinstance(node, c_ast.Pragma))
    return any(pragma_word(pragma) in ("scop", "endscop") for pragma in pragmas)


@dataclass
class Marked:
    """Regions between pragmas, and what is wrong with the pragmas. `ends` pairs extracts' pragmas."""

    extracts: list[tuple[Extract, Any, Any]] = field(default_factory=list)
    errors: list[Diagnostic] = field(default_factory=list)


def marked(context: FileContext) -> Marked:
    """All regions between `#pragma scop` and `#pragma endscop`, in the order of the file."""
    found = Marked()
    for node in context.root.ext:
        if isinstance(node, c_ast.Pragma) and (word := pragma_word(node)) in ("scop", "endscop"):
            message = f"'#pragma {word}' outside of a function"
            found.errors.append(
                _error("PG110", message, context.at(node), "move it around the loops of a function")
            )
    for sequence in functions(context):
        _mark(context, sequence, found)
    return found


def _error(identity: str, message: str, position: Position, help_text: str, *notes: Diagnostic) -> Diagnostic:
    return Diagnostic(identity, "error", message, position, help_text, notes)


def _by_threads(context: FileContext, begin: Any, pragma: Any) -> Diagnostic:
    help_text = "let one thread run it ('#pragma omp single'), or move it out of the construct"
    construct = note("the OpenMP construct is here", context.at(pragma))
    message = "several threads of OpenMP run this region"
    return _error("PG116", message, context.at(begin), help_text, construct)


def _mark(context: FileContext, sequence: Sequence, found: Marked) -> None:
    opened: tuple[Any, int, Scope] | None = None
    scope = sequence.scope
    for index, item in enumerate(sequence.items):
        word = pragma_word(item) if isinstance(item, c_ast.Pragma) else ""
        if word == "scop":
            if opened is not None:
                first = note("the region begins here", context.at(opened[0]))
                help_text = "end the first region with '#pragma endscop' before the next begins"
                found.errors.append(
                    _error("PG111", "'#pragma scop' within a region", context.at(item), help_text, first)
                )
            opened = item, index, scope.copy()
        elif word == "endscop":
            if opened is None:
                help_text = "put '#pragma scop' before the first loop of the region, in the same block"
                message = "'#pragma endscop' without '#pragma scop' in this block"
                found.errors.append(_error("PG110", message, context.at(item), help_text))
                continue
            start, begin, at_start = opened
            block = Block(sequence.node, begin, index + 1)
            items = sequence.items[begin + 1 : index]
            extract = Extract(sequence.function, at_start, block, items, context.at(start))
            found.extracts.append((extract, start, item))
            threads = openmp.entered(sequence.items, begin) or sequence.threads
            if threads is not None and not openmp.one_at_a_time(threads):
                found.errors.append(_by_threads(context, start, threads))
            opened = None
        elif opened is None:
            threads = openmp.entered(sequence.items, index) or sequence.threads
            for inner in inner_sequences(replace(sequence, threads=threads), item, scope):
                _mark(context, inner, found)
        if not word:
            scope.declare(item, "local")
    if opened is not None:
        help_text = "put '#pragma endscop' after the last loop of the region, in the same block"
        message = "'#pragma scop' without '#pragma endscop' in this block"
        found.errors.append(_error("PG110", message, context.at(opened[0]), help_text))
