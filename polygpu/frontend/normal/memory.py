"""`memset`, `memcpy` and `memmove` as loops over elements.

    memset(a, 0, n * sizeof *a);            ->   for (long k = 0; k < n; k++) a[k] = 0;
    memcpy(b[i], a[i], m * sizeof(float));  ->   for (long k = 0; k < m; k++) b[i][k] = a[i][k];
    memset(c, 0, sizeof c);                 ->   a loop for each of the array's dimensions

The number of bytes has to be a number of elements times their size. What they copy does not overlap, but for
that of `memmove`, which has to be between two variables: where these are pointers, the host tests it.
"""

from __future__ import annotations

from dataclasses import field
from functools import reduce
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.mathematics import OF_MEMORY, library_name
from polygpu.frontend.names.scopes import Function, Scope, Variable
from polygpu.frontend.names.types import Basic, CType, Qualified, Record, Vector
from polygpu.frontend.normal.kinds import pointed, type_of
from polygpu.frontend.normal.trees import Names, block, has_effects, integer, is_free, is_place
from polygpu.frontend.read.state import source_text
from polygpu.model.expr import SIZES, is_floating
from polygpu.support.dataclass import dataclass

_BYTES = ("char", "signed char", "unsigned char")


def as_loops(items: list[Any], scope: Scope, names: Names) -> list[Any]:
    """The statements of a block, with loops for such calls where the elements are certain."""
    return [_loops(item, scope, names) or item for item in items]


def _loops(item: Any, scope: Scope, names: Names) -> Any:
    call = item.expr if isinstance(item, c_ast.Cast) else item
    match call:
        case c_ast.FuncCall(name=c_ast.ID(name=name), args=c_ast.ExprList(exprs=[target, source, size])):
            known = scope.find(name)
            if library_name(name) in OF_MEMORY and (known is None or _is_declared(known)):
                return _of_call(library_name(name), target, source, size, scope, names)
    return None


def _is_declared(symbol: Any) -> bool:
    return isinstance(symbol, Function) and symbol.definition is None


def _of_call(name: str, target: Any, source: Any, size: Any, scope: Scope, names: Names) -> Any:
    """The loops, None where the elements are not certain."""
    written, ctype = _pointer(target, scope)
    if ctype is None or (counts := _counts(size, ctype, scope)) is None:
        return None
    element = ctype
    while isinstance(element, Vector):
        element = element.element
    if name == "memset":
        value = _byte(source, element, scope)
    else:
        value, other = _pointer(source, scope)
        if (
            other is None
            or not _is_same(ctype, other, scope)
            or (name == "memmove" and not _apart(written, value, scope))
        ):
            return None
    if value is None:
        return None
    iterators = [names.fresh("k") for _ in counts]
    for iterator in iterators:
        subscript = c_ast.ID(iterator, target.coord)
        written = c_ast.ArrayRef(written, subscript, target.coord)
        value = value if name == "memset" else c_ast.ArrayRef(value, subscript, source.coord)
    body = c_ast.Assignment("=", written, value, target.coord)
    for iterator, count in zip(reversed(iterators), reversed(counts), strict=True):
        body = _loop(iterator, count, body, target.coord)
    return body


def _loop(iterator: str, count: Any, body: Any, coord: Any) -> Any:
    """for (long iterator = 0; iterator < count; iterator++) body"""
    start = integer(iterator, c_ast.Constant("int", "0", coord))
    name = c_ast.ID(iterator, coord)
    test = c_ast.BinaryOp("<", name, count, coord)
    step = c_ast.UnaryOp("p++", name, coord)
    return c_ast.For(c_ast.DeclList([start], coord), test, step, block([body], coord), coord)


def _pointer(node: Any, scope: Scope) -> tuple[Any, CType | None]:
    """A pointer without conversions, and what it points to; None for what may change as it is used."""
    while isinstance(node, c_ast.Cast):
        node = node.expr
    return node, pointed(node, scope) if is_place(node) else None


@dataclass
class _Product:
    """`number` times the factors: nodes, and structures for their sizes."""

    number: int = 1
    factors: list[Any] = field(default_factory=list)

    def divided(self, divisor: int | Record | Any, scope: Scope) -> bool:
        """Takes a factor out, if it is one."""
        if isinstance(divisor, int):
            if divisor <= 0 or self.number % divisor:
                return False
            self.number //= divisor
            return True
        for index, factor in enumerate(self.factors):
            if factor is divisor or _is_alike(factor, divisor, scope):
                del self.factors[index]
                return True
        return False

    def node(self, coord: Any) -> Any:
        """As an expression, None where a size is left."""
        if any(isinstance(factor, Record) for factor in self.factors):
            return None
        parts = [*self.factors]
        if self.number != 1 or not parts:
            parts.append(c_ast.Constant("int", str(self.number), coord))
        return reduce(lambda a, b: c_ast.BinaryOp("*", a, b, coord), parts)


def _is_alike(factor: Any, divisor: Any, scope: Scope) -> bool:
    """Whether both are one variable."""
    match factor, divisor:
        case c_ast.ID(name=first), (c_ast.ID(name=second), Scope() as declared):
            return first == second and scope.find(first) is declared.find(first)
    return False


