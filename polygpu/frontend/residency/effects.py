"""What statements of the host do to memory that regions may have on the device."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.escapes import escapes
from polygpu.frontend.names.liveness import assigned_names
from polygpu.frontend.names.scopes import Function, Scope, Variable, function_scope
from polygpu.frontend.names.types import Basic, CType, Pointer, Qualified, Vector
from polygpu.frontend.read.state import FileContext, source_text
from polygpu.frontend.residency.lent import lent
from polygpu.frontend.residency.libraries import behaviour
from polygpu.frontend.residency.targets import targets
from polygpu.frontend.residency.typing import type_of
from polygpu.frontend.text.nodes import nodes
from polygpu.model.scop import Array, Scop
from polygpu.support.dataclass import dataclass

STATEMENTS = (
    c_ast.Compound, c_ast.If, c_ast.For, c_ast.While, c_ast.DoWhile, c_ast.Switch, c_ast.Case, c_ast.Default,
    c_ast.Label, c_ast.Return, c_ast.DeclList,
)  # fmt: skip
_NOTHING = (c_ast.Pragma, c_ast.EmptyStatement, c_ast.Break, c_ast.Continue, c_ast.Goto)


@dataclass(frozen=True)
class Touch:
    """A read or a write of a declared variable, or of anything that pointers reach. `why` says which.

    With `offset` it is of the element so far behind the pointer that the variable is.
    """

    writes: bool
    variable: Variable | None
    why: str
    offset: str = ""


@dataclass(frozen=True)
class Outside:
    """A call of a function of another file. If polygpu looks after it there, all that it does is run regions.

    Else, `touches` are all that the host does to arrays in it; None where that is not known.
    """

    name: str
    where: str
    touches: tuple[Touch, ...] | None = None


@dataclass(frozen=True)
class Effects:
    """`unknown` names what may do anything; `runs` is said of regions of the file that run."""

    touches: tuple[Touch, ...] = ()
    unknown: str = ""
    runs: bool = False
    outside: tuple[Outside, ...] = ()

    def __or__(self, other: Effects) -> Effects:
        return together((self, other))

    @property
    def may_run(self) -> bool:
        """Whether regions of any file may run."""
        return self.runs or bool(self.outside)

    @property
    def hidden(self) -> str:
        """What may do anything, functions of other files among it."""
        return self.unknown or ", ".join(call.where for call in self.outside)


NONE = Effects()


def together(effects: Iterable[Effects]) -> Effects:
    """All of them, each touch once; the first that is `unknown` names it."""
    found = [e for e in effects if e is not NONE]
    if not found:
        return NONE
    return Effects(
        tuple(dict.fromkeys(touch for e in found for touch in e.touches)),
        next((e.unknown for e in found if e.unknown), ""),
        any(e.runs for e in found),
        tuple(dict.fromkeys(called for e in found for called in e.outside)),
    )


@dataclass
class Program:
    """A file, and its regions that run on the device; `reached` is asked of functions that run them.

    `reached` answers whether the host's statements in that function are looked after, too. What is a `part`
    of a program has other files beside it, whose regions may know whatever pointers may reach.
    """

    context: FileContext
    regions: tuple[Scop, ...]
    reached: Any = None
    part: bool = False
    summaries: dict[str, Effects | None] = field(default_factory=dict)
    private: dict[Variable, bool] = field(default_factory=dict)
    borrowed: dict[str, Mapping[int, bool] | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.in_order = sorted(self.regions, key=lambda scop: scop.start)
        self.starts = [scop.start for scop in self.in_order]
        arrays = {s.name: [a for a in s.arrays if a.extents and a.storage != "region"] for s in self.regions}
        together = [array for found in arrays.values() for array in found]
        self.types = frozenset(name for array in together for name in _element_types(array))
        pointers = (a for a in together if a.storage == "parameter" or a.extents[0] is None or a.source)
        self.pointed = frozenset(name for array in pointers for name in _element_types(array))
        functions = (f for f in self.context.root.ext if isinstance(f, c_ast.FuncDef))
        self.owners = {id(n): f for f in functions for n in nodes(f) if isinstance(n, c_ast.Decl)}
        self.names: dict[str, set[str]] = {}
        for scop in self.regions:
            words = {w for a in arrays[scop.name] for w in re.findall(r"\w+", f"{a.name} {a.host}")}
            self.names.setdefault(scop.function, set()).update(words)

    def is_named(self, variable: Variable) -> bool:
        """Whether a region may name the variable as an array."""
        owner = self.owners.get(id(variable.node))
        if variable.place == "global" or owner is None:
            return any(variable.name in words for words in self.names.values())
        return variable.name in self.names.get(owner.decl.name, ())

    def region(self, node: Any) -> Scop | None:
        """The region that a statement is in."""
        if node.coord is None:
            return None
        position, source = self.context.at(node), self.context.source
        if position.file != source.path:
            return None
        offset = source.offset(position.line, position.column)
        index = bisect_right(self.starts, offset) - 1  # no region is in another one
        found = self.in_order[index] if index >= 0 else None
        return found if found is not None and offset < found.end else None

    def matters(self, ctype: CType | None, variable: Variable | None = None) -> bool:
        """C99 6.5p7: whether an object of that type may be an element of what regions have on the device.

        One in a declared `variable` is if they name it, or have it by a pointer. A variable that is a number
        or a pointer never stays there between calls, whoever has its address.
        """
        if self.part:
            return variable is None or not isinstance(variable.type, Basic | Pointer)
        names = _leaves(ctype)
        types = self.types if variable is None or self.is_named(variable) else self.pointed
        return names is None or bool(names & types) or "char" in types or ("char" in names and bool(types))

    def is_private(self, variable: Variable) -> bool:
        """Whether regions do not know the variable: nothing but its name reaches it, in the host's code."""
        if variable not in self.private:
            hidden = variable.place != "global" or "static" in variable.storage
            where = self.owners.get(id(variable.node), self.context.root)
            known = self.is_named(variable) or escapes(where, variable)
            self.private[variable] = hidden and not known
        return self.private[variable]

    def declares(self, function: Function) -> bool:
        """Whether it is the user's own declaration: a function of the name may be anywhere."""
        return self.context.at(function.node).file in self.context.positions.sources

    def lent(self, name: str) -> Mapping[int, bool] | None:
        """The parameters through which a function of another file touches all that it touches of arrays."""
        scope = self.context.beside
        found = scope.find(name) if scope is not None else None
        if scope is None or not isinstance(found, Function) or not found.borrowed:
            return None
        if name not in self.borrowed:
            self.borrowed[name] = lent(found.definition, scope, partial(self._is_users, scope))
        return self.borrowed[name]

    def _is_users(self, scope: Scope, call: Any) -> bool:
        function = scope.find(call.name.name)
        return not isinstance(function, Function) or self.declares(function)

    def summary(self, definition: Any) -> Effects:
        """What a call of a function of the file does."""
        name = str(definition.decl.name)
        if name not in self.summaries:
            self.summaries[name] = None
            scope = function_scope(definition, self.context.scope)
            self.summaries[name] = self._summary(name, definition, scope)
        return self.summaries[name] or Effects(unknown=f"{name}, which calls itself,")

    def _summary(self, name: str, definition: Any, scope: Scope) -> Effects:
        found = self.effects(definition.body, scope)
        if found.may_run:
            return Effects(runs=True) if self.reached(definition) else Effects(unknown=name)
        outside = (replace(t, variable=None, offset="") if t.offset else t for t in found.touches)
        touches = tuple(t for t in outside if t.variable is None or t.variable.place == "global")
        return Effects(touches, found.unknown)

    def effects(self, node: Any, scope: Scope) -> Effects:
        """Of a statement or an expression. Enters what a declaration declares into `scope`."""
        if node is None or isinstance(node, _NOTHING):
            return NONE
        if isinstance(node, c_ast.Typedef):
            scope.declare(node, "local")
            return NONE
        if isinstance(node, c_ast.Decl):
            return self._declaration(node, scope)
        if isinstance(node, STATEMENTS):
            if self.region(node) is not None:
                return Effects(runs=True)
            inner = scope if isinstance(node, c_ast.DeclList) else scope.child()
            return together(self.effects(child, inner) for child in node)
        if self.regions and self.region(node) is not None:
            return Effects(runs=True)
        return together(Reader(self, scope).value(node))

    def _declaration(self, node: Any, scope: Scope) -> Effects:
        if self.region(node) is not None:
            return Effects(runs=True)
        reader = Reader(self, scope)
        found = together(reader.value(node.init)) if node.init is not None else NONE
        sizes = together(e for part in _extents(node.type) for e in reader.value(part))
        scope.declare(node, "local")
        return found | sizes


