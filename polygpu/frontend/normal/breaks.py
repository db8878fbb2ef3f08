"""`break` at a test of iterators and parameters that, once it holds, holds in all iterations that follow.

for (i = a; i < n; i++) { if (i > m) break; B }
->   for (i = a; i < n && !(i > m); i++) { B }

for (i = a; i < n; i++) { A; if (i > m) break; B }
->   for (i = a; i < n; i++) { if (i == a || !(i - 1 > m)) { A; if (!(i > m)) { B } } }
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import assigned_names, iterator_name
from polygpu.frontend.names.scopes import Scope
from polygpu.frontend.normal.jumps import breaks_out
from polygpu.frontend.normal.trees import (
    block,
    changed,
    declared_names,
    is_free,
    is_loop,
    negated,
    replaced,
    statements,
    used_names,
)


def without_break(items: list[Any], scope: Scope) -> list[Any]:
    """The statements of a block, with `for` loops that have no `break` of their own where that can be."""
    return [_of_loop(item, scope) if isinstance(item, c_ast.For) else item for item in items]


def _of_loop(loop: c_ast.For, scope: Scope) -> Any:
    body = statements(loop.stmt)
    index = next((k for k, item in enumerate(body) if _is_break(item)), None)
    if index is None:
        return loop
    test, before, behind = body[index].cond, body[:index], body[index + 1 :]
    if any(map(_leaves, before)) or not _is_fixed(test, loop):
        return loop
    if not before:
        stays = negated(test)
        both = stays if loop.cond is None else c_ast.BinaryOp("&&", loop.cond, stays, loop.cond.coord)
        return _of_loop(changed(loop, cond=both, stmt=block(behind, loop.stmt.coord)), scope)
    step, start = step_of(loop, scope), _start(loop)
    if not step or start is None or not _lasts(test, iterator_name(loop), step, scope):
        return loop
    return changed(loop, stmt=block([_guarded(loop, test, before, behind, step, start)], loop.stmt.coord))


def _guarded(loop: c_ast.For, test: Any, before: list[Any], behind: list[Any], step: int, start: Any) -> Any:
    coord = test.coord
    iterator = c_ast.ID(iterator_name(loop), coord)
    last = c_ast.BinaryOp("-", iterator, c_ast.Constant("int", str(step), coord), coord)
    if step < 0:
        last = c_ast.BinaryOp("+", iterator, c_ast.Constant("int", str(-step), coord), coord)
    first = c_ast.BinaryOp("==", iterator, start, coord)
    runs = c_ast.BinaryOp("||", first, negated(replaced(test, iterator.name, last)), coord)
    rest = [c_ast.If(negated(test), block(behind, coord), None, coord)] if behind else []
    return c_ast.If(runs, block([*before, *rest], coord), None, coord)


def _is_break(item: Any) -> bool:
    if not isinstance(item, c_ast.If) or item.iffalse is not None:
        return False
    return [type(part) for part in statements(item.iftrue)] == [c_ast.Break]


def _leaves(node: Any) -> bool:
    """Whether an iteration may end within the node."""
    if isinstance(node, c_ast.Break | c_ast.Goto | c_ast.Return):
        return True
    return _goes_on(node) or (not breaks_out(node) and any(map(_leaves, node)))


def _goes_on(node: Any) -> bool:
    return isinstance(node, c_ast.Continue) or (not is_loop(node) and any(map(_goes_on, node)))


def _is_fixed(test: Any, loop: c_ast.For) -> bool:
    """Whether the test is of names alone that the body does not change, nor declares."""
    match test:
        case c_ast.BinaryOp(op="&&" | "||"):
            return _is_fixed(test.left, loop) and _is_fixed(test.right, loop)
        case c_ast.UnaryOp(op="!"):
            return _is_fixed(test.expr, loop)
        case c_ast.BinaryOp(op="<" | "<=" | ">" | ">=" | "==" | "!="):
            free = is_free(test.left) and is_free(test.right)
            own = {*assigned_names(loop.stmt), *declared_names(loop.stmt)}
            return free and own.isdisjoint(used_names(test))
    return False


def _lasts(test: Any, iterator: str, step: int, scope: Scope) -> bool:
    """Whether the test goes on holding once it holds."""
    match test:
        case c_ast.BinaryOp(op="&&" | "||"):
            return _lasts(test.left, iterator, step, scope) and _lasts(test.right, iterator, step, scope)
        case c_ast.BinaryOp(op="<" | "<=" | ">" | ">=" as op):
            left, right = (_factor(side, iterator, scope) for side in (test.left, test.right))
            if left is None or right is None:
                return False
            growing = (left - right) * step
            return growing >= 0 if op in (">", ">=") else growing <= 0
    return False


def _factor(value: Any, iterator: str, scope: Scope) -> int | None:
    """How often the iterator is in a sum, None where that is no constant."""
    match value:
        case c_ast.ID(name=name):
            return int(name == iterator)
        case c_ast.Constant():
            return 0
        case c_ast.UnaryOp(op="-" | "+" as op):
            inner = _factor(value.expr, iterator, scope)
            return -inner if op == "-" and inner is not None else inner
        case c_ast.BinaryOp(op="+" | "-" as op):
            left, right = (_factor(side, iterator, scope) for side in (value.left, value.right))
            if left is None or right is None:
                return None
            return left + right if op == "+" else left - right
        case c_ast.BinaryOp(op="*"):
            for number, other in ((value.left, value.right), (value.right, value.left)):
                if (known := scope.constant(number)) is not None:
                    inner = _factor(other, iterator, scope)
                    return None if inner is None else known.value * inner
    return None


def step_of(loop: c_ast.For, scope: Scope) -> int:
    """What the header adds to the iterator, 0 where it is no constant."""
    match loop.next:
        case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--" as op, expr=c_ast.ID(name=name)):
            amount = 1 if "+" in op else -1
        case c_ast.Assignment(op="+=" | "-=" as op, lvalue=c_ast.ID(name=name)):
            known = scope.constant(loop.next.rvalue)
            amount = 0 if known is None else known.value if op == "+=" else -known.value
        case _:
            return 0
    return amount if name == iterator_name(loop) else 0


def _start(loop: c_ast.For) -> Any:
    """What the iterator starts with, None where the body may change that."""
    match loop.init:
        case c_ast.DeclList(decls=[c_ast.Decl(init=c_ast.Node() as start)]):
            pass
        case c_ast.Assignment(op="=", rvalue=start):
            pass
        case _:
            return None
    names = {iterator_name(loop), *assigned_names(loop.stmt)}
    return start if is_free(start) and names.isdisjoint(used_names(start)) else None
