"""Arrays of unknown size that data-dependent subscripts read: what the host measures of them.

    region:    for i { s = 0; for (k = ptr[i]; k < ptr[i + 1]; k++) s += val[k] * x[col[k]]; y[i] = s; }
    measures:  for i { if (ptr[i] < ptr[i + 1]) { val, col: ptr[i]; val, col: ptr[i + 1] - 1; } }
               for i { for (k = ptr[i]; k < ptr[i + 1]; k++) x: col[k]; }

These are slices of the region's statements (Weiser, 1984): the subscripts, the tests on the way to them, and
the locals that both are made of. What a slice reads stays as it is in the region, so the host finds just the
subscripts that the region has. It is an inspector as those of Saltz et al. (1991), for sizes alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product

from polygpu.analysis.aliasing import may_overlap
from polygpu.analysis.names import FreeNames
from polygpu.model.expr import (
    SIZES,
    Binary,
    Call,
    Cast,
    Expr,
    Int,
    Name,
    Reference,
    Select,
    Unary,
    is_floating,
    type_of,
)
from polygpu.model.rewrite import (
    actions,
    children,
    reads_of,
    references,
    repeats,
    scalars_in,
    substitute,
    walk,
)
from polygpu.model.scop import (
    Access,
    Action,
    Array,
    Branch,
    Let,
    Measure,
    Repeat,
    Scalar,
    Scop,
    Store,
)

WIDE = "long long"
_EXACT = frozenset({"min", "max", "floord", "abs", "labs", "llabs"})  # on hosts as on devices

Body = tuple[Action, ...]


def measured(scop: Scop) -> Scop:
    """`scop` with the extents that it lacks as scalars, and how the host measures these; as it is where it
    cannot measure one.
    """
    left = [a for a in scop.arrays if is_unbounded(scop, a)]
    if not left or any(s.ends for s in scop.statements):
        return scop
    written = {a.reference.array for s in scop.statements for a in s.accesses if a.write}
    apart = _apart(scop, left, written)
    names = _extents(scop, left)
    measures: list[Measure] = []
    while left:
        known = {a.name for a in scop.arrays if _is_readable(a)} - {a.name for a in left} - written
        mine = [a for a in left if a.name not in written]
        for certain, more in product((False, True), (set[str](), apart)):
            alone = [(a, _measure(scop, {a.name: names[a.name]}, certain)) for a in mine]
            ready = [a for a, made in alone if _is_exact(made, known | more)]
            if ready:
                break
        else:
            return scop
        measures.append(_measure(scop, {a.name: names[a.name] for a in ready}, certain))
        left = [a for a in left if a not in ready]
    return _with_measures(scop, names, measures)


def _apart(scop: Scop, arrays: Iterable[Array], written: Collection[str]) -> set[str]:
    """Those that no store can reach: nothing has to be known of them to read them before the region."""
    stored = [a for a in scop.arrays if a.name in written and a.storage != "region" and not scop.no_alias]
    return {
        a.name
        for a in arrays
        if _is_readable(a) and a.name not in written and not any(may_overlap(a, b) for b in stored)
    }


def is_unbounded(scop: Scop, array: Array) -> bool:
    """Whether data choose among the elements of an array of which nothing says how many there are."""
    if array.extents[:1] != (None,) or array.pointers or array.storage == "region":
        return False
    mine = (a for s in scop.statements for a in s.accesses if a.reference.array == array.name)
    return any(not (a.affine or a.course or _is_told(a)) for a in mine)


def _is_told(a: Access) -> bool:
    return bool(a.forms and a.forms[0])


def _is_readable(array: Array) -> bool:
    """Whether a slice can name its elements."""
    s = array.structure
    return bool(array.extents) and not array.pointers and not (s is not None and (s.complex or s.pointers))


def extent_of(array: Array) -> str:
    """What an extent that is measured is called, if nothing else is."""
    return f"{array.name}_extent"


def _extents(scop: Scop, arrays: Iterable[Array]) -> dict[str, str]:
    """The names that those of the arrays get."""
    free = FreeNames.beside(scop)
    return {a.name: free.new(extent_of(a)) for a in arrays}


def _with_measures(scop: Scop, names: Mapping[str, str], measures: Iterable[Measure]) -> Scop:
    scalars = tuple(Scalar(n, WIDE, affine=True, host=f"polygpu_{n}") for n in names.values())
    arrays = (
        replace(a, extents=(Name(names[a.name]), *a.extents[1:])) if a.name in names else a
        for a in scop.arrays
    )
    return replace(
        scop,
        arrays=tuple(arrays),
        scalars=(*scop.scalars, *scalars),
        context=(*scop.context, *(Binary(">=", Name(s.name), Int(0)) for s in scalars)),
        measures=tuple(measures),
    )


def _measure(scop: Scop, extents: Mapping[str, str], certain: bool) -> Measure:
    """What is left of each statement for the extents of these arrays, and for the scalars that this needs.

    Elements that loops alone tell are there whether data have them read or not, as those of other arrays are:
    where these are `certain`, tests of data in front of them are left out.
    """
    scalars = {a.name for a in scop.arrays if not a.extents and a.structure is None}
    stored, before = frozenset(extents.values()), None
    while stored != before:
        visited = [tuple(_visits(s.body, extents)) for s in scop.statements]
        if certain:
            visited = [tuple(_untested(body, _locals(body), extents.values())) for body in visited]
        bodies = [_pruned(body, frozenset(), stored)[0] for body in visited]
        before = stored
        stored |= {r.array for body in bodies for r in _read_in(body) if r.array in scalars}
    left = ((s, body) for s, body in zip(scop.statements, bodies, strict=True) if body)
    return Measure(
        tuple(extents.items()),
        tuple(replace(s, body=body, accesses=()) for s, body in left),
        tuple(a for a in scop.arrays if a.name in stored),
    )


def _is_exact(m: Measure, known: Collection[str]) -> bool:
    """Whether it finds the region's own subscripts: all that these depend on is in arrays that are `known` to
    be the same in the region, and computed by hosts as by devices.
    """
    expressions = [e for s in m.statements for a in actions(s.body) for e in _reads(a)]
    same = {*known, *(a.name for a in m.copies)}
    return all(_is_the_same(part, same) for e in expressions for part in walk(e))


def _read_in(body: Body) -> Iterator[Reference]:
    return (r for a in actions(body) for e in _reads(a) for r in references(e))


def _reads(action: Action) -> tuple[Expr, ...]:
    """Without the scalar that an action stores to."""
    return (action.value,) if isinstance(action, Store) else reads_of(action)


def _is_the_same(part: Expr, known: Collection[str]) -> bool:
    match part:
        case Reference(array):
            return array in known
        case Call(function, _, ctype):
            return function in _EXACT and not is_floating(ctype)
        case Binary(op) if op in ("+", "-", "*", "/"):
            return not is_floating(type_of(part))  # hosts may contract a product and a sum
    return True


def _visits(body: Body, extents: Mapping[str, str]) -> Iterator[Action]:
    """The body with stores of subscripts wherever it reads an element."""
    for a in body:
        match a:
            case Store(target, value):
                for e in (*target.subscripts, value):
                    yield from _met(e, extents)
                yield a
            case Let():
                yield from _met(a.value, extents)
                yield a
            case Branch(test, then, otherwise):
                yield from _met(test, extents)
                yield Branch(test, tuple(_visits(then, extents)), tuple(_visits(otherwise, extents)))
            case Repeat(test, inner):
                at_test = tuple(_met(test, extents))
                yield from at_test
                yield Repeat(test, (*_visits(inner, extents), *at_test))


def _met(e: Expr, extents: Mapping[str, str]) -> Iterator[Action]:
    """The stores for all elements that computing `e` reads."""
    match e:
        case Binary("&&" | "||" as op, left, right):
            yield from _met(left, extents)
            inside = tuple(_met(right, extents))
            if inside:
                yield Branch(left if op == "&&" else Unary("!", left), inside)
        case Select(test, yes, no):
            yield from _met(test, extents)
            then, otherwise = tuple(_met(yes, extents)), tuple(_met(no, extents))
            if then or otherwise:
                yield Branch(test, then, otherwise)
        case _:
            for part in children(e):
                yield from _met(part, extents)
            if isinstance(e, Reference) and e.array in extents:
                yield Store(Reference(extents[e.array], (), WIDE), e.subscripts[0])


def _locals(body: Body) -> set[str]:
    return {a.name for a in actions(body) if isinstance(a, Let)}


def _untested(body: Body, own: Collection[str], extents: Collection[str]) -> Iterator[Action]:
    """The body with stores of subscripts without data, or `own` locals of it, in front of tests of data.

    if (d[i] == 2) { x: i; y: k[i]; }   ->   x: i; if (d[i] == 2) { y: k[i]; }
    """

    def is_plain(e: Expr) -> bool:
        return not any(references(e)) and scalars_in(e).isdisjoint(own)

    for a in body:
        match a:
            case Branch(test, then, otherwise):
                both = [tuple(_untested(side, own, extents)) for side in (then, otherwise)]
                found: list[Action] = []
                if not is_plain(test):
                    stores = (x for side in both for x in side if isinstance(x, Store))
                    found = [x for x in stores if x.target.array in extents and is_plain(x.value)]
                yield from found
                left = [tuple(x for x in side if x not in found) for side in both]
                if any(left):
                    yield Branch(test, *left)
            case _:
                yield a


def _pruned(body: Body, live: frozenset[str], stored: Collection[str]) -> tuple[Body, frozenset[str]]:
    """What of `body` stores to what is to be `stored`, or computes a local that is `live` behind it or that
    this needs; and the locals that are live before it.
    """
    found: list[Action] = []
    for a in reversed(body):
        match a:
            case Store(target, value):
                if target.array in stored:
                    found += [] if found[-1:] == [a] else [a]
                    live |= scalars_in(value)
            case Let(name, _, value, assign):
                if name in live:
                    found.append(a)
                    live = (live if assign else live - {name}) | scalars_in(value)
            case Branch(test, then, otherwise):
                first, before = _pruned(then, live, stored)
                second, other = _pruned(otherwise, live, stored)
                if first or second:
                    found.append(Branch(test, first, second))
                    live |= before | other | scalars_in(test)
            case Repeat():
                kept, live = _turns(a, live, stored)
                found += kept
    return tuple(reversed(found)), live


def _turns(a: Repeat, live: frozenset[str], stored: Collection[str]) -> tuple[Body, frozenset[str]]:
    """The same of a loop."""
    inner, before = _pruned(a.body, live, stored)
    if not inner:
        return (), live
    around = live | before | scalars_in(a.test)
    while True:
        inner, before = _pruned(a.body, around, stored)
        if before <= around:
            break
        around |= before
    ends = _ends(Repeat(a.test, inner), live)
    return ((ends,) if ends else (Repeat(a.test, inner),)), around


def _ends(a: Repeat, live: frozenset[str]) -> Branch | None:
    """Of a loop that counts by 1 and only stores what grows with its counter: the first and the last values.

    for (k = a; k < b; k++) x: k + 2;   ->   k = a; if (k < b) { x: k + 2; x: b - 1 + 2; }
    """
    *stores, counts = a.body
    match a.test, counts:
        case (
            Binary("<" | "<=" as op, Name(k) as counter, end),
            Let(name, ctype, Binary("+", Name(same), Int(1)), True),
        ) if k == name == same and k not in live | scalars_in(end) and not repeats(stores):
            pass
        case _:
            return None
    values = [s.value for s in stores if isinstance(s, Store)]
    if len(values) < len(stores) or not all(_grows(value, counter) for value in values):
        return None
    last = end if op == "<=" else Binary("-", end, Int(1))
    last = last if type_of(last) == ctype else Cast(ctype, last)
    behind = (replace(s, value=substitute(s.value, {k: last})) for s in stores if isinstance(s, Store))
    return Branch(a.test, (*stores, *behind))


def _grows(value: Expr, counter: Name) -> bool:
    """Whether it is the counter and something that is the same throughout, without wrapping around."""
    if is_floating(type_of(value)) or "unsigned" in type_of(value):
        return False
    match value:
        case Cast(ctype, inner) if SIZES[ctype] >= SIZES[type_of(inner)]:
            return _grows(inner, counter)
        case Binary("+" | "-", left, right) if counter.name not in scalars_in(right):
            return _grows(left, counter)
        case Binary("+", left, right) if counter.name not in scalars_in(left):
            return _grows(right, counter)
    return value == counter


def read_by(m: Measure) -> tuple[str, ...]:
    """The arrays whose elements the host reads for it, by name."""
    read = {r.array for s in m.statements for r in _read_in(s.body)}
    return tuple(sorted(read - {a.name for a in m.copies}))
