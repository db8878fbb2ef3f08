"""Reads of what was in an array before the region, from a copy: what is stored over it need not wait then.

    before:  for i for j for k > i { b[i][j] += a[k][i] * b[k][j]; }                     j alone is parallel
    after:   for e { b_old[e] = b[e]; }  for i for j for k > i { b[i][j] += a[k][i] * b_old[k][j]; }

The copy is made once, before all else, of the elements that are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import TypeAlias

import islpy as isl

from polygpu.analysis.elements import existing
from polygpu.analysis.final_values import copy_before
from polygpu.analysis.flow import conflicts
from polygpu.analysis.places import array_names, holds
from polygpu.analysis.polyhedra import (
    AffineBuilder,
    PolyAccess,
    Polyhedra,
    PolyStatement,
    access_relation,
    array_tuple,
)
from polygpu.model.decisions import Decision
from polygpu.model.expr import Reference
from polygpu.model.rewrite import actions, map_references
from polygpu.model.scop import Access, Array, Repeat
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import D, basic_maps, bounded, hides_quotients, maps, union_of

STEPS = 1_500_000  # of isl, which mostly takes some 1,000, and up to a million

Found: TypeAlias = dict[tuple[str, Reference], PolyAccess]
"""Reads of an array, by their statement and reference."""


@dataclass(frozen=True)
class Asked:
    """The arrays that decisions want copies of, by these; none where a decision wants none at all."""

    arrays: dict[str, Decision]

    def check(self, p: Polyhedra, copied: Collection[str]) -> None:
        """Raises Diagnosed where one cannot be read from a copy."""
        for array, decision in self.arrays.items():
            if array not in copied:
                why = "no statement reads values from before the region that other iterations store over"
                position = next(a.position for _, a in p.accesses_of(array))
                advice = "leave it out of the decision"
                raise Diagnosed(Diagnostic("PG304", "error", f"'{decision}': {why}", position, advice))


def copies_asked(p: Polyhedra, decisions: Iterable[Decision]) -> Asked | None:
    """What decisions ask for; None where they say nothing of the region."""
    found: dict[str, Decision] | None = None
    for d in (d for d in decisions if d.key == "version"):
        if d.place is None or any(holds(d.place, p, s.name) for s in p.statements):
            names = {*d.names}
            known = (a for s in p.statements for a in s.accesses)
            mine = {a.reference.array: d for a in known if names & {*array_names(a)}}
            if mine or not d.items:
                found = {**(found or {}), **mine} if d.items else {}
    return Asked(found) if found is not None else None


def in_more_loops(p: Polyhedra, roots: Collection[str]) -> tuple[str, ...]:
    """The arrays of which statements of `roots` read values from before the region in more loops than the
    array has dimensions, which take longer than a copy, while other iterations store over them.

    Raises isl.Error, also where that takes too many steps.
    """
    mine = [s for s in p.statements if root_of(s) in roots]
    deep = {a.name: {root_of(s) for s in mine if len(s.iterators) > len(a.extents)} for a in p.arrays}
    with bounded(STEPS):
        return tuple(a.name for a in p.arrays if deep[a.name] and _old_reads(p, a, deep[a.name], every=False))


def from_copies(p: Polyhedra, arrays: Collection[str]) -> tuple[Polyhedra, dict[str, str]]:
    """`p` with reads of what these arrays held before the region from copies, where other iterations store
    over it, and the names of these copies by their arrays.

    Raises isl.Error.
    """
    roots = {root_of(s) for s in p.statements}
    found = {a.name: _old_reads(p, a, roots, every=False) for a in p.arrays if a.name in arrays}
    return _copied(p, found)


def with_old(p: Polyhedra, roots: Collection[str], every: bool) -> Polyhedra:
    """`p` with copies of what other iterations store over: statements of `roots` read them instead.

    With `every` of what the same iteration stores over, too. Raises isl.Error.
    """
    return _copied(p, {a.name: _old_reads(p, a, roots, every) for a in p.arrays})[0]


def _copied(p: Polyhedra, old: dict[str, Found]) -> tuple[Polyhedra, dict[str, str]]:
    copies: list[PolyStatement] = []
    arrays: list[Array] = []
    names: dict[str, str] = {}
    for array, found in old.items():
        if found:
            names[array] = name = free_name(p, f"{array}_old")
            p = replace(p, statements=tuple(_reading(s, found, name) for s in p.statements))
            copies.append(copy_before(p, name, list(found.values())))
            arrays.append(p.array(array).of_region(name))
    if not copies:
        return p, names
    return replace(p, statements=(*copies, *p.statements), arrays=(*p.arrays, *arrays)), names


def _old_reads(p: Polyhedra, array: Array, roots: Collection[str], every: bool) -> Found:
    """The reads in statements of `roots` that surely find what was before the region, and is stored over."""
    rank = p.statements[0].schedule.dim(D.out) // 2
    if not is_written(p, array.name) or array.structure or not 0 < len(array.extents) <= rank:
        return {}
    writes = [(s, a) for s, a in p.accesses_of(array.name) if a.write]
    order = p.schedule()
    return {
        (s.name, a.reference): a
        for s, a in p.accesses_of(array.name)
        if root_of(s) in roots and is_read(a) and written_before(s, a).is_empty()
        if _can_be_copied(p, a)
        if _is_old(a, writes, order) and _is_stored_over(s, a, writes, order, every)
    }


def _can_be_copied(p: Polyhedra, a: PolyAccess) -> bool:
    """Whether there are elements that the access reads, and loops over them."""
    found = existing(p, a, a.relation.range())
    if found is None or found.is_empty():
        return False
    return not any(map(hides_quotients, basic_maps(isl.Map.from_range(found))))


def written_before(s: PolyStatement, a: PolyAccess) -> isl.Set:
    """The instances that may themselves write what a read of theirs finds; an exposed one does not in all."""
    repeats = any(isinstance(action, Repeat) for action in actions(s.body))
    earlier = s.accesses if repeats else s.accesses[: s.accesses.index(a)]
    found = isl.Set.empty(s.domain.get_space())
    for w in earlier:
        if w.write and array_tuple(w.reference) == array_tuple(a.reference):
            found = found.union(w.relation.intersect(a.relation).domain())
    return found


def _is_old(a: PolyAccess, writes: list[tuple[PolyStatement, PolyAccess]], order: isl.UnionMap) -> bool:
    """Whether no earlier instance may have written what the access reads."""
    before = union_of([w.relation for _, w in writes])
    return bool(conflicts(before, isl.UnionMap.from_map(a.relation), order).is_empty())


def _is_stored_over(
    s: PolyStatement,
    a: PolyAccess,
    writes: list[tuple[PolyStatement, PolyAccess]],
    order: isl.UnionMap,
    every: bool,
) -> bool:
    """Whether a later iteration of a loop around `s` writes what the access reads, or `every` later write."""
    read = isl.UnionMap.from_map(a.relation)
    for writer, w in writes:
        for pairs in maps(conflicts(read, isl.UnionMap.from_map(w.relation), order)):
            if every or crosses(pairs, s, writer):
                return True
    return False


def _reading(s: PolyStatement, found: dict[tuple[str, Reference], PolyAccess], name: str) -> PolyStatement:
    """`s` with reads of the copy."""
    mine = {r for n, r in found if n == s.name}
    if not mine:
        return s
    return redirected(s, lambda r, write: replace(r, array=name) if not write and r in mine else r)


def root_of(s: PolyStatement) -> str:
    """The statement of the source that `s` is, or is a piece of."""
    return s.whole or s.name


def is_read(a: PolyAccess) -> bool:
    return not a.write and a.affine and a.exposed and not a.reference.field


def is_written(p: Polyhedra, array: str) -> bool:
    """Whether statements write the array, in places that are known."""
    writes = [a for _, a in p.accesses_of(array) if a.write]
    return bool(writes) and all(a.affine for a in writes)


def crosses(pairs: isl.Map, one: PolyStatement, two: PolyStatement) -> bool:
    """Whether pairs of instances are in different iterations of a loop around both statements."""
    inside = pairs
    for k, (a, b) in enumerate(zip(one.loops, two.loops, strict=False)):
        if a != b:
            break
        inside = inside.equate(D.in_, k, D.out, k)
    return not pairs.is_subset(inside)


def redirected(s: PolyStatement, change: Callable[[Reference, bool], Reference]) -> PolyStatement:
    """`s` with accesses of other elements."""
    builder = AffineBuilder(s.domain.get_space())

    def access(a: PolyAccess) -> PolyAccess:
        new = change(a.reference, a.write)
        if new is a.reference:
            return a
        plain = Access(new, a.write, a.must, True, a.position, a.text)
        return replace(a, reference=new, relation=access_relation(builder, s.domain, plain))

    return replace(s, body=map_references(s.body, change), accesses=tuple(map(access, s.accesses)))


def free_name(p: Polyhedra, name: str) -> str:
    taken = p.names() | {n for s in p.statements for n in (s.name, *s.iterators)}
    while name in taken:
        name += "_"
    return name
