"""A region's host program: loops, guards and launches around its kernels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import islpy as isl

from polygpu.analysis.polyhedra import Polyhedra
from polygpu.lower.buffers import Layout
from polygpu.lower.checked_scan import scan
from polygpu.lower.kernels import lower
from polygpu.lower.scan import Scan, ScanBlock, ScanFor, ScanIf, ScanLeaf, test_of
from polygpu.mapping.map import map_nest, member_name
from polygpu.mapping.program import Fixed, Grid
from polygpu.mapping.wanted import RefusedError, Wanted, wanted
from polygpu.model.decisions import Decision
from polygpu.model.device import Device
from polygpu.model.expr import Expr, Name, Unary
from polygpu.model.kernel import (
    HostFor,
    HostIf,
    HostStatement,
    Kernel,
    Launch,
    Region,
    ScalarArgument,
    Site,
)
from polygpu.model.linear import simplify
from polygpu.model.rewrite import substitute
from polygpu.schedule.tree import Host, HostLoop, HostSequence, Nest
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.isl_idioms import D, bounded, bounded_hull, coalesced, hurried, identifier

_STEPS = 3_000_000  # of isl, for any part of a region; the largest kernels known take 0.3 million


@dataclass
class RegionLowering:
    """Lowers a region kernel by kernel; `grids` are those of its kernels, `asked` the decisions for each.

    What a nest cannot follow of decisions for all nests is `refused` and left.
    """

    p: Polyhedra
    device: Device
    layouts: dict[str, Layout]
    decisions: tuple[Decision, ...] = ()
    care: int = 0
    grids: list[Grid] = field(default_factory=list)
    asked: list[Wanted] = field(default_factory=list)
    refused: list[RefusedError] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)

    def in_time(self, host: Host, seconds: float) -> Region | None:
        """The region, or None where isl takes too long for its code, or for a part of it."""
        try:
            with hurried(seconds), bounded(_STEPS):
                return self.region(host)
        except isl.Error:
            return None

    def region(self, host: Host) -> Region:
        body = self._host(host, (), self.p.context)
        scop = self.p.scop
        scalars = tuple(ScalarArgument(s.name, s.passed) for s in scop.scalars)
        buffers = tuple(layout.buffer for layout in self.layouts.values())
        return Region(
            scop.name,
            scalars,
            buffers,
            tuple(self.kernels),
            body,
            _sites(self.p),
            scop.functions,
            scop.position,
        )

    def _host(self, host: Host, outer: tuple[Fixed, ...], context: isl.Set) -> tuple[HostStatement, ...]:
        match host:
            case Nest():
                return self._launch(host, outer, context)
            case HostSequence(children):
                return tuple(s for c in children for s in self._host(c, outer, context))
            case HostLoop():
                return self._loop(host, outer, context)

    def _loop(self, loop: HostLoop, outer: tuple[Fixed, ...], context: isl.Set) -> tuple[HostStatement, ...]:
        taken = {f.name for f in outer} | self.p.names()
        name = member_name(self.p, loop.member, f"c{len(outer)}", taken)
        fixed = Fixed(loop.member, name)
        values = self._values(loop, outer)
        tree = scan(
            isl.UnionMap.from_map(values.set_tuple_name("value").identity().reset_tuple_id(isl.dim_type.out)),
            context,
            (name,),
        )
        inside = self._host(loop.child, (*outer, fixed), context.intersect(_as_parameter(values, name)))
        return _emit(tree, name, inside)

    def _values(self, loop: HostLoop, outer: tuple[Fixed, ...]) -> isl.Set:
        values: isl.Set | None = None
        for s in loop.member.statements:
            domain = self._domain(s, outer)
            part = domain.apply(isl.Map.from_pw_aff(loop.member.rows[s]))
            values = part if values is None else values.union(part)
        assert values is not None
        return bounded_hull(values)

    def _domain(self, statement: str, fixed: tuple[Fixed, ...]) -> isl.Set:
        domain = self.p.statement(statement).domain
        for f in fixed:
            domain = f.restrict(domain, statement)
        return domain

    def _launch(self, nest: Nest, outer: tuple[Fixed, ...], context: isl.Set) -> tuple[HostStatement, ...]:
        name = f"{self.p.scop.name.removeprefix('polygpu_')}_k{len(self.kernels)}"
        grid, kernel, launch = self._kernel(nest, outer, name)
        self.grids.append(grid)
        self.kernels.append(kernel)
        exists: isl.Set | None = None
        for s in nest.statements:
            part = grid.domain(s).params()
            exists = part if exists is None else exists.union(part)
        assert exists is not None
        test = test_of(coalesced(exists), context)
        return (HostIf(test, (launch,)),) if test is not None else (launch,)

    def _kernel(self, nest: Nest, outer: tuple[Fixed, ...], name: str) -> tuple[Grid, Kernel, Launch]:
        """As decisions say, as far as the nest can follow those that are for all nests."""
        asked = wanted(self.p, nest, self.decisions, self.care)
        while True:
            try:
                grid = map_nest(self.p, nest, outer, self.device, asked)
                kernel, launch = self._lowered(grid, asked, name)
                kernel = replace(kernel, registers=self._registers(asked))
            except RefusedError as problem:
                if problem.decision.place is not None:
                    raise
                self.refused.append(problem)
                asked = asked.without(problem.decision)
                continue
            self.asked.append(asked)
            return grid, kernel, launch

    def _lowered(self, grid: Grid, asked: Wanted, name: str) -> tuple[Kernel, Launch]:
        """Raises RefusedError where loops cannot be unrolled as is asked for."""
        try:
            return lower(grid, self.layouts, name)
        except Diagnosed as problem:
            decision = asked.find("unroll")
            if decision is None:
                raise
            raise RefusedError(decision, *problem.diagnostics) from None

    def _registers(self, asked: Wanted) -> int:
        """The registers of a thread that are asked for. Raises RefusedError where the device has fewer."""
        decision, most = asked.find("registers"), self.device.max_registers_per_thread
        count = decision.value if decision is not None else 0
        if not isinstance(count, int):
            return 0
        if count > most:
            assert decision is not None
            why = f"{self.device.title} has {most} registers a thread"
            raise asked.refused(decision, "PG304", why, "ask for fewer registers")
        return count


def _as_parameter(values: isl.Set, name: str) -> isl.Set:
    """What holds of the parameters and of `name` when `name` is one of `values`."""
    moved = values.move_dims(D.param, values.dim(D.param), D.set, 0, 1)
    return moved.set_dim_id(D.param, moved.dim(D.param) - 1, identifier(name)).params()


def _emit(tree: Scan, name: str, inside: tuple[HostStatement, ...]) -> tuple[HostStatement, ...]:
    match tree:
        case ScanBlock(children):
            return tuple(s for c in children for s in _emit(c, name, inside))
        case ScanFor(index, lower, upper, step, body):
            return (HostFor(index, lower, upper, step, _emit(body, name, inside)),)
        case ScanIf(test, then, otherwise):
            yes = HostIf(test, _emit(then, name, inside))
            if otherwise is None:
                return (yes,)
            return yes, HostIf(Unary("!", test), _emit(otherwise, name, inside))
        case ScanLeaf(_, (value,)):
            return inside if value == Name(name) else tuple(_replace(s, name, value) for s in inside)
    raise AssertionError("a host loop scans one dimension")


def _replace(s: HostStatement, name: str, value: Expr) -> HostStatement:
    """`s` with the loop index `name`, which has a single value, replaced by it."""

    def put(e: Expr) -> Expr:
        return simplify(substitute(e, {name: value}))

    match s:
        case HostFor(index, lower, upper, step, body):
            return HostFor(index, put(lower), put(upper), step, tuple(_replace(b, name, value) for b in body))
        case HostIf(test, body):
            return HostIf(put(test), tuple(_replace(b, name, value) for b in body))
        case Launch(kernel, (x, y, z), scalars):
            return Launch(
                kernel, (put(x), put(y), put(z)), tuple(substitute(e, {name: value}) for e in scalars)
            )


def _sites(p: Polyhedra) -> tuple[Site, ...]:
    found: dict[int, Site] = {}
    for s in p.statements:
        for a in s.accesses:
            found[a.reference.site] = Site(a.reference.site, a.reference.array, a.text, a.write, a.position)
    return tuple(found[n] for n in sorted(found))
