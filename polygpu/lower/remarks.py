"""What the compiler has to say about regions that it compiled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from polygpu.analysis.conditions import within
from polygpu.analysis.reductions import permitted, reductions
from polygpu.analysis.running import running_totals
from polygpu.analysis.verdicts import loop_verdicts
from polygpu.lower.realise import CompiledRegion
from polygpu.mapping.wanted import Wanted, source_arrays
from polygpu.model.decisions import KERNELS, KEYS, SPACES, Decision
from polygpu.model.facts import LoopVerdict
from polygpu.model.scop import Scop
from polygpu.schedule.nests import nests
from polygpu.schedule.prepare import is_single
from polygpu.schedule.sharing import sharing
from polygpu.schedule.tree import Shared, single_iterator
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import c_name
from polygpu.support.position import Position


def simple_schedules(regions: Iterable[CompiledRegion]) -> Iterator[Diagnostic]:
    """A warning for each region whose schedule was not searched for to the end."""
    for r in regions:
        if r.prepared.scheduled.fallback:
            message = "isl finds no code for a better schedule: these loops run in the source's order"
            help_text = "make bounds, tests and strides simpler, or give more time with --time-budget"
            yield Diagnostic("PG315", "warning", message, r.scop.position, help_text)
        elif r.prepared.scheduled.unsearched:
            message = "the time budget ended the search for a better schedule"
            help_text = "give more time with --time-budget, or accept a schedule that is legal and simple"
            yield Diagnostic("PG308", "warning", message, r.scop.position, help_text)


def has_parallelism(r: CompiledRegion) -> bool:
    return any(grid.axes for grid in r.grids)


def in_vain(r: CompiledRegion) -> Diagnostic | None:
    """What a region left out where that gains nothing: of loops that the host runs all the same, or where
    one of these branches is always taken.
    """
    if r.scop.untaken and within(r.polyhedra, r.prepared.conditions).is_empty():
        return r.scop.untaken[0].problem
    grids = [(len(m.outer), r.polyhedra.statement(name)) for m in r.grids if m.axes for name in m.statements]
    for left in r.scop.untaken:
        if not any(outer < sum(k in left.loops for k in s.loops) for outer, s in grids):
            return left.problem
    return None


def left_on_host(regions: Iterable[CompiledRegion]) -> list[Diagnostic]:
    """A warning for each region without parallelism that nobody asked to offload."""
    message = "these loops stay on the host: none of them is parallel"
    help_text = "`polygpu inspect` names the dependences; '#pragma scop' offloads them all the same"
    found = ((r, (*ordered(r), *handed_on(r))) for r in regions)
    return [
        Diagnostic(
            "PG309",
            "warning",
            message,
            r.scop.position,
            r.scop.in_source(kept[0] if kept else help_text),
        )
        for r, kept in found
    ]


def handed_on(r: CompiledRegion) -> tuple[str, ...]:
    """`b is a running total over i (a prefix sum): each iteration needs the one before`"""
    sources = r.polyhedra.source_names()
    arrays = source_arrays(r.polyhedra, [s.name for s in r.polyhedra.statements])
    return tuple(
        f"{arrays.get(array, array)} is a running total over {sources.get(name, name)} (a prefix sum or the "
        "like): each iteration needs the one before"
        for array, name in dict.fromkeys(running_totals(r.polyhedra, r.dependences))
    )


def ordered(r: CompiledRegion) -> tuple[str, ...]:
    """What --reassociate would gain: sums that threads would share."""
    p = r.polyhedra
    if r.prepared.shares or len(list(reductions(p, {}))) == len(list(reductions(p, {}, permitted=False))):
        return ()
    free = replace(p, scop=permitted(p.scop, (), True))
    made = sharing(free, {}, {}, ())
    host = made.host(r.prepared.scheduled.host)
    shared = [nest.shared for nest in nests(host) if nest.shared is not None and nest.shared.widths]
    shared = shared or [nest.shared for nest in nests(host) if nest.shared is not None]
    return tuple(dict.fromkeys(text for s in shared for text in _kept(r, s)))


def _kept(r: CompiledRegion, shared: Shared) -> Iterator[str]:
    """`the sum of t over i is kept in order: --reassociate lets threads share it`"""
    sources = r.polyhedra.source_names()
    for update in shared.updates:
        arrays = source_arrays(r.polyhedra, [update.statement])
        what = {"+": "sum", "*": "product"}.get(update.operator, "extreme value")
        loops = (single_iterator(m.rows[update.statement]) or "" for m in shared.loops)
        names = ", ".join(sources.get(n, n) for n in map(c_name, loops))
        array = next((a for a in arrays.values() if update.array.startswith(a)), update.array)
        yield f"the {what} of {array} over {names} is kept in order: --reassociate lets threads share it"


def in_one_thread(r: CompiledRegion) -> list[Diagnostic]:
    """A warning for each source loop whose iterations one thread runs."""
    alone = [
        (len(m.outer), r.polyhedra.statement(s))
        for m in r.grids
        if not m.axes or m.attending
        for s in m.statements
    ]
    numbers = {k for outer, s in alone if not is_single(s.domain) for k in s.loops[outer:]}
    if not numbers:
        return []
    verdicts = loop_verdicts(r.polyhedra, r.dependences)
    kept = (*ordered(r), *handed_on(r))

    def help_of(why: str) -> str:
        mine = (text for text in kept if why.startswith(f"flow dependence: {_subject(text)} is written"))
        return next(mine, "see `polygpu explain PG330`")

    mine = (v for k, v in enumerate(verdicts) if k in numbers and not v.parallel)
    return list(dict.fromkeys(_alone(r.scop, v, help_of(v.why)) for v in mine))


def _alone(scop: Scop, verdict: LoopVerdict, help_text: str) -> Diagnostic:
    message = f"this loop runs in one thread: {verdict.why}"
    return Diagnostic(
        "PG330", "warning", scop.in_source(message), verdict.position, scop.in_source(help_text)
    )


def _subject(text: str) -> str:
    """The array that `the sum of t over i ...` or `t is a running total ...` is about."""
    return re.sub(r"^the [\w ]+ of ", "", text).split()[0]


def left_out(regions: Iterable[CompiledRegion]) -> Iterator[str]:
    """What single nests do not follow of decisions for many, and why."""
    for problem in (problem for r in regions for problem in r.refused):
        found = problem.diagnostics[0]
        yield f"{found.position}: not followed: {found.message}"


def check_followed(path: str, decisions: Iterable[Decision], regions: Iterable[CompiledRegion]) -> None:
    """Raises Diagnosed for a decision that no nest of the file follows, be it that none has what it names."""
    regions = list(regions)
    nests = [asked for r in regions for asked in r.asked]
    refused = [problem for r in regions for problem in r.refused]
    for decision in decisions:
        _check_place(decision, regions)
        if decision.key in SPACES:
            continue
        if any(decision in r.prepared.decisions for r in regions):
            _check_names(decision, nests if decision.key not in KERNELS else [])
            continue
        mine = [asked for asked in nests if decision in asked.decisions]
        _check_names(decision, mine or [asked for asked in nests if _is_for(decision, asked)])
        if any(asked.follows(decision) for asked in mine):
            continue
        for problem in refused:
            if problem.decision == decision:
                raise problem
        advice = "`polygpu inspect --decisions` lists the nests, and what can be decided"
        line = decision.place.line if decision.place is not None and not decision.place.file else 0
        position = Position(path, max(line, 1), 1)
        raise _unfollowed(f"'{decision}' is for no nest of this file", position, advice)


def _check_place(decision: Decision, regions: Iterable[CompiledRegion]) -> None:
    """Raises Diagnosed where a name is that of a function and of a label, or of labels of two functions."""
    name = decision.place.function if decision.place is not None else ""
    found: dict[str, Position] = {}
    for scop in (r.scop for r in regions if name):
        if scop.function == name:
            found.setdefault("the function", scop.position)
        for loop in (loop for loop in scop.loops if loop.label == name):
            found.setdefault(f"the label in {scop.function}()", loop.position)
    if len(found) > 1:
        lines = " or ".join(str(position.line) for position in found.values())
        message = f"'{decision}': '{name}' may be {' or '.join(found)}"
        raise _unfollowed(message, next(iter(found.values())), f"go by the line of a loop: {lines}")


def _is_for(decision: Decision, asked: Wanted) -> bool:
    """Whether the nest is one of all those that the decision is for."""
    place = decision.place
    return place is None or (bool(place.function) and place.function == asked.p.scop.function)


def _check_names(decision: Decision, nests: list[Wanted]) -> None:
    named = KEYS[decision.key].named
    names = [name for name in decision.names if name.lstrip("-").isidentifier()] if named else []
    for name in names if nests else ():
        if not any(nest.knows(decision, name) for nest in nests):
            there = ", ".join(sorted({known for nest in nests for known in nest.known(decision)}))
            first = nests[0].p.statement(nests[0].nest.statements[0]).position
            raise _unfollowed(f"'{decision}': there is no {named} '{name}'", first, f"there are {there}")


def _unfollowed(message: str, position: Position, advice: str) -> Diagnosed:
    return Diagnosed(Diagnostic("PG303", "error", message, position, advice))
