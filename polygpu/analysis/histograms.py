"""Histograms: updates of elements that data tell, each thread those of a copy of its own.

    before: for i: h[a[i]] = h[a[i]] + w[i];
    after:  for b, c: h_own[b][c] = 0;
            for c: for q: h_own[a[C * q + c]][c] = h_own[a[C * q + c]][c] + w[C * q + c];
            for b, c: h[b] = h[b] + h_own[b][c];

Iterations are dealt in turn to C copies, so that neighbours read what lies next to each other. What is added
to what depends on sizes alone: each copy has its terms in order, and the last nest is a sum like any other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from math import prod

from polygpu.analysis.inlined import (
    behind,
    in_parts,
    inlined,
    member,
    named,
    needed,
    outside,
    part,
    reads_any,
    within,
    without_locals,
    written,
)
from polygpu.analysis.names import FreeNames
from polygpu.analysis.reductions import may_reorder
from polygpu.model.expr import SIZES, Binary, Expr, Int, Name, Reference
from polygpu.model.rewrite import map_access, map_actions, rewrite, substitute
from polygpu.model.scop import (
    Access,
    Array,
    Assumption,
    Branch,
    Loop,
    Scop,
    Statement,
    Store,
    keeps_apart,
)
from polygpu.model.updates import TRUTH, alike, combined, neutral, update
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.position import Position

COPIES = {1: (1, 4096), 2: (64, 64)}  # of the last loops, by how many there are: at most
LEAST = 64  # copies
ELEMENTS = 1 << 19  # of all copies, where so few copies suffice
MOST = 1 << 24  # bytes of all copies


@dataclass(frozen=True)
class _Histogram:
    """What one statement adds to elements of an array, in its loops from `level` on."""

    statement: Statement
    level: int
    store: Store
    operator: str

    @property
    def array(self) -> str:
        return self.store.target.array


def privatised(scop: Scop, places: Collection[Position]) -> Scop:
    """`scop` with the histograms at these places in copies that threads have.

    Raises Diagnosed (PG102) for writes whose elements data tell, and of which threads can have no copies.
    """
    scop = _with_single_updates(scop, places)
    for name in [s.name for s in scop.statements if s.position in places]:
        s = named(scop, name)
        write = _told_by_data(scop, s)
        if write is not None:
            scop = _Copies(scop, _histogram(scop, s, write)).scop()
    return scop


def _told_by_data(scop: Scop, s: Statement) -> Access | None:
    """The first write of a statement to an element that data tell, and that other iterations may update."""
    found = (a for a in s.accesses if a.write and not a.affine)
    return next((a for a in found if not any(keeps_apart(scop, k, a.reference.array) for k in s.loops)), None)


def _with_single_updates(scop: Scop, places: Collection[Position]) -> Scop:
    """`scop` with updates that share locals as statements of their own: `{int c = g[i]; x[c]++; y[c]++;}`."""
    for name in [s.name for s in scop.statements if s.position in places]:
        s = named(scop, name)
        parts = _single_updates(s) if _told_by_data(scop, s) is not None else ()
        if len(parts) > 1:
            scop = in_parts(scop, s, parts)
    return scop


def _single_updates(s: Statement) -> tuple[Statement, ...]:
    """The updates of a statement, each with the locals it needs, where none reads what another one stores."""
    updates = without_locals(s.body)
    locals_ = s.body[: len(s.body) - len(updates)]
    if s.ends or not all(isinstance(a, Store | Branch) for a in updates):
        return ()
    parts = tuple(part(s, (*needed(locals_, (a,)), a)) for a in updates)
    pairs = [(x, y) for x in parts for y in parts if x is not y]
    apart = all(_apart(x, y) or _add_alike(x, y) for x, y in pairs)
    return parts if apart and all(_updating(x) is not None for x in parts) else ()


def _histogram(scop: Scop, s: Statement, a: Access) -> _Histogram:
    store = _updating(s)
    if store is None:
        raise _refused(a, "it is more than an update of one element", "let the statement only add to it")
    array, operator = store.target.array, update(store)
    assert operator is not None
    if not may_reorder(scop, s.loops, array, store.target.type):
        why = f"the terms of '{array}' are floating-point numbers, which are added in order"
        raise _refused(a, why, "--reassociate lets threads share them")
    for level in range(len(s.iterators)):
        alone = _without_other_updates(scop, s, level)
        plain = inlined(alone, s, level) or inlined(alone, s, level, free=FreeNames.beside(alone))
        store = None if plain is None else _updating(plain)
        others = (x for x in within(alone, s, level) if x.name != s.name)
        if plain is not None and store is not None and all(_apart(plain, x) for x in others):
            return _Histogram(plain, level, store, operator)
    raise _not_alone(scop, s, a)


def _not_alone(scop: Scop, s: Statement, a: Access) -> Diagnosed:
    """What else the loops do, because of which no copies can be made of the statement's array."""
    mine = member(a.reference)
    others = [x for x in within(_without_other_updates(scop, s, 0), s, 0) if x.name != s.name]
    if any(member(other.reference) == mine for x in others for other in x.accesses):
        return _refused(a, f"the loop uses '{mine[0]}' elsewhere", "let the loop do nothing else with it")
    read = {member(other.reference) for other in s.accesses if not other.write} - {mine}
    changed = ", ".join(sorted({f"'{name}'" for name, _ in read & written(others)}))
    why = f"the loop changes what tells the element, or what is added: {changed}"
    return _refused(a, why, "compute it in one expression, from what the loop does not change")


