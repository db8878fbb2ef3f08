"""Boxes and versions of arrays: what is stored of boxes, and where their elements are copied from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import islpy as isl

from polygpu.lower.context import KernelContext, local_index
from polygpu.lower.registers import at_points, here, subscripts, values
from polygpu.lower.scan import test_of
from polygpu.mapping.program import Box, StoredBox, Version
from polygpu.model.expr import Expr, Int, Reference, Unary
from polygpu.model.kernel import Assign, Statement
from polygpu.model.linear import conjunction
from polygpu.model.rewrite import substitute
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, coalesced, coordinate, single_space


@dataclass(frozen=True)
class Choice:
    """Another element, `then`, where `test` holds (None: everywhere), in terms of an element's `indices`.

    There is none in blocks for which `block` does not hold.
    """

    indices: tuple[str, ...]
    test: Expr | None
    then: Reference
    block: Expr | None = None

    def at(self, element: tuple[Expr, ...]) -> tuple[Expr | None, Reference]:
        """The test and the reference for one element."""
        given = dict(zip(self.indices, element, strict=True))
        test = substitute(self.test, given) if self.test is not None else None
        return test, replace(self.then, subscripts=tuple(substitute(s, given) for s in self.then.subscripts))


@dataclass(frozen=True)
class Only:
    """That `test` holds, in terms of an element's `indices`."""

    indices: tuple[str, ...]
    test: Expr

    def at(self, element: tuple[Expr, ...]) -> Expr:
        """The test for one element."""
        return substitute(self.test, dict(zip(self.indices, element, strict=True)))


def _names(box: Box) -> tuple[str, ...]:
    """Those of an element's subscripts."""
    return tuple(f"{box.name}_{k}" for k in range(len(box.sides)))


def choices(c: KernelContext, box: Box, places: isl.Set) -> tuple[Choice, ...]:
    """Where elements of the box come from instead of its array, where it is copied at `places`."""
    mine = places.intersect(in_box(box, _names(box)))
    return tuple(choice(c, box, version, _names(box), mine) for version in box.versions)


def needed(c: KernelContext, box: Box, places: isl.Set) -> Only | None:
    """Which elements of the box are copied; None for all."""
    test = is_copied(box, _names(box), places.intersect(in_box(box, _names(box))))
    return Only(_names(box), test) if test is not None else None


def whole(c: KernelContext, box: Box, places: isl.Set) -> isl.Set | None:
    """Of `places` those where all elements of a box are copied alike; None where that is nowhere, or all."""
    names = _names(box)
    loops = [f.name for f in c.m.outer]  # in which all elements change their places, or none
    kinds = [k for k in (box.only, box.without, *(v.where for v in box.versions)) if k is not None]
    inside = in_box(box, names)
    found = places
    for kind in kinds:
        others = inside.subtract(_without(here(kind, names).params(), loops))
        found = found.subtract(_without(others, names))
    found = coalesced(found)
    return None if not kinds or found.is_empty() or places.is_subset(found) else found


def _without(condition: isl.Set, names: Iterable[str]) -> isl.Set:
    """A condition on parameters for some values of those with these names."""
    for name in names:
        position = condition.find_dim_by_name(D.param, name)
        condition = condition.project_out(D.param, position, 1) if position >= 0 else condition
    return condition


def in_box(box: Box, names: Sequence[str]) -> isl.Set:
    """That the names are subscripts of an element of the box."""
    found = isl.Set.universe(isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0))
    for name, side in zip(names, box.sides, strict=True):
        space = single_space(side.offset.get_domain_space().params(), name)
        place = isl.PwAff.from_aff(coordinate(space, name))
        apart = place.sub(side.offset.align_params(space))
        last = apart.neg().add_constant_val(isl.Val(side.size - 1))
        found = found.intersect(apart.nonneg_set().params()).intersect(last.nonneg_set().params())
    return found


def is_copied(box: Box, names: Sequence[str], places: isl.Set) -> Expr | None:
    """Whether the element with subscripts of these names is; None where all are."""
    inside = test_of(here(box.only, names).params(), places) if box.only is not None else None
    if box.without is None:
        return inside
    out = test_of(here(box.without, names).params(), places)
    return conjunction([t for t in (inside, Unary("!", out) if out is not None else Int(0)) if t is not None])


def choice(c: KernelContext, box: Box, version: Version, names: tuple[str, ...], places: isl.Set) -> Choice:
    test = test_of(here(version.where, names).params(), places)
    place = values(version.place, names, places)
    ctype = c.layouts[version.array].buffer.type
    return Choice(names, test, Reference(version.array, place, ctype, site=c.site(box.tuple_name)))


def target(c: KernelContext, s: StoredBox, places: isl.Set) -> Choice:
    """Where elements of a box are stored, in terms of their subscripts, by blocks at `places`."""
    names = _names(s.box)
    everywhere = isl.Set.universe(s.points.get_space())
    version = s.version or Version(s.box.array, everywhere, s.element)
    place = values(_on_points(version.place), names, places)
    ctype, site = c.layouts[s.box.array].buffer.type, c.site(s.box.tuple_name)
    mine = _points(s)
    block = mine.project_out(D.set, 0, len(names)).params()
    inside = in_box(part_of(s), names) if s.sides else block
    test = test_of(here(mine, names).params(), places.intersect(block).intersect(inside))
    there = Reference(version.array, place, ctype, site=site)
    return Choice(names, test, there, test_of(block, places))


def part_of(s: StoredBox) -> Box:
    """The part of a box that is stored, of which those elements are that it stores."""
    return replace(s.box, sides=s.sides, only=_points(s), without=None, versions=())


def _on_points(place: isl.PwMultiAff) -> isl.PwMultiAff:
    return isl.PwMultiAff.from_map(isl.Map.from_pw_multi_aff(place).reset_tuple_id(D.in_))


def _points(s: StoredBox) -> isl.Set:
    """Where it is stored, and the version is."""
    if s.version is None:
        return s.points
    return s.points.intersect(isl.Map.from_pw_multi_aff(s.element).intersect_range(s.version.where).domain())


def stored(c: KernelContext, boxes: Iterable[StoredBox]) -> Iterator[Statement]:
    """The stores of what boxes hold, each by the thread whose point owns it."""
    for s in boxes:
        box, points, target = s.box, _points(s), s.element
        if s.version is not None:
            target = s.version.place.pullback_pw_multi_aff(s.element)
        ctype, site = c.layouts[box.array].buffer.type, c.site(box.tuple_name)
        sides = zip(subscripts(c, c.m.axes, s.element), box.sides, strict=True)
        local = [local_index(c, e, side.offset) for e, side in sides]
        source = Reference(box.name, tuple(local[k] for k in box.order), ctype, site=site)
        array = s.version.array if s.version is not None else box.array
        store = Assign(Reference(array, subscripts(c, c.m.axes, target), ctype, site=site), source)
        yield from at_points(c, c.m.axes, points, store)
