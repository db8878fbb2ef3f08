"""Barriers are met by all threads of a block or by none."""

from __future__ import annotations

import islpy as isl

from polygpu.support.isl_idioms import D
from polygpu.verify.counterexample import parameters, sample
from polygpu.verify.events import THREADS, Point, box, executions
from polygpu.verify.order import BLOCK
from polygpu.verify.session import Session
from polygpu.verify.trace import Trace
from polygpu.verify.verdict import BARRIERS, Failure


def check_barriers(session: Session) -> None:
    for trace in session.traces:
        with session.step(BARRIERS, trace.kernel.name):
            _kernel(session, trace)


def _kernel(session: Session, trace: Trace) -> None:
    threads = isl.Map.from_domain(box(trace.kernel.block))
    for name in THREADS:
        threads = threads.move_dims(
            D.in_, threads.dim(D.in_), D.param, threads.find_dim_by_name(D.param, name), 1
        )
    for s in trace.syncs:
        session.counts[BARRIERS] += s.pending < 0
        _met(session, trace, threads, s.point, "a barrier" if s.pending < 0 else "a wait for copies")
    for points in trace.together.values():
        for point in points:
            _met(session, trace, threads, point, "a product of fragments")


def _met(session: Session, trace: Trace, threads: isl.Map, point: Point, what: str) -> None:
    """All threads of a block get there, or none."""
    those = executions(point, BLOCK.dims(point))
    once = those.project_out(D.set, 0, len(THREADS))
    missing = threads.domain().flat_product(once).subtract(those)
    if not missing.is_empty():
        found = sample(isl.Map.from_domain(missing))
        thread = [int(str(found.domain().dim_max_val(k))) for k in range(len(THREADS))]
        message = f"{what} that thread ({', '.join(map(str, thread))}) does not reach with its block"
        where = parameters(found, session.p.parameters)
        session.failures.append(Failure(BARRIERS, trace.kernel.name, message, parameters=where))
