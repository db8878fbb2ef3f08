"""Cutting a schedule tree into kernels: parallel members to the grid, what carries dependences outside.

A band with parallel members becomes a kernel over them, the rest of the band and all below runs inside a
thread. A band without any becomes a host loop over its first member, and the rest is looked at again with
only the dependences that this loop does not carry: wavefronts and a kernel per time step come out of the
same rule. Neighbouring kernels whose dependences stay within one parallel point are fused.
"""

from __future__ import annotations

from itertools import permutations

import islpy as isl

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
    between,
    has_zero_distance,
    sequence,
)
from polygpu.support.isl_idioms import D, tuple_name

Domains = dict[str, isl.Set]
Written = dict[str, list[isl.Map]]  # statement -> its accesses of arrays that some statement writes


def form(node: Node, dependences: isl.UnionMap, domains: Domains, accesses: Written, limit: int = 3) -> Host:
    """The host program of `node`, at most `limit` parallel dimensions a kernel.

    `accesses` decides what is worth fusing: not what takes an array out of registers.
    """
    inside = between(dependences, node.statements, node.statements, domains)
    match node:
        case Leaf():
            return Nest((), node)
        case Sequence(children):
            parts = [form(child, inside, domains, accesses, limit) for child in children]
            return host_sequence(_fuse_neighbours(parts, inside, domains, accesses))
        case Band():
            return _form_band(node, inside, domains, accesses, limit)


def _form_band(node: Band, inside: isl.UnionMap, domains: Domains, accesses: Written, limit: int) -> Host:
    parallel = parallel_members(node, inside)
    if parallel:
        return Nest(
            tuple(node.members[k] for k in parallel[:limit]),
            band(
                tuple(m for k, m in enumerate(node.members) if k not in parallel[:limit]),
                node.permutable,
                node.child,
            ),
        )
    first, rest = node.members[0], node.members[1:]
    left = inside.eq_at_multi_union_pw_aff(first.function())
    child = form(band(rest, node.permutable, node.child), left, domains, accesses, limit)
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


def _fuse_neighbours(
    parts: list[Host], dependences: isl.UnionMap, domains: Domains, accesses: Written
) -> list[Host]:
    result: list[Host] = []
    for part in parts:
        fused = _fuse(result[-1], part, dependences, domains, accesses) if result else None
        if fused is None:
            result.append(part)
        else:
            result[-1] = fused
    return result


def _fuse(
    first: Host, second: Host, dependences: isl.UnionMap, domains: Domains, accesses: Written
) -> Nest | None:
    """One kernel for both, when values pass between them only within a parallel point."""
    if not (isinstance(first, Nest) and isinstance(second, Nest)):
        return None
    if len(first.parallel) != len(second.parallel):
        return None
    crossing = between(dependences, first.statements, second.statements, domains)
    if crossing.is_empty() and first.parallel:
        return None
    fused = joined(first, second, crossing)
    return fused if fused is not None and _keeps_owned(first, second, fused, accesses) else None


def joined(first: Nest, second: Nest, crossing: isl.UnionMap) -> Nest | None:
    """One kernel for both, if their `crossing` dependences can stay within a parallel point."""
    for order in permutations(second.parallel):
        if all(has_zero_distance(crossing, a, b) for a, b in zip(first.parallel, order, strict=True)):
            merged = tuple(a.merged(b) for a, b in zip(first.parallel, order, strict=True))
            return Nest(merged, sequence((first.body, second.body)))
    return None


def _keeps_owned(first: Nest, second: Nest, fused: Nest, accesses: Written) -> bool:
    """Whether arrays of which each point owns one element in a kernel are still so in the fused one."""
    before = _owners(first, accesses), _owners(second, accesses)
    after = _owners(fused, accesses)
    return all(
        after[array].is_single_valued()
        for owners in before
        for array, relation in owners.items()
        if relation.is_single_valued()
    )


def _owners(nest: Nest, accesses: Written) -> dict[str, isl.Map]:
    """For each array the elements that a point of the nest touches."""
    found: dict[str, isl.Map] = {}
    for s in nest.statements:
        points: isl.Map | None = None
        for member in nest.parallel:
            row = isl.Map.from_pw_aff(member.rows[s])
            points = row if points is None else points.flat_range_product(row)
        for relation in accesses[s] if points is not None else []:
            assert points is not None
            touched = points.intersect_domain(relation.domain()).reverse().apply_range(relation)
            name = tuple_name(relation, D.out)
            found[name] = found[name].union(touched) if name in found else touched
    return found


def nests(host: Host) -> list[Nest]:
    match host:
        case Nest():
            return [host]
        case HostLoop(_, child):
            return nests(child)
        case HostSequence(children):
            return [n for c in children for n in nests(c)]


def outer_members(host: Host, nest: Nest) -> list[Member]:
    """The host loops around `nest`, outermost first."""
    match host:
        case HostLoop(member, child):
            return [member, *outer_members(child, nest)]
        case HostSequence(children):
            return next((outer_members(c, nest) for c in children if nest in nests(c)), [])
    return []
