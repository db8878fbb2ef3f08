"""Waves of tiles: a band whose loops all pass values is cut into tiles, of which many run at the same time.

before: for w = 2 i + j { kernel(i) A[i][j] = f(A[i][j - 1], A[i - 1][j + 1]) }
after:  for each wave of tiles of i and i + j {
            kernel(i of all tiles) { for each wave of points of the tile { A[i][j] = ...; barrier } }
        }

Along the loops of a permutable band no value passes backwards. So tiles with the same sum of their numbers
pass each other none, and no more do points of a tile with the same sum of their places. (Irigoin and Triolet,
POPL'88, section 4: supernodes, and the hyperplane method on them.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import islpy as isl

from polygpu.analysis.patterns import coefficients
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.schedule.tree import Band, HostLoop, Member, Nest, Node, Waves, single_iterator

WIDTHS = {2: (64, 64), 3: (4, 64, 128)}
"""Of the tiles of so many loops: lanes go along the last loop but one, threads one by one along the last.

Of a Gauss-Seidel stencil in three loops on an H100 those of 15 that take least time, a third of the most."""


def is_front(member: Member) -> bool:
    """Whether iterations of the loop are fronts, which no loop of the source visits."""
    return any(single_iterator(row) is None and not row.is_cst() for row in member.rows.values())


def can_wave(band: Node) -> bool:
    """Whether it is a permutable band whose points are single instances, in as many loops as have widths."""
    return (
        isinstance(band, Band)
        and band.permutable
        and len(band.members) in WIDTHS
        and not any(isinstance(part, Band) for part in _below(band.child))
    )


def _below(node: Node) -> Iterator[Node]:
    yield node
    for child in getattr(node, "children", ()):
        yield from _below(child)


def in_waves(band: Band, widths: Sequence[int]) -> HostLoop:
    """The band in waves of tiles of these widths, one a loop."""
    numbers = [_number(m, width) for m, width in zip(band.members, widths, strict=True)]
    places = [_place(m, width) for m, width in zip(band.members, widths, strict=True)]
    waves = Waves(band.members[:-1], tuple(widths[:-1]), sum(widths) - len(widths) + 1)
    nest = Nest(waves.points, Band((_sum(places),), False, band.child), waves=waves)
    return HostLoop(_sum(numbers), nest)


def wave_names(p: Polyhedra, band: Band) -> tuple[str, ...]:
    """What decisions call the loops: by the iterators of the source that they bring in, in their order."""
    statement, sources, found = band.statements[0], p.source_names(), list[str]()
    for k, member in enumerate(band.members):
        moved = coefficients(member.rows[statement]) or ()
        names = [n for n, c in zip(p.statement(statement).iterators, moved, strict=False) if c]
        fresh = [sources.get(n, n) for n in names if sources.get(n, n) not in found]
        found.append(fresh[-1] if fresh else f"c{k}")
    return tuple(found)


def _number(member: Member, width: int) -> Member:
    """That of the tile."""
    return Member({s: row.scale_down_val(isl.Val(width)).floor() for s, row in member.rows.items()})


def _place(member: Member, width: int) -> Member:
    """That in the tile."""
    return Member({s: row.mod_val(isl.Val(width)) for s, row in member.rows.items()})


def _sum(members: Sequence[Member]) -> Member:
    return Member({s: reduce(isl.PwAff.add, (m.rows[s] for m in members)) for s in members[0].rows})
