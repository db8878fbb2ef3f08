"""Functions of the program's other files, as if the file itself defined them.

    a.c:  void scale(float *p);              b.c:  void scale(float *p) { p[0] *= 2; }
          for (...) scale(&a[i]);

A function is borrowed from the only file that defines it, where all names that it uses mean the same in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from pycparser import c_ast, c_generator

from polygpu.frontend.names.scopes import Function, Hidden, Scope, file_scope
from polygpu.frontend.names.types import Basic
from polygpu.frontend.normal.trees import free_names, used_names
from polygpu.frontend.options import FrontendOptions
from polygpu.frontend.text.clean import clean
from polygpu.frontend.text.counting import count
from polygpu.frontend.text.nodes import nodes
from polygpu.frontend.text.parse import Positions, parse
from polygpu.frontend.text.preprocess import preprocess, read_source
from polygpu.frontend.text.source import Source
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed

# What a compiler may do otherwise than the text says.
_OTHERWISE = re.compile(r"\b__attribute|^\s*#\s*pragma\s+(?:weak|pack)\b|\b_*asm_*\b", re.MULTILINE)
_TEXT = c_generator.CGenerator()


@dataclass(frozen=True)
class Unit:
    """A parsed file."""

    root: Any
    positions: Positions

    @cached_property
    def scope(self) -> Scope:
        return file_scope(self.root, Hidden())

    @cached_property
    def defined(self) -> dict[str, Any]:
        """The functions that the file itself defines, and that are what their text says."""
        clean = self.positions.clean
        if _OTHERWISE.search(self.positions.sources[clean.files[0]].text):
            return {}
        found = (node for node in self.root.ext if isinstance(node, c_ast.FuncDef))
        return {node.decl.name: node for node in found}

    @cached_property
    def declared(self) -> dict[str, list[Any]]:
        """What gives a name of the file its meaning: declarations, and structures and enumerations."""
        found: dict[str, list[Any]] = {}
        for node in self.root.ext:
            if isinstance(node, c_ast.FuncDef):
                found.setdefault(node.decl.name, []).append(node.decl)
                continue
            if isinstance(node, c_ast.Decl | c_ast.Typedef) and node.name:
                found.setdefault(node.name, []).append(node)
            for part in nodes(node):
                for name in _named_by(part):
                    found.setdefault(name, []).append(part)
        return found

    def meaning(self, name: str) -> frozenset[str]:
        """What is said of a name, but for what a declaration and a definition differ in: nothing of a
        function where only what it returns is said.
        """
        said = (n for n in self.declared.get(name, ()) if not _is_unspecified(n) or self._is_definition(n))
        return frozenset(map(_spelled, said))

    def _is_definition(self, node: Any) -> bool:
        return node.name in self.defined and self.defined[node.name].decl is node

    def depends(self, name: str) -> frozenset[str]:
        """The names that it is declared by."""
        return frozenset(n for node in self.declared.get(name, ()) for n in _depends(node)) - {name}

    def is_static(self, name: str) -> bool:
        return any("static" in (getattr(node, "storage", None) or ()) for node in self.declared.get(name, ()))

    def is_constant(self, name: str) -> bool:
        return all(_is_constant(node) for node in self.declared.get(name, ()))

    def is_function(self, name: str) -> bool:
        return isinstance(self.scope.symbols.get(name), Function)

    def number(self, name: str) -> bool:
        """Whether it is another name of an arithmetic type."""
        return isinstance(self.scope.typedefs.get(name), Basic)


def _named_by(part: Any) -> Iterator[str]:
    """The names that a structure or an enumeration gives a meaning."""
    match part:
        case c_ast.Struct(decls=[*_]) | c_ast.Union(decls=[*_]) if part.name:
            yield part.name
        case c_ast.Enum(values=c_ast.EnumeratorList()):
            yield from (constant.name for constant in part.values.enumerators)
            if part.name:
                yield part.name


def _is_constant(node: Any) -> bool:
    """Whether a variable has the value that its declaration says, always."""
    ctype = getattr(node, "type", None)
    while isinstance(ctype, c_ast.ArrayDecl):
        ctype = ctype.type
    return isinstance(ctype, c_ast.TypeDecl) and "const" in ctype.quals and node.init is not None


def _is_unspecified(node: Any) -> bool:
    """Whether a function is declared without saying what it takes."""
    return isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl) and node.type.args is None


def _spelled(node: Any) -> str:
    match node:
        case c_ast.Decl(type=c_ast.FuncDecl(args=None)):
            return f"{_spelled_type(node.type.type)} (void)"
        case c_ast.Decl(type=c_ast.FuncDecl()):
            given = node.type.args.params
            types = [_spelled_type(_passed(p.type)) if hasattr(p, "type") else "..." for p in given]
            return f"{_spelled_type(node.type.type)} ({', '.join(types)})"
        case c_ast.Decl() if _is_constant(node):
            return str(_TEXT.visit(node))
        case c_ast.Decl() | c_ast.Typedef():
            return _spelled_type(node.type)
    return str(_TEXT.visit(node))


def _spelled_type(ctype: Any) -> str:
    """A type without the name that is declared by it."""
    return str(_TEXT.visit(c_ast.Typename(None, [], None, _unnamed(ctype))))


def _passed(ctype: Any) -> Any:
    """The type of a parameter as callers see it: C99 6.7.5.3p7 and p15."""
    match ctype:
        case c_ast.ArrayDecl():
            return c_ast.PtrDecl([], ctype.type, ctype.coord)
        case c_ast.TypeDecl(quals=[_, *_]):
            made = copy(ctype)
            made.quals = []
            return made
    return ctype


def _unnamed(ctype: Any) -> Any:
    made = copy(ctype)
    if isinstance(made, c_ast.TypeDecl):
        made.declname = None
    elif hasattr(made, "type"):
        made.type = _unnamed(made.type)
    return made


def _depends(node: Any) -> Iterator[str]:
    """The names in a declaration, without its initialiser."""
    yield from used_names(node.type if isinstance(node, c_ast.Decl | c_ast.Typedef) else node)


@lru_cache(maxsize=64)
def _unit(path: str, text: str, options: FrontendOptions) -> Unit | None:
    """A file with its loops as `lift` has them; None for one that cannot be parsed, which says so itself."""
    try:
        cleaned = clean(preprocess(path, text, options), path)
        others = {file: read_source(file) for file in cleaned.files if file != path and Path(file).is_file()}
        sources = {file: Source(file, found) for file, found in {path: text, **others}.items()}
        tree = parse(cleaned, sources)
    except Diagnosed:
        return None
    count(tree.root)
    return Unit(tree.root, tree.positions)


def units(names: Iterable[str], others: Iterable[str], options: FrontendOptions) -> Iterator[Unit]:
    """The other files that have one of the names in their text."""
    wanted = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\s*\(")
    for path in others:
        text = read_source(path)
        if wanted.search(text) and (unit := _unit(path, text, replace(options, others=()))):
            yield unit


@dataclass
class Beside:
    """Other files of the program. `positions` are those of this one's tree and of what is borrowed, `refused`
    says of functions why they are not.
    """

    own: Unit
    scope: Scope
    positions: Positions
    refused: dict[str, str] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)

    def borrow(self, others: Sequence[Unit]) -> None:
        """Enters the functions that the file calls, and those that these call, into its scope."""
        waiting = sorted(called(self.own.root))
        seen = set(waiting)
        while waiting:
            name = waiting.pop()
            known = self.scope.find(name)
            if not isinstance(known, Function) or known.definition is not None:
                continue
            found = [unit for unit in others if name in unit.defined and not unit.is_static(name)]
            if len(found) == 1:
                waiting += self._borrowed(name, known.node, found[0], seen)

    def _borrowed(self, name: str, declaration: Any, unit: Unit, seen: set[str]) -> list[str]:
        """What the function calls, if it is borrowed."""
        definition = unit.defined[name]
        if name in self.own.declared and (reason := self._differs(name, unit)):
            self.refused[name] = reason
            return []
        helpers: list[str] = []
        for used in sorted(_used(definition, unit)):
            if reason := self._reason(used, unit):
                self.refused[name] = reason
                return []
            if used in unit.defined and unit.is_static(used):
                helpers.append(used)
            elif used not in self.own.declared and used in unit.declared:
                self._declare(used, unit)
        try:
            made = _shifted(definition, self._behind(unit))
        except RecursionError:  # chains of hundreds of `else if`, of which no region is made
            self.refused[name] = f"it is nested too deeply in {unit.positions.clean.files[0]}"
            return []
        self.scope.symbols[name] = Function(name, declaration, made, borrowed=True)
        calls = []
        for used in helpers:
            if used not in seen:
                seen.add(used)
                calls += self._borrowed(used, unit.defined[used].decl, unit, seen)
        new = sorted(called(definition) - seen)
        seen.update(new)
        return [*calls, *new]

    def _reason(self, name: str, unit: Unit) -> str:
        """Why a name in the function of another file cannot stand in this one."""
        where = unit.positions.clean.files[0]
        if name in unit.defined and unit.is_static(name):
            return f"'{name}' of {where} is something else here" if name in self.own.declared else ""
        if name in self.own.declared or name not in unit.declared:
            return self._differs(name, unit)
        if unit.is_function(name) or unit.number(name):
            return ""
        return f"it uses '{name}', which is not declared here"

    def _differs(self, name: str, unit: Unit) -> str:
        """Whether a name, or one that it is declared by, means something else in the other file."""
        waiting, seen = [name], {name}
        while waiting:
            used = waiting.pop()
            here, there = self.own.meaning(used), unit.meaning(used)
            same = here == there or len(here | there) <= 1
            hidden = any(u.is_static(used) and not u.is_constant(used) for u in (self.own, unit))
            if not same or hidden:
                return f"'{used}' means something else in {unit.positions.clean.files[0]}"
            new = unit.depends(used) - seen
            seen |= new
            waiting += sorted(new)
        return ""

    def _declare(self, name: str, unit: Unit) -> None:
        for node in unit.declared[name]:
            if unit.number(name):
                self.scope.typedefs[name] = unit.scope.typedefs[name]
            else:
                self.scope.symbols.setdefault(name, Function(name, _shifted(node, self._behind(unit))))

    def _behind(self, unit: Unit) -> int:
        """By how many lines the text of a unit stands behind that of the file."""
        first, behind = self.positions.clean, unit.positions.clean
        if (known := self.starts.get(behind.files[0])) is not None:
            return known
        start = self.starts[behind.files[0]] = len(first.places)
        lines = [first.text.split("\n")[: len(first.places)], behind.text.split("\n")[: len(behind.places)]]
        missing = start - len(lines[0])
        joined = replace(
            first,
            text="\n".join([*lines[0], *[""] * missing, *lines[1]]),
            places=(*first.places, *behind.places),
            files=tuple(dict.fromkeys((*first.files, *behind.files))),
            system_files=tuple(dict.fromkeys((*first.system_files, *behind.system_files))),
        )
        self.positions = Positions(joined, {**unit.positions.sources, **self.positions.sources})
        return start


def called(tree: Any) -> set[str]:
    """The functions that are called by their names."""
    calls = (node for node in nodes(tree) if isinstance(node, c_ast.FuncCall))
    return {call.name.name for call in calls if isinstance(call.name, c_ast.ID)}


def _used(definition: Any, unit: Unit) -> set[str]:
    """The names of the file that a function uses."""
    parameters = definition.decl.type.args.params if definition.decl.type.args else ()
    trees = [*parameters, definition.body]
    ids = {node.name for tree in trees for node in nodes(tree) if isinstance(node, c_ast.ID)}
    types = {name for tree in (definition.decl.type, definition.body) for name in used_names(tree)} - ids
    return (set(free_names(trees)) | (types & unit.declared.keys())) - {definition.decl.name}


def _shifted(tree: Any, lines: int) -> Any:
    made = deepcopy(tree)
    for node in {id(node): node for node in nodes(made)}.values():
        if node.coord is not None:
            node.coord = copy(node.coord)
            node.coord.line += lines
    return made
