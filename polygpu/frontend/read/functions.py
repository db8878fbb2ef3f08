"""The user's own functions: which are pure, and their text for the device file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

from pycparser import c_ast, c_generator

from polygpu.frontend.names import mathematics
from polygpu.frontend.names.device_names import device_name
from polygpu.frontend.names.scopes import Enumerator, Function, Scope, Variable, function_scope
from polygpu.frontend.names.types import Basic, describe, with_article
from polygpu.frontend.read.state import FileContext
from polygpu.frontend.read.unsupported import note, refusal
from polygpu.frontend.text import counting
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.position import Position


@dataclass(frozen=True)
class Impure:
    """Why a function cannot run on the device."""

    reason: str
    position: Position


def impure_call(position: Position, name: str, found: Impure) -> Diagnosed:
    """The refusal of a call."""
    message = f"'{name}' is called in a region, but {found.reason}"
    help_text = "write its statements into the region, or end the region before the call"
    notes = (note("this is in the way", found.position),)
    return refusal("PG130", position, message, help_text, len(name), notes)


class FuncCall(c_ast.FuncCall):  # type: ignore[misc]
    """A statement that calls a function whose statements cannot stand in its place, and why."""

    __slots__ = ("why",)

    def __init__(self, call: Any, why: Diagnosed) -> None:
        super().__init__(call.name, call.args, call.coord)
        self.why = why


@dataclass(frozen=True)
class Choice:
    """The node of a test, and what is returned where it holds and where not: nodes or further choices.

    Each `return` converts to the function's type (C99 6.8.6.4), where `?:` has a common type.
    """

    test: Any
    yes: Any
    no: Any


@dataclass(frozen=True)
class UserFunction:
    """`name` is its name on the device, `calls` the user functions it needs, by their C names.

    `returned` is the value's node, or a Choice, when the body does nothing but return.
    """

    name: str
    definition: Any
    result: str
    parameters: tuple[str, ...]
    calls: tuple[str, ...]
    returned: Any


_ALLOWED = (
    c_ast.Compound, c_ast.If, c_ast.For, c_ast.While, c_ast.DoWhile, c_ast.Return, c_ast.Break,
    c_ast.Continue, c_ast.BinaryOp, c_ast.TernaryOp, c_ast.Cast, c_ast.Constant, c_ast.ExprList,
    c_ast.DeclList, c_ast.EmptyStatement, c_ast.Typename, c_ast.TypeDecl, c_ast.IdentifierType,
)  # fmt: skip


def user_function(context: FileContext, name: str, active: tuple[str, ...] = ()) -> UserFunction | Impure:
    """The function if it is pure: only scalars in, one scalar out, nothing else touched."""
    symbol = context.scope.find(name)
    definition = symbol.definition if isinstance(symbol, Function) else None
    assert definition is not None, name
    position = context.at(definition)
    if name in active:
        return Impure("it calls itself", position)
    result = context.scope.resolve(definition.decl.type.type)
    if not isinstance(result, Basic):
        return Impure("it returns no number", position)
    scope = function_scope(definition, context.scope)
    declared = definition.decl.type.args
    if declared and any(isinstance(parameter, c_ast.EllipsisParam) for parameter in declared.params):
        return Impure("it takes a variable number of arguments", position)
    parameters = []
    for parameter in scope.symbols.values():
        ctype = parameter.type if isinstance(parameter, Variable) else None
        if not isinstance(ctype, Basic):
            what = describe(ctype) if ctype else "function"
            return Impure(
                f"its parameter '{getattr(parameter, 'name', '')}' is {with_article(what)}", position
            )
        parameters.append(ctype.name)
    calls: list[str] = []
    for problem in _problems(context, scope, definition.body, calls, (*active, name)):
        return problem
    return UserFunction(
        device_name(name),
        definition,
        result.name,
        tuple(parameters),
        tuple(calls),
        _returned(definition.body),
    )


def _problems(
    context: FileContext, scope: Scope, node: Any, calls: list[str], active: tuple[str, ...]
) -> Iterator[Impure]:
    """What makes the node impure; user functions that it calls are added to `calls`."""
    inner = scope.child() if isinstance(node, c_ast.Compound | c_ast.For) else scope
    match node:
        case c_ast.Decl():
            yield from _declaration(context, scope, node)
        case c_ast.ID():
            yield from _name(context, scope, node)
            return
        case c_ast.FuncCall():
            yield from _call(context, scope, node, calls, active)
            return
        case c_ast.Assignment():
            yield from _target(context, node.lvalue)
        case c_ast.UnaryOp():
            yield from _operator(context, node)
        case _ if not isinstance(node, _ALLOWED):
            yield Impure(f"it contains what the device cannot run ({type(node).__name__})", context.at(node))
            return
    for child in node:
        yield from _problems(context, inner, child, calls, active)


def _declaration(context: FileContext, scope: Scope, node: c_ast.Decl) -> Iterator[Impure]:
    symbol = scope.declare(node, "local")
    if not (isinstance(symbol, Variable) and isinstance(symbol.type, Basic)) or symbol.place != "local":
        yield Impure(f"its variable '{node.name}' is no local scalar", context.at(node))
    elif symbol.type.qualifiers - {"const"}:
        yield Impure(f"its variable '{node.name}' is volatile or atomic", context.at(node))


def _name(context: FileContext, scope: Scope, node: c_ast.ID) -> Iterator[Impure]:
    symbol = scope.find(node.name)
    if isinstance(symbol, Variable) and symbol.place in ("parameter", "local"):
        return
    if scope.constant(node) is None:
        yield Impure(f"it uses '{node.name}', which is not its own", context.at(node))


def _call(
    context: FileContext, scope: Scope, node: c_ast.FuncCall, calls: list[str], active: tuple[str, ...]
) -> Iterator[Impure]:
    name = node.name.name if isinstance(node.name, c_ast.ID) else ""
    symbol = scope.find(name)
    if isinstance(symbol, Function) and symbol.definition is not None:
        found = user_function(context, name, active)
        if isinstance(found, Impure):
            yield found
            return
        calls += [called for called in (*found.calls, name) if called not in calls]
    elif not mathematics.is_known(name):
        yield Impure(f"it calls '{name}'" if name else "it calls through a pointer", context.at(node))
        return
    for argument in node.args.exprs if node.args else ():
        yield from _problems(context, scope, argument, calls, active)


def _target(context: FileContext, node: Any) -> Iterator[Impure]:
    if not isinstance(node, c_ast.ID):
        yield Impure("it assigns to memory", context.at(node))


def _operator(context: FileContext, node: c_ast.UnaryOp) -> Iterator[Impure]:
    if node.op in ("*", "&", "sizeof", "_Alignof"):
        yield Impure(f"it uses '{node.op}'", context.at(node))


def _returned(node: Any) -> Any:
    """What `{ return e; }` or `{ if (t) return a; [else] return b; }` returns: its node, or a Choice."""
    items = list(node.block_items or ()) if isinstance(node, c_ast.Compound) else [node]
    match items:
        case [c_ast.Return(expr=expr)]:
            return expr
        case [c_ast.If() as test, *rest]:
            yes = _returned(test.iftrue)
            no = _returned(test.iffalse) if test.iffalse is not None else _rest(rest)
            if yes is not None and no is not None:
                return Choice(test.cond, yes, no)
        case [c_ast.Compound() as inner]:
            return _returned(inner)
    return None


def _rest(items: list[Any]) -> Any:
    return _returned(c_ast.Compound(items)) if items else None


def function_text(context: FileContext, function: UserFunction) -> str:
    """C text of the function: canonical types, constants by value, no storage class."""
    return _Generator(context, function).text()


class _Generator(c_generator.CGenerator):  # type: ignore[misc]
    """Prints so that C++ computes what C does: library functions get arguments of the exact type."""

    def __init__(self, context: FileContext, function: UserFunction) -> None:
        super().__init__(reduce_parentheses=True)
        self.context = context
        self.function = function
        self.scope = function_scope(function.definition, context.scope)

    def text(self) -> str:
        names = list(self.scope.symbols)
        pairs = zip(self.function.parameters, names, strict=True)
        parameters = ", ".join(f"{ctype} {name}" for ctype, name in pairs) or "void"
        body = self.visit(self.function.definition.body)
        return f"{self.function.result} {self.function.name}({parameters})\n{body.rstrip()}\n"

    def visit_IdentifierType(self, node: Any) -> str:  # noqa: N802 (pycparser's naming)
        return describe(self.scope.resolve(node))

    def visit_Decl(self, node: Any, no_type: bool = False) -> str:  # noqa: N802
        self.scope.declare(node, "local")
        node = copy(node)
        node.storage = []  # C++17 has no `register`
        return str(super().visit_Decl(node, no_type))

    def visit_Compound(self, node: Any) -> str:  # noqa: N802
        return self._within(super().visit_Compound, node)

    def visit_For(self, node: Any) -> str:  # noqa: N802
        if isinstance(node, counting.For):
            return str(self.visit(node.original))
        return self._within(super().visit_For, node)

    def _within(self, visit: Callable[[Any], str], node: Any) -> str:
        """The text of a node that has a scope of its own."""
        outer, self.scope = self.scope, self.scope.child()
        text = str(visit(node))
        self.scope = outer
        return text

    def visit_ID(self, node: Any) -> str:  # noqa: N802
        symbol = self.scope.find(node.name)
        own = isinstance(symbol, Variable) and symbol.place in ("parameter", "local")
        if own and not isinstance(symbol, Enumerator):
            return str(node.name)
        value = self.scope.constant(node)
        return device_name(node.name) if value is None else value.text

    def visit_FuncCall(self, node: Any) -> str:  # noqa: N802
        symbol = self.scope.find(node.name.name)
        given = [self.visit(argument) for argument in (node.args.exprs if node.args else ())]
        if isinstance(symbol, Function) and symbol.definition is not None:
            return f"{device_name(node.name.name)}({', '.join(given)})"
        return _library_text(node.name.name, given)


def _library_text(spelled: str, given: list[str]) -> str:
    """The call of a library function, or a built-in constant, with its C type."""
    if spelled in mathematics.CONSTANTS:
        constant, _ = mathematics.CONSTANTS[spelled]
        return f"(double) {constant}" if spelled in mathematics.DOUBLE_CONSTANTS else constant
    name = mathematics.library_name(spelled)
    if name in mathematics.CLASSIFICATIONS:
        return f"{name}({', '.join(given)})"
    wanted = mathematics.FUNCTIONS[name][1]
    converted = [f"({ctype}) ({text})" for ctype, text in zip(wanted, given, strict=False)]
    return f"{name}({', '.join(converted)})"


def texts(context: FileContext, used: dict[str, UserFunction]) -> tuple[str, ...]:
    """The texts of the functions and of all they call, callees first."""
    order: dict[str, UserFunction] = {}
    for name, function in used.items():
        for called in function.calls:
            inner = user_function(context, called)
            if isinstance(inner, UserFunction):
                order.setdefault(called, inner)
        order.setdefault(name, function)
    return tuple(function_text(context, function) for function in order.values())
