"""Which kernels there are, as decisions have it: nests that are cut in two, neighbours that become one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import islpy as isl

from polygpu.analysis.dependences import Dependences
from polygpu.analysis.places import holds, names_statement, place_of, positions
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.analysis.verdicts import ends, obstacle
from polygpu.model.decisions import Decision
from polygpu.schedule.fusion import Scope, evened, joined
from polygpu.schedule.nests import host_sequence, nests
from polygpu.schedule.tree import (
    Band,
    Host,
    HostLoop,
    HostSequence,
    Leaf,
    Member,
    Nest,
    Node,
    sequence,
)
from polygpu.schedule.tree import Sequence as Series
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.recent import Same


@dataclass(frozen=True)
class Kernels:
    """A host program and the decisions that made it so; nests were cut before the statements `cuts`."""

    host: Host
    decisions: tuple[Decision, ...] = ()
    cuts: frozenset[str] = frozenset()


def decided(p: Polyhedra, d: Dependences, host: Host, decisions: Sequence[Decision]) -> Kernels:
    """`host` with its nests cut, then fused; a later split goes before an earlier fuse.

    before: kernel(i) { S12; S13 }  kernel(i) { S15 }
    after:  kernel(i) { S12 }  kernel(i) { S13; S15 }       split(13) fuse(13, 15)

    Raises Diagnosed for what a dependence forbids, and for nests that do not fit together.
    """
    asked = [a for a in (_asked(p, decision) for decision in decisions) if a is not None]
    cuts: set[str] = set()
    for a in (a for a in asked if a.decision.key == "split"):
        for names in a.groups:
            host = _Change(p, d, a.decision).cut(host, (), names, cuts)
    for number, a in enumerate(asked):
        later = {s for b in asked[number:] if b.decision.key == "split" for s in b.statements if s in cuts}
        order = [s.name for s in p.statements if s.name in a.statements]
        for part in _parts(order, later) if a.decision.key == "fuse" else ():
            host = _Change(p, d, a.decision).fuse(host, (), frozenset(part))
    return Kernels(host, tuple(a.decision for a in asked), frozenset(cuts))


@dataclass(frozen=True)
class _Asked:
    """The statements that each of a decision's names means."""

    decision: Decision
    groups: tuple[frozenset[str], ...]

    @property
    def statements(self) -> frozenset[str]:
        return frozenset().union(*self.groups)


def _asked(p: Polyhedra, decision: Decision) -> _Asked | None:
    """The statements that a decision names; None where it is for another region."""
    if decision.place is not None and not any(holds(decision.place, p, s.name) for s in p.statements):
        return None
    found = {name: _named(p, decision, name) for name in decision.names}
    missing = [name for name, statements in found.items() if not statements]
    if len(missing) == len(found):
        return None
    if missing:
        lines = ((place_of(p, (s.name,)), *(at.line for at in positions(s)[1:])) for s in p.statements)
        there = ", ".join(str(place) for places in lines for place in places)
        why = f"'{decision}': the region has no statement '{missing[0]}'"
        raise Diagnosed(Diagnostic("PG303", "error", why, p.scop.position, f"it has {there}"))
    return _Asked(decision, tuple(map(frozenset, found.values())))


def _named(p: Polyhedra, decision: Decision, name: str) -> list[str]:
    alone = replace(decision, items=((name, None),))
    return [s.name for s in p.statements if names_statement(p, alone, s.name)]


