"""Registers with a thread's own elements of boxes: which accesses find them there, and what fills them.

A_s[15 * thread + r - 1]   ->   A_r[r - 1] where 0 < r, and for r = 0 what the thread before has stored
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import islpy as isl

from polygpu.lower.context import KernelContext, local_index, several
from polygpu.lower.registers import zero
from polygpu.lower.scan import test_of
from polygpu.lower.versions import Choice, choice, in_box, is_copied, part_of, target, whole
from polygpu.mapping.program import Axis, Mirror, StoredBox, reference_key
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Barrier, DeclareArray, If, Statement
from polygpu.model.linear import add, conjunction

Part = Mapping[str, range]
"""Points of a thread, by axis."""


def parts(c: KernelContext, axes: tuple[Axis, ...]) -> Iterator[Part]:
    """All points of a thread along axes: those that find other threads' elements apart from the others."""
    lines = [_cut(c, c.m.axes.index(axis)) for axis in axes]
    for ranges in product(*lines):
        yield {axis.name: values for axis, values in zip(axes, ranges, strict=True)}


def _cut(c: KernelContext, k: int) -> list[range]:
    count = c.m.axes[k].per_thread
    reads = [d[k] for mirror in c.m.mirrors for d in mirror.distances.values()]
    before, behind = min(max(0, -min(reads)), count), min(max(0, *reads), count)
    if before + behind >= count:
        return [range(r, r + 1) for r in range(count)]
    middle = range(before, count - behind)
    return [
        *(range(r, r + 1) for r in range(before)),
        middle,
        *(range(r, r + 1) for r in range(middle.stop, count)),
    ]


def own_register(
    c: KernelContext, mirror: Mirror, statement: str, reference: Reference, part: Part
) -> Reference | None:
    """Where the thread finds an element of the box itself, at all points of a part; None for another's."""
    distance = mirror.distances.get(reference_key(statement, reference), (0,) * len(c.m.axes))
    points = [part.get(axis.name, range(1)) for axis in c.m.axes]
    for axis, values, d in zip(c.m.axes, points, distance, strict=True):
        if values[0] + d < 0 or values[-1] + d >= axis.per_thread:
            return None
    pairs = ((a, d) for a, d in zip(c.m.axes, distance, strict=True) if a.per_thread > 1)
    return _register(c, mirror, tuple(add(c.points.register_index(a), d) for a, d in pairs))


def _register(c: KernelContext, mirror: Mirror, indices: tuple[Expr, ...]) -> Reference:
    ctype = c.layouts[mirror.box.array].buffer.type
    return Reference(mirror.name, indices, ctype, site=c.site(mirror.box.tuple_name))


def is_read_by_others(c: KernelContext, mirror: Mirror, part: Part) -> bool:
    """Whether other threads read one of the thread's elements in a part."""
    points = product(*(part.get(a.name, range(1)) for a in c.m.axes))
    shape = [a.per_thread for a in c.m.axes]
    return any(_is_read(mirror, point, shape) for point in points)


def _is_read(mirror: Mirror, point: tuple[int, ...], shape: list[int]) -> bool:
    for distance in mirror.distances.values():
        reader = [p - d for p, d in zip(point, distance, strict=True)]
        if any(not 0 <= r < n for r, n in zip(reader, shape, strict=True)):
            return True
    return False


def own(c: KernelContext, mirror: Mirror) -> tuple[Reference, Reference]:
    """A point's element in shared memory, and its register."""
    axes = c.m.axes
    sides = zip(axes, mirror.box.sides, strict=True)
    local = [local_index(c, Name(a.name), side.offset) for a, side in sides]
    here = _register(c, mirror, tuple(c.points.register_index(a) for a in several(axes)))
    return Reference(
        mirror.box.name, tuple(local[k] for k in mirror.box.order), here.type, site=here.site
    ), here


