"""Registers with a thread's own elements of boxes, and those around them: what fills them.

A_s[15 * thread + r - 1]   ->   A_r[r], with A_r[0] = A_s[15 * thread - 1], which the thread before has stored
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

import islpy as isl

from polygpu.lower.context import KernelContext, local_index, several
from polygpu.lower.registers import zero
from polygpu.lower.scan import test_of
from polygpu.lower.versions import Choice, choice, in_box, is_copied, part_of, target, whole
from polygpu.mapping.program import Mirror, StoredBox, reference_key
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, Barrier, DeclareArray, If, Statement
from polygpu.model.linear import add, conjunction

Zone = Mapping[str, range]
"""Points by axis, counted from the thread's first one: others' are before it, and behind its last one."""


def register_of(c: KernelContext, mirror: Mirror, distance: tuple[int, ...]) -> Reference:
    """The register with the element at a distance from the point."""
    indices: list[Expr] = []
    for axis, d, (before, behind) in zip(c.m.axes, distance, mirror.reach, strict=True):
        if axis.per_thread + before + behind > 1:
            here = c.points.register_index(axis) if axis.per_thread > 1 else Int(0)
            indices.append(add(here, before + d))
    ctype = c.layouts[mirror.box.array].buffer.type
    return Reference(mirror.name, tuple(indices), ctype, site=c.site(mirror.box.tuple_name))


def found_in(c: KernelContext, mirror: Mirror, statement: str, reference: Reference) -> Reference:
    """The register that has what a statement refers to."""
    key = reference_key(statement, reference)
    return register_of(c, mirror, mirror.distances.get(key, (0,) * len(c.m.axes)))


def _shared(c: KernelContext, mirror: Mirror, distance: tuple[int, ...]) -> Reference:
    """The element in shared memory at a distance from the point."""
    local = [
        add(local_index(c, Name(a.name), side.offset), d)
        for a, side, d in zip(c.m.axes, mirror.box.sides, distance, strict=True)
    ]
    mine = register_of(c, mirror, distance)
    return Reference(mirror.box.name, tuple(local[k] for k in mirror.box.order), mine.type, site=mine.site)


def _moved(c: KernelContext, mirror: Mirror, zone: Zone, fetched: bool) -> Iterator[Statement]:
    """The elements of a zone from shared memory to registers, or from these to there."""
    lines = [zone[a.name] if a.per_thread == 1 else range(1) for a in c.m.axes]
    for distance in product(*lines):
        shared, mine = _shared(c, mirror, distance), register_of(c, mirror, distance)
        move = Assign(mine, shared) if fetched else Assign(shared, mine)
        yield from c.points.open(several(c.m.axes), (move,), False, zone)


def fetches(c: KernelContext, mirror: Mirror, statements: Iterable[str]) -> Iterator[Statement]:
    """What statements read of other threads' elements, from shared memory."""
    found = [d for key, d in mirror.distances.items() if key[0] in statements]
    for k, axis in enumerate(c.m.axes):
        n = axis.per_thread
        low, high = min((0, *(d[k] for d in found))), max((0, *(d[k] for d in found)))
        for mine in (range(low, 0), range(n, n + high)):
            zone = {a.name: range(a.per_thread) for a in c.m.axes}
            for j, other in enumerate(c.m.axes[k + 1 :], k + 1):
                oblique = [d[j] for d in found if d[k] and d[j]]
                zone[other.name] = range(min((0, *oblique)), other.per_thread + max((0, *oblique)))
            if mine:
                yield from _moved(c, mirror, {**zone, axis.name: mine}, fetched=True)


def puts(c: KernelContext, mirror: Mirror) -> Iterator[Statement]:
    """The elements near other threads' points, to shared memory."""
    zone = {a.name: range(a.per_thread) for a in c.m.axes}
    for axis, (before, behind) in zip(c.m.axes, mirror.reach, strict=True):
        n = axis.per_thread
        low = min(behind, n)
        high = max(n - before, low)
        for mine in (range(low), range(high, n)):
            if mine and all(zone.values()):
                yield from _moved(c, mirror, {**zone, axis.name: mine}, fetched=False)
        zone[axis.name] = range(low, high)


def of_statements(
    c: KernelContext, names: tuple[str, ...]
) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
    """What comes before and behind code of statements: what it reads of others' elements, and they of its."""
    keys = {reference_key(s, a.reference) for s in names for a in c.m.p.statement(s).accesses if a.write}
    before: list[Statement] = []
    after: list[Statement] = []
    both = False
    for mirror in c.m.mirrors:
        fetched = tuple(fetches(c, mirror, names))
        before.extend(fetched)
        if keys & mirror.box.references:
            after.extend(puts(c, mirror))
            both |= bool(fetched)
    meet = (Barrier(),) if both else ()  # others may still read the elements that are put there anew
    return tuple(before), (*meet, *after)


def _own(c: KernelContext, mirror: Mirror) -> tuple[Reference, Reference]:
    """A point's element in shared memory, and its register."""
    here = (0,) * len(c.m.axes)
    return _shared(c, mirror, here), register_of(c, mirror, here)


def loads(c: KernelContext, mirror: Mirror) -> Iterator[Statement]:
    """The registers, with what was copied to the box."""
    _, mine = _own(c, mirror)
    sizes = [a.per_thread + sum(reach) for a, reach in zip(c.m.axes, mirror.reach, strict=True)]
    yield DeclareArray(mirror.name, mine.type, tuple(size for size in sizes if size > 1))
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
    element, mine = _own(c, mirror)
    nothing = Assign(mine, zero(mine.type))
    if not mirror.loaded:
        return (nothing,)
    names = [a.name for a in c.m.axes]
    places = places.intersect(in_box(mirror.box, names))
    test = is_copied(mirror.box, names, places)
    if test == Int(0):
        return (nothing,)
    copied: Statement = Assign(mine, element)
    if mirror.direct:
        copied = _from_array(c, mirror, mine, places)
    return (copied,) if test is None else (If(test, (copied,), (nothing,), uniform=False),)


def _from_array(c: KernelContext, mirror: Mirror, mine: Reference, places: isl.Set) -> Statement:
    """A point's element of the array, or of the version that has it."""
    names = tuple(a.name for a in c.m.axes)
    point = tuple(map(Name, names))
    found: Statement = Assign(mine, Reference(mirror.box.array, point, mine.type, site=mine.site))
    for version in mirror.box.versions:
        test, there = choice(c, mirror.box, version, names, places).at(point)
        other = Assign(mine, there)
        found = other if test is None else If(test, (other,), (found,), uniform=False)
    return found


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
    _, mine = _own(c, mirror)
    test, element = there.at(tuple(Name(a.name) for a in c.m.axes))
    tests = [] if test is None else [test]
    for axis, side in zip(c.m.axes, s.sides, strict=True):
        local = local_index(c, Name(axis.name), side.offset)
        inside = Binary(">=", local, Int(0)), Binary("<", local, Int(side.size))
        tests += inside if any(axis.overlap) else ()
    store: Statement = Assign(element, mine)
    owned = conjunction(tests)
    store = If(owned, (store,), (), uniform=False) if owned is not None else store
    return c.points.open(several(c.m.axes), (store,), guarded=False)


def stores(c: KernelContext, mirrors: tuple[Mirror, ...]) -> Iterator[Statement]:
    """Registers to shared memory, from where threads store them together."""
    kept = [mirror for mirror in mirrors if mirror.stored and not mirror.direct]
    for mirror in kept:
        yield from _moved(c, mirror, {a.name: range(a.per_thread) for a in c.m.axes}, fetched=False)
    if kept:
        yield Barrier()
