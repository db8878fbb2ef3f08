"""Updates that a branch does beside other things, as statements of their own: threads may share these.

    before: if (a[i] > 0) { t = sqrt(a[i]); s += t; h[(int)t]++; c[i] = t; }
    after:  if (a[i] > 0) s += sqrt(a[i]);
            if (a[i] > 0) h[(int)sqrt(a[i])]++;
            if (a[i] > 0) { t = sqrt(a[i]); c[i] = t; }

What an update is made of is computed again, from what was there before the branch: so it comes first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import field, replace
from functools import reduce
from itertools import islice
from typing import TypeAlias

from polygpu.analysis.inlined import in_parts, member, named, needed, part, without_locals
from polygpu.analysis.reductions import may_reorder, repeats_at
from polygpu.model.expr import Binary, Cast, Expr, Name, Reference, Select, Unary, type_of
from polygpu.model.rewrite import action_expressions, actions, references, rewrite, walk
from polygpu.model.scop import Action, Branch, Let, Scop, Statement, Store
from polygpu.model.updates import alike, update
from polygpu.support.dataclass import dataclass
from polygpu.support.position import Position

_MOST = 200
"""The parts of a value that is put in place: what is read twice is computed twice."""
_Member: TypeAlias = tuple[str, str]
_Key: TypeAlias = str | _Member  # a local, or a scalar in memory


def parted(scop: Scop, places: Collection[Position]) -> Scop:
    """`scop` with such updates of statements at these places on their own, where terms may be reordered."""
    for name in [s.name for s in scop.statements if s.position in places]:
        s = named(scop, name)
        if parts := _parts(scop, s):
            scop = in_parts(scop, s, parts)
    return scop


def _parts(scop: Scop, s: Statement) -> tuple[Statement, ...]:
    """The updates of a statement, and what is left of it; none where nothing is gained."""
    rest = without_locals(s.body)
    locals_ = s.body[: len(s.body) - len(rest)]
    if s.ends or not _are_numbered(s) or _is_single(rest):
        return ()
    around = {*_members(_expressions(locals_))}
    barred: set[_Member] = set()
    while True:
        block = _Block(scop, s, frozenset(barred))
        for a in rest:
            block.past(a)
        found, kept = list(block.updates()), tuple(block.kept())
        used = {*_members(_expressions(kept))}
        told = {m for u in found for m in _members((*u.tests, *u.store.target.subscripts))}
        late = {u.member for u in found} & (around | used | told)
        if not late:
            break
        barred |= late
    if not found:
        return ()
    left = [kept] if any(isinstance(a, Store) for a in actions(kept)) else []
    bodies = [*((u.alone,) for u in found), *left]
    return tuple(part(s, (*needed(locals_, body), *body)) for body in bodies)


def _is_single(body: tuple[Action, ...]) -> bool:
    """Whether it does one thing at most, perhaps under a test."""
    match body:
        case (Store(),) | (Branch(_, (Store(),), ()),):
            return True
    return False


def _are_numbered(s: Statement) -> bool:
    """Whether each access is one of the source's, with a site of its own."""
    return all(a.reference.site >= 0 for a in s.accesses)


class _UnknownError(Exception):
    """A value that is not known by what was there before the statement."""


@dataclass(frozen=True)
class _Update:
    """An action as what may come before all others: `store` where all `tests` hold."""

    tests: tuple[Expr, ...]
    store: Store

    @property
    def alone(self) -> Action:
        if not self.tests:
            return self.store
        return Branch(reduce(lambda one, other: Binary("&&", one, other), self.tests), (self.store,))

    @property
    def member(self) -> _Member:
        return member(self.store.target)


