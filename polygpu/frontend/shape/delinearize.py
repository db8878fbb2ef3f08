"""Recovering the shape of flattened arrays from their subscripts.

    A[i * n + j], A[(i + 1) * n + j - 1]    ->    A[i][j], A[i + 1][j - 1] with rows of n elements

After Maslov ("Delinearization", PLDI'92) in the form of Groesslinger and others ("Optimistic
delinearization of parametrically sized arrays", ICS'15): the products of parameters that multiply the
iterators are the strides; that the inner subscripts stay in bounds is assumed and tested at run time. A
factor that the source writes as a sum, `A[i * (n + 2) + j]`, counts as a parameter, if fewer terms are left
so.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from math import gcd
from types import MappingProxyType

from polygpu.frontend.shape.affine import (
    Affine,
    Polynomial,
    add,
    expression,
    multiplied,
    polynomial,
    scaled,
    total,
)
from polygpu.model.expr import Binary, Cast, Expr, Int, Name, Reference, Select, Unary
from polygpu.model.offsets import product, product_of
from polygpu.model.rewrite import rewrite, scalars_in, substitute
from polygpu.support.dataclass import dataclass

_NOTHING: Mapping[str, Set[Expr]] = MappingProxyType({})
STRIDES = "its accesses have the strides"


@dataclass(frozen=True)
class Sum:
    """`parameter` and the terms `by`, a factor of its own."""

    parameter: Name
    by: tuple[tuple[tuple[Expr, ...], int], ...]

    @property
    def atom(self) -> Expr:
        return expression({(self.parameter,): 1, **dict(self.by)})

    def put(self, subscript: Polynomial) -> Polynomial:
        """n * i + 2 * i + j  ->  (n + 2) * i + j"""
        parameter = total({(self.atom,): 1}, scaled(dict(self.by), -1))
        found: Polynomial = {}
        for monomial, factor in subscript.items():
            others = tuple(atom for atom in monomial if atom != self.parameter)
            power: Polynomial = {others: factor}
            for _ in range(len(monomial) - len(others)):
                power = multiplied(power, parameter)
            found = total(found, power)
        return found


def sums_in(expr: Expr) -> list[Sum]:
    """The sums of parameters and a number that something is multiplied with."""
    match expr:
        case Unary(_, operand) | Cast(_, operand):
            return sums_in(operand)
        case Binary(op, left, right):
            inside = [*sums_in(left), *sums_in(right)]
            return [*inside, *_factors(left, right)] if op == "*" else inside
    return []


def _factors(*sides: Expr) -> Iterator[Sum]:
    for terms in map(polynomial, sides):
        names = [atoms for atoms in terms if len(atoms) == 1 and isinstance(atoms[0], Name)]
        if len(terms) == 1 or len(names) + (() in terms) < len(terms):
            continue
        for atoms in names:
            others = ((other, factor) for other, factor in terms.items() if other != atoms)
            if isinstance(name := atoms[0], Name) and terms[atoms] == 1:
                yield Sum(name, tuple(sorted(others, key=repr)))


@dataclass(frozen=True)
class Stride:
    """`factor` times the product of `parameters` (sorted) elements."""

    factor: int
    parameters: tuple[Expr, ...]


@dataclass(frozen=True)
class Shape:
    """`strides` from the outermost dimension to 1; `extents` of all dimensions but the outermost."""

    strides: tuple[Stride, ...]
    extents: tuple[Expr, ...]
    sums: tuple[Sum, ...] = ()


def find_shape(
    subscripts: Iterable[Polynomial], iterators: Set[str], sums: Iterable[Sum] = ()
) -> Shape | str:
    """The shape that fits all subscripts of one array, or why there is none.

    `sums` are factors that the source has.
    """
    known = list(subscripts)
    used: list[Sum] = []
    for found in sums:
        better = [found.put(s) for s in known]
        if sum(map(len, better)) < sum(map(len, known)):
            known = better
            used.append(found)
    shape = _shape(known, iterators)
    return replace(shape, sums=tuple(used)) if isinstance(shape, Shape) else shape


def with_known_extents(affine: Affine, shape: Shape) -> Shape | str:
    """The shape with rows as long as an affine form says, or a parameter for it: `1 << k`, `n / m`."""
    extents: list[Expr] = []
    for extent in shape.extents:
        if (value := affine.value(extent)) is None:
            return "the length of its rows is no affine form"
        extents.append(value)
    return replace(shape, extents=tuple(extents))


def _shape(subscripts: Sequence[Polynomial], iterators: Set[str]) -> Shape | str:
    grouped: dict[tuple[Expr, ...], int] = {(): 1}
    for subscript in subscripts:
        for monomial, factor in subscript.items():
            parameters = tuple(atom for atom in monomial if is_parameter(atom, iterators))
            if len(parameters) < len(monomial) - 1:
                return "it multiplies values that are unknown at compile time"
            if len(parameters) == len(monomial) - 1 and parameters:
                grouped[parameters] = gcd(grouped.get(parameters, 0), factor)
    if len(grouped) == 1:
        return "it is no sum of iterators and parameters"
    offsets = {m for s in subscripts for m in s if m and all(is_parameter(a, iterators) for a in m)}
    strides = sorted((Stride(factor, parameters) for parameters, factor in grouped.items()), key=_degree)
    chain = list(_with_fixed(strides, sorted(offsets, key=repr)))
    extents = []
    for inner, outer in pairwise(chain):
        plain = all(_without(offset, outer.parameters) is not None for offset in offsets)
        extent = _quotient(outer, inner, of_several=plain)
        if extent is None:
            return f"{STRIDES} {_text(inner)} and {_text(outer)}, which fit no one shape"
        extents.append(extent)
    return Shape(tuple(reversed(chain)), tuple(reversed(extents)))


def _with_fixed(strides: Sequence[Stride], offsets: Sequence[tuple[Expr, ...]]) -> Iterator[Stride]:
    """The strides with those that `offsets`, terms without an iterator, have of the subscripts between them:
    A[i * n * m + 1 * m + j] has one of m.
    """
    yield from strides[:1]
    for inner, outer in pairwise(strides):
        last, rest = inner, _without(outer.parameters, inner.parameters) or ()
        within = [offset for offset in offsets if _without(offset, outer.parameters) is None]
        while len(rest) > 1 and (found := _dividing(last.parameters, rest, within)) is not None:
            last = Stride(inner.factor, tuple(sorted((*last.parameters, found), key=repr)))
            yield last
            rest = _without(rest, (found,)) or ()
        yield outer


def _dividing(
    inner: tuple[Expr, ...], rest: tuple[Expr, ...], offsets: Sequence[tuple[Expr, ...]]
) -> Expr | None:
    """The one of `rest` by which the next stride is larger than `inner`, as far as an offset tells."""
    found = (e for offset in offsets for e in rest if _without(offset, (*inner, e)) is not None)
    return next(found, None)


def distributed(affine: Affine, subscript: Expr, iterators: Set[str]) -> Expr:
    """`?:` with affine tests within the factors of the strides, so that each factor is affine.

    x == 0 ? y * n + x : y * n + x - 1    ->    n * y + (x == 0 ? x : x - 1)
    """

    def change(expr: Expr) -> Expr | None:
        match expr:
            case Select(test, yes, no) if affine.value(expr) is None and affine.condition(test) is not None:
                sides = [polynomial(distributed(affine, side, iterators)) for side in (yes, no)]
                moved = (m for side in sides for m in side if len(_parameters(m, iterators)) < len(m))
                strides = sorted({_parameters(m, iterators) for m in moved}, key=len, reverse=True)
                first, second = (_by_strides(side, strides, iterators) for side in sides)
                return reduce(add, (_chosen(test, k, first, second) for k in {**first, **second}))
        return None

    return rewrite(subscript, change)


def _by_strides(
    subscript: Polynomial, strides: list[tuple[Expr, ...]], iterators: Set[str]
) -> dict[tuple[Expr, ...], Polynomial]:
    """What each stride is multiplied with; of the strides that divide a term the largest."""
    found: dict[tuple[Expr, ...], Polynomial] = {}
    for monomial, factor in subscript.items():
        own = _parameters(monomial, iterators)
        if len(own) == len(monomial):
            own = next((stride for stride in strides if _without(own, stride) is not None), ())
        remaining = _without(monomial, own)
        assert remaining is not None
        found.setdefault(own, {})[remaining] = factor
    return found


def _parameters(monomial: tuple[Expr, ...], iterators: Set[str]) -> tuple[Expr, ...]:
    return tuple(atom for atom in monomial if is_parameter(atom, iterators))


def _chosen(
    test: Expr,
    parameters: tuple[Expr, ...],
    yes: dict[tuple[Expr, ...], Polynomial],
    no: dict[tuple[Expr, ...], Polynomial],
) -> Expr:
    """The parameters times what they are multiplied with where the test holds, or where not."""
    sides = expression(yes.get(parameters, {})), expression(no.get(parameters, {}))
    factor = sides[0] if sides[0] == sides[1] else Select(test, *sides)
    return product((*parameters, factor)) if parameters else factor


def is_parameter(atom: Expr, iterators: Set[str]) -> bool:
    """Whether it is one, or computed of parameters and numbers alone, as what a `Sum` has is."""
    match atom:
        case Binary(_, left, right):
            return all(isinstance(side, Int) or is_parameter(side, iterators) for side in (left, right))
        case Unary(_, operand):
            return isinstance(operand, Int) or is_parameter(operand, iterators)
    return isinstance(atom, Name) and atom.name not in iterators


def _degree(stride: Stride) -> int:
    return len(stride.parameters)


def _quotient(outer: Stride, inner: Stride, of_several: bool) -> Expr | None:
    """outer / inner if that is a constant times one parameter, or a product `of_several`: planes of h * w
    elements of which nothing tells the rows.
    """
    remaining = _without(outer.parameters, inner.parameters)
    if not remaining or (len(remaining) > 1 and not of_several) or outer.factor % inner.factor:
        return None
    return product_of(Int(outer.factor // inner.factor), product(remaining))


def _without(atoms: tuple[Expr, ...], removed: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
    """The product `atoms` divided by `removed`, None where that is no product."""
    remaining = list(atoms)
    for atom in removed:
        if atom not in remaining:
            return None
        remaining.remove(atom)
    return tuple(remaining)


def _text(stride: Stride) -> str:
    names = [min(scalars_in(p)) for p in stride.parameters]
    return "'" + " * ".join(([str(stride.factor)] if stride.factor != 1 or not names else []) + names) + "'"


def subscripts_for(
    subscript: Polynomial, shape: Shape, least: Mapping[str, Set[Expr]] = _NOTHING
) -> tuple[Expr, ...]:
    """The subscripts of one access, outermost first, so that their weighted sum is `subscript`.

    No iterator is below what is `least` for it, or for it in some of its iterations.
    """
    for known in shape.sums:
        subscript = known.put(subscript)
    parts: list[Polynomial] = [{} for _ in shape.strides]
    for monomial, factor in subscript.items():
        dimension, atoms, amount = _place(monomial, factor, shape)
        parts[dimension][atoms] = parts[dimension].get(atoms, 0) + amount
    for dimension in range(len(parts) - 1, 0, -1):
        _borrow(parts, dimension, shape.extents[dimension - 1], least)
    return tuple(expression(part) for part in parts)


def _place(monomial: tuple[Expr, ...], factor: int, shape: Shape) -> tuple[int, tuple[Expr, ...], int]:
    """(dimension, remaining atoms, remaining factor) for the largest stride that divides the term."""
    for dimension, stride in enumerate(shape.strides):
        remaining = _without(monomial, stride.parameters)
        if remaining is not None and factor % stride.factor == 0:
            return dimension, remaining, factor // stride.factor
    raise AssertionError("the last stride is 1")


def _borrow(parts: list[Polynomial], dimension: int, extent: Expr, least: Mapping[str, Set[Expr]]) -> None:
    """Turns `A[i + 1][-1 - j]` into `A[i][n - 1 - j]`, and `A[i + 1][j - m]` into `A[i][n + j - m]` where j
    starts at 0: what is below 0 is in the row before.
    """
    part = {monomial: factor for monomial, factor in parts[dimension].items() if factor}
    if not part or not _is_below(part, least):
        return
    if not isinstance(extent, Name | Int | Binary) or (isinstance(extent, Binary) and extent.op == "*"):
        return
    parts[dimension][(extent,)] = parts[dimension].get((extent,), 0) + 1
    parts[dimension - 1][()] = parts[dimension - 1].get((), 0) - 1


def _is_below(part: Polynomial, least: Mapping[str, Set[Expr]]) -> bool:
    """Whether a sum is below 0, as far as its signs tell: wherever it is read, or where it is read first."""
    if all(factor < 0 for factor in part.values()):
        return True
    rising = scalars_in(*(e for atoms, factor in part.items() if factor > 0 for e in atoms))
    starts = [[(name, e) for e in least.get(name, ())] for name in sorted(rising)]
    firsts = [polynomial(substitute(expression(part), dict(values))) for values in itertools.product(*starts)]
    return bool(firsts) and all(first and max(first.values()) < 0 for first in firsts)


def inner_subscripts(reference: Reference, shape: Shape) -> list[tuple[Expr, Expr]]:
    """(subscript, extent) of the dimensions whose bounds are assumed."""
    return list(zip(reference.subscripts[1:], shape.extents, strict=True))
