"""Clean-up of kernel bodies: unused declarations, empty branches, tests nested without need.

What carries out an action of the source stays: `analysis.dead` has left out those that do not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from typing import TypeAlias

from polygpu.model.expr import Binary, Cast, Expr, Name
from polygpu.model.kernel import Assign, Declare, DeclareArray, For, If, Origin, Statement, While
from polygpu.model.kernel_walk import (
    bodies,
    free_names,
    map_operands,
    map_statements,
    operands,
    reads,
    statements,
    with_bodies,
    written,
)
from polygpu.model.linear import simplify
from polygpu.model.rewrite import Change, rewrite, scalars_in, substitute
from polygpu.support.dataclass import dataclass
from polygpu.support.recent import Same


def tidy(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """`body` without declarations nobody reads and branches with nothing in them."""
    kept, _ = _Backwards({}).body(body, frozenset())
    return _joined(kept)


Kept: TypeAlias = tuple[Statement, frozenset[str]] | None
"""What is left of a statement, and the names it reads; None where nothing is."""


@dataclass(frozen=True)
class _Backwards:
    """Goes over code from its end. `loops` are those it has been over, with what is read later of the names
    that they give values: the body of a loop is gone over twice, and those of loops in it no more often.
    """

    loops: dict[tuple[Same, frozenset[str]], Kept]

    def body(
        self, body: tuple[Statement, ...], after: frozenset[str]
    ) -> tuple[tuple[Statement, ...], frozenset[str]]:
        """The statements that matter when `after` is read later, and the names read from the first one on."""
        kept: list[Statement] = []
        needed = set(after)
        for s in reversed(body):
            made = self.statement(s, needed)
            if made is None:
                kept = _without(s, kept)
                continue
            new, names = made
            kept.append(new)
            if isinstance(new, Declare):
                needed.discard(new.name)
            needed |= names
        return tuple(reversed(kept)), frozenset(needed)

    def statement(self, s: Statement, after: Set[str]) -> Kept:
        match s:
            case Declare(name=name, origin=None) | Assign(Name(name), origin=None) if name not in after:
                return None
            case For():
                key = Same(s), frozenset(after & _given(s))
                if key not in self.loops:
                    self.loops[key] = self.loop(s, key[1])
                return self.loops[key]
            case If(origin=None):
                return self.branch(s, frozenset(after))
        if bodies(s):
            return s, frozenset(free_names((s,)))
        return s, scalars_in(*operands(s)) - ({s.name} if isinstance(s, Declare) else set())

    def loop(self, s: For, after: frozenset[str]) -> Kept:
        # a value assigned in one iteration may be read in the next: what the body reads is read "after" too
        anywhere = (expr for inner in statements(s.body) for expr in reads(inner))
        _, first = self.body(s.body, after | scalars_in(*anywhere))
        body, needed = self.body(s.body, first)
        if not body:
            return None
        return replace(s, body=body), (needed - {s.index}) | scalars_in(s.lower, s.upper)

    def branch(self, s: If, after: frozenset[str]) -> Kept:
        then, first = self.body(s.then, after)
        otherwise, second = self.body(s.otherwise, after)
        if not then and not otherwise:
            return None
        return replace(s, then=then, otherwise=otherwise), first | second | scalars_in(s.test)


def _given(s: For) -> set[str]:
    """The names that a loop's body gives values."""
    found = (s.name if isinstance(s, Declare) else written(s) for s in statements(s.body))
    return {n.name if isinstance(n, Name) else n for n in found if isinstance(n, Name | str)}


def _without(dropped: Statement, rest: list[Statement]) -> list[Statement]:
    """`rest`, its last statement first, where origins may still name what `dropped` declares."""
    match dropped:
        case Declare(name, _, value, False) if value is not None:
            return [*_with_value(rest[::-1], name, value)][::-1]
    return rest


def _with_value(body: Iterable[Statement], name: str, value: Expr) -> Iterator[Statement]:
    """`body` with a value for a name in its origins, as far as nothing else has the name."""

    def put(e: Expr) -> Expr:
        return substitute(e, {name: value})

    known = True
    for s in body:
        new = with_origin(s, put) if known else s
        known = known and not (isinstance(s, Declare | DeclareArray) and s.name == name)
        if known and not (isinstance(s, For) and s.index == name):
            new = with_bodies(new, (tuple(_with_value(inner, name, value)) for inner in bodies(new)))
        yield new


def with_origin(s: Statement, put: Change) -> Statement:
    """`s` with `put` applied to what its origin is made of."""
    match s:
        case Assign() | Declare() | If() | While() if s.origin is not None:
            return replace(s, origin=_origin(s.origin, put))
    return s


def _origin(origin: Origin, put: Change) -> Origin:
    inside = origin.inside if origin.inside is None else simplify(put(origin.inside))
    return replace(origin, arguments=tuple(simplify(put(a)) for a in origin.arguments), inside=inside)


def _joined(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """`if (a) if (b) ...` as `if (a && b) ...`; a branch of the source keeps the tests of its own."""
    return tuple(_with_joined(s) for s in body)


def _with_joined(s: Statement) -> Statement:
    if isinstance(s, If | While) and s.origin is not None:
        return s
    s = with_bodies(s, map(_joined, bodies(s)))
    match s:
        case If(test, (If(inner, inside, (), uniform, origin),), ()):
            return If(Binary("&&", test, inner), inside, (), s.uniform and uniform, origin)
    return s


def substituted(body: tuple[Statement, ...], values: dict[str, Expr]) -> tuple[Statement, ...]:
    """`body` with names replaced by expressions wherever they are read."""

    def put(expr: Expr) -> Expr:
        return substitute(expr, values)

    return _rewritten(body, put, index=lambda expr: simplify(put(expr)))


def typed(body: tuple[Statement, ...], types: dict[str, str]) -> tuple[Statement, ...]:
    """`body` where scalars of these `types` are passed as int: computations see the types of the source.

    Affine subscripts, bounds and tests of polyhedra name them as int anyway.
    """

    def change(expr: Expr) -> Expr | None:
        match expr:
            case Name(name, ctype) if ctype == types.get(name):
                return Cast(ctype, Name(name))
        return None

    def put(expr: Expr) -> Expr:
        return rewrite(expr, change)

    return _rewritten(body, put, put) if types else body


def _rewritten(body: tuple[Statement, ...], put: Change, index: Change) -> tuple[Statement, ...]:
    """`body` with `put` applied to all that it reads, `index` to subscripts and bounds."""
    return map_statements(body, lambda s: with_origin(map_operands(s, put, index), put))
