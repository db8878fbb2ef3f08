"""A region up to its schedule: all that depends on no device.

polyhedra -> conditions -> dependences -> dead -> expand -> split -> schedule

Decisions that change a schedule make another one of what is prepared: `expanded` and `decided`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import islpy as isl

from polygpu.analysis import polyhedra
from polygpu.analysis.assume import assume
from polygpu.analysis.conditions import Condition, conditions
from polygpu.analysis.dead import Place, dead_actions, without
from polygpu.analysis.dependences import Dependences, compute
from polygpu.analysis.expand import Expansion, decided_for, expand, whole
from polygpu.analysis.index_sets import Split, split
from polygpu.analysis.names import with_free_names
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.analysis.versions import told_apart
from polygpu.model.decisions import Decision
from polygpu.model.rewrite import repeats
from polygpu.model.scop import Scalar, Scop
from polygpu.schedule import kernels
from polygpu.schedule.driver import Scheduled, improves, original, schedule, sequential_loops
from polygpu.schedule.nests import looped, nests
from polygpu.schedule.sharing import sharing
from polygpu.support.child import patience
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import STEPS_A_SECOND, steps
from polygpu.support.passes import Passes
from polygpu.support.position import Position


@dataclass(frozen=True)
class Prepared:
    """A region in the order of its schedule, `before` its temporaries were expanded.

    `scop` is in the names of the source, with the values that are `assumed` put in; `polyhedra` in those of
    generated code, of which `renamed` has the ones that differ. `conditions` must hold at run time; `dead`
    are the actions of the source that are left out. `decisions` made its temporaries and kernels; nests were
    cut before the statements `cuts`. In what `shares`, threads share the terms of sums.
    """

    scop: Scop
    assumed: dict[Scalar, int]
    renamed: dict[str, str]
    polyhedra: Polyhedra
    dependences: Dependences
    conditions: tuple[Condition, ...]
    expansions: tuple[Expansion, ...]
    splits: tuple[Split, ...]
    scheduled: Scheduled
    before: tuple[Polyhedra, Dependences]
    dead: frozenset[Place] = frozenset()
    decisions: tuple[Decision, ...] = ()
    cuts: frozenset[str] = frozenset()
    shares: bool = False

    def shared(self, sizes: Mapping[str, int], decisions: tuple[Decision, ...]) -> Prepared:
        """The same with threads that share the terms of sums, itself where there are none to share.

        `sizes` are typical ones. Raises Diagnosed for loops that cannot be shared.
        """
        sources = {e.renamed: e.array for e in self.expansions}
        made = sharing(self.polyhedra, sources, sizes, decisions)
        host = made.host(self.scheduled.host) if made.found else self.scheduled.host
        if host is self.scheduled.host:
            return self
        scheduled = replace(self.scheduled, host=host)
        return replace(self, polyhedra=made.p, scheduled=scheduled, shares=True)

    @property
    def alone(self) -> frozenset[Position]:
        """Where the statements stand that one thread runs in a loop."""
        bodies = [nest.body for nest in nests(self.scheduled.host) if not nest.parallel]
        lonely = [self.polyhedra.statement(name) for body in bodies for name in looped(body)]
        return frozenset(p for s in lonely for p in (s.position, *(part.position for part in s.parts)))

    @cached_property
    def in_source_order(self) -> Prepared:
        """The same in the source's own order, whose code is simple."""
        return replace(self, scheduled=original(self.polyhedra, self.dependences))

    def expanded(self, decisions: tuple[Decision, ...], budget: float, passes: Passes) -> Prepared:
        """The same with other temporaries. Raises Diagnosed for those that cannot be."""
        p, d = self.before
        webs = (*self.expansions, *(whole(p, array.name) for array in p.arrays))
        mine = [a for a in decisions if any(decided_for(p, web, [a]) for web in webs)]
        start = replace(self, polyhedra=p, dependences=d, decisions=tuple(mine))
        if passes.run("expand", lambda: expand(p, d, False, mine))[1] == self.expansions:
            return replace(self, decisions=tuple(mine))
        return _ordered(start, budget, passes)

    def decided(self, decisions: tuple[Decision, ...]) -> Prepared:
        """The same with other kernels. Raises Diagnosed for those that cannot be."""
        made = kernels.decided(self.polyhedra, self.dependences, self.scheduled.host, decisions)
        scheduled = replace(self.scheduled, host=made.host)
        return replace(
            self, scheduled=scheduled, decisions=(*self.decisions, *made.decisions), cuts=made.cuts
        )


