"""Functions that can be written into a region in place of their calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names import mathematics
from polygpu.frontend.names.scopes import Function, function_scope
from polygpu.frontend.names.types import CType, Opaque, Pointer, Vector
from polygpu.frontend.normal.gotos import jumps_to, without_goto
from polygpu.frontend.normal.jumps import Structured, UnstructuredError
from polygpu.frontend.normal.sequences import in_sequence
from polygpu.frontend.normal.switches import without_switch
from polygpu.frontend.normal.trees import (
    Names,
    assigns,
    block,
    blocks,
    changed,
    converted,
    declared_names,
    free_names,
    statements,
    used_names,
)
from polygpu.frontend.read import openmp, well_known
from polygpu.frontend.read.directives import pragma_word
from polygpu.frontend.read.functions import Impure, user_function
from polygpu.frontend.read.state import FileContext
from polygpu.frontend.text.clean import INLINE_ASSEMBLY
from polygpu.frontend.text.ended import is_ending
from polygpu.frontend.text.nodes import nodes
from polygpu.support.dataclass import dataclass

RESULT = "return"  # what a body assigns its value to, which is the name of no variable
_TYPES = (c_ast.Struct, c_ast.Union, c_ast.Enum)


@dataclass(frozen=True)
class Callee:
    """`items` are its statements without `return`: `value` is what it returns behind them, None where
    they assign RESULT, or where there is nothing to return.

    `own` are the names that it declares, `outer` those that mean something of the file. It `stores` if it
    changes more than its own variables; it `is_one` if it is one expression or assignment that reads all
    before it stores.
    """

    definition: Any
    parameters: tuple[Any, ...]
    result: CType
    items: tuple[Any, ...]
    value: Any
    own: frozenset[str]
    outer: frozenset[str]
    stores: bool
    is_one: bool

    @property
    def is_void(self) -> bool:
        return isinstance(self.result, Opaque) and self.result.what == "void"

    def uses(self, name: str) -> int:
        """How often its statements name a variable."""
        trees = [*self.items, *([] if self.value is None else [self.value])]
        return sum(isinstance(n, c_ast.ID) and n.name == name for tree in trees for n in nodes(tree))


def is_called_inline(context: FileContext, node: Any) -> bool:
    """Whether a call is of a function of the file that is no function of numbers alone."""
    if not isinstance(node, c_ast.FuncCall) or not isinstance(node.name, c_ast.ID):
        return False
    symbol = context.scope.find(node.name.name)
    defined = isinstance(symbol, Function) and symbol.definition is not None
    return defined and isinstance(user_function(context, node.name.name), Impure)


def callee(context: FileContext, name: str, active: tuple[str, ...] = ()) -> Callee | Impure:
    """The function if its statements can stand where it is called; `active` are those that call it."""
    symbol = context.scope.find(name)
    definition = symbol.definition if isinstance(symbol, Function) else None
    assert definition is not None, name
    if name in active:
        return Impure("it calls itself", context.at(definition))
    for problem in _problems(context, definition, (*active, name)):
        return problem
    result = context.scope.resolve(definition.decl.type.type)
    if isinstance(result, Opaque) and result.what != "void":
        return Impure(f"it returns a {result.what}", context.at(definition))
    body = _statements(context, definition)
    if isinstance(body, Impure):
        return body
    items, value = body
    parameters = tuple(_parameters(definition))
    own = frozenset(n for part in (*parameters, definition.body) for n in declared_names(part))
    outer = frozenset(free_names([*parameters, definition.body])) | _types_named(definition)
    if twice := sorted(own & outer):
        return Impure(f"its name '{twice[0]}' means two things in it", context.at(definition))
    stores = _stores(context, definition, own)
    one = _is_one(context, items, value)
    return Callee(definition, parameters, result, tuple(items), value, own, outer, stores, one)


def _is_one(context: FileContext, items: list[Any], value: Any) -> bool:
    match items, value:
        case [], _:
            trees = [] if value is None else [value]
        case [c_ast.Assignment(rvalue=value)], None:
            trees = [value]
        case _:
            return False
    calls = (node for tree in trees for node in nodes(tree) if isinstance(node, c_ast.FuncCall))
    return not any(map(assigns, trees)) and not any(_call_stores(context, call) for call in calls)


def _parameters(definition: Any) -> list[Any]:
    declared = definition.decl.type.args
    return [p for p in (declared.params if declared else ()) if isinstance(p, c_ast.Decl)]


def _types_named(definition: Any) -> frozenset[str]:
    """Types, and what else is no variable, that the function names."""
    trees = (definition.decl.type, definition.body)
    ids = {node.name for tree in trees for node in nodes(tree) if isinstance(node, c_ast.ID)}
    return frozenset(name for tree in trees for name in used_names(tree)) - ids


def _problems(context: FileContext, definition: Any, active: tuple[str, ...]) -> Iterator[Impure]:
    position = context.at(definition)
    declared = definition.decl.type.args
    for parameter in declared.params if declared else ():
        if isinstance(parameter, c_ast.EllipsisParam):
            yield Impure("it takes a variable number of arguments", position)
        elif isinstance(getattr(parameter.type, "type", None), c_ast.FuncDecl):
            yield Impure(f"its parameter '{parameter.name}' is a function", position)
        elif _is_volatile(parameter):
            yield Impure(f"its parameter '{parameter.name}' is volatile or atomic", position)
    own = {*declared_names(definition.body), *(p.name for p in _parameters(definition))}
    for node in nodes(definition.body):
        if (reason := _reason(node)) or (reason := _unnamed(context, node, own)):
            yield Impure(reason, context.at(node))
        elif isinstance(node, c_ast.FuncCall):
            yield from _called(context, node, active)


def _reason(node: Any) -> str:
    match node:
        case c_ast.Decl() if {"static", "extern", "_Thread_local"} & set(node.storage) and not _is_table(
            node
        ):
            return f"its variable '{node.name}' is {node.storage[0]}"
        case c_ast.Decl() if _is_volatile(node):
            return f"its variable '{node.name}' is volatile or atomic"
        case c_ast.Decl(type=c_ast.FuncDecl()):
            return f"it declares the function '{node.name}'"
        case c_ast.Typedef() | c_ast.Struct(decls=[*_]) | c_ast.Union() | c_ast.Enum(values=c_ast.Node()):
            return "it declares a type"
        case c_ast.FuncCall(name=c_ast.ID(name=name)) if name == INLINE_ASSEMBLY:
            return "it contains inline assembly"
        case c_ast.Pragma() if _has_threads(node):
            return "threads of OpenMP may run a part of it"
    return ""


def _is_volatile(declaration: Any) -> bool:
    qualifiers = {word for node in nodes(declaration) for word in getattr(node, "quals", None) or ()}
    return not qualifiers.isdisjoint({"volatile", "_Atomic"})


def _is_table(declaration: Any) -> bool:
    """Whether a static variable is always what it is initialised with."""
    ctype = declaration.type
    while isinstance(ctype, c_ast.ArrayDecl):
        ctype = ctype.type
    initialised = declaration.storage == ["static"] and declaration.init is not None
    return initialised and isinstance(ctype, c_ast.TypeDecl) and "const" in ctype.quals


def _has_threads(pragma: Any) -> bool:
    """Whether each of several threads may run the statement behind a pragma as a whole."""
    entered = openmp.entered([pragma, None], 1) is not None
    return entered and not openmp.goes_with_a_loop(pragma) and not openmp.one_at_a_time(pragma)


def _unnamed(context: FileContext, node: Any, own: set[str]) -> str:
    """Why a call cannot be followed."""
    if not isinstance(node, c_ast.FuncCall):
        return ""
    if not isinstance(node.name, c_ast.ID) or node.name.name in own:
        return "it calls through a pointer"
    name = node.name.name
    symbol = context.scope.find(name)
    if isinstance(symbol, Function) and symbol.definition is not None:
        return ""
    loop = mathematics.library_name(name) in mathematics.OF_MEMORY
    known = mathematics.is_known(name) or mathematics.is_of_complex(name)
    known = known or loop or name in well_known.NAMES or is_ending(name)
    return "" if known else f"it calls '{name}'"


def _called(context: FileContext, node: c_ast.FuncCall, active: tuple[str, ...]) -> Iterator[Impure]:
    if is_called_inline(context, node) and isinstance(
        found := callee(context, node.name.name, active), Impure
    ):
        yield found


def _statements(context: FileContext, definition: Any) -> tuple[list[Any], Any] | Impure:
    """The statements of the body and the value behind them, as in Callee."""
    names = Names({*declared_names(definition), *used_names(definition)})
    scope = function_scope(definition, context.scope)
    body = blocks(definition.body.block_items or (), scope, in_sequence)
    body = blocks(body, scope, lambda items, _: [_unmarked(item) for item in items if not _marks(item)])
    body = blocks(body, scope, lambda items, inner: without_switch(items, inner, names))
    every = jumps_to(c_ast.Compound(body))
    body = blocks(body, scope, lambda items, _: without_goto(items, names, every))
    for node in nodes(c_ast.Compound(body)):
        if isinstance(node, c_ast.Goto):
            return Impure("it jumps with 'goto'", context.at(node))
    *before, last = body or [None]
    if isinstance(last, c_ast.Return) and not any(map(_returns, before)):
        return before, last.expr
    if (value := _chosen(body, definition.decl.type.type)) is not None:
        return [], value
    try:
        return Structured(_end, lambda _: False, names).of(body), None
    except UnstructuredError as problem:
        return Impure("it returns from within a loop or switch", context.at(problem.node))


def _chosen(items: list[Any], spelled: Any) -> Any:
    """The value of `if (t) return a; [else] return b;` as `t ? a : b`, None for any other statements.

    Each `return` converts to the function's type, where `?:` has a common one.
    """
    match items:
        case [c_ast.Return(expr=c_ast.Node() as value)] if isinstance(spelled, c_ast.TypeDecl):
            return converted(spelled, value, value)
        case [c_ast.If(iffalse=None) as test, *rest]:
            branches = test.iftrue, block(rest, test.coord)
        case [c_ast.If() as test]:
            branches = test.iftrue, test.iffalse
        case _:
            return None
    yes, no = (_chosen(statements(branch), spelled) for branch in branches)
    if yes is None or no is None:
        return None
    return c_ast.TernaryOp(test.cond, yes, no, test.coord)


def _marks(item: Any) -> bool:
    return isinstance(item, c_ast.Pragma) and pragma_word(item) in ("scop", "endscop")


def _unmarked(item: Any) -> Any:
    """A table as a variable of each call."""
    return changed(item, storage=[]) if isinstance(item, c_ast.Decl) and _is_table(item) else item


def _returns(tree: Any) -> bool:
    return any(isinstance(node, c_ast.Return) for node in nodes(tree))


def _end(node: Any) -> list[Any] | None:
    if not isinstance(node, c_ast.Return):
        return None
    if node.expr is None:
        return []
    return [c_ast.Assignment("=", c_ast.ID(RESULT, node.coord), node.expr, node.coord)]


def _stores(context: FileContext, definition: Any, own: frozenset[str]) -> bool:
    """Whether the function changes more than the variables that it declares."""
    wholes = own - frozenset(_pointers(context, definition))
    for node in nodes(definition.body):
        match node:
            case c_ast.Assignment(lvalue=target) | c_ast.UnaryOp(op="p++" | "++" | "p--" | "--", expr=target):
                if not (target.name in own if isinstance(target, c_ast.ID) else _base(target) in wholes):
                    return True
            case c_ast.FuncCall() if _call_stores(context, node):
                return True
    return False


def _pointers(context: FileContext, definition: Any) -> Iterator[str]:
    """The function's variables that are pointers: parameters that are declared as arrays are some too."""
    for parameter in _parameters(definition):
        if isinstance(context.scope.resolve(parameter.type), Pointer | Vector):
            yield parameter.name
    for node in nodes(definition.body):
        if isinstance(node, c_ast.Decl) and isinstance(context.scope.resolve(node.type), Pointer):
            yield node.name


def _call_stores(context: FileContext, node: c_ast.FuncCall) -> bool:
    if not is_called_inline(context, node):
        return mathematics.library_name(node.name.name) in mathematics.OF_MEMORY
    found = callee(context, node.name.name)
    return isinstance(found, Impure) or found.stores


def _base(target: Any) -> str:
    """The variable that an lvalue is a part of, "" where it is behind a pointer."""
    while isinstance(target, c_ast.ArrayRef | c_ast.StructRef):
        if isinstance(target, c_ast.StructRef) and target.type == "->":
            return ""
        target = target.name
    return str(target.name) if isinstance(target, c_ast.ID) else ""