def _counts(size: Any, ctype: CType, scope: Scope) -> list[Any] | None:
    """How many elements of the type, and of each of its dimensions, make so many bytes."""
    product = _Product()
    if has_effects(size) or not _multiplied(size, scope, product):
        return None
    inner: list[Any] = []
    while isinstance(ctype, Vector):
        extent = _extent(ctype, scope)
        if extent is None or not product.divided(extent, scope):
            return None
        inner.append(extent)
        ctype = ctype.element
    if not _divided_by_size(product, ctype, scope):
        return None
    outer = product.node(size.coord)
    if outer is None or not is_free(outer):
        return None
    numbers = [c_ast.Constant("int", str(e), size.coord) if isinstance(e, int) else e[0] for e in inner]
    return [outer, *numbers]


def _divided_by_size(product: _Product, ctype: CType, scope: Scope) -> bool:
    match ctype:
        case Basic(name, _):
            return product.divided(SIZES[name], scope)
        case Qualified(record, _):
            return product.divided(record, scope)
    return False


def _extent(ctype: Vector, scope: Scope) -> Any:
    """A number, or the node of a variable with the scope that it is one of."""
    if isinstance(ctype.extent, int):
        return ctype.extent
    found = scope.constant(ctype.extent) if ctype.extent is not None else None
    if found is not None:
        return found.value
    return (ctype.extent, ctype.scope) if isinstance(ctype.extent, c_ast.ID) else None


def _multiplied(node: Any, scope: Scope, product: _Product) -> bool:
    """Multiplies by a number of bytes. False for a type of unknown size."""
    if isinstance(node, c_ast.BinaryOp) and node.op == "*":
        return _multiplied(node.left, scope, product) and _multiplied(node.right, scope, product)
    if isinstance(node, c_ast.UnaryOp) and node.op == "sizeof":
        measured = node.expr
        ctype = scope.resolve(measured) if isinstance(measured, c_ast.Typename) else type_of(measured, scope)
        return _sized(ctype, scope, product)
    found = scope.constant(node)
    if found is not None and found.value >= 0:
        product.number *= found.value
    else:
        product.factors.append(node)
    return True


def _sized(ctype: CType | None, scope: Scope, product: _Product) -> bool:
    match ctype:
        case Basic(name, _):
            product.number *= SIZES[name]
        case Qualified(record, _):
            product.factors.append(record)
        case Vector(element, _, _, _):
            extent = _extent(ctype, scope)
            if extent is None or not _sized(element, scope, product):
                return False
            if isinstance(extent, int):
                product.number *= extent
            else:
                product.factors.append(extent[0])
        case _:
            return False
    return True


def _byte(value: Any, element: CType, scope: Scope) -> Any:
    """What an element is of which each byte has the value, None where that is not certain."""
    if not isinstance(element, Basic) or has_effects(value):
        return None
    known = scope.constant(value)
    if known is not None and known.value == 0:
        return c_ast.Constant("int", "0", value.coord)
    if element.name in _BYTES:
        spelled = c_ast.TypeDecl(
            None, [], None, c_ast.IdentifierType(["unsigned", "char"]), coord=value.coord
        )
        return c_ast.Cast(c_ast.Typename(None, [], None, spelled, coord=value.coord), value, value.coord)
    if known is None or is_floating(element.name) or element.name == "_Bool":
        return None
    number = int.from_bytes(bytes([known.value % 256] * SIZES[element.name]), "little", signed=True)
    text = c_ast.Constant("int", str(abs(number)), value.coord)
    return text if number >= 0 else c_ast.UnaryOp("-", text, value.coord)


def _is_same(first: CType, second: CType, scope: Scope) -> bool:
    match first, second:
        case Basic(a, _), Basic(b, _):
            return a == b
        case Qualified(a, _), Qualified(b, _):
            return a is b
        case Vector(a, _, _, _), Vector(b, _, _, _):
            extents = _extent(first, scope), _extent(second, scope)
            return None not in extents and _is_one(*extents) and _is_same(a, b, scope)
    return False


def _is_one(first: Any, second: Any) -> bool:
    if isinstance(first, int) or isinstance(second, int):
        return bool(first == second)
    return source_text(first[0]) == source_text(second[0]) and _is_alike(first[0], second, first[1])


def _apart(first: Any, second: Any, scope: Scope) -> bool:
    """Whether pointers are into two variables, of which none is made from the other in the region."""
    symbols = [scope.find(_base(node)) for node in (first, second)]
    outer = [s for s in symbols if isinstance(s, Variable) and s.place in ("parameter", "global")]
    return len(outer) == 2 and outer[0] is not outer[1]


def _base(node: Any) -> str:
    while not isinstance(node, c_ast.ID):
        match node:
            case c_ast.UnaryOp() | c_ast.Cast():
                node = node.expr
            case c_ast.BinaryOp():
                node = node.left
            case _:
                node = node.name
    return str(node.name)
