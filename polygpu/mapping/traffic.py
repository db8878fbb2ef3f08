"""Loads and stores of a tile as counts of the elements it touches, symbolic (Baskaran et al., ICS'08, 4.6).

Of each array, loads are the points in the union of the images of the tile's iterations under all references
that read it, stores those under the references that write it. All tiles together make as many times that:

    C[i][j] += A[i][k] * B[k][j], tiles of T_i x T_j      A: T_i * p loads, n * m * p / T_j in all tiles

A tile is a box: T_i, T_j, ... iterations of the kernel's axes, all of the loops in a thread. Images that are
boxes too, constant distances apart, are counted exactly; of others the sum bounds the union.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from math import prod
from operator import floordiv, mod, sub
from typing import TypeAlias

import islpy as isl
import sympy

from polygpu.analysis.patterns import Vector
from polygpu.analysis.polyhedra import array_tuple
from polygpu.mapping.matrices import Matrix, inner_rows, matrices
from polygpu.mapping.program import Axis, Grid
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, bounded, pieces

_STEPS = 100_000  # of isl, for whether a nest is a box

Values: TypeAlias = Mapping[str, int]


@dataclass(frozen=True)
class Images:
    """The union of boxes that have `sizes`: the sum of `terms`, each a factor and what its box is smaller.

    Terms are those of inclusion and exclusion: boxes 3 elements apart meet in one that is 3 smaller.
    """

    sizes: tuple[sympy.Expr, ...]
    terms: tuple[tuple[int, tuple[int, ...]], ...]

    @staticmethod
    def of(sizes: tuple[sympy.Expr, ...], corners: Iterable[tuple[int, ...]]) -> Images:
        """The union of boxes with these first elements."""
        found: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}  # factors by least and most corners
        for corner in dict.fromkeys(corners):
            added = {(corner, corner): 1}
            for (low, high), factor in found.items():
                met = tuple(map(min, low, corner)), tuple(map(max, high, corner))
                added[met] = added.get(met, 0) - factor
            for key, factor in added.items():
                found[key] = found.get(key, 0) + factor
        spreads: dict[tuple[int, ...], int] = {}
        for (low, high), factor in found.items():
            spread = tuple(b - a for a, b in zip(low, high, strict=True))
            spreads[spread] = spreads.get(spread, 0) + factor
        return Images(sizes, tuple((factor, spread) for spread, factor in spreads.items() if factor))

    def count(self) -> sympy.Expr:
        """How many elements, of boxes no smaller than the distances between them."""
        return sympy.Add(
            *(factor * sympy.Mul(*map(sub, self.sizes, spread)) for factor, spread in self.terms)
        )

    def at(self, values: Values) -> int:
        """How many elements, of boxes of any size."""
        sizes = [max(0, evaluated(size, values)) for size in self.sizes]
        met = ((factor, map(sub, sizes, spread)) for factor, spread in self.terms)
        return sum(factor * prod(max(0, side) for side in sides) for factor, sides in met)


@dataclass(frozen=True)
class Count:
    """Elements of one array that a tile touches; at most so many unless it is `exact`."""

    images: tuple[Images, ...]
    exact: bool

    def symbolic(self) -> sympy.Expr:
        return sympy.expand(sympy.Add(*(image.count() for image in self.images)))

    def at(self, values: Values) -> int:
        return sum(image.at(values) for image in self.images)


@dataclass(frozen=True)
class Traffic:
    """Of one launch. `loads` and `stores` of a tile are by array; None where no expression says them.

    `extents` are the iterations along each axis that its tiles share, exactly so if they are a box.
    """

    axes: tuple[Axis, ...]
    loads: Mapping[str, Count | None]
    stores: Mapping[str, Count | None]
    extents: tuple[sympy.Expr, ...]
    box: bool

    @property
    def own(self) -> sympy.Expr:
        """Iterations of the axes in a tile, those apart that are other tiles' too."""
        return sympy.Mul(*(tile_size(a) - sum(a.overlap) for a in self.axes))

    @property
    def iterations(self) -> sympy.Expr:
        """Iterations of the axes in all tiles."""
        return sympy.Mul(*self.extents)

    def total(self, count: Count) -> sympy.Expr:
        """What all tiles move, of sizes that divide the extents."""
        return sympy.expand(count.symbolic() / self.own) * self.iterations

    def total_at(self, count: Count, values: Values) -> int:
        return count.at(values) * evaluated(self.iterations, values) // evaluated(self.own, values)

    def chosen(self, sizes: Values) -> Values:
        """Values of all symbols: these sizes of the problem, and the tiles that the kernel has."""
        tiles = (
            (str(tile_size(a)), min(a.tile, evaluated(e, sizes)))
            for a, e in zip(self.axes, self.extents, strict=True)
        )
        return {**sizes, **dict(tiles)}


