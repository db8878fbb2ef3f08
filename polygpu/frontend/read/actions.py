"""What a statement does: stores, locals of one instance, data-dependent branches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Variable
from polygpu.frontend.names.types import Qualified, fields_of
from polygpu.frontend.read import declarations, places, values
from polygpu.frontend.read.directives import pragma_word
from polygpu.frontend.read.expressions import Reader, is_step
from polygpu.frontend.read.functions import FuncCall
from polygpu.frontend.read.initialisers import filled
from polygpu.frontend.read.places import Place, place, reference
from polygpu.frontend.read.state import Local
from polygpu.frontend.read.unsupported import refusal, statement_refusal
from polygpu.frontend.text.nodes import nodes
from polygpu.model.expr import Expr, Int, Reference
from polygpu.model.scop import Action, Let, Store


def effects(reader: Reader, node: Any) -> list[Action]:
    """The stores of an expression statement, in order: `a = b = c` and `x = 1, y = 2` are split."""
    if isinstance(node, c_ast.ExprList):
        return [action for part in node.exprs for action in effects(reader, part)]
    return with_pending(reader, _effects(reader, node))


def pragma(reader: Reader, node: c_ast.Pragma) -> None:
    """A pragma within a region has no effect: one thread comes to it, or each has work of its own.

    Raises Diagnosed for the end of the region.
    """
    word = pragma_word(node)
    if word in ("scop", "endscop"):
        help_text = "a region begins and ends in the same block; regions do not nest"
        raise refusal("PG111", reader.region.at(node), f"'#pragma {word}' within a region", help_text)


def with_pending(reader: Reader, found: list[Action]) -> list[Action]:
    """Behind the actions of a statement what `k++` in it changes."""
    pending = list(reader.region.pending)
    reader.region.pending.clear()
    return [*found, *pending]


def _effects(reader: Reader, node: Any) -> list[Action]:
    match node:
        case c_ast.Assignment(op="="):
            return _assignment(reader, node)
        case c_ast.Assignment():
            return _update(reader, node.lvalue, node.op[:-1], node.rvalue)
        case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--" as op):
            return _update(reader, node.expr, op[-1], c_ast.Constant("int", "1", node.coord))
        case c_ast.Cast() if getattr(node.to_type.type.type, "names", None) == ["void"]:
            reader.value(node.expr)
            return []
        case FuncCall(why=why):
            raise why
        case c_ast.FuncCall():
            reader.value(node)  # raises for a call with side effects
            return []
    raise statement_refusal(node, reader.region.at(node))


def _assignment(reader: Reader, node: c_ast.Assignment) -> list[Action]:
    before: list[Action] = []
    source = node.rvalue
    if isinstance(source, c_ast.Assignment):
        before = effects(reader, source)
        source = source.lvalue
        if any(map(is_step, nodes(source))):
            message = "the element that is assigned is named by a value that changes"
            raise refusal("PG150", reader.region.at(source), message, "assign it in a statement of its own")
    if _pointer(reader, node.lvalue):
        places.point(reader, node.lvalue, reader.address(source))
        return before
    if (name := _local(reader, node.lvalue)) is not None:
        value = reader.value(source)
        _assign(reader, node.lvalue, value)
        return [*before, Let(name.name, name.type, value, assign=True)]
    target = place(reader, node.lvalue)
    if isinstance(target.type, Qualified):
        return [*before, *_copy(reader, target, node.lvalue, source)]
    store = reference(reader, target, node.lvalue, reader.region.site(node.lvalue))
    value = reader.value(source)
    _assign(reader, node.lvalue, value)
    return [*before, Store(store, value)]


def _update(reader: Reader, node: Any, op: str, operand: Any) -> list[Action]:
    """`node op= operand`."""
    if _pointer(reader, node) and op in ("+", "-"):
        pointer = places.stepped(reader.address(node), op, reader.value(operand))
        places.point(reader, node, pointer)
        return []
    if (name := _local(reader, node)) is not None:
        changed = reader.operation(node, op, reader.value(node), reader.value(operand))
        _assign(reader, node, changed)
        return [Let(name.name, name.type, changed, assign=True)]
    target = reader.reference(node)
    if any(map(is_step, nodes(node))):  # `*p++ += x` moves once
        value: Expr = replace(target, site=reader.region.site(node))
    else:
        value = reader.value(node)
    changed = reader.operation(node, op, value, reader.value(operand))
    _assign(reader, node, changed)
    return [Store(target, changed)]


def _assign(reader: Reader, node: Any, value: Expr) -> None:
    if isinstance(node, c_ast.ID):
        values.assign(reader.region, reader.variable(node), value)


def _pointer(reader: Reader, node: Any) -> bool:
    return isinstance(node, c_ast.ID) and values.pointed(reader.variable(node)) is not None


def _local(reader: Reader, node: Any) -> Local | None:
    if isinstance(node, c_ast.ID):
        binding = reader.binding(reader.variable(node), node)
        return binding if isinstance(binding, Local) else None
    return None


def _copy(reader: Reader, target: Place, written: Any, source: Any) -> list[Action]:
    """The assignment of a structure, member by member."""
    if isinstance(source, c_ast.CompoundLiteral) and isinstance(target.type, Qualified):
        given = reader.scope.resolve(source.type)
        if isinstance(given, Qualified) and given.record is target.type.record:
            return list(filled(reader, target, given.record, source.init, written))
    origin = place(reader, source)
    if not isinstance(origin.type, Qualified) or not isinstance(target.type, Qualified):
        message = "a structure is assigned something else"
        raise refusal("PG147", reader.region.at(source), message, "assign its members")
    stores: list[Action] = []
    for path, ctype in fields_of(target.type.record):
        left = _field(reader, target, path, ctype, written)
        stores.append(Store(left, _field(reader, origin, path, ctype, source)))
    return stores


def _field(reader: Reader, base: Place, path: str, ctype: str, node: Any) -> Reference:
    full = f"{base.field}.{path}" if base.field else path
    return Reference(base.array.name, base.subscripts, ctype, full, reader.region.site(node))


def declaration(reader: Reader, node: c_ast.Decl) -> list[Action]:
    """A variable declared in the region; its initialiser as stores."""
    variable = declarations.entered(reader, node)
    found = _initialised(reader, node, variable)
    return with_pending(reader, found)


def _initialised(reader: Reader, node: c_ast.Decl, variable: Variable) -> list[Action]:
    if declarations.substituted(reader, variable) or node.init is None:
        return []  # without initialiser it is bound at its first use, maybe as an iterator
    array = reader.add_array(variable, reader.array_name(variable))
    reader.region.bindings[variable] = array
    if isinstance(variable.type, Qualified):
        target = Place(array, (), "", variable.type)
        if isinstance(node.init, c_ast.InitList):
            written = c_ast.ID(variable.name, node.coord)
            return list(filled(reader, target, variable.type.record, node.init, written))
        return _copy(reader, target, c_ast.ID(variable.name, node.coord), node.init)
    stores: list[Action] = []
    for subscripts, ctype, value in declarations.initial_values(reader, variable):
        target_node = c_ast.ID(variable.name, node.coord)
        site = reader.region.site(target_node)
        stores.append(Store(Reference(array.name, tuple(map(Int, subscripts)), ctype, "", site), value))
        values.assign(reader.region, variable, value)
    return stores
