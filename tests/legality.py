"""Whether a host program keeps the order of all pairs of instances that conflict."""

from __future__ import annotations

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra
from polygpu.schedule.tree import Band, Host, HostLoop, HostSequence, Leaf, Nest, Node, Sequence
from polygpu.support.isl_idioms import union_of

Entry = isl.PwAff | int


def conflicts(p: Polyhedra) -> isl.UnionMap:
    """All pairs of instances that touch an element, one of them writing, in the source's order."""
    reads, writes, order = p.relation(write=False), p.relation(write=True), p.schedule()
    both = reads.union(writes)
    pairs = writes.apply_range(both.reverse()).union(both.apply_range(writes.reverse()))
    return pairs.intersect(order.lex_lt_union_map(order))


def broken(p: Polyhedra, host: Host) -> list[str]:
    """What `host` gets wrong: pairs out of order, or that two points of a kernel share."""
    pairs = conflicts(p)
    launches = _order(p, {s.name: _launch(host, s.name) for s in p.statements})
    points = _order(p, {s.name: _point(host, s.name) for s in p.statements})
    inside = _order(p, {s.name: _inside(host, s.name) for s in p.statements})
    together = pairs.subtract(launches.lex_lt_union_map(launches))
    found = []
    if not together.is_subset(launches.apply_range(launches.reverse())):
        found.append("a launch before one it depends on")
    if not together.is_subset(points.apply_range(points.reverse())):
        found.append("a dependence between two points of a kernel")
    if not together.is_subset(inside.lex_lt_union_map(inside)):
        found.append("a point's work out of order")
    return found


def _launch(host: Host, name: str) -> list[Entry]:
    """Values of the host loops, and positions in sequences of launches."""
    match host:
        case Nest():
            return []
        case HostLoop(member, child):
            return [member.rows[name], *_launch(child, name)]
        case HostSequence(children):
            k = next(k for k, c in enumerate(children) if name in _names(c))
            return [k, *_launch(children[k], name)]


def _nest(host: Host, name: str) -> Nest:
    match host:
        case Nest():
            return host
        case HostLoop(_, child):
            return _nest(child, name)
        case HostSequence(children):
            return _nest(next(c for c in children if name in _names(c)), name)


def _names(host: Host) -> set[str]:
    match host:
        case Nest():
            return set(host.statements)
        case HostLoop(_, child):
            return _names(child)
        case HostSequence(children):
            return {name for c in children for name in _names(c)}


def _point(host: Host, name: str) -> list[Entry]:
    return [member.rows[name] for member in _nest(host, name).parallel]


def _inside(host: Host, name: str) -> list[Entry]:
    return _body(_nest(host, name).body, name)


def _body(node: Node, name: str) -> list[Entry]:
    match node:
        case Leaf():
            return []
        case Band(members, _, child):
            return [*(m.rows[name] for m in members), *_body(child, name)]
        case Sequence(children):
            k = next(k for k, c in enumerate(children) if name in c.statements)
            return [k, *_body(children[k], name)]


def _order(p: Polyhedra, lines: dict[str, list[Entry]]) -> isl.UnionMap:
    """Each statement's instances to their values, all filled up to one length with zeros."""
    length = max(1, *(len(line) for line in lines.values()))
    found = []
    for s in p.statements:
        local = isl.LocalSpace.from_space(s.domain.get_space())
        result: isl.Map | None = None
        for entry in [*lines[s.name], *([0] * (length - len(lines[s.name])))]:
            if isinstance(entry, int):
                constant = isl.Aff.zero_on_domain(local).set_constant_val(isl.Val(entry))
                part = isl.Map.from_aff(constant)
            else:
                part = isl.Map.from_pw_aff(entry)
            result = part if result is None else result.flat_range_product(part)
        assert result is not None
        found.append(result.intersect_domain(s.domain))
    return union_of(found)
