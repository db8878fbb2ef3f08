"""Straight-line code as one statement: what follows in one loop body and has nothing to gain apart.

    before:  for i { t = a[i]; b[i] = t * t; c[i] = t; d[i] = c[i - 1]; }      four statements
    after:   for i { {float t = a[i]; b[i] = t * t; c[i] = t;} d[i] = c[i - 1]; }      two

The order of the source stays, so this is always right. Statements stay apart where their loops could be
distributed for a gain: where one meets the other's elements in other iterations, or where they differ in the
loops that their writes do not move along, in the loop along which these are consecutive, or in what they
exchange with other statements of these loops; and where one gives a value to a later statement that gives
something to the other in another iteration, as in `s = a[i]; b[i] = s + t; t = s;`. Scalars that each
iteration writes before it reads them become locals. All tests look at subscripts alone: what they cost grows
with the number of accesses. Of regions with so many statements that no schedule is found for them apart,
whole bodies are one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import groupby
from typing import TypeAlias

from polygpu.analysis.distances import Subscripts, differ, fixed, onward
from polygpu.analysis.merge import Element, Statements, element_of, merged
from polygpu.model.decisions import Decision, statement_place
from polygpu.model.expr import Int, Reference
from polygpu.model.rewrite import repeats, scalars_in
from polygpu.model.scop import Access, Scop, Statement
from polygpu.support.dataclass import dataclass

_MOST = 100  # statements of a region; known programs have 54, and dependences of 500 take half a minute

Member: TypeAlias = tuple[str, str]  # array and member: what overlaps with nothing else
Loops: TypeAlias = tuple[int, ...]
Exchanged: TypeAlias = frozenset[tuple[Loops, Member]]
"""By the loops around, outermost first: what several bodies in them touch, of which one writes it."""


def clustered(scop: Scop, decisions: Sequence[Decision] = ()) -> Scop:
    """`scop` with its straight-line code in as few statements as lose nothing.

    They begin where `decisions` begin a kernel; arrays that decisions name stay arrays.
    """
    blocks = list(bodies(scop.statements))
    private = private_arrays(scop, blocks, {name for d in decisions for name in d.names})
    begins = _Begins.of(decisions)
    found = [[b] for b in blocks]
    exchanged, before = _exchanged(found, private), None
    while exchanged != before:
        found = [list(_Clustering(private, exchanged, begins).of(b)) for b in blocks]
        exchanged, before = exchanged | _exchanged(found, private), exchanged
    apart = [[*_apart(block, private)] for block in found]
    if sum(map(len, apart)) > _MOST:
        apart = [_together(block, begins) for block in apart]
    clusters = [c for block in apart for c in block]
    return merged(scop, clusters, private) if len(clusters) < len(scop.statements) else scop


def _together(clusters: Iterable[Statements], begins: _Begins) -> list[Statements]:
    """The clusters of a body as one, but for loops within an instance, and for kernels that are to begin."""
    found: list[Statements] = []
    for cluster in clusters:
        before = found[-1] if found else ()
        alone = not before or begins.at(cluster[0]) or any(repeats(s.body) for s in (*before, *cluster))
        found = [*found, cluster] if alone else [*found[:-1], (*before, *cluster)]
    return found


def bodies(statements: Statements) -> Iterator[Statements]:
    """Neighbours of one loop body that run in the same iterations."""
    for _, block in groupby(statements, lambda s: (s.iterators, s.loops, s.domain, s.schedule[:-1])):
        yield tuple(block)


def _member(r: Reference) -> Member:
    return r.array, r.field


def private_arrays(scop: Scop, blocks: Iterable[Statements], named: Collection[str]) -> frozenset[str]:
    """Arrays of which only single elements are used, each written before it is read in each iteration.

    None that a decision has `named`, by its own name or by that of one of its webs, `t_0`.
    """
    known = {*named, *(re.sub(r"_\d+$", "", name) for name in named)}
    found = {a.name for a in scop.arrays if not a.live_out and a.name not in known}
    for block in blocks:
        written: set[Element] = set()
        for s in block:
            found -= {a.reference.array for a in s.accesses if not _is_private(a, written)}
            written |= {element_of(a.reference) for a in s.accesses if a.write and a.must and a.affine}
    return frozenset(found)


def _is_private(a: Access, written: Collection[Element]) -> bool:
    fixed = a.affine and all(isinstance(s, Int) for s in a.reference.subscripts)
    return fixed and (a.write or not a.exposed or element_of(a.reference) in written)


def _exchanged(blocks: Sequence[Sequence[Statements]], private: Collection[str]) -> Exchanged:
    """Of blocks of clusters: bodies of their own where a later one may give something to an earlier one."""
    users: dict[tuple[Loops, Member], set[str]] = {}
    written: set[tuple[Loops, Member]] = set()
    for clusters in blocks:
        several = not _goes_on(clusters, private)
        for body in clusters:
            name = (body if several else clusters[0])[0].name
            for a in _shared(body, private):
                keys = [(body[0].loops[:k], _member(a.reference)) for k in range(1, len(body[0].loops) + 1)]
                written.update(keys if a.write else ())
                for key in keys:
                    users.setdefault(key, set()).add(name)
    return frozenset(key for key, names in users.items() if len(names) > 1 and key in written)


def _apart(clusters: Sequence[Statements], private: Collection[str]) -> Iterator[Statements]:
    """The clusters, each cut behind the last private value for a later one that gives something back."""
    for k, cluster in enumerate(clusters):
        needed = _needed(cluster, clusters[k + 1 :], private)
        givers = (
            n
            for n, s in enumerate(cluster, 1)
            if any(a.write and a.reference.array in needed for a in s.accesses)
        )
        cut = max(givers, default=0)
        yield from (part for part in (cluster[:cut], cluster[cut:]) if part)


def _needed(cluster: Statements, later: Iterable[Statements], private: Collection[str]) -> set[str]:
    """The private arrays that later clusters read which write what this one reads."""
    mine = {_member(a.reference) for a in _shared(cluster, private) if not a.write}
    giving = [o for o in later if mine & {_member(a.reference) for a in _shared(o, private) if a.write}]
    reads = (a for other in giving for s in other for a in s.accesses if not a.write)
    return {a.reference.array for a in reads if a.reference.array in private}


def _shared(statements: Statements, private: Collection[str]) -> Iterator[Access]:
    return (a for s in statements for a in s.accesses if a.reference.array not in private)


def _goes_on(clusters: Sequence[Statements], private: Collection[str]) -> bool:
    """Whether what passes between clusters passes from earlier to later ones, as far as subscripts tell."""
    order = [entry for entry in clusters[0][0].schedule if isinstance(entry, str)]
    earlier: dict[Member, set[tuple[Subscripts, bool]]] = {}
    for cluster in clusters if len(clusters) > 1 else ():
        mine = list(_shared(cluster, private))
        for a in mine:
            for subscripts, write in earlier.get(_member(a.reference), ()):
                if (write or a.write) and not (
                    a.affine and onward(subscripts, a.reference.subscripts, order)
                ):
                    return False
        for a in mine:
            earlier.setdefault(_member(a.reference), set()).add((a.reference.subscripts, a.write))
    return True


@dataclass(frozen=True)
class _Begins:
    """The lines, and the arrays written, of statements with which a kernel is to begin."""

    lines: frozenset[int]
    arrays: frozenset[str]

    @staticmethod
    def of(decisions: Iterable[Decision]) -> _Begins:
        names = frozenset(name for d in decisions if d.key == "split" for name in d.names)
        places = (statement_place(name) for name in names)
        return _Begins(frozenset(p.line for p in places if p is not None), names)

    def at(self, s: Statement) -> bool:
        if s.position.line in self.lines:
            return True
        written = (a for a in s.accesses if a.write)
        return any({a.reference.array, a.text.partition("[")[0].strip()} & self.arrays for a in written)


@dataclass
class _Touched:
    """Elements of one array: by which subscripts are constants, by these constants, all the subscripts."""

    found: dict[tuple[bool, ...], dict[Subscripts, set[Subscripts]]] = field(default_factory=dict)
    unknown: bool = False

    def add(self, a: Access) -> None:
        subscripts = a.reference.subscripts
        self.unknown = self.unknown or not a.affine
        constants = self.found.setdefault(_constant(subscripts), {})
        constants.setdefault(_constants(subscripts), set()).add(subscripts)

    def meets(self, a: Access) -> bool:
        """Whether `a` may be of one of the elements in another iteration than it is here."""
        mine = a.reference.subscripts
        if self.unknown or not a.affine:
            return True
        return any(
            other != mine and not differ(other, mine)
            for constant, found in self.found.items()
            for others in (_with(found, mine) if constant == _constant(mine) else found.values())
            for other in others
        )


def _with(found: dict[Subscripts, set[Subscripts]], mine: Subscripts) -> list[set[Subscripts]]:
    """Those with the same constants."""
    return [found.get(_constants(mine), set())]


def _constant(subscripts: Subscripts) -> tuple[bool, ...]:
    return tuple(isinstance(s, Int) for s in subscripts)


def _constants(subscripts: Subscripts) -> Subscripts:
    return tuple(s for s in subscripts if isinstance(s, Int))


@dataclass(frozen=True)
class _Profile:
    """The loops that writes do not move along, those along which they are consecutive, and what is read and
    written that other bodies touch in loops around, from the first that writes move along.
    """

    fixed: frozenset[str]
    lanes: frozenset[str]
    exchanged: frozenset[tuple[Member, bool]]


@dataclass
class _Cluster:
    """Statements that are one, and what they touch."""

    profile: _Profile
    statements: list[Statement] = field(default_factory=list)
    reads: dict[Member, _Touched] = field(default_factory=dict)
    writes: dict[Member, _Touched] = field(default_factory=dict)


@dataclass(frozen=True)
class _Clustering:
    """How the statements of loop bodies become fewer."""

    private: frozenset[str]
    exchanged: Exchanged
    begins: _Begins

    def of(self, block: Statements) -> Iterator[Statements]:
        """The statements of `block` as clusters, in order."""
        current: _Cluster | None = None
        for unit in self._units(block):
            made = self._cluster(unit)
            if current is not None and made is not None and self._continues(current, made):
                self._add(current, unit)
                continue
            if current is not None:
                yield tuple(current.statements)
            current = made
            if made is None:
                yield from self._alone(unit)
        if current is not None:
            yield tuple(current.statements)

    @staticmethod
    def _alone(unit: Statements) -> Iterator[Statements]:
        """Statements on their own; what a loop within an instance counts with stays with it."""
        yield from [unit] if any(repeats(s.body) for s in unit) else ((s,) for s in unit)

    def _continues(self, cluster: _Cluster, made: _Cluster) -> bool:
        """Whether the statements of `made` may be those of `cluster` too."""
        unit = tuple(made.statements)
        return not self.begins.at(unit[0]) and cluster.profile == made.profile and self._fits(cluster, unit)

    def _units(self, block: Statements) -> Iterator[Statements]:
        """Statements with those before them that compute private values only."""
        unit: list[Statement] = []
        for s in block:
            if unit and self.begins.at(s):
                yield tuple(unit)
                unit = []
            unit.append(s)
            if any(a.write for a in self._accesses(s)):
                yield tuple(unit)
                unit = []
        if unit:
            yield tuple(unit)

    def _accesses(self, s: Statement) -> list[Access]:
        return [a for a in s.accesses if a.reference.array not in self.private]

    def _cluster(self, unit: Statements) -> _Cluster | None:
        """A cluster of one unit; None where it has no place in any."""
        first = unit[0]
        accesses = [a for s in unit for a in self._accesses(s)]
        writes = [a.reference.subscripts for a in accesses if a.write]
        ways = {(fixed(w, first.iterators), _lanes(w, first.iterators)) for w in writes}
        if len(ways) != 1:
            return None
        still, lanes = ways.pop()
        if not lanes or first.iterators[-1] in still:
            return None
        outer = first.loops[: 1 + next(k for k, i in enumerate(first.iterators) if i not in still)]
        touched = {(_member(a.reference), a.write) for a in accesses}
        exchanged = frozenset(t for t in touched if (outer, t[0]) in self.exchanged)
        made = _Cluster(_Profile(still, lanes, exchanged))
        self._add(made, unit)
        return made if self._fits(made, unit) else None

    def _add(self, cluster: _Cluster, unit: Statements) -> None:
        cluster.statements.extend(unit)
        for a in (a for s in unit for a in self._accesses(s)):
            side = cluster.writes if a.write else cluster.reads
            side.setdefault(_member(a.reference), _Touched()).add(a)

    def _fits(self, cluster: _Cluster, unit: Statements) -> bool:
        """Whether all that the unit shares with the cluster is of the same iteration."""
        return not any(
            touched.meets(a)
            for s in unit
            for a in self._accesses(s)
            for side in ((cluster.writes, cluster.reads) if a.write else (cluster.writes,))
            if (touched := side.get(_member(a.reference))) is not None
        )


def _lanes(subscripts: Subscripts, iterators: Sequence[str]) -> frozenset[str]:
    """The iterators of the last subscript that has any."""
    moving = (scalars_in(s) & {*iterators} for s in reversed(subscripts))
    return next((found for found in moving if found), frozenset())
