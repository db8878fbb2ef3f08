"""Folds: conditional stores of a loop of which the last one that happens decides, found by its iteration.

    before: for i: if (a[i] > max) { max = a[i]; index = i; }
    after:  best = -inf;  for i: best = a[i] > best ? a[i] : best;
            at = none;    for i: at = a[i] == best && i < at ? i : at;         the first of equals
            if (at != none) if (a[at] > max) { max = a[at]; index = at; }

The elements stored to stay the same and nothing else uses them meanwhile, so that only the last stores count.
The source's own statement makes them, in the iteration `at`: whatever it stores is exact to the bit, and all
that comes in another order are comparisons and iterations, where the order is of no consequence.

- Stores that happen where `value > t`, and change `t` to `value`, happen last where the value first equals
  the largest one, with `>=` where it does so last. The largest may be no more than `t` was: then the
  statement does nothing, as in the source. No number is larger than NaN, which is larger than nothing.
- Where `!(value <= t)` is the test, NaN is stored, and so is what comes behind it. Then what counts begins
  behind the last NaN, and in any case something is stored.
- Stores under a test that does not read what they store happen last in the last iteration that passes it.
  They may read what those before them have stored in the same iteration.
- Where the loop ends with them, they happen in the first one: `if (a[i] > t) { at = i; break; }`.

In several loops the iterations are compared one loop after another: `i_at` is the first row that has an
equal value, `j_at` its first place in that row.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import reduce

from polygpu.analysis.inlined import (
    behind,
    inlined,
    kept,
    member,
    named,
    outside,
    reads_any,
    with_values,
    within,
    written,
)
from polygpu.analysis.names import FreeNames
from polygpu.analysis.reductions import is_update
from polygpu.model.expr import (
    Binary,
    Call,
    Cast,
    Expr,
    Int,
    Name,
    Position,
    Reference,
    Select,
    Unary,
    is_floating,
    type_of,
)
from polygpu.model.rewrite import map_access, map_actions, references, scalars_in, substitute, walk
from polygpu.model.scop import Access, Action, Array, Assumption, Branch, Course, Let, Scop, Statement, Store
from polygpu.model.updates import EXTREMES, OTHER_SIDE, alike, neutral
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic

_NEGATED = {"<=": ">", "<": ">=", ">=": "<", ">": "<="}
_NONE = {
    "<": Int(2**31 - 1),
    ">": Int(1 - 2**31),
}  # iterations that are compared by these, before any is found
_WIDE = frozenset({"int", "unsigned int", "long", "unsigned long", "long long", "unsigned long long"})


@dataclass(frozen=True)
class _Compared:
    """`value operator target`, where the value is stored to the target: a new extreme value.

    Where it is what was not `negated` in the source, a NaN passes too.
    """

    operator: str
    value: Expr
    target: Reference
    negated: bool


@dataclass(frozen=True)
class _Fold:
    """A conditional statement of which what is last decides, in its loops from `level` on.

    It happens where all `tests` hold, each without what it stores, and `compared`, if that is given.
    """

    scop: Scop
    statement: Statement
    level: int
    tests: tuple[Expr, ...]
    compared: _Compared | None
    branch: Branch

    @property
    def inner(self) -> tuple[str, ...]:
        return self.statement.iterators[self.level :]

    @property
    def upwards(self) -> tuple[bool, ...]:
        """Of each inner loop, whether it counts up."""
        entries = self.statement.schedule[2 * self.level + 1 :: 2]
        return tuple(isinstance(e, str) and not e.startswith("-") for e in entries)


@dataclass(frozen=True)
class _Found:
    """An iteration that data tell: the `place` of each loop, and whether there `is` one."""

    place: dict[str, Expr]
    is_: Expr


def folded(scop: Scop, places: Collection[Position]) -> Scop:
    """`scop` with the folds at these places as loops that threads may share; itself where there are none."""
    for name in [s.name for s in scop.statements if s.position in places]:
        s = named(scop, name)
        if not is_update(scop, s):
            fold = _fold(scop, s)
            scop = scop if fold is None else _Made(scop, fold).scop()
    return scop


def searched(scop: Scop) -> Scop:
    """`scop` with loops that end in the first iteration that passes a test as folds: none is left.

    Raises Diagnosed (PG121) for those that do something else as well.
    """
    for name in [s.name for s in scop.statements if s.ends]:
        s = named(scop, name)
        fold = _fold(scop, s)
        if fold is None or not _goes_beyond(fold):
            message = "how often this loop runs depends on data that cannot all be looked at"
            help_text = "let the test read elements that iterators tell, and none that the loop stores"
            raise Diagnosed(Diagnostic("PG121", "error", message, s.position, help_text))
        scop = _Made(scop, fold).scop()
    return scop


def _goes_beyond(fold: _Fold) -> bool:
    """Whether the test may be evaluated in iterations that the source has no more."""
    parts = [part for t in fold.tests for part in walk(t)]
    known = {a.reference for a in fold.statement.accesses if a.affine}
    told = all(part in known for part in parts if isinstance(part, Reference))
    return told and not any(_may_stop(part) for part in parts)


def _may_stop(e: Expr) -> bool:
    """Whether values exist for which C does not define a quotient or remainder of integers."""
    match e:
        case Binary("/" | "%", _, Int(value)):
            return value in (0, -1)
        case Binary("/" | "%"):
            return not is_floating(type_of(e))
    return False


def _fold(scop: Scop, s: Statement) -> _Fold | None:
    """What may be folded, in as many loops as possible."""
    for level in range(len(s.iterators) - 1 if s.ends else 0, len(s.iterators)):
        if _is_touched(scop, s, level):
            continue
        plain = inlined(scop, with_values(s), level, after=True)
        branch = None if plain is None else _conditional(plain)
        if plain is not None and branch is not None and _alone(scop, s, plain, level):
            return _tested(scop, plain, level, branch)
    return None


def _conditional(s: Statement) -> Branch | None:
    """The statement as stores under a test, if it is nothing else, with elements that are there in all
    iterations: scalars, and what each of them reads. Others need not be where a part of the test fails.
    """
    always = [a.reference for a in s.accesses if not (a.write or a.guards)]
    partly = [a.reference for a in s.accesses if a.guards and a.reference.subscripts]
    there = all(any(alike(r, other) for other in always) for r in partly)
    return _stores_under_a_test(s) if there else None


def _stores_under_a_test(s: Statement) -> Branch | None:
    match s.body:
        case (Branch(_, then, ()) as branch,) if all(isinstance(a, Store) for a in then):
            return branch
        case (Store(target, Select(test, yes, no)),) if _is(no, target):
            return Branch(test, (Store(target, yes),))
        case (Store(target, Select(test, yes, no)),) if _is(yes, target):
            return Branch(Unary("!", test), (Store(target, no),))
    return None


def _is(e: Expr, target: Reference) -> bool:
    return isinstance(e, Reference) and alike(e, target)


def _is_touched(scop: Scop, s: Statement, level: int) -> bool:
    """Whether anything else in the loop touches an array that is stored to."""
    arrays = {a.reference.array for a in s.accesses if a.write}
    others = (x for x in within(scop, s, level) if x.name != s.name)
    return any(a.reference.array in arrays for x in others for a in x.accesses)


def _alone(scop: Scop, old: Statement, s: Statement, level: int) -> bool:
    """Whether nothing else in the loop changes what is read, and it all stays."""
    others = [x for x in within(scop, old, level) if x.name != old.name]
    stored = [a.reference for a in s.accesses if a.write]
    inner = {*s.iterators[level:]}
    read = {member(a.reference) for a in s.accesses if not a.write}
    affine = all(a.affine for a in s.accesses if a.write)
    fixed = not any(scalars_in(*r.subscripts) & inner for r in stored)
    return (
        affine
        and fixed
        and not read & written(others) - kept(others, s, level)
        and _reachable(scop, s, inner)
    )


def _reachable(scop: Scop, s: Statement, inner: Collection[str]) -> bool:
    """Whether elements that data tell, in some iteration, have known bounds."""
    extents = {a.name: a.extents for a in scop.arrays}
    for a in s.accesses:
        if not a.affine and scalars_in(*a.reference.subscripts) & {*inner}:
            forms = a.forms or ((),) * len(a.reference.subscripts)
            kept = [f and not scalars_in(*f) & {*inner} for f in forms]
            if any(e is None and not k for e, k in zip(extents[a.reference.array], kept, strict=True)):
                return False
    return True


def _tested(scop: Scop, s: Statement, level: int, branch: Branch) -> _Fold | None:
    """The parts of the test, of which one may compare with what is stored."""
    stores = [a for a in branch.then if isinstance(a, Store)]
    stored = {a.target.array for a in stores}
    tests = tuple(_conjuncts(branch.test))
    asking = [t for t in tests if reads_any(t, stored)]
    plain = tuple(t for t in tests if t not in asking)
    if not asking:
        return _Fold(scop, s, level, plain, None, branch) if s.ends or _are_new(stores, stored) else None
    again = s.ends or len(stored) < len(stores) or any(reads_any(a.value, stored) for a in stores)
    compared = _comparison(asking[0], stores) if len(asking) == 1 and not again else None
    if compared is None or not _is_steady(scop, compared.value):
        return None
    return _Fold(scop, s, level, plain, compared, branch)


def _are_new(stores: Sequence[Store], stored: Collection[str]) -> bool:
    """Whether no value has to do with what earlier iterations stored: `t = f(a[i]); u = t * t;`"""
    for k, store in enumerate(stores):
        read = (r for r in references(store.value) if r.array in stored)
        if not all(any(alike(r, before.target) for before in stores[:k]) for r in read):
            return False
    return True


def _is_steady(scop: Scop, value: Expr) -> bool:
    """Whether compilers make the same of a value wherever it stands: they may fuse a product and a sum."""
    fused = (
        isinstance(side, Binary) and side.op == "*" and is_floating(type_of(side))
        for part in walk(value)
        if isinstance(part, Binary) and part.op in ("+", "-")
        for side in map(_unsigned, (part.left, part.right))
    )
    called = {part.function for part in walk(value) if isinstance(part, Call)}
    own = any(re.search(rf"\b{name}\s*\(", text) for name in called for text in scop.functions)
    return not own and not any(fused)


def _unsigned(e: Expr) -> Expr:
    """What there is without signs and conversions."""
    return _unsigned(e.operand) if isinstance(e, Unary | Cast) else e


def _conjuncts(test: Expr) -> Iterator[Expr]:
    match test:
        case Binary("&&", left, right):
            yield from _conjuncts(left)
            yield from _conjuncts(right)
        case _:
            yield test


def _comparison(test: Expr, stores: Sequence[Store]) -> _Compared | None:
    match test:
        case Unary("!", Binary(op, left, right)) if op in EXTREMES:
            found = _comparison(Binary(_NEGATED[op], left, right), stores)
            return found and replace(found, negated=is_floating(found.target.type))
        case Binary(op, left, right) if op in EXTREMES:
            for value, target, operator in ((left, right, op), (right, left, OTHER_SIDE[op])):
                for store in stores:
                    if _is(target, store.target) and alike(value, store.value) and _keeps(store):
                        return _Compared(operator, value, store.target, False)
    return None


def _keeps(store: Store) -> bool:
    """Whether what is compared is just what is stored, and nothing in it is that."""
    ctype = store.target.type
    return type_of(store.value) == ctype and (is_floating(ctype) or ctype in _WIDE)


@dataclass
class _Made:
    """The statements that a fold becomes, one after another in place of its loops."""

    old: Scop
    fold: _Fold

    def __post_init__(self) -> None:
        self.arrays = list(self.old.arrays)
        self.loops = list(self.old.loops)
        self.starts: list[Statement] = []
        self.nests: list[Statement] = []
        self.reassociated = set(self.old.reassociated)
        self.free = FreeNames.beside(self.old)

    def scop(self) -> Scop:
        end = self._last()
        made = (*self.starts, *self.nests, end)
        return replace(
            self.old,
            arrays=tuple(self.arrays),
            loops=tuple(self.loops),
            statements=tuple(behind(self.old, self.fold.statement, self.fold.level, made)),
            assumptions=tuple(map(self._moved, self.old.assumptions)),
            reassociated=frozenset(self.reassociated),
        )

    def _moved(self, a: Assumption) -> Assumption:
        """What is assumed of the statement, of its first loops."""
        if a.statement != self.fold.statement.name:
            return a
        first = self.nests[0]
        names = _names(self.fold.statement.iterators, first.iterators)
        value, bound = (substitute(e, names) for e in (a.value, a.bound))
        return replace(a, statement=first.name, value=value, bound=bound)

    def _last(self) -> Statement:
        """The statement of the source in the iteration that decides."""
        fold, c = self.fold, self.fold.compared
        if c is None and fold.statement.ends:
            return self._end(self._located(fold.tests, last=False, called="found"), None)
        if c is None:
            return self._end(self._located(fold.tests, last=True, called="last"), None)
        tests, nan = fold.tests, None
        if c.negated:
            nan = self._located((*tests, Binary("!=", c.value, c.value)), last=True, called="nan")
            tests = (*tests, self._behind(nan))
        equal = (*tests, Binary("==", c.value, self._extreme(c, tests)))
        return self._end(self._located(equal, last=c.operator in ("<=", ">="), called="best"), nan)

    def _array(self, name: str, ctype: str) -> Reference:
        place = self.fold.statement.position
        found = Array(self.free.new(name), ctype, (), "region", place, live_out=False)
        self.arrays.append(found)
        return Reference(found.name, (), ctype)

    def _extreme(self, c: _Compared, tests: Sequence[Expr]) -> Reference:
        """The nest that finds the largest of the values that are compared."""
        ctype = c.target.type
        best = self._array(f"{c.target.array}_best", ctype)
        worst = neutral(c.operator, ctype)
        self._start(best, worst)
        self._nest(best, Select(_all(tests), c.value, worst) if tests else c.value, c.operator)
        return best

    def _located(self, tests: Sequence[Expr], last: bool, called: str) -> _Found:
        """The nests that find the first iteration that passes tests, or the last one."""
        found: dict[str, Expr] = {}
        nothing: list[Expr] = []
        for name, up in zip(self.fold.inner, self.fold.upwards, strict=True):
            operator = ">" if up == last else "<"
            none, place = _NONE[operator], self._array(f"{name}_{called}", "int")
            here = [Binary("==", Name(outer), there) for outer, there in found.items()]
            self._start(place, none)
            self._nest(place, Select(_all([*here, *tests]), Name(name), none), operator)
            found[name] = place
            nothing.append(Binary("!=", place, none))
        return _Found(found, nothing[0])

    def _behind(self, found: _Found) -> Expr:
        """Whether an iteration comes after one that is found; true if none is."""
        after: Expr | None = None
        for (name, place), up in reversed([*zip(found.place.items(), self.fold.upwards, strict=True)]):
            later: Expr = Binary(">" if up else "<", Name(name), place)
            if after is not None:
                later = Binary("||", later, Binary("&&", Binary("==", Name(name), place), after))
            after = later
        assert after is not None
        return after

    def _start(self, target: Reference, value: Expr) -> None:
        write = Access(target, True, True, True, self.fold.statement.position, target.array)
        name = self.free.new(f"{self.fold.statement.name}_{target.array}_start")
        self.starts.append(self._outside(name, (Store(target, value),), (write,)))

    def _outside(self, name: str, body: tuple[Action, ...], accesses: tuple[Access, ...]) -> Statement:
        """A statement around the inner loops."""
        s, level = self.fold.statement, self.fold.level
        return replace(
            s,
            name=name,
            iterators=s.iterators[:level],
            loops=s.loops[:level],
            domain=outside(s, level),
            schedule=s.schedule[: 2 * level + 1],
            body=body,
            accesses=accesses,
            ends=False,
        )

    def _nest(self, target: Reference, value: Expr, operator: str) -> None:
        """`for ...: target = value operator target ? value : target`"""
        s, level = self.fold.statement, self.fold.level
        outer, own = s.loops[:level], range(len(self.loops), len(self.loops) + len(self.fold.inner))
        self.loops += [replace(self.old.loops[k], label="", copied=frozenset()) for k in s.loops[level:]]
        self.reassociated |= {(k, target.array) for k in own}
        term = Name(self.free.new(f"{target.array}_term"), target.type)
        update = Store(target, Select(Binary(operator, term, target), term, target))
        plain = replace(
            s,
            name=self.free.new(f"{s.name}_{target.array}"),
            loops=(*outer, *own),
            body=(Let(term.name, target.type, value), update),
            accesses=tuple(self._accesses(value, target)),
            ends=False,
        )
        new = [self.free.new(f"{name}_of_{target.array}") for name in self.fold.inner]
        self.nests.append(_renamed(plain, (*s.iterators[:level], *new)))

    def _accesses(self, value: Expr, target: Reference) -> Iterator[Access]:
        s, used = self.fold.statement, dict.fromkeys(references(value))
        known = {a.reference: a for a in s.accesses if not a.write}
        yield from (known.get(r) or _read(r, s.position) for r in used)
        yield from (_read(target, s.position), replace(_read(target, s.position), write=True))

    def _end(self, found: _Found, nan: _Found | None) -> Statement:
        fold, test, some, values = self.fold, self.fold.branch.test, found.is_, found.place
        if nan is not None:
            values = {n: Select(found.is_, found.place[n], nan.place[n]) for n in fold.inner}
            some, test = Binary("||", found.is_, nan.is_), Binary("||", nan.is_, test)
        stores = [a for a in fold.branch.then if isinstance(a, Store)]
        then = tuple(Store(a.target, substitute(a.value, values)) for a in stores)
        places = (*found.place.values(), *(nan.place.values() if nan else ()))
        accesses = (
            *(_read(r, fold.statement.position) for r in places if isinstance(r, Reference)),
            *(self._at_found(a, values) for a in fold.statement.accesses),
        )
        body = (Branch(Binary("&&", some, substitute(test, values)), then),)
        return self._outside(fold.statement.name, body, accesses)

    def _at_found(self, a: Access, values: dict[str, Expr]) -> Access:
        """An access in the iteration that decides, which data tell."""
        s, inner = self.fold.statement, {*self.fold.inner}
        if a.write:
            return replace(a, must=False, guards=())
        a = replace(a, guards=())
        if not scalars_in(*a.reference.subscripts) & inner:
            return a
        new = substitute(a.reference, values)
        assert isinstance(new, Reference)
        if not a.affine:
            forms = tuple(() if scalars_in(*f) & inner else f for f in a.forms)
            return replace(a, reference=new, forms=forms)
        course = Course(s.iterators, s.domain, a.reference.subscripts)
        return replace(a, reference=new, affine=False, must=False, course=course)


def _read(r: Reference, place: Position) -> Access:
    return Access(r, False, True, True, place, r.array)


def _all(tests: Sequence[Expr]) -> Expr:
    return reduce(lambda a, b: Binary("&&", a, b), tests)


def _names(old: Sequence[str], new: Sequence[str]) -> dict[str, Expr]:
    return {a: Name(b) for a, b in zip(old, new, strict=True)}


def _renamed(s: Statement, iterators: tuple[str, ...]) -> Statement:
    """The statement with other iterators."""
    names, plain = _names(s.iterators, iterators), dict(zip(s.iterators, iterators, strict=True))

    def value(e: Expr) -> Expr:
        return substitute(e, names)

    def place(r: Reference) -> Reference:
        return replace(r, subscripts=tuple(map(value, r.subscripts)))

    def entry(e: int | str) -> int | str:
        sign = "-" if isinstance(e, str) and e.startswith("-") else ""
        return e if isinstance(e, int) else sign + plain[e.removeprefix("-")]

    return replace(
        s,
        iterators=iterators,
        domain=tuple(map(value, s.domain)),
        schedule=tuple(map(entry, s.schedule)),
        body=map_actions(s.body, value, place),
        accesses=tuple(map_access(a, place, value) for a in s.accesses),
    )
