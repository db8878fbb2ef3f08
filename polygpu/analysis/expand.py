"""Expansion of temporaries: a scalar or small array gets a dimension for each loop its values stay within.

    before:  for i for j { w = a[i][j]; b[i][j] = w * w; }          w serialises both loops
    after:   for i for j { w[i][j] = a[i][j]; b[i][j] = w[i][j] * w[i][j]; }

Values, not names, decide: accesses of a temporary that exchange values form a web (Feautrier's array
expansion, restricted to whole loops), each web becomes an array of its own, and a loop becomes a dimension
of it when every read of the web gets its value from the same iteration of that loop.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

import islpy as isl

from polygpu.analysis.dependences import Dependences, carried, compute
from polygpu.analysis.elements import declared
from polygpu.analysis.final_values import copy_back
from polygpu.analysis.flow import conflicts, dataflow
from polygpu.analysis.old_values import free_name
from polygpu.analysis.places import array_names, holds
from polygpu.analysis.polyhedra import PolyAccess, Polyhedra, PolyStatement, array_tuple
from polygpu.analysis.scoping import scoped
from polygpu.analysis.verdicts import ends, obstacle
from polygpu.analysis.volumes import Volume, iterations, volume
from polygpu.model.decisions import Decision, Value
from polygpu.model.expr import Expr, Int, Name, Reference
from polygpu.model.rewrite import actions, map_references
from polygpu.model.scop import Array, Repeat
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import D, empty_union_map, maps, tuple_name, union_of
from polygpu.support.recent import Recent, Same

_ROOM = Volume(known=1 << 25)  # elements that temporaries may take on any device

Wish: TypeAlias = tuple[Decision, Value] | None
Node = tuple[str, bool]  # statement, is it its write


@dataclass(frozen=True)
class Expansion:
    """One web of temporary `array`, called `renamed`, with a dimension for each of the loops `levels`.

    Levels count the loops around the web's statements from the outermost, which is 0.
    """

    array: str
    renamed: str
    levels: tuple[int, ...]
    nodes: frozenset[Node]

    @property
    def depth(self) -> int:
        return len(self.levels)


def expand(
    p: Polyhedra, d: Dependences, generous: bool = False, decisions: Sequence[Decision] = ()
) -> tuple[Polyhedra, tuple[Expansion, ...]]:
    """`p` with its temporaries expanded, as `decisions` say or else as follows, and what was done.

    A loop that carries a dependence of other arrays is left out of an expansion, unless `generous`: then
    temporaries grow by it too, as far as the largest of the region's arrays has room for, or 256 MB of
    doubles, which lets a schedule skew the loop, or run what stays within its iterations apart; and values
    of an array that is live afterwards become one array, however many webs they are.

    Raises Diagnosed for a decision that is not possible.
    """
    most = max((volume(a) for a in p.arrays), default=Volume())
    room = max(most, _ROOM) if generous else None
    candidates = {a.name: found for a in p.arrays if (found := _expansions_of(p, d, a.name))}
    sequential = _sequential_loops(p, d, frozenset(n for n, found in candidates.items() if _grows(found)))
    done: list[Expansion] = []
    copies: list[PolyStatement] = []
    for array in p.arrays:
        mine = candidates.get(array.name, [])
        asked = [_decided(p, d, e, decisions) for e in mine]
        found = [a or _useful(p, array, e, sequential, room) for a, e in zip(asked, mine, strict=True)]
        if array.live_out:
            # a structure's members are written one by one: there is no last write of an element
            if generous and len(found) > 1 and not any(asked):
                found = [_together(p, d, found)]
            found = [] if array.structure else _with_final_values(p, array, found, room or most, copies)
        _check_done(p, array.name, decisions, found, [a for a in asked if a is not None])
        done.extend(found)
    done = [e for e in done if e.depth > 0 or e.renamed != e.array]
    for expansion in done:
        p = _apply(p, expansion)
    return replace(p, statements=(*p.statements, *copies)), tuple(done)


def decided_for(p: Polyhedra, e: Expansion, decisions: Sequence[Decision]) -> Wish:
    """The last decision for a web, and its value: by the web's own name, or by the array's at its places."""
    names = {e.array} | {name for _, a in p.accesses_of(e.array) for name in array_names(a)}
    own = {e.renamed} | (names if e.renamed == e.array else set())
    found: Wish = None
    for d in decisions:
        region = d.place is None or any(holds(d.place, p, s.name) for s in p.statements)
        here = d.place is None or any(holds(d.place, p, s) for s, _ in e.nodes)
        for name, value in d.items:
            if (name in own and region) or (name in names and here):
                found = d, value
    return found


def whole(p: Polyhedra, array: str) -> Expansion:
    """All accesses of an array as one web that is not expanded."""
    return Expansion(array, array, (), frozenset((s.name, a.write) for s, a in p.accesses_of(array)))


def _decided(p: Polyhedra, d: Dependences, e: Expansion, decisions: Sequence[Decision]) -> Expansion | None:
    """`e` by the loops that a decision names; None where there is none."""
    asked = decided_for(p, e, decisions)
    if asked is None or asked[1] is None:
        return e if asked is not None else None
    decision, value = asked
    wanted = str(value).split() if value != "none" else []
    loops = loops_of(p, e)
    for name in wanted:
        if name not in (loops[k] for k in e.levels):
            raise _impossible(p, d, e, decision, name)
    return replace(e, levels=tuple(k for k in e.levels if loops[k] in wanted))


def loops_of(p: Polyhedra, e: Expansion) -> list[str]:
    """What the source calls the loops around a web's statements."""
    sources = p.source_names()
    return [sources.get(i, i) for i in p.statement(min(name for name, _ in e.nodes)).iterators]


