"""Tiles of sequential loops: so many steps of a host loop at once, first those that others wait for.

before: for k { kernel(i) A[i][k] /= A[k][k]; kernel(i, j) A[i][j] -= A[i][k] * A[k][j] }
after:  for each tile of steps k {
            one block    { for k of the tile: both statements where i and j are in the tile }
            kernel(i)    { for k of the tile: both where only j is }
            kernel(j)    { for k of the tile: the second where only i is }
            kernel(i, j) { for k of the tile: the second where neither is }
        }

An instance belongs to the element that it writes. In a tile of steps values pass from few elements to others:
those with a subscript that is in the tile itself. Elements with no such subscript wait for the others, then
each runs all steps of the tile by itself. What is left is divided again, where all but one subscript may
differ without passing values, and so on, until it fits into a block, which runs it step by step.
Where steps read what later ones of the tile store over, `analysis.step_versions` goes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, reduce
from itertools import combinations

import islpy as isl

from polygpu.analysis.dependences import Dependences
from polygpu.analysis.index_sets import cut
from polygpu.analysis.places import holds
from polygpu.analysis.polyhedra import Polyhedra, PolyStatement
from polygpu.model.decisions import Decision
from polygpu.schedule.bands import permutable
from polygpu.schedule.driver import isl_schedule
from polygpu.schedule.fusion import Scope
from polygpu.schedule.loop_names import loop_names
from polygpu.schedule.nests import form, host_sequence, nests
from polygpu.schedule.tree import (
    Band,
    Batch,
    Host,
    HostLoop,
    HostSequence,
    Leaf,
    Member,
    Nest,
    Node,
    has_zero_distance,
    members_on,
    sequence,
)
from polygpu.schedule.tree import Sequence as Series
from polygpu.schedule.tree import parts as tree_parts
from polygpu.schedule.wave_tiles import WIDTHS, can_wave, in_waves, is_front, wave_names
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, identifier, pieces, sets, union_set_of

_SECONDS = 1.0  # for isl's schedule
_MOST_SUBSCRIPTS = 3  # of the elements of a block, which has so many dimensions


@dataclass(frozen=True)
class Part:
    """Instances of a tile of steps, between whose points along the subscripts `free` no values pass."""

    free: tuple[int, ...]
    instances: Mapping[str, isl.Set]

    def inside(self, scope: Scope) -> Scope:
        """What passes between these instances."""
        mine = union_set_of(list(self.instances.values()))
        return replace(scope, dependences=scope.dependences.intersect_domain(mine).intersect_range(mine))


@dataclass(frozen=True)
class _Loop:
    """A host loop over steps, `width` of which are a tile, and the nests of a step.

    `subscripts` are those of the elements that instances write.
    """

    scope: Scope
    member: Member
    nests: Sequence[Nest]
    width: int
    subscripts: tuple[Member, ...]

    @cached_property
    def tile(self) -> Member:
        """The number of the tile that a step is in."""
        return _quotient(self.member, self.width)

    @cached_property
    def passing(self) -> Scope:
        """What passes in a tile of steps."""
        return self.scope.inside(self.tile)

    @property
    def names(self) -> tuple[str, ...]:
        return self.member.statements

    @cached_property
    def aligned(self) -> tuple[Member, ...]:
        """The subscripts, turned and moved such that those that others wait for are in the tile itself."""
        waited = self.sources(range(len(self.subscripts)), self.passing.dependences)
        return tuple(self._aligned(m, waited) for m in self.subscripts)

    def _aligned(self, member: Member, waited: isl.UnionSet) -> Member:
        for turned in (member, member.reversed()):
            known = [
                found
                for s in sets(waited)
                for part in s.get_basic_sets()
                if (found := _bounds(part, self._distance(turned, s.get_tuple_name()))) is not None
                and found[1] - found[0] < self.width
            ]
            if known:
                low, high = min(found[0] for found in known), max(found[1] for found in known)
                return turned if low >= 0 and high < self.width else _moved(turned, -low)
        return member

    def _distance(self, member: Member, statement: str) -> isl.PwAff:
        """How far behind the first step of its tile the value of a subscript is."""
        return member.rows[statement].sub(self.tile.rows[statement].scale_val(isl.Val(self.width)))

    def sources(self, free: Iterable[int], dependences: isl.UnionMap) -> isl.UnionSet:
        """The instances from which values pass to others of which some of the subscripts `free` differ."""
        found = isl.UnionSet("{ }")
        for k in free:
            function = self.subscripts[k].function()
            before = dependences.lex_lt_at_multi_union_pw_aff(function)
            found = found.union(before.domain())
            found = found.union(dependences.lex_gt_at_multi_union_pw_aff(function).domain())
        return found

    def within(self, k: int) -> isl.UnionSet:
        """The instances with subscript `k` in their tile of steps."""
        return union_set_of([self._within(self.aligned[k], self.scope.statements[s]) for s in self.names])

    def _within(self, member: Member, s: PolyStatement) -> isl.Set:
        """Only with the bounds that do not hold anyhow: of both isl makes other floors."""
        behind = self._distance(member, s.name)
        bounds = behind.nonneg_set(), behind.sub(behind).add_constant_val(isl.Val(self.width)).gt_set(behind)
        return reduce(isl.Set.intersect, (b for b in bounds if not s.domain.is_subset(b)), s.domain)

    def parts(self) -> list[Part] | None:
        """The parts of a tile in order; None where none can wait for all others, or one is too large."""
        left = union_set_of([self.scope.statements[s].domain for s in self.names])
        found: list[Part] = []
        for count in range(len(self.subscripts), 0, -1):
            for free in combinations(range(len(self.subscripts)), count):
                last = self._last(left, free)
                if last is not None:
                    found.append(_part(free, last))
                    left = left.subtract(last).coalesce()
            if not found:
                return None
        if not self._fits(left, ()):
            return None
        return [part for part in (_part((), left), *reversed(found)) if part.instances]

    def _last(self, left: isl.UnionSet, free: tuple[int, ...]) -> isl.UnionSet | None:
        """Of what is `left` that which can wait for all the rest, and passes no values along `free`."""
        dependences = self.passing.dependences.intersect_domain(left).intersect_range(left)
        waited = self.sources(free, dependences)
        for count in range(len(free) + 1):
            for some in combinations(free, count):
                near = reduce(isl.UnionSet.union, map(self.within, some), isl.UnionSet("{ }"))
                if waited.is_subset(near):
                    last = left.subtract(near).coalesce()
                    return last if not last.is_empty() and self._fits(last, free) else None
        return None

    def _fits(self, instances: isl.UnionSet, free: tuple[int, ...]) -> bool:
        """Whether all other subscripts are in the tile."""
        others = (k for k in range(len(self.subscripts)) if k not in free)
        return all(instances.is_subset(self.within(k)) for k in others)

    def host(self, parts: Sequence[Part], rows: _Rows) -> Host:
        """The tiles, with the statements that parts have become."""
        made = [nest for number, part in enumerate(parts) for nest in self._nests(number, part, rows)]
        return HostLoop(rows.of_all(self.tile), host_sequence(made))

    def _nests(self, number: int, part: Part, rows: _Rows) -> Iterator[Host]:
        for names in self._together(part):
            mine = {s: rows.pieces[s, number] for s in names}
            phases = [node for nest in self.nests if (node := _renamed(nest.body, mine)) is not None]
            points = [rows.of(m, mine) for m in self.aligned]
            free = [points[k] for k in part.free]
            if len(free) < len(points):
                whole = {new: old for old, new in mine.items()}
                groups = self._groups(part, tree_parts(sequence(phases)), whole)
                meets = tuple(node is group[0] for group in groups for node in group)
                loop = self._steps(mine, rows, (node for group in groups for node in group))
                yield Nest(tuple(free), loop, batch=Batch(tuple(points), self.width, meets))
            else:
                yield Nest(_different(free), self._steps(mine, rows, phases))

    def _steps(self, names: Mapping[str, str], rows: _Rows, phases: Iterable[Node]) -> Band:
        return Band((rows.of(self.member, names),), False, sequence(phases))

    def _groups(self, part: Part, phases: Sequence[Node], whole: Mapping[str, str]) -> list[list[Node]]:
        """The phases of a step in few groups, before each of which threads wait for each other.

        Each element is one thread's, so that it does not wait for what it did to this itself.
        """
        step = part.inside(self.scope.inside(self.member))
        others = self._of_others(step)
        of = {k: {whole[s] for s in phase.statements} for k, phase in enumerate(phases)}
        after = {k: {j for j in of if j != k and step.follows(of[j], of[k])} for k in of}
        waits = {k: {j for j in after[k] if others.follows(of[j], of[k])} for k in of}
        done: list[list[int]] = [[]]
        while len(left := [k for k in of if not any(k in group for group in done)]) > 0:
            before = {k for group in done[:-1] for k in group}
            ready = (k for k in left if after[k] <= before | {*done[-1]} and waits[k] <= before)
            found = next(ready, None)
            done = [*done[:-1], [*done[-1], found]] if found is not None else [*done, []]
        return [[phases[k] for k in group] for group in done]

    def _of_others(self, scope: Scope) -> Scope:
        """The dependences between elements that differ."""
        own = reduce(lambda pairs, m: m.at_one_value(pairs), self.subscripts, scope.dependences)
        return replace(scope, dependences=scope.dependences.subtract(own))

    def _together(self, part: Part) -> list[set[str]]:
        """The statements of a part, those between which values pass together."""
        found: list[set[str]] = []
        scope = part.inside(self.passing)
        for name in self.names:
            if name in part.instances:
                mine = [g for g in found if scope.follows(g, [name]) or scope.follows([name], g)]
                found = [*(g for g in found if g not in mine), {name}.union(*mine)]
        return found


@dataclass(frozen=True)
class _Rows:
    """Rows of the schedule for pieces: `pieces` are named by what they are of and the number of the part."""

    pieces: Mapping[tuple[str, int], str]

    def of(self, member: Member, names: Mapping[str, str]) -> Member:
        return Member({new: _of_piece(member.rows[old], new) for old, new in names.items()})

    def of_all(self, member: Member) -> Member:
        mine = {old: [new for (name, _), new in self.pieces.items() if name == old] for old in member.rows}
        rows = ((new, old) for old in member.rows for new in mine[old] or [old])
        return Member({new: _of_piece(member.rows[old], new) for new, old in rows})


@dataclass
class StepTiles:
    """A region in the course of its host loops getting tiles of steps, of `width` where decisions are silent.

    `solved` are statements whose loops may be others than isl's schedule has.

    `tiled` are the loops of statements in tiles, and their widths; `whole` are the statements that these
    are pieces of. `waves` has the widths of the tiles that run in waves, by loops. `followed` are the
    decisions that a loop follows.
    """

    p: Polyhedra
    d: Dependences
    width: int
    decisions: Sequence[Decision] = ()
    solved: frozenset[str] = frozenset()
    tiled: dict[str, tuple[Member, int]] = field(default_factory=dict)
    waves: dict[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    followed: set[Decision] = field(default_factory=set)

    def host(self, host: Host) -> Host:
        """`host` with tiles of steps wherever they are possible, outside first; itself where nowhere."""
        return self._host(host, Scope({s.name: s for s in self.p.statements}, self.d.all))

    def _asked(self, member: Member) -> list[tuple[int, Decision]]:
        """The steps of a tile that decisions want of a loop, the one that counts last."""
        names = loop_names(self.p, member)
        return [
            (value, d)
            for d in self.decisions
            if d.key == "batch" and self._is_about(d, member.statements)
            for name, value in d.items
            if name in names and isinstance(value, int)
        ]

    def _host(self, host: Host, scope: Scope) -> Host:
        match host:
            case Nest():
                return host
            case HostSequence(children):
                made = [self._host(child, scope) for child in children]
                same = all(a is b for a, b in zip(made, children, strict=True))
                return host if same else host_sequence(made)
            case HostLoop(member, child):
                tiled = self._tiled(host, scope) or self._tiled_otherwise(host, scope)
                tiled = tiled or self._in_waves(host, scope)
                if tiled is not None:
                    return tiled
                before = {s.name for s in self.p.statements}
                inner = self._host(child, scope.inside(member))
                return host if inner is child else HostLoop(self._outer(member, before), inner)

    def _tiled_otherwise(self, host: HostLoop, scope: Scope) -> Host | None:
        """The loop by isl's schedule, which is less parallel than the one there is and has tiles."""
        names = host.member.statements
        if self.width < 2 or not any(self.solved & {*nest.statements} for nest in nests(host)):
            return None
        inside = scope.between(names, names)
        other = form(isl_schedule(self.p, names, inside, _SECONDS)[0], scope)
        return self._tiled(other, scope) if isinstance(other, HostLoop) else None

    def _in_waves(self, host: HostLoop, scope: Scope) -> Host | None:
        """The loop over fronts as one over waves of tiles, of points that are single instances."""
        names = host.member.statements
        asked = [d for d in self.decisions if d.key == "wave" and self._is_about(d, names)]
        if not is_front(host.member) or not (self.width > 1 or asked):
            return None
        domain, inside = (
            union_set_of([scope.statements[s].domain for s in names]),
            scope.between(names, names),
        )
        try:
            band = permutable(domain, self.p.context, inside, _SECONDS)
        except (isl.Error, TimeoutError):
            return None
        if not isinstance(band, Band) or not can_wave(band):
            return None
        loops = wave_names(self.p, band)
        widths = dict(zip(loops, WIDTHS[len(loops)] if self.width > 1 else (1,) * len(loops), strict=True))
        for d in asked:
            wanted = {name: value for name, value in d.items if name in widths and isinstance(value, int)}
            widths |= wanted
            self.followed |= {d} if wanted else set()
        self.waves |= dict.fromkeys(names, tuple(widths.items()))
        if set(widths.values()) == {1}:
            return None
        self.whole |= {*names}
        return in_waves(band, [*widths.values()])

    def _is_about(self, d: Decision, names: Iterable[str]) -> bool:
        return d.place is None or any(holds(replace(d.place, number=0), self.p, s) for s in names)

    def _outer(self, member: Member, before: set[str]) -> Member:
        """The loop around statements of which some are in pieces now."""
        rows = dict(member.rows)
        for s in self.p.statements:
            if s.name not in before and (old := s.name.rpartition("_")[0]) in member.rows:
                rows[s.name] = _of_piece(member.rows[old], s.name)
        left = {s.name for s in self.p.statements}
        return Member({name: row for name, row in rows.items() if name in left})

    def _tiled(self, host: HostLoop, scope: Scope) -> Host | None:
        asked = self._asked(host.member)
        width = asked[-1][0] if asked else self.width
        followed = {d for value, d in asked if value == width}
        self.followed |= followed if width == 1 else set()
        steps = [host.child] if isinstance(host.child, Nest) else getattr(host.child, "children", ())
        if width < 2 or not steps or not all(isinstance(nest, Nest) for nest in steps):
            return None
        loop = _loop(scope, host.member, steps, width)
        parts = loop.parts() if loop is not None else None
        if loop is None or parts is None:
            return None
        pieces: dict[tuple[str, int], str] = {}
        divided: dict[str, list[isl.Set]] = {}
        for name in loop.names:
            mine = [(k, part.instances[name]) for k, part in enumerate(parts) if name in part.instances]
            if len(mine) > 1:
                divided[name] = [instances for _, instances in mine]
            for number, (k, _) in enumerate(mine):
                pieces[name, k] = f"{name}_{number}" if len(mine) > 1 else name
        self.p, self.d = cut(self.p, self.d, divided)
        rows = _Rows(pieces)
        member = rows.of_all(loop.member)
        self.whole |= {*loop.names}
        self.followed |= followed
        self.tiled |= dict.fromkeys(member.statements, (member, width))
        return loop.host(parts, rows)