def symbol(name: str) -> sympy.Symbol:
    return sympy.Symbol(name, integer=True)


def tile_size(axis: Axis) -> sympy.Symbol:
    return symbol(f"T_{axis.name}")


def evaluated(expr: sympy.Expr, values: Values) -> int:
    """Raises KeyError where a symbol has no value."""
    return int(expr.subs({s: values[str(s)] for s in expr.free_symbols}))


def traffic(m: Grid) -> Traffic:
    """Loads and stores of a full tile of the nest; of tests of data, what both outcomes touch."""
    lines = {s: _lines(m, s) for s in m.statements}
    found = list(matrices(m))
    loads, stores = ({}, {})  # type: tuple[dict[str, Count | None], dict[str, Count | None]]
    for write, counts in ((False, loads), (True, stores)):
        mine = [f for f in found if f.access.write == write]
        for array in dict.fromkeys(array_tuple(f.access.reference) for f in mine):
            uses = [f for f in mine if array_tuple(f.access.reference) == array]
            counts[array] = _union(m, uses, lines)
    return Traffic(m.computing, loads, stores, *_extents(m))


@dataclass(frozen=True)
class Line:
    """The values of a loop in a tile: `length` of them from `first` on."""

    first: sympy.Expr
    length: sympy.Expr


@dataclass(frozen=True)
class Lines:
    """Those of the axes and of the loops in a thread; `full` if all points of their box run."""

    lines: tuple[Line, ...]
    full: bool


def _lines(m: Grid, statement: str) -> Lines | None:
    """None where a bound has no expression."""
    points = [a.member.rows[statement] for a in m.computing]
    inner = inner_rows(m, statement)
    values = [_image(m, statement, [row]) for row in inner]
    found = [line for line in map(_line, values) if line is not None]
    if len(found) < len(inner):
        return None
    axes = (Line(symbol(a.origin), tile_size(a)) for a in m.computing)
    whole = _image(m, statement, [*points, *inner])
    dealt = _image(m, statement, points)
    return Lines((*axes, *found), _has_full_tiles(dealt) and _fills(dealt, values, whole))


def _image(m: Grid, statement: str, rows: Iterable[isl.PwAff]) -> isl.Set:
    """The values of the rows together."""
    domain = m.domain(statement)
    relation = isl.Map.from_domain(domain)
    for row in rows:
        relation = relation.flat_range_product(isl.Map.from_pw_aff(row))
    return relation.intersect_domain(domain).range()


def _has_full_tiles(points: isl.Set) -> bool:
    """Whether the points are those of a convex set that is no line or plane: all of a tile inside it run."""
    hull = points.remove_divs().simple_hull()
    flat = any(
        c.is_equality() and c.involves_dims(D.set, 0, points.dim(D.set)) for c in hull.get_constraints()
    )
    return not flat and bool(isl.Set.from_basic_set(hull).is_equal(points))


def _fills(points: isl.Set, lines: Iterable[isl.Set], whole: isl.Set) -> bool:
    """Whether at each of the `points` the loops go through all values between the ends of each line."""
    try:
        with bounded(_STEPS):
            for values in lines:
                below = isl.Map.lex_le(values.get_space())
                points = points.flat_product(values.apply(below).intersect(values.apply(below.reverse())))
            return bool(points.is_subset(whole))
    except isl.Error:
        return False


def _line(values: isl.Set) -> Line | None:
    first, last = symbolic(values.dim_min(0)), symbolic(values.dim_max(0))
    return None if first is None or last is None else Line(first, last - first + 1)


def _extents(m: Grid) -> tuple[tuple[sympy.Expr, ...], bool]:
    """Iterations along each axis, named where no expression says how many, and whether they are a box."""
    each = (_image(m, s, [a.member.rows[s] for a in m.computing]) for s in m.statements)
    points, axes = reduce(isl.Set.union, each), m.computing
    count = len(axes)
    sides = [points.project_out(D.set, k + 1, count - k - 1).project_out(D.set, 0, k) for k in range(count)]
    lines = [_line(side) for side in sides]
    extents = (
        symbol(f"N_{a.name}") if line is None else line.length
        for a, line in zip(m.computing, lines, strict=True)
    )
    return tuple(extents), _fills(isl.Set("{ [] }"), sides, points)


def symbolic(pw: isl.PwAff) -> sympy.Expr | None:
    """A function of the parameters; None where it is neither affine nor an extreme of some that are."""
    affs = [aff for _, aff in pieces(pw)]
    for pick, among in () if not affs else ((sympy.Min, isl.PwAff.min), (sympy.Max, isl.PwAff.max)):
        whole = reduce(among, map(isl.PwAff.from_aff, affs))
        if whole.intersect_domain(pw.domain()).is_equal(pw):
            return pick(*map(_expression, affs))
    return None


