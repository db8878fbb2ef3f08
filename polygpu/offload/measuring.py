"""The seconds in which the host measures arrays in front of a region."""

from __future__ import annotations

from collections.abc import Mapping

from polygpu.analysis.measured import read_by
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.lower.measured import visited
from polygpu.lower.work import work_of
from polygpu.model.device import Device
from polygpu.model.rewrite import BODY, numbered
from polygpu.model.scop import Action, Measure, Store
from polygpu.offload.instances import TURNS, Count, Sizes, all_of, counter
from polygpu.support.dataclass import dataclass

_REACHED = 2  # operations that make a subscript the largest, or the smallest
# Integer operations that a core carries out at once: none of them waits for one of another iteration. Of a
# sparse matrix, rows of 8 and of 27 elements took 0.22 and 0.14 ns an element (AMD EPYC, gcc -O2).
_AT_ONCE = 4


@dataclass(frozen=True)
class Measuring:
    """`counts` are those of the instances of each statement, with the operations of one of them; `reads` the
    arrays that are read.
    """

    counts: tuple[tuple[Count, int], ...]
    reads: tuple[str, ...]

    @staticmethod
    def of(p: Polyhedra, m: Measure) -> Measuring:
        works = work_of(visited(p.scop, m))
        bodies = {s.name: s.body for s in m.statements}
        counts = ((counter(w.instances)[0], _operations(bodies[w.statement.name])) for w in works)
        return Measuring(tuple(counts), read_by(m))

    def at(self, sizes: Sizes, held: Mapping[str, float], device: Device) -> float:
        """At these sizes, with the bytes that are `held` of each array."""
        costs = device.costs
        computed = sum(count(sizes) * operations for count, operations in self.counts)
        moved = sum(held.get(name, 0.0) for name in self.reads)
        return max(computed / _AT_ONCE / costs["host_rate"], moved / costs["host_bandwidth"])


def _operations(body: tuple[Action, ...]) -> int:
    return sum(
        TURNS ** number[1::2].count(BODY) * (all_of(a) + _REACHED * isinstance(a, Store))
        for number, a in numbered(body)
    )
