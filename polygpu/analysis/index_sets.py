"""Index-set splitting: a statement cut where a few of its instances feed all the others.

    before:  for k for i for j  d[i][j] = min(d[i][j], d[i][k] + d[k][j]);
    after:   in each iteration of k the row i == k, the column j == k and the rest are statements of their own

In one iteration of `k` only instances with i == k or j == k exchange values with others, so that each piece
(i < k, i == k, i > k by j < k, j == k, j > k) is parallel in both i and j, where the whole is in neither.
Griebl, Feautrier, Lengauer: Index Set Splitting, IJPP 28 (2000); here the cuts are the hyperplanes on which
the ends of the dependences inside one iteration of the outer loops lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import islpy as isl

from polygpu.analysis.dependences import Dependences
from polygpu.analysis.polyhedra import Polyhedra, PolyStatement
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, basic_maps, maps, tuple_name, union_of

_CUTS = 2  # hyperplanes a statement: 9 pieces


@dataclass(frozen=True)
class Split:
    """Statement `whole` became `parts`, in the order of their first instances."""

    whole: str
    parts: tuple[str, ...]


def split(p: Polyhedra, d: Dependences) -> tuple[Polyhedra, Dependences, tuple[Split, ...]]:
    """`p` with the statements cut whose inner loops become parallel by it, and its dependences."""
    pieces: list[tuple[str, PolyStatement]] = []
    done: list[Split] = []
    own = _own_dependences(d)
    for s in p.statements:
        parts = _parts(s, own[s.name]) if s.name in own else []
        pieces += [(s.name, part) for part in parts or [s]]
        if parts:
            done.append(Split(s.name, tuple(part.name for part in parts)))
    if not done:
        return p, d, ()
    return replace(p, statements=tuple(s for _, s in pieces)), _renamed(d, pieces), tuple(done)


def divided(p: Polyhedra, statement: str, sets: Sequence[isl.Set]) -> Polyhedra:
    """`p` with a statement in pieces: its instances in each of `sets`, called `statement`_0, _1, ...

    Raises ValueError where some instance is in none of the sets, or in two.
    """
    s = p.statement(statement)
    parts = _divided(s, sets)
    return replace(p, statements=tuple(part for x in p.statements for part in (parts if x is s else [x])))


def cut(p: Polyhedra, d: Dependences, sets: Mapping[str, Sequence[isl.Set]]) -> tuple[Polyhedra, Dependences]:
    """`p` with each of several statements `divided` into its sets, and the dependences of that."""
    parts = {s.name: _divided(s, sets[s.name]) if s.name in sets else [s] for s in p.statements}
    pieces = [(name, piece) for name, mine in parts.items() for piece in mine]
    return replace(p, statements=tuple(piece for _, piece in pieces)), _renamed(d, pieces)


def _divided(s: PolyStatement, sets: Sequence[isl.Set]) -> list[PolyStatement]:
    domains = [s.domain.intersect(each) for each in sets]
    rest = s.domain
    for domain in domains:
        if not domain.is_subset(rest):
            raise ValueError(f"instances of {s.name} are in two pieces")
        rest = rest.subtract(domain)
    if not rest.is_empty():
        raise ValueError(f"instances of {s.name} are in no piece")
    return [_restricted(s, f"{s.name}_{k}", domain) for k, domain in enumerate(domains)]


def _renamed(d: Dependences, pieces: list[tuple[str, PolyStatement]]) -> Dependences:
    """`d` between the pieces, each with the name of what it was cut from, which may be a piece itself.

    Cutting changes the names of instances, not the values they exchange.
    """
    names = union_of([s.domain.identity().set_tuple_name(D.in_, name) for name, s in pieces])
    return Dependences(
        d.flow.apply_domain(names).apply_range(names),
        d.memory.apply_domain(names).apply_range(names),
        d.live_in.apply_domain(names),
    )


def _own_dependences(d: Dependences) -> dict[str, isl.Map]:
    """The dependences of each statement on itself."""
    found: dict[str, isl.Map] = {}
    for m in (*maps(d.flow), *maps(d.memory)):
        name = tuple_name(m, D.in_)
        if name == tuple_name(m, D.out):
            found[name] = found[name].union(m) if name in found else m
    return found


def _parts(s: PolyStatement, own: isl.Map) -> list[PolyStatement]:
    """The pieces of `s` whose inner loops are all parallel; none where no cut achieves that."""
    inside = own
    for level in range(1, len(s.iterators) - 1):
        inside = inside.equate(D.in_, level - 1, D.out, level - 1)
        if inside.is_empty():
            return []
        cuts = _cuts(s, inside)
        if cuts:
            parts = _pieces(s, cuts)
            return parts if _each_parallel(parts, inside) else []
    return []


def _cuts(s: PolyStatement, inside: isl.Map) -> list[isl.Aff]:
    """Functions whose zeros hold an end of each of the dependences `inside`; none when there are too many."""
    known = s.domain.affine_hull()
    found: list[isl.Aff] = []
    for m in basic_maps(inside):
        ends = [*_hyperplanes(m.domain(), known), *_hyperplanes(m.range(), known)]
        if not ends:
            return []
        found.extend(e for e in ends if not any(_same(e, f) for f in found))
    return found if len(found) <= _CUTS else []


def _hyperplanes(end: isl.BasicSet, known: isl.BasicSet) -> list[isl.Aff]:
    """The equations of `end` that do not hold on the whole domain."""
    hull = end.remove_divs().affine_hull().gist(known)
    return [c.get_aff() for c in hull.get_constraints() if c.is_equality()]


def _same(a: isl.Aff, b: isl.Aff) -> bool:
    return bool(a.plain_is_equal(b) or a.neg().plain_is_equal(b))


def _pieces(s: PolyStatement, cuts: list[isl.Aff]) -> list[PolyStatement]:
    """The statement on each side of each cut, and on it."""
    values = [isl.PwAff.from_aff(_increasing(c)) for c in cuts]
    sides = [(v.neg().pos_set(), v.zero_set(), v.pos_set()) for v in values]
    found: list[PolyStatement] = []
    for chosen in product(*sides):
        domain = s.domain
        for side in chosen:
            domain = domain.intersect(side)
        if not domain.is_empty():
            found.append(_restricted(s, f"{s.name}_{len(found)}", domain))
    return found


def _increasing(cut: isl.Aff) -> isl.Aff:
    """`cut` or its negation, such that it grows with the innermost iterator in it."""
    for k in reversed(range(cut.dim(D.in_))):
        coefficient = cut.get_coefficient_val(D.in_, k)
        if not coefficient.is_zero():
            return cut if coefficient.is_pos() else cut.neg()
    return cut


def _restricted(s: PolyStatement, name: str, domain: isl.Set) -> PolyStatement:
    def renamed(relation: isl.Map) -> isl.Map:
        return relation.intersect_domain(domain).set_tuple_name(D.in_, name)

    accesses = tuple(replace(a, relation=renamed(a.relation)) for a in s.accesses)
    return replace(
        s,
        name=name,
        whole=s.whole or s.name,
        domain=domain.set_tuple_name(name),
        schedule=renamed(s.schedule),
        accesses=accesses,
    )


def _each_parallel(parts: list[PolyStatement], inside: isl.Map) -> bool:
    """Whether no piece depends on itself, and the pieces can follow one another."""
    domains = [part.domain.set_tuple_name(tuple_name(inside, D.in_)) for part in parts]
    after = {
        (a, b)
        for a, first in enumerate(domains)
        for b, second in enumerate(domains)
        if not inside.intersect_domain(first).intersect_range(second).is_empty()
    }
    left = set(range(len(parts)))
    while left:
        free = {b for b in left if not any((a, b) in after for a in left)}
        if not free:
            return False
        left -= free
    return True
