"""Loops over several dimensions at once, as a loop for each.

    for (int t = 0; t < n * m; t++) a[t] = row[t % m] * col[t / m];
    ->
    for (int t_outer = 0; t_outer < n; t_outer++)
        for (int t_inner = 0; t_inner < m; t_inner++)
            a[t_outer * m + t_inner] = row[t_inner] * col[t_outer];

Divisions of an iterator by a size that is not known have no affine form; the loops' iterators are what they
come to. That the size is more than 0 is tested before the region runs. Where the number of iterations is not
plainly a multiple of it, the last row, which may be shorter, is a loop of its own; behind a directive, which
is about one loop, that there is none is tested instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import address_taken, assigned_names, iterator_name, mentions
from polygpu.frontend.names.scopes import Scope, Variable
from polygpu.frontend.names.types import Basic
from polygpu.frontend.normal.kinds import type_of
from polygpu.frontend.normal.trees import Names, block, changed, mapped, statements
from polygpu.frontend.read.state import source_text
from polygpu.frontend.text.counting import For, as_written
from polygpu.frontend.text.nodes import nodes, parts_of
from polygpu.model.expr import common_type, is_floating
from polygpu.support.dataclass import dataclass

_JUMPS = (c_ast.Break, c_ast.Continue, c_ast.Goto, c_ast.Label, c_ast.Return)
_TYPES = ("int", "unsigned int", "long", "unsigned long", "long long", "unsigned long long")


class Split(For):
    """The outermost of so many `loops` in place of one more that the source has as one.

    They stand for it where the `tests`, values before the loop, are at least 0.
    """

    __slots__ = ("loops", "tests")

    def __init__(self, original: Any, made: Any, tests: list[Any], loops: int) -> None:
        super().__init__(original, made.init, made.cond, made.next, made.stmt)
        self.iterator = iterator_name(made)
        self.tests, self.loops = tests, loops


@dataclass(frozen=True)
class _Counted:
    """`for (name = 0; name < count; name++)`; the iterator is a `type`."""

    loop: Any
    name: str
    type: str
    count: Any


def apart(items: list[Any], scope: Scope, names: Names, tested: bool) -> list[Any]:
    """The statements of a block, with such loops in nests: also where their sizes have to be `tested`."""
    directed = [False, *(isinstance(item, c_ast.Pragma) for item in items)]
    return [
        part
        for item, alone in zip(items, directed, strict=False)
        for part in _apart(item, scope, names, tested, alone)
    ]


def _apart(item: Any, scope: Scope, names: Names, tested: bool, alone: bool) -> list[Any]:
    counted = _counted(item, scope)
    size = _size(counted, scope) if counted else None
    if counted is None or size is None or not (tested or _quotient(counted.count, size) is not None):
        return [item]
    made = _split(counted, size, scope, names, tested, alone)
    if isinstance(item.init, c_ast.DeclList):
        return made
    # the variable keeps the value with which the source's loop ends
    coord = item.coord
    zero = c_ast.Constant("int", "0", coord)
    some = c_ast.BinaryOp(">", counted.count, zero, coord)
    last = c_ast.TernaryOp(some, counted.count, zero, coord)
    return [*made, c_ast.Assignment("=", c_ast.ID(counted.name, coord), last, coord)]


def _counted(item: Any, scope: Scope) -> _Counted | None:
    """The loop, if it counts from 0 in steps of 1 to what no iteration changes."""
    if not isinstance(item, c_ast.For) or item.cond is None or bool(getattr(item, "iterator", "")):
        return None
    name = iterator_name(item)
    match item.init:
        case c_ast.DeclList(decls=[c_ast.Decl(name=found, init=start) as declared]) if found == name:
            inner = scope.child()
            inner.declare(declared, "local")
            variable = inner.find(name)
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=found), rvalue=start) if found == name:
            variable = scope.find(name)
        case _:
            return None
    count = _count(item.cond, name)
    if count is None or not _is_zero(start) or not _steps_by_one(item.next, name):
        return None
    if not isinstance(variable, Variable) or variable.place == "global":
        return None
    if not isinstance(variable.type, Basic) or variable.type.name not in _TYPES or variable.type.qualifiers:
        return None
    body = item.stmt
    if _type(count, scope) is None:
        return None
    if name in assigned_names(body) or address_taken(body, name) or not _is_steady(count, body):
        return None
    hidden = any(isinstance(node, c_ast.Decl) and node.name == name for node in nodes(body))
    return (
        None
        if hidden or any(isinstance(n, _JUMPS) for n in nodes(body))
        else _Counted(item, name, variable.type.name, count)
    )


def _count(test: Any, name: str) -> Any:
    """How many iterations a condition has, None where that is not plain."""
    match test:
        case c_ast.BinaryOp(op="<" | "!=", left=c_ast.ID(name=found), right=count) if found == name:
            return count
        case c_ast.BinaryOp(op=">" | "!=", left=count, right=c_ast.ID(name=found)) if found == name:
            return count
        case c_ast.BinaryOp(op="<=", left=c_ast.ID(name=found), right=last) if found == name:
            match last:
                case c_ast.BinaryOp(op="-", left=count, right=c_ast.Constant(value="1")):
                    return count
    return None


def _is_zero(start: Any) -> bool:
    return isinstance(start, c_ast.Constant) and start.value == "0"


def _steps_by_one(step: Any, name: str) -> bool:
    match parts_of(step):
        case [c_ast.UnaryOp(op="p++" | "++", expr=c_ast.ID(name=found))]:
            return bool(found == name)
        case [c_ast.Assignment(op="+=", lvalue=c_ast.ID(name=found), rvalue=c_ast.Constant(value="1"))]:
            return bool(found == name)
        case [
            c_ast.Assignment(
                op="=",
                lvalue=c_ast.ID(name=found),
                rvalue=c_ast.BinaryOp(op="+", left=c_ast.ID(name=old), right=c_ast.Constant(value="1")),
            )
        ]:
            return bool(found == name == old)
    return False


def _is_steady(value: Any, body: Any) -> bool:
    """Whether a value of names, members and numbers is the same after the body."""
    assigned = assigned_names(body) | {iterator_name(n) for n in nodes(body) if isinstance(n, c_ast.For)}
    members = {
        node.lvalue.field.name
        for node in nodes(body)
        if isinstance(node, c_ast.Assignment) and isinstance(node.lvalue, c_ast.StructRef)
    }
    declared = {node.name for node in nodes(body) if isinstance(node, c_ast.Decl)}
    for node in nodes(value):
        match node:
            case c_ast.StructRef():
                if node.field.name in members:
                    return False
            case c_ast.ID(name=name):
                if name in assigned or name in declared:
                    return False
    return _is_plain(value)


def _is_plain(value: Any) -> bool:
    match value:
        case c_ast.StructRef(name=whole):
            return _is_plain(whole)
        case c_ast.BinaryOp(op="+" | "-" | "*", left=left, right=right):
            return _is_plain(left) and _is_plain(right)
    return isinstance(value, c_ast.ID | c_ast.Constant)


def _type(value: Any, scope: Scope) -> str | None:
    """The type of an integer that is made of variables, members and numbers; None for anything else."""
    match value:
        case c_ast.BinaryOp(op="+" | "-" | "*", left=left, right=right):
            types = _type(left, scope), _type(right, scope)
            return common_type(types[0], types[1]) if types[0] and types[1] else None
        case c_ast.Constant(type=found):
            return "int" if found == "int" else None
    ctype = type_of(value, scope)
    plain = isinstance(ctype, Basic) and not is_floating(ctype.name) and "volatile" not in ctype.qualifiers
    return common_type(ctype.name, "int") if isinstance(ctype, Basic) and plain else None


def _size(counted: _Counted, scope: Scope) -> Any:
    """What an iterator is divided by that others are multiples of; None if it is by nothing, or by others."""
    body = counted.loop.stmt
    found = list(_divisors(body, counted.name, scope))
    if not found or not all(_is_steady(divisor, body) for divisor in found):
        return None
    least = min(found, key=lambda divisor: len(_factors(divisor)))
    return least if all(_quotient(divisor, least) is not None for divisor in found) else None


def _divisors(body: Any, name: str, scope: Scope) -> Iterator[Any]:
    for node in nodes(body):
        match node:
            case c_ast.BinaryOp(op="/" | "%", left=c_ast.ID(name=found), right=divisor) if found == name:
                if not _is_number(divisor) and _type(divisor, scope) is not None:
                    yield divisor


def _is_number(value: Any) -> bool:
    return not any(isinstance(node, c_ast.ID) for node in nodes(value))


def _factors(value: Any) -> list[Any]:
    match value:
        case c_ast.BinaryOp(op="*", left=left, right=right):
            return [*_factors(left), *_factors(right)]
    return [value]


def _quotient(value: Any, divisor: Any) -> list[Any] | None:
    """The factors of a product without those of another; None where it has not all of them."""
    left = _factors(value)
    for factor in _factors(divisor):
        text = source_text(factor)
        index = next((k for k, other in enumerate(left) if source_text(other) == text), None)
        if index is None:
            return None
        del left[index]
    return left


def _product(factors: Sequence[Any], coord: Any) -> Any:
    made = None
    for factor in factors:
        made = factor if made is None else c_ast.BinaryOp("*", made, factor, coord)
    return c_ast.Constant("int", "1", coord) if made is None else made


@dataclass(frozen=True)
class _Level:
    """`loop` in two by a size, `outer` the one over rows."""

    loop: _Counted
    size: Any
    outer: _Counted

    @property
    def rest(self) -> Any:
        """How many iterations are in no whole row; None where that is plainly none."""
        whole = _quotient(self.loop.count, self.size) is not None
        return None if whole else c_ast.BinaryOp("%", self.loop.count, self.size, self.loop.loop.coord)


def _split(counted: _Counted, size: Any, scope: Scope, names: Names, tested: bool, alone: bool) -> list[Any]:
    """The nest of a loop, of its outer loop, too, as long as that is divided; and the loops over last rows
    that are shorter, unless the nest has to stay `alone`.
    """
    levels: list[_Level] = []
    outer, divisor = counted, size
    while divisor is not None and (tested or _quotient(outer.count, divisor) is not None):
        levels.append(_Level(outer, divisor, _in_two(outer, divisor, scope, names)))
        outer = levels[-1].outer
        divisor = _size(outer, scope)
    coord = counted.loop.coord
    tests = [c_ast.BinaryOp("-", level.size, c_ast.Constant("int", "1", coord), coord) for level in levels]
    if alone:
        tests += [c_ast.UnaryOp("-", level.rest, coord) for level in levels if level.rest is not None]
    made = Split(counted.loop, outer.loop, tests, len(levels))
    return [made] if alone else [made, *_last_rows(counted, levels, scope, names)]


def _last_rows(counted: _Counted, levels: list[_Level], scope: Scope, names: Names) -> Iterator[Any]:
    """The loops over what is in no whole row, in the order of the iterations."""
    count = levels[-1].outer.count
    for level in reversed(levels):
        coord, row = level.loop.loop.coord, count
        count = c_ast.BinaryOp("*", row, level.size, coord)
        if level.rest is not None:
            yield Split(counted.loop, _row(level.loop, level.size, row, level.rest, scope, names).loop, [], 0)
            count = c_ast.BinaryOp("+", count, level.rest, coord)


def _in_two(counted: _Counted, size: Any, scope: Scope, names: Names) -> _Counted:
    """The outer loop of two."""
    coord = counted.loop.coord
    outer = names.fresh(f"{counted.name}_outer")
    left = _quotient(counted.count, size)
    count = _product(left, coord) if left is not None else c_ast.BinaryOp("/", counted.count, size, coord)
    inside = _row(counted, size, c_ast.ID(outer, coord), size, scope, names)
    header = _header(counted, outer, inside.type, count)
    return _Counted(c_ast.For(*header, inside.loop, coord), outer, inside.type, count)


def _row(counted: _Counted, size: Any, row: Any, count: Any, scope: Scope, names: Names) -> _Counted:
    """The loop over the first `count` elements of a row."""
    loop, coord = counted.loop, counted.loop.coord
    ctype = common_type(counted.type, _type(size, scope) or "int")
    inner = names.fresh(f"{counted.name}_inner")
    body = _divided(loop.stmt, counted.name, size, row, inner)
    if mentions(body, counted.name):
        start = c_ast.BinaryOp("*", row, size, coord)
        at = c_ast.BinaryOp("+", start, c_ast.ID(inner, coord), coord)
        body = block([_set(counted, at), *statements(body)], coord)
    made = For(as_written(loop), *_header(counted, inner, ctype, count), body)
    made.iterator = inner
    return _Counted(made, inner, ctype, count)


def _set(counted: _Counted, value: Any) -> Any:
    """The variable's value in an iteration: where the header declares it, as a variable of the body."""
    loop = counted.loop
    if isinstance(loop.init, c_ast.DeclList):
        return changed(loop.init.decls[0], init=value)
    return c_ast.Assignment("=", c_ast.ID(counted.name, loop.coord), value, loop.coord)


