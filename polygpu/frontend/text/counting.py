"""`while` loops that count, as the `for` loops that they are.

    while (i < n) { S; i++; }    ->    for (; i < n; i++) { S; }
    while (i < n) a[i++] = x;    ->    for (; i < n; i++) a[i] = x;
    while (n--) { S; }           ->    for (n = n - 1; n != -1; n--) { S; }
    for (i = n; i-- > m;) { S; } ->    for (i = n - 1; i >= m; i--) { S; }

So are `for` loops whose body ends with the step. A `for` stands where the `while` stood.

Others have a counter of their own, whatever they test is a function of: loops over pointers, loops that step
somewhere in their bodies, and `do`.

    for (p = a; p < e; p++) { S; }      ->    for (p = a, long p_at = 0; p < e; p_at++, p++) { S; }
    while (p < e) { S; p++; T; }        ->    for (long p_at = 0; p < e; p_at++) { S; p++; T; }
    do { S; } while (++i < n);          ->    for (long i_at = 0; i < n; i_at++) { S; ++i; }
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

from pycparser import c_ast

from polygpu.frontend.text.nodes import nodes, parts_of
from polygpu.support.dataclass import dataclass

_STEPS = ("p++", "++", "p--", "--")
_NESTED = (c_ast.For, c_ast.While, c_ast.DoWhile)


class For(c_ast.For):  # type: ignore[misc]
    """A loop that counts; `original` is how it is written.

    They differ where a variable wraps around: regions test that theirs do not. One with a counter of its own,
    the `iterator`, counts what `shown` steps over. The first iteration of a `do` is `certain`. One `to_zero`
    ends below 0, where an unsigned variable wraps around.
    """

    __slots__ = ("certain", "iterator", "original", "shown", "to_zero")

    def __init__(self, original: Any, start: Any, test: Any, step: Any, body: Any) -> None:
        super().__init__(start, test, step, body, original.coord)
        self.original = original
        self.iterator = ""
        self.shown = ""
        self.certain = False
        self.to_zero = False


def as_written(loop: Any) -> Any:
    """The loop without a counter that the source does not have."""
    return loop.original if getattr(loop, "iterator", "") else loop


def count(root: Any) -> None:
    """Puts such loops in the places of theirs in a tree, innermost first."""
    names = _Names.of(root)
    for node in reversed(list(nodes(root))):
        for name, child in node.children():
            made = _counting(child)
            counted = _with_counter(child if made is None else made, names)
            if counted is not None:
                _replace(node, name, counted)
            elif made is not None:
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
            return _from_test(loop) or _from_body(loop, start, condition, body)
    return None


def _from_test(loop: Any) -> Any:
    """Of a loop that counts down in its condition: the body has the next value already."""
    match loop.cond:
        case c_ast.UnaryOp(op="p--", expr=c_ast.ID() as name):
            op, last = "!=", c_ast.UnaryOp("-", _one(loop), loop.coord)
        case c_ast.BinaryOp(op=">", left=c_ast.UnaryOp(op="p--", expr=c_ast.ID() as name), right=last):
            op = ">="
        case _:
            return None
    changes = _changes(loop.stmt, name.name) or _declares(loop.stmt, name.name) or _names(last, name.name)
    if changes or not isinstance(last, c_ast.ID | c_ast.Constant | c_ast.UnaryOp):
        return None
    if isinstance(last, c_ast.ID) and (_changes(loop.stmt, last.name) or _declares(loop.stmt, last.name)):
        return None
    start = _one_before(loop, name)
    test = c_ast.BinaryOp(op, name, last, loop.cond.coord)
    made = start and For(loop, start, test, c_ast.UnaryOp("p--", name, name.coord), loop.stmt)
    if made:
        made.to_zero = op == ">=" and getattr(last, "value", "") == "0"
    return made


def _one_before(loop: Any, name: c_ast.ID) -> Any:
    """What a loop that counts down in its condition starts with; None for more than that."""
    match getattr(loop, "init", None):
        case None:
            return c_ast.Assignment("=", name, c_ast.BinaryOp("-", name, _one(loop), name.coord), loop.coord)
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=found), rvalue=value) if found == name.name:
            return c_ast.Assignment("=", name, c_ast.BinaryOp("-", value, _one(loop), name.coord), loop.coord)
        case c_ast.DeclList(decls=[c_ast.Decl(name=found, init=value) as declared]) if (
            found == name.name and value is not None
        ):
            made = copy(declared)
            made.init = c_ast.BinaryOp("-", value, _one(loop), name.coord)
            return c_ast.DeclList([made], loop.init.coord)
    return None


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


@dataclass(frozen=True)
class _Names:
    """The names of a file, those that it declares as pointers, and those that it declares as no pointers."""

    every: frozenset[str]
    pointers: frozenset[str]
    others: frozenset[str]

    @staticmethod
    def of(root: Any) -> _Names:
        every = frozenset(n for node in nodes(root) if isinstance(n := getattr(node, "name", None), str))
        declared = [node for node in nodes(root) if isinstance(node, c_ast.Decl) and node.name]
        pointers = [d.name for d in declared if isinstance(d.type, c_ast.PtrDecl | c_ast.ArrayDecl)]
        others = [d.name for d in declared if isinstance(d.type, c_ast.TypeDecl)]
        return _Names(every, frozenset(pointers), frozenset(others))


def _with_counter(loop: Any, names: _Names) -> Any:
    """A loop with a counter of its own, where it has a variable that it steps over and tests."""
    match loop:
        case c_ast.For(cond=test, next=step, stmt=body) if test is not None and step is not None:
            name = next((n for n in map(_stepped, parts_of(step)) if n and _names(test, n)), "")
            if name not in names.pointers or (name in names.others and not _points(loop, name)):
                return None
        case c_ast.While(cond=test, stmt=body):
            name, step = _stepped_within(test, body), None
        case c_ast.DoWhile(cond=test, stmt=body):
            return _from_do(loop, names)
        case _:
            return None
    return _counted(loop, getattr(loop, "init", None), test, step, body, name, names)


def _counted(loop: Any, start: Any, test: Any, step: Any, body: Any, name: str, names: _Names) -> For | None:
    if not name or _changes(test, "") or any(isinstance(n, c_ast.Assignment) for n in nodes(test)):
        return None
    counter = f"{name}_at"
    while counter in names.every:
        counter += "_at"
    index = c_ast.ID(counter, loop.coord)
    declared = c_ast.TypeDecl(counter, [], None, c_ast.IdentifierType(["long"], loop.coord))
    first = c_ast.Decl(counter, [], [], [], [], declared, c_ast.Constant("int", "0"), None, loop.coord)
    parts = [*parts_of(start), first]
    declares = all(isinstance(part, c_ast.Decl) for part in parts)
    steps = [c_ast.UnaryOp("p++", index, loop.coord), *parts_of(step)]
    start = c_ast.DeclList(parts, loop.coord) if declares else c_ast.ExprList(parts, loop.coord)
    made = For(getattr(loop, "original", loop), start, test, c_ast.ExprList(steps, loop.coord), body)
    made.iterator, made.shown = counter, name
    return made


def _from_do(loop: c_ast.DoWhile, names: _Names) -> For | None:
    items = list(loop.stmt.block_items or ()) if isinstance(loop.stmt, c_ast.Compound) else [loop.stmt]
    if any(map(_continues, items)):
        return None
    _step_in_body(loop, items)
    declared = {item.name for item in items if isinstance(item, c_ast.Decl)}
    if any(_names(loop.cond, inner) for inner in declared):
        return None
    made = _counted(loop, None, loop.cond, None, loop.stmt, _stepped_within(loop.cond, loop.stmt), names)
    if made is not None:
        made.certain = True
    return made


def _step_in_body(loop: c_ast.DoWhile, items: list[Any]) -> None:
    """Has the body of a `do` step at its end what the condition steps first."""
    for found in nodes(loop.cond):
        if isinstance(found, c_ast.UnaryOp) and found.op in ("++", "--") and found in _certain(loop.cond):
            loop.cond = _without_step(loop.cond, found)
            loop.stmt = c_ast.Compound([*items, found], loop.stmt.coord)
            return


def _stepped(part: Any) -> str:
    """The variable that is stepped; "" for none."""
    return _step(part)[0] if not isinstance(part, c_ast.Decl) else ""


def _stepped_within(test: Any, body: Any) -> str:
    """A variable of the test that the body steps."""
    stepped = (_step(node)[0] for node in nodes(body) if _step(node)[1] is not None)
    return next((name for name in stepped if _names(test, name) and not _declares(body, name)), "")


def _points(loop: Any, name: str) -> bool:
    """Whether the variable is used as a pointer."""
    for node in nodes(loop):
        match node:
            case c_ast.UnaryOp(op="*", expr=c_ast.ID(name=found)) if found == name:
                return True
            case c_ast.UnaryOp(op="*", expr=c_ast.UnaryOp(op=op, expr=c_ast.ID(name=found))) if (
                found == name and op in _STEPS
            ):
                return True
            case c_ast.StructRef(type="->", name=c_ast.ID(name=found)) if found == name:
                return True
    return False


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
    """Whether a tree assigns to the variable, to any if it has no name, or takes its address."""
    for node in nodes(tree):
        match node:
            case c_ast.Assignment(lvalue=c_ast.ID(name=found)) if found == (name or found):
                return True
            case c_ast.UnaryOp(op=op, expr=c_ast.ID(name=found)) if found == (name or found) and op in (
                *_STEPS,
                "&",
            ):
                return True
    return False


def _declares(tree: Any, name: str) -> bool:
    return any(isinstance(node, c_ast.Decl) and node.name == name for node in nodes(tree))


def _continues(tree: Any) -> bool:
    """Whether there is a `continue` of the loop around the tree, or a label behind which it may go on."""
    if isinstance(tree, c_ast.Continue | c_ast.Goto | c_ast.Label):
        return True
    return not isinstance(tree, _NESTED) and any(map(_continues, tree))
