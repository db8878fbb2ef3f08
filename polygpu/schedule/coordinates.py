"""Run-time tests that coordinates of kernels fit into int where a schedule adds iterators: i + j, 2t + i."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import islpy as isl

from polygpu.analysis.conditions import Condition, strongest, unless, within
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.model.scop import COUNTED
from polygpu.schedule.tree import Band, Host, HostLoop, HostSequence, Leaf, Member, Nest, Node, Sequence
from polygpu.support.isl_idioms import D, pieces

_REASON = "a sum of iterators, by which kernels are ordered, is beyond the range of int"


def coordinate_tests(p: Polyhedra, host: Host, others: Iterable[Condition]) -> tuple[Condition, ...]:
    """The tests that the call of a region needs beside the `others`. Iterators alone fit, by C."""
    sizes = within(p, others)
    found: list[Condition] = []
    for member in _members(host):
        for name, row in member.rows.items():
            if _combines(row):
                s = p.statement(name)
                bad = s.domain.intersect(_beyond(row))
                if not bad.params().intersect(sizes).is_empty():
                    found.extend(unless(p, bad, _REASON, s.position, wide=True))
    return tuple(strongest(found))


def _members(node: Host | Node) -> Iterator[Member]:
    match node:
        case HostLoop(member, child):
            yield member
            yield from _members(child)
        case HostSequence(children) | Sequence(children):
            for child in children:
                yield from _members(child)
        case Nest(parallel, body):
            yield from parallel
            yield from _members(body)
        case Band(members, _, child):
            yield from members
            yield from _members(child)
        case Leaf():
            pass


def _combines(row: isl.PwAff) -> bool:
    """Whether it is more than an iterator or its opposite, and a number."""
    return any(_weight(aff) > 1 for _, aff in pieces(row))


def _weight(aff: isl.Aff) -> int:
    dims = ((kind, k) for kind in (D.in_, D.param) for k in range(aff.dim(kind)))
    found = [abs(aff.get_coefficient_val(kind, k).to_python()) for kind, k in dims]
    return int(sum(found)) if all(c == int(c) for c in found) else 2


def _beyond(row: isl.PwAff) -> isl.Set:
    space = isl.LocalSpace.from_space(row.get_domain_space())
    limit = isl.PwAff.from_aff(isl.Aff.zero_on_domain(space).set_constant_val(isl.Val(COUNTED)))
    return row.gt_set(limit).union(row.lt_set(limit.neg()))