def _loop(scope: Scope, member: Member, steps: Sequence[Nest], width: int) -> _Loop | None:
    """The loop, where each instance writes one element, at so many subscripts as all others, and these, the
    step and the loops of a thread tell instances apart.
    """
    names = member.statements
    written = {s: _written(scope.statements[s]) for s in names}
    ranks = {len(found) for found in written.values()}
    if len(ranks) != 1 or not 0 < max(ranks) <= _MOST_SUBSCRIPTS or any(nest.shared for nest in steps):
        return None
    subscripts = tuple(Member({s: written[s][k] for s in names}) for k in range(ranks.pop()))
    for phase in (phase for nest in steps for phase in tree_parts(nest.body)):
        apart = scope.inside(member).between(phase.statements, phase.statements)
        if not all(has_zero_distance(apart, m, m) for m in subscripts):
            return None
        for s in phase.statements:
            rows = [member, *subscripts, *scope.around, *members_on(phase, s)]
            place = reduce(isl.Map.flat_range_product, (isl.Map.from_pw_aff(m.rows[s]) for m in rows))
            if not place.intersect_domain(scope.statements[s].domain).is_injective():
                return None
    return _Loop(scope, member, steps, width, subscripts)


def _written(s: PolyStatement) -> list[isl.PwAff]:
    """The subscripts of the element that an instance writes; none where that is none, or not just one."""
    written = [a for a in s.accesses if a.write]
    if len(written) != 1 or not written[0].affine or written[0].reference.field:
        return []
    function = isl.PwMultiAff.from_map(written[0].relation)
    if not written[0].relation.is_single_valued() or function.n_piece() != 1:
        return []
    return [isl.PwAff.from_aff(pieces(function.get_pw_aff(k))[0][1]) for k in range(function.dim(D.out))]


