"""What stands in an `if` or a loop that depends on data: actions of one statement instance.

`break` and `continue` become tests of what follows them:

    for (j = p[i]; j < n; j++) {          j = p[i]; go = 1;
        s += a[j];                  ->    while (go && j < n) { s += a[j]; if (a[j] > t) go = 0; else j++; }
        if (a[j] > t) break;
    }

A `break` under an if that comes first belongs to the loop's test: `while (j < n && !(a[j] > t))`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from pycparser import c_ast

from polygpu.frontend.names.liveness import changed_name
from polygpu.frontend.names.scopes import Variable
from polygpu.frontend.names.types import Basic
from polygpu.frontend.read import declarations, state, values
from polygpu.frontend.read.actions import effects, pragma, with_pending
from polygpu.frontend.read.expressions import Reader
from polygpu.frontend.read.state import Binding, Local
from polygpu.frontend.read.unsupported import refusal, statement_refusal
from polygpu.frontend.text.counting import as_written
from polygpu.frontend.text.nodes import nodes, parts_of
from polygpu.model.expr import COMPARISONS, Binary, Expr, Int, Name, Unary
from polygpu.model.rewrite import actions
from polygpu.model.scop import Action, Branch, Let, Repeat, Store
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed

_Loop: TypeAlias = c_ast.For | c_ast.While | c_ast.DoWhile
Outside: TypeAlias = tuple[Variable, Binding | None]
_IN_AN_IF = "an if whose condition depends on data"
_IN_A_LOOP = "a loop whose iterations depend on data"


def branches(reader: Reader, node: c_ast.If, test: Expr) -> tuple[list[Action], list[Action]]:
    """The two branches of an if within a statement."""
    return _branches(reader, node, test, None)


def loop(reader: Reader, node: _Loop, why: Diagnosed) -> tuple[list[Action], list[Action]]:
    """A loop as actions of one instance: stores before it, and what goes into one statement.

    `why` says what keeps it from being a loop of the nest.
    """
    node = as_written(node)
    start, outside = _start(reader, node) if isinstance(node, c_ast.For) else ([], [])
    _forget(reader, node)
    found = _repeated(reader, node, why)
    _forget(reader, node)
    for name in _assigned([*start, *found]):
        reader.region.inside.setdefault(name, why)
    _leave(reader, outside)
    return ([], [*start, *found]) if any(isinstance(a, Let) for a in start) else (start, found)


def leaving(node: Any) -> Any:
    """The first `break` that belongs to a loop, None where there is none."""
    return next((n for n in _own(node.stmt) if isinstance(n, c_ast.Break)), None)


@dataclass
class _Exits:
    """Of one loop: its flags as far as they are used, and whether tests of them guard what follows.

    `why` is what keeps it from being a loop of the nest.
    """

    guarded: bool
    why: Diagnosed
    go: Local | None = None
    rest: Local | None = None


def _assigned(found: Sequence[Action]) -> Iterator[str]:
    """Locals and scalars that actions set."""
    for a in actions(found):
        match a:
            case Let(name):
                yield name
            case Store(target) if not target.subscripts:
                yield target.array


# Loops


def _start(reader: Reader, node: c_ast.For) -> tuple[list[Action], list[Outside]]:
    """What the header does first, and what it binds for the loop alone."""
    found: list[Action] = []
    outside: list[Outside] = []
    for part in parts_of(node.init):
        match part:
            case c_ast.Decl():
                found.append(_local(reader, part, declarations.entered(reader, part), _IN_A_LOOP))
            case c_ast.Assignment(op="=", lvalue=c_ast.ID() as name) if _is_own(reader, name):
                variable = reader.variable(name)
                outside.append((variable, reader.region.bindings.get(variable)))
                found.append(_first(reader, variable, part))
            case _:
                found.extend(effects(reader, part))
    return found, outside


def _is_own(reader: Reader, name: c_ast.ID) -> bool:
    """Whether what a header sets matters in its loops alone."""
    variable, region = reader.variable(name), reader.region
    if isinstance(region.bindings.get(variable), state.Iterator) or not isinstance(variable.type, Basic):
        return False
    return name.name not in region.kept | region.written


def _first(reader: Reader, variable: Variable, node: c_ast.Assignment) -> Action:
    reader.check_type(variable, node.lvalue)
    value = reader.value(node.rvalue)
    local = reader.region.bindings[variable] = declarations.local(reader, variable, _IN_A_LOOP)
    return Let(local.name, local.type, value)


def _leave(reader: Reader, outside: list[Outside]) -> None:
    """Behind the loop its own variables are what they were before."""
    for variable, binding in reversed(outside):
        del reader.region.bindings[variable]
        if binding is not None:
            reader.region.bindings[variable] = binding


def _forget(reader: Reader, node: _Loop) -> None:
    """Of what the loop changes no value is known: at the start of an iteration, and behind the loop."""
    region = reader.region
    for name in filter(None, map(changed_name, nodes(node))):
        variable = reader.scope.find(name)
        if isinstance(variable, Variable) and values.is_followed(region, variable):
            before = values.current(reader, variable)
            region.values[variable] = values.unknown(region, variable, *([before] if before else []))


def _repeated(reader: Reader, node: _Loop, why: Diagnosed) -> list[Action]:
    """The loop behind its start, with the flags that it needs."""
    items = _items(node.stmt)
    test: Expr | None = None
    exits = _Exits(not all(map(_parts, items)), why)
    inner = reader.child()
    if isinstance(node, c_ast.DoWhile):
        go = exits.go = _flag(reader, "go")
    else:
        test = None if node.cond is None else reader.certain(node.cond)
        while items and (first := _first_break(items[0])) is not None:
            test = _both(test, Unary("!", reader.certain(first)))
            items = items[1:]
    step = effects(reader, node.next) if isinstance(node, c_ast.For) and node.next is not None else []
    tail = step
    if isinstance(node, c_ast.DoWhile):
        tail = [Let(go.name, go.type, _truth(reader.certain(node.cond)), assign=True)]
    goes_on = any(isinstance(n, c_ast.Continue) for i in items for n in _own(i))
    if goes_on:
        body = _after(_block(inner, items, exits, []), exits.go, tail)
    else:
        body = _block(inner, items, exits, tail)
    if exits.rest is not None:
        body = [_set(exits.rest, 1, False), *body]
    test = test if exits.go is None else _both(Name(exits.go.name, exits.go.type), test)
    found: list[Action] = [Repeat(Int(1) if test is None else test, tuple(body))]
    return found if exits.go is None else [_set(exits.go, 1, False), *found]


def _both(first: Expr | None, second: Expr | None) -> Expr | None:
    if first is None or second is None:
        return second if first is None else first
    return Binary("&&", first, second)


def _truth(value: Expr) -> Expr:
    compared = isinstance(value, Binary) and value.op in COMPARISONS
    return value if compared else Binary("!=", value, Int(0))


def _after(body: list[Action], go: Local | None, tail: list[Action]) -> list[Action]:
    """What comes after a body that `continue` may leave."""
    if go is None or not tail:
        return [*body, *tail]
    return [*body, Branch(Name(go.name, go.type), tuple(tail))]


def _flag(reader: Reader, name: str) -> Local:
    unique = reader.region.unique(name)
    reader.region.locals.add(unique)
    return Local(unique, "int")


def _set(flag: Local, value: int, assign: bool = True) -> Let:
    return Let(flag.name, flag.type, Int(value), assign)


# Bodies


def _items(node: Any) -> list[Any]:
    if isinstance(node, c_ast.Compound):
        return list(node.block_items or ())
    return [] if node is None else [node]


def _own(node: Any) -> Iterator[Any]:
    """The `break` and `continue` statements in `node` that belong to the loop around it."""
    match node:
        case c_ast.Break() | c_ast.Continue():
            yield node
        case c_ast.Compound() | c_ast.If() | c_ast.Label() | c_ast.Switch() | c_ast.Case() | c_ast.Default():
            switch = isinstance(node, c_ast.Switch)
            for child in node:
                yield from (n for n in _own(child) if not (switch and isinstance(n, c_ast.Break)))


def _leaves(node: Any) -> bool:
    """Whether a statement may leave the iteration."""
    return any(True for _ in _own(node))


def _never_ends(node: Any) -> bool:
    """Whether nothing behind the statement is executed in this iteration."""
    match node:
        case c_ast.Break() | c_ast.Continue():
            return True
        case c_ast.Compound():
            return any(map(_never_ends, node.block_items or ()))
        case c_ast.If():
            return _never_ends(node.iftrue) and node.iffalse is not None and _never_ends(node.iffalse)
    return False


def _parts(node: Any) -> bool:
    """Whether what follows a statement can go into the side of an if that does not leave the iteration."""
    if not _leaves(node):
        return True
    match node:
        case c_ast.Break() | c_ast.Continue():
            return True
        case c_ast.Compound():
            return False
        case c_ast.If():
            sides = [_items(node.iftrue), _items(node.iffalse)]
            ends = [any(map(_never_ends, side)) for side in sides]
            stay = [not any(map(_leaves, side)) for side in sides]
            return all(map(_parts, [*sides[0], *sides[1]])) and all(
                e or s for e, s in zip(ends, stay, strict=True)
            )
    return False


def _first_break(node: Any) -> Any:
    """The test of `if (test) break;`"""
    match node:
        case c_ast.If(cond=cond, iffalse=None) if len(_items(node.iftrue)) == 1:
            return cond if isinstance(_items(node.iftrue)[0], c_ast.Break) else None
    return None


def _block(reader: Reader, nodes: Sequence[Any], exits: _Exits | None, tail: list[Action]) -> list[Action]:
    """A block's items, and then `tail` unless the iteration is left before."""
    found: list[Action] = []
    for k, node in enumerate(nodes):
        if exits is None:
            with reader.region.reading(node):
                found += _within(reader, node, exits)
            continue
        if not _leaves(node):
            found += _within(reader, node, exits)
            continue
        if isinstance(node, c_ast.Break | c_ast.Continue):
            return [*found, *_exit(reader, node, exits)]
        rest = nodes[k + 1 :]
        if not exits.guarded:
            return [*found, _parted(reader, node, exits, rest, tail)]
        found += _within(reader, node, exits)
        before = dict(reader.region.values)
        behind = _block(reader, rest, exits, tail)
        _join(reader, before)
        flags = [Name(f.name, f.type) for f in (exits.go, exits.rest) if f is not None]
        test: Expr | None = None
        for flag in flags:
            test = _both(test, flag)
        return [*found, Branch(test or Int(1), tuple(behind))] if behind else found
    return [*found, *tail]


