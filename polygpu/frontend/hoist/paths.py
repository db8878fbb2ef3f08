"""Lvalues as paths: a variable, then the members and the elements that lead from it to an object.

img->data[i]    ->    img, [0], .data, [i]
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any, TypeAlias

from pycparser import c_ast

from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import (
    CType,
    Member,
    Pointer,
    Qualified,
    Record,
    Vector,
    complex_part,
    qualified,
)
from polygpu.frontend.read.state import source_text
from polygpu.frontend.text.nodes import nodes
from polygpu.support.dataclass import dataclass

_INHERITED = frozenset({"const", "volatile", "_Atomic"})


@dataclass(frozen=True)
class Field:
    name: str


@dataclass(frozen=True)
class Index:
    """`node` is the subscript's, None for any; `value` is known of a constant one."""

    node: Any
    value: int | None = None

    @property
    def text(self) -> str:
        return str(self.value) if self.value is not None else source_text(self.node)


Step: TypeAlias = Field | Index
ANY = Index(None)


@dataclass(frozen=True)
class Path:
    """An object of `type`: `types` has those on the way, the variable's first, one for each of the steps."""

    root: Variable
    steps: tuple[Step, ...]
    type: CType
    types: tuple[CType, ...] = ()

    def to(self, step: Step, ctype: CType) -> Path:
        return Path(self.root, (*self.steps, step), ctype, (*self.types, self.type))

    def cut(self, count: int) -> Path:
        """The object after the first `count` steps."""
        return Path(self.root, self.steps[:count], (*self.types, self.type)[count], self.types[:count])

    @property
    def pointed(self) -> bool:
        """Whether a pointer leads to the object, which may then be anywhere."""
        return any(map(_leads_away, self.types)) or self.decayed

    @property
    def decayed(self) -> bool:
        """Whether the variable is a parameter declared as an array: a pointer to one."""
        return bool(self.steps) and self.root.place == "parameter" and isinstance(self.root.type, Vector)

    @property
    def loaded(self) -> int:
        """How many pointers in memory lead to the object."""
        return sum(map(_leads_away, self.types[1:]))

    @property
    def text(self) -> str:
        """As C."""
        found = self.root.name
        previous: Step | None = None
        for step, ctype in zip(self.steps, self.types, strict=True):
            match step:
                case Field(name) if complex_part(ctype):
                    found = f"__{'real' if name == 're' else 'imag'}__ {found}"
                case Field(name) if previous == Index(None, 0) or _arrow(previous):
                    found = f"{found.removesuffix('[0]')}->{name}"
                case Field(name):
                    found = f"{found}.{name}"
                case Index():
                    found = f"{found}[{step.text}]"
            previous = step if isinstance(step, Index) and isinstance(ctype, Pointer) else None
        return found

    def conflicts(self, written: Path) -> bool:
        """Whether a store to `written`, a path from the same variable, may change this object.

        What pointers in memory lead to is another object.
        """
        if self.root is not written.root:
            return False
        for own, other in zip(self.steps, written.steps, strict=False):
            if _different(own, other):
                return False
        return len(written.steps) <= len(self.steps)


def _arrow(step: Step | None) -> bool:
    return isinstance(step, Index) and step.value == 0


def _leads_away(ctype: CType) -> bool:
    return isinstance(ctype, Pointer)


def _different(a: Step, b: Step) -> bool:
    match a, b:
        case Field(x), Field(y):
            return x != y
        case Index(value=int() as x), Index(value=int() as y):
            return x != y
    return False


@dataclass(frozen=True)
class Typing:
    """Finds the paths of expressions at a place where `scope` holds, but for the names in `hidden`."""

    scope: Scope
    hidden: Set[str] = frozenset()

    def path(self, node: Any) -> Path | None:
        """The object that an lvalue names; None where it is not plain to see."""
        match node:
            case c_ast.ID(name=name) if name not in self.hidden:
                found = self.scope.find(name)
                return Path(found, (), found.type) if isinstance(found, Variable) else None
            case c_ast.ArrayRef():
                return self._element(self.path(node.name), node.subscript)
            case c_ast.UnaryOp(op="*", expr=c_ast.BinaryOp(op="+") as total):
                return self._element(self.path(total.left), total.right)
            case c_ast.UnaryOp(op="*"):
                return self._element(self.path(node.expr), c_ast.Constant("int", "0", node.coord))
            case c_ast.StructRef():
                return self._member(node)
            case c_ast.ExprList(exprs=[inner]):
                return self.path(inner)
        return None

    def _element(self, base: Path | None, index: Any) -> Path | None:
        if base is None or not isinstance(base.type, Pointer | Vector):
            return None
        value = self.scope.constant(index) if not self._hides(index) else None
        element = base.type.target if isinstance(base.type, Pointer) else base.type.element
        return base.to(Index(None if value else index, value.value if value else None), element)

    def _hides(self, node: Any) -> bool:
        return any(isinstance(part, c_ast.ID) and part.name in self.hidden for part in nodes(node))

    def _member(self, node: c_ast.StructRef) -> Path | None:
        match node:
            case c_ast.StructRef(name=c_ast.BinaryOp(op="+") as total, type="->"):
                base = self._element(self.path(total.left), total.right)
            case c_ast.StructRef(type="->"):
                base = self._element(self.path(node.name), c_ast.Constant("int", "0", node.coord))
            case _:
                base = self.path(node.name)
        if base is None or not isinstance(base.type, Qualified):
            return None
        member = member_of(base.type.record, node.field.name)
        if member is None or member.bits:
            return None
        return base.to(Field(member.name), qualified(member.type, base.type.qualifiers & _INHERITED))


def member_of(record: Record, name: str) -> Member | None:
    """The member of a structure, or of an unnamed structure within it."""
    for member in record.members or ():
        if member.name == name:
            return member
        if not member.name and isinstance(member.type, Qualified):
            inner = member_of(member.type.record, name)
            if inner is not None:
                return replace(inner, type=qualified(inner.type, member.type.qualifiers))
    return None
