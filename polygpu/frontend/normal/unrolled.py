"""Short loops over members that are arrays, written out: a device has structures member by member.

for (d = 0; d < 3; d++) p[i].x[d] += p[i].v[d];
->   { p[i].x[0] += p[i].v[0]; } { p[i].x[1] += p[i].v[1]; } { p[i].x[2] += p[i].v[2]; }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.constants import fold
from polygpu.frontend.names.effects import used_outside
from polygpu.frontend.names.liveness import address_taken, assigned_names, iterator_name
from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import Basic, CType
from polygpu.frontend.normal.breaks import step_of
from polygpu.frontend.normal.trees import block, declared_names, is_loop, is_member, replaced, used_names
from polygpu.frontend.text.nodes import nodes
from polygpu.support.dataclass import dataclass

MOST_COPIES = 32  # of a loop's body
MOST_NODES = 4000  # of what is made of one loop
_SUFFIXES = {"unsigned int": "u", "long": "l", "unsigned long": "ul", "long long": "l"}
_SMALL = ("char", "signed char", "unsigned char", "short", "unsigned short", "int")
_OPPOSITE = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
_JUMPS = (c_ast.Goto, c_ast.Label, c_ast.Return)


def over_members(items: Sequence[Any]) -> bool:
    """Whether an iterator of a loop is in the subscript of a member, or may be in what is called."""
    found = [node for item in items for node in nodes(item)]
    called = any(isinstance(n, c_ast.FuncCall) for n in found) and any(
        isinstance(n, c_ast.StructRef) for n in found
    )
    return called or any(isinstance(n, c_ast.For) and _is_over_members(n) for n in found)


@dataclass(frozen=True)
class Unroller:
    """`trees` are where iterators of a region may be used."""

    trees: tuple[Any, ...]

    def written_out(self, items: list[Any], scope: Scope) -> list[Any]:
        """The statements of a block, with such loops as copies of their bodies."""
        return [self._of(item, scope) for item in items]

    def _of(self, item: Any, scope: Scope) -> Any:
        if not isinstance(item, c_ast.For) or not _is_over_members(item):
            return item
        name, body = iterator_name(item), item.stmt
        spelled = self._spelled(item, name, scope)
        if spelled is None or name in assigned_names(body) | {*declared_names(body)} or _leaves(body):
            return item
        found = _values(item, name, scope)
        if not found or sum(1 for _ in nodes(body)) * len(found) > MOST_NODES:
            return item
        copies = [block([replaced(body, name, spelled(value, item))], item.coord) for value in found]
        return block(copies, item.coord)

    def _spelled(self, loop: c_ast.For, name: str, scope: Scope) -> Any:
        """What spells a value of the iterator as a constant of its type; None for one with other uses."""
        if isinstance(loop.init, c_ast.DeclList):
            ctype = scope.resolve(loop.init.decls[0].type) if len(loop.init.decls) == 1 else None
        else:
            ctype = self._own(name, scope)
        if not isinstance(ctype, Basic) or ctype.name not in (*_SMALL, *_SUFFIXES):
            return None
        suffix, wide = _SUFFIXES.get(ctype.name, ""), ctype.name if ctype.name in _SUFFIXES else "int"
        return lambda value, node: c_ast.Constant(wide, f"{value}{suffix}", node.coord)

    def _own(self, name: str, scope: Scope) -> CType | None:
        """The type of a variable of the function that is an iterator of loops alone."""
        symbol = scope.find(name)
        if not isinstance(symbol, Variable) or symbol.place not in ("local", "parameter"):
            return None
        used = any(used_outside(tree, name) or address_taken(tree, name) for tree in self.trees)
        return None if used else symbol.type


def _is_over_members(loop: c_ast.For) -> bool:
    name = iterator_name(loop)
    elements = (node for node in nodes(loop.stmt) if isinstance(node, c_ast.ArrayRef))
    return any(name in used_names(node.subscript) and is_member(node.name) for node in elements)


def _leaves(node: Any) -> bool:
    """Whether an iteration may end within its body."""
    if is_loop(node):
        return any(isinstance(n, _JUMPS) for n in nodes(node))
    return isinstance(node, (*_JUMPS, c_ast.Break, c_ast.Continue)) or any(map(_leaves, node))


def _values(loop: c_ast.For, name: str, scope: Scope) -> list[int]:
    """The values of an iterator that starts at a constant and goes in steps to another; none where they are
    not known, or are too many or below 0.
    """
    match loop.init:
        case c_ast.DeclList(decls=[c_ast.Decl(init=start)]) | c_ast.Assignment(op="=", rvalue=start):
            first = scope.constant(start) if start is not None else None
        case _:
            first = None
    step, limit, op = step_of(loop, scope), *_limit(loop.cond, name, scope)
    if first is None or limit is None or not step:
        return []
    found = [first.value]
    while len(found) <= MOST_COPIES and fold(op, found[-1], limit):
        found.append(found[-1] + step)
    *values, _ = found
    return values if len(values) < MOST_COPIES and min(values, default=-1) >= 0 else []


def _limit(cond: Any, name: str, scope: Scope) -> tuple[int | None, str]:
    """What the iterator is compared with, and by which operator."""
    match cond:
        case c_ast.BinaryOp(op=op, left=c_ast.ID(name=found), right=bound) if found == name:
            pass
        case c_ast.BinaryOp(op=other, left=bound, right=c_ast.ID(name=found)) if found == name:
            op = _OPPOSITE.get(other, "")
        case _:
            return None, ""
    limit = scope.constant(bound)
    return (None if limit is None or op not in _OPPOSITE else limit.value), op