def _header(counted: _Counted, name: str, ctype: str, count: Any) -> tuple[Any, Any, Any]:
    loop, coord = counted.loop, counted.loop.coord
    index = c_ast.ID(name, coord)
    spelled = c_ast.IdentifierType(ctype.split(), coord)
    declared = c_ast.TypeDecl(name, [], None, spelled, coord=coord)
    start = c_ast.Decl(name, [], [], [], [], declared, c_ast.Constant("int", "0", coord), None, coord=coord)
    test = c_ast.BinaryOp("<", index, count, loop.cond.coord)
    return c_ast.DeclList([start], coord), test, c_ast.UnaryOp("p++", index, coord)


def _divided(body: Any, name: str, size: Any, row: Any, inner: str) -> Any:
    """The body with the row and the inner loop's iterator for what divisions by the size come to."""

    def change(node: Any) -> Any:
        match node:
            case c_ast.BinaryOp(op="/" | "%" as op, left=c_ast.ID(name=found), right=divisor) if (
                found == name and not _is_number(divisor)
            ):
                left, coord = _quotient(divisor, size), node.coord
                assert left is not None
                column = c_ast.ID(inner, coord)
                if not left:
                    return row if op == "/" else column
                found = c_ast.BinaryOp(op, row, _product(left, coord), coord)
                if op == "/":
                    return found
                return c_ast.BinaryOp("+", c_ast.BinaryOp("*", found, size, coord), column, coord)
        return mapped(node, change)

    return change(body)