def _without_other_updates(scop: Scop, s: Statement, level: int) -> Scop:
    """`scop` without what else adds to the array in the loop: in which order both do that is no matter."""
    added = {x.name for x in within(scop, s, level) if x.name != s.name and _add_alike(s, x)}
    return replace(scop, statements=tuple(x for x in scop.statements if x.name not in added))


def _add_alike(s: Statement, other: Statement) -> bool:
    """Whether each only updates an element of one array, with one operator: `h[a[i]] += w; h[b[i]] -= w;`."""
    stores = _updating(s), _updating(other)
    return None not in stores and len({(*member(x.target), update(x)) for x in stores if x is not None}) == 1


def _apart(s: Statement, other: Statement) -> bool:
    """Whether another statement neither uses what `s` stores nor changes what it reads."""
    read = {member(a.reference) for a in s.accesses if not a.write}
    touched = {member(a.reference) for a in other.accesses}
    return not touched & written((s,)) and not read & written((other,))


def _updating(s: Statement) -> Store | None:
    """The only thing that a statement does, perhaps under a test, if that is to update one element."""
    match without_locals(s.body):
        case (Store() as store,) | (Branch(_, (Store() as store,), ()),) as body:
            mine = member(store.target)
            plain = all(alike(a.reference, store.target) for a in s.accesses if member(a.reference) == mine)
            tested = isinstance(body[0], Branch) and reads_any(body[0].test, {store.target.array})
            told = reads_any(Reference("", store.target.subscripts, ""), {store.target.array})
            known = update(store) not in (None, *TRUTH)  # those change elements to which nothing is added
            return store if plain and not tested and not told and known else None
    return None


def _refused(a: Access, why: str, help_text: str) -> Diagnosed:
    message = f"the subscript of the write to '{a.text}' is not affine: {why}"
    return Diagnosed(Diagnostic("PG102", "error", message, a.position, help_text))


