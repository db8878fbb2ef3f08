"""Structures that a region declares, as a variable for each member.

vec a = p[i].v; a.x *= 2; p[i].v = a;
->   float a_x = p[i].v.x; float a_y = p[i].v.y; a_x *= 2; { p[i].v.x = a_x; p[i].v.y = a_y; }
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Scope
from polygpu.frontend.names.types import Basic, CType, Qualified, Record, Vector, refusal_of
from polygpu.frontend.normal.trees import (
    Names,
    block,
    blocks,
    changed,
    declared_names,
    has_effects,
    is_free,
    is_member,
    mapped,
    used_names,
)
from polygpu.frontend.text.nodes import nodes
from polygpu.support.dataclass import dataclass

MOST_MEMBERS = 16


def uses_structures(items: Sequence[Any]) -> bool:
    """Whether members are named within branches, or may be in what is called."""
    found = {type(node) for item in items for node in nodes(item)}
    return c_ast.FuncCall in found or {c_ast.StructRef, c_ast.If} <= found


class _InTheWayError(Exception):
    """The structure is needed as a whole."""


def without_structures(items: Sequence[Any], scope: Scope, names: Names) -> list[Any]:
    """The statements of a region, with structures of blocks within it as variables.

    What the region itself declares stays: it may be used behind it.
    """
    found: list[Any] = []
    inner = scope.child()
    for item in items:
        inner.declare(item, "local")
        alone = isinstance(item, c_ast.Decl)
        found += [item] if alone else blocks([item], inner, lambda part, at: taken_apart(part, at, names))
    return found


def taken_apart(items: list[Any], scope: Scope, names: Names) -> list[Any]:
    """The statements of a block, with its structures as variables where only their members matter.

    The last comes first: of what it copies and is copied to, members are named then.
    """
    found: list[Any] = []
    for item in reversed(items):
        try:
            found = _apart(item, found, scope, names)
        except _InTheWayError:
            found = [item, *found]
    return found


def _apart(item: Any, rest: list[Any], scope: Scope, names: Names) -> list[Any]:
    """What stands for a declaration and the statements behind it. Raises _InTheWayError."""
    ctype = scope.resolve(item.type) if isinstance(item, c_ast.Decl) and not item.storage else None
    if not isinstance(ctype, Qualified) or not item.name:
        return [item, *rest]
    if ctype.qualifiers - {"const"} or refusal_of(ctype.record):
        raise _InTheWayError
    leaves = list(_leaves(ctype.record))
    if not 0 < len(leaves) <= MOST_MEMBERS or any(item.name in declared_names(other) for other in rest):
        raise _InTheWayError
    spelled = [names.fresh("_".join((item.name, *map(str, leaf.path)))) for leaf in leaves]
    whole = _Whole(item.name, ctype.record, tuple(leaves), tuple(spelled), names)
    made = [_variable(name, leaf.type, item.coord) for name, leaf in zip(spelled, leaves, strict=True)]
    if item.init is not None:
        values = whole.parts(item.init)
        made = [changed(decl, init=value) for decl, value in zip(made, values, strict=True)]
    return [*made, *(whole.without(other) for other in rest)]


@dataclass(frozen=True)
class _Leaf:
    """A number in a structure: the members, and places in arrays, that lead to it."""

    path: tuple[str | int, ...]
    type: str


def _leaves(record: Record, before: tuple[str | int, ...] = ()) -> Iterator[_Leaf]:
    for member in record.members or ():
        yield from _within(member.type, (*before, member.name))


def _within(ctype: CType, path: tuple[str | int, ...]) -> Iterator[_Leaf]:
    match ctype:
        case Basic(name, qualifiers) if not qualifiers - {"const"}:
            yield _Leaf(path, name)
        case Qualified(record, _):
            yield from _leaves(record, path)
        case Vector(element, int() as extent, _, _):
            for k in range(extent):
                yield from _within(element, (*path, k))
        case _:
            raise _InTheWayError


@dataclass(frozen=True)
class _Whole:
    """A structure `name`, with the `spelled` variables for its leaves."""

    name: str
    record: Record
    leaves: tuple[_Leaf, ...]
    spelled: tuple[str, ...]
    names: Names

    def without(self, node: Any) -> Any:
        """A statement or expression that names the variables instead. Raises _InTheWayError."""
        match node:
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name)) if name == self.name:
                return self._set(node)
            case c_ast.Assignment(op="=", rvalue=c_ast.ID(name=name)) if name == self.name:
                return self._stored(node)
            case c_ast.Decl(init=c_ast.ID(name=name)) if name == self.name:
                return changed(node, init=self._list(iter(self.spelled), self.record, node.coord))
            case c_ast.StructRef() | c_ast.ArrayRef() if is_member(node) and _root(node) == self.name:
                return c_ast.ID(self.spelled[self._place(node)], node.coord)
            case c_ast.StructRef():
                return changed(node, name=self.without(node.name))
            case c_ast.NamedInitializer():
                return changed(node, expr=self.without(node.expr))
            case c_ast.ID(name=name) if name == self.name:
                raise _InTheWayError
        return mapped(node, self.without)

    def _place(self, node: Any) -> int:
        path = _path(node)
        found = next((k for k, leaf in enumerate(self.leaves) if leaf.path == path), None)
        if found is None:
            raise _InTheWayError
        return found

    def _list(self, values: Iterator[str], record: Record, coord: Any) -> Any:
        """{ a_x, a_y }: of records and arrays in lists of their own."""

        def of(ctype: CType) -> Any:
            match ctype:
                case Qualified(inner, _):
                    return self._list(values, inner, coord)
                case Vector(element, int() as extent, _, _):
                    return c_ast.InitList([of(element) for _ in range(extent)], coord)
            return c_ast.ID(next(values), coord)

        return c_ast.InitList([of(member.type) for member in record.members or ()], coord)

    def _stored(self, node: c_ast.Assignment) -> Any:
        """x = a;"""
        if self.name in used_names(node.lvalue) or not _stays(node.lvalue):
            raise _InTheWayError
        stores = [
            c_ast.Assignment("=", _member(node.lvalue, leaf.path), c_ast.ID(name, node.coord), node.coord)
            for leaf, name in zip(self.leaves, self.spelled, strict=True)
        ]
        return block(stores, node.coord)

    def _set(self, node: c_ast.Assignment) -> Any:
        """a = x; of which all is read before anything is set."""
        fresh = [self.names.fresh(name) for name in self.spelled]
        values = map(self.without, self.parts(node.rvalue))
        read = [
            changed(_variable(name, leaf.type, node.coord), init=value)
            for name, leaf, value in zip(fresh, self.leaves, values, strict=True)
        ]
        stores = [
            c_ast.Assignment("=", c_ast.ID(name, node.coord), c_ast.ID(value, node.coord), node.coord)
            for name, value in zip(self.spelled, fresh, strict=True)
        ]
        return block([*read, *stores], node.coord)

    def parts(self, value: Any) -> list[Any]:
        """The values of the leaves of a list or of an lvalue. Raises _InTheWayError."""
        match value:
            case c_ast.CompoundLiteral(init=c_ast.InitList() as init) | (c_ast.InitList() as init):
                return [_listed(self.record, init, leaf.path) for leaf in self.leaves]
        if not _is_path(value):
            raise _InTheWayError
        return [_member(value, leaf.path) for leaf in self.leaves]


def _listed(record: Record, values: c_ast.InitList, path: tuple[str | int, ...]) -> Any:
    """What a list has for a leaf, 0 where it leaves it out. Raises _InTheWayError."""
    members = [member.name for member in record.members or ()]
    current: Any = values
    ctype: CType = Qualified(record, frozenset())
    for step in path:
        if not isinstance(current, c_ast.InitList):
            raise _InTheWayError
        members = [m.name for m in ctype.record.members or ()] if isinstance(ctype, Qualified) else []
        position = members.index(step) if isinstance(step, str) else step
        given = _given(current, members)
        if isinstance(ctype, Qualified):
            ctype = next(m.type for m in ctype.record.members or () if m.name == step)
        elif isinstance(ctype, Vector):
            ctype = ctype.element
        if position not in given:
            return c_ast.Constant("int", "0", values.coord)
        current = given[position]
    if isinstance(current, c_ast.InitList):
        raise _InTheWayError
    return current


def _given(values: c_ast.InitList, members: list[str]) -> dict[int, Any]:
    """The values of a list by their places."""
    found: dict[int, Any] = {}
    places = count()
    for item in values.exprs:
        if isinstance(item, c_ast.NamedInitializer):
            named = item.name[0].name if len(item.name) == 1 and isinstance(item.name[0], c_ast.ID) else ""
            if named not in members:
                raise _InTheWayError
            places = count(members.index(named) + 1)
            found[members.index(named)] = item.expr
        else:
            found[next(places)] = item
    return found


def _root(node: Any) -> str:
    """The variable that members of it are named of, "" behind a pointer."""
    while isinstance(node, c_ast.StructRef | c_ast.ArrayRef):
        if isinstance(node, c_ast.StructRef) and node.type == "->":
            return ""
        node = node.name
    return str(node.name) if isinstance(node, c_ast.ID) else ""


def _path(node: Any) -> tuple[str | int, ...]:
    """The members and places that an lvalue names of its variable. Raises _InTheWayError."""
    match node:
        case c_ast.StructRef():
            return (*_path(node.name), node.field.name)
        case c_ast.ArrayRef(subscript=c_ast.Constant(type="int", value=value)) if value.isdecimal():
            return (*_path(node.name), int(value))
        case c_ast.ID():
            return ()
    raise _InTheWayError


def _member(whole: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        if isinstance(step, str):
            whole = c_ast.StructRef(whole, ".", c_ast.ID(step, whole.coord), whole.coord)
        else:
            whole = c_ast.ArrayRef(whole, c_ast.Constant("int", str(step), whole.coord), whole.coord)
    return whole


def _stays(target: Any) -> bool:
    """Whether stores to its members do not change which structure an lvalue names."""
    match target:
        case (
            c_ast.ID() | c_ast.UnaryOp(op="*", expr=c_ast.ID()) | c_ast.StructRef(type="->", name=c_ast.ID())
        ):
            return True
        case c_ast.StructRef(type="."):
            return _stays(target.name)
        case c_ast.ArrayRef():
            return _stays(target.name) and is_free(target.subscript)
    return False


def _is_path(value: Any) -> bool:
    """Whether an lvalue may be named several times."""
    match value:
        case c_ast.ID():
            return True
        case c_ast.StructRef():
            return _is_path(value.name)
        case c_ast.ArrayRef():
            return _is_path(value.name) and not has_effects(value.subscript)
        case c_ast.UnaryOp(op="*"):
            return _is_path(value.expr)
    return False


def _variable(name: str, ctype: str, coord: Any) -> Any:
    spelled = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(ctype.split(), coord), coord=coord)
    return c_ast.Decl(name, [], [], [], [], spelled, None, None, coord=coord)
