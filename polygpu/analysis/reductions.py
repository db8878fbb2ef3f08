"""Reductions: statements that only update elements, by terms that may be taken in any order.

    for i: s = s + a[i]                       a sum: all iterations may run at the same time
    for i: if (a[i] > t) t = a[i];            a maximum, once it is `t = a[i] > t ? a[i] : t;`

Terms of integers may always be reordered, and those of fmin and fmax, which pass over NaN, and of which C
leaves open what they make of -0.0 and 0.0 (C99 F.9.9.2); those of other operations of floating-point numbers
where the scop says so of an array in a loop: they round differently then, and of -0.0 and 0.0 another one may
be the first of equals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import groupby, takewhile

import islpy as isl

from polygpu.analysis.dependences import compute
from polygpu.analysis.flow import conflicts
from polygpu.analysis.merge import merged
from polygpu.analysis.polyhedra import Polyhedra, PolyStatement
from polygpu.analysis.straight import bodies, private_arrays
from polygpu.model.decisions import Decision, Place
from polygpu.model.expr import Expr, Reference, Select, is_floating, type_of
from polygpu.model.rewrite import action_expressions, actions, references, rewrite, scalars_in
from polygpu.model.scop import Access, Action, Array, Branch, Let, Loop, Part, Scop, Statement, Store
from polygpu.model.updates import FUNCTIONS, alike, element_update, update
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, maps, tuple_name, union_of
from polygpu.support.position import basename

_MOST = 16  # updates that become one


@dataclass(frozen=True)
class Reduction:
    """`statement` updates elements of `array`, which it does not access otherwise, by `operator`."""

    statement: str
    array: str
    operator: str
    target: Reference


def permitted(scop: Scop, decisions: Iterable[Decision], everything: bool) -> Scop:
    """`scop` with leave to reorder what its own pragmas and decisions say, or `everything`, and extremes of
    fmin and fmax.
    """
    mine = [d for d in decisions if d.key == "reassociate"]
    found = {
        (k, a.name)
        for k, loop in enumerate(scop.loops)
        for a in scop.arrays
        if everything
        or a.name in loop.reassociates
        or any(_names(d, a) and _is_of(d.place, loop, scop) for d in mine)
    }
    found |= _by_functions(scop)
    return replace(scop, reassociated=scop.reassociated | found) if found else scop


def _by_functions(scop: Scop) -> set[tuple[int, str]]:
    """The loops in which all that is stored to an array is what fmin, or fmax, makes of the old value."""
    own = {name for name in FUNCTIONS for text in scop.functions if re.search(rf"\b{name}\s*\(", text)}
    by: dict[tuple[int, str], set[str | None]] = {}
    for s in scop.statements:
        for store in (a for a in actions(s.body) if isinstance(a, Store)):
            for k in s.loops:
                by.setdefault((k, store.target.array), set()).add(update(store))
    return {at for at, operators in by.items() if len(operators) == 1 and operators <= FUNCTIONS - own}


def _names(d: Decision, array: Array) -> bool:
    return not d.items or not {array.name, array.source.partition(".")[0]}.isdisjoint(d.names)


def _is_of(place: Place | None, loop: Loop, scop: Scop) -> bool:
    if place is None or place.function:
        return place is None or place.function in (scop.function, loop.label)
    at = loop.position
    return place.line == at.line and basename(place.file or scop.file) == basename(at.file)


def selected(scop: Scop) -> Scop:
    """`scop` with conditional updates that may be reordered as unconditional ones.

    before: if (a[i] > t) t = a[i];        if (b[i]) s += a[i];
    after:  t = a[i] > t ? a[i] : t;       s = b[i] ? s + a[i] : s;
    """
    return replace(scop, statements=tuple(_selected(scop, s) for s in scop.statements))


def _selected(scop: Scop, s: Statement) -> Statement:
    match s.body:
        case (Branch(test, (Store(target, value),), ()),) if repeats_at(s, target):
            store = Store(target, Select(test, value, target))
            # Elements beyond need not exist, nor those that data tell.
            sometimes = any(a.guards or (a.write and not a.affine) for a in s.accesses)
            if (
                sometimes
                or update(store) is None
                or not may_reorder(scop, s.loops, target.array, target.type)
            ):
                return s
            return replace(s, body=(store,), accesses=tuple(_unconditional(s, target)))
    return s


def _unconditional(s: Statement, target: Reference) -> Iterator[Access]:
    """The accesses of a conditional update once it is none: the old value is read, and written back."""
    write = next(a for a in s.accesses if a.write)
    reads = [a for a in s.accesses if not a.write]
    yield from reads
    if target not in [a.reference for a in reads]:
        yield replace(write, write=False)
    yield replace(write, must=True)


def chained(scop: Scop) -> Scop:
    """`scop` with several updates of one element in a loop body as one, where terms may be reordered.

    before: s = s + a[i]; b[i] = f(i); s = s + b[i];
    after:  b[i] = f(i); s = (s + a[i]) + b[i];
    """
    found: list[Statement] = []
    whose: dict[str, str] = {}
    for s in scop.statements:
        earlier = _continued(scop, s, found)
        if earlier is not None:
            found.remove(earlier)
            whose[earlier.name] = s.name
        found.append(_chain(earlier, s) if earlier is not None else s)
    if not whose:
        return scop
    assumptions = (replace(a, statement=_last(whose, a.statement)) for a in scop.assumptions)
    return replace(scop, statements=tuple(found), assumptions=tuple(dict.fromkeys(assumptions)))


def gathered(scop: Scop, decisions: Sequence[Decision]) -> Scop:
    """`scop` with updates in one loop body, and the values that only they use, as one statement.

    before: t = a[i]; s = s + t; q = q + t * t;         three statements, and an array of t
    after:  {float t = a[i]; s = s + t; q = q + t * t;}

    Arrays that decisions name stay arrays.
    """
    blocks = list(bodies(scop.statements))
    private = private_arrays(scop, blocks, {name for d in decisions for name in d.names})
    users: dict[str, set[str]] = {}
    for s in scop.statements:
        for a in s.accesses:
            users.setdefault(a.reference.array, set()).add(s.name)
    clusters = [c for b in blocks for c in _gathered(scop, b, private, users)]
    return merged(scop, clusters, private) if len(clusters) < len(scop.statements) else scop


def _gathered(
    scop: Scop, block: Sequence[Statement], private: Set[str], users: Mapping[str, Set[str]]
) -> Iterator[tuple[Statement, ...]]:
    """The statements of a loop body in order, updates that follow each other as one."""
    for together, run in groupby(block, lambda s: is_update(scop, s) or _is_private(s, private)):
        cluster = tuple(run)
        used = {a.reference.array for s in cluster for a in s.accesses} & private
        alone = all(users[array] <= {s.name for s in cluster} for array in used)
        updated = [s.body[0].target.array for s in cluster if isinstance(s.body[0], Store)]
        if together and used and alone and len({*updated}) == len(updated):
            yield cluster
        else:
            yield from ((s,) for s in cluster)


def _is_private(s: Statement, private: Set[str]) -> bool:
    return len(s.body) == 1 and isinstance(s.body[0], Store) and s.body[0].target.array in private


def is_update(scop: Scop, s: Statement) -> bool:
    """Whether all that a statement does is to update one element, by terms in any order."""
    match s.body:
        case (Store(target) as store,) if repeats_at(s, target):
            may = may_reorder(scop, s.loops, target.array, target.type)
            return may and update(store) is not None
    return False


def _last(whose: Mapping[str, str], name: str) -> str:
    while name in whose:
        name = whose[name]
    return name


def _continued(scop: Scop, second: Statement, found: Sequence[Statement]) -> Statement | None:
    """The statement before in the loop body that can wait for `second`, and updates the same likewise."""
    two = _plain_update(scop, second)
    if two is None:
        return None
    touched: set[tuple[str, bool]] = set()
    for first in takewhile(lambda s: _body(s) == _body(second), reversed(found)):
        if len(first.parts) < _MOST and _plain_update(scop, first) == two:
            reads = {a.reference.array for a in first.accesses if not a.write}
            waits = not any(name in reads if write else name == two[0].array for name, write in touched)
            return first if waits else None
        touched |= {(a.reference.array, a.write) for a in first.accesses}
    return None


def _body(s: Statement) -> tuple[object, ...]:
    """What statements of one loop body have in common."""
    return s.iterators, s.loops, s.domain, s.schedule[:-1]


def _plain_update(scop: Scop, s: Statement) -> tuple[Reference, str] | None:
    """The element that a statement updates, and the operator, if its value is not rounded once more."""
    match s.body:
        case (Store(target, value) as store,) if repeats_at(s, target):
            operator, exact = update(store), type_of(value) == target.type or not is_floating(target.type)
            may = may_reorder(scop, s.loops, target.array, target.type)
            if operator in ("+", "*", "&", "|", "^") and exact and may:
                return replace(target, site=-1), operator
    return None


def _chain(first: Statement, second: Statement) -> Statement:
    (one,), (two,) = first.body, second.body
    assert isinstance(one, Store) and isinstance(two, Store)

    def old(e: Expr) -> Expr | None:
        return one.value if isinstance(e, Reference) and e.array == two.target.array else None

    later = [a for a in second.accesses if a.write or a.reference.array != two.target.array]
    parts = tuple(p for s in (first, second) for p in s.parts or (Part(s.position, s.text),))
    return replace(
        second,
        body=(Store(two.target, rewrite(two.value, old)),),
        accesses=(*(a for a in first.accesses if not a.write), *later),
        parts=tuple(dict.fromkeys(parts)),
        text=f"{first.text} ... {second.text}",
    )


def repeats_at(s: Statement, target: Reference) -> bool:
    """Whether the innermost loop of a statement stays at one element."""
    return bool(s.iterators) and s.iterators[-1] not in scalars_in(*target.subscripts)


def may_reorder(scop: Scop, loops: tuple[int, ...], array: str, ctype: str) -> bool:
    """Whether updates of an array in these loops may be reordered."""
    return not is_floating(ctype) or any((k, array) in scop.reassociated for k in loops)


def reductions(p: Polyhedra, sources: Mapping[str, str], permitted: bool = True) -> Iterator[Reduction]:
    """Those of `p` that may be reordered, or all of them unless only the `permitted` ones are asked for.

    `sources` are the arrays of the source that temporaries with other names stand for.
    """
    for s in p.statements:
        for store in (a for a in s.body if isinstance(a, Store)):
            array, operator = store.target.array, update(store)
            if operator is None or not _updates_only(s, store):
                continue
            if not permitted or may_reorder(p.scop, s.loops, sources.get(array, array), store.target.type):
                yield Reduction(s.name, array, operator, store.target)


def element_reductions(p: Polyhedra, sources: Mapping[str, str]) -> Iterator[Reduction]:
    """Statements that only update an element by terms which may read other elements of the array, too."""
    for s in p.statements:
        match s.body:
            case (*values, Store(target) as store) if (operator := element_update(store)) is not None:
                if not all(isinstance(v, Let) and not _reads(v, target) for v in values):
                    continue
                writes = [a for a in s.accesses if a.write]
                sure = all(a.affine and a.must for a in writes) and not target.field
                source = sources.get(target.array, target.array)
                if sure and may_reorder(p.scop, s.loops, source, target.type):
                    yield Reduction(s.name, target.array, operator, target)


def _reads(action: Action, element: Reference) -> bool:
    return any(alike(r, element) for e in action_expressions(action) for r in references(e))


def _updates_only(s: PolyStatement, store: Store) -> bool:
    """Whether nothing else in the statement uses the array, of which it surely updates one element."""
    array = store.target.array
    others = (e for a in s.actions.values() if a is not store for e in action_expressions(a))
    writes = [a for a in s.accesses if a.write and a.reference.array == array]
    sure = all(a.affine and a.must for a in writes) and not store.target.field
    return sure and not any(r.array == array for e in others for r in references(e))


def relaxed(p: Polyhedra, found: Sequence[Reduction]) -> isl.UnionMap:
    """The dependences that are left where the terms of reductions may come in any order.

    What else uses their elements stays before or behind all terms that it was before or behind.
    """
    arrays: dict[str, set[str]] = {}
    for r in found:
        arrays.setdefault(r.statement, set()).add(r.array)
    statements = tuple(_without(s, arrays.get(s.name, set())) for s in p.statements)
    left = compute(replace(p, statements=statements)).all
    for array in sorted({r.array for r in found}):
        left = left.union(_around(p, array, {r.statement for r in found if r.array == array}))
    return left


def _without(s: PolyStatement, arrays: set[str]) -> PolyStatement:
    return replace(s, accesses=tuple(a for a in s.accesses if a.reference.array not in arrays))


def _around(p: Polyhedra, array: str, names: set[str]) -> isl.UnionMap:
    """The conflicts over an array between updates and all that are not of the same statement."""
    order = p.schedule()
    accesses = p.accesses_of(array)
    there = union_of([a.relation for _, a in accesses])
    updates = union_of([a.relation for s, a in accesses if a.write and s.name in names])
    both = conflicts(updates, there, order).union(conflicts(there, updates, order))
    return union_of([m for m in maps(both) if tuple_name(m, D.in_) != tuple_name(m, D.out)])