def loads(c: KernelContext, mirror: Mirror) -> Iterator[Statement]:
    """The registers, with what was copied to the box."""
    _, mine = own(c, mirror)
    yield DeclareArray(mirror.name, mine.type, tuple(a.per_thread for a in several(c.m.axes)))
    places, axes = c.block_context(), several(c.m.axes)
    every = whole(c, mirror.box, places) if mirror.loaded else None
    test = test_of(every, places) if every is not None else None
    body = c.points.open(axes, _loaded(c, mirror, places), guarded=False)
    if every is not None and test is not None:
        alike = c.points.open(axes, _loaded(c, mirror, every), guarded=False)
        body = (If(test, alike, body, uniform=True),)
    yield from body


def _loaded(c: KernelContext, mirror: Mirror, places: isl.Set) -> tuple[Statement, ...]:
    """A point's register, in blocks at `places`."""
    element, mine = own(c, mirror)
    nothing = Assign(mine, zero(mine.type))
    if not mirror.loaded:
        return (nothing,)
    names = [a.name for a in c.m.axes]
    places = places.intersect(in_box(mirror.box, names))
    test = is_copied(mirror.box, names, places)
    if test == Int(0):
        return (nothing,)
    copied: Statement = Assign(mine, element)
    if mirror.rims:
        copied = _from_array(c, mirror, mine, places)
    return (copied,) if test is None else (If(test, (copied,), (nothing,), uniform=False),)


def _from_array(c: KernelContext, mirror: Mirror, mine: Reference, places: isl.Set) -> Statement:
    """A point's element of the array, or of the version that has it."""
    names = [a.name for a in c.m.axes]
    point = tuple(map(Name, names))
    found: Statement = Assign(mine, Reference(mirror.box.array, point, mine.type, site=mine.site))
    for version in mirror.box.versions:
        test, there = choice(c, mirror.box, version, names, places).at(point)
        other = Assign(mine, there)
        found = other if test is None else If(test, (other,), (found,), uniform=False)
    return found


def puts(c: KernelContext, mirror: Mirror) -> Iterator[Statement]:
    """What other threads read of the registers, to shared memory."""
    element, mine = own(c, mirror)
    for part in parts(c, several(c.m.axes)):
        if is_read_by_others(c, mirror, part):
            yield from c.points.open(several(c.m.axes), (Assign(element, mine),), False, part)


def stored_directly(c: KernelContext, s: StoredBox, mirror: Mirror, places: isl.Set) -> Iterator[Statement]:
    """Registers to the array, or to the version that gets them, without tests in blocks that store all."""
    every = whole(c, part_of(s), places)
    test = test_of(every, places) if every is not None else None
    there = target(c, s, places)
    body = _stored_part(c, s, mirror, there)
    if every is not None and test is not None:
        alike = _stored_part(c, s, mirror, target(c, s, every))
        body = (If(test, alike, body, uniform=True),)
    yield from body if there.block is None else (If(there.block, body, (), uniform=True),)


def _stored_part(c: KernelContext, s: StoredBox, mirror: Mirror, there: Choice) -> tuple[Statement, ...]:
    _, mine = own(c, mirror)
    test, element = there.at(tuple(Name(a.name) for a in c.m.axes))
    tests = [] if test is None else [test]
    for axis, side in zip(c.m.axes, s.sides, strict=True):
        local = local_index(c, Name(axis.name), side.offset)
        tests += [Binary(">=", local, Int(0)), Binary("<", local, Int(side.size))] if any(axis.overlap) else []
    store: Statement = Assign(element, mine)
    inside = conjunction(tests)
    store = If(inside, (store,), (), uniform=False) if inside is not None else store
    return c.points.open(several(c.m.axes), (store,), guarded=False)


def stores(c: KernelContext, mirrors: tuple[Mirror, ...]) -> Iterator[Statement]:
    """What is only in registers, to shared memory."""
    kept = [mirror for mirror in mirrors if mirror.stored and not mirror.rims]
    for mirror in kept:
        element, mine = own(c, mirror)
        for part in parts(c, several(c.m.axes)):
            if not is_read_by_others(c, mirror, part):
                yield from c.points.open(several(c.m.axes), (Assign(element, mine),), False, part)
    if kept:
        yield Barrier()
