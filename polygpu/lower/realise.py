"""A prepared region for a device, as decisions say: map -> lower -> pad. Prepared once, realised often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from math import inf

import islpy as isl

from polygpu.analysis.conditions import Condition
from polygpu.analysis.dependences import Dependences
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.lower.buffers import Layout, layouts
from polygpu.lower.fitting import Fitting, FittingTests
from polygpu.lower.intricate import is_intricate
from polygpu.lower.region import RECENT, RegionLowering
from polygpu.lower.runs import EndlessError
from polygpu.mapping import time_tiles
from polygpu.mapping.check import check_program
from polygpu.mapping.fixed import Fixed
from polygpu.mapping.map import map_host, map_nest
from polygpu.mapping.padding import Padded, pad
from polygpu.mapping.program import Grid, Program
from polygpu.mapping.record import asked_padding, check_padding, taken
from polygpu.mapping.rules import batch_width
from polygpu.mapping.wanted import RefusedError, Wanted, is_exact, wanted
from polygpu.model.decisions import KERNELS, OF_ONE_THREAD, VALUES, Decision, Taken
from polygpu.model.device import Device
from polygpu.model.expr import SIZES, Expr, is_floating
from polygpu.model.kernel import Kernel, Region
from polygpu.model.scop import Scop
from polygpu.schedule.coordinates import coordinate_tests
from polygpu.schedule.prepare import Prepared
from polygpu.schedule.time_tiles import never
from polygpu.schedule.tree import Nest
from polygpu.support.child import patience
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import STEPS_A_SECOND, bounded, hurried, steps
from polygpu.support.passes import Passes
from polygpu.support.recent import Recent, Same, parts

_NO_CODE = "PG314"
_OTHERS = frozenset({"ahead", "batch", "share", "steps", "wave"})  # what makes other orders of a region
_UNSHARED = 3  # the level of care from which each sum is one thread's
_IN_SOURCE_ORDER = 4  # and that from which the order is the source's
_STEPS = 100_000_000  # of isl, for a region; the largest kernels known take some million


@dataclass(frozen=True)
class CompiledRegion:
    """One region after all passes: what reports, verification and search look at.

    `asked` are the decisions for each kernel, `refused` those for many nests that single ones cannot follow,
    `chosen` those that the model took. Where `gain` does not hold at run time, the original loops are faster;
    None: they are taken not to be.
    """

    prepared: Prepared
    program: Program
    asked: tuple[Wanted, ...]
    refused: tuple[RefusedError, ...]
    padded: tuple[Padded, ...]
    region: Region
    conditions: tuple[Condition, ...]
    gain: Expr | None = None
    chosen: frozenset[Decision] = frozenset()

    @property
    def scop(self) -> Scop:
        return self.prepared.scop

    @property
    def polyhedra(self) -> Polyhedra:
        return self.prepared.polyhedra

    @property
    def dependences(self) -> Dependences:
        return self.prepared.dependences

    @property
    def grids(self) -> tuple[Grid, ...]:
        return self.program.grids

    @property
    def reordered(self) -> frozenset[str]:
        """The floating-point types of what threads add up in another order than the source."""
        names = {r.array.array for grid in self.grids for r in grid.reductions}
        return frozenset(t for name in names if is_floating(t := self.polyhedra.array(name).element))

    @property
    def policies(self) -> frozenset[str]:
        """Those of the tensor cores that compute products."""
        return frozenset(grid.fragments for grid in self.grids if grid.fragments)

    @cached_property
    def taken(self) -> tuple[tuple[Taken, ...], ...]:
        """All decisions of each kernel."""
        return tuple(map(self.taken_of, range(len(self.grids))))

    def taken_of(self, k: int) -> tuple[Taken, ...]:
        """All decisions of one of the kernels."""
        return taken(self.grids[k], self.region.kernels[k], self.asked[k], self.prepared, self.chosen)

    def with_kernels(self, region: Region) -> CompiledRegion:
        """Another form of the region, kernel by kernel."""
        pairs = zip(self.padded, region.kernels, strict=True)
        return replace(self, region=region, padded=tuple(replace(p, kernel=k) for p, k in pairs))


@dataclass
class Realiser:
    """Makes kernels of a prepared region; nests that are asked for the same are mapped and lowered once,
    whatever the names are that the kernels before them leave them.

    `typical` are values of sizes, by which it is decided what threads share.
    """

    prepared: Prepared
    device: Device
    passes: Passes = field(default_factory=Passes)
    typical: Mapping[str, int] = field(default_factory=dict)
    grids: Recent[Grid] = field(default_factory=lambda: Recent(RECENT))
    mapped: Recent[Grid] = field(default_factory=lambda: Recent(RECENT))  # by all but the names
    padded: Recent[Padded] = field(default_factory=lambda: Recent(RECENT))
    alike: Recent[Padded] = field(default_factory=lambda: Recent(RECENT))  # the same of kernels
    tests: Recent[FittingTests] = field(default_factory=lambda: Recent(8))  # of each order
    same: Recent[FittingTests] = field(default_factory=lambda: Recent(8))  # of orders that test the same
    decided: Recent[Prepared] = field(default_factory=lambda: Recent(8))
    expanded: Recent[Realiser] = field(default_factory=lambda: Recent(8))
    shared: Recent[Realiser | None] = field(default_factory=lambda: Recent(8))
    timed: Recent[Realiser | None] = field(default_factory=lambda: Recent(8))
    stepped: Recent[Realiser | None] = field(default_factory=lambda: Recent(8))
    early: Recent[Realiser | None] = field(default_factory=lambda: Recent(8))

    def _expanded(self, decisions: tuple[Decision, ...], budget: float) -> Realiser:
        """That of the region with the temporaries and versions that are asked for."""
        mine = tuple(d for d in decisions if d.key in VALUES)
        if not mine:
            return self
        return self.expanded.get(mine, lambda: self._other(self.prepared.expanded(mine, budget, self.passes)))

    def _other(self, prepared: Prepared) -> Realiser:
        return Realiser(prepared, self.device, self.passes, self.typical)

    def _sharing(self, prepared: Prepared, decisions: tuple[Decision, ...]) -> Realiser | None:
        """That of the region with threads that share the terms of sums; None where there are none."""
        mine = tuple(d for d in decisions if d.key in ("share", *OF_ONE_THREAD))

        def made() -> Realiser | None:
            found = self.passes.run("share", lambda: prepared.shared(self.typical, mine))
            return self._other(found) if found is not prepared else None

        return self.shared.get((Same(prepared), mine), made)

    def _in_time_tiles(self, prepared: Prepared, decisions: tuple[Decision, ...]) -> Realiser | None:
        """That of the region with tiles of time; None where there are none."""
        mine = tuple(d for d in decisions if d.key in ("steps", *OF_ONE_THREAD))
        usual = time_tiles.usual if self.device.rule == "sector" else never

        def made() -> Realiser | None:
            found = self.passes.run("steps", lambda: prepared.in_time_tiles(mine, usual))
            return self._other(found) if found is not prepared else None

        return self.timed.get((Same(prepared), mine), made)

    def _stepping(self, prepared: Prepared, decisions: tuple[Decision, ...]) -> Realiser | None:
        """That of the region with tiles of steps; None where there are none."""
        mine = tuple(d for d in decisions if d.key in ("batch", "wave"))
        width = batch_width(self.device)
        if width < 2 and not mine:
            return None
        room = self.device.device_memory / max(SIZES.values())

        def made() -> Realiser | None:
            found = self.passes.run("steps", lambda: prepared.stepped(width, mine, room))
            return self._other(found) if found is not prepared else None

        return self.stepped.get((Same(prepared), mine), made)

    def _going_ahead(self, prepared: Prepared, decisions: tuple[Decision, ...]) -> Realiser | None:
        """That of the region with terms of sums ahead of tiles of steps; None where there are none."""
        mine = tuple(d for d in decisions if d.key == "ahead")
        width = batch_width(self.device)
        if width < 2 and not mine:
            return None

        def made() -> Realiser | None:
            found = self.passes.run("ahead", lambda: prepared.ahead(width, mine))
            return self._other(found) if found is not prepared else None

        return self.early.get((Same(prepared), mine), made)

    def _decided(self, decisions: tuple[Decision, ...]) -> Prepared:
        """The region with the kernels that are asked for."""
        mine = tuple(d for d in decisions if d.key in KERNELS)
        return self.decided.get(mine, lambda: self.prepared.decided(mine)) if mine else self.prepared

    @cached_property
    def layouts(self) -> dict[str, Layout]:
        return layouts(self.prepared.polyhedra, self.prepared.dependences)

    @cached_property
    def lowering(self) -> RegionLowering:
        return RegionLowering(self.prepared.polyhedra, self.layouts)

    def realise(
        self, decisions: tuple[Decision, ...] = (), care: int = 0, budget: float = inf, tested: bool = True
    ) -> CompiledRegion:
        """The region's kernels, in the source's order where those of its schedule take isl longer than
        `budget` seconds (counted in steps of it), or where int does not hold what they compute: unless
        `tested`, it is taken to.

        Raises RefusedError for a decision on a line that its nest cannot follow, and Diagnosed where there
        is no code of either order.
        """
        end = steps() + budget * STEPS_A_SECOND
        whole = self._expanded(decisions, budget)
        prepared = whole._decided(decisions)
        with patience(budget):
            spare: CompiledRegion | None = None
            asked = any(d.key in _OTHERS for d in decisions)
            for other in whole._others(prepared, decisions) if care < _UNSHARED else ():
                try:
                    made = other._realised(other.prepared, decisions, care, end, tested)
                except Diagnosed as problem:
                    small = other.prepared.tiled and not isinstance(problem, RefusedError)  # device for tiles
                    gone = problem.diagnostics[0].id == _NO_CODE or small
                    if not gone and (asked or not other._gives_way(problem, care, end)):
                        raise
                    continue
                if asked or not is_intricate(made.region):
                    return made
                spare = spare or made
            return whole._simpler(spare, prepared, decisions, care, end, tested)

    def _gives_way(self, problem: Diagnosed, care: int, end: float) -> bool:
        """Whether decisions are refused that are for the simpler order which takes this one's place."""
        if not isinstance(problem, RefusedError):
            return False
        return is_intricate(self._realised(self.prepared, (), care, end, tested=False).region)

    def _simpler(
        self,
        spare: CompiledRegion | None,
        prepared: Prepared,
        decisions: tuple[Decision, ...],
        care: int,
        end: float,
        tested: bool,
    ) -> CompiledRegion:
        """The region's kernels, or a `spare` one where they are no simpler."""
        try:
            made = self._realised(prepared, decisions, care, end, tested)
        except Diagnosed:
            if spare is None:
                raise
            return spare
        return spare if spare is not None and is_intricate(made.region) else made

    def _others(self, prepared: Prepared, decisions: tuple[Decision, ...]) -> Iterator[Realiser]:
        """Those of the region with tiles of time or of steps, or with threads that share terms."""
        timed = self._in_time_tiles(prepared, decisions)
        if timed is not None:
            yield timed
        early = self._going_ahead(prepared, decisions)
        if early is not None:
            yield early
        batches = self._stepping(prepared, decisions)
        if batches is not None:
            both = batches._sharing(batches.prepared, decisions)
            yield from (other for other in (both, batches) if other is not None)
        shares = self._sharing(prepared, decisions)
        if shares is not None:
            yield shares

    def _realised(
        self, prepared: Prepared, decisions: tuple[Decision, ...], care: int, end: float, tested: bool
    ) -> CompiledRegion:
        """The region's kernels, which have until the step `end`. Of two orders, the one with kernels that are
        simple, and then for more sizes.
        """
        lowering = self.lowering
        found: list[tuple[bool, int, CompiledRegion]] = []
        made = False
        for order in _orders(prepared, care):
            seconds = max((end - steps()) / STEPS_A_SECOND, 1.0) if order is prepared else inf
            region = self._in_time(order, lowering, decisions, care, seconds)
            if region is None:
                continue
            made, simple = True, not is_intricate(region.region)
            if simple and not tested:
                return self._padded(region)
            fitting = self._fitting(region)
            if fitting is not None:
                found.append((simple, fitting.limit, self._tested(region, fitting)))
                if simple and not fitting.restrictive:
                    break
        if found:
            return max(found, key=lambda one: one[:2])[2]
        message = "isl finds no code for these loops in reasonable time"
        if made:
            message = "int does not hold what kernels would compute for these loops"
        position = prepared.scop.position
        raise Diagnosed(Diagnostic(_NO_CODE, "error", message, position, "make bounds and tests simpler"))

    def of(self, program: Program) -> CompiledRegion:
        """The region whose kernels are those of a program of it, or of pieces of its statements.

        Raises ValueError for a program that is not well-formed, and where int does not hold what its kernels
        compute, and EndlessError.
        """
        check_program(program)
        prepared = replace(self.prepared, polyhedra=program.p)
        asked = tuple(Wanted(program.p, Nest((), grid.node)) for grid in program.grids)
        region = RegionLowering(program.p, layouts(program.p, prepared.dependences)).region(program)
        made = CompiledRegion(prepared, program, asked, (), (), region, prepared.conditions)
        fitting = FittingTests(program.p, prepared.conditions).of(region)
        if fitting is None:
            raise ValueError("int does not hold what the kernels of this program compute")
        return self._tested(made, fitting)

    def _fitting(self, r: CompiledRegion) -> Fitting | None:
        return self._tests_of(r.prepared).of(r.region)

    def _tests_of(self, order: Prepared) -> FittingTests:
        def made() -> FittingTests:
            p, known = order.polyhedra, order.conditions
            others = coordinate_tests(p, order.scheduled.host, known)
            key = Same(p), Same(known), tuple(str(c.holds) for c in others)
            return self.same.get(key, lambda: FittingTests(p, (*known, *others)))

        return self.tests.get(Same(order), made)

    def _tested(self, r: CompiledRegion, fitting: Fitting) -> CompiledRegion:
        """The region with the tests that its call needs, and padded."""
        made = self._padded(replace(r, conditions=fitting.tests))
        return replace(made, region=replace(made.region, sized=fitting.sized))

    def _padded(self, r: CompiledRegion) -> CompiledRegion:
        padded = self.passes.run("pad", lambda: tuple(map(self._pad, r.region.kernels, r.grids, r.asked)))
        region = replace(r.region, kernels=tuple(k.kernel for k in padded))
        return replace(r, padded=padded, region=region)

    def _pad(self, kernel: Kernel, grid: Grid, asked: Wanted) -> Padded:
        if asked.find("pad") is not None:
            return pad(kernel, self.device, asked_padding(grid, asked))

        def named() -> Padded:
            found = self.alike.get(parts(kernel, "name"), lambda: pad(kernel, self.device))
            return replace(found, kernel=replace(found.kernel, name=kernel.name))

        return self.padded.get(Same(kernel), named)

    def _in_time(
        self,
        order: Prepared,
        lowering: RegionLowering,
        decisions: tuple[Decision, ...],
        care: int,
        seconds: float,
    ) -> CompiledRegion | None:
        """None where isl takes too long for the code, or for a part of it.

        What a nest cannot follow of decisions for all nests, or for a function's, is left out for it.
        """
        refused: list[RefusedError] = []
        try:
            with hurried(seconds), bounded(min(_STEPS, seconds * STEPS_A_SECOND)):
                while True:
                    try:
                        return self._attempt(order, lowering, decisions, care, refused)
                    except RefusedError as problem:
                        if is_exact(problem.decision, order.polyhedra):
                            raise
                        refused.append(problem)
        except isl.Error:
            return None

    def _attempt(
        self,
        order: Prepared,
        lowering: RegionLowering,
        decisions: tuple[Decision, ...],
        care: int,
        refused: list[RefusedError],
    ) -> CompiledRegion:
        p, host = order.polyhedra, order.scheduled.host
        left = {(problem.statements, problem.decision) for problem in refused}
        asked: list[Wanted] = []

        def grid(nest: Nest, outer: tuple[Fixed, ...], name: str) -> Grid:
            mine = tuple(d for d in decisions if (nest.statements, d) not in left)
            asked.append(wanted(p, nest, mine, care, order.dependences))
            return self._map(nest, outer, name, asked[-1])

        program = self.passes.run("map", lambda: map_host(p, host, grid))
        region = self.passes.run("lower", lambda: _lower(lowering, program, asked))
        return CompiledRegion(order, program, tuple(asked), tuple(refused), (), region, order.conditions)

    def _map(self, nest: Nest, outer: tuple[Fixed, ...], name: str, asked: Wanted) -> Grid:
        around = tuple([(Same(f.member), f.name) for f in outer])
        key = Same(nest), around, asked.decisions, asked.care

        def named() -> Grid:
            return replace(self.mapped.get(key, lambda: self._mapped(nest, outer, name, asked)), name=name)

        return self.grids.get((*key, name), named)

    def _mapped(self, nest: Nest, outer: tuple[Fixed, ...], name: str, asked: Wanted) -> Grid:
        grid = map_nest(self.prepared.polyhedra, nest, outer, self.device, asked, name, self.typical)
        check_padding(grid, self.device, asked)
        return grid


def _orders(prepared: Prepared, care: int) -> Iterator[Prepared]:
    """That of the schedule, and the source's, which takes time to find."""
    tiles = prepared.tiled or bool(prepared.batches) or prepared.has_waves or bool(prepared.aheads)
    made = prepared.shares or tiles
    if care < _IN_SOURCE_ORDER or made:
        yield prepared
    if not made:
        yield prepared.in_source_order


def _lower(lowering: RegionLowering, program: Program, asked: list[Wanted]) -> Region:
    """Raises RefusedError where loops cannot be unrolled, or products not computed, as is asked for."""
    try:
        return lowering.region(program)
    except EndlessError as problem:
        mine = next(a for g, a in zip(program.grids, asked, strict=True) if g.name == problem.kernel)
        decision = mine.find(problem.key)
        assert decision is not None, "nobody else asks for it"
        raise RefusedError(decision, mine.nest.statements, problem.diagnostic) from None