def _parted(reader: Reader, node: c_ast.If, exits: _Exits, rest: Sequence[Any], tail: list[Action]) -> Branch:
    """An if one side of which leaves the iteration, with what follows it on the other side."""
    test = reader.certain(node.cond)
    before = dict(reader.region.values)
    sides, ends = [], []
    for side in (node.iftrue, node.iffalse):
        reader.region.values = dict(before)
        items = _items(side)
        made = _block(reader.child(), items, exits, [])
        if not any(map(_never_ends, items)):
            made += _block(reader, rest, exits, tail)
        sides.append(tuple(made))
        ends.append(reader.region.values)
    reader.region.values = values.joined(reader, None, *ends)
    return Branch(test, *sides)


def _join(reader: Reader, other: dict[Variable, state.Value]) -> None:
    """Behind what may be left out: what was known before may still be so."""
    reader.region.values = values.joined(reader, None, reader.region.values, other)


def _exit(reader: Reader, node: Any, exits: _Exits) -> list[Action]:
    if isinstance(node, c_ast.Break):
        exits.go = exits.go or _flag(reader, "go")
        return [_set(exits.go, 0)]
    if not exits.guarded:
        return []
    exits.rest = exits.rest or _flag(reader, "rest")
    return [_set(exits.rest, 0)]


