"""A region up to its schedule: all that depends on no device.

polyhedra -> conditions -> dependences -> dead -> (versions ->) expand -> split -> schedule

Decisions that change a schedule make another one of what is prepared: `expanded` and `decided`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from functools import cached_property, partial
from math import inf
from typing import TypeAlias

import islpy as isl

from polygpu.analysis import polyhedra
from polygpu.analysis.assume import assume
from polygpu.analysis.conditions import Condition, conditions
from polygpu.analysis.dead import Place, dead_actions, without
from polygpu.analysis.dependences import Dependences, compute
from polygpu.analysis.expand import Expansion, decided_for, expand, whole
from polygpu.analysis.index_sets import Split, split
from polygpu.analysis.names import with_free_names
from polygpu.analysis.old_values import copies_asked, from_copies, in_more_loops
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.analysis.step_versions import with_step_versions
from polygpu.analysis.versions import Versions
from polygpu.analysis.volumes import volume
from polygpu.model.decisions import Decision
from polygpu.model.rewrite import repeats
from polygpu.model.scop import Scalar, Scop
from polygpu.schedule import kernels
from polygpu.schedule.ahead import Ahead
from polygpu.schedule.driver import Lack, Scheduled, improves, lacks, original, schedule
from polygpu.schedule.nests import host_loops, looped, nests
from polygpu.schedule.sharing import sharing
from polygpu.schedule.step_tiles import StepTiles
from polygpu.schedule.time_tiles import Cone, TimeTiles
from polygpu.schedule.tree import Member
from polygpu.support.child import patience
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import STEPS_A_SECOND, steps
from polygpu.support.passes import Passes
from polygpu.support.position import Position

_VERSIONED = 10.0  # seconds for the schedule of steps that read versions

Expanded: TypeAlias = tuple[Polyhedra, tuple[Expansion, ...]]


@dataclass(frozen=True)
class Prepared:
    """A region in the order of its schedule, `before` its temporaries were expanded.

    `scop` is in the names of the source, with the values that are `assumed` put in; `polyhedra` in those of
    generated code, of which `renamed` has the ones that differ. `conditions` must hold at run time; `dead`
    are the actions of the source that are left out. `decisions` made its temporaries, versions and kernels;
    nests were cut before the statements `cuts`. In what `shares`, threads share the terms of sums; in what is
    `tiled`, loops of the host go through tiles of time. `batches` has for statements in tiles of steps the
    loop of the host, and how many steps these have, `waves` for those in tiles that run in waves, or could,
    the widths of these by loops. Of the `source` values were not told apart; arrays
    that are `copied` are read as they were before the region, from the copies of these names.
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
    source: tuple[Polyhedra, Dependences]
    copied: Mapping[str, str] = field(default_factory=dict)
    dead: frozenset[Place] = frozenset()
    decisions: tuple[Decision, ...] = ()
    cuts: frozenset[str] = frozenset()
    shares: bool = False
    tiled: bool = False
    batches: Mapping[str, tuple[Member, int]] = field(default_factory=dict)
    waves: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    aheads: Mapping[str, tuple[Member, int]] = field(default_factory=dict)

    def stepped(self, width: int, decisions: tuple[Decision, ...], room: float = inf) -> Prepared:
        """The same with tiles of `width` steps, where decisions say nothing else of a loop; itself where no
        loop of the host can have any.

        Steps read versions where there are no tiles without, and all arrays are known to have no more
        elements than there is `room` for: a launch for each of many steps waits for all that steps store.
        """
        found = self._stepped(width, decisions)
        if found.batches or found.has_waves:
            return found
        apart = self._with_step_versions()
        if (
            apart is self
            or sum(v.known for a in apart.polyhedra.arrays if not (v := volume(a)).unknown) > room
        ):
            return found
        other = apart._stepped(width, decisions)
        return other if other.batches else found

    def _with_step_versions(self) -> Prepared:
        """The same with versions by step of the outermost loops of the host; itself where none are of use."""
        p = self.polyhedra
        try:
            for loop in host_loops(self.scheduled.host):
                p = with_step_versions(p, loop.member.rows)
            if p is self.polyhedra:
                return self
            d = compute(p, exact=True)
        except isl.Error:
            return self
        return replace(self, polyhedra=p, dependences=d, scheduled=schedule(p, d, _VERSIONED))

    def _stepped(self, width: int, decisions: tuple[Decision, ...]) -> Prepared:
        solved = frozenset(s for names, found in self.scheduled.adjacent if found for s in names)
        made = StepTiles(self.polyhedra, self.dependences, width, decisions, solved)
        host = made.host(self.scheduled.host)
        decided = (*self.decisions, *(d for d in decisions if d in made.followed))
        if host is self.scheduled.host:
            return replace(self, decisions=decided, waves=made.waves) if made.followed else self
        adjacent = tuple(a for a in self.scheduled.adjacent if not made.whole & {*a[0]})
        scheduled = replace(self.scheduled, host=host, adjacent=adjacent)
        return replace(
            self,
            polyhedra=made.p,
            dependences=made.d,
            scheduled=scheduled,
            decisions=decided,
            batches=made.tiled,
            waves=made.waves,
        )

    def ahead(self, width: int, decisions: tuple[Decision, ...]) -> Prepared:
        """The same with terms of sums ahead of tiles of `width` steps, where decisions say nothing else of a
        loop over terms; itself where none can be.
        """
        sources = {e.renamed: e.array for e in self.expansions}
        made = Ahead(self.polyhedra, self.dependences, width, sources, decisions)
        host = made.host(self.scheduled.host)
        decided = (*self.decisions, *(d for d in decisions if d in made.followed))
        if host is self.scheduled.host:
            return replace(self, decisions=decided) if made.followed else self
        adjacent = tuple(a for a in self.scheduled.adjacent if not made.whole & {*a[0]})
        scheduled = replace(self.scheduled, host=host, adjacent=adjacent)
        return replace(
            self,
            polyhedra=made.p,
            dependences=made.d,
            scheduled=scheduled,
            decisions=decided,
            aheads=made.tiled,
        )

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

    def in_time_tiles(self, decisions: tuple[Decision, ...], usual: Callable[[Cone], int]) -> Prepared:
        """The same with tiles of time, of `usual` lengths where nobody decides; itself where none are.

        Raises Diagnosed for a loop that is asked for and has none.
        """
        p, host = TimeTiles(self.polyhedra, self.dependences, decisions, usual).host(self.scheduled.host)
        if p is self.polyhedra and host is self.scheduled.host:
            return self
        return replace(self, polyhedra=p, scheduled=replace(self.scheduled, host=host), tiled=True)

    @property
    def has_waves(self) -> bool:
        """Whether tiles run in waves."""
        return any(width > 1 for widths in self.waves.values() for _, width in widths)

    @property
    def alone(self) -> frozenset[Position]:
        """Where the statements stand that one thread runs in a loop."""
        bodies = [nest.body for nest in nests(self.scheduled.host) if nest.is_alone]
        lonely = [self.polyhedra.statement(name) for body in bodies for name in looped(body)]
        return frozenset(p for s in lonely for p in (s.position, *(part.position for part in s.parts)))

    @cached_property
    def lacks(self) -> dict[str, Lack]:
        return lacks(self.polyhedra, self.scheduled)

    def about(self, key: str) -> tuple[Decision, ...]:
        return tuple(d for d in self.decisions if d.key == key)

    @cached_property
    def in_source_order(self) -> Prepared:
        """The same in the source's own order, whose code is simple."""
        return replace(self, scheduled=original(self.polyhedra, self.dependences))

    def expanded(self, decisions: tuple[Decision, ...], budget: float, passes: Passes) -> Prepared:
        """The same with other temporaries or versions. Raises Diagnosed for those that cannot be."""
        versions = tuple(d for d in decisions if d.key == "version")
        if versions != self.about("version"):
            p, d = self.source
            start = replace(self, polyhedra=p, dependences=d, before=(p, d), copied={}, decisions=versions)
            found = _freed(start, steps() + budget * STEPS_A_SECOND, passes)
            return found.expanded(decisions, budget, passes)
        p, d = self.before
        decisions = tuple(d for d in decisions if d.key == "expand")
        webs = (*self.expansions, *(whole(p, array.name) for array in p.arrays))
        mine = [a for a in decisions if any(decided_for(p, web, [a]) for web in webs)]
        start = replace(self, polyhedra=p, dependences=d, decisions=(*versions, *mine))
        if passes.run("expand", lambda: expand(p, d, False, mine))[1] == self.expansions:
            return replace(self, decisions=(*versions, *mine))
        return _ordered(start, budget, passes)

    def decided(self, decisions: tuple[Decision, ...]) -> Prepared:
        """The same with other kernels. Raises Diagnosed for those that cannot be."""
        made = kernels.decided(self.polyhedra, self.dependences, self.scheduled.host, decisions)
        scheduled = replace(self.scheduled, host=made.host)
        return replace(
            self, scheduled=scheduled, decisions=(*self.decisions, *made.decisions), cuts=made.cuts
        )