@dataclass
class _Copies:
    """The statements that a histogram becomes, in place of its loops."""

    old: Scop
    histogram: _Histogram

    def __post_init__(self) -> None:
        s = self.histogram.statement
        array = next(a for a in self.old.arrays if a.name == self.histogram.array)
        self.extents = [e for e in array.extents if e is not None]
        access = next(a for a in s.accesses if a.write)
        if len(self.extents) < len(array.extents):
            raise _refused(access, f"the size of '{array.name}' is not known", "declare it with its size")
        self.mine = member(self.histogram.store.target)
        self.free = FreeNames.beside(self.old)
        own = array.of_region(self.free.new(f"{array.name}_own"))
        self.own = replace(own, element=self.histogram.store.target.type, structure=None, source="")
        self.dealt = s.iterators[-min(2, len(s.iterators) - self.histogram.level) :]
        self.copies = self._counts(array, access)
        self.loops: list[Loop] = list(self.old.loops)

    def _counts(self, array: Array, access: Access) -> tuple[int, ...]:
        """The copies along each of the loops that are dealt."""
        most = COPIES[len(self.dealt)]
        known = [e.value for e in self.extents if isinstance(e, Int)]
        elements = prod(known) if len(known) == len(self.extents) else ELEMENTS // 512
        if elements * LEAST * SIZES.get(self.own.element, 8) > MOST:
            why = f"'{array.name}' has {elements:,} elements, of which threads cannot have copies"
            raise _refused(access, why, "sort what is added by its element")
        copies = max(LEAST, min(prod(most), 1 << (max(ELEMENTS // max(elements, 1), 1)).bit_length() - 1))
        if len(self.dealt) == 1:
            return (copies,)
        inner = min(most[1], copies)
        return copies // inner, inner

    def scop(self) -> Scop:
        h, s = self.histogram, self.histogram.statement
        own = replace(self.own, extents=(*self.extents, *map(Int, self.copies)))
        start, adding, end = self._start(), self._adding(), self._end()
        new = range(len(self.old.loops), len(self.loops))
        limit = tuple(self._limits())
        assumptions = (
            replace(a, statement=adding.name, value=self._dealt(a.value), bound=self._dealt(a.bound))
            if a.statement == s.name
            else a
            for a in self.old.assumptions
        )
        return replace(
            self.old,
            arrays=(*self.old.arrays, own),
            loops=tuple(self.loops),
            statements=tuple(behind(self.old, s, h.level, (start, adding, end))),
            assumptions=(*assumptions, *limit),
            reassociated=self.old.reassociated | {(k, h.array) for k in new},
        )

    def _limits(self) -> Iterator[Assumption]:
        """That an array whose size is a parameter is small enough, tested at run time."""
        s, unknown = self.histogram.statement, [e for e in self.extents if not isinstance(e, Int)]
        each = int((MOST // LEAST // 8) ** (1 / len(unknown))) if unknown else 0
        for extent in unknown:
            reason = f"'{self.histogram.array}' has more elements than threads have copies of"
            yield Assumption(self.end_name, extent, Int(each), reason, s.position)

    def _loop(self, name: str) -> int:
        position = self.histogram.statement.position
        self.loops.append(Loop(name, position, f"for ({name})", 1))
        return len(self.loops) - 1

    def _over_copies(self) -> tuple[list[str], list[str], list[Expr]]:
        """Iterators over elements and over copies, and the conditions of both."""
        array = self.histogram.array
        elements = [self.free.new(f"{array}_e{k}") for k in range(len(self.extents))]
        copies = [self.free.new(f"{array}_c{k}") for k in range(len(self.copies))]
        bounds = [*zip(elements, self.extents, strict=True), *zip(copies, map(Int, self.copies), strict=True)]
        conditions: list[Expr] = []
        for name, extent in bounds:
            conditions += [Binary(">=", Name(name), Int(0)), Binary("<", Name(name), extent)]
        return elements, copies, conditions

    def _place(self, subscripts: Collection[Expr], site: int = -1) -> Reference:
        return Reference(self.own.name, tuple(subscripts), self.own.element, site=site)

    def _nest(self, name: str, store: Store, reads: tuple[Reference, ...]) -> Statement:
        """A statement for all elements and copies, in loops with the iterators of the target."""
        s, level = self.histogram.statement, self.histogram.level
        elements, copies, conditions = self._over_copies()
        old = [f"e{k}" for k in range(len(elements))] + [f"c{k}" for k in range(len(copies))]
        names: dict[str, Expr] = {a: Name(b) for a, b in zip(old, [*elements, *copies], strict=True)}

        def here(r: Reference) -> Reference:
            return replace(r, subscripts=tuple(substitute(e, names) for e in r.subscripts))

        def access(r: Reference, write: bool) -> Access:
            return Access(here(r), write, True, True, s.position, r.array)

        schedule: list[int | str] = list(s.schedule[: 2 * level + 1])
        for iterator in (*elements, *copies):
            schedule += [iterator, 0]
        return replace(
            s,
            name=self.free.new(name),
            iterators=(*s.iterators[:level], *elements, *copies),
            loops=(*s.loops[:level], *map(self._loop, (*elements, *copies))),
            domain=(*outside(s, level), *conditions),
            schedule=tuple(schedule),
            body=map_actions((store,), lambda e: substitute(e, names), here),
            accesses=(*(access(r, False) for r in reads), access(store.target, True)),
        )

    def _all(self) -> tuple[list[Expr], list[Expr]]:
        elements: list[Expr] = [Name(f"e{k}") for k in range(len(self.extents))]
        copies: list[Expr] = [Name(f"c{k}") for k in range(len(self.copies))]
        return elements, copies

    def _start(self) -> Statement:
        elements, copies = self._all()
        target = self._place([*elements, *copies])
        store = Store(target, neutral(self.histogram.operator, self.own.element))
        return self._nest(f"{self.histogram.statement.name}_start", store, ())

    def _end(self) -> Statement:
        h = self.histogram
        elements, copies = self._all()
        total = replace(h.store.target, subscripts=tuple(elements), site=-1)
        part = self._place([*elements, *copies])
        store = Store(total, combined(h.operator, total, part))
        made = self._nest(f"{h.statement.name}_end", store, (total, part))
        self.end_name = made.name
        return made

    def _dealt(self, e: Expr) -> Expr:
        return substitute(e, self.dealing)

    def _adding(self) -> Statement:
        """The statement itself, of each copy, for each of its iterations."""
        h, s = self.histogram, self.histogram.statement
        copies = [self.free.new(f"{n}_copy") for n in self.dealt]
        turns = [self.free.new(f"{n}_turn") for n in self.dealt]
        plain = [self.free.new(f"{n}_of_{h.array}") for n in s.iterators[h.level : -len(self.dealt)]]
        self.dealing: dict[str, Expr] = {
            old: Binary("+", Binary("*", Int(width), Name(turn)), Name(copy))
            for old, width, turn, copy in zip(self.dealt, self.copies, turns, copies, strict=True)
        }
        middle = s.iterators[h.level : -len(self.dealt)]
        self.dealing |= {a: Name(b) for a, b in zip(middle, plain, strict=True)}
        own = [Name(c) for c in copies]

        def changed(e: Expr) -> Expr | None:
            if isinstance(e, Reference) and member(e) == self.mine:
                return self._place([*map(self._dealt, e.subscripts), *own], e.site)
            return self.dealing.get(e.name) if isinstance(e, Name) else None

        def value(e: Expr) -> Expr:
            return rewrite(e, changed)

        def place(r: Reference) -> Reference:
            new = value(r)
            assert isinstance(new, Reference)
            return new

        def access(a: Access) -> Access:
            new = map_access(a, place, self._dealt)
            if member(a.reference) != self.mine:
                return new
            return replace(new, forms=(*(new.forms or [()] * len(self.extents)), *((e,) for e in own)))

        inner = [*copies, *plain, *turns]
        entries = dict(zip(s.iterators, s.schedule[1::2], strict=True))
        back = {n for n in self.dealt + middle if str(entries[n]).startswith("-")}
        names = dict(zip((*middle, *self.dealt), (*plain, *turns), strict=True))
        signs = {new: "-" if old in back else "" for old, new in names.items()}
        schedule: list[int | str] = list(s.schedule[: 2 * h.level + 1])
        for iterator in inner:
            schedule += [signs.get(iterator, "") + iterator, 0]
        bounds = [
            test
            for copy, width in zip(copies, self.copies, strict=True)
            for test in (Binary(">=", Name(copy), Int(0)), Binary("<", Name(copy), Int(width)))
        ]
        return replace(
            s,
            iterators=(*s.iterators[: h.level], *inner),
            loops=(*s.loops[: h.level], *map(self._loop, inner)),
            domain=(*map(self._dealt, s.domain), *bounds),
            schedule=tuple(schedule),
            body=map_actions(s.body, value, place),
            accesses=tuple(map(access, s.accesses)),
        )
