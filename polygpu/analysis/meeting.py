"""Accesses to an array in groups of which no two touch a common element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TypeAlias

import islpy as isl

from polygpu.support.isl_idioms import D, basic_maps

_COMPONENTS = 8  # of a vector, whose loops are cut into single ones

Access: TypeAlias = tuple[int, isl.BasicMap]  # with the number of its kind


def meeting(accesses: Sequence[Sequence[isl.Map]], cut: bool = False) -> list[list[list[isl.Map]]]:
    """Accesses of several kinds to one array in groups of those that may touch a common element: subscripts
    that are constants, as of components of vectors, tell others apart. Groups without any of the first kind
    are left out.

    Dataflow looks at all pairs of accesses, of which most are of different components there. Accesses of
    loops over components are `cut` into those of each, or hold these together.
    """
    whole = [(kind, piece) for kind, part in enumerate(accesses) for m in part for piece in basic_maps(m)]
    groups = [whole]
    for k in range(whole[0][1].dim(D.out) if whole else 0):
        groups = [part for group in groups for part in _told_apart(group, k, cut)]
    if len(groups) < 2:
        return [[list(part) for part in accesses]]
    parts = [
        [[isl.Map.from_basic_map(piece) for number, piece in group if number == kind] for kind in range(3)]
        for group in groups
    ]
    return [part for part in parts if part[0]]


def _told_apart(group: list[Access], k: int, cut: bool) -> list[list[Access]]:
    """The group in parts whose subscripts `k` no other part has."""
    fixed = {v for _, piece in group if (v := _constant(piece, k)) is not None}
    if len(fixed) < 2:
        return [group]
    lines = [part for access in group for part in _lines(access, k, fixed if cut else set())]
    parts: list[list[Access]] = []
    last = -inf
    for low, high, access in sorted(lines, key=lambda line: line[:2]):
        if not parts or low > last:
            parts.append([])
        parts[-1].append(access)
        last = max(last, high)
    return parts


def _lines(access: Access, k: int, cuts: set[int]) -> Iterator[tuple[float, float, Access]]:
    """The access with its least and largest subscript `k`; those of each where a few are among the `cuts`."""
    kind, piece = access
    low, high = _ends(piece, k)
    if high - low < _COMPONENTS and low < high and not cuts.isdisjoint(range(int(low), int(high) + 1)):
        for value in range(int(low), int(high) + 1):
            yield value, value, (kind, piece.fix_val(D.out, k, isl.Val(value)))
    else:
        yield low, high, access


def _ends(piece: isl.BasicMap, k: int) -> tuple[float, float]:
    """The least and the largest subscript `k`, infinite where that is not plain to see."""
    value = _constant(piece, k)
    if value is not None:
        return value, value
    if piece.dim(D.div):
        return -inf, inf
    elements = isl.Set.from_basic_set(piece.range())
    low, high = elements.dim_min_val(k), elements.dim_max_val(k)
    return (low.to_python() if low.is_int() else -inf), (high.to_python() if high.is_int() else inf)


def _constant(piece: isl.BasicMap, k: int) -> int | None:
    value = piece.plain_get_val_if_fixed(D.out, k)
    return int(value.to_python()) if value.is_int() else None