def _expression(aff: isl.Aff) -> sympy.Expr:
    terms = [sympy.Rational(str(aff.get_constant_val()))]
    for kind in (D.param, D.div):
        for k in range(aff.dim(kind)):
            factor = sympy.Rational(str(aff.get_coefficient_val(kind, k)))
            terms += [factor * _atom(aff, kind, k)] if factor else []
    return sympy.Add(*terms)


def _atom(aff: isl.Aff, kind: isl.dim_type, k: int) -> sympy.Expr:
    if kind == D.div:
        return sympy.floor(_expression(aff.get_div(k)))
    return symbol(aff.get_dim_name(kind, k) or "")


@dataclass(frozen=True)
class _Shape:
    """What images have in common that lie constant distances apart, counted in `strides`.

    Of those that are no boxes, also the `columns` of the access matrix that make them.
    """

    sizes: tuple[sympy.Expr, ...]
    strides: tuple[int, ...]
    corner: tuple[sympy.Expr, ...]
    columns: tuple[tuple[Vector, Line], ...] = ()


def _union(m: Grid, uses: Iterable[Matrix], lines: Mapping[str, Lines | None]) -> Count | None:
    """What a tile touches of an array by these references."""
    found: dict[_Shape, dict[tuple[int, ...], list[tuple[int, ...]]]] = {}  # corners by their remainders
    exact = True
    for use in uses:
        mine = lines[use.statement]
        if mine is None:
            return None
        shape, corner, counted = _boxed(m, use, mine.lines)
        exact = exact and counted and mine.full and _always(m, use)
        rest, steps = tuple(map(mod, corner, shape.strides)), tuple(map(floordiv, corner, shape.strides))
        found.setdefault(shape, {}).setdefault(rest, []).append(steps)
    images = (Images.of(s.sizes, corners) for s, apart in found.items() for corners in apart.values())
    return Count(tuple(images), exact and len(found) == 1)


def _always(m: Grid, use: Matrix) -> bool:
    """Whether every instance of the statement makes the access."""
    domain = m.p.statement(use.statement).domain
    return (use.access.must or not use.access.write) and bool(domain.is_subset(use.access.relation.domain()))


def _boxed(m: Grid, use: Matrix, lines: tuple[Line, ...]) -> tuple[_Shape, tuple[int, ...], bool]:
    """The image of the tile, the constant part of its least element, and whether it is exactly so large.

    What is not a box counts as a line of as many elements as there are iterations that move it.
    """
    columns = (*use.axes, *use.inner)
    moving = [
        (column, line) for column, line in zip(columns, lines, strict=True) if column is None or any(column)
    ]
    known = [(column, line) for column, line in moving if column is not None]
    starts = _corner(m, use, known)
    size = sympy.Mul(*(line.length for _, line in moving))
    if len(known) < len(moving) or starts is None:
        return _Shape((size,), (1,), (sympy.Dummy(),)), (0,), False
    sides = [_side([(c[k], line) for c, line in known if c[k]]) for k in range(len(starts))]
    if all(sum(map(bool, column)) == 1 for column, _ in known) and all(sides):
        sizes, strides = (tuple(side[k] for side in sides if side is not None) for k in range(2))
        parts = [start.as_coeff_Add() for start in starts]
        return _Shape(sizes, strides, tuple(p[1] for p in parts)), tuple(int(p[0]) for p in parts), True
    independent = sympy.Matrix([column for column, _ in known]).rank() == len(known)
    return _Shape((size,), (1,), tuple(starts), tuple(known)), (0,), independent


def _corner(m: Grid, use: Matrix, known: list[tuple[Vector, Line]]) -> list[sympy.Expr] | None:
    """The least subscripts in the tile."""
    found: list[sympy.Expr] = []
    outer = [symbol(f.name) for f in m.outer if use.statement in f.member.rows]
    for k, origin in enumerate(use.origin):
        if origin is None or None in use.outer:
            return None
        terms = [value * (symbol(name) if name else sympy.S.One) for name, value in origin.items()]
        terms += [c[k] * loop for c, loop in zip(use.outer, outer, strict=True) if c is not None]
        terms += [c[k] * (line.first if c[k] > 0 else line.first + line.length - 1) for c, line in known]
        found.append(sympy.expand(sympy.Add(*terms)))
    return found


def _side(moves: list[tuple[int, Line]]) -> tuple[sympy.Expr, int] | None:
    """How many values a subscript takes, and how far apart; None where there may be gaps."""
    if len(moves) == 1:
        return moves[0][1].length, abs(moves[0][0])
    if any(abs(c) != 1 for c, _ in moves):
        return None
    return sympy.Add(1, *(line.length - 1 for _, line in moves)), 1
