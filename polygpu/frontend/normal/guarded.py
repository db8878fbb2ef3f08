"""Loops within an `if` whose condition depends on data, as loops around it.

    if (s != 0) for (j = 0; j < m; j++) a[i][j] /= s;
    ->   int test = s != 0; for (j = 0; j < m; j++) if (test) a[i][j] /= s;

The condition is computed once, where it stood. What the header of such a loop computes is computed where the
condition fails, too: it reads no memory and cannot fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.effects import used_outside
from polygpu.frontend.names.liveness import iterator_name
from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import Basic
from polygpu.frontend.normal.jumps import breaks_out
from polygpu.frontend.normal.trees import (
    Names,
    block,
    changed,
    is_free,
    is_place,
    negated,
    statements,
    used_names,
)
from polygpu.frontend.text.nodes import nodes, parts_of
from polygpu.support.dataclass import dataclass

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_JUMPS = (c_ast.Label, c_ast.Goto, c_ast.Return)


def has_guarded_loops(items: Sequence[Any]) -> bool:
    """Whether loops may stand within an `if`, behind a `continue` that does, or in what is called there."""
    found = [node for item in items for node in nodes(item)]
    loops = sum(isinstance(node, c_ast.For) for node in found)
    called = any(isinstance(node, c_ast.FuncCall) for node in found)
    return called or (loops > 1 and any(isinstance(node, c_ast.If) for node in found))


class _InTheWayError(Exception):
    """Something in an `if` has to stay there."""


@dataclass
class Guards:
    """`assigned` is what the region assigns, `trees` are where its iterators may be used, `moved` counts the
    loops that no longer stand within an `if`.
    """

    assigned: frozenset[str]
    names: Names
    trees: tuple[Any, ...]
    moved: int = 0

    def around(self, items: list[Any], scope: Scope) -> list[Any]:
        """The statements of a block with each `if` that holds a loop within it, if data decide there."""
        return [self._of(item, scope) for item in items]

    def _of(self, item: Any, scope: Scope) -> Any:
        if not isinstance(item, c_ast.If) or not _loops(item) or self._is_plain(item.cond):
            return item
        coord, moved = item.cond.coord, self.moved
        test = c_ast.ID(self.names.fresh("test"), coord)
        found = [_number(test.name, _truth(item.cond))]
        try:
            for branch, holds in ((item.iftrue, test), (item.iffalse, negated(test))):
                found += _in_a_scope(self._under(statements(branch), holds, scope.child()))
        except _InTheWayError:
            return item
        return block(found, item.coord) if self.moved > moved else item

    def _is_plain(self, test: Any) -> bool:
        """Whether iterators and parameters alone decide."""
        match test:
            case c_ast.BinaryOp(op="&&" | "||"):
                return self._is_plain(test.left) and self._is_plain(test.right)
            case c_ast.BinaryOp(op=op) if op in _COMPARISONS:
                return self._is_plain(test.left) and self._is_plain(test.right)
            case c_ast.UnaryOp(op="!"):
                return self._is_plain(test.expr)
        return is_free(test) and self.assigned.isdisjoint(used_names(test))

    def _under(self, items: list[Any], test: Any, scope: Scope) -> list[Any]:
        """Statements of which each is carried out where a test holds. Raises _InTheWayError."""
        found: list[Any] = []
        together: list[Any] = []
        for item in items:
            scope.declare(item, "local")
            try:
                alone = self._apart(item, test, scope) if _is_apart(item) else []
            except _InTheWayError:
                if isinstance(item, c_ast.Decl | c_ast.DeclList):
                    raise
                alone = []
            if alone:
                found += [*_if(test, together), *alone]
            together = [] if alone else [*together, item]
        return [*found, *_if(test, together)]

    def _apart(self, item: Any, test: Any, scope: Scope) -> list[Any]:
        match item:
            case c_ast.Compound():
                return [changed(item, block_items=self._under(statements(item), test, scope.child()))]
            case c_ast.DeclList():
                return [part for declared in item.decls for part in self._apart(declared, test, scope)]
            case c_ast.Decl():
                return [self._declared(item, test, scope)]
            case c_ast.If() if self._is_plain(item.cond):
                sides = [statements(item.iftrue), statements(item.iffalse)]
                yes, no = (block(self._under(s, test, scope.child()), item.coord) for s in sides)
                return [changed(item, iftrue=yes, iffalse=no if sides[1] else None)]
            case c_ast.For() if self._may_run(item, scope):
                body = self._under(statements(item.stmt), test, scope.child())
                self.moved += 1
                return [changed(item, stmt=block(body, item.coord))]
        raise _InTheWayError

    def _declared(self, item: c_ast.Decl, test: Any, scope: Scope) -> Any:
        """A declaration whose value is only computed where the test holds, if that makes a difference."""
        if item.init is None:
            return item
        pointer = isinstance(item.type, c_ast.PtrDecl)
        costs_nothing = is_place(item.init) if pointer else is_free(item.init)
        if costs_nothing and self.assigned.isdisjoint(used_names(item.init)):
            return item
        if item.storage or not isinstance(scope.resolve(item.type), Basic):
            raise _InTheWayError
        other = c_ast.Constant("int", "0", item.coord)
        return changed(item, init=c_ast.TernaryOp(test, item.init, other, item.coord))

    def _may_run(self, loop: c_ast.For, scope: Scope) -> bool:
        """Whether to run the loop does nothing but what its body does."""
        name = iterator_name(loop)
        if loop.cond is None or not isinstance(loop.init, c_ast.Assignment | c_ast.DeclList):
            return False
        if not isinstance(loop.init, c_ast.DeclList) and not self._is_own(name, scope):
            return False
        if any(isinstance(n, c_ast.Break | c_ast.Continue | c_ast.Goto) for n in _outer(loop.stmt)):
            return False
        others = set(used_names(block(list(_header(loop)), None))) - {name}
        return all(map(_is_harmless, _header(loop))) and self.assigned.isdisjoint(others)

    def _is_own(self, name: str, scope: Scope) -> bool:
        """Whether a variable of the function is an iterator of loops alone."""
        symbol = scope.find(name)
        local = isinstance(symbol, Variable) and symbol.place in ("local", "parameter")
        return local and not any(used_outside(tree, name) for tree in self.trees)


def _loops(item: Any) -> bool:
    """Whether a loop stands in a statement whose parts may stand alone."""
    if any(isinstance(node, _JUMPS) for node in nodes(item)):
        return False
    return any(isinstance(node, c_ast.For) for node in nodes(item))


def _is_apart(item: Any) -> bool:
    """Whether an item of a block is no statement that goes with others."""
    return isinstance(item, c_ast.Decl | c_ast.DeclList) or _loops(item)


def _outer(body: Any) -> Iterator[Any]:
    """The nodes of a loop's body without those of loops in it."""
    yield body
    for node in body if not breaks_out(body) else ():
        yield from _outer(node)