def _different(members: Sequence[Member]) -> tuple[Member, ...]:
    """Those that are no copies of others."""
    found: list[Member] = []
    for m in members:
        if not any(all(m.rows[s].plain_is_equal(other.rows[s]) for s in m.rows) for other in found):
            found.append(m)
    return tuple(found)


def _part(free: tuple[int, ...], instances: isl.UnionSet) -> Part:
    return Part(free, {s.get_tuple_name(): s for s in sets(instances.coalesce()) if not s.is_empty()})


def _renamed(node: Node, names: Mapping[str, str]) -> Node | None:
    """What of a body the statements `names` run, under new names."""
    match node:
        case Leaf((name,)):
            return Leaf((names[name],)) if name in names else None
        case Band(members, permutable, child):
            inner = _renamed(child, names)
            mine = {old: new for old, new in names.items() if old in node.statements}
            rows = (Member({new: _of_piece(m.rows[old], new) for old, new in mine.items()}) for m in members)
            return Band(tuple(rows), permutable, inner) if inner is not None else None
        case Series(children):
            found = [inner for child in children if (inner := _renamed(child, names)) is not None]
            return sequence(found) if found else None
    return None


def _of_piece(row: isl.PwAff, name: str) -> isl.PwAff:
    return row.set_tuple_id(D.in_, identifier(name))


def _quotient(member: Member, width: int) -> Member:
    return Member({s: row.scale_down_val(isl.Val(width)).floor() for s, row in member.rows.items()})


def _moved(member: Member, distance: int) -> Member:
    return Member({s: row.add_constant_val(isl.Val(distance)) for s, row in member.rows.items()})


def _bounds(part: isl.BasicSet, distance: isl.PwAff) -> tuple[int, int] | None:
    """The least and the most of a function on a set; None where it has none."""
    values = isl.Set.from_basic_set(part).apply(isl.Map.from_pw_aff(distance))
    low, high = values.dim_min_val(0), values.dim_max_val(0)
    return (low.to_python(), high.to_python()) if low.is_int() and high.is_int() else None
