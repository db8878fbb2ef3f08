"""Calls within a region: the mathematical library, and the user's own pure functions."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polygpu.frontend.names import mathematics
from polygpu.frontend.names.scopes import Function, Variable, function_scope
from polygpu.frontend.names.types import Basic
from polygpu.frontend.read import not_computed
from polygpu.frontend.read.functions import Choice, Impure, UserFunction, impure_call, user_function
from polygpu.frontend.read.state import Reading, Substitute
from polygpu.frontend.read.unsupported import refusal
from polygpu.frontend.read.well_known import well_known
from polygpu.frontend.shape.affine import extremum
from polygpu.frontend.text.clean import INLINE_ASSEMBLY
from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Literal, Select, is_floating, type_of
from polygpu.support.diagnostics import Diagnosed


def call(reader: Reading, node: c_ast.FuncCall) -> Expr:
    """The value of a call without side effects. Raises Diagnosed for any other."""
    if not isinstance(node.name, c_ast.ID):
        raise _pointer(reader, node)
    name = node.name.name
    if name == INLINE_ASSEMBLY:
        help_text = "write it in C, or end the region before it"
        raise refusal("PG127", reader.region.at(node), "inline assembly in a region", help_text)
    symbol = reader.scope.find(name)
    if isinstance(symbol, Function) and symbol.definition is not None:
        return _user_call(reader, node, symbol)
    if symbol is not None and not isinstance(symbol, Function):
        raise _pointer(reader, node)
    known = well_known(reader, node, symbol)
    return _library_call(reader, node, mathematics.library_name(name)) if known is None else known


def _pointer(reader: Reading, node: c_ast.FuncCall) -> Diagnosed:
    message = "a call through a function pointer: the function is not known"
    return refusal("PG131", reader.region.at(node), message, "call the function by its name")


def arguments(node: c_ast.FuncCall) -> list[Any]:
    return list(node.args.exprs) if node.args else []


def _library_call(reader: Reading, node: c_ast.FuncCall, name: str) -> Expr:
    given = arguments(node)
    spelled = node.name.name
    if spelled in mathematics.CONSTANTS:
        literal = Literal(*mathematics.CONSTANTS[spelled])
        return Cast("double", literal) if spelled in mathematics.DOUBLE_CONSTANTS else literal
    if name == "expect" and given:
        return reader.value(given[0])
    if name in mathematics.CLASSIFICATIONS and len(given) == 1:
        return Call(name, (_floating(reader.value(given[0])),), "int")
    if name == "fpclassify" and len(given) == 6:
        return _classified(*map(reader.value, given))
    if name == "isnormal" and len(given) == 1:
        return _classified(Int(0), Int(0), Int(1), Int(0), Int(0), reader.value(given[0]))
    signature = mathematics.FUNCTIONS.get(name)
    if signature is None:
        raise _unknown(reader, node, spelled)
    result, wanted = signature
    if len(given) != len(wanted):
        message = f"'{name}' takes {len(wanted)} arguments, not {len(given)}"
        raise refusal("PG132", reader.region.at(node), message, "correct the call", len(spelled))
    values = [_as(reader.value(argument), ctype) for argument, ctype in zip(given, wanted, strict=True)]
    return Call(name, tuple(values), result)


def _classified(nan: Expr, infinite: Expr, normal: Expr, subnormal: Expr, zero: Expr, number: Expr) -> Expr:
    """`fpclassify(number)`, of which the compiler's built-in has the answers first."""
    value = _floating(number)
    ctype = type_of(value)
    least = Literal(mathematics.LEAST_NORMAL[ctype], ctype)
    size = Call("fabsf" if ctype == "float" else "fabs", (value,), ctype)
    small = Select(Binary("==", value, Cast(ctype, Int(0))), zero, subnormal)
    finite = Select(Binary("<", size, least), small, normal)
    bounded = Select(Call("isinf", (value,), "int"), infinite, finite)
    return Select(Call("isnan", (value,), "int"), nan, bounded)


def _as(expr: Expr, ctype: str) -> Expr:
    """C converts to the parameter's type; C++ would choose an overload by the argument's."""
    return expr if type_of(expr) == ctype else Cast(ctype, expr)


def _floating(expr: Expr) -> Expr:
    return expr if is_floating(type_of(expr)) else Cast("double", expr)


def _unknown(reader: Reading, node: c_ast.FuncCall, name: str) -> Diagnosed:
    if mathematics.library_name(name) in mathematics.OF_MEMORY:
        message = f"which elements '{name}' changes here is not certain"
        help_text = "write its size as a number of elements times 'sizeof' of one, or write a loop"
        return refusal("PG130", reader.region.at(node), message, help_text, len(name))
    context = reader.region.context
    known = not_computed.reason(name)
    if known is not None and name not in context.refused:
        message, help_text = known
        return refusal("PG130", reader.region.at(node), message, help_text, len(name))
    message = f"'{name}' is called in a region: it is no mathematical function and not defined in this file"
    help_text = "end the region before the call, or define the function in this file"
    if name in context.refused:
        message += f"; that of another file is not taken: {context.refused[name]}"
    elif isinstance(context.scope.find(name), Function):
        help_text = "define the function in this file, or name the file that does: --with FILE.c"
    return refusal("PG130", reader.region.at(node), message, help_text, len(name))


def _user_call(reader: Reading, node: c_ast.FuncCall, symbol: Function) -> Expr:
    context = reader.region.context
    name = symbol.name
    found = user_function(context, name)
    if isinstance(found, Impure):
        raise impure_call(reader.region.at(node), name, found)
    values = tuple(reader.value(argument) for argument in arguments(node))
    if len(values) != len(found.parameters):
        message = f"'{name}' takes {len(found.parameters)} arguments, not {len(values)}"
        raise refusal("PG132", reader.region.at(node), message, "correct the call", len(name))
    made = Call(found.name, values, found.result)
    inlined = _inlined(reader, found, values)
    match inlined:
        case Select() if (simple := extremum(inlined)) is not None:
            return _as(simple, found.result)
        case None:
            pass
        case _:
            reader.region.inlined[made] = _as(inlined, found.result)
    reader.region.functions[name] = found
    return made


def _inlined(reader: Reading, function: UserFunction, values: tuple[Expr, ...]) -> Expr | None:
    """The value of an integer function that only returns an expression, in terms of the arguments."""
    if (
        function.returned is None
        or is_floating(function.result)
        or any(map(is_floating, function.parameters))
    ):
        return None
    scope = function_scope(function.definition, reader.region.context.scope)
    for symbol, value in zip(scope.symbols.values(), values, strict=True):
        if isinstance(symbol, Variable) and isinstance(symbol.type, Basic):
            reader.region.bindings[symbol] = Substitute(value, symbol.type.name)
    try:
        return _returned(reader.at(scope), function.returned, function.result)
    except Diagnosed:  # such as `return ++a;`, which the function can compute and no expression can
        return None


def _returned(reader: Reading, returned: Any, result: str) -> Expr:
    if isinstance(returned, Choice):
        yes, no = (_returned(reader, part, result) for part in (returned.yes, returned.no))
        return Select(reader.value(returned.test), yes, no)
    return _as(reader.value(returned), result)
