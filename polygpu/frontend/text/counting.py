"""`while` loops that count, as the `for` loops that they are.

    while (i < n) { S; i++; }    ->    for (; i < n; i++) { S; }
    while (i < n) a[i++] = x;    ->    for (; i < n; i++) a[i] = x;
    while (n--) { S; }           ->    for (n = n - 1; n != -1; n--) { S; }

So are `for` loops whose body ends with the step. A `for` stands where the `while` stood.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

from pycparser import c_ast

from polygpu.frontend.text.nodes import nodes

_STEPS = ("p++", "++", "p--", "--")
_NESTED = (c_ast.For, c_ast.While, c_ast.DoWhile)


class For(c_ast.For):  # type: ignore[misc]
    """A loop that counts; `original` is how it is written.

    They differ where a variable wraps around: regions test that theirs do not.
    """

    __slots__ = ("original",)

    def __init__(self, original: Any, start: Any, test: Any, step: Any, body: Any) -> None:
        super().__init__(start, test, step, body, original.coord)
        self.original = original


def count(root: Any) -> None:
    """Puts such loops in the places of theirs in a tree, innermost first."""
    for node in reversed(list(nodes(root))):
        for name, child in node.children():
            made = _counting(child)
            if made is not None:
                _replace(node, name, made)


def _replace(parent: Any, name: str, new: Any) -> None:
    """Puts another node in place of a child, by its name in `children`."""
    if "[" not in name:
        setattr(parent, name, new)
        return
    attribute, index = name[:-1].split("[")
    getattr(parent, attribute)[int(index)] = new


def _counting(loop: Any) -> Any:
    match loop:
        case c_ast.While(cond=condition, stmt=body):
            return _from_test(loop) or _from_body(loop, None, condition, body)
        case c_ast.For(init=start, cond=condition, next=None, stmt=body) if condition is not None:
            return _from_body(loop, start, condition, body)
    return None


def _from_test(loop: c_ast.While) -> Any:
    """Of a loop that counts down in its condition: the body has the next value already."""
    match loop.cond:
        case c_ast.UnaryOp(op="p--", expr=c_ast.ID() as name):
            op, last = "!=", c_ast.UnaryOp("-", _one(loop), loop.coord)
        case c_ast.BinaryOp(
            op=">", left=c_ast.UnaryOp(op="p--", expr=c_ast.ID() as name), right=c_ast.Constant(value="0")
        ):
            op, last = ">=", c_ast.Constant("int", "0", loop.coord)
        case _:
            return None
    if _changes(loop.stmt, name.name) or _declares(loop.stmt, name.name):
        return None
    start = c_ast.Assignment("=", name, c_ast.BinaryOp("-", name, _one(loop), name.coord), loop.coord)
    test = c_ast.BinaryOp(op, name, last, loop.cond.coord)
    return For(loop, start, test, c_ast.UnaryOp("p--", name, name.coord), loop.stmt)


def _one(loop: Any) -> Any:
    return c_ast.Constant("int", "1", loop.coord)


def _from_body(loop: Any, start: Any, condition: Any, body: Any) -> Any:
    """Of a loop whose body ends with the step of a variable that the condition tests."""
    items = list(body.block_items or ()) if isinstance(body, c_ast.Compound) else [body]
    if not items or any(map(_continues, items)):
        return None
    *others, last = items
    name, step = _step(last)
    kept = others
    if step is None:
        name, step = _step_within(last)
        kept = items
    if step is None or not kept or not _names(condition, name) or _changes(condition, name):
        return None
    if any(_changes(item, name) or _declares(item, name) for item in others):
        return None
    if any(_names(step, item.name) for item in others if isinstance(item, c_ast.Decl)):
        return None  # it is read where the header knows no such variable
    if kept is items:
        kept = [*others, _without_step(last, step)]
    return For(loop, start, condition, step, c_ast.Compound(kept, body.coord))


def _step(node: Any) -> tuple[str, Any]:
    """The variable that a statement changes, and the statement; None if it does something else."""
    match node:
        case c_ast.UnaryOp(op=op, expr=c_ast.ID(name=name)) if op in _STEPS:
            return str(name), node
        case c_ast.Assignment(op="+=" | "-=", lvalue=c_ast.ID(name=name), rvalue=value):
            return (str(name), None) if _names(value, name) else (str(name), node)
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=c_ast.BinaryOp()):
            return str(name), node
    return "", None


def _step_within(node: Any) -> tuple[str, Any]:
    """The one `i++` in an assignment that names the variable nowhere else."""
    if not isinstance(node, c_ast.Assignment):
        return "", None
    for found in nodes(node):
        match found:
            case c_ast.UnaryOp(op="p++" | "p--", expr=c_ast.ID(name=name)):
                mentions = [other for other in nodes(node) if isinstance(other, c_ast.ID)]
                once = sum(other.name == name for other in mentions) == 1
                if once and found in _certain(node):
                    return str(name), found
    return "", None


def _certain(node: Any) -> Iterator[Any]:
    """The parts of an expression that are computed whenever it is."""
    yield node
    match node:
        case c_ast.BinaryOp(op="&&" | "||", left=left):
            yield from _certain(left)
        case c_ast.TernaryOp(cond=test):
            yield from _certain(test)
        case _:
            for part in node:
                yield from _certain(part)


def _without_step(tree: Any, step: Any) -> Any:
    """A copy of the tree with the variable in place of its step."""
    if tree is step:
        return step.expr
    made = copy(tree)
    for name, child in tree.children():
        if "[" in name:
            attribute = name.split("[")[0]
            setattr(made, attribute, [_without_step(part, step) for part in getattr(tree, attribute)])
        else:
            setattr(made, name, _without_step(child, step))
    return made


def _names(tree: Any, name: str) -> bool:
    return any(isinstance(node, c_ast.ID) and node.name == name for node in nodes(tree))


def _changes(tree: Any, name: str) -> bool:
    """Whether a tree assigns to the variable or takes its address."""
    for node in nodes(tree):
        match node:
            case c_ast.Assignment(lvalue=c_ast.ID(name=found)) if found == name:
                return True
            case c_ast.UnaryOp(op=op, expr=c_ast.ID(name=found)) if found == name and op in (*_STEPS, "&"):
                return True
    return False


def _declares(tree: Any, name: str) -> bool:
    return any(isinstance(node, c_ast.Decl) and node.name == name for node in nodes(tree))


def _continues(tree: Any) -> bool:
    """Whether there is a `continue` of the loop around the tree, or a label behind which it may go on."""
    if isinstance(tree, c_ast.Continue | c_ast.Goto | c_ast.Label):
        return True
    return not isinstance(tree, _NESTED) and any(map(_continues, tree))