def prepare(scop: Scop, values: Mapping[str, int], budget: float, passes: Passes) -> Prepared:
    """Raises Diagnosed for what polyhedra show to be wrong, or to be out of reach.

    The search for a schedule ends after as many steps as `budget` seconds have.
    """
    end = steps() + budget * STEPS_A_SECOND
    known, assumed = assume(scop, values)
    free, renamed = with_free_names(known)
    p = passes.run("polyhedra", lambda: polyhedra.build(free))
    tests = passes.run("conditions", lambda: conditions(p))
    with patience(budget / 2):  # the rest is for the schedule
        d = passes.run("dependences", lambda: compute(p))
        dead = passes.run("dead", lambda: dead_actions(p, d))
        if dead:
            p = without(p, dead)
            d = passes.run("dependences", lambda: compute(p))
    start = Prepared(known, assumed, renamed, p, d, tests, (), (), Scheduled.none(), (p, d), dead)
    prepared = _told_apart(start, _ordered(start, (end - steps()) / STEPS_A_SECOND, passes), end, passes)
    _check_repeats(prepared)
    return prepared


def _told_apart(start: Prepared, found: Prepared, end: float, passes: Passes) -> Prepared:
    """The region with copies of what iterations store over, where fewer loops are one thread's by that."""
    alone = found.alone
    names = [s.name for s in start.polyhedra.statements if s.position in alone]
    for every in (False, True):
        if not names or end <= steps():
            break
        told = partial(told_apart, start.polyhedra, names, every)
        p = passes.run("versions", told)
        if p is not start.polyhedra:
            d = passes.run("dependences", partial(compute, p))
            again = replace(start, polyhedra=p, dependences=d, before=(p, d))
            other = _ordered(again, (end - steps()) / STEPS_A_SECOND, passes)
            if other.alone < alone:
                return other
    return found


def is_single(domain: isl.Set) -> bool:
    """Whether there is at most one instance, for all sizes."""
    return bool(domain.lexmin().is_equal(domain.lexmax()))


def _check_repeats(prepared: Prepared) -> None:
    """Raises Diagnosed for a loop within an instance where one thread runs all instances: that is no gain."""
    p, found = prepared.polyhedra, nests(prepared.scheduled.host)
    for s in (p.statement(name) for nest in found if not nest.parallel for name in nest.statements):
        if repeats(s.body):
            loops = (part for part in s.parts if part.text.startswith(("for", "while", "do", "if")))
            place = next(loops, s).position
            message = "the iterations of this loop depend on data, and no loop around it is parallel"
            help_text = "let each iteration of a loop around it write elements of its own"
            raise Diagnosed(Diagnostic("PG172", "error", message, place, help_text))


def _ordered(start: Prepared, budget: float, passes: Passes) -> Prepared:
    """The region with small temporaries, or with large ones where these save host loops."""
    end = steps() + budget * STEPS_A_SECOND
    lean = _order(start, budget, passes, generous=False)
    if max(sequential_loops(lean.scheduled).values(), default=0) < 2:
        return lean
    p, d, asked = start.polyhedra, start.dependences, start.decisions
    if passes.run("expand", lambda: expand(p, d, True, asked))[1] == lean.expansions:
        return lean
    left = (end - steps()) / STEPS_A_SECOND
    if left <= 0:
        return lean
    large = _order(start, left, passes, generous=True)
    return large if improves(large.scheduled, lean.scheduled) else lean


def _order(start: Prepared, budget: float, passes: Passes, generous: bool) -> Prepared:
    p, d = start.polyhedra, start.dependences
    end = steps() + budget * STEPS_A_SECOND
    with patience(budget / 2):
        p, expansions = passes.run("expand", lambda: expand(p, d, generous, start.decisions))
        if expansions:
            d = passes.run("dependences", lambda: compute(p))
        p, d, splits = passes.run("split", lambda: split(p, d))
    left = (end - steps()) / STEPS_A_SECOND
    scheduled = passes.run("schedule", lambda: schedule(p, d, left))
    return replace(
        start, polyhedra=p, dependences=d, expansions=expansions, splits=splits, scheduled=scheduled
    )
