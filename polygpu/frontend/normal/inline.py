"""Calls of functions of the file as the statements of these.

    upd(&a[i], b[i]);       ->   float *p = &a[i]; float v = b[i]; *p += v;
    o[i] = dot3(a[i], b);   ->   const float *x = a[i]; const float *y = b; o[i] = (float)(x[0] * y[0] + ...);
    acc(&s, a[i]);          ->   float v = a[i]; s += v;

What the function declares gets names that are used nowhere else in the region, so that its statements can
stand among those of the caller.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property, reduce
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import address_taken, assigned_names
from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import Basic, CType, Pointer, Qualified, Vector, complex_part
from polygpu.frontend.normal.callees import RESULT, Callee, callee, is_called_inline
from polygpu.frontend.normal.kinds import pointed, type_of
from polygpu.frontend.normal.nulls import is_null, is_there, with_tests_done
from polygpu.frontend.normal.trees import (
    Names,
    block,
    blocks,
    changed,
    converted,
    declared_names,
    integer,
    is_free,
    is_member,
    is_place,
    mapped,
    negated,
    renamed,
    replaced,
    used_names,
)
from polygpu.frontend.read.functions import FuncCall, Impure, impure_call
from polygpu.frontend.read.state import FileContext
from polygpu.frontend.read.unsupported import refusal
from polygpu.frontend.text.nodes import nodes
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed

MOST_NODES = 25_000  # of what is written into one region: NAS BT's solves have 12,900, of 749 statements


@dataclass
class Inliner:
    """Writes out the calls of a region of `function`; `left` is how much may still be written. What is called
    has `named` these of the file.
    """

    context: FileContext
    names: Names
    function: Any
    left: int = MOST_NODES
    named: set[str] = field(default_factory=set)

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The names that the function declares."""
        return frozenset(declared_names(self.function))

    @cached_property
    def later(self) -> frozenset[str]:
        """Variables of the file that are not declared yet where the function is: it cannot name them."""
        first: dict[str, int] = {}
        for node in self.context.root.ext:
            if isinstance(node, c_ast.Decl) and node.name:
                first.setdefault(node.name, node.coord.line)
        return frozenset(name for name, line in first.items() if line > self.function.decl.coord.line)

    def writes_out(self, node: Any) -> bool:
        """Whether the node is a call that is to be written out."""
        return is_called_inline(self.context, node) and node.name.name not in self.hidden

    def inlined(self, items: list[Any], scope: Scope, active: tuple[str, ...] = ()) -> list[Any]:
        """The statements without calls of such functions. Raises Diagnosed for a call that cannot go."""

        def change(found: list[Any], inner: Scope) -> list[Any]:
            return [part for item in found for part in self._statement(item, inner, active)]

        return blocks(items, scope, change)

    def _statement(self, item: Any, scope: Scope, active: tuple[str, ...]) -> list[Any]:
        before = Before(self, scope, active)
        match item:
            case c_ast.FuncCall() | c_ast.Cast(expr=c_ast.FuncCall()) if self.writes_out(
                call := getattr(item, "expr", item)
            ):
                try:
                    before.call(call, alone=True)
                except Diagnosed as why:
                    return [FuncCall(call, why)]
                return before.items
            case c_ast.Decl() if item.init is not None:
                if item.name in used_names(item.init) and any(map(self.writes_out, nodes(item.init))):
                    raise self._out_of_order(item.init)
                item = changed(item, init=before.value(item.init, alone=True))
            case c_ast.Assignment():
                alone = item.op == "=" and _is_simple(item.lvalue)
                value = before.value(item.rvalue, alone)
                if alone and not assigned_names(block(before.items, None)).isdisjoint(
                    used_names(item.lvalue)
                ):
                    raise self._out_of_order(item.rvalue)
                item = changed(item, lvalue=before.value(item.lvalue), rvalue=value)
            case c_ast.If() | c_ast.Switch():
                item = changed(item, cond=before.value(item.cond, alone=True))
            case c_ast.For():
                item = self._loop(item, before)
            case c_ast.UnaryOp() | c_ast.ExprList() | c_ast.Cast() | c_ast.FuncCall():
                item = before.value(item)
        return [*before.items, item]

    def _loop(self, loop: c_ast.For, before: Before) -> Any:
        for part in (loop.cond, loop.next):
            for node in nodes(part) if part is not None else ():
                if self.writes_out(node):
                    message = (
                        f"'{node.name.name}' is called in the header of a loop, and is no function of numbers"
                    )
                    help_text = "compute the value before the loop, if the loop does not change it"
                    raise refusal("PG130", self.context.at(node), message, help_text, len(node.name.name))
        if loop.init is None:
            return loop
        return changed(loop, init=mapped(loop.init, before.value))

    def _out_of_order(self, node: Any) -> Diagnosed:
        name = node.name.name if isinstance(node, c_ast.FuncCall) else ""
        message = f"'{name}' changes memory within an expression: when it does is not certain"
        help_text = "call it in a statement of its own"
        return refusal("PG130", self.context.at(node), message, help_text, max(len(name), 1))


