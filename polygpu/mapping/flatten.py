"""Subtrees of a nest as schedule maps, the form isl's AST generator and dataflow analysis take."""

from __future__ import annotations

import islpy as isl

from polygpu.mapping.fixed import Fixed
from polygpu.mapping.program import Grid
from polygpu.schedule.tree import Band, Leaf, Node, Sequence
from polygpu.support.isl_idioms import D, single_space, union_of

Entry = isl.PwAff | int


def entries(node: Node, statement: str) -> list[Entry]:
    """The schedule dimensions of `statement` below `node`: rows, and positions in sequences."""
    match node:
        case Leaf():
            return []
        case Band(members, _, child):
            return [*(m.rows[statement] for m in members), *entries(child, statement)]
        case Sequence(children):
            position = next(k for k, c in enumerate(children) if statement in c.statements)
            return [position, *entries(children[position], statement)]


def flatten(
    m: Grid,
    node: Node,
    fixed: tuple[Fixed, ...] = (),
    with_points: bool = False,
    only: tuple[str, ...] | None = None,
    shift: tuple[Fixed, ...] = (),
) -> isl.UnionMap:
    """The schedule of `node` on the instances that `fixed` leaves, all maps to one space.

    `with_points` puts the parallel dimensions first. Rows of members of `shift` count from their values.
    """
    names = only if only is not None else node.statements
    lines = {s: _entries(m, node, s, with_points, shift) for s in names}
    length = max(len(e) for e in lines.values()) or 1
    return union_of([_map(m.domain(s, fixed), lines[s], length) for s in names])


def _entries(m: Grid, node: Node, statement: str, with_points: bool, shift: tuple[Fixed, ...]) -> list[Entry]:
    found = entries(node, statement)
    for step in reversed(shift):  # the innermost tile counts
        row = step.member.rows.get(statement)
        found = [_shifted(row, step.name) if e is row and row is not None else e for e in found]
    return [*(a.member.rows[statement] for a in m.axes), *found] if with_points else found


def _shifted(row: isl.PwAff, name: str) -> isl.PwAff:
    space = row.get_domain_space()
    space = single_space(space, name)
    position = space.find_dim_by_name(D.param, name)
    value = isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), D.param, position)
    return row.sub(isl.PwAff.from_aff(value))


def _map(domain: isl.Set, line: list[Entry], length: int) -> isl.Map:
    local = isl.LocalSpace.from_space(domain.get_space())
    result: isl.Map | None = None
    for entry in [*line, *([0] * (length - len(line)))]:
        if isinstance(entry, int):
            constant = isl.Aff.zero_on_domain(local).set_constant_val(isl.Val(entry))
            part = isl.Map.from_aff(constant)
        else:
            part = isl.Map.from_pw_aff(entry)
        result = part if result is None else result.flat_range_product(part)
    assert result is not None
    return result.intersect_domain(domain)
