"""The shape of kernel statements: their expressions and bodies, and walks over them.

`polygpu.model.rewrite` has the same of expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, count
from typing import TypeAlias

from polygpu.model.expr import Expr, Int, Name, Reference
from polygpu.model.kernel import (
    BUILT_IN,
    Assign,
    Barrier,
    Declare,
    DeclareArray,
    For,
    If,
    Move,
    Statement,
    While,
)
from polygpu.model.rewrite import Change, names_in, references, walk

Body: TypeAlias = tuple[Statement, ...]


def bodies(s: Statement) -> tuple[Body, ...]:
    """The bodies of a loop or a branch; none of another statement."""
    match s:
        case For() | While():
            return (s.body,)
        case If():
            return s.then, s.otherwise
    return ()


def with_bodies(s: Statement, new: Iterable[Body]) -> Statement:
    """`s` with other `bodies`."""
    match s:
        case For() | While():
            (body,) = new
            return replace(s, body=body)
        case If():
            then, otherwise = new
            return replace(s, then=then, otherwise=otherwise)
    return s


def statements(body: Iterable[Statement]) -> Iterator[Statement]:
    """All statements of `body`, those inside of one right behind it."""
    left = [*body][::-1]
    while left:
        s = left.pop()
        yield s
        if isinstance(s, If):
            left += s.otherwise[::-1]
            left += s.then[::-1]
        elif isinstance(s, For | While):
            left += s.body[::-1]


def operands(s: Statement) -> tuple[Expr, ...]:
    """The expressions of a statement, those of its bodies excluded: a target goes first."""
    match s:
        case Declare(value=value):
            return () if value is None else (value,)
        case Assign(target, value):
            return target, value
        case Move(target, source):
            return target, source
        case For():
            return s.lower, s.upper
        case If() | While():
            return (s.test,)
    return ()


def written(s: Statement) -> Reference | Name | None:
    """What a statement assigns to."""
    return s.target if isinstance(s, Assign | Move) else None


def reads(s: Statement) -> tuple[Expr, ...]:
    """What a statement reads: its operands, of a target only the subscripts."""
    match written(s):
        case None:
            return operands(s)
        case Reference() as target:
            return *target.subscripts, *operands(s)[1:]
    return operands(s)[1:]


def map_operands(s: Statement, value: Change, index: Change) -> Statement:
    """`s` with `index` applied to the subscripts of what it copies or assigns to and to bounds of a loop, and
    `value` to what else it computes.
    """

    def place(r: Reference) -> Reference:
        return replace(r, subscripts=tuple(map(index, r.subscripts)))

    match s:
        case Declare() if s.value is not None:
            return replace(s, value=value(s.value))
        case Assign(target, given):
            where = place(target) if isinstance(target, Reference) else target
            moved = place(given) if isinstance(given, Reference) else value(given)
            return Assign(where, moved, s.origin)
        case Move(target, source):
            return replace(s, target=place(target), source=place(source))
        case For():
            return replace(s, lower=index(s.lower), upper=index(s.upper))
        case If() | While():
            return replace(s, test=value(s.test))
    return s


def map_statements(body: Iterable[Statement], change: Callable[[Statement], Statement]) -> Body:
    """`body` with `change` applied to every statement; then to those inside of what it has become."""

    def one(s: Statement) -> Statement:
        new = change(s)
        return with_bodies(new, (map_statements(inner, change) for inner in bodies(new)))

    return tuple(map(one, body))


def names_used(body: Iterable[Statement]) -> frozenset[str]:
    """Names of scalars and arrays that the statements mention, at any depth."""
    return names_in(*(expr for s in statements(body) for expr in operands(s)))


def free_names(body: Body) -> list[str]:
    """Scalars that `body` uses and does not declare, the built-in indices apart, in order of use."""
    used: dict[str, None] = {}
    known = set(BUILT_IN)
    for s in statements(body):
        for expr in operands(s):
            used.update(dict.fromkeys(e.name for e in walk(expr) if isinstance(e, Name)))
        match s:
            case Declare(name=name) | DeclareArray(name=name) | For(index=name):
                known.add(name)
    return [n for n in used if n not in known]


def fresh_name(name: str, taken: set[str]) -> str:
    """`name`, numbered if it is `taken`, to which the result is added."""
    numbered = (f"{name}_{k}" for k in count(2))
    found = next(n for n in chain((name,), numbered) if n not in taken)
    taken.add(found)
    return found


def hidden_names(body: Body, around: frozenset[str] = frozenset()) -> Iterator[str]:
    """Scalars and arrays that `body` declares where something `around` has the name: C takes the inner one,
    and what is meant is not told from a name.
    """
    for s in body:
        match s:
            case Declare(name=name) | DeclareArray(name=name) | For(index=name):
                if name in around:
                    yield name
                inside = around | {name}
                around = around if isinstance(s, For) else inside
            case _:
                inside = around
        for inner in bodies(s):
            yield from hidden_names(inner, inside)


def touched(body: Body) -> tuple[set[str], set[str]]:
    """Names of arrays that `body` reads and writes (in any space)."""
    inside = tuple(statements(body))
    read = {r.array for s in inside for expr in reads(s) for r in references(expr)}
    targets = (written(s) for s in inside)
    return read, {target.array for target in targets if isinstance(target, Reference)}


def has_barrier(s: Statement) -> bool:
    """Whether the statement is a barrier or contains one."""
    return any(isinstance(inner, Barrier) for inner in statements((s,)))


def loop_length(loop: For) -> int | None:
    """How often the loop runs; None where that is not constant."""
    match loop:
        case For(lower=Int(lower), upper=Int(upper), step=step):
            return max(0, -(-(upper - lower) // step))
    return None
