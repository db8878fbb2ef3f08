"""How often the statements of the source run: loops that visit their instances, and boxes around these."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra, PolyStatement
from polygpu.lower.scan import Scan, ScanLeaf, generated, value_of
from polygpu.model.expr import Expr
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
        return _indices(self.statement)


def work_of(p: Polyhedra) -> tuple[Work, ...]:
    """That of each statement."""
    return tuple(Work(s, _instances(s, p.context)) for s in p.statements)


def _instances(s: PolyStatement, context: isl.Set) -> Scan:
    if not s.iterators:
        return ScanLeaf(s.name, ())
    try:
        return _visited(s, s.domain, context)
    except isl.Error:
        return _visited(s, bounded_hull(s.domain), context)


def _visited(s: PolyStatement, domain: isl.Set, context: isl.Set) -> Scan:
    order = domain.identity().reset_tuple_id(D.out)
    with bounded(_STEPS):
        return generated(isl.UnionMap.from_map(order), context, _indices(s))


def _indices(s: PolyStatement) -> tuple[str, ...]:
    return tuple(f"polygpu_{k}" for k in range(len(s.iterators)))


def box(s: PolyStatement, context: isl.Set) -> tuple[Expr, ...]:
    """The lengths of the box around the statement's instances, as functions of parameters, loop by loop.

    Raises isl.Error where isl takes long for them.
    """
    with bounded(_STEPS):
        return tuple(value_of(_length(s.domain, k), context) for k in range(len(s.iterators)))


def _length(domain: isl.Set, k: int) -> isl.PwAff:
    return domain.dim_max(k).sub(domain.dim_min(k)).add_constant_val(isl.Val(1)).coalesce()
