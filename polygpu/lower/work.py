"""How often the statements of the source run: loops that visit their instances, and boxes around these."""

from __future__ import annotations

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra, PolyStatement
from polygpu.lower.scan import Scan, ScanLeaf, generated, value_of
from polygpu.model.expr import Expr
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, bounded, bounded_hull

_STEPS = 100_000  # of isl, for one statement; ordinary ones take hundreds


@dataclass(frozen=True)
class Work:
    """`instances` visits those of `statement`, or those of a hull where isl takes long for its own loops.

    `indices` are the names of the loops there, in the order of the statement's iterators.
    """

    statement: PolyStatement
    instances: Scan

    @property
    def indices(self) -> tuple[str, ...]:
        return _indices(len(self.statement.iterators))


def work_of(p: Polyhedra) -> tuple[Work, ...]:
    """That of each statement; those of a nest often have the same loops."""
    found: list[tuple[isl.Set, Scan]] = []
    for s in p.statements:
        domain = s.domain.set_tuple_name("instance")
        known = (tree for other, tree in found if other.plain_is_equal(domain))
        found.append((domain, next(known, None) or _instances(domain, p.context)))
    return tuple(Work(s, tree) for s, (_, tree) in zip(p.statements, found, strict=True))


def _instances(domain: isl.Set, context: isl.Set) -> Scan:
    if not domain.dim(D.set):
        return ScanLeaf("instance", ())
    try:
        with bounded(_STEPS):
            return _visited(domain, context)
    except isl.Error:
        return _visited(bounded_hull(domain), context)


def _visited(domain: isl.Set, context: isl.Set) -> Scan:
    order = isl.UnionMap.from_map(domain.identity().reset_tuple_id(D.out))
    return generated(order, context, _indices(domain.dim(D.set)))


def _indices(count: int) -> tuple[str, ...]:
    return tuple(f"polygpu_{k}" for k in range(count))


def box(s: PolyStatement, context: isl.Set) -> tuple[Expr, ...]:
    """The lengths of the box around the statement's instances, as functions of parameters, loop by loop.

    None at all where isl takes long for them.
    """
    try:
        with bounded(_STEPS):
            return tuple(value_of(_length(s.domain, k), context) for k in range(len(s.iterators)))
    except isl.Error:
        return ()


def _length(domain: isl.Set, k: int) -> isl.PwAff:
    return domain.dim_max(k).sub(domain.dim_min(k)).add_constant_val(isl.Val(1)).coalesce()
