"""Names, arrays and expressions of kernel bodies."""

from __future__ import annotations

from polygpu.model.expr import (
    Expr,
    Name,
    Reference,
)
from polygpu.model.kernel import (
    BUILT_IN,
    Assign,
    Declare,
    DeclareArray,
    For,
    If,
    Move,
    Statement,
)
from polygpu.model.rewrite import references, walk


def free_names(body: tuple[Statement, ...]) -> list[str]:
    """Names that `body` uses and does not declare, the built-in indices apart, in order of use."""
    used: dict[str, None] = {}
    declared: set[str] = set()
    _collect(body, used, declared)
    return [n for n in used if n not in declared and n not in BUILT_IN]


def _collect(body: tuple[Statement, ...], used: dict[str, None], declared: set[str]) -> None:
    for s in body:
        for expr in expressions_of(s):
            used.update(dict.fromkeys(e.name for e in walk(expr) if isinstance(e, Name)))
        match s:
            case Declare(name, _, _, _) | DeclareArray(name, _, _):
                declared.add(name)
            case For(index, _, _, _, inner, _, _):
                declared.add(index)
                _collect(inner, used, declared)
            case If(_, then, otherwise, _):
                _collect(then, used, declared)
                _collect(otherwise, used, declared)


def expressions_of(s: Statement) -> tuple[Expr, ...]:
    match s:
        case Declare(_, _, value, _):
            return (value,) if value is not None else ()
        case Assign(target, value):
            return (target, value)
        case For(_, lower, upper, _, _, _, _):
            return (lower, upper)
        case If(test, _, _, _):
            return (test,)
        case Move(target, source, _, _):
            return (target, source)
    return ()


def touched(body: tuple[Statement, ...]) -> tuple[set[str], set[str]]:
    """Names of arrays that `body` reads and writes (in any space)."""
    read: set[str] = set()
    written: set[str] = set()
    for s in body:
        target = getattr(s, "target", None)
        for expr in expressions_of(s):
            parts = expr.subscripts if expr is target and isinstance(expr, Reference) else (expr,)
            read |= {r.array for part in parts for r in references(part)}
        if isinstance(target, Reference):
            written.add(target.array)
        for inner in (getattr(s, "body", ()), getattr(s, "then", ()), getattr(s, "otherwise", ())):
            more = touched(inner)
            read |= more[0]
            written |= more[1]
    return read, written
