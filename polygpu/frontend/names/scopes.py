"""Declarations and what names mean at a place of the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any, TypeAlias

from pycparser import c_ast

from polygpu.frontend.names.constants import Constant, binary, character, number, unary
from polygpu.frontend.names.types import (
    Basic,
    CType,
    Member,
    Opaque,
    Pointer,
    Qualified,
    Record,
    Vector,
    arithmetic,
    qualified,
)
from polygpu.frontend.text.nodes import nodes
from polygpu.model.expr import common_type, limits
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True, eq=False)
class Variable:
    """`place` is "global", "parameter", "local" or "region". Equal only to itself.

    `constant` is the value of a `const` integer with a constant initialiser.
    """

    name: str
    type: CType
    place: str
    node: Any
    initial: Any = None
    storage: tuple[str, ...] = ()
    constant: Constant | None = None


@dataclass(frozen=True)
class Enumerator:
    value: Constant | None


@dataclass(frozen=True, eq=False)
class Function:
    """`definition` is the FuncDef, None where the file only declares it; one that is `borrowed` stands in
    another file of the program.
    """

    name: str
    node: Any
    definition: Any = None
    borrowed: bool = False


Symbol: TypeAlias = Variable | Enumerator | Function


@dataclass(frozen=True)
class Hidden:
    """Lines of the clean text with attributes that change a type (vector_size) or a layout (packed)."""

    types: frozenset[int] = frozenset()
    layouts: frozenset[int] = frozenset()


@dataclass(eq=False)
class Scope:
    """One block. `hidden` says which lines of the clean text had GNU attributes that matter."""

    parent: Scope | None = None
    symbols: dict[str, Symbol] = field(default_factory=dict)
    typedefs: dict[str, CType] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)
    enumerations: dict[str, str] = field(default_factory=dict)  # the integer type of each tag
    hidden: Hidden = field(default_factory=Hidden)

    def child(self) -> Scope:
        return Scope(parent=self, hidden=self.hidden)

    def copy(self) -> Scope:
        """The scope as it is now: what is declared in one of them later is not visible in the other."""
        symbols, typedefs, records = dict(self.symbols), dict(self.typedefs), dict(self.records)
        return Scope(self.parent, symbols, typedefs, records, dict(self.enumerations), self.hidden)

    def chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def find(self, name: str) -> Symbol | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.symbols:
                return scope.symbols[name]
            scope = scope.parent
        return None

    def typedef(self, name: str) -> CType | None:
        return next((s.typedefs[name] for s in self.chain() if name in s.typedefs), None)

    def declare(self, node: Any, place: str) -> Symbol | None:
        """Enters a Decl, Typedef or FuncDef; the symbol if it names an object or a function."""
        if isinstance(node, c_ast.FuncDef):
            return self._enter(Function(node.decl.name, node.decl, node))
        if isinstance(node, c_ast.Typedef):
            self.typedefs[node.name] = self._named(self._shielded(node), node.name)
            return None
        if not isinstance(node, c_ast.Decl):
            return None
        if isinstance(node.type, c_ast.FuncDecl):
            # a prototype in a block says nothing of a function that the file defines
            outer = self.find(node.name) if place == "local" else None
            known = outer if isinstance(outer, Function) else self.symbols.get(node.name)
            return known if isinstance(known, Function) else self._enter(Function(node.name, node))
        ctype = self._shielded(node)
        if node.name is None:
            return None
        storage = tuple(node.storage or ())
        where = "global" if place == "local" and {"static", "extern"} & set(storage) else place
        constant = self._constant_value(ctype, node.init) if node.init is not None else None
        return self._enter(Variable(node.name, ctype, where, node, node.init, storage, constant))

    def _constant_value(self, ctype: CType, initial: Any) -> Constant | None:
        """Of a `const` integer, computed where it is declared: a name may mean something else later."""
        match ctype:
            case Basic(name, qualifiers) if "const" in qualifiers and "volatile" not in qualifiers:
                value = self.constant(initial)
                return value.converted(name) if value else None
        return None

    def _enter(self, symbol: Variable | Function) -> Symbol:
        self.symbols[symbol.name] = symbol
        return symbol

    def _shielded(self, node: Any) -> CType:
        """The declared type, opaque where a hidden attribute (vector_size, mode) changes it."""
        ctype = self.resolve(node.type)
        lines = _lines(node)
        if isinstance(node, c_ast.Typedef) and isinstance(ctype, Qualified):
            self._check_layout(ctype.record, lines)
        if not self.hidden.types.isdisjoint(lines):
            return Opaque("type with an attribute that changes it")
        return ctype

    def _named(self, ctype: CType, name: str) -> CType:
        if isinstance(ctype, Qualified) and not ctype.record.name:
            ctype.record.name = name
        return ctype

    def resolve(self, node: Any) -> CType:
        """The type that a declarator's or type name's node means; never raises."""
        match node:
            case c_ast.TypeDecl() | c_ast.Typename():
                return qualified(self.resolve(node.type), frozenset(node.quals or ()))
            case c_ast.PtrDecl():
                return Pointer(self.resolve(node.type), frozenset(node.quals or ()))
            case c_ast.ArrayDecl():
                words = frozenset(q for q in node.dim_quals or () if isinstance(q, str))
                return Vector(self.resolve(node.type), node.dim, self, words)
            case c_ast.FuncDecl():
                return Opaque("function")
            case c_ast.IdentifierType():
                return self._identifier(node.names)
            case c_ast.Struct():
                return Qualified(self._record(node))
            case c_ast.Enum():
                return Basic(self._enumeration(node))
            case c_ast.Union():
                return Opaque("union")
        return Opaque(type(node).__name__.lower())

    def _identifier(self, names: list[str]) -> CType:
        if len(names) == 1 and (known := self.typedef(names[0])) is not None:
            return known
        return arithmetic(names)

    def _record(self, node: Any) -> Record:
        name = f"struct {node.name}" if node.name else ""
        known = next((s.records[name] for s in self.chain() if name in s.records), None) if name else None
        if node.decls is None:
            record = known or Record(name)
        else:
            local = self.records.get(name) if name else None
            record = local if local is not None and local.members is None else Record(name)
            if name:  # a member may point to another such structure
                self.records[name] = record
            record.members = tuple(self._members(node.decls))
            self._check_layout(record, _lines(node))
        if name:
            self.records.setdefault(name, record)
        return record

    def _check_layout(self, record: Record, lines: range) -> None:
        if not self.hidden.layouts.isdisjoint(lines):
            record.refusal = "an attribute changes its layout"

    def _members(self, nodes: Any) -> Iterator[Member]:
        for node in nodes:
            if isinstance(node, c_ast.Decl):
                ctype = self._constant_extents(self._shielded(node))
                known = node.name or isinstance(ctype, Qualified)
                yield Member(
                    node.name or "", ctype if known else Opaque("unnamed member"), bool(node.bitsize)
                )

    def _constant_extents(self, ctype: CType) -> CType:
        if isinstance(ctype, Vector):
            found = self.constant(ctype.extent)
            extent = found.value if found else None
            return Vector(self._constant_extents(ctype.element), extent, self, ctype.qualifiers)
        return ctype

    def _enumeration(self, node: Any) -> str:
        """The integer type of an enumeration, as gcc and clang choose it; enters its enumerators."""
        if node.values is None:
            known = (s.enumerations[node.name] for s in self.chain() if node.name in s.enumerations)
            return next(known, "unsigned int")
        values = list(self._enumerators(node.values.enumerators))
        low, high = min(values, default=0), max(values, default=0)
        fitting = (t for t in ("unsigned int", "int", "unsigned long", "long") if _holds(t, low, high))
        ctype = next(fitting, "long")
        if node.name:
            self.enumerations[node.name] = ctype
        return ctype

    def _enumerators(self, nodes: Any) -> Iterator[int]:
        following: Constant | None = Constant(0)
        one = Constant(1)
        for item in nodes:
            value = following if item.value is None else self.constant(item.value)
            if value is not None and _holds("int", value.value, value.value):
                value = Constant(value.value)
            self.symbols[item.name] = Enumerator(value)
            if value is not None:
                yield value.value
            following = None if value is None else binary("+", value, one)

    def constant(self, node: Any) -> Constant | None:
        """The value of an integer constant expression, None if it is none (as far as we can tell)."""
        match node:
            case c_ast.Constant(type="char"):
                code = character(node.value)
                return None if code is None else Constant(code)
            case c_ast.Constant():
                return number(node.value)
            case c_ast.ID():
                return self._constant_name(node.name)
            case c_ast.UnaryOp(op="-" | "+" | "~" | "!" as op):
                value = self.constant(node.expr)
                return None if value is None else unary(op, value)
            case c_ast.BinaryOp():
                left, right = self.constant(node.left), self.constant(node.right)
                return None if left is None or right is None else binary(node.op, left, right)
            case c_ast.TernaryOp():
                return self._chosen(node)
            case c_ast.Cast():
                value, ctype = self.constant(node.expr), self.resolve(node.to_type)
                return value.converted(ctype.name) if value and isinstance(ctype, Basic) else None
        return None

    def _chosen(self, node: c_ast.TernaryOp) -> Constant | None:
        test, yes, no = (self.constant(n) for n in (node.cond, node.iftrue, node.iffalse))
        if test is None or yes is None or no is None:
            return None
        return (yes if test.value else no).converted(common_type(yes.type, no.type))

    def _constant_name(self, name: str) -> Constant | None:
        """Enumerators, and `const` integers with a constant initialiser."""
        match self.find(name):
            case Enumerator(value):
                return value
            case Variable(constant=value):
                return value
        return None


def _holds(ctype: str, low: int, high: int) -> bool:
    least, most = limits(ctype)
    return least <= low and high <= most


def _lines(node: Any) -> range:
    """The lines of the clean text that a declaration without its initialiser spans, as far as nodes tell."""
    declarator = node.type if isinstance(node, c_ast.Decl) else node
    lines = [part.coord.line for part in nodes(declarator) if part.coord is not None]
    first = node.coord.line if node.coord else 0
    return range(min([first, *lines]), max([first, *lines]) + 1)


def file_scope(root: Any, hidden: Hidden) -> Scope:
    """The declarations of the whole file (later ones are visible earlier: names are unique in C)."""
    scope = Scope(hidden=hidden)
    for node in root.ext:
        if isinstance(node, c_ast.FuncDef):
            scope.declare(node.decl, "global")
        scope.declare(node, "global")
    return scope


def function_scope(definition: Any, outer: Scope) -> Scope:
    """The parameters of a function."""
    scope = outer.child()
    declarator = definition.decl.type
    for node in declarator.args.params if declarator.args else ():
        scope.declare(node, "parameter")
    return scope