def _impossible(p: Polyhedra, d: Dependences, e: Expansion, decision: Decision, name: str) -> Diagnosed:
    """Why a web cannot be expanded by a loop."""
    loops = loops_of(p, e)
    stay = ", ".join(loops[k] for k in e.levels)
    advice = f"its values stay within iterations of {stay}" if stay else "leave it out of the decision"
    pairs = empty_union_map()
    flow = [m for m in _flow_of(p, p.accesses_of(e.array), d) if (tuple_name(m, D.in_), True) in e.nodes]
    for m in flow if name in loops else ():
        k = loops.index(name)
        if k < min(m.dim(D.in_), m.dim(D.out)):
            pairs = pairs.union(isl.UnionMap.from_map(m.subtract(m.equate(D.in_, k, D.out, k))))
    found = obstacle(p, replace(d, flow=union_of(flow)), pairs, f"in another iteration of {name}")
    why = found.why if found is not None else f"'{name}' is not around all that uses '{e.array}'"
    return _refused(p, e.array, decision, why, advice, ends(found))


def _check_done(
    p: Polyhedra, array: str, decisions: Sequence[Decision], found: list[Expansion], asked: list[Expansion]
) -> None:
    """Raises Diagnosed where an array is not expanded as a decision has it."""
    decision = decided_for(p, whole(p, array), decisions)
    if decision is None or decision[1] in (None, "none"):
        return
    why = "it is no temporary: values are read that come from outside of the region" if not asked else ""
    if not p.accesses_of(array):
        why = "no statement that matters uses it"
    if any(e.levels not in [f.levels for f in found] for e in asked if e.depth):
        why = "its last values cannot be copied back from there"
    if why:
        raise _refused(p, array, decision[0], why, "leave it out of the decision")


def _refused(
    p: Polyhedra, array: str, decision: Decision, why: str, advice: str, notes: tuple[Diagnostic, ...] = ()
) -> Diagnosed:
    position = next((a.position for _, a in p.accesses_of(array)), p.scop.position)
    return Diagnosed(Diagnostic("PG304", "error", f"'{decision}': {why}", position, advice, notes))


def _grows(found: list[Expansion]) -> bool:
    return any(e.depth for e in found)