@dataclass
class Before:
    """The statements that have to run before one that makes calls."""

    inliner: Inliner
    scope: Scope
    active: tuple[str, ...]
    items: list[Any] = field(default_factory=list)

    def value(self, node: Any, alone: bool = False, guards: tuple[Any, ...] = ()) -> Any:
        """An expression without the calls, computed where all `guards` hold. A call may change memory if it
        is `alone` in its statement.
        """
        if self.inliner.writes_out(node):
            return self.call(node, alone, guards)
        match node:
            case c_ast.BinaryOp(op="&&" | "||" as op):
                left = self.value(node.left, guards=guards)
                guard = left if op == "&&" else negated(left)
                return changed(node, left=left, right=self.value(node.right, guards=(*guards, guard)))
            case c_ast.TernaryOp():
                test = self.value(node.cond, guards=guards)
                yes = self.value(node.iftrue, guards=(*guards, test))
                no = self.value(node.iffalse, guards=(*guards, negated(test)))
                return changed(node, cond=test, iftrue=yes, iffalse=no)
            case c_ast.UnaryOp(op="sizeof") | c_ast.Typename():
                return node
        return mapped(node, lambda child: self.value(child, guards=guards))

    def call(self, node: Any, alone: bool, guards: tuple[Any, ...] = ()) -> Any:
        """What stands for the call; its statements are added to `items`."""
        found = self._callee(node)
        if found.stores and (not alone or guards):
            raise self.inliner._out_of_order(node)
        given = [self.value(argument, guards=guards) for argument in (node.args.exprs if node.args else ())]
        inner = replace(self, active=(*self.active, node.name.name), items=[])
        value = inner.entered(found, node, given)
        if not guards or (value is not None and all(map(_is_harmless, inner.items))):
            self.items += inner.items
            return value
        if not _is_number(found.result):
            message = f"'{node.name.name}' is called where a condition holds, and returns no number"
            help_text = "call it in a statement of its own"
            raise refusal("PG130", self.inliner.context.at(node), message, help_text, len(node.name.name))
        test = reduce(lambda a, b: c_ast.BinaryOp("&&", a, b, a.coord), guards)
        result = self._variable(found, node, c_ast.Constant("int", "0", node.coord))
        name = c_ast.ID(result.name, node.coord)
        inner.items.append(c_ast.Assignment("=", name, value, node.coord))
        self.items += [result, c_ast.If(test, block(inner.items, node.coord), None, node.coord)]
        return name

    def _callee(self, node: Any) -> Callee:
        inliner, name = self.inliner, node.name.name
        found = callee(inliner.context, name, self.active)
        if isinstance(found, Callee) and (hidden := sorted(found.outer & inliner.hidden)):
            position = inliner.context.at(found.definition)
            found = Impure(f"'{hidden[0]}' means something else where it is called", position)
        elif isinstance(found, Callee) and (later := sorted(found.outer & inliner.later)):
            position = inliner.context.at(found.definition)
            found = Impure(f"'{later[0]}' is declared behind where it is called", position)
        if isinstance(found, Impure):
            raise impure_call(inliner.context.at(node), name, found)
        count = len(node.args.exprs) if node.args else 0
        if count != len(found.parameters):
            message = f"'{name}' takes {len(found.parameters)} arguments, not {count}"
            raise refusal("PG132", inliner.context.at(node), message, "correct the call", len(name))
        inliner.left -= sum(1 for _ in nodes(found.definition.body))
        if inliner.left < 0:
            reason = Impure("what is called would be too much for one region", inliner.context.at(node))
            raise impure_call(inliner.context.at(node), name, reason)
        inliner.named |= found.outer
        return found

    def entered(self, found: Callee, node: Any, given: list[Any]) -> Any:
        """Adds the statements of the function for these arguments; its value."""
        names = self.inliner.names
        fresh = {name: names.fresh(name) for name in sorted(found.own)}
        result = None
        if not found.is_void and found.value is None:
            result = self._variable(found, node, None)
            fresh[RESULT] = result.name
            self.items.append(result)
        body = renamed(block(found.items, None), fresh).block_items
        value = found.value and renamed(found.value, fresh)
        changing = assigned_names(found.definition.body)
        for parameter, argument in zip(found.parameters, given, strict=True):
            own = self._decayed(renamed(parameter, fresh))
            if (null := self._tested(parameter, argument, changing)) is not False:
                body = [with_tests_done(item, own.name, null) for item in body]
                value = value and with_tests_done(value, own.name, null)
                if null and not any(own.name in used_names(part) for part in (*body, value) if part):
                    continue
            direct = None if parameter.name in changing else self._direct(found, parameter, argument)
            if direct is None:
                self.items.append(_variable_for(own, argument))
            else:
                body = [replaced(item, own.name, direct) for item in body]
                value = value and replaced(value, own.name, direct)
        self.items += self.inliner.inlined([*self.items, *body], self.scope, self.active)[len(self.items) :]
        if result is not None:
            return c_ast.ID(result.name, node.coord)
        if value is None:
            return value
        scope = self.scope.child()
        for item in self.items:
            scope.declare(item, "local")
        value = replace(self, scope=scope).value(value)
        spelled = found.definition.decl.type.type
        return converted(spelled, value, node) if _is_number(found.result) else value

    def _decayed(self, parameter: Any) -> Any:
        """A parameter of an array type that has a name, as a pointer to its elements."""
        ctype, context, words = parameter.type, self.inliner.context, []
        if not isinstance(context.scope.resolve(ctype), Vector):
            return parameter
        known = {node.name: node.type for node in context.root.ext if isinstance(node, c_ast.Typedef)}
        while isinstance(ctype, c_ast.TypeDecl):
            words += ctype.quals
            if (ctype := known.get(ctype.type.names[0])) is None:
                return parameter
        return changed(parameter, type=_declaring(ctype, parameter.name, words))

    def _direct(self, found: Callee, parameter: Any, argument: Any) -> Any:
        """What stands for a parameter wherever it is named; None where it has to be a variable.

        That is a pointer that nothing else changes; the address of a variable of its very type, or of a
        member; a member that is an array; and a number that is named once, or costs nothing, if nothing is
        stored before it is used.
        """
        wanted = self.inliner.context.scope.resolve(parameter.type)
        match wanted, argument:
            case Pointer(target), c_ast.UnaryOp(op="&", expr=c_ast.ID() | c_ast.StructRef() as part):
                if not _is_path(part) or not _is_one(target, type_of(part, self.scope)):
                    return None
                return changed(argument, expr=self._held(part))
            case Pointer(target) | Vector(target), c_ast.ID() if self._stays(argument):
                return argument if _is_one(target, pointed(argument, self.scope)) else None
            case Pointer(target) | Vector(target), c_ast.StructRef() | c_ast.ArrayRef() if is_member(
                argument
            ):
                row = isinstance(type_of(argument, self.scope), Vector) and _is_path(argument)
                same = row and _is_one(target, pointed(argument, self.scope))
                return self._held(argument) if same else None
            case Basic(), _ if found.is_one and (is_free(argument) or found.uses(parameter.name) < 2):
                return converted(parameter.type, argument, argument)
        return None

    def _tested(self, parameter: Any, argument: Any, changing: frozenset[str]) -> Any:
        """The null pointer that a parameter is; None for one that is none, False where that is not known."""
        ctype = self.inliner.context.scope.resolve(parameter.type)
        if parameter.name in changing or not isinstance(ctype, Pointer | Vector):
            return False
        return argument if is_null(argument) else None if is_there(argument, self.scope) else False

    def _stays(self, pointer: c_ast.ID) -> bool:
        """Whether a pointer or an array is not changed by what is called."""
        symbol = self.scope.find(pointer.name)
        if not isinstance(symbol, Variable):
            return False
        if symbol.place == "global":
            return isinstance(symbol.type, Vector)
        return not address_taken(self.inliner.function.body, pointer.name)

    def _held(self, part: Any) -> Any:
        """The lvalue with its subscripts as they are now."""
        match part:
            case c_ast.StructRef():
                return changed(part, name=self._held(part.name))
            case c_ast.ArrayRef(subscript=c_ast.Constant()):
                return changed(part, name=self._held(part.name))
            case c_ast.ArrayRef():
                held = integer(self.inliner.names.fresh("at"), part.subscript)
                self.items.append(held)
                name = c_ast.ID(held.name, part.subscript.coord)
                return changed(part, name=self._held(part.name), subscript=name)
        return part

    def _variable(self, found: Callee, node: Any, initial: Any) -> Any:
        """The declaration of a variable for the value of a call."""
        name = self.inliner.names.fresh(f"{node.name.name}_value")
        spelled = found.definition.decl.type.type
        ctype = renamed(spelled, {node.name.name: name})
        if isinstance(ctype, c_ast.TypeDecl):
            ctype = changed(ctype, quals=[])
        return c_ast.Decl(name, [], [], [], [], ctype, initial, None, coord=node.coord)


