"""How many elements there are behind a pointer that a function sets once, to memory that it allocates.

    float *x = malloc(n * sizeof(float));

As long as nothing sets `x` or `n` after that, what `x` points to has n elements wherever it is used at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, TypeAlias

from pycparser import c_ast

from polygpu.frontend.names.liveness import address_kept, address_taken, changed_name, mentions
from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import Basic, CType, Pointer, Qualified
from polygpu.frontend.text.clean import INLINE_ASSEMBLY
from polygpu.frontend.text.nodes import inside, nodes
from polygpu.model.expr import SIZES, is_floating

Element: TypeAlias = Basic | Qualified
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
        case Variable(type=Pointer(Basic() | Qualified() as element), place="local") if function is not None:
            pass
        case _:
            return None
    known = _allocators({f.decl.name: f for f in functions}, scope)
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


def _allocators(functions: Mapping[str, Any], scope: Scope) -> dict[str, int]:
    """What takes a number of bytes, or two factors of it, with how many arguments: `malloc` and `calloc`, and
    functions of the file that return what these give for just their parameters, as wide as those of theirs.
    """
    known = {name: count for name, count in (("malloc", 1), ("calloc", 2)) if name not in functions}
    found = dict(known)
    for name, function in functions.items():
        arguments = function.decl.type.args
        parameters = [p for p in arguments.params if isinstance(p, c_ast.Decl)] if arguments else []
        types = [scope.resolve(p.type) for p in parameters]
        wide = all(isinstance(t, Basic) and SIZES[t.name] == 8 and not is_floating(t.name) for t in types)
        own = [p.name for p in parameters]
        if wide and len(own) == len(set(own)) and _passes_on(function.body, own, known):
            found[name] = len(own)
    return found


def _passes_on(body: Any, own: list[str], known: Mapping[str, int]) -> bool:
    """Whether all that is returned is what one call gets for the parameters, which nothing changes."""
    order = list(nodes(body))
    calls = [n for n in order if isinstance(n, c_ast.FuncCall) and getattr(n.name, "name", "") in known]
    if len(calls) != 1 or known[calls[0].name.name] != len(own) or any(changed_name(n) in own for n in order):
        return False
    if any(address_taken(body, name) for name in own):
        return False
    if any(isinstance(n, c_ast.Decl) and n.name in own for n in order):
        return False
    if [getattr(a, "name", None) for a in calls[0].args.exprs if isinstance(a, c_ast.ID)] != own:
        return False
    returned = [_without_casts(n.expr) for n in order if isinstance(n, c_ast.Return)]
    kept = {r.name for r in returned if isinstance(r, c_ast.ID)}
    if (
        len(kept) > 1
        or not returned
        or any(r is not calls[0] and not isinstance(r, c_ast.ID) for r in returned)
    ):
        return False
    return all(_only_call(body, order, name) is calls[0] for name in kept)


def _only_call(body: Any, order: list[Any], name: str) -> Any:
    """What a variable of a function is set to, if just once."""
    declared = [n for n in order if isinstance(n, c_ast.Decl) and n.name == name]
    if len(declared) != 1 or "static" in (declared[0].storage or ()) or address_taken(body, name):
        return None
    changes = [n for n in order if changed_name(n) == name]
    values = [n.rvalue for n in changes if isinstance(n, c_ast.Assignment) and n.op == "="]
    values += [n.init for n in declared if n.init is not None and not _is_null(n.init)]
    return _without_casts(values[0]) if len(values) == 1 and len(changes) < 2 else None


def _without_casts(value: Any) -> Any:
    while isinstance(value, c_ast.Cast):
        value = value.expr
    return value


def _count(value: Any, known: Mapping[str, int], element: Element, name: str, scope: Scope) -> Any:
    """The factors of the number of bytes without the size of an element."""
    value = _without_casts(value)
    match value:
        case c_ast.FuncCall(name=c_ast.ID(name=called), args=c_ast.ExprList(exprs=given)):
            if known.get(called) != len(given):
                return None
        case _:
            return None
    factors = [factor for part in given for factor in _factors(part)]
    sizes = [_size(factor, element, name, scope) for factor in factors]
    own = SIZES[element.name] if isinstance(element, Basic) else Qualified(element.record)
    if own in sizes:
        del factors[sizes.index(own)]
    elif own != 1:
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


def _size(factor: Any, element: Element, name: str, scope: Scope) -> int | CType | None:
    """Of `sizeof`, or of a number; of a structure it is the type."""
    match factor:
        case c_ast.UnaryOp(op="sizeof", expr=c_ast.Typename() as written):
            ctype: CType = scope.resolve(written.type)
        case (
            c_ast.UnaryOp(op="sizeof", expr=c_ast.UnaryOp(op="*", expr=c_ast.ID(name=found)))
            | c_ast.UnaryOp(op="sizeof", expr=c_ast.ArrayRef(name=c_ast.ID(name=found)))
        ) if found == name:
            ctype = element
        case c_ast.Constant():
            number = scope.constant(factor)
            return number.value if number is not None else None
        case _:
            return None
    match ctype:
        case Basic(known, _):
            return SIZES[known]
        case Qualified(record, _):
            return Qualified(record)
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
