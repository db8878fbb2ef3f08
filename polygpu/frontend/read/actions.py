"""What a statement does: stores, locals of one instance, data-dependent branches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Variable
from polygpu.frontend.names.types import Qualified, fields_of
from polygpu.frontend.read import declarations
from polygpu.frontend.read.expressions import Reader
from polygpu.frontend.read.places import Place, place, reference
from polygpu.frontend.read.state import Finished, Iterator, Local
from polygpu.frontend.read.unsupported import refusal, statement_refusal
from polygpu.model.expr import Expr, Int, Reference
from polygpu.model.scop import Action, Branch, Let, Store


def effects(reader: Reader, node: Any) -> list[Action]:
    """The stores of an expression statement, in order: `a = b = c` and `x = 1, y = 2` are split."""
    match node:
        case c_ast.ExprList():
            return [action for part in node.exprs for action in effects(reader, part)]
        case c_ast.Assignment(op="="):
            return _assignment(reader, node)
        case c_ast.Assignment():
            return [_update(reader, node.lvalue, node.op[:-1], node.rvalue)]
        case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--" as op):
            return [_update(reader, node.expr, op[-1], c_ast.Constant("int", "1", node.coord))]
        case c_ast.Cast() if getattr(node.to_type.type.type, "names", None) == ["void"]:
            reader.value(node.expr)
            return []
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
    _check_lvalue(reader, node.lvalue)
    if (name := _local(reader, node.lvalue)) is not None:
        return [*before, Let(name.name, name.type, reader.value(source), assign=True)]
    target = place(reader, node.lvalue)
    if isinstance(target.type, Qualified):
        return [*before, *_copy(reader, target, node.lvalue, source)]
    store = reference(reader, target, node.lvalue, reader.region.site(node.lvalue))
    return [*before, Store(store, reader.value(source))]


def _update(reader: Reader, node: Any, op: str, operand: Any) -> Action:
    """`node op= operand`."""
    _check_lvalue(reader, node)
    if (name := _local(reader, node)) is not None:
        changed = reader.operation(node, op, reader.value(node), reader.value(operand))
        return Let(name.name, name.type, changed, assign=True)
    target = reader.reference(node)
    value: Expr = reader.reference(node)
    return Store(target, reader.operation(node, op, value, reader.value(operand)))


def _check_lvalue(reader: Reader, node: Any) -> None:
    """Refuses changes of iterators."""
    if not isinstance(node, c_ast.ID):
        return
    variable = reader.variable(node)
    if isinstance(reader.region.bindings.get(variable), Iterator | Finished):
        place(reader, node)
    if variable in reader.region.outer_iterators:
        message = f"'{node.name}' is a loop's iterator elsewhere in the region"
        raise refusal("PG105", reader.region.at(node), message, "use another variable", len(node.name))


def _local(reader: Reader, node: Any) -> Local | None:
    if isinstance(node, c_ast.ID):
        binding = reader.binding(reader.variable(node), node)
        return binding if isinstance(binding, Local) else None
    return None


def _copy(reader: Reader, target: Place, written: Any, source: Any) -> list[Action]:
    """The assignment of a structure, member by member."""
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
    if declarations.substituted(reader, variable) or node.init is None:
        return []  # without initialiser it is bound at its first use, maybe as an iterator
    array = reader.add_array(variable, reader.region.unique(variable.name))
    reader.region.bindings[variable] = array
    if isinstance(variable.type, Qualified) and not isinstance(node.init, c_ast.InitList):
        target = Place(array, (), "", variable.type)
        return _copy(reader, target, c_ast.ID(variable.name, node.coord), node.init)
    stores: list[Action] = []
    for subscripts, ctype, value in declarations.initial_values(reader, variable):
        target_node = c_ast.ID(variable.name, node.coord)
        site = reader.region.site(target_node)
        stores.append(Store(Reference(array.name, tuple(map(Int, subscripts)), ctype, "", site), value))
    return stores


def branches(reader: Reader, node: c_ast.If) -> tuple[list[Action], list[Action]]:
    """The two branches of a data-dependent if."""
    then = _block(reader.child(), [node.iftrue])
    return then, _block(reader.child(), [node.iffalse]) if node.iffalse is not None else []


def _block(reader: Reader, nodes: Iterable[Any]) -> list[Action]:
    return [action for node in nodes for action in _within(reader, node)]


def _within(reader: Reader, node: Any) -> list[Action]:
    match node:
        case c_ast.Compound():
            return _block(reader.child(), node.block_items or ())
        case c_ast.If():
            test = reader.value(node.cond)
            then, otherwise = branches(reader, node)
            return [Branch(test, tuple(then), tuple(otherwise))]
        case c_ast.EmptyStatement():
            return []
        case c_ast.Decl():
            return _let(reader, node)
        case c_ast.For():
            message = "a loop within an if whose condition depends on data"
            help_text = "put the if inside the loop: 'for (...) if (...) ...'"
            raise refusal("PG170", reader.region.at(node), message, help_text, 3)
    return effects(reader, node)


def _let(reader: Reader, node: c_ast.Decl) -> list[Action]:
    variable: Variable = declarations.entered(reader, node)
    if declarations.substituted(reader, variable):
        return []
    local = declarations.local(reader, variable)
    value = reader.value(node.init) if node.init is not None else Int(0)
    reader.region.bindings[variable] = local
    return [Let(local.name, local.type, value)]