def _element_types(array: Array) -> Iterator[str]:
    fields = array.structure.fields if array.structure else ()
    pointers = ("pointer",) if array.structure and array.structure.pointers else ()
    return (_plain(ctype) for ctype in (*(ctype for _, ctype in fields), array.element, *pointers))


def _plain(name: str) -> str:
    return name.removeprefix("unsigned ").removeprefix("signed ")


def _leaves(ctype: CType | None) -> frozenset[str] | None:
    """The types of the scalars in it; None where they are not known."""
    match ctype:
        case Basic(name):
            return frozenset({_plain(name)})
        case Pointer():
            return frozenset({"pointer"})
        case Vector():
            return _leaves(ctype.element)
        case Qualified(record) if record.members is not None:
            parts = [_leaves(member.type) for member in record.members]
            return None if None in parts else frozenset().union(*(p for p in parts if p))
    return None


def _extents(declarator: Any) -> Iterator[Any]:
    while isinstance(declarator, c_ast.ArrayDecl | c_ast.PtrDecl):
        if isinstance(declarator, c_ast.ArrayDecl) and declarator.dim is not None:
            yield declarator.dim
        declarator = declarator.type


@dataclass(frozen=True)
class Reader:
    """Reads expressions at a scope. Generators give the effects of their parts."""

    program: Program
    scope: Scope
    caller: str = ""  # the function that an argument is for

    def value(self, node: Any) -> Iterator[Effects]:
        """Of computing an expression's value."""
        match node:
            case c_ast.Constant() | c_ast.Typename():
                return
            case c_ast.ID() | c_ast.ArrayRef() | c_ast.StructRef() | c_ast.UnaryOp(op="*"):
                yield from self.place(node)
                yield from self._access(node, writes=False)
            case c_ast.UnaryOp(op="&"):
                yield from self.place(node.expr)
            case c_ast.UnaryOp(op="sizeof" | "_Alignof"):
                return
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
                yield from self._assigned(node.expr, reads=True)
            case c_ast.UnaryOp() | c_ast.Cast():
                yield from self.value(node.expr)
            case c_ast.Assignment():
                yield from self.value(node.rvalue)
                yield from self._assigned(node.lvalue, reads=node.op != "=")
            case c_ast.FuncCall():
                yield from self._call(node)
            case c_ast.BinaryOp() | c_ast.TernaryOp() | c_ast.ExprList() | c_ast.InitList():
                for part in node:
                    yield from self.value(part)
            case c_ast.NamedInitializer():
                yield from self.value(node.expr)
            case _:
                yield Effects(unknown=f"'{type(node).__name__}'")

    def place(self, node: Any) -> Iterator[Effects]:
        """Of computing where an lvalue is."""
        match node:
            case c_ast.ID():
                return
            case c_ast.ArrayRef():
                yield from self.value(node.name)
                yield from self.value(node.subscript)
            case c_ast.StructRef(type="."):
                yield from self.place(node.name)
            case c_ast.StructRef():
                yield from self.value(node.name)
            case c_ast.UnaryOp(op="*"):
                yield from self.value(node.expr)
            case _:
                yield from self.value(node)

    def _assigned(self, node: Any, reads: bool) -> Iterator[Effects]:
        yield from self.place(node)
        if reads:
            yield from self._access(node, writes=False)
        yield from self._access(node, writes=True)

    def _access(self, node: Any, writes: bool) -> Iterator[Effects]:
        ctype = type_of(self.scope, node)
        if isinstance(node, c_ast.ID) and not isinstance(self.scope.find(node.name), Variable):
            return
        if {"volatile", "_Atomic"} & getattr(ctype, "qualifiers", frozenset()):
            yield Effects(unknown=f"'{source_text(node)}', which is volatile,")
        elif not isinstance(ctype, Vector) and self.program.matters(ctype, root := self._root(node)):
            if root is not None and "register" in root.storage:
                return
            if root is not None and self.program.is_private(root):
                return
            if root is None and (known := self._targets(node)) is not None:
                yield together(self._touch(node, target, writes) for target in known)
                return
            found = self._touch(node, root, writes)
            offset, pointer = self._element(node) if root is None else ("", None)
            yield Effects((replace(found.touches[0], variable=pointer, offset=offset),)) if pointer else found

    def _targets(self, node: Any) -> list[Variable] | None:
        """The arrays one of which `p[i]` or `*p` is an element of, where that is known of the pointer."""
        match node:
            case c_ast.ArrayRef(name=c_ast.ID(name=name)) | c_ast.UnaryOp(op="*", expr=c_ast.ID(name=name)):
                found = self.scope.find(name)
            case _:
                return None
        owner = self.program.owners.get(id(found.node)) if isinstance(found, Variable) else None
        if not isinstance(found, Variable) or owner is None or found.place != "local":
            return None
        known = targets(owner, found, self.program.context.scope)
        return None if known is None else sorted(known, key=lambda variable: variable.name)

    def _element(self, node: Any) -> tuple[str, Variable | None]:
        """Of `*p`, `p[2]` and `p->x` the offset and `p`, a parameter that always has its first value."""
        match node:
            case c_ast.UnaryOp(op="*", expr=c_ast.ID(name=name)):
                offset = "0"
            case c_ast.ArrayRef(name=c_ast.ID(name=name), subscript=c_ast.Constant(value=offset)):
                pass
            case c_ast.StructRef(type="->", name=c_ast.ID(name=name)):
                offset = "0"
            case _:
                return "", None
        found = self.scope.find(name)
        owner = self.program.owners.get(id(found.node)) if isinstance(found, Variable) else None
        if not isinstance(found, Variable) or owner is None or found.place != "parameter":
            return "", None
        return (offset, found) if name not in assigned_names(owner.body) else ("", None)

    def _touch(self, node: Any, root: Variable | None, writes: bool) -> Effects:
        line, verb = self.program.context.at(node).line, "writes" if writes else "reads"
        subject = f"{self.caller} at line {line}" if self.caller else f"line {line}"
        return Effects((Touch(writes, root, f"{subject} {verb} {source_text(_whole(node))}"),))

    def _root(self, node: Any) -> Variable | None:
        """The declared object that an lvalue is a part of; None where a pointer leads to it."""
        match node:
            case c_ast.ID():
                found = self.scope.find(node.name)
                pointer = isinstance(found, Variable) and (
                    isinstance(found.type, Vector) and found.place == "parameter"
                )
                return found if isinstance(found, Variable) and not pointer else None
            case c_ast.ArrayRef() if isinstance(type_of(self.scope, node.name), Vector):
                return self._root(node.name)
            case c_ast.UnaryOp(op="*") if isinstance(type_of(self.scope, node.expr), Vector):
                return self._root(node.expr)
            case c_ast.StructRef(type="."):
                return self._root(node.name)
        return None

    def _call(self, node: Any) -> Iterator[Effects]:
        function = self.scope.find(node.name.name) if isinstance(node.name, c_ast.ID) else None
        arguments = tuple(node.args.exprs) if node.args else ()
        name = node.name.name if isinstance(node.name, c_ast.ID) else source_text(node.name)
        inner = Reader(self.program, self.scope, name)
        for argument in arguments:
            yield from inner.value(argument)
        defined = self.program.context.scope.find(name) if isinstance(function, Function) else None
        if isinstance(defined, Function) and defined.definition is not None:
            yield self.program.summary(defined.definition)
            return
        users = isinstance(function, Function) and self.program.declares(function)
        known = "" if isinstance(function, Variable) or users else behaviour(name)
        if known in ("reads", "writes"):
            for argument in arguments:
                yield from inner.reached(argument, known == "writes")
        elif not known:
            where = f"{name} at line {self.program.context.at(node).line}"
            outside = users and self.program.part
            called = Outside(name, where, inner.lent(name, arguments))
            yield Effects(outside=(called,)) if outside else Effects(unknown=where)

    def lent(self, name: str, arguments: Sequence[Any]) -> tuple[Touch, ...] | None:
        """What a function of another file does behind its arguments, if it does nothing else to arrays."""
        places = self.program.lent(name)
        if places is None or any(k >= len(arguments) for k in places):
            return None
        found = together(e for k, writes in places.items() for e in self.reached(arguments[k], writes))
        return found.touches

    def reached(self, argument: Any, writes: bool) -> Iterator[Effects]:
        """What a function does behind an argument."""
        if isinstance(argument, c_ast.Cast) and isinstance(type_of(self.scope, argument.expr), Vector):
            argument = argument.expr
        ctype = type_of(self.scope, argument)
        null = isinstance(argument, c_ast.Cast) and isinstance(argument.expr, c_ast.Constant)
        if isinstance(ctype, Basic) or isinstance(argument, c_ast.Constant) or null or _is_stream(ctype):
            return
        if isinstance(argument, c_ast.UnaryOp) and argument.op == "&":
            target, object_ = type_of(self.scope, argument.expr), self._root(argument.expr)
        else:
            target = ctype.element if isinstance(ctype, Vector) else None
            object_ = self._root(argument) if isinstance(ctype, Vector) else None
        if object_ is None or self.program.matters(target, object_):
            yield self._touch(argument, object_, writes)


def _is_stream(ctype: CType | None) -> bool:
    return (
        isinstance(ctype, Pointer)
        and isinstance(ctype.target, Qualified)
        and ctype.target.record.name in ("FILE", "struct _IO_FILE", "struct __sFILE")
    )


def _whole(node: Any) -> Any:
    """What an element is one of: `A` of `A[i][j]`."""
    while isinstance(node, c_ast.ArrayRef):
        node = node.name
    return node