@dataclass
class _Block:
    """Actions of a statement, one after the other, where all `tests` hold, and which of them are updates of
    what is not `barred`.

    `values` are those of locals and scalars by what was there before the statement, None where that is not
    known; `stored` are the arrays of which it has stored elements, `updated` what updates have changed.
    """

    scop: Scop
    statement: Statement
    barred: frozenset[_Member]
    tests: tuple[Expr, ...] = ()
    values: dict[_Key, Expr | None] = field(default_factory=dict)
    stored: set[_Member] = field(default_factory=set)
    updated: set[_Member] = field(default_factory=set)
    found: list[Action | _Update | _Sides] = field(default_factory=list)

    def past(self, a: Action) -> None:
        entry = self._entry(a)
        self.found.append(entry)
        if isinstance(entry, _Update):
            self.updated.add(entry.member)
        else:
            values = self._assigned(a) or self._lost(a)
            self.values |= {key: value for key, value in values.items() if key not in self.updated}

    def updates(self) -> Iterator[_Update]:
        for entry in self.found:
            if isinstance(entry, _Update):
                yield entry
            elif isinstance(entry, _Sides):
                yield from (*entry.then.updates(), *entry.otherwise.updates())

    def kept(self) -> Iterator[Action]:
        """The other actions."""
        for entry in self.found:
            match entry:
                case _Update():
                    pass
                case _Sides(test, then, otherwise):
                    sides = tuple(then.kept()), tuple(otherwise.kept())
                    if any(sides):
                        yield Branch(test, *sides)
                case _:
                    yield entry

    def _entry(self, a: Action) -> Action | _Update | _Sides:
        match a:
            case Store() if (alone := self._alone(a)) is not None:
                return _Update(self.tests, alone)
            case Branch(test):
                try:
                    known = self._put(test)
                except _UnknownError:
                    return a
                return _Sides(test, self._side(a.then, known), self._side(a.otherwise, Unary("!", known)))
        return a

    def _side(self, side: Iterable[Action], test: Expr) -> _Block:
        values, stored = dict(self.values), {*self.stored}
        inner = _Block(
            self.scop, self.statement, self.barred, (*self.tests, test), values, stored, self.updated
        )
        for a in side:
            inner.past(a)
        return inner

    def _alone(self, store: Store) -> Store | None:
        """An update by what was there before; None for what is none, or is made of what is not known."""
        target = store.target
        if update(store) is None or not (repeats_at(self.statement, target) or self._is_told_by_data(target)):
            return None
        if member(target) in self.stored | self.barred or _scalar(target) in self.values:
            return None
        if not may_reorder(self.scop, self.statement.loops, target.array, target.type):
            return None
        try:
            place = replace(target, subscripts=tuple(map(self._put, target.subscripts)))
            return Store(place, self._put(store.value, target))
        except _UnknownError:
            return None

    def _is_told_by_data(self, target: Reference) -> bool:
        return any(
            a.write and not a.affine and a.reference.site == target.site for a in self.statement.accesses
        )

    def _put(self, value: Expr, own: Reference | None = None) -> Expr:
        """An expression, perhaps of its `own` element, by what was there before. Raises _UnknownError."""

        def known(e: Expr) -> Expr | None:
            if isinstance(e, Reference) and own is not None and alike(e, own):
                return replace(e, subscripts=tuple(map(self._put, e.subscripts)))
            key = e.name if isinstance(e, Name) else _scalar(e)
            if key in self.values:
                if (found := self.values[key]) is None:
                    raise _UnknownError
                return found
            if isinstance(e, Reference) and member(e) in self.stored | self.updated:
                raise _UnknownError
            return None

        made = rewrite(value, known)
        if next(islice(walk(made), _MOST, None), None) is not None:
            raise _UnknownError
        return made

    def _assigned(self, a: Action) -> dict[_Key, Expr | None] | None:
        """What an action sets locals and scalars to, if it does nothing else."""
        match a:
            case Let(name, ctype, value):
                return {name: self._value(value, ctype)}
            case Store(target, value) if (key := _scalar(target)) is not None:
                return {key: self._value(value, target.type)}
            case Branch(test, then, otherwise):
                return self._of_both(test, then, otherwise)
        return None

    def _of_both(
        self, test: Expr, then: Iterable[Action], otherwise: Iterable[Action]
    ) -> dict[_Key, Expr | None] | None:
        sides: list[dict[_Key, Expr | None]] = []
        for side in (then, otherwise):
            inner = replace(self, values=dict(self.values))
            sides.append({})
            for a in side:
                values = inner._assigned(a)
                if values is None:
                    return None
                inner.values |= values
                sides[-1] |= values
        return {key: self._either(test, key, *sides) for key in dict.fromkeys((*sides[0], *sides[1]))}

    def _either(self, test: Expr, key: _Key, *sides: dict[_Key, Expr | None]) -> Expr | None:
        """What a test of both sides says; what one of them leaves as it was has to be known."""
        yes, no = (side[key] if key in side else self.values.get(key) for side in sides)
        try:
            return None if yes is None or no is None else Select(self._put(test), yes, no)
        except _UnknownError:
            return None

    def _value(self, value: Expr, ctype: str) -> Expr | None:
        try:
            found = self._put(value)
        except _UnknownError:
            return None
        return found if type_of(found) == ctype else Cast(ctype, found)

    def _lost(self, a: Action) -> dict[_Key, Expr | None]:
        """What is no longer known behind an action; the arrays that it stores to are."""
        inner = list(actions((a,)))
        keys: list[_Key] = [x.name for x in inner if isinstance(x, Let)]
        for store in (x for x in inner if isinstance(x, Store)):
            key = _scalar(store.target)
            if key is None:
                self.stored.add(member(store.target))
            else:
                keys.append(key)
        return dict.fromkeys(keys)


@dataclass(frozen=True)
class _Sides:
    """The two sides of a test, which is known by what was there before the statement."""

    test: Expr
    then: _Block
    otherwise: _Block


def _scalar(e: Expr) -> _Member | None:
    return member(e) if isinstance(e, Reference) and not e.subscripts else None


def _expressions(body: Iterable[Action]) -> Iterator[Expr]:
    return (e for a in actions(body) for e in action_expressions(a))


def _members(expressions: Iterable[Expr]) -> Iterator[_Member]:
    return (member(r) for e in expressions for r in references(e))