def prepare(
    scop: Scop,
    values: Mapping[str, int],
    budget: float,
    passes: Passes,
    check: Callable[[Polyhedra], None] = lambda _: None,
) -> Prepared:
    """Raises Diagnosed for what polyhedra show to be wrong, or to be out of reach, or for which `check` does.

    The search for a schedule ends after as many steps as `budget` seconds have.
    """
    end = steps() + budget * STEPS_A_SECOND
    known, assumed = assume(scop, values)
    free, renamed = with_free_names(known)
    p = passes.run("polyhedra", lambda: polyhedra.build(free))
    check(p)
    tests = passes.run("conditions", lambda: conditions(p))
    with patience(budget / 2):  # the rest is for the schedule
        d = passes.run("dependences", lambda: compute(p))
        dead = passes.run("dead", lambda: dead_actions(p, d))
        if dead:
            left = without(p, dead)
            found = passes.run("dependences", lambda: compute(left))
            if _is_known(left) or not _is_known(p):
                p, d = left, found
            else:  # what is stored over may be what tells which stores are read
                dead = frozenset()
    plain = p, d
    start = Prepared(
        known, assumed, renamed, *plain, tests, (), (), Scheduled.none(), plain, plain, dead=dead
    )
    with patience(budget):
        prepared = _freed(start, end, passes)
    _check_repeats(prepared)
    return prepared


