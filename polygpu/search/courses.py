"""How the accesses of a nest move along its loops, by which nests of several regions are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping

from polygpu.analysis.polyhedra import PolyStatement
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Expr, Name
from polygpu.model.linear import linear
from polygpu.search.space import Nest
from polygpu.support.isl_idioms import bounding, c_name


def courses(r: CompiledRegion, nest: Nest, sizes: Mapping[str, int]) -> Hashable:
    """How many accesses move in which way, and the sizes in the bounds of loops. Nests that only differ in
    names, in constants of subscripts, and in the order of accesses have the same.
    """
    grid = r.grids[nest.kernel]
    statements = [grid.p.statement(name) for name in grid.statements]
    bounds = {c_name(name) for s in statements for name in bounding(s.domain)}
    found = Counter(course for s in statements for course in _courses(s))
    return frozenset(found.items()), tuple(sorted(sizes.get(name, 0) for name in bounds))


def _courses(s: PolyStatement) -> Iterator[Hashable]:
    """For each access of a statement, how much its subscripts change along loops."""
    number = {name: k for k, name in enumerate(s.iterators)}
    for a in s.accesses:
        slopes = tuple(tuple(_slopes(x, number)) for x in a.reference.subscripts)
        yield len(number), a.write, a.affine, slopes


def _slopes(subscript: Expr, number: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    """The loops along which a subscript changes, -1 for what is no loop nor size, with how much it does."""
    for atom, factor in linear(subscript).terms:
        if not isinstance(atom, Name):
            yield -1, factor
        elif atom.name in number:
            yield number[atom.name], factor
