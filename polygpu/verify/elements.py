"""The elements that arrays have."""

from __future__ import annotations

import islpy as isl

from polygpu.analysis.elements import declared
from polygpu.analysis.polyhedra import AffineBuilder, Polyhedra
from polygpu.model.expr import Int
from polygpu.model.kernel import Buffer
from polygpu.model.scop import Array
from polygpu.support.isl_idioms import D
from polygpu.verify.session import Session
from polygpu.verify.source import UnanalysableError


def everything(session: Session, array: Array) -> isl.Set:
    """All elements of `array`, by its sizes. Raises UnanalysableError where these are not affine."""
    if any(extent is None for extent in array.extents):
        raise UnanalysableError(f"'{array.name}' has no size")
    found = declared(session.p, array)
    if found is None:
        raise UnanalysableError(f"the size of '{array.name}' is not affine")
    return found


def copied(session: Session, array: Array, buffer: Buffer) -> isl.Set:
    """The elements of `array` that come back from its `buffer`: the first rows where no size is known.

    Raises UnanalysableError where these are not affine.
    """
    if all(extent is not None for extent in array.extents):
        return everything(session, array)
    found = declared(session.p, array)
    if found is None or buffer.origin or any(extent is None for extent in array.extents[1:]):
        raise UnanalysableError(f"the size of '{array.name}' is not affine")
    space = found.get_space()
    index = isl.PwAff.from_aff(isl.Aff.var_on_domain(AffineBuilder(space).local, D.set, 0))
    try:
        rows = found.lower_bound_val(D.set, 0, isl.Val(0))
        return rows.intersect(index.lt_set(AffineBuilder(space).value(buffer.extents[0])))
    except (ValueError, isl.Error):
        raise UnanalysableError(f"how much of '{array.name}' is copied is not affine") from None


def with_elements(p: Polyhedra) -> isl.Set:
    """The parameters in the context of `p` for which each row of an array has elements: C has no others.

    The first extent may be 0, of which programs with nothing to do make use: those that touch an array of the
    region that has no elements are undefined.
    """
    context = p.context
    builder = AffineBuilder(context.get_space().set_from_params())
    for array in p.arrays:
        for k, extent in enumerate(array.extents):
            try:
                least = None if extent is None else builder.value(extent).sub(builder.value(Int(int(k > 0))))
            except (ValueError, isl.Error):
                continue
            if least is not None:
                context = context.intersect(least.nonneg_set().params())
                if array.storage == "region" and k == 0:
                    context = context.subtract(least.zero_set().params().intersect(_touching(p, array)))
    return context


def _touching(p: Polyhedra, array: Array) -> isl.Set:
    """The parameters at which some statement is sure to access the array."""
    found = isl.Set.empty(p.context.get_space())
    for s in p.statements:
        if any(a.must and a.reference.array == array.name for a in s.accesses):
            found = found.union(s.domain.params())
    return found
