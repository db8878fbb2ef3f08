"""Functions of integers that other files define, which are what their names say: min, max, floord, ceild."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Function, Scope
from polygpu.frontend.names.types import Basic
from polygpu.frontend.read.state import Reading
from polygpu.frontend.shape.affine import add
from polygpu.model.expr import Call, Cast, Expr, Int, common_type, is_floating, type_of

_EXTREMA = {"min": "min", "imin": "min", "MIN": "min", "max": "max", "imax": "max", "MAX": "max"}
NAMES = frozenset({*_EXTREMA, "floord", "ceild"})


def well_known(reader: Reading, node: c_ast.FuncCall, symbol: Function | None) -> Expr | None:
    """The value of such a call; None for another function, or another type than of integers."""
    name, given = node.name.name, node.args.exprs if node.args else []
    if name not in NAMES or len(given) != 2:
        return None
    ctype = "int" if symbol is None else _type(reader.region.context.scope, symbol.node)
    first, second = map(reader.value, given)
    if ctype is None or not all(_is_integer(value, symbol) for value in (first, second)):
        return None
    first, second = (value if type_of(value) == ctype else Cast(ctype, value) for value in (first, second))
    if name in _EXTREMA:
        return Call(_EXTREMA[name], (first, second), ctype)
    divisor = reader.region.affine.value(second)
    if ctype != "int" or not isinstance(divisor, Int) or divisor.value <= 0:
        return None
    above = first if name == "floord" else add(first, Int(divisor.value - 1))
    return Call("floord", (above, divisor), "int")


def _is_integer(value: Expr, symbol: Function | None) -> bool:
    """Where no declaration tells the parameters' types, these are those of the arguments: int."""
    ctype = type_of(value)
    return not is_floating(ctype) and (symbol is not None or common_type(ctype, "int") == "int")


def _type(scope: Scope, declaration: Any) -> str | None:
    """The integer type of both parameters and of the result."""
    parameters = declaration.type.args.params if declaration.type.args else []
    types = [scope.resolve(part.type) for part in (*parameters, declaration.type)]
    names = {ctype.name for ctype in types if isinstance(ctype, Basic)}
    if len(types) != 3 or len(names) != 1 or not all(isinstance(ctype, Basic) for ctype in types):
        return None
    (name,) = names
    return None if is_floating(name) else name
