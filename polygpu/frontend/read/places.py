"""Lvalues and pointers: which element of which array an expression names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Scope
from polygpu.frontend.names.types import Basic, CType, Pointer, Qualified, Vector, describe, described, tables
from polygpu.frontend.normal.trees import is_member
from polygpu.frontend.read import pointers
from polygpu.frontend.read.state import Address, Iterator, Local, Lost, RawArray, Reading, source_text
from polygpu.frontend.read.unsupported import expression_refusal, refusal
from polygpu.frontend.read.values import current, is_followed, is_known, pointed
from polygpu.frontend.shape.affine import add, subtract
from polygpu.model.expr import Expr, Int, Reference
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed


@dataclass(frozen=True)
class Place:
    """An object within `array`: after `subscripts`, the member `field`, of `type`."""

    array: RawArray
    subscripts: tuple[Expr, ...]
    field: str
    type: CType


def place(reader: Reading, node: Any) -> Place:
    """The object that an lvalue names."""
    match node:
        case c_ast.ID():
            return _variable(reader, node)
        case c_ast.ArrayRef():
            return _element(reader, node)
        case c_ast.UnaryOp(op="*", expr=c_ast.Cast(expr=c_ast.Constant())):
            message = "'va_arg', or what a number as a pointer points to, in a region"
            help_text = "copy such arguments to an array before the region"
            raise refusal("PG153", reader.region.at(node), message, help_text)
        case c_ast.UnaryOp(op="*"):
            return _pointed(address(reader, node.expr))
        case c_ast.StructRef():
            base = place(reader, node.name) if node.type == "." else _pointed(address(reader, node.name))
            return _member(reader, base, node)
        case c_ast.ExprList(exprs=[inner]):
            return place(reader, inner)
    raise expression_refusal(node, reader.region.at(node))


def _variable(reader: Reading, node: c_ast.ID) -> Place:
    variable = reader.variable(node)
    match reader.binding(variable, node):
        case RawArray() as array:
            return Place(array, (), "", variable.type)
        case Iterator():
            message = f"the iterator '{node.name}' is changed within its loop"
            help_text = "let only the loop's header change it; use another variable for other values"
            raise refusal("PG105", reader.region.at(node), message, help_text, len(node.name))
        case Local():
            message = (
                f"the address of '{node.name}' is taken, which is declared within an if that depends on data"
            )
            raise refusal("PG154", reader.region.at(node), message, "name it itself", len(node.name))
    message = f"the pointer '{node.name}' is used as a whole"
    raise refusal("PG141", reader.region.at(node), message, "name one element of it", len(node.name))


def _pointed(pointer: Address) -> Place:
    return Place(pointer.array, pointer.subscripts, "", pointer.element)


def _element(reader: Reading, node: c_ast.ArrayRef) -> Place:
    if is_member(node.name):
        return _member_element(reader, node)
    base, index = node.name, node.subscript
    if isinstance(base, c_ast.Constant) and is_pointer(reader.scope, index):
        base, index = index, base  # 1[p] is p[1]
    elif (
        isinstance(base, c_ast.ID) and not is_pointer(reader.scope, base) and is_pointer(reader.scope, index)
    ):
        swapped = source_text(c_ast.ArrayRef(index, base))
        message = f"'{source_text(node)}' has the array in the brackets"
        raise refusal("PG147", reader.region.at(node), message, f"write '{swapped}'", len(base.name))
    pointer = address(reader, base)
    return _pointed(_moved(pointer, add(pointer.subscripts[-1], reader.value(index))))


def _moved(pointer: Address, offset: Expr) -> Address:
    return replace(pointer, subscripts=(*pointer.subscripts[:-1], offset))


def _member(reader: Reading, base: Place, node: c_ast.StructRef) -> Place:
    name = node.field.name
    if isinstance(base.type, Qualified):
        for member in base.type.record.members or ():
            if member.name == name:
                path = f"{base.field}.{name}" if base.field else name
                return Place(base.array, base.subscripts, path, member.type)
    message = f"there is no member '{name}' in {describe(base.type)}"
    raise refusal("PG147", reader.region.at(node), message, "check the structure's declaration")


def _member_element(reader: Reading, node: c_ast.ArrayRef) -> Place:
    """An element of an array within a structure."""
    base = place(reader, node.name)
    if not isinstance(base.type, Vector):
        raise _pointer_in_memory(reader, node)
    index = reader.region.affine.value(reader.value(node.subscript))
    if isinstance(index, Int):
        return Place(base.array, base.subscripts, f"{base.field}[{index.value}]", base.type.element)
    message = f"the subscript of the member array '{base.field}' is not constant"
    help_text = "let a loop with constant bounds count it, or use an array of its own instead of the member"
    raise refusal("PG148", reader.region.at(node.subscript), message, help_text)


def _pointer_in_memory(reader: Reading, node: Any) -> Diagnosed:
    message = "a pointer that is read from memory: where it points to is not known"
    help_text = "copy it to a local pointer before the region"
    return refusal("PG145", reader.region.at(node), message, help_text)


def address(reader: Reading, node: Any) -> Address:
    """The value of a pointer expression: arrays decay, `p + i`, `&A[i][0]` and casts are followed."""
    match node:
        case c_ast.ID():
            return _pointer_variable(reader, node)
        case c_ast.BinaryOp(op="+" | "-" as op):
            return _offset(reader, node, op)
        case c_ast.UnaryOp(op="&"):
            target = place(reader, node.expr)
            if target.subscripts and not target.field:
                return Address(target.array, target.subscripts, target.type)
            raise expression_refusal(node, reader.region.at(node))
        case c_ast.UnaryOp(op="p++" | "p--" | "++" | "--" as op, expr=c_ast.ID()):
            before = address(reader, node.expr)
            after = stepped(before, op[-1], Int(1))
            point(reader, node.expr, after)
            return before if op.startswith("p") else after
        case c_ast.Cast():
            return _cast(reader, node)
    return _decayed(reader, place(reader, node), node)


def stepped(pointer: Address, op: str, distance: Expr) -> Address:
    """`pointer + distance`, or with `-` before it."""
    return _moved(pointer, (add if op == "+" else subtract)(pointer.subscripts[-1], distance))


def point(reader: Reading, node: c_ast.ID, pointer: Address) -> None:
    """Assigns to a pointer variable. Raises Diagnosed."""
    region, variable = reader.region, reader.variable(node)
    target = pointed(variable)
    if target is None or not is_followed(region, variable):
        _variable(reader, node)
        raise _moves(reader, node)
    if not pointers.same(reader, target, pointer.element):
        raise pointers.retyped(reader, node, variable.type, pointer.element)
    known = all(is_known(region, subscript) for subscript in pointer.subscripts)
    region.values[variable] = pointer if known else Lost(region.at(node))


def _moves(reader: Reading, node: c_ast.ID) -> Diagnosed:
    message = f"where the pointer '{node.name}' points to is not known: it is changed in the region"
    help_text = "subscript it instead of moving it, or set it outside of the region"
    return refusal("PG157", reader.region.at(node), message, help_text, len(node.name))


def _pointer_variable(reader: Reading, node: c_ast.ID) -> Address:
    variable = reader.variable(node)
    match current(reader, variable):
        case Address() as known:
            return known
        case Lost():
            raise _moves(reader, node)
    binding = reader.binding(variable, node)
    if isinstance(binding, Address):
        return binding
    if isinstance(binding, RawArray) and isinstance(variable.type, Pointer | Vector):
        inner = variable.type.target if isinstance(variable.type, Pointer) else variable.type.element
        return Address(binding, (Int(0),), inner)
    message = f"'{node.name}' is {described(variable.type)}, not an array or a pointer"
    raise refusal("PG147", reader.region.at(node), message, "check its declaration", len(node.name))


def _decayed(reader: Reading, target: Place, node: Any) -> Address:
    if isinstance(target.type, Vector) and not target.field:
        return Address(target.array, (*target.subscripts, Int(0)), target.type.element)
    if isinstance(target.type, Pointer):
        if tables(target.array.variable.type) and not target.field:
            return Address(target.array, (*target.subscripts, Int(0)), target.type.target)
        raise _pointer_in_memory(reader, node)
    if isinstance(target.type, Vector):
        message = f"the member array '{target.field}' is used as a pointer"
        help_text = "name its elements, or pass the structure"
        raise refusal("PG148", reader.region.at(node), message, help_text)
    message = f"too many subscripts: '{target.array.name}' has {len(target.subscripts)} here"
    raise refusal("PG147", reader.region.at(node), message, "check its declaration")


def _offset(reader: Reading, node: c_ast.BinaryOp, op: str) -> Address:
    base, distance = node.left, node.right
    if op == "+" and not is_pointer(reader.scope, base):
        base, distance = distance, base
    return stepped(address(reader, base), op, reader.value(distance))


def is_pointer(scope: Scope, node: Any) -> bool:
    """Whether an operand is a pointer, judged by the first name in it."""
    match node:
        case c_ast.ID():
            symbol = scope.find(node.name)
            return isinstance(getattr(symbol, "type", None), Pointer | Vector)
        case c_ast.BinaryOp(op="-"):
            return is_pointer(scope, node.left) and not is_pointer(scope, node.right)
        case c_ast.BinaryOp():
            return is_pointer(scope, node.left) or is_pointer(scope, node.right)
        case c_ast.UnaryOp(op="&"):
            return True
        case c_ast.Cast():
            return isinstance(scope.resolve(node.to_type), Pointer)
        case c_ast.ArrayRef() | c_ast.UnaryOp(op="*"):
            return not isinstance(_element_type(scope, node), Basic | type(None))
    return False


def _element_type(scope: Scope, node: Any) -> CType | None:
    """The declared type of `A[i]...`, None where it is not as simple."""
    match node:
        case c_ast.ID():
            return getattr(scope.find(node.name), "type", None)
        case c_ast.ArrayRef(name=base) | c_ast.UnaryOp(op="*", expr=base):
            match _element_type(scope, base):
                case Vector(element, _, _, _):
                    return element
                case Pointer(target, _):
                    return target
        case c_ast.BinaryOp(op="+" | "-"):
            return _element_type(scope, node.left if is_pointer(scope, node.left) else node.right)
    return None


def _cast(reader: Reading, node: c_ast.Cast) -> Address:
    wanted = reader.scope.resolve(node.to_type)
    pointer = address(reader, node.expr)
    if isinstance(wanted, Pointer) and pointers.same(reader, wanted.target, pointer.element):
        return pointer
    raise pointers.retyped(reader, node, wanted, pointer.element)


def reference(reader: Reading, target: Place, node: Any, site: int) -> Reference:
    """The model's reference to a scalar place."""
    if isinstance(target.type, Basic):
        return Reference(target.array.name, target.subscripts, target.type.name, target.field, site)
    if isinstance(target.type, Pointer) and tables(target.array.variable.type):
        message = f"'{source_text(node)}' is a pointer in memory: regions follow such pointers, and set none"
        raise refusal("PG145", reader.region.at(node), message, "set it before the region")
    if isinstance(target.type, Pointer) and target.subscripts:
        raise _pointer_in_memory(reader, node)
    message = f"'{target.array.name}' is used as a whole here ({describe(target.type)})"
    raise refusal("PG141", reader.region.at(node), message, "name one element of it")
