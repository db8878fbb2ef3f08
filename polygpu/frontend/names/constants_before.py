"""Constants that the variables of a function hold where a region of it starts, or some of which they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import field, replace
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.constants import Constant
from polygpu.frontend.names.effects import given_values
from polygpu.frontend.names.liveness import address_kept, mentions
from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import Basic
from polygpu.frontend.text.clean import INLINE_ASSEMBLY
from polygpu.frontend.text.nodes import inside, nodes, remembered
from polygpu.model.expr import is_floating
from polygpu.support.dataclass import dataclass


def constants_before(body: Any, first: Any, scope: Scope) -> Iterator[tuple[Variable, Constant]]:
    """Integer variables of the function that certainly hold a constant just before `first`, a node of its
    `body`, whose scope is `scope`. What they hold is the constant, converted to their types.
    """
    for name, node in _followed(body, first, scope).known.items():
        match scope.find(name):
            case Variable(type=Basic(ctype), place="local" | "parameter") as variable:
                value = scope.constant(node)
                if value is not None and not is_floating(ctype) and not address_kept(body, name):
                    kept = value.converted(ctype)
                    if kept is not None:
                        yield variable, kept


def constants_among(body: Any, first: Any, scope: Scope) -> Iterator[tuple[Variable, list[int]]]:
    """Variables of type int of the function that hold one of several constants just before `first`, which
    branches in front of it have set them to: those of `constants_before` are not among them.
    """
    path = _followed(body, first, scope)
    for name, found in path.among.items():
        variable = scope.find(name)
        constants = [scope.constant(node) for node in found]
        values = [c.value for c in constants if c is not None]
        if isinstance(variable, Variable) and all(path.plain(name, node) for node in found):
            yield variable, values


def _followed(body: Any, first: Any, scope: Scope) -> _Path:
    """What is known just before `first`."""

    def plain(name: str, node: Any) -> bool:
        """Whether an int of the function, the only one of its name, holds just that int."""
        declared = _declared(body)[name]
        match scope.find(name), scope.constant(node):
            case Variable(type=Basic("int"), place="local" | "parameter" as place), Constant(type="int"):
                return declared == (place == "local") and not address_kept(body, name)
        return False

    path = _Path(first, plain)
    if not mentions(body, INLINE_ASSEMBLY):
        path.follow(body)
    return path


@remembered
def _declared(body: Any) -> Counter[str]:
    """How often a function declares its names."""
    return Counter(inner.name for inner in nodes(body) if isinstance(inner, c_ast.Decl))


_ARITHMETIC = (c_ast.ID, c_ast.Constant, c_ast.UnaryOp, c_ast.BinaryOp, c_ast.TernaryOp)


@dataclass
class _Path:
    """What is `known` along the way to `target`: the expressions that variables were set to, and `among`
    which several of them what they were set to by branches is.

    `plain` says of a variable whether expressions may have in its place what it was set to.
    """

    target: Any
    plain: Callable[[str, Any], bool]
    known: dict[str, Any] = field(default_factory=dict)
    among: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    def follow(self, node: Any) -> None:
        """Goes on into a node that has the target in it."""
        if node is self.target:
            return
        straight = isinstance(node, c_ast.Compound | c_ast.If)
        if not straight:
            self.forget(node)
        if isinstance(node, c_ast.Case | c_ast.Default | c_ast.Label):
            self.clear()
        for part in node:
            if id(self.target) in inside(part):
                self.follow(part)
                return
            if straight:
                self.past(part)

    def past(self, node: Any) -> None:
        """Goes past a node that was executed, or left out."""
        if _is_entered(node):
            self.clear()
            return
        if isinstance(node, c_ast.If):
            self.branch(node)
            return
        self.forget(node)
        value: Any
        match node:
            case c_ast.Decl(name=name, init=value):
                self.known.pop(name, None)
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=value):
                pass
            case _:
                return
        inside = list(nodes(value)) if value is not None else []
        used = {inner.name for inner in inside if isinstance(inner, c_ast.ID)}
        simple = not used or all(isinstance(inner, _ARITHMETIC) for inner in inside)
        if inside and simple and all(n in self.known and self.plain(n, self.known[n]) for n in used):
            self.known[name] = self.put(value) if used else value

    def branch(self, node: Any) -> None:
        """Goes past both branches of a test: what either has set is one of two."""
        self.forget(node.cond)
        ends = [self.through(part) for part in (node.iftrue, node.iffalse)]
        self.forget(node)
        for name in ends[0].keys() & ends[1].keys() & given_values(node):
            self.among[name] = (*ends[0][name], *ends[1][name])

    def through(self, node: Any) -> dict[str, tuple[Any, ...]]:
        """What variables may be set to behind a branch."""
        inner = replace(self, known=dict(self.known), among=dict(self.among))
        for part in node.block_items or () if isinstance(node, c_ast.Compound) else (node,):
            if part is not None:
                inner.past(part)
        return {**inner.among, **{name: (value,) for name, value in inner.known.items()}}

    def clear(self) -> None:
        self.known.clear()
        self.among.clear()

    def put(self, value: Any) -> Any:
        """An expression with what variables were set to."""
        if isinstance(value, c_ast.ID):
            return self.known[value.name]
        new = copy(value)
        for part, inner in value.children():
            setattr(new, part, self.put(inner))
        return new

    def forget(self, node: Any) -> None:
        """Whatever the node may assign."""
        for name in given_values(node):
            self.known.pop(name, None)
            self.among.pop(name, None)


@remembered
def _is_entered(node: Any) -> bool:
    """Whether a jump may enter the node in the middle."""
    if isinstance(node, c_ast.Switch):
        return any(isinstance(inner, c_ast.Label) for inner in nodes(node))
    return isinstance(node, c_ast.Label | c_ast.Case | c_ast.Default) or any(map(_is_entered, node))
