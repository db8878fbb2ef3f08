"""Compilations in which a pass made a mistake: a dependence it did not see, dimensions it mixed up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import combinations
from typing import Any
from unittest.mock import patch

import islpy as isl

from polygpu.analysis.dependences import Dependences, compute
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.model.rewrite import numbered
from polygpu.schedule.driver import Scheduled, schedule
from polygpu.schedule.tree import Band, Host, HostLoop, HostSequence, Member, Nest, Node, Sequence
from polygpu.support.isl_idioms import D, empty_union_map, maps, tuple_name

Mistake = AbstractContextManager[Any]


def forgotten_dependences(d: Dependences) -> Iterator[Mistake]:
    """For each two statements: their dependences, which the scheduler does not see."""
    for pair in sorted({_ends(m) for m in maps(d.all)}):
        yield patch("polygpu.schedule.prepare.compute", _without(pair))


def _ends(m: isl.Map) -> tuple[str, str]:
    return tuple_name(m, D.in_), tuple_name(m, D.out)


def _without(pair: tuple[str, str]) -> Callable[[Polyhedra], Dependences]:
    def left(union: isl.UnionMap) -> isl.UnionMap:
        found = empty_union_map()
        for m in maps(union):
            if _ends(m) != pair:
                found = found.union(m)
        return found

    def wrong(p: Polyhedra) -> Dependences:
        d = compute(p)
        return replace(d, flow=left(d.flow), memory=left(d.memory))

    return wrong


def actions_left_out(p: Polyhedra) -> Iterator[Mistake]:
    """For each action of the program: it is taken to be dead."""
    for s in p.statements:
        for number, _ in numbered(s.body):
            yield patch(
                "polygpu.schedule.prepare.dead_actions", lambda *_, place=(s.name, number): frozenset({place})
            )


def swapped_dimensions(scheduled: Scheduled) -> Iterator[Mistake]:
    """For each two dimensions of a kernel's schedule, or a launch's: each in the other's place."""
    for number, _ in enumerate(_swapped(scheduled.host)):

        def wrong(*arguments: Any, number: int = number) -> Scheduled:
            found = schedule(*arguments)
            hosts = list(_swapped(found.host))
            return replace(found, host=hosts[min(number, len(hosts) - 1)]) if hosts else found

        yield patch("polygpu.schedule.prepare.schedule", wrong)


def _swapped(host: Host) -> Iterator[Host]:
    match host:
        case HostSequence(children):
            for k, child in enumerate(children):
                for new in _swapped(child):
                    yield HostSequence((*children[:k], new, *children[k + 1 :]))
        case HostLoop(member, Nest(parallel, body)) if parallel:
            for k, other in enumerate(parallel):
                yield HostLoop(other, Nest(_put(parallel, k, member), body))
            yield from (HostLoop(member, new) for new in _swapped(host.child))
        case HostLoop(member, child):
            yield from (HostLoop(member, new) for new in _swapped(child))
        case Nest():
            yield from _in_nest(host)


def _in_nest(nest: Nest) -> Iterator[Nest]:
    body = nest.body
    if isinstance(body, Band):
        for (k, one), (i, two) in ((a, b) for a in enumerate(nest.parallel) for b in enumerate(body.members)):
            yield Nest(_put(nest.parallel, k, two), replace(body, members=_put(body.members, i, one)))
    yield from (Nest(nest.parallel, new) for new in _in_node(body))


def _in_node(node: Node) -> Iterator[Node]:
    match node:
        case Band(members, _, child):
            for (a, one), (b, two) in combinations(enumerate(members), 2):
                yield replace(node, members=_put(_put(members, a, two), b, one))
            yield from (replace(node, child=new) for new in _in_node(child))
        case Sequence(children):
            for k, inner in enumerate(children):
                for new in _in_node(inner):
                    yield Sequence((*children[:k], new, *children[k + 1 :]))


def _put(members: tuple[Member, ...], k: int, member: Member) -> tuple[Member, ...]:
    return (*members[:k], member, *members[k + 1 :])
