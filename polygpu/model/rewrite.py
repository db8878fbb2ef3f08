"""The shape of expressions, actions and scops: their parts, walks over them, copies with parts replaced.

`polygpu.model.kernel_walk` has the same of kernel statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter, is_
from typing import Any, TypeAlias

from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Literal, Name, Reference, Select, Unary
from polygpu.model.scop import Access, Action, Array, Branch, Let, Number, Repeat, Scop, Statement, Store

REMEMBERED = 1 << 14
"""Expressions that what is asked of them often is remembered of: kernels of one nest have most in common."""


_CHILDREN: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    **dict.fromkeys((Int, Literal, Name), lambda _: ()),
    **dict.fromkeys((Unary, Cast), lambda expr: (expr.operand,)),
    Binary: attrgetter("left", "right"),
    Select: attrgetter("test", "yes", "no"),
    Call: attrgetter("arguments"),
    Reference: attrgetter("subscripts"),
}


def children(expr: Expr) -> tuple[Expr, ...]:
    """The operands of an expression, in order; from a table, since nothing else is asked for as often."""
    return _CHILDREN[type(expr)](expr)


def with_children(expr: Expr, new: tuple[Expr, ...]) -> Expr:
    """`expr` with other `children`."""
    if not new:
        return expr
    match expr:
        case Unary():
            return Unary(expr.op, *new)
        case Cast():
            return Cast(expr.type, *new)
        case Binary():
            return Binary(expr.op, *new)
        case Select():
            return Select(*new)
        case Call():
            return Call(expr.function, new, expr.type)
        case Reference():
            return Reference(expr.array, new, expr.type, expr.field, expr.site)
    return expr


def rewrite(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """`expr` top down: where `change` gives an expression it replaces the node and is final."""
    changed = change(expr)
    if changed is not None:
        return changed
    parts = children(expr)
    new = tuple([rewrite(part, change) for part in parts])
    return expr if all(map(is_, new, parts)) else with_children(expr, new)


def substitute(expr: Expr, values: dict[str, Expr]) -> Expr:
    """`expr` with names replaced by expressions."""
    return rewrite(expr, lambda e: values.get(e.name) if isinstance(e, Name) else None)


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and all its parts, those of a part right behind it."""
    left = [expr]
    while left:
        part = left.pop()
        yield part
        left += children(part)[::-1]


def references(expr: Expr) -> tuple[Reference, ...]:
    """Every array element in `expr`: the objects themselves, which callers tell from equal ones."""
    if not reads_memory(expr):
        return ()
    if isinstance(expr, Reference):  # it is among them: kept, it would hold itself
        return (expr, *_below(expr))
    known: tuple[Reference, ...] | None = getattr(expr, "references", None)
    if known is None:
        known = _below(expr)
        object.__setattr__(expr, "references", known)
    return known


def _below(expr: Expr) -> tuple[Reference, ...]:
    return tuple([r for part in children(expr) for r in references(part)])


@lru_cache(REMEMBERED)
def reads_memory(expr: Expr) -> bool:
    """Whether there is any array element in `expr`."""
    return any(isinstance(e, Reference) for e in walk(expr))


def scalars_in(*exprs: Expr) -> frozenset[str]:
    """Names of scalars, those in subscripts included."""
    return frozenset().union(*map(_scalars, exprs)) if len(exprs) != 1 else _scalars(exprs[0])


def names_in(*exprs: Expr) -> frozenset[str]:
    """Names of scalars and of arrays."""
    return frozenset().union(*map(_names, exprs)) if len(exprs) != 1 else _names(exprs[0])


@lru_cache(REMEMBERED)
def _scalars(expr: Expr) -> frozenset[str]:
    return frozenset(e.name for e in walk(expr) if isinstance(e, Name))


@lru_cache(REMEMBERED)
def _names(expr: Expr) -> frozenset[str]:
    return _scalars(expr).union(r.array for r in references(expr))


Change: TypeAlias = Callable[[Expr], Expr]
ReferenceChange: TypeAlias = Callable[[Reference, bool], Reference]


BODY = 2  # what a loop's actions have in their numbers where those of branches have 0 or 1


def sides(action: Action) -> tuple[tuple[int, tuple[Action, ...]], ...]:
    """The actions within a branch or a loop, each list with its part of their numbers."""
    match action:
        case Branch(_, then, otherwise):
            return (0, then), (1, otherwise)
        case Repeat(_, body):
            return ((BODY, body),)
    return ()


def with_sides(action: Action, new: Iterable[tuple[Action, ...]]) -> Action:
    """`action` with other `sides`."""
    match action:
        case Branch(test):
            return Branch(test, *new)
        case Repeat(test):
            return Repeat(test, *new)
    return action


def actions(body: Iterable[Action]) -> Iterator[Action]:
    """All actions of `body`, those of a branch or a loop right behind it."""
    return (a for _, a in numbered(body))


