"""The elements that arrays have by their declarations."""

from __future__ import annotations

import islpy as isl

from polygpu.analysis.polyhedra import AffineBuilder, PolyAccess, Polyhedra
from polygpu.model.scop import Array
from polygpu.support.isl_idioms import D


def declared(p: Polyhedra, array: Array) -> isl.Set | None:
    """All elements of `array`, without ends where the outermost extent is not known: a pointer may lead into
    an array, and an array of the region's own has the values of a loop's iterator as subscripts.

    None where an extent is no affine function of the parameters.
    """
    space = p.context.get_space().set_from_params().add_dims(D.set, len(array.extents))
    builder = AffineBuilder(space)
    found = isl.Set.universe(space).intersect_params(p.context)
    for k, extent in enumerate(array.extents):
        if extent is not None:
            index = isl.PwAff.from_aff(isl.Aff.var_on_domain(builder.local, D.set, k))
            try:
                found = found.intersect(index.lt_set(builder.value(extent)))
            except (ValueError, isl.Error):
                return None
            found = found.lower_bound_val(D.set, k, isl.Val(0))
    return found


def existing(p: Polyhedra, access: PolyAccess, elements: isl.Set) -> isl.Set | None:
    """Those of the `elements` an access touches that its array has: data may keep a read from the others.

    What surely happens is within the array, by the conditions of the region. None where an extent is no
    affine function of the parameters.
    """
    if access.must or access.write:
        return elements
    all_ = declared(p, p.array(access.reference.array))
    if all_ is None:
        return None
    all_ = all_.set_tuple_name(elements.get_tuple_name()) if elements.has_tuple_name() else all_
    return elements if elements.is_subset(all_) else elements.intersect(all_)