def _is_known(p: Polyhedra) -> bool:
    """Whether the dataflow of every array is, once dependences were looked for."""
    try:
        compute(p, exact=True)
    except isl.Error:
        return False
    return True


def _freed(start: Prepared, end: float, passes: Passes) -> Prepared:
    """The region in the order of its schedule, its values told apart as decisions say, or where that makes
    loops parallel.

    Raises Diagnosed for decisions that are not possible.
    """
    asked = copies_asked(start.polyhedra, start.decisions)
    if asked is not None:
        start = _with_copies(start, asked.arrays.keys(), passes)
        asked.check(start.polyhedra, start.copied)
    found = _ordered(start, (end - steps()) / STEPS_A_SECOND, passes)
    if asked is not None and not asked.arrays:
        return found
    found = _told_apart(start, found, end, passes)
    return _copied_where_it_gains(found, end, passes) if asked is None else found


def _told_apart(start: Prepared, found: Prepared, end: float, passes: Passes) -> Prepared:
    """The region with copies of what iterations store over, where fewer loops are one thread's by that."""
    alone = found.alone
    names = tuple(s.name for s in start.polyhedra.statements if s.position in alone)
    versions = Versions(start.polyhedra, names)
    for every in (False, True):
        if not names or end <= steps():
            break
        p = passes.run("versions", partial(versions.told_apart, every))
        if p is start.polyhedra:
            continue
        try:
            apart = _of(start, p, passes, exact=True)
        except isl.Error:  # only dataflow tells values apart
            continue
        other = _ordered(apart, (end - steps()) / STEPS_A_SECOND, passes)
        if other.alone < alone:
            return other
    return found