def _parts(statements: Sequence[str], cuts: set[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for s in statements:
        found = [*found, [s]] if s in cuts else [*found[:-1], [*found[-1], s]]
    return found


@dataclass(frozen=True)
class _Change:
    """What one decision makes of a host program; `outer` are the host loops around a part of it."""

    p: Polyhedra
    d: Dependences
    decision: Decision

    def cut(self, host: Host, outer: tuple[Member, ...], before: frozenset[str], cuts: set[str]) -> Host:
        """Each nest cut before the first of its statements that is named."""
        match host:
            case HostLoop(member, child):
                return HostLoop(member, self.cut(child, (*outer, member), before, cuts))
            case HostSequence(children):
                return host_sequence([self.cut(child, outer, before, cuts) for child in children])
            case Nest():
                order = list(in_order(host.body))
                place = next((k for k, s in enumerate(order) if s in before), None)
                cuts.update(order[place : place + 1] if place is not None else ())
                return self._halves(host, outer, order, place) if place else host

    def _halves(self, nest: Nest, outer: tuple[Member, ...], order: list[str], place: int) -> Host:
        first, second = order[:place], order[place:]
        backwards = self._between(second, first, outer)
        if not backwards.is_empty():
            raise self._forbidden(second[0], backwards, "in another iteration", "cut the nest elsewhere")
        return HostSequence((_restricted(nest, first), _restricted(nest, second)))

    def fuse(self, host: Host, outer: tuple[Member, ...], names: frozenset[str]) -> Host:
        """The nests with these statements as one, in the place of the first."""
        found = [nest for nest in nests(host) if names & {*nest.statements}]
        if len(found) < 2:
            return host
        match host:
            case HostLoop(member, child):
                return HostLoop(member, self.fuse(child, (*outer, member), names))
            case HostSequence(children):
                whole = [c for c in children if any(n in nests(c) for n in found)]
                if len(whole) == 1:
                    return replace(host, children=tuple(
                        self.fuse(c, outer, names) if c is whole[0] else c for c in children
                    ))  # fmt: skip
                if len(whole) == len(found) and all(isinstance(c, Nest) for c in whole):
                    return host_sequence(self._together(list(children), found, outer))
        why = "loops of the host are around these statements that they do not share"
        raise self._refused(found[-1].statements[0], why, "leave them apart")

    def _together(self, children: list[Host], found: list[Nest], outer: tuple[Member, ...]) -> list[Host]:
        """`children` with the nests as one."""
        first, *others = found
        for second in others:
            start, end = (next(k for k, c in enumerate(children) if c is n) for n in (first, second))
            for other in children[start + 1 : end]:
                names = [s for nest in nests(other) for s in nest.statements]
                pairs = self._between(names, second.statements, outer)
                if not pairs.is_empty():
                    raise self._forbidden(second.statements[0], pairs, "later", "a kernel between needs it")
            fused = self._joined(first, second, outer)
            children = [fused if c is first else c for c in children if c is not second]
            first = fused
        return children

    def _joined(self, first: Nest, second: Nest, outer: tuple[Member, ...]) -> Nest:
        at, scope = second.statements[0], self._scope(outer)
        if bool(first.parallel) != bool(second.parallel):
            raise self._refused(at, "one of the nests has no parallel loop", "leave them apart")
        fused = evened(first, second, scope) if first.parallel else joined(first, second, scope)
        if fused is None:
            same = crossing = scope.between(first.statements, second.statements)
            for a, b in zip(first.parallel, second.parallel, strict=False):
                same = a.merged(b).at_one_value(same)
            raise self._forbidden(at, crossing.subtract(same), "in another thread", "leave them apart")
        return fused

    def _scope(self, outer: tuple[Member, ...]) -> Scope:
        """That of one iteration of the host's loops, which many decisions are looked at in."""

        def made() -> Scope:
            return Scope({s.name: s for s in self.p.statements}, self.d.all).inside(*outer)

        found: Scope = self.p.recent.get((Scope, Same(self.d), *map(Same, outer)), made)
        return found

    def _between(
        self, sources: Sequence[str], sinks: Sequence[str], outer: tuple[Member, ...]
    ) -> isl.UnionMap:
        """The dependences inside one iteration of the host's loops."""
        return self._scope(outer).between(sources, sinks)

    def _forbidden(self, statement: str, pairs: isl.UnionMap, when: str, advice: str) -> Diagnosed:
        found = obstacle(self.p, self.d, pairs, when)
        assert found is not None, "dependences are between accesses"
        return self._refused(statement, found.why, advice, ends(found))

    def _refused(
        self, statement: str, why: str, advice: str, notes: tuple[Diagnostic, ...] = ()
    ) -> Diagnosed:
        position = self.p.statement(statement).position
        return Diagnosed(Diagnostic("PG304", "error", f"'{self.decision}': {why}", position, advice, notes))


def in_order(body: Node) -> Iterator[str]:
    """The statements as the code has them."""
    match body:
        case Leaf(statements):
            yield from statements
        case Band(_, _, child):
            yield from in_order(child)
        case Series(children):
            for child in children:
                yield from in_order(child)


def _restricted(nest: Nest, names: Sequence[str]) -> Nest:
    return Nest(tuple(m.restricted(names) for m in nest.parallel), _part(nest.body, frozenset(names)))


def _part(node: Node, names: frozenset[str]) -> Node:
    """`node` without other statements."""
    mine = names & {*node.statements}
    match node:
        case Leaf():
            return Leaf(tuple(sorted(mine)))
        case Band(members, permutable, child):
            return Band(tuple(m.restricted(mine) for m in members), permutable, _part(child, names))
        case Series(children):
            return sequence(_part(c, names) for c in children if names & {*c.statements})
