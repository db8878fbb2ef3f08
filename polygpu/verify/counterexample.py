"""Counterexamples: a point of a set of violations, in terms of the source."""

from __future__ import annotations

import islpy as isl

from polygpu.analysis.polyhedra import PolyStatement
from polygpu.model.expr import Position, Reference
from polygpu.support.isl_idioms import D, c_name
from polygpu.verify.source import position_of


def sample(bad: isl.Map) -> isl.Map:
    """One pair of `bad`, which is not empty, small parameters first."""
    return isl.Map.from_basic_map(_small(bad).sample())


def _small(bad: isl.Map) -> isl.Map:
    for limit in (4, 16, 64, 256, 1024):
        inside = bad
        for k in range(bad.dim(D.param)):
            inside = inside.upper_bound_val(D.param, k, isl.Val(limit))
        if not inside.is_empty():
            return inside
    return bad


def values(m: isl.Map, kind: isl.dim_type) -> list[int]:
    """The coordinates of a single pair."""
    line = m.domain() if kind == D.in_ else m.range()
    return [int(str(line.dim_max_val(k))) for k in range(line.dim(D.set))]


def parameters(point: isl.Map, names: tuple[str, ...]) -> str:
    """`n=3, m=1`: the program's parameters at a single pair."""
    found = []
    whole = point.params()
    for k in range(whole.dim(D.param)):
        name = c_name(whole.get_dim_name(D.param, k) or "")
        if name in names:
            line = whole.move_dims(D.set, 0, D.param, k, 1) if not whole.is_params() else _line(whole, k)
            found.append(f"{name}={line.dim_max_val(0)}")
    return ", ".join(found)


def _line(whole: isl.Set, k: int) -> isl.Set:
    return whole.from_params().move_dims(D.set, 0, D.param, k, 1)


def shown(s: PolyStatement, iterators: list[int], reference: Reference | None, write: bool) -> str:
    """`S1[i=3, j=0] at mm.c:18: C[i][j] += ...`."""
    place = position_of(s, reference, write) if reference is not None else s.position
    inside = ", ".join(f"{n}={v}" for n, v in zip(s.iterators, iterators, strict=True))
    return f"{s.name}[{inside}] at {place.file.rsplit('/', 1)[-1]}:{place.line}: {s.text}"


def element(array: str, index: list[int]) -> str:
    return array + "".join(f"[{i}]" for i in index)


def position(s: PolyStatement, reference: Reference | None, write: bool) -> Position:
    return position_of(s, reference, write) if reference is not None else s.position
