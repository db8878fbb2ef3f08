"""How many elements there are behind a pointer that a function sets once, to memory that it allocates.

    float *x = malloc(n * sizeof(float));

As long as nothing sets `x` or `n` after that, what `x` points to has n elements wherever it is used at all.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import address_kept, address_taken, changed_name, mentions
from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import Basic, Pointer
from polygpu.frontend.text.clean import INLINE_ASSEMBLY
from polygpu.frontend.text.nodes import inside, nodes
from polygpu.model.expr import SIZES, is_floating

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_JUMPS = (c_ast.Label, c_ast.Goto)
_PLAIN = (c_ast.ID, c_ast.Constant, c_ast.BinaryOp)


def allocated(root: Any, scope: Scope, pointer: Variable) -> Any:
    """The number of elements, an expression in terms of the region whose `scope` is given; None where it is
    not known. `root` is the file's tree.
    """
    functions = [node for node in root.ext if isinstance(node, c_ast.FuncDef)]
    function = next((f for f in functions if id(pointer.node) in inside(f.body)), None)
    match pointer:
        case Variable(type=Pointer(Basic(element)), place="local") if function is not None:
            pass
        case _:
            return None
    known = {"malloc", "calloc"} - {f.decl.name for f in functions}
    order = list(nodes(function.body))
    jumps = mentions(function.body, INLINE_ASSEMBLY) or any(isinstance(node, _JUMPS) for node in order)
    set_to = None if jumps else _only_value(function.body, order, pointer)
    count = _count(set_to, known, element, pointer.name, scope) if set_to is not None else None
    if count is None or not _is_plain(count, scope):
        return None
    repeated = {id(n) for loop in order if isinstance(loop, _LOOPS) for n in nodes(loop)}
    start = next(k for k, node in enumerate(order) if node is set_to)
    later = order if id(set_to) in repeated else order[start:]
    names = {node.name for node in nodes(count) if isinstance(node, c_ast.ID)}
    return count if all(_stays(function.body, later, scope, name) for name in names) else None


def _only_value(body: Any, order: list[Any], pointer: Variable) -> Any:
    """What is assigned to the pointer, if nothing else but a null pointer ever is."""
    name, declared = pointer.name, pointer.node
    alone = sum(isinstance(node, c_ast.Decl) and node.name == name for node in order) == 1
    if not alone or "static" in (declared.storage or ()) or address_taken(body, name):
        return None
    initial = [] if declared.init is None or _is_null(declared.init) else [declared.init]
    changes = [node for node in order if changed_name(node) == name]
    values = initial + [
        node.rvalue for node in changes if isinstance(node, c_ast.Assignment) and node.op == "="
    ]
    return values[0] if len(values) == 1 and len(changes) + len(initial) == 1 else None


def _is_null(value: Any) -> bool:
    while isinstance(value, c_ast.Cast):
        value = value.expr
    match value:
        case c_ast.Constant(value="0") | c_ast.ID(name="NULL"):
            return True
    return False


def _count(value: Any, known: set[str], element: str, name: str, scope: Scope) -> Any:
    """The factors of the number of bytes without the size of an element."""
    while isinstance(value, c_ast.Cast):
        value = value.expr
    match value:
        case c_ast.FuncCall(
            name=c_ast.ID(name="malloc" | "calloc" as called), args=c_ast.ExprList(exprs=given)
        ):
            if called not in known or len(given) != (2 if called == "calloc" else 1):
                return None
        case _:
            return None
    factors = [factor for part in given for factor in _factors(part)]
    sizes = [_size(factor, element, name, scope) for factor in factors]
    if SIZES[element] in sizes:
        del factors[sizes.index(SIZES[element])]
    elif SIZES[element] != 1:
        return None
    return _product(factors, value.coord)


def _factors(value: Any) -> list[Any]:
    match value:
        case c_ast.BinaryOp(op="*", left=left, right=right):
            return [*_factors(left), *_factors(right)]
        case c_ast.Cast(
            to_type=c_ast.Typename(type=c_ast.TypeDecl(type=c_ast.IdentifierType(names=["size_t"])))
        ):
            return _factors(value.expr)
    return [value]


def _product(factors: list[Any], coord: Any) -> Any:
    """As wide as the number of bytes is."""
    if not factors:
        return c_ast.Constant("int", "1", coord)
    if len(factors) == 1:
        return factors[0]
    wide = c_ast.Constant("unsigned long", "1ul", coord)
    return reduce(lambda left, right: c_ast.BinaryOp("*", left, right, coord), factors, wide)


def _size(factor: Any, element: str, name: str, scope: Scope) -> int | None:
    """Of `sizeof`, or of a number."""
    match factor:
        case c_ast.UnaryOp(op="sizeof", expr=c_ast.Typename() as written):
            ctype = scope.resolve(written.type)
            return SIZES[ctype.name] if isinstance(ctype, Basic) else None
        case (
            c_ast.UnaryOp(op="sizeof", expr=c_ast.UnaryOp(op="*", expr=c_ast.ID(name=found)))
            | c_ast.UnaryOp(op="sizeof", expr=c_ast.ArrayRef(name=c_ast.ID(name=found)))
        ) if found == name:
            return SIZES[element]
        case c_ast.Constant():
            number = scope.constant(factor)
            return number.value if number is not None else None
    return None


def _is_plain(count: Any, scope: Scope) -> bool:
    return all(
        isinstance(node, _PLAIN) and (not isinstance(node, c_ast.BinaryOp) or node.op in ("+", "-", "*"))
        for node in nodes(count)
    )


def _stays(body: Any, later: list[Any], scope: Scope, name: str) -> bool:
    """Whether a name is that of one integer of the function, which nothing sets `later`."""
    symbol = scope.find(name)
    if not isinstance(symbol, Variable):
        return scope.constant(c_ast.ID(name)) is not None
    match symbol:
        case Variable(type=Basic(ctype, qualifiers), place="local" | "parameter" as place):
            declared = [n for n in nodes(body) if isinstance(n, c_ast.Decl) and n.name == name]
        case _:
            return False
    if is_floating(ctype) or "volatile" in qualifiers or address_kept(body, name):
        return False
    if len(declared) != (place == "local") or "static" in symbol.storage:
        return False
    return not any(_sets(node, name) or node in declared for node in later)


def _sets(node: Any, name: str) -> bool:
    """Whether a node changes a variable, or has a function do so."""
    match node:
        case c_ast.UnaryOp(op="&", expr=c_ast.ID(name=found)):
            return bool(found == name)
    return changed_name(node) == name
