"""What statements of a loop body compute for others of it, put in place: `v = f(a[i]); if (v > t) t = v;`"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import dropwhile, islice

from polygpu.analysis.names import FreeNames
from polygpu.model.expr import Binary, Cast, Expr, Int, Name, Reference, Select, type_of
from polygpu.model.rewrite import (
    action_expressions,
    actions,
    locals_of,
    map_actions,
    reads_of,
    references,
    rewrite,
    scalars_in,
    substitute,
    walk,
)
from polygpu.model.scop import Access, Action, Branch, Let, Scop, Statement, Store
from polygpu.model.updates import alike

_MOST = 1000
"""The parts of a statement that values are put in place up to: what reads a value twice has it twice."""


def within(scop: Scop, s: Statement, level: int) -> Iterator[Statement]:
    """The statements in the loop of `s` at `level`."""
    depth = 2 * level + 2
    return (
        x for x in scop.statements if len(x.iterators) > level and x.schedule[:depth] == s.schedule[:depth]
    )


def outside(s: Statement, level: int) -> tuple[Expr, ...]:
    """The conditions of what is around the loops of `s` from `level` on, where these have iterations: else
    they touch nothing, and what they would touch need not exist. Of a loop whose bounds another one of them
    tells, that is not known.
    """
    mine = {*s.iterators[level:]}
    around = tuple(c for c in s.domain if not scalars_in(c) & mine)
    return (*around, *(test for name in s.iterators[level:] for test in _entered(s.domain, name, mine)))


def _entered(domain: Sequence[Expr], name: str, iterators: Set[str]) -> Iterator[Expr]:
    """That each lower bound of a loop is below each upper one."""
    known = [
        (op, bound)
        for op, bound in (_bound(c, name) for c in domain)
        if bound is not None and not scalars_in(bound) & iterators
    ]
    for low, least in known:
        for high, most in known:
            if low in (">=", ">") and high in ("<=", "<"):
                strict = (low == ">") + (high == "<")
                yield Binary(
                    "<" if strict else "<=", Binary("+", least, Int(1)) if strict == 2 else least, most
                )


def _bound(c: Expr, name: str) -> tuple[str, Expr | None]:
    match c:
        case Binary(op, Name(found), bound) if found == name and op in ("<", "<=", ">", ">="):
            return op, bound
    return "", None


def named(scop: Scop, name: str) -> Statement:
    """A statement where it is now: what was made of others may have moved it."""
    return next(s for s in scop.statements if s.name == name)


def member(r: Reference) -> tuple[str, str]:
    """The array, and the member of its elements: what overlaps with nothing else."""
    return r.array, r.field


def written(statements: Iterable[Statement]) -> set[tuple[str, str]]:
    return {member(a.reference) for x in statements for a in x.accesses if a.write}


def inlined(
    scop: Scop, s: Statement, level: int, after: bool = False, free: FreeNames | None = None
) -> Statement | None:
    """`s` with what earlier statements of the same loop body compute for it: `v = f(a[i]); if (v > t) t = v;`

    None where it reads what the loop changes in another way. What is there still `after` the loop stays as it
    is, if `s` is to go there. The values are in locals of `s` where there are `free` names for these.
    """
    inside = [x for x in within(scop, s, level) if x.name != s.name]
    block = [x for x in inside if _place(x) == _place(s)]
    before = [x for x in block if x.schedule[-1:] < s.schedule[-1:]]
    elsewhere, stay = written(x for x in inside if x not in block), set[tuple[str, str]]()
    for w in sorted(before, key=lambda x: x.schedule[-1:], reverse=True):
        read = _read(s) & written((w,)) - stay
        if read and after and read <= kept(inside, s, level):
            stay |= read
            continue
        if read and (read & elsewhere or not _supplies(w, s)):
            return None
        s = _with_value(s, w, free) if read else s
        if read and not _is_small(e for a in actions(s.body) for e in reads_of(a)):
            return None
        if read and stay & {member(a.reference) for a in w.accesses if not a.write}:
            return None
    return None if (_read(s) - stay) & written(inside) else s


def _is_small(expressions: Iterable[Expr]) -> bool:
    return next(islice((part for e in expressions for part in walk(e)), _MOST, None), None) is None


def _place(s: Statement) -> tuple[object, ...]:
    """What statements of one loop body share that run in the same iterations."""
    return s.iterators, s.domain, s.schedule[:-1]


def _read(s: Statement) -> set[tuple[str, str]]:
    return {member(a.reference) for a in s.accesses if not a.write}


def _supplies(w: Statement, s: Statement) -> bool:
    """Whether all that `s` reads of what `w` stores is the one element that `w` stores, or may store."""
    stored = _stored(w)
    if stored is None:
        return False
    target = stored[0].target
    reads = (a.reference for a in s.accesses if not a.write)
    return all(alike(target, r) for r in reads if member(r) == member(target))


def _stored(w: Statement) -> tuple[Store, Expr | None] | None:
    """The only store of a statement, and the test that it may be under."""
    match w.body:
        case (Store() as store,):
            return store, None
        case (Branch(test, (Store() as store,), ()),):
            return store, test
    return None


def kept(inside: Sequence[Statement], s: Statement, level: int) -> set[tuple[str, str]]:
    """The arrays, or members, of which `s` reads what was stored in the same iteration, and no other one of
    its loops from `level` on stores: behind these loops it is there still.
    """
    own = {*s.iterators[level:]}
    reads = [a.reference for a in s.accesses if not a.write and _each_its_own(a.reference, own)]
    return {
        member(r)
        for r in reads
        if all(alike(r, other) for other in reads if member(other) == member(r))
        and member(r) not in written((s,))
        and _supplied(inside, s, r)
    }


def _each_its_own(r: Reference, iterators: Set[str]) -> bool:
    """Whether each iterator alone tells, but for a constant, a subscript of its own."""
    alone = [_iterator(e) for e in r.subscripts]
    return all(alone.count(name) == 1 for name in iterators)


def _iterator(e: Expr) -> str | None:
    match e:
        case Name(name) | Binary("+" | "-", Name(name), Int()):
            return name
    return None


def _supplied(inside: Sequence[Statement], s: Statement, r: Reference) -> bool:
    """Whether `r` reads what the only store to an array stored, before `s` in the same iteration."""
    writers = [x for x in inside if member(r) in written((x,))]
    if len(writers) != 1:
        return False
    match writers[0]:
        case Statement(body=(Store(target, value),)) as w if alike(target, r):
            same = _place(w) == _place(s) and w.schedule[-1:] < s.schedule[-1:]
            return same and not reads_any(value, {r.array})
    return False


def _with_value(s: Statement, w: Statement, free: FreeNames | None) -> Statement:
    """`s` with what `w` stores in place of the element it reads; under a test, it still reads that too."""
    stored = _stored(w)
    assert stored is not None
    store, test = stored
    target = store.target
    exact = type_of(store.value) == target.type
    value = store.value if exact else Cast(target.type, store.value)
    replaced = [a for a in s.accesses if not a.write and alike(a.reference, target)]

    def new(old: Expr) -> Expr:
        return value if test is None else Select(test, value, old)

    local = None if free is None else Let(free.new(target.array), target.type, new(replaced[0].reference))

    def changed(e: Expr) -> Expr | None:
        if not isinstance(e, Reference) or not alike(e, target):
            return None
        return new(e) if local is None else Name(local.name, local.type)

    def put(e: Expr) -> Expr:
        return rewrite(e, changed)

    def place(target: Reference) -> Reference:
        return replace(target, subscripts=tuple(map(put, target.subscripts)))

    def access(a: Access) -> Access:
        return replace(a, reference=place(a.reference))

    mine = [access(a) for a in s.accesses if a not in replaced] + (replaced if test is not None else [])
    reads = [a for a in w.accesses if not a.write]
    body = (*(() if local is None else (local,)), *map_actions(s.body, put, place))
    return replace(s, body=body, accesses=(*reads, *mine))


def without_locals(body: Sequence[Action]) -> tuple[Action, ...]:
    """A body without the locals that it begins with."""
    return tuple(dropwhile(lambda a: isinstance(a, Let) and not a.assign, body))


def needed(locals_: Sequence[Action], body: Sequence[Action]) -> tuple[Action, ...]:
    """Those of the locals that actions read, directly or by others of them."""
    found: list[Action] = []
    names = {*_evaluated(body)}
    for local in reversed(locals_):
        if isinstance(local, Let) and local.name in names:
            found.insert(0, local)
            names |= _evaluated((local,))
    return tuple(found)


def _evaluated(body: Sequence[Action]) -> frozenset[str]:
    return frozenset().union(*(locals_of(x) for x in actions(body)))


def part(s: Statement, body: tuple[Action, ...]) -> Statement:
    """`s` with a body of which all references are some of its own, perhaps with other subscripts."""
    expressions = (e for a in actions(body) for e in action_expressions(a))
    here = {r.site: r for e in expressions for r in references(e)}
    kept = (a for a in s.accesses if a.reference.site in here)
    return replace(s, body=body, accesses=tuple(replace(a, reference=here[a.reference.site]) for a in kept))


def with_values(s: Statement) -> Statement:
    """`s` with the values of the locals that it begins with, in place of these, unless they are large."""
    values: dict[str, Expr] = {}
    rest = without_locals(s.body)
    for a in s.body[: len(s.body) - len(rest)]:
        assert isinstance(a, Let)
        value = substitute(a.value, values)
        if not _is_small((value,)):
            return s
        values[a.name] = value if type_of(value) == a.type else Cast(a.type, value)

    def put(e: Expr) -> Expr:
        return substitute(e, values)

    def place(r: Reference) -> Reference:
        return replace(r, subscripts=tuple(map(put, r.subscripts)))

    accesses = tuple(replace(a, reference=place(a.reference)) for a in s.accesses)
    return replace(s, body=map_actions(rest, put, place), accesses=accesses) if values else s


def reads_any(e: Expr, arrays: Collection[str]) -> bool:
    return any(r.array in arrays for r in references(e))


def in_parts(scop: Scop, s: Statement, parts: Sequence[Statement]) -> Scop:
    """`scop` with a statement's `parts` instead, of which the first keeps its name.

    `name`_1 would be what index sets call a piece of it.
    """
    free = FreeNames.beside(scop)
    others = (replace(x, name=free.new(f"{s.name}_part{k}")) for k, x in enumerate(parts[1:], 1))
    made = (replace(parts[0], name=s.name), *others)
    return replace(scop, statements=tuple(behind(scop, s, len(s.iterators), made)))


def behind(scop: Scop, old: Statement, level: int, made: Sequence[Statement]) -> Iterator[Statement]:
    """All statements, those `made` instead of one in this order right behind its loop at `level`."""
    at = 2 * level
    place = old.schedule[at]
    assert isinstance(place, int)
    for s in scop.statements:
        here = s.schedule[at] if s.schedule[:at] == old.schedule[:at] else place
        if s.name == old.name:
            yield from (_at(x, at, place + k) for k, x in enumerate(made, 1))
        elif isinstance(here, int) and here > place:
            yield _at(s, at, here + len(made))
        else:
            yield s


def _at(s: Statement, position: int, place: int) -> Statement:
    return replace(s, schedule=(*s.schedule[:position], place, *s.schedule[position + 1 :]))
