"""Clean-up of kernel bodies: unused declarations, empty branches, tests nested without need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polygpu.model.expr import Binary, Cast, Expr, Name, Reference
from polygpu.model.kernel import Assign, Declare, For, If, Move, Origin, Statement
from polygpu.model.linear import simplify
from polygpu.model.rewrite import rewrite, substitute, walk


def tidy(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """`body` without declarations nobody reads and branches with nothing in them."""
    kept, _ = _backwards(body, frozenset())
    return _joined(kept)


def used_names(exprs: tuple[Expr, ...]) -> set[str]:
    return {e.name for x in exprs for e in walk(x) if isinstance(e, Name)}


def _backwards(
    body: tuple[Statement, ...], after: frozenset[str]
) -> tuple[tuple[Statement, ...], frozenset[str]]:
    """The statements that matter when `after` is read later, and the names read from the first one on."""
    kept: list[Statement] = []
    needed = set(after)
    for s in reversed(body):
        made = _statement(s, frozenset(needed))
        if made is None:
            kept = _without(s, kept)
            continue
        new, reads = made
        kept.append(new)
        if isinstance(new, Declare):
            needed.discard(new.name)
        needed |= reads
    return tuple(reversed(kept)), frozenset(needed)


def _without(dropped: Statement, rest: list[Statement]) -> list[Statement]:
    """`rest`, where origins may still name what `dropped` declares."""
    match dropped:
        case Declare(name, _, value, False) if value is not None:
            return [_in_origins(s, {name: value}) for s in rest]
    return rest


def _in_origins(s: Statement, values: dict[str, Expr]) -> Statement:
    """`s` with names replaced by expressions in the origins it holds, and nowhere else."""

    def put(expr: Expr) -> Expr:
        return substitute(expr, values)

    def inside(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(_in_origins(b, values) for b in body)

    match s:
        case For():
            return replace(s, body=inside(s.body))
        case If():
            origin = _origin(s.origin, put)
            return replace(s, then=inside(s.then), otherwise=inside(s.otherwise), origin=origin)
        case Assign() | Declare() if s.origin is not None:
            return replace(s, origin=_origin(s.origin, put))
    return s


def _origin(origin: Origin | None, put: Callable[[Expr], Expr]) -> Origin | None:
    if origin is None:
        return None
    inside = origin.inside if origin.inside is None else simplify(put(origin.inside))
    return replace(origin, arguments=tuple(simplify(put(a)) for a in origin.arguments), inside=inside)


def _statement(s: Statement, after: frozenset[str]) -> tuple[Statement, set[str]] | None:
    match s:
        case Declare(name, _, value, _):
            if name not in after:
                return None
            return s, used_names((value,)) if value is not None else set()
        case Assign(target, value):
            if isinstance(target, Name) and target.name not in after:
                return None
            places = target.subscripts if isinstance(target, Reference) else (target,)
            return s, used_names((*places, value))
        case Move(target, source, _, _):
            return s, used_names((target, source))
        case For():
            return _loop(s, after)
        case If():
            return _branch(s, after)
    return s, set()


def _loop(s: For, after: frozenset[str]) -> tuple[Statement, set[str]] | None:
    # a value assigned in one iteration may be read in the next: whatever the body reads is read "after" too
    _, first = _backwards(s.body, after | _all_reads(s.body))
    body, reads = _backwards(s.body, first)
    if not body:
        return None
    return replace(s, body=body), (set(reads) - {s.index}) | used_names((s.lower, s.upper))


def _all_reads(body: tuple[Statement, ...]) -> frozenset[str]:
    found: set[str] = set()
    for s in body:
        made = s if isinstance(s, For | If) else None
        match s:
            case Declare(_, _, value, _) if value is not None:
                found |= used_names((value,))
            case Assign(target, value):
                found |= used_names((value, *(target.subscripts if isinstance(target, Reference) else ())))
            case Move(target, source, _, _):
                found |= used_names((target, source))
            case For(_, lower, upper, _, inner, _, _):
                found |= used_names((lower, upper)) | _all_reads(inner)
            case If(test, then, otherwise, _):
                found |= used_names((test,)) | _all_reads(then) | _all_reads(otherwise)
            case _:
                assert made is None
    return frozenset(found)


def _branch(s: If, after: frozenset[str]) -> tuple[Statement, set[str]] | None:
    then, first = _backwards(s.then, after)
    otherwise, second = _backwards(s.otherwise, after)
    if not then and not otherwise:
        return None
    return replace(s, then=then, otherwise=otherwise), set(first | second) | used_names((s.test,))


def _joined(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """`if (a) if (b) ...` as `if (a && b) ...`; a branch of the source keeps the tests of its own."""
    return tuple(_with_joined(s) for s in body)


def _with_joined(s: Statement) -> Statement:
    match s:
        case For():
            return replace(s, body=_joined(s.body))
        case If(_, then, otherwise, _, None):
            s = replace(s, then=_joined(then), otherwise=_joined(otherwise))
            match s:
                case If(test, (If(inner, inside, (), uniform, origin),), ()):
                    both = Binary("&&", test, inner)
                    return If(both, inside, (), s.uniform and uniform, origin)
    return s


def substituted(body: tuple[Statement, ...], values: dict[str, Expr]) -> tuple[Statement, ...]:
    """`body` with names replaced by expressions wherever they are read."""

    def put(expr: Expr) -> Expr:
        return substitute(expr, values)

    return _rewritten(body, put, lambda expr: simplify(put(expr)))


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


def _rewritten(
    body: tuple[Statement, ...], put: Callable[[Expr], Expr], index: Callable[[Expr], Expr]
) -> tuple[Statement, ...]:
    """`body` with `put` applied to all that it reads, `index` to subscripts and bounds."""

    def inside(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return _rewritten(body, put, index)

    def place(r: Reference) -> Reference:
        return replace(r, subscripts=tuple(index(s) for s in r.subscripts))

    def one(s: Statement) -> Statement:
        match s:
            case Declare(_, _, value, _) if value is not None:
                return replace(s, value=put(value), origin=_origin(s.origin, put))
            case Assign(target, value):
                moved = place(value) if isinstance(value, Reference) else put(value)
                where = place(target) if isinstance(target, Reference) else target
                return Assign(where, moved, _origin(s.origin, put))
            case Move(target, source, _, _):
                return replace(s, target=place(target), source=place(source))
            case For():
                return replace(s, lower=index(s.lower), upper=index(s.upper), body=inside(s.body))
            case If():
                return replace(
                    s,
                    test=put(s.test),
                    then=inside(s.then),
                    otherwise=inside(s.otherwise),
                    origin=_origin(s.origin, put),
                )
        return s

    return tuple(one(s) for s in body)