def _sequential_loops(p: Polyhedra, d: Dependences, arrays: frozenset[str]) -> frozenset[int]:
    """The source loops that carry a dependence other than the re-use of `arrays`' elements."""
    if not arrays:
        return frozenset()
    others = compute(_without(p, arrays)).memory
    found: set[int] = set()
    for relation in (*maps(d.flow), *maps(others)):
        source, target = p.statement(tuple_name(relation, D.in_)), p.statement(tuple_name(relation, D.out))
        for level, (loop, same) in enumerate(zip(source.loops, target.loops, strict=False)):
            if loop != same:
                break
            if loop not in found and not carried(relation, level).is_empty():
                found.add(loop)
    return frozenset(found)


def _without(p: Polyhedra, arrays: frozenset[str]) -> Polyhedra:
    statements = tuple(
        replace(s, accesses=tuple(a for a in s.accesses if a.reference.array not in arrays))
        for s in p.statements
    )
    return replace(p, statements=statements)


def _useful(
    p: Polyhedra, array: Array, e: Expansion, sequential: frozenset[int], room: Volume | None
) -> Expansion:
    """`e` by the loops that may become parallel; a scalar by all of them where none can.

    What a scalar passes on in a sequential loop may still be computed in parallel, ahead of the loop. An
    expansion that there is `room` for stays whole. Iterations of a loop that have elements of their own need
    no more of them.
    """
    if array.extents:
        e = replace(e, levels=tuple(k for k in e.levels if _overwrites(p, e, k)))
    if not e.depth or (room is not None and _volume(p, e) <= room):
        return e
    loops = p.statement(min(name for name, _ in e.nodes)).loops
    levels = tuple(k for k in e.levels if loops[k] not in sequential)
    return e if not levels and not array.extents else replace(e, levels=levels)


def _with_final_values(
    p: Polyhedra, array: Array, found: list[Expansion], room: Volume, copies: list[PolyStatement]
) -> list[Expansion]:
    """The expansion of an array that is live afterwards, if a copy of its last values can be made.

    It is by the loops that overwrite elements, as far as there is `room`: what is copied is in memory as a
    whole.
    """
    if len(found) != 1 or found[0].depth == 0 or len(p.statements) == 1:
        return []
    renamed = f"{array.name}_all"
    large = replace(found[0], renamed=renamed, levels=())
    for k in (k for k in found[0].levels if _overwrites(p, found[0], k)):
        larger = replace(large, levels=(*large.levels, k))
        large = larger if _volume(p, larger) <= room else large
    if any(a.name == renamed for a in p.arrays) or not large.levels:
        return []
    copy = copy_back(p, array.name, renamed, large.levels)
    if copy is None:
        return []
    copies.append(copy)
    return [large]


def _volume(p: Polyhedra, e: Expansion) -> Volume:
    """The memory that an expansion takes: of what the web spreads over, and an element where it does not."""
    statements = sorted({name for name, _ in e.nodes})
    extents, spread = p.array(e.array).extents, _spread(p, e)
    elements = Volume().times(extent for k, extent in enumerate(extents) if k in spread)
    return elements.times(iterations(p, statements, k) for k in e.levels)


def _spread(p: Polyhedra, e: Expansion) -> frozenset[int]:
    """The subscripts that take more than one value in the web."""
    touched = zip(*(_constants(a.relation) for _, a in _members(p, e)), strict=True)
    return frozenset(k for k, values in enumerate(touched) if None in values or len({*values}) > 1)


def _members(p: Polyhedra, e: Expansion) -> list[tuple[PolyStatement, PolyAccess]]:
    return [(s, a) for s, a in p.accesses_of(e.array) if (s.name, a.write) in e.nodes]


def _overwrites(p: Polyhedra, e: Expansion, level: int) -> bool:
    """Whether two iterations of the loop at `level` write, or read and write, the same element."""
    for mine in _that_may_meet([a for _, a in _members(p, e)]):
        others = [a.relation.reverse() for a in mine]
        for write in (a.relation for a in mine if a.write):
            if any(not carried(write.apply_range(other), level).is_empty() for other in others):
                return True
    return False


