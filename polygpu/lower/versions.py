"""Boxes and versions of arrays: what is stored of boxes, and where their elements are copied from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import islpy as isl

from polygpu.lower.context import KernelContext
from polygpu.lower.instances import local_index
from polygpu.lower.registers import at_points, here, subscripts, values
from polygpu.lower.scan import test_of
from polygpu.mapping.program import Box, StoredBox, Version
from polygpu.model.expr import Expr, Reference
from polygpu.model.kernel import Assign, Statement
from polygpu.model.rewrite import substitute


@dataclass(frozen=True)
class Choice:
    """Another element, `then`, where `test` holds (None: everywhere), in terms of an element's `indices`."""

    indices: tuple[str, ...]
    test: Expr | None
    then: Reference

    def at(self, element: tuple[Expr, ...]) -> tuple[Expr | None, Reference]:
        """The test and the reference for one element."""
        given = dict(zip(self.indices, element, strict=True))
        test = substitute(self.test, given) if self.test is not None else None
        return test, replace(self.then, subscripts=tuple(substitute(s, given) for s in self.then.subscripts))


def choices(c: KernelContext, box: Box, places: isl.Set) -> tuple[Choice, ...]:
    """Where elements of the box come from instead of its array, where it is copied at `places`."""
    names = tuple(f"{box.name}_{k}" for k in range(len(box.sides)))
    return tuple(_choice(c, box, version, names, places) for version in box.versions)


def _choice(c: KernelContext, box: Box, version: Version, names: tuple[str, ...], places: isl.Set) -> Choice:
    test = test_of(here(version.where, names).params(), places)
    place = values(version.place, names, places)
    ctype = c.layouts[version.array].buffer.type
    return Choice(names, test, Reference(version.array, place, ctype, site=c.site(box.tuple_name)))


def stored(c: KernelContext, boxes: Iterable[StoredBox]) -> Iterator[Statement]:
    """The stores of what boxes hold, each by the thread whose point owns it."""
    for s in boxes:
        box, points, target = s.box, s.points, s.element
        if s.version is not None:
            points = points.intersect(
                isl.Map.from_pw_multi_aff(s.element).intersect_range(s.version.where).domain()
            )
            target = s.version.place.pullback_pw_multi_aff(s.element)
        ctype, site = c.layouts[box.array].buffer.type, c.site(box.tuple_name)
        sides = zip(subscripts(c, c.m.axes, s.element), box.sides, strict=True)
        local = [local_index(c, e, side.offset) for e, side in sides]
        source = Reference(box.name, tuple(local[k] for k in box.order), ctype, site=site)
        array = s.version.array if s.version is not None else box.array
        store = Assign(Reference(array, subscripts(c, c.m.axes, target), ctype, site=site), source)
        yield from at_points(c, c.m.axes, points, store)