def _branches(
    reader: Reader, node: c_ast.If, test: Expr, exits: _Exits | None
) -> tuple[list[Action], list[Action]]:
    known = None if exits or reader.region.affine.condition(test) is None else test
    before = dict(reader.region.values)
    then = _block(reader.child(), _items(node.iftrue), exits, [])
    yes, reader.region.values = reader.region.values, before
    otherwise = _block(reader.child(), _items(node.iffalse), exits, [])
    reader.region.values = values.joined(reader, known, yes, reader.region.values)
    return then, otherwise


def _within(reader: Reader, node: Any, exits: _Exits | None) -> list[Action]:
    match node:
        case c_ast.Compound():
            return _block(reader.child(), node.block_items or (), exits, [])
        case c_ast.If():
            test = reader.certain(node.cond)
            then, otherwise = _branches(reader, node, test, exits)
            return [Branch(test, tuple(then), tuple(otherwise))]
        case c_ast.Label() if node.name not in reader.region.jumped_to:
            return _within(reader, node.stmt, exits)
        case c_ast.EmptyStatement():
            return []
        case c_ast.Pragma():
            pragma(reader, node)
            return []
        case c_ast.DeclList():
            return [action for d in node.decls for action in _let(reader, d, exits)]
        case c_ast.Decl():
            return _let(reader, node, exits)
        case c_ast.For() | c_ast.While() | c_ast.DoWhile():
            why = _in_an_if(reader, node) if exits is None else exits.why
            start, found = loop(reader.child(), node, why)
            return [*start, *found]
    return effects(reader, node)


def _in_an_if(reader: Reader, node: _Loop) -> Diagnosed:
    if not isinstance(node, c_ast.For):
        return statement_refusal(node, reader.region.at(node))
    message = f"a loop within {_IN_AN_IF}"
    help_text = "let it run to a bound known before it starts, and put the if inside the loop"
    return refusal("PG170", reader.region.at(node), message, help_text, 3)


def _let(reader: Reader, node: c_ast.Decl, exits: _Exits | None) -> list[Action]:
    variable = declarations.entered(reader, node)
    if declarations.substituted(reader, variable):
        return []
    return with_pending(reader, [_local(reader, node, variable, _IN_AN_IF if exits is None else _IN_A_LOOP)])


def _local(reader: Reader, node: c_ast.Decl, variable: Variable, where: str) -> Let:
    local = declarations.local(reader, variable, where)
    value = reader.value(node.init) if node.init is not None else Int(0)
    reader.region.bindings[variable] = local
    if node.init is not None:
        values.assign(reader.region, variable, value)
    return Let(local.name, local.type, value)
