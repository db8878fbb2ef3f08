"""What one thread reads of shared memory in a row of iterations, loaded before it computes with any of it.

    for u: s -= A_s[k + u] * x_s[k + u];   ->   float A_v[32], x_v[32];
                                                for u: { A_v[u] = A_s[k + u]; x_v[u] = x_s[k + u]; }
                                                for u: s -= A_v[u] * x_v[u];

A chain waits for what each of its links loads where a compiler does not move loads far enough ahead of it, as
it does not where it takes other warps to run meanwhile: nvcc has one load of a few elements in flight.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from polygpu.lower.loaded import Names, always, assigned, is_plain
from polygpu.model.expr import SIZES, Expr, Name, Reference
from polygpu.model.kernel import Assign, DeclareArray, For, Statement
from polygpu.model.kernel_walk import (
    Body,
    bodies,
    loop_length,
    map_operands,
    names_used,
    reads,
    with_bodies,
    written,
)
from polygpu.model.rewrite import names_in, rewrite
from polygpu.support.dataclass import dataclass

_WORD, _MOST = 4, 96  # bytes of a register, and registers of a thread for a row


def loads_before_rows(body: Body, boxes: Set[str]) -> Body:
    """`body` with what unrolled loops of assignments read of `boxes` in shared memory loaded before them."""
    return _Rows(boxes, Names(names_used(body).union(assigned(body)))).body(body)


@dataclass(frozen=True)
class _Rows:
    boxes: Set[str]
    names: Names

    def body(self, body: Body) -> Body:
        return tuple(new for s in body for new in self._statement(s))

    def _statement(self, s: Statement) -> Body:
        if isinstance(s, For) and is_plain(s) and all(isinstance(inner, Assign) for inner in s.body):
            return self._row(s)
        return (with_bodies(s, map(self.body, bodies(s))),)

    def _row(self, row: For) -> Body:
        stored = {target.array for s in row.body if isinstance(target := written(s), Reference)}
        read = (r for s in row.body for e in reads(s) for r in always(e))
        found = dict.fromkeys(r for r in read if r.array in self.boxes and row.index in names_in(r))
        length = loop_length(row) or 0
        words = sum(-(-SIZES.get(r.type, 8) // _WORD) for r in found) * length
        if not found or stored & self.boxes or words > _MOST:
            return (row,)
        registers = {r: Reference(self.names.new(r.array), (Name(row.index),), r.type) for r in found}

        def put(e: Expr) -> Expr:
            return rewrite(e, lambda part: registers.get(part) if isinstance(part, Reference) else None)

        def moved(s: Statement) -> Statement:
            if isinstance(s, Assign) and isinstance(s.value, Reference):
                return replace(s, value=put(s.value))
            return map_operands(s, put, lambda index: index)

        return (
            *(DeclareArray(held.array, r.type, (length,)) for r, held in registers.items()),
            replace(row, body=tuple(Assign(held, r) for r, held in registers.items())),
            replace(row, body=tuple(map(moved, row.body))),
        )