def numbered(body: Iterable[Action], prefix: Number = ()) -> Iterator[tuple[Number, Action]]:
    """All actions with their numbers, those of a branch or a loop right behind it."""
    for k, a in enumerate(body):
        yield (*prefix, k), a
        for side, inner in sides(a):
            yield from numbered(inner, (*prefix, k, side))


def repeats(body: Iterable[Action]) -> bool:
    """Whether there is any loop in `body`."""
    return any(isinstance(a, Repeat) for a in actions(body))


def exclusive(one: Number, other: Number) -> bool:
    """Whether two actions stand in different branches of a test."""
    apart = next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return apart % 2 == 1


def precedes(one: Number, other: Number) -> bool:
    """Whether an instance may execute both, in this order."""
    return again(one, other) or (one < other and not exclusive(one, other))


def again(one: Number, other: Number) -> bool:
    """Whether one loop repeats both, be the other its test."""
    loops = (k for k in range(1, len(one), 2) if one[k] == BODY)
    return any(other[:k] == one[:k] and other[k : k + 1] in ((), (BODY,)) for k in loops)


def reads_of(action: Action) -> tuple[Expr, ...]:
    """What an action evaluates, but for its `sides`."""
    match action:
        case Store(target, value):
            return value, *target.subscripts
        case Let(_, _, value, _):
            return (value,)
    return (action.test,)


def locals_of(action: Action) -> frozenset[str]:
    """Names that an action evaluates, or assigns to."""
    return scalars_in(*reads_of(action)) | ({action.name} if isinstance(action, Let) else set())


def map_actions(
    body: Iterable[Action], value: Change, target: Callable[[Reference], Reference]
) -> tuple[Action, ...]:
    """`body` with `value` applied to all that its actions compute, and `target` to where they store it."""

    def action(a: Action) -> Action:
        match a:
            case Store():
                return Store(target(a.target), value(a.value))
            case Let():
                return replace(a, value=value(a.value))
            case Branch(test) | Repeat(test):
                tested = replace(a, test=value(test))
                return with_sides(tested, (map_actions(side, value, target) for _, side in sides(a)))

    return tuple(map(action, body))


def map_references(body: Iterable[Action], change: ReferenceChange) -> tuple[Action, ...]:
    """`body` with every reference passed through `change(reference, is_written)`, subscripts first."""

    def read(expr: Expr) -> Expr:
        expr = with_children(expr, tuple(map(read, children(expr))))
        return change(expr, False) if isinstance(expr, Reference) else expr

    def target(reference: Reference) -> Reference:
        return change(replace(reference, subscripts=tuple(map(read, reference.subscripts))), True)

    return map_actions(body, read, target)


def map_access(a: Access, place: Callable[[Reference], Reference], affine: Callable[[Expr], Expr]) -> Access:
    """An access with `affine` applied to what tells when it happens, and to which elements. What is on its
    course has iterators of its own.
    """
    guards, forms = tuple(map(affine, a.guards)), tuple(tuple(map(affine, f)) for f in a.forms)
    return replace(a, reference=place(a.reference), guards=guards, forms=forms)


def map_scop(scop: Scop, value: Change, affine: Change) -> Scop:
    """`scop` with `value` applied to what its statements compute and access, and `affine` to what tells when
    and how much: domains, guards, extents, and what is tested. A reference stays one.
    """

    def all_of(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(map(affine, exprs))

    def place(r: Reference) -> Reference:
        new = value(r)
        assert isinstance(new, Reference)
        return new

    def array(a: Array) -> Array:
        return replace(a, extents=tuple(e if e is None else affine(e) for e in a.extents))

    def access(a: Access) -> Access:
        course = a.course and replace(
            a.course, domain=all_of(a.course.domain), subscripts=all_of(a.course.subscripts)
        )
        return replace(map_access(a, place, affine), course=course)

    def statement(s: Statement) -> Statement:
        body, accesses = map_actions(s.body, value, place), tuple(map(access, s.accesses))
        return replace(s, domain=all_of(s.domain), body=body, accesses=accesses)

    return replace(
        scop,
        arrays=tuple(map(array, scop.arrays)),
        statements=tuple(map(statement, scop.statements)),
        context=all_of(scop.context),
        assumptions=tuple(
            replace(a, value=affine(a.value), bound=affine(a.bound), domain=all_of(a.domain))
            for a in scop.assumptions
        ),
        untaken=tuple(replace(u, test=affine(u.test)) for u in scop.untaken),
        conversions=tuple(
            replace(c, domain=all_of(c.domain), value=affine(c.value)) for c in scop.conversions
        ),
        measures=tuple(replace(m, statements=tuple(map(statement, m.statements))) for m in scop.measures),
    )


def action_expressions(action: Action) -> tuple[Expr, ...]:
    """What an action reads and writes itself, without the actions of its `sides`."""
    match action:
        case Store(target, value):
            return (target, value)
        case Let(_, _, value):
            return (value,)
        case Branch(test) | Repeat(test):
            return (test,)
