"""Values of an array told apart: those from before the region, and each of those that a scalar has in turn.

    before:  for i { a[i] = a[i + 1] + b[i]; }
    after:   for e { a_old[e] = a[e]; }  for i { a[i] = a_old[i + 1] + b[i]; }

    before:  for i { a[i] = b[i] + x; x = c[i]; }
    after:   { a[0] = b[0] + x; }  for i > 0 { a[i] = b[i] + x_all[i - 1]; }  for i { x_all[i] = c[i]; }

Where one thread would run a loop since it stores over what other iterations still read, only the values that
pass from one iteration to another keep its order then. A statement whose reads find values of several kinds
becomes a statement for each kind. Feautrier's single assignment, for what gains by it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cached_property, reduce

import islpy as isl

from polygpu.analysis.final_values import affine_expression, copy_of_last
from polygpu.analysis.flow import dataflow
from polygpu.analysis.index_sets import divided
from polygpu.analysis.old_values import (
    STEPS,
    crosses,
    free_name,
    is_read,
    is_written,
    redirected,
    root_of,
    with_old,
    written_before,
)
from polygpu.analysis.polyhedra import PolyAccess, Polyhedra, PolyStatement, array_tuple
from polygpu.analysis.reductions import reductions
from polygpu.model.expr import Expr, Name, Reference
from polygpu.model.scop import Array
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, bounded, coalesced, has_strides, maps, pieces, tuple_name, union_of

_PIECES = 6  # of a statement
_CONVEX = 32  # sets that these pieces consist of
_FAR = 1000  # elements between lines


@dataclass(frozen=True)
class Versions:
    """`whole` is a program with the values apart that the statements of these `names` read, and others of
    them store over.
    """

    whole: Polyhedra
    names: tuple[str, ...]

    def told_apart(self, every: bool = False) -> Polyhedra:
        """With `every` those too that the same iteration stores over: what reads them may then come later.

        The `whole` program itself where isl does not find them, or not soon.
        """
        if self._by_writers is None:
            return self.whole
        try:
            with bounded(STEPS):
                return with_old(self._by_writers, self._roots, every)
        except isl.Error:
            return self.whole

    @cached_property
    def _roots(self) -> frozenset[str]:
        return frozenset(root_of(self.whole.statement(n)) for n in self.names)

    @cached_property
    def _by_writers(self) -> Polyhedra | None:
        """With the values apart that statements wrote; None where isl does not find them, or not soon."""
        p = self.whole
        sums = {(r.statement, r.array) for r in reductions(p, {}, permitted=False)}
        summed = {name for _, name in sums}
        scalars = [a for a in p.arrays if not a.extents and not a.structure and a.name not in summed]
        try:
            with bounded(STEPS):
                found = _in_pieces(p, self._roots, sums)
                return reduce(lambda q, array: _single(p, q, array, self._roots), scalars, found)
        except isl.Error:  # dataflow that nobody knows
            return None


def _in_pieces(p: Polyhedra, roots: Collection[str], sums: Collection[tuple[str, str]]) -> Polyhedra:
    """`p` with statements that read values of several kinds as several ones, those that add to them aside."""
    found = p
    for s in (s for s in p.statements if root_of(s) in roots):
        sets = _by_kinds(p, s, sums)
        if 1 < len(sets) <= _PIECES:
            sets = [coalesced(each) for each in sets]
            if sum(each.n_basic_set() for each in sets) <= _CONVEX and not any(map(_is_sparse, sets)):
                found = divided(found, s.name, sets)
    return found


def _is_sparse(instances: isl.Set) -> bool:
    """Whether a piece is where lines of an array happen to meet, far apart: isl may take for ever with it."""
    return has_strides(instances, _FAR)


def _by_kinds(p: Polyhedra, s: PolyStatement, sums: Collection[tuple[str, str]]) -> list[isl.Set]:
    """The instances of a statement by the kinds of what they read; some of them where these are too many."""
    sets = [s.domain]
    reads = (a for a in s.accesses if is_read(a) and (s.name, a.reference.array) not in sums)
    for part in (part for a in reads for part in _kinds(p, s, a)):
        halves = (new for old in sets for new in (old.intersect(part), old.subtract(part)))
        sets = [half for half in halves if not half.is_empty()]
        if len(sets) > _PIECES:
            break
    return sets


def _kinds(p: Polyhedra, s: PolyStatement, a: PolyAccess) -> list[isl.Set]:
    """The instances in which an access reads what was before the region, or what one statement wrote."""
    if not is_written(p, a.reference.array):
        return []
    old = _old(p, s, a)
    found = [] if old.is_empty() or s.domain.is_subset(old) else [old]
    if not a.reference.subscripts:
        sources = _sources(p, s, a)
        found += [m.range() for m in sources.values()] if len(sources) > 1 else []
    return found


def _old(p: Polyhedra, s: PolyStatement, a: PolyAccess) -> isl.Set:
    """The instances in which an access surely reads what was there before the region.

    Raises isl.Error.
    """
    found = s.domain.subtract(written_before(s, a))
    for pairs in _sources(p, s, a).values():
        found = found.subtract(pairs.range())
    return found


def _sources(p: Polyhedra, s: PolyStatement, a: PolyAccess) -> dict[str, isl.Map]:
    """By the statements of the source that write what an access reads, these instances to those that read.

    Raises isl.Error.
    """
    array = array_tuple(a.reference)
    writes = [
        (x, w) for x in p.statements for w in x.accesses if w.write and array_tuple(w.reference) == array
    ]
    must, may = (union_of([w.relation for _, w in writes if w.must == sure]) for sure in (True, False))
    flow = dataflow(isl.UnionMap.from_map(a.relation.intersect_domain(s.domain)), must, may, p.schedule())
    roots = {x.name: root_of(x) for x, _ in writes}
    found: dict[str, isl.Map] = {}
    for m in maps(flow.dependence):
        root = roots[tuple_name(m, D.in_)]
        whole = m.set_tuple_name(D.in_, root)
        found[root] = coalesced(found[root].union(whole)) if root in found else whole
    return found


@dataclass(frozen=True)
class _Read:
    """A read of a scalar that finds what one statement wrote, in the instance that `source` tells."""

    writer: str
    source: tuple[Expr, ...]
    moves: bool  # to another iteration of a loop around both


def _single(whole: Polyhedra, p: Polyhedra, array: Array, roots: Collection[str]) -> Polyhedra:
    """`p` with an element for each value that a scalar has, if all reads tell which one they find.

    `whole` is the program before statements were cut.
    """
    users = p.accesses_of(array.name)
    writers = {root_of(s): s for s, a in users if a.write}
    if not writers.keys() & roots or any(not (a.must and a.affine) for _, a in users if a.write):
        return p
    reads: dict[tuple[str, Reference], _Read] = {}
    for s, a in users:
        found = _sources(p, s, a) if not a.write and a.exposed else {}
        if found:
            read = _read(writers, s, found)
            if read is None or not written_before(s, a).is_empty():
                return p
            reads[s.name, a.reference] = read
    if not any(r.moves for r in reads.values()):
        return p
    names = {root: free_name(p, f"{array.name}_{k}_all") for k, root in enumerate(writers)}
    copies = [copy_of_last(whole, array.name, names)] if array.live_out else []
    if None in copies:
        return p
    return _renamed(p, array, names, reads, [c for c in copies if c is not None])


def _read(writers: dict[str, PolyStatement], s: PolyStatement, sources: dict[str, isl.Map]) -> _Read | None:
    ((root, flow), *others) = sources.items()
    back = flow.reverse()
    if others or not s.domain.is_subset(back.domain()) or not back.is_single_valued():
        return None
    functions = isl.MultiPwAff.from_pw_multi_aff(isl.PwMultiAff.from_map(back))
    found: list[Expr] = []
    for k in range(back.dim(D.out)):
        parts = pieces(functions.get_pw_aff(k))
        value = affine_expression(parts[0][1], s.iterators) if len(parts) == 1 else None
        if value is None:
            return None
        found.append(value)
    return _Read(root, tuple(found), crosses(flow, writers[root], s))


def _renamed(
    p: Polyhedra,
    array: Array,
    names: dict[str, str],
    reads: dict[tuple[str, Reference], _Read],
    copies: list[PolyStatement],
) -> Polyhedra:
    def changed(s: PolyStatement) -> PolyStatement:
        own = tuple(map(Name, s.iterators))

        def reference(r: Reference, write: bool) -> Reference:
            if r.array != array.name:
                return r
            read = reads.get((s.name, r))
            if read is not None and not write:
                return replace(r, array=names[read.writer], subscripts=read.source)
            own_value = write or not any(a.exposed for a in s.accesses_of.get((r, False), []))
            return replace(r, array=names[root_of(s)], subscripts=own) if own_value else r

        return redirected(s, reference)

    depths = {n: len(p.statement(_some(p, root)).iterators) for root, n in names.items()}
    arrays = tuple(array.of_region(n, (None,) * depth) for n, depth in depths.items())
    statements = (*map(changed, p.statements), *copies)
    return replace(p, statements=statements, arrays=(*p.arrays, *arrays)).without_unused(array.name)


def _some(p: Polyhedra, root: str) -> str:
    return next(s.name for s in p.statements if root_of(s) == root)
