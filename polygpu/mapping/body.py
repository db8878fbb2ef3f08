"""The loops that a thread runs by itself: which of the parallel ones are among them, and in what order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from polygpu.analysis.dependences import compute
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.analysis.verdicts import obstacle
from polygpu.mapping.wanted import Wanted, body_loops, direction, labels, runs_backwards
from polygpu.model.decisions import Decision
from polygpu.schedule.loop_names import loop_names
from polygpu.schedule.tree import (
    Band,
    Leaf,
    Member,
    Nest,
    Node,
    Sequence,
    band,
    between,
    members_on,
    violated,
)


def arranged(nest: Nest, outer: tuple[Member, ...], asked: Wanted) -> Nest:
    """`nest` with the sequential loops that are asked for, in the order that is asked for.

    before: parallel i, j; a thread runs k, l
    after:  parallel i; a thread runs l, k, j           sequential(j) inner(l, k, j)

    `outer` are the loops of the host. Raises RefusedError where a dependence forbids the order.
    """
    nest = _sequential(nest, asked)
    decision = asked.find("inner")
    if decision is None or asked.care >= 4:
        return nest
    _check_names(nest, decision, asked)
    body = _ordered(nest.body, (*outer, *nest.parallel), decision, asked)
    _check_order(body, decision, asked)
    return replace(nest, body=body)


def _sequential(nest: Nest, asked: Wanted) -> Nest:
    """With the parallel loops that a thread is to run around its body: any order of these is legal."""
    names = frozenset(asked.names("sequential"))
    inner = tuple(m for m in nest.parallel if names & loop_names(asked.p, m))
    outer = tuple(m for m in nest.parallel if not names & loop_names(asked.p, m))
    return Nest(outer, band(inner, True, nest.body)) if inner else nest


def _place(p: Polyhedra, member: Member, decision: Decision) -> int | None:
    """Where the decision names the loop."""
    known = loop_names(p, member)
    return next((k for k, name in enumerate(decision.names) if direction(name, known) is not None), None)


def _check_names(nest: Nest, decision: Decision, asked: Wanted) -> None:
    loops = list(body_loops(nest.body))
    known = frozenset(name for m in loops for name in loop_names(asked.p, m))
    for name in decision.names:
        if direction(name, known) is None:
            plain = name.removeprefix("-")
            parallel = any(plain in loop_names(asked.p, m) for m in nest.parallel)
            run = ", ".join(labels(asked.p, loops)) or "none"
            why = f"'{plain}' is no loop that a thread of this nest runs: they are {run}"
            advice = f"decide sequential({plain}) too" if parallel else f"order {run}"
            raise asked.refused(decision, "PG304", why, advice)


def _ordered(node: Node, outer: tuple[Member, ...], decision: Decision, asked: Wanted) -> Node:
    """`node` with the named loops of each perfect nest among themselves as the decision has them."""
    match node:
        case Leaf():
            return node
        case Sequence(children):
            return Sequence(tuple(_ordered(child, outer, decision, asked) for child in children))
        case Band():
            old, child = _perfect(node)
            new = _chosen(old, decision, asked)
            inside = _ordered(child, (*outer, *old), decision, asked)
            if all(a is b for a, b in zip(old, new, strict=True)):
                return replace_perfect(node, inside)
            _check_legal(new, child, outer, decision, asked)
            return Band(new, False, inside)


def _perfect(node: Node) -> tuple[tuple[Member, ...], Node]:
    """The loops around what is no loop alone, and that."""
    members: tuple[Member, ...] = ()
    while isinstance(node, Band):
        members, node = (*members, *node.members), node.child
    return members, node


def replace_perfect(node: Node, child: Node) -> Node:
    """`node` with another body of its innermost loop."""
    return replace(node, child=replace_perfect(node.child, child)) if isinstance(node, Band) else child


def _chosen(members: tuple[Member, ...], decision: Decision, asked: Wanted) -> tuple[Member, ...]:
    places = [_place(asked.p, m, decision) for m in members]
    named = sorted((place, k) for k, place in enumerate(places) if place is not None)
    turned = iter(_directed(asked.p, members[k], decision.names[place]) for place, k in named)
    return tuple(m if place is None else next(turned) for m, place in zip(members, places, strict=True))


def _directed(p: Polyhedra, member: Member, name: str) -> Member:
    backwards = direction(name, loop_names(p, member))
    return member if runs_backwards(member) == backwards else member.reversed()


def _check_legal(
    members: tuple[Member, ...], child: Node, outer: Iterable[Member], decision: Decision, asked: Wanted
) -> None:
    """Raises RefusedError for the dependence that another order of loops turns round."""
    p, d = asked.p, asked.dependences or compute(asked.p)
    domains = {s: p.statement(s).domain for s in child.statements}
    among = between(d.all, child.statements, child.statements, domains)
    for member in outer:
        among = member.at_one_value(among)
    pairs = violated(among, members)
    if not pairs.is_empty():
        found = obstacle(p, d, pairs, "by a later iteration")
        assert found is not None, "dependences are between accesses"
        advice = "leave these loops in the order of `polygpu inspect --decisions`"
        raise asked.refused(decision, "PG304", found.why, advice, found)


def _check_order(body: Node, decision: Decision, asked: Wanted) -> None:
    """Raises RefusedError where loops that change places have other statements between them."""
    for s in body.statements:
        found = [(_place(asked.p, m, decision), m) for m in members_on(body, s)]
        named = [(place, m) for place, m in found if place is not None]
        for (before, a), (after, b) in pairwise(named):
            if before > after:
                first, second = labels(asked.p, [a, b])
                why = f"'{second}' cannot go around '{first}': other statements stand between these loops"
                raise asked.refused(decision, "PG304", why, "leave one of them out of the decision")


def order_inside(p: Polyhedra, body: Node) -> Iterator[str]:
    """The loops that a thread runs, as the decision names them."""
    loops = list(body_loops(body))
    names = zip(labels(p, loops), loops, strict=True)
    return iter(dict.fromkeys(f"-{n}" if runs_backwards(m) else n for n, m in names))
