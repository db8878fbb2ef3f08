"""Access matrices in the loops of a nest as it is mapped: the columns that the papers' algorithms look at.

C[i][j + 1], kernel of (i, j), host loop t      axes ((1, 0), (0, 1))   outer ((0, 0),)   origin (0, 1)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd
from typing import TypeAlias

import islpy as isl

from polygpu.analysis.jang_patterns import Columns
from polygpu.analysis.patterns import Vector, coefficients, patterns, subscripts
from polygpu.analysis.polyhedra import PolyAccess
from polygpu.mapping.program import Grid
from polygpu.schedule.tree import members_on
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, pieces

Form: TypeAlias = Mapping[str, int]  # coefficients of parameters; the constant is that of ""


@dataclass(frozen=True)
class Matrix:
    """Subscript k of an access is `origin[k]` and `column[k] * loop` of each loop: the kernel's `axes`, the
    loops `inner` to a thread, the host's `outer` ones. None stands for what is not affine in one piece.
    """

    statement: str
    access: PolyAccess
    axes: Columns
    inner: Columns
    outer: Columns
    origin: tuple[Form | None, ...]


def inner_rows(m: Grid, statement: str) -> list[isl.PwAff]:
    """The loops of a thread around `statement` that it moves in, outermost first, in steps of one."""
    rows = (k.rows[statement] for k in members_on(m.node, statement))
    return [_in_steps(row) for row in rows if not _stands(row)]


def _in_steps(row: isl.PwAff) -> isl.PwAff:
    """`i + j` for a row 3 i + 3 j + n: statements that take turns have others between."""
    step = gcd(*(coefficients(row) or (1,)))
    if step == 1:
        return row
    aff = pieces(row)[0][1]
    for k in range(aff.dim(D.param)):
        aff = aff.set_coefficient_val(D.param, k, isl.Val(0))
    return isl.PwAff.from_aff(aff.set_constant_val(isl.Val(0)).scale_down_val(isl.Val(step)))


def matrices(m: Grid) -> Iterator[Matrix]:
    """Those of all accesses of a nest."""
    for name in m.statements:
        axes = [a.member.rows[name] for a in m.computing]
        inner = inner_rows(m, name)
        outer = [f.member.rows[name] for f in m.outer if name in f.member.rows]
        yield from _matrices(m, name, axes, inner, outer)


def _matrices(
    m: Grid, name: str, axes: Sequence[isl.PwAff], inner: Sequence[isl.PwAff], outer: Sequence[isl.PwAff]
) -> Iterator[Matrix]:
    rows = [*axes, *inner, *outer]
    moving = [row for row in rows if not _stands(row)]
    for found in patterns(m.p.statement(name), moving, len(moving), 0):
        still = (0,) * len(found.matrix)
        steps = iter(found.steps)
        columns = tuple(still if _stands(row) else next(steps) for row in rows)
        first, last = len(axes), len(axes) + len(inner)
        origin = _origin(found.access, columns, rows)
        yield Matrix(name, found.access, columns[:first], columns[first:last], columns[last:], origin)


def _stands(row: isl.PwAff) -> bool:
    """Whether the row has one value at all instances."""
    return not any(coefficients(row) or (1,))


def _origin(access: PolyAccess, columns: Columns, rows: Sequence[isl.PwAff]) -> tuple[Form | None, ...]:
    """The subscripts where all loops are 0: what they are at iteration 0, less what leads from 0 there."""
    starts = [form(row) for row in rows]
    found: list[Form | None] = []
    for k, subscript in enumerate(subscripts(access)):
        own = form(subscript)
        sum_ = dict(own or {})
        for column, start in zip(columns, starts, strict=True):
            if own is None or column is None or start is None:
                return (None,) * len(access.reference.subscripts)
            for name, value in start.items():
                sum_[name] = sum_.get(name, 0) - column[k] * value
        found.append({name: value for name, value in sum_.items() if value})
    return tuple(found) if found else (None,) * len(access.reference.subscripts)


def form(row: isl.PwAff) -> Form | None:
    """The row where all iterators are 0; None when it is piecewise or has divisions."""
    if coefficients(row) is None:
        return None
    aff = pieces(row)[0][1]
    values = {"": aff.get_constant_val(), **_of_parameters(aff)}
    return {n: v.to_python() for n, v in values.items()} if all(v.is_int() for v in values.values()) else None


def _of_parameters(aff: isl.Aff) -> dict[str, isl.Val]:
    count = aff.dim(D.param)
    return {aff.get_dim_name(D.param, k) or "": aff.get_coefficient_val(D.param, k) for k in range(count)}


def constant(origin: Form | None, columns: Sequence[Vector | None], k: int) -> int | None:
    """The offset of subscript `k`; None where sizes or the loops of `columns` move it."""
    if origin is None or set(origin) - {""} or any(c is None or c[k] for c in columns):
        return None
    return origin.get("", 0)
