"""Declarations and what names mean at a place of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pycparser import c_ast

from polygpu.frontend.types import (
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


@dataclass(frozen=True, eq=False)
class Variable:
    """`place` is "global", "parameter", "local" or "region". Equal only to itself."""

    name: str
    type: CType
    place: str
    node: Any
    initial: Any = None
    storage: tuple[str, ...] = ()


@dataclass(frozen=True)
class Enumerator:
    value: int | None


@dataclass(frozen=True, eq=False)
class Function:
    """`definition` is the FuncDef, None where the file only declares it."""

    name: str
    node: Any
    definition: Any = None


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
    hidden: Hidden = field(default_factory=Hidden)

    def child(self) -> Scope:
        return Scope(parent=self, hidden=self.hidden)

    def chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def find(self, name: str) -> Symbol | None:
        return next((s.symbols[name] for s in self.chain() if name in s.symbols), None)

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
            known = self.symbols.get(node.name)
            return known if isinstance(known, Function) else self._enter(Function(node.name, node))
        ctype = self._shielded(node)
        if node.name is None:
            return None
        storage = tuple(node.storage or ())
        where = "global" if place == "local" and {"static", "extern"} & set(storage) else place
        return self._enter(Variable(node.name, ctype, where, node, node.init, storage))

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
                self._enumerate(node)
                return Basic("int")
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
            record.members = tuple(self._members(node.decls))
            self._check_layout(record, _lines(node))
        if name:
            self.records.setdefault(name, record)
            if node.decls is not None:
                self.records[name] = record
        return record

    def _check_layout(self, record: Record, lines: range) -> None:
        if not self.hidden.layouts.isdisjoint(lines):
            record.refusal = "an attribute changes its layout"

    def _members(self, nodes: Any) -> Iterator[Member]:
        for node in nodes:
            if isinstance(node, c_ast.Decl):
                ctype = self._constant_extents(self._shielded(node))
                yield Member(
                    node.name or "", ctype if node.name else Opaque("unnamed member"), bool(node.bitsize)
                )

    def _constant_extents(self, ctype: CType) -> CType:
        if isinstance(ctype, Vector):
            extent = self.constant(ctype.extent)
            return Vector(self._constant_extents(ctype.element), extent, self, ctype.qualifiers)
        return ctype

    def _enumerate(self, node: Any) -> None:
        following: int | None = 0
        for item in node.values.enumerators if node.values else ():
            value = following if item.value is None else self.constant(item.value)
            self.symbols[item.name] = Enumerator(value)
            following = None if value is None else value + 1

    def constant(self, node: Any) -> int | None:
        """The value of an integer constant expression, None if it is none (as far as we can tell)."""
        match node:
            case c_ast.Constant():
                return integer(node.value)
            case c_ast.ID():
                return self._constant_name(node.name)
            case c_ast.UnaryOp(op="-" | "+" | "~" | "!" as op):
                value = self.constant(node.expr)
                return None if value is None else _UNARY[op](value)
            case c_ast.BinaryOp():
                left, right = self.constant(node.left), self.constant(node.right)
                return None if left is None or right is None else fold(node.op, left, right)
            case c_ast.TernaryOp():
                test = self.constant(node.cond)
                return None if test is None else self.constant(node.iftrue if test else node.iffalse)
            case c_ast.Cast():
                return self.constant(node.expr) if _is_integer(self.resolve(node.to_type)) else None
        return None

    def _constant_name(self, name: str) -> int | None:
        """Enumerators, and `const int` objects with a constant initialiser."""
        scope = next((s for s in self.chain() if name in s.symbols), None)
        match scope.symbols[name] if scope else None:
            case Enumerator(value):
                return value
            case Variable(type=Basic(_, qualifiers) as ctype, initial=initial) if (
                "const" in qualifiers and "volatile" not in qualifiers and initial is not None
            ):
                # The initialiser cannot name its own variable, so this ends.
                return (
                    scope.constant(initial)
                    if scope and _is_integer(ctype) and _plain(initial, name)
                    else None
                )
        return None


_UNARY: dict[str, Callable[[int], int]] = {
    "-": int.__neg__, "+": int.__pos__, "~": int.__invert__, "!": lambda value: int(not value),
}  # fmt: skip


def fold(op: str, left: int, right: int) -> int | None:
    """C's integer arithmetic on constants, without wrapping."""
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" | "%" if right:
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return quotient if op == "/" else left - quotient * right
        case "<<" if 0 <= right < 64:
            return left << right
        case ">>" if 0 <= right < 64:
            return left >> right
        case "&":
            return left & right
        case "|":
            return left | right
        case "<" | "<=" | ">" | ">=" | "==" | "!=":
            return int(_COMPARE[op](left, right))
    return None


_COMPARE = {
    "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "==": int.__eq__, "!=": int.__ne__,
}  # fmt: skip


def integer(text: str) -> int | None:
    """The value of an integer constant as C spells it (decimal, octal, hexadecimal, binary, suffixes)."""
    body = text.rstrip("uUlL").lower()
    try:
        if body.startswith("0") and body.isdigit() and len(body) > 1:
            return int(body, 8)
        return int(body, 0)
    except ValueError:
        return None


def _is_integer(ctype: CType) -> bool:
    return isinstance(ctype, Basic) and ctype.name not in ("float", "double")


def _plain(node: Any, name: str) -> bool:
    """No use of `name` in the expression."""
    if isinstance(node, c_ast.ID):
        return bool(node.name != name)
    return all(_plain(child, name) for _, child in node.children())


def _lines(node: Any) -> range:
    """The lines of the clean text that a declaration spans, as far as its nodes tell."""
    low = high = node.coord.line if node.coord else 0
    stack = [node]
    while stack:
        current = stack.pop()
        if current.coord is not None:
            low, high = min(low, current.coord.line), max(high, current.coord.line)
        stack += [child for _, child in current.children()]
    return range(low, high + 1)


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
    for node in definition.param_decls or ():
        scope.declare(node, "parameter")
    return scope
