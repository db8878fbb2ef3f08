"""The elements that an array has."""

from __future__ import annotations

import islpy as isl

from polygpu.analysis.polyhedra import AffineBuilder
from polygpu.model.scop import Array
from polygpu.support.isl_idioms import D
from polygpu.verify.session import Session
from polygpu.verify.source import UnanalysableError


def everything(session: Session, array: Array) -> isl.Set:
    """All elements of `array`, by its sizes. Raises UnanalysableError where these are not affine."""
    space = session.p.context.get_space().set_from_params().add_dims(D.set, len(array.extents))
    builder = AffineBuilder(space)
    found = isl.Set.universe(space).intersect_params(session.p.context)
    for k, extent in enumerate(array.extents):
        if extent is None:
            raise UnanalysableError(f"'{array.name}' has no size")
        index = isl.PwAff.from_aff(isl.Aff.var_on_domain(builder.local, D.set, k))
        try:
            found = found.intersect(index.lt_set(builder.value(extent)))
        except (ValueError, isl.Error):
            raise UnanalysableError(f"the size of '{array.name}' is not affine") from None
        found = found.lower_bound_val(D.set, k, isl.Val(0))
    return found
