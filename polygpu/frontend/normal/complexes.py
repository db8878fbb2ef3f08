"""Statements on complex numbers as statements on pairs of real ones.

    double _Complex t = x * w[i];   ->   double t_re = x * w[i].re; double t_im = x * w[i].im;
    z[i] += t + 1.0;                ->   { z[i].re += t_re + 1.0; z[i].im += t_im; }

To a region, complex numbers in memory are structures of `re` and `im`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Scope
from polygpu.frontend.names.types import complex_part, has_complex_parts
from polygpu.frontend.normal.kinds import type_of
from polygpu.frontend.normal.pairs import Pair, Values, declared, member, real
from polygpu.frontend.normal.trees import (
    Names,
    assigns,
    block,
    blocks,
    changed,
    declared_names,
    mapped,
    used_names,
)
from polygpu.frontend.read.state import FileContext
from polygpu.frontend.read.unsupported import refusal
from polygpu.frontend.text.nodes import nodes, remembered
from polygpu.support.dataclass import dataclass


@remembered
def has_complex(root: Any) -> bool:
    """Whether the file names a complex type."""
    found = (node for node in nodes(root) if isinstance(node, c_ast.IdentifierType))
    return any("_Complex" in node.names for node in found)


def without_complex(items: Sequence[Any], context: FileContext, scope: Scope, names: Names) -> list[Any]:
    """The statements of a region, with pairs of real numbers. Raises Diagnosed.

    What the region itself declares stays one variable: it may be used behind it.
    """
    once = Counter(name for item in items for name in declared_names(item))
    found: list[Any] = []
    inner = scope.child()
    for item in items:
        inner.declare(item, "local")
        made = [item]
        if not isinstance(item, c_ast.Decl):
            made = blocks([item], inner, lambda part, at: _Statements(context, at, names, once).of(part))
        found += made if made != [item] else _Statements(context, inner, names, Counter()).of([item])
    return found


@dataclass(frozen=True)
class _Statements:
    """Rewrites the statements of a block, at whose end `scope` holds. `counts` are declarations by name."""

    context: FileContext
    scope: Scope
    names: Names
    counts: Mapping[str, int]

    def of(self, items: Sequence[Any]) -> list[Any]:
        new = [part for item in items for part in self._statement(item)]
        for item in items:
            if isinstance(item, c_ast.Decl) and self._splits(item, new):
                new = self._split(item, new)
        return new

    def _statement(self, item: Any) -> list[Any]:
        before: list[Any] = []
        values = Values(self.context, self.scope, self.names, before)
        match item:
            case c_ast.Decl():
                return self._declaration(item, values)
            case c_ast.Assignment():
                steps: list[Any] = []
                names = Counter(used_names(item))
                made = self._assignment(self._without_steps(item, names, steps), values)
                return [block([*made, *steps], item.coord)] if steps else made
            case c_ast.If() | c_ast.Switch():
                test = values.test(item.cond)
                return [*before, changed(item, cond=test)]
            case c_ast.While() | c_ast.DoWhile():
                return [changed(item, cond=values.again().test(item.cond))]
            case c_ast.For():
                return [self._loop(item, values.again())]
            case c_ast.Compound() | c_ast.Label() | c_ast.EmptyStatement() | c_ast.Pragma():
                return [item]
        made = values.within(item)
        return [*before, made]

    def _loop(self, loop: c_ast.For, values: Values) -> Any:
        for part in (loop.init, loop.next):
            for node in nodes(part) if part is not None else ():
                left = node if isinstance(node, c_ast.Decl) else getattr(node, "lvalue", None)
                ctype = self.scope.resolve(left.type) if left is node else left and type_of(left, self.scope)
                if ctype is not None and complex_part(ctype):
                    message = "a complex number is set in the header of a loop"
                    raise refusal("PG140", self.context.at(node), message, "set it in the loop's body")
        made = loop if loop.cond is None else changed(loop, cond=values.test(loop.cond))
        if not getattr(loop, "iterator", ""):
            return made
        return changed(made, original=self._statement(loop.original)[0])

    def _declaration(self, item: c_ast.Decl, values: Values) -> list[Any]:
        ctype = self.scope.resolve(item.type)
        part = complex_part(ctype)
        if item.init is None or isinstance(item.init, c_ast.InitList) or item.storage:
            if item.init is not None and has_complex_parts(ctype):
                message = f"'{item.name}' has complex numbers, which a list in a region gives values"
                raise refusal(
                    "PG140", self.context.at(item), message, "assign them one by one", len(item.name)
                )
            return [item]
        if part is None:
            value = real(values.of(item.init))
            return [*values.before_or_none, changed(item, init=value)]
        value = values.converted(values.of(item.init), part, item)
        whole = c_ast.ID(item.name, item.coord)
        stores = [_set(whole, name, "=", getattr(value, name), item) for name in ("re", "im")]
        return [changed(item, init=None), *values.before_or_none, *stores]

    def _assignment(self, item: c_ast.Assignment, values: Values) -> list[Any]:
        part = complex_part(type_of(item.lvalue, self.scope))
        target, value = values.within(item.lvalue), values.of(item.rvalue)
        if part is None:
            made = [self._of_real(item, target, value, values)]
        else:
            if assigns(item.lvalue):
                message = "a pointer to complex numbers is moved within an expression"
                raise refusal("PG140", self.context.at(item), message, "move it in a statement of its own")
            made = self._of_pair(item, target, part, value, values)
        before = values.before_or_none
        return [block([*before, *made], item.coord)] if len(before) + len(made) > 1 else made

    def _without_steps(self, node: Any, names: Mapping[str, int], steps: list[Any]) -> Any:
        """`*p` for the complex number `*p++`; adds `p++` to what is done after the statement."""
        match node:
            case c_ast.UnaryOp(
                op="*", expr=c_ast.UnaryOp(op="p++" | "p--", expr=c_ast.ID(name=name)) as step
            ):
                if names[name] == 1 and complex_part(type_of(c_ast.UnaryOp("*", step.expr), self.scope)):
                    steps.append(step)
                    return changed(node, expr=step.expr)
            case c_ast.TernaryOp() | c_ast.BinaryOp(op="&&" | "||"):
                return node
        return mapped(node, lambda child: self._without_steps(child, names, steps))

    def _of_real(self, item: c_ast.Assignment, target: Any, value: Any, values: Values) -> Any:
        """`x *= z` is x = x * z without the imaginary part of that."""
        if isinstance(value, Pair) and item.op == "/=":
            raise values.divided(item)
        return changed(item, lvalue=target, rvalue=real(value))

    def _of_pair(
        self, item: c_ast.Assignment, target: Any, part: str, value: Any, values: Values
    ) -> list[Any]:
        op = item.op[:-1]
        own = Pair(member(target, "re"), member(target, "im"), part)
        if op in ("+", "-") and not isinstance(value, Pair):
            return [_set(target, "re", item.op, value, item)]
        if op in ("*", "/") and not isinstance(value, Pair):
            value = values.once(value)
            return [_set(target, name, item.op, value, item) for name in ("re", "im")]
        if op and op not in ("+", "-"):
            value = values.operation(item, op, own, value)
        if not op or op in ("*", "/"):
            op, value = "", values.converted(value, part, item)
        value = values.held(value)
        return [_set(target, name, f"{op}=", getattr(value, name), item) for name in ("re", "im")]

    def _splits(self, item: c_ast.Decl, new: Sequence[Any]) -> bool:
        """Whether a variable is only named by its parts, and nothing else has its name."""
        part = complex_part(self.scope.resolve(item.type))
        alone = self.counts.get(item.name) == 1 and not item.storage
        return bool(part and alone) and not any(_is_whole(other, item.name) for other in new)

    def _split(self, item: c_ast.Decl, new: Sequence[Any]) -> list[Any]:
        part = complex_part(self.scope.resolve(item.type))
        assert part is not None
        spelled = {name: self.names.fresh(f"{item.name}_{name}") for name in ("re", "im")}
        found: list[Any] = []
        for other in new:
            if isinstance(other, c_ast.Decl) and other.name == item.name:
                found += [declared(name, part, None, item) for name in spelled.values()]
            else:
                found.append(_with_parts(other, item.name, spelled))
        return found


def _set(target: Any, name: str, op: str, value: Any, node: Any) -> c_ast.Assignment:
    return c_ast.Assignment(op, member(target, name), value, node.coord)


def _is_whole(node: Any, name: str) -> bool:
    """Whether a variable is named other than by its parts."""
    match node:
        case c_ast.StructRef(name=c_ast.ID(name=found), type=".") if found == name:
            return False
        case c_ast.StructRef():
            return _is_whole(node.name, name)
        case c_ast.ID(name=found):
            return bool(found == name)
    return any(_is_whole(child, name) for child in node)


def _with_parts(node: Any, name: str, spelled: Mapping[str, str]) -> Any:
    match node:
        case c_ast.StructRef(name=c_ast.ID(name=found), type=".", field=c_ast.ID(name=part)) if found == name:
            return c_ast.ID(spelled[part], node.coord)
    return mapped(node, lambda child: _with_parts(child, name, spelled))
