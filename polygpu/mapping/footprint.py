"""Boxes of constant size around what a block touches: what can be staged in shared memory."""

from __future__ import annotations

import islpy as isl

from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D


@dataclass(frozen=True)
class Side:
    """One dimension of a box: elements offset, offset + 1, ..., offset + size - 1."""

    offset: isl.PwAff
    size: int


def box(footprint: isl.Set) -> tuple[Side, ...] | None:
    """The smallest such box found around a parametric set; None when some side has no constant size.

    For each lower bound of the set's simple hull the size is the largest distance from it.
    """
    footprint = isl.Set.from_basic_set(footprint.remove_divs().simple_hull())
    sides: list[Side] = []
    for d in range(footprint.dim(D.set)):
        side = _side(footprint, d)
        if side is None:
            return None
        sides.append(side)
    return tuple(sides)


def _side(footprint: isl.Set, d: int) -> Side | None:
    count = footprint.dim(D.set)
    line = footprint.project_out(D.set, d + 1, count - d - 1).project_out(D.set, 0, d)
    line = line.reset_tuple_id() if line.has_tuple_id() else line
    hull = line.remove_divs().simple_hull()
    best: Side | None = None
    for constraint in hull.get_constraints():
        candidate = _from_bound(constraint, line)
        if candidate is not None and (best is None or candidate.size < best.size):
            best = candidate
    return best


def _from_bound(constraint: isl.Constraint, line: isl.Set) -> Side | None:
    scale = constraint.get_coefficient_val(D.set, 0).to_python()
    if scale < 0 and constraint.is_equality():
        scale, sign = -scale, -1
    else:
        sign = 1
    if scale <= 0:
        return None
    local = isl.LocalSpace.from_space(line.get_space())
    lower = isl.Aff.zero_on_domain(local)
    factor = -sign
    lower = lower.set_constant_val(_times(constraint.get_constant_val(), factor))
    for i in range(line.dim(D.param)):
        value = _times(constraint.get_coefficient_val(D.param, i), factor)
        lower = lower.set_coefficient_val(D.param, i, value)
    if scale != 1:
        lower = lower.scale_down_val(isl.Val(scale)).ceil()
    distance = isl.Aff.var_on_domain(local, D.set, 0).sub(lower)
    largest = line.max_val(distance)
    if not largest.is_int():
        return None
    return Side(_on_parameters(lower, line), largest.to_python() + 1)


def _times(value: isl.Val, factor: int) -> isl.Val:
    return value.neg() if factor < 0 else value


def _on_parameters(aff: isl.Aff, line: isl.Set) -> isl.PwAff:
    """`aff`, which does not involve the set dimension, as a function of the parameters alone."""
    pw = isl.PwAff.from_aff(aff)
    return pw.drop_dims(D.in_, 0, line.dim(D.set)).project_domain_on_params()