def _header(loop: c_ast.For) -> Iterator[Any]:
    """What a header computes: where it starts, its test and the step."""
    for part in parts_of(loop.init):
        yield part.init if isinstance(part, c_ast.Decl) else part.rvalue
    yield loop.cond
    step = loop.next
    yield step.rvalue if isinstance(step, c_ast.Assignment) else getattr(step, "expr", step)


def _is_harmless(value: Any) -> bool:
    match value:
        case c_ast.BinaryOp(op=op) if op in (*_COMPARISONS, "&&", "||"):
            return _is_harmless(value.left) and _is_harmless(value.right)
        case c_ast.TernaryOp():
            return all(map(_is_harmless, (value.cond, value.iftrue, value.iffalse)))
        case c_ast.BinaryOp(op="/" | "%", right=c_ast.Constant(type="int", value=number)):
            return not number.startswith("0") and _is_harmless(value.left)
    return value is not None and is_free(value)


def _in_a_scope(items: list[Any]) -> list[Any]:
    """What a branch declares is not seen by the other one."""
    declares = any(isinstance(item, c_ast.Decl) for item in items)
    return [block(items, items[0].coord)] if declares else items


def _if(test: Any, items: list[Any]) -> list[Any]:
    return [c_ast.If(test, block(items, test.coord), None, test.coord)] if items else []


def _truth(test: Any) -> Any:
    """A condition as 0 or 1."""
    match test:
        case c_ast.BinaryOp(op=op) if op in (*_COMPARISONS, "&&", "||"):
            return test
        case c_ast.UnaryOp(op="!"):
            return test
    return c_ast.UnaryOp("!", c_ast.UnaryOp("!", test, test.coord), test.coord)


def _number(name: str, value: Any) -> Any:
    """int name = value;"""
    ctype = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(["int"], value.coord), coord=value.coord)
    return c_ast.Decl(name, [], [], [], [], ctype, value, None, coord=value.coord)
