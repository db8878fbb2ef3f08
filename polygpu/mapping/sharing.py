"""Nests whose terms threads share: a block for each row, partial results in registers, a tree over the block.

before:  kernel(i) { threads share j: s[i] = s[i] + a[i][j] }
after:   a block an i, 64 threads: Reduced s_r + { for j_tile = 0, 64, ...: s_r = s_r + a[i][j] }

Where rows and not terms are neighbours in memory, a block has 32 rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import zip_longest

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra, array_tuple
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.owned import nest_patterns
from polygpu.mapping.program import Axis, Block, Grid, HeldArray, Reduced, Run, Tiles, reference_key
from polygpu.model.device import Device
from polygpu.model.kernel_walk import fresh_name
from polygpu.schedule.tree import Band, Member, Nest, Node, Shared, Update
from polygpu.support.isl_idioms import coalesced

THREADS = 256
_LANES = 32  # rows of a block
_TERMS = 4  # that a thread adds up by itself, where there are so many


def share(
    p: Polyhedra,
    nest: Nest,
    outer: tuple[Fixed, ...],
    names: tuple[str, ...],
    asked: Sequence[int | None],
    device: Device,
) -> Grid:
    """The grid of a nest with shared loops; `names` are those of its parallel and of the shared ones.

    `asked` are the threads that someone wants along shared loops.
    """
    assert nest.shared is not None
    count = len(nest.parallel)
    loops, most = nest.shared.loops, min(THREADS, device.max_threads_per_block)
    inside = _inside(nest.body, len(loops))
    rows = [Axis(name, member) for name, member in zip(names, nest.parallel, strict=False)]
    shared = [Axis(n, m) for n, m in zip(names[count:], loops, strict=True)]
    whole = rows[: count - sum(width > 0 for width in nest.shared.widths)]  # without chunks
    columns = _columns(Grid(p, (*whole, *shared), Run(inside), outer), nest.shared, len(whole))
    if columns is not None:
        rows.append(replace(rows.pop(columns), threads=_LANES))
        most //= _LANES
    plain = Grid(p, tuple(rows), Run(nest.body), outer)
    limits = device.max_block[columns is not None :]
    chosen = _threads([_extent(plain, member) for member in loops], most, limits)
    threads = [wanted or n for wanted, n in zip(asked, chosen, strict=True)]
    lanes = tuple(
        Axis(name, member, n, loop=f"{name}_tile")
        for name, member, n in zip(names[count:], loops, threads, strict=True)
    )
    block: Block = Run(inside)
    for axis in reversed(lanes):
        block = Tiles(axis.member, axis.loop, axis.threads, block)
    registers: set[str] = set()
    held = [_held(plain, nest.shared, u, fresh_name(f"{u.array}_r", registers)) for u in nest.shared.updates]
    for update, h in zip(reversed(nest.shared.updates), reversed(held), strict=True):
        block = Reduced(h, update.operator, tuple(a.name for a in lanes), block)
    last = len(rows) - (columns is not None)
    return Grid(p, (*rows[:last], *lanes, *rows[last:]), block, outer)


def _columns(plain: Grid, shared: Shared, rows: int) -> int | None:
    """Which of the rows lanes should follow, if it is long, since terms are further apart in memory."""
    updated = {u.array for u in shared.updates}
    read = [a for a in nest_patterns(plain) if a.access.reference.array not in updated]
    scattered = [sum(a.kind(d) == "strided" for a in read) for d in range(len(plain.axes))]
    found = min(range(rows), key=lambda d: scattered[d], default=None)
    if found is None or scattered[found] >= scattered[-1]:
        return None
    extent = _extent(replace(plain, axes=()), plain.axes[found].member)
    return found if extent is None or extent >= _LANES else None


def _inside(body: Node, loops: int) -> Node:
    """What is inside of so many outermost loops."""
    while loops:
        assert isinstance(body, Band)
        inner, loops = body.members[loops:], loops - len(body.members[:loops])
        body = Band(inner, body.permutable, body.child) if inner else body.child
    return body


def _threads(extents: list[int | None], most: int, limits: Sequence[int]) -> list[int]:
    """Of each loop, most of the innermost; loops of unknown length get alike many.

    `limits` are those of a block's dimensions, along the innermost loops: around these a loop has one thread.
    """
    found: list[int] = []
    unknown = sum(extent is None for extent in extents[-len(limits) :])
    for extent, limit in zip_longest(reversed(extents), limits[: len(extents)], fillvalue=1):
        if limit == 1:
            count = 1
        elif extent is None:
            count = 1 << -(-(most.bit_length() - 1) // unknown)
            unknown -= 1
        else:
            alone = len(extents) == 1
            count = max(_power(extent) // (_TERMS if alone else 1), min(32, _power(extent)) if alone else 1)
        found.append(min(count, most, limit))
        most //= found[-1]
    return found[::-1]


def _power(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def _extent(rows: Grid, member: Member) -> int | None:
    """The most values of a loop for one row; None where that depends on sizes."""
    found = 1
    for s in rows.statements:
        domain = rows.domain(s)
        values = (
            _points(rows, s)
            .reverse()
            .apply_range(isl.Map.from_pw_aff(member.rows[s]).intersect_domain(domain))
        )
        apart = values.reverse().apply_range(values).deltas()
        last = apart.dim_max_val(0)
        if not last.is_int():
            return None
        found = max(found, last.to_python() + 1)
    return found


def _points(rows: Grid, statement: str) -> isl.Map:
    """Instances to the rows that they are of."""
    nothing = isl.Map.from_domain_and_range(rows.domain(statement), isl.Set("{ [] }"))
    members = (isl.Map.from_pw_aff(a.member.rows[statement]) for a in rows.axes)
    return reduce(isl.Map.flat_range_product, members, nothing)


def _held(rows: Grid, shared: Shared, update: Update, name: str) -> HeldArray:
    """The element of each row in a register, which is new where results are partial: several statements may
    update one array.
    """
    mine = rows.p.statement(update.statement)
    uses = [a for a in mine.accesses if a.reference.array == update.array]
    elements = coalesced(_points(rows, mine.name).reverse().apply_range(uses[0].relation))
    keys = frozenset(reference_key(mine.name, a.reference) for a in uses)
    function, tuple_name = isl.PwMultiAff.from_map(elements), array_tuple(uses[0].reference)
    load = not shared.widths
    return HeldArray(update.array, tuple_name, name, function, elements.domain(), load, True, keys)
