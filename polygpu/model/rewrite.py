"""The shape of expressions and actions: their parts, walks over them, and copies with some parts replaced.

`polygpu.model.kernel_walk` has the same of kernel statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from polygpu.model.expr import Binary, Call, Cast, Expr, Name, Reference, Select, Unary
from polygpu.model.scop import Action, Branch, Let, Store


def children(expr: Expr) -> tuple[Expr, ...]:
    """The operands of an expression, in order."""
    match expr:
        case Unary(_, operand) | Cast(_, operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Select(test, yes, no):
            return (test, yes, no)
        case Call(_, arguments, _):
            return arguments
        case Reference():
            return expr.subscripts
    return ()


def with_children(expr: Expr, new: tuple[Expr, ...]) -> Expr:
    match expr:
        case Unary() | Cast():
            return replace(expr, operand=new[0])
        case Binary():
            return replace(expr, left=new[0], right=new[1])
        case Select():
            return Select(*new)
        case Call():
            return replace(expr, arguments=new)
        case Reference():
            return replace(expr, subscripts=new)
    return expr


def rewrite(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """`expr` top down: where `change` gives an expression it replaces the node and is final."""
    changed = change(expr)
    if changed is not None:
        return changed
    parts = children(expr)
    if not parts:
        return expr
    return with_children(expr, tuple(rewrite(p, change) for p in parts))


def substitute(expr: Expr, values: dict[str, Expr]) -> Expr:
    """`expr` with names replaced by expressions."""
    return rewrite(expr, lambda e: values.get(e.name) if isinstance(e, Name) else None)


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and all its parts, those of a part right behind it."""
    left = [expr]
    while left:
        part = left.pop()
        yield part
        left.extend(reversed(children(part)))


def references(expr: Expr) -> Iterator[Reference]:
    """Every array element in `expr`."""
    return (e for e in walk(expr) if isinstance(e, Reference))


def reads_memory(expr: Expr) -> bool:
    """Whether there is any array element in `expr`."""
    return any(True for _ in references(expr))


def scalars_in(*exprs: Expr) -> set[str]:
    """Names of scalars, those in subscripts included."""
    return {e.name for x in exprs for e in walk(x) if isinstance(e, Name)}


def names_in(*exprs: Expr) -> frozenset[str]:
    """Names of scalars and of arrays."""
    return frozenset(
        e.name if isinstance(e, Name) else e.array
        for x in exprs
        for e in walk(x)
        if isinstance(e, Name | Reference)
    )


ReferenceChange = Callable[[Reference, bool], Reference]


def rewrite_body(body: tuple[Action, ...], change: ReferenceChange) -> tuple[Action, ...]:
    """`body` with every reference passed through `change(reference, is_written)`, subscripts first."""

    def read(expr: Expr) -> Expr:
        parts = children(expr)
        expr = with_children(expr, tuple(read(p) for p in parts)) if parts else expr
        return change(expr, False) if isinstance(expr, Reference) else expr

    def target(reference: Reference) -> Reference:
        inner = tuple(read(s) for s in reference.subscripts)
        return change(replace(reference, subscripts=inner), True)

    def action(a: Action) -> Action:
        match a:
            case Store(t, value):
                return Store(target(t), read(value))
            case Let():
                return replace(a, value=read(a.value))
            case Branch(test, then, otherwise):
                return Branch(read(test), tuple(map(action, then)), tuple(map(action, otherwise)))

    return tuple(action(a) for a in body)


def actions(body: tuple[Action, ...]) -> Iterator[Action]:
    for a in body:
        yield a
        if isinstance(a, Branch):
            yield from actions(a.then)
            yield from actions(a.otherwise)


def action_expressions(action: Action) -> tuple[Expr, ...]:
    """What an action reads and writes itself, without the actions of its branches."""
    match action:
        case Store(target, value):
            return (target, value)
        case Let(_, _, value):
            return (value,)
        case Branch(test):
            return (test,)
