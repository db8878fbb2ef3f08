"""Cutting a schedule tree into kernels: parallel members to the grid, what carries dependences outside.

A band with parallel members becomes a kernel over them, the rest of the band and all below runs inside a
thread. A band without any becomes a host loop over its first member, and the rest is looked at again with
only the dependences that this loop does not carry: wavefronts and a kernel per time step come out of the
same rule. Kernels of one nest, and those that pass values within a parallel point, become one (`fusion`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import islpy as isl

from polygpu.schedule.fusion import Scope, gathered, of_one_nest, of_one_nest_and_value, of_one_value
from polygpu.schedule.tree import (
    Band,
    Host,
    HostLoop,
    HostSequence,
    Leaf,
    Member,
    Nest,
    Node,
    Sequence,
    band,
    has_zero_distance,
)

AXES = 3  # dimensions of a grid
Rule: TypeAlias = Callable[[Nest, Nest, Scope], Nest | None]


def form(node: Node, scope: Scope) -> Host:
    """The host program of `node`, with all parallel dimensions of each kernel: its grid may have fewer."""
    match node:
        case Leaf():
            return Nest((), node)
        case Sequence(children):
            return host_sequence(_fused([form(child, scope) for child in children], scope))
        case Band():
            return _form_band(node, scope)


def _form_band(node: Band, scope: Scope) -> Host:
    parallel = parallel_members(node, scope.between(node.statements, node.statements))
    if parallel:
        others = tuple(m for k, m in enumerate(node.members) if k not in parallel)
        return Nest(tuple(node.members[k] for k in parallel), band(others, node.permutable, node.child))
    first, rest = node.members[0], node.members[1:]
    child = form(band(rest, node.permutable, node.child), scope.inside(first))
    if isinstance(child, Nest) and not child.parallel:
        return Nest((), band((first,), False, child.body))  # one launch of one thread, not one an iteration
    return HostLoop(first, child)


def parallel_members(node: Band, inside: isl.UnionMap) -> list[int]:
    """Positions of members no dependence crosses; only leading ones when the band is not permutable."""
    found: list[int] = []
    for k, member in enumerate(node.members):
        if has_zero_distance(inside, member, member):
            found.append(k)
        elif not node.permutable:
            break
    return found


def host_sequence(parts: list[Host]) -> Host:
    flat: list[Host] = []
    for part in parts:
        flat.extend(part.children if isinstance(part, HostSequence) else (part,))
    return flat[0] if len(flat) == 1 else HostSequence(tuple(flat))


def _fused(parts: list[Host], scope: Scope) -> list[Host]:
    """The parts in order, as few as rules want: first those of one nest of the source become one kernel, and
    of these first those that pass values.
    """

    def follows(source: Host, sink: Host) -> bool:
        return scope.follows(_statements(source), _statements(sink))

    for rule in (of_one_nest_and_value, of_one_nest, of_one_value):
        found: list[Host] = []
        for part in parts:
            found = gathered(found, part, partial(_joined, rule, scope), follows)
        parts = found
    return parts


def _joined(rule: Rule, scope: Scope, first: Host, second: Host) -> Host | None:
    return rule(first, second, scope) if isinstance(first, Nest) and isinstance(second, Nest) else None


def _statements(host: Host) -> list[str]:
    return [s for nest in nests(host) for s in nest.statements]


def nests(host: Host) -> list[Nest]:
    match host:
        case Nest():
            return [host]
        case HostLoop(_, child):
            return nests(child)
        case HostSequence(children):
            return [n for c in children for n in nests(c)]


def host_loops(host: Host) -> list[HostLoop]:
    """The outermost ones."""
    match host:
        case Nest():
            return []
        case HostLoop():
            return [host]
        case HostSequence(children):
            return [loop for c in children for loop in host_loops(c)]


def looped(node: Node) -> list[str]:
    """The statements that are in a loop of a kernel's body."""
    match node:
        case Leaf():
            return []
        case Sequence(children):
            return [name for child in children for name in looped(child)]
        case Band():
            return list(node.statements)


def outer_members(host: Host, nest: Nest) -> list[Member]:
    """The host loops around `nest`, outermost first."""
    match host:
        case HostLoop(member, child):
            return [member, *outer_members(child, nest)]
        case HostSequence(children):
            return next((outer_members(c, nest) for c in children if nest in nests(c)), [])
    return []