def _that_may_meet(accesses: list[PolyAccess]) -> Iterable[list[PolyAccess]]:
    """The accesses of each member of the elements, apart where subscripts that all have fixed differ: there
    are as many pairs as accesses times accesses.
    """
    fixed = [(a, tuple_name(a.relation, D.out), _constants(a.relation)) for a in accesses]
    varying = {(name, k) for _, name, values in fixed for k, value in enumerate(values) if value is None}
    found: dict[Hashable, list[PolyAccess]] = {}
    for a, name, values in fixed:
        known = tuple(value for k, value in enumerate(values) if (name, k) not in varying)
        found.setdefault((name, known), []).append(a)
    return found.values()


_CONSTANTS: Recent[list[int | None]] = Recent(4096)  # accesses of a region, asked about for each loop


def _constants(relation: isl.Map) -> list[int | None]:
    """The value of each subscript that has one only."""
    return _CONSTANTS.get(Same(relation), lambda: _found_constants(relation.range()))


def _found_constants(elements: isl.Set) -> list[int | None]:
    values = (elements.plain_get_val_if_fixed(D.set, k) for k in range(elements.dim(D.set)))
    return [value.to_python() if value.is_int() else None for value in values]


def _only(relation: isl.Map, levels: tuple[int, ...]) -> isl.Map:
    """`relation` to statement instances, of which only dimensions `levels` are kept; without their name."""
    for k in reversed(range(relation.dim(D.out))):
        if k not in levels:
            relation = relation.project_out(D.out, k, 1)
    return relation.reset_tuple_id(D.out) if relation.has_tuple_id(D.out) else relation


def _expansions_of(p: Polyhedra, d: Dependences, name: str) -> list[Expansion]:
    accesses = p.accesses_of(name)
    sized = all(extent is not None for extent in p.array(name).extents)
    if not accesses or not (sized or all(a.affine for _, a in accesses)):
        return []  # of what data tell, any element may be touched
    if _comes_from_outside(p, d, name, {array_tuple(a.reference) for _, a in accesses}):
        return []  # a value from outside the region, or one never written: leave the memory as it is
    flow = _flow_of(p, accesses, d)
    webs = _webs(accesses, flow)
    names = [name] if len(webs) == 1 else [free_name(p, f"{name}_{k}") for k in range(len(webs))]
    return [
        Expansion(name, renamed, tuple(range(_depth(p, web, flow))), web)
        for renamed, web in zip(names, webs, strict=True)
    ]


def _comes_from_outside(p: Polyhedra, d: Dependences, name: str, tuples: set[str]) -> bool:
    """Whether an element has a value before the region that it reads; it has no elements that are read
    beyond its ends, for sizes for which nothing runs.
    """
    read = [m for m in maps(d.live_in) if tuple_name(m, D.out) in tuples]
    there = declared(p, p.array(name)) if read else None
    if there is None:
        return bool(read)
    return any(not m.reset_tuple_id(D.out).range().intersect(there).is_empty() for m in read)


def _together(p: Polyhedra, d: Dependences, webs: Sequence[Expansion]) -> Expansion:
    """All values of an array as one web."""
    one = whole(p, webs[0].array)
    depth = _depth(p, one.nodes, _flow_of(p, p.accesses_of(one.array), d))
    return replace(one, levels=tuple(range(depth)))


def _flow_of(p: Polyhedra, accesses: list[tuple[PolyStatement, PolyAccess]], d: Dependences) -> list[isl.Map]:
    """The flow dependences through this array alone, recomputed: `d` mixes all arrays."""
    own = scoped(replace(p, statements=tuple({s.name: s for s, _ in accesses}.values())))
    accesses = own.accesses_of(accesses[0][1].reference.array)
    reads = union_of([a.relation for _, a in accesses if not a.write and a.exposed])
    must = union_of([a.relation for _, a in accesses if a.write and a.must])
    may = union_of([a.relation for _, a in accesses if a.write and not a.must])
    if reads.is_empty() or must.union(may).is_empty():
        return []
    try:
        return maps(dataflow(reads, must, may, p.schedule()).dependence)
    except isl.Error:
        return maps(conflicts(must.union(may), reads, p.schedule()))