def _copied_where_it_gains(found: Prepared, end: float, passes: Passes) -> Prepared:
    """The region with copies of what iterations store over, where more loops are parallel by that."""
    p, d = found.before
    lacking = found.lacks
    roots = {root for root, lack in lacking.items() if lack > (0, 0)}
    try:
        arrays = passes.run("versions", lambda: in_more_loops(p, roots)) if end > steps() else ()
        start = _with_copies(replace(found, polyhedra=p, dependences=d), arrays, passes, exact=True)
    except isl.Error:
        return found
    if not start.copied:
        return found
    other = _ordered(start, (end - steps()) / STEPS_A_SECOND, passes)
    return other if improves(other.lacks, lacking) else found


def _with_copies(start: Prepared, arrays: Collection[str], passes: Passes, exact: bool = False) -> Prepared:
    """The region before its schedule, with copies of these arrays for reads of old values."""
    p, copied = from_copies(start.polyhedra, arrays)
    return replace(_of(start, p, passes, exact), copied=copied) if copied else start


def _of(start: Prepared, p: Polyhedra, passes: Passes, exact: bool) -> Prepared:
    """The region before its schedule, as `p`. Raises isl.Error where `exact` dependences are not known."""
    d = passes.run("dependences", partial(compute, p, exact))
    return replace(start, polyhedra=p, dependences=d, before=(p, d))


def is_single(domain: isl.Set) -> bool:
    """Whether there is at most one instance, for all sizes."""
    return bool(domain.is_singleton())


def _check_repeats(prepared: Prepared) -> None:
    """Raises Diagnosed for a loop within an instance where one thread runs all instances: that is no gain."""
    p, found = prepared.polyhedra, nests(prepared.scheduled.host)
    for s in (p.statement(name) for nest in found if nest.is_alone for name in nest.statements):
        if repeats(s.body):
            loops = (part for part in s.parts if part.text.startswith(("for", "while", "do", "if")))
            place = next(loops, s).position
            message = "the iterations of this loop depend on data, and no loop around it is parallel"
            help_text = "let each iteration of a loop around it write elements of its own"
            raise Diagnosed(Diagnostic("PG172", "error", message, place, help_text))


def _ordered(start: Prepared, budget: float, passes: Passes) -> Prepared:
    """The region with small temporaries, or with large ones where more loops are parallel by these."""
    end = steps() + budget * STEPS_A_SECOND
    lean = _order(start, budget, passes)
    lacking = lean.lacks
    if not any(around >= 2 or missing for around, missing in lacking.values()):
        return lean
    p, d, asked = start.polyhedra, start.dependences, start.about("expand")
    made = passes.run("expand", lambda: expand(p, d, True, asked))
    if made[1] == lean.expansions:
        return lean
    left = (end - steps()) / STEPS_A_SECOND
    if left <= 0:
        return lean
    large = _order(start, left, passes, made)
    return large if improves(large.lacks, lacking) else lean


def _order(start: Prepared, budget: float, passes: Passes, made: Expanded | None = None) -> Prepared:
    """The region in the order of its schedule, its temporaries expanded as `made` has it, or as little as
    gains anything.
    """
    p, d = start.polyhedra, start.dependences
    end = steps() + budget * STEPS_A_SECOND
    with patience(budget / 2):
        p, expansions = made or passes.run("expand", lambda: expand(p, d, False, start.about("expand")))
        if expansions:
            d = passes.run("dependences", lambda: compute(p))
        p, d, splits = passes.run("split", lambda: split(p, d))
    left = (end - steps()) / STEPS_A_SECOND
    scheduled = passes.run("schedule", lambda: schedule(p, d, left))
    return replace(
        start, polyhedra=p, dependences=d, expansions=expansions, splits=splits, scheduled=scheduled
    )
