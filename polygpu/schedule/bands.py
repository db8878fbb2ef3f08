"""isl's Pluto-like scheduler, as trees of bands: the fall-back of algorithm 1 and the base of tiling."""

from __future__ import annotations

from typing import Any

import islpy as isl

from polygpu.schedule.tree import Leaf, Member, Node, band, sequence
from polygpu.support.isl_idioms import D, pw_name, sets, union_pw_affs

_T: Any = isl.schedule_node_type  # islpy declares the kinds of nodes as int


def schedule(domain: isl.UnionSet, context: isl.Set, validity: isl.UnionMap, proximity: isl.UnionMap) -> Node:
    """A legal schedule of `domain`: outermost parallel bands, strongly connected components apart.

    Raises `isl.Error` when isl gives up.
    """
    constraints = (
        isl.ScheduleConstraints.on_domain(domain)
        .set_context(context)
        .set_validity(validity)
        .set_coincidence(validity)
        .set_proximity(proximity)
    )
    return _node(constraints.compute_schedule().get_root().child(0), _names(domain))


def _names(domain: isl.UnionSet) -> tuple[str, ...]:
    return tuple(s.get_tuple_name() for s in sets(domain))


def _node(node: isl.ScheduleNode, statements: tuple[str, ...]) -> Node:
    kind = node.get_type()
    if kind == _T.leaf:
        return Leaf(statements)
    if kind == _T.band:
        partial = node.band_get_partial_schedule()
        members = tuple(_member(partial, k, statements) for k in range(partial.dim(D.out)))
        return band(members, bool(node.band_get_permutable()), _node(node.child(0), statements))
    if kind in (_T.sequence, _T.set):
        children = [node.child(i) for i in range(node.n_children())]
        parts = [(c, _names(c.filter_get_filter())) for c in children]
        if kind == _T.set:
            parts.sort(key=lambda part: part[1])
        return sequence(_node(c.child(0), names) for c, names in parts)
    if kind == _T.filter:
        return _node(node.child(0), _names(node.filter_get_filter()))
    raise AssertionError(f"unexpected schedule node {kind}")


def _member(partial: isl.MultiUnionPwAff, k: int, statements: tuple[str, ...]) -> Member:
    rows = {pw_name(row): row for row in union_pw_affs(partial, k)}
    return Member({s: rows[s] for s in statements})