def _webs(accesses: list[tuple[PolyStatement, PolyAccess]], flow: list[isl.Map]) -> list[frozenset[Node]]:
    parent: dict[Node, Node] = {(s.name, a.write): (s.name, a.write) for s, a in accesses}

    def root(node: Node) -> Node:
        while parent[node] != node:
            node = parent[node]
        return node

    for m in flow:
        parent[root((tuple_name(m, D.in_), True))] = root((tuple_name(m, D.out), False))
    for name in _within_instances(accesses):
        parent[root((name, True))] = root((name, False))
    groups: dict[Node, list[Node]] = {}
    for node in parent:
        groups.setdefault(root(node), []).append(node)
    return [frozenset(nodes) for nodes in groups.values()]


def _within_instances(accesses: list[tuple[PolyStatement, PolyAccess]]) -> set[str]:
    """The statements that may read what the same instance has written, in a branch or in an earlier turn of a
    loop of its own: dataflow between instances does not show that.
    """
    each = {s.name: s for s, _ in accesses}.values()
    turning = {s.name for s in each if any(isinstance(a, Repeat) for a in actions(s.body))}
    written = {s.name for s, a in accesses if a.write and s.name in turning}
    found: set[str] = set()
    for s, a in accesses:  # in the order of the body, what an action reads before what it writes
        if a.write:
            written.add(s.name)
        elif s.name in written:
            found.add(s.name)
    return found


def _depth(p: Polyhedra, web: frozenset[Node], flow: list[isl.Map]) -> int:
    """How many outer loops all of the web's statements share with every value staying inside them."""
    statements = [p.statement(name) for name, _ in sorted(web)]
    common = 0
    while all(len(s.loops) > common for s in statements) and len({s.loops[common] for s in statements}) == 1:
        common += 1
    inside = [m for m in flow if (tuple_name(m, D.in_), True) in web]
    while common > 0 and not all(_stays_within(m, common) for m in inside):
        common -= 1
    return common


def _stays_within(flow: isl.Map, depth: int) -> bool:
    equal = flow
    for k in range(depth):
        equal = equal.equate(D.in_, k, D.out, k)
    return bool(flow.is_subset(equal))


def _apply(p: Polyhedra, e: Expansion) -> Polyhedra:
    statements = tuple(_expand_statement(s, e) for s in p.statements)
    old = p.array(e.array)
    # where one element is used of many, as in "x[0]", there is to be memory for one
    spread = _spread(p, e)
    shape = (x if k in spread or isinstance(x, Int) else None for k, x in enumerate(old.extents))
    extents = (*(None,) * e.depth, *shape)
    new = old.of_region(e.renamed, extents)
    arrays = [a for a in p.arrays if a.name != e.renamed]
    return replace(p, statements=statements, arrays=(*arrays, new)).without_unused(e.array)


def _expand_statement(s: PolyStatement, e: Expansion) -> PolyStatement:
    if not any(name == s.name for name, _ in e.nodes):
        return s  # the same temporary perhaps, but other values of it
    prefix: tuple[Expr, ...] = tuple(Name(s.iterators[k]) for k in e.levels)

    def renamed(reference: Reference, write: bool) -> Reference:
        if reference.array != e.array or (s.name, write) not in e.nodes:
            return reference
        return replace(reference, array=e.renamed, subscripts=prefix + reference.subscripts)

    identity = isl.Map.identity(s.domain.get_space().map_from_set()).intersect_domain(s.domain)
    relations: dict[int, isl.Map] = {}  # by identity of old ones, of which many accesses have the same

    def access(a: PolyAccess) -> PolyAccess:
        reference = renamed(a.reference, a.write)
        if reference is a.reference:
            return a
        if id(a.relation) not in relations:
            plain = a.relation.reset_tuple_id(D.out)
            relation = _only(identity, e.levels).flat_range_product(plain) if e.depth else plain
            relations[id(a.relation)] = relation.set_tuple_name(D.out, array_tuple(reference))
        return replace(a, reference=reference, relation=relations[id(a.relation)])

    return replace(s, accesses=tuple(access(a) for a in s.accesses), body=map_references(s.body, renamed))