def _is_number(ctype: CType) -> bool:
    return isinstance(ctype, Basic) or complex_part(ctype) is not None


def _is_simple(target: Any) -> bool:
    """Whether which object an lvalue names depends on names alone."""
    match target:
        case c_ast.ID():
            return True
        case c_ast.StructRef():
            return _is_simple(target.name) if target.type == "." else isinstance(target.name, c_ast.ID)
        case c_ast.ArrayRef():
            reading = (c_ast.ArrayRef, c_ast.StructRef, c_ast.FuncCall, c_ast.Assignment, c_ast.UnaryOp)
            return _is_simple(target.name) and not any(
                isinstance(n, reading) for n in nodes(target.subscript)
            )
        case c_ast.UnaryOp(op="*"):
            return isinstance(target.expr, c_ast.ID)
    return False


def _is_path(part: Any) -> bool:
    """Whether an lvalue is a variable, or a member of one or of an element, named without data."""
    match part:
        case c_ast.ID():
            return True
        case c_ast.StructRef():
            return _is_path(part.name) if part.type == "." else isinstance(part.name, c_ast.ID)
        case c_ast.ArrayRef():
            return _is_path(part.name) and is_free(part.subscript)
    return False


def _is_one(wanted: CType, given: CType | None) -> bool:
    match wanted, given:
        case Basic(first, _), Basic(second, _):
            return first == second
        case Qualified(first, _), Qualified(second, _):
            return first is second
        case Pointer(first, _), Pointer(second, _):
            return _is_one(first, second)
    return False


def _variable_for(parameter: Any, argument: Any) -> Any:
    """The declaration of the parameter as a variable that has the argument's value."""
    ctype = parameter.type
    if isinstance(ctype, c_ast.ArrayDecl):
        ctype = c_ast.PtrDecl([], ctype.type, ctype.coord)
    return changed(parameter, type=ctype, storage=[], funcspec=[], init=argument)


def _declaring(ctype: Any, name: str, words: list[str]) -> Any:
    """A type as that of a name, whose elements have these qualifiers, too."""
    if isinstance(ctype, c_ast.TypeDecl):
        return changed(ctype, declname=name, quals=[*ctype.quals, *words])
    return changed(ctype, type=_declaring(ctype.type, name, words))


def _is_harmless(item: Any) -> bool:
    """Whether a declaration may stand where its function is not called: it reads no memory."""
    match item:
        case c_ast.Decl(type=c_ast.PtrDecl(), init=value):
            return is_place(value)
        case c_ast.Decl(init=c_ast.Node() as value):
            return is_free(value)
    return False
