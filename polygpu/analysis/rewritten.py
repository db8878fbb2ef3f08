"""A region's loops as others that mean the same, before there are polyhedra: for reductions of all kinds."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from polygpu.analysis.folds import folded, searched
from polygpu.analysis.histograms import privatised
from polygpu.analysis.members import separated
from polygpu.analysis.parted import parted
from polygpu.analysis.reductions import chained, gathered, permitted, selected
from polygpu.model.decisions import Decision
from polygpu.model.scop import Scop
from polygpu.support.position import Position


def rewritten(scop: Scop, decisions: Sequence[Decision], reassociate: bool) -> Scop:
    """`scop` with its searches, extremes and sums as updates, and with what is decided about these."""
    plain = searched(separated(permitted(scop, decisions, reassociate), decisions))
    return gathered(chained(selected(plain)), decisions)


def shareable(scop: Scop, alone: Collection[Position]) -> Scop:
    """`scop` with the statements at the positions `alone`, which one thread runs, as what threads can share.

    Histograms have private copies then, the iteration that a search ends with is found first, and updates
    that a branch does beside other things are on their own.
    """
    apart = parted(scop, alone)
    if apart is not scop:
        scop = chained(selected(apart))
    return folded(privatised(scop, alone), alone)
