"""Trees rebuilt, renamed and searched; none is changed in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import field
from functools import cache
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.scopes import Scope
from polygpu.frontend.text.nodes import nodes
from polygpu.support.dataclass import dataclass

# (the statements of a block, the scope at its end) -> what stands for them
Change = Callable[[list[Any], Scope], list[Any]]
_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)


def mapped(node: Any, change: Callable[[Any], Any]) -> Any:
    """`node` with `change` of its children; itself where that changes none.

    Some nodes have what they were made of, too.
    """
    made = None
    for name in _fields(node.__class__):
        old = getattr(node, name)
        if isinstance(old, c_ast.Node):
            new = change(old)
        elif isinstance(old, list) and any(isinstance(part, c_ast.Node) for part in old):
            parts = [change(part) if isinstance(part, c_ast.Node) else part for part in old]
            new = old if _same(old, parts) else parts
        else:
            continue
        if new is not old:
            made = made or copy(node)
            setattr(made, name, new)
    return made or node


@cache
def _fields(kind: type) -> tuple[str, ...]:
    slots = (slot for base in kind.__mro__ for slot in getattr(base, "__slots__", ()))
    return tuple(slot for slot in slots if slot not in ("coord", "__weakref__"))


def _same(old: Sequence[Any], new: Sequence[Any]) -> bool:
    return len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True))


def changed(node: Any, **parts: Any) -> Any:
    """A copy of the node with other parts; itself where they are its own."""
    if all(getattr(node, name) is part for name, part in parts.items()):
        return node
    made = copy(node)
    for name, part in parts.items():
        setattr(made, name, part)
    return made


def blocks(items: Sequence[Any], scope: Scope, change: Change) -> list[Any]:
    """`change` of each sequence of statements within `items`, innermost first, and of `items`."""
    inner = scope.child()
    found = []
    for item in items:
        inner.declare(item, "local")
        found.append(_within(item, inner, change))
    return change(found, inner)


def _within(node: Any, scope: Scope, change: Change) -> Any:
    match node:
        case c_ast.Compound():
            old = node.block_items or []
            new = blocks(old, scope, change)
            return node if _same(old, new) else changed(node, block_items=new)
        case c_ast.Case() | c_ast.Default():
            old = node.stmts or []
            new = blocks(old, scope, change)
            return node if _same(old, new) else changed(node, stmts=new)
        case c_ast.If():
            parts = {name: _body(getattr(node, name), scope, change) for name in ("iftrue", "iffalse")}
            return changed(node, **parts)
        case c_ast.For():
            inner = scope.child()
            for declaration in node.init.decls if isinstance(node.init, c_ast.DeclList) else ():
                inner.declare(declaration, "local")
            made = changed(node, stmt=_body(node.stmt, inner, change))
            if not getattr(node, "iterator", ""):
                return made
            return changed(made, original=_within(node.original, scope, change))  # which may be read instead
        case c_ast.While() | c_ast.DoWhile() | c_ast.Switch() | c_ast.Label():
            return changed(node, stmt=_body(node.stmt, scope, change))
    return node


def _body(node: Any, scope: Scope, change: Change) -> Any:
    """The statement of an `if` or a loop, which is a block where several stand for it."""
    if node is None or isinstance(node, c_ast.Compound):
        return node and _within(node, scope, change)
    new = blocks([node], scope, change)
    return new[0] if len(new) == 1 and not isinstance(new[0], c_ast.Decl) else block(new, node.coord)


def block(items: Sequence[Any], coord: Any) -> Any:
    return c_ast.Compound(list(items), coord)


def statements(node: Any) -> list[Any]:
    """The statements of a block, or of what stands in place of one."""
    if isinstance(node, c_ast.Compound):
        return list(node.block_items or ())
    return [] if node is None or isinstance(node, c_ast.EmptyStatement) else [node]


def declared_names(tree: Any) -> Iterator[str]:
    """The names of variables, types and enumerators that the tree declares."""
    for node in nodes(tree):
        match node:
            case c_ast.Decl() | c_ast.Typedef() | c_ast.Enumerator() if node.name:
                yield node.name
            case c_ast.Struct(decls=inside) | c_ast.Union(decls=inside) if inside is not None and node.name:
                yield node.name
            case c_ast.Enum(values=inside) if inside is not None and node.name:
                yield node.name


def used_names(tree: Any) -> Iterator[str]:
    """All names in the tree: of variables, functions and types."""
    for node in nodes(tree):
        match node:
            case c_ast.ID() | c_ast.Struct() | c_ast.Union() | c_ast.Enum() if node.name:
                yield node.name
            case c_ast.IdentifierType(names=names):
                yield from names


def free_names(trees: Iterable[Any], bound: frozenset[str] = frozenset()) -> Iterator[str]:
    """Names of variables and functions that a sequence of nodes uses and does not declare before."""
    for node in trees:
        match node:
            case c_ast.ID(name=name):
                if name not in bound:
                    yield name
                continue
            case c_ast.StructRef():
                yield from free_names([node.name], bound)
                continue
        yield from free_names(list(node), bound)
        if isinstance(node, c_ast.Decl) and node.name:
            bound |= {node.name}
        elif isinstance(node, c_ast.DeclList):
            bound |= {declaration.name for declaration in node.decls}


def renamed(tree: Any, names: Mapping[str, str]) -> Any:
    """The tree with other names of variables, in their declarations too; members keep theirs."""

    def change(node: Any) -> Any:
        match node:
            case c_ast.ID(name=name):
                return changed(node, name=names[name]) if name in names else node
            case c_ast.StructRef():
                return changed(node, name=change(node.name))
            case c_ast.NamedInitializer():
                return changed(node, expr=change(node.expr))
            case c_ast.Decl(name=name) if name in names:
                node = changed(node, name=names[name])
            case c_ast.TypeDecl(declname=name) if name in names:
                node = changed(node, declname=names[name])
            case c_ast.For() if counter := names.get(getattr(node, "iterator", "")):
                node = changed(node, iterator=counter)
        return mapped(node, change)

    return change(tree)


def negated(test: Any) -> Any:
    """The opposite of a condition, with `!` where that is innermost: what guards a part still does."""
    match test:
        case c_ast.UnaryOp(op="!", expr=operand):
            return operand
        case c_ast.BinaryOp(op="&&" | "||" as op, left=left, right=right):
            return c_ast.BinaryOp("||" if op == "&&" else "&&", negated(left), negated(right), test.coord)
        case c_ast.ExprList(exprs=[inner]):
            return negated(inner)
    return c_ast.UnaryOp("!", test, test.coord)


def choice(node: Any, then: Sequence[Any], otherwise: Sequence[Any]) -> list[Any]:
    """The `if` at a node with other branches, nothing where they are empty."""
    if not then and not otherwise and not has_effects(node.cond):
        return []
    if not then:
        return [c_ast.If(negated(node.cond), block(otherwise, node.coord), None, node.coord)]
    no = block(otherwise, node.coord) if otherwise else None
    return [c_ast.If(node.cond, block(then, node.coord), no, node.coord)]


def has_effects(value: Any) -> bool:
    """Whether to compute the expression twice, or never, may differ from computing it once."""
    return assigns(value) or any(isinstance(node, c_ast.FuncCall) for node in nodes(value))


def assigns(value: Any) -> bool:
    """Whether the expression changes a variable itself, other than by a call."""
    steps = ("p++", "p--", "++", "--")
    return any(
        isinstance(node, c_ast.Assignment) or (isinstance(node, c_ast.UnaryOp) and node.op in steps)
        for node in nodes(value)
    )


def converted(spelled: Any, value: Any, node: Any) -> Any:
    """The value in the type of a declaration, to which arguments and `return` convert theirs."""
    ctype = c_ast.TypeDecl(None, [], None, spelled.type, coord=node.coord)
    return c_ast.Cast(c_ast.Typename(None, [], None, ctype, coord=node.coord), value, node.coord)


def integer(name: str, value: Any) -> Any:
    """long name = value;"""
    ctype = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(["long"], value.coord), coord=value.coord)
    return c_ast.Decl(name, [], [], [], [], ctype, value, None, coord=value.coord)


def is_free(value: Any) -> bool:
    """Whether to compute the value reads no memory and cannot fail: of names, constants and sums."""
    match value:
        case c_ast.ID() | c_ast.Constant():
            return True
        case c_ast.BinaryOp(op="+" | "-" | "*"):
            return is_free(value.left) and is_free(value.right)
        case c_ast.UnaryOp(op="-" | "+" | "!" | "~"):
            return is_free(value.expr)
        case c_ast.Cast():
            return is_free(value.expr)
    return False


def is_place(pointer: Any) -> bool:
    """Whether a pointer is made of an array, or a row of one, without data."""
    match pointer:
        case c_ast.ID():
            return True
        case c_ast.UnaryOp(op="&", expr=inner) | c_ast.Cast(expr=inner):
            return is_place(inner)
        case (
            c_ast.ArrayRef(name=whole, subscript=offset)
            | c_ast.BinaryOp(op="+" | "-", left=whole, right=offset)
        ):
            return is_place(whole) and is_free(offset)
    return False


def is_member(whole: Any) -> bool:
    """Whether an lvalue is a member, or an element or a row of one."""
    while isinstance(whole, c_ast.ArrayRef):
        whole = whole.name
    return isinstance(whole, c_ast.StructRef)


def copied(node: Any) -> Any:
    """A tree of other nodes that is the same: what is said of a node is said of one place."""
    made = mapped(node, copied)
    return copy(node) if made is node else made


def replaced(tree: Any, name: str, value: Any) -> Any:
    """The tree with a value for a name, a copy at each place; `*name` is x where that is `&x`."""
    whole = value.expr if isinstance(value, c_ast.UnaryOp) and value.op == "&" else None

    def change(node: Any) -> Any:
        match node:
            case c_ast.UnaryOp(op="*", expr=c_ast.ID(name=found)) if whole is not None and found == name:
                return copied(whole)
            case c_ast.ArrayRef(name=c_ast.ID(name=found), subscript=c_ast.Constant(value="0")) if (
                whole is not None and found == name
            ):
                return copied(whole)
            case c_ast.StructRef(type="->", name=c_ast.ID(name=found)) if whole is not None and found == name:
                return c_ast.StructRef(copied(whole), ".", node.field, node.coord)
            case c_ast.StructRef():
                return changed(node, name=change(node.name))
            case c_ast.ID(name=found) if found == name:
                return copied(value)
        return mapped(node, change)

    return change(tree)


@dataclass
class Names:
    """Names that are taken. What a form declares has other ones; how the source has these is `spelled`."""

    taken: set[str]
    spelled: dict[str, str] = field(default_factory=dict)

    def fresh(self, name: str) -> str:
        """`name`, or `name_2` and so on."""
        found, count = name, 1
        while found in self.taken:
            count += 1
            found = f"{name}_{count}"
        self.taken.add(found)
        if found != name:
            self.spelled[found] = self.spelled.get(name, name)
        return found

    def take(self, names: Iterable[str]) -> None:
        self.taken |= set(names)


def is_loop(node: Any) -> bool:
    return isinstance(node, _LOOPS)
