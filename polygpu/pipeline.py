"""The compiler as one visible list of passes: C text to host and device files.

preprocess, parse, lift -> polyhedra -> dependences -> expand -> schedule
    -> map, place, lower -> pad -> spaces -> emit
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import inf
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from polygpu import devices
from polygpu.analysis import polyhedra
from polygpu.analysis.assume import assume, check_known, parse_assumptions
from polygpu.analysis.conditions import Condition, conditions
from polygpu.analysis.dead import Place, dead_actions, without
from polygpu.analysis.dependences import Dependences
from polygpu.analysis.dependences import compute as compute_dependences
from polygpu.analysis.expand import Expansion, expand
from polygpu.analysis.index_sets import Split, split
from polygpu.analysis.names import with_free_names
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.analysis.verdicts import loop_verdicts
from polygpu.frontend import FrontendOptions, Lifted, lift
from polygpu.frontend.regions.nests import not_offloaded
from polygpu.lower.buffers import Layout, layouts
from polygpu.lower.fitting import combined, fitting_tests, sized
from polygpu.lower.nest import NestLowering
from polygpu.lower.region import RegionLowering
from polygpu.lower.scan import test_of
from polygpu.mapping.padding import Padded, pad
from polygpu.mapping.spaces import put_in_spaces
from polygpu.model.decisions import Decisions
from polygpu.model.decisions import parse as parse_decision
from polygpu.model.device import Device
from polygpu.model.expr import Cast, Expr, Name
from polygpu.model.kernel import Region, Unit
from polygpu.model.rewrite import substitute
from polygpu.model.scop import LARGEST_SIZE, Scalar, Scop
from polygpu.printing.emit import emit_device
from polygpu.printing.host import HostCall, emit_host, host_call, in_source_names, overlap_tests, print_user
from polygpu.schedule.coordinates import coordinate_tests
from polygpu.schedule.driver import Scheduled, improves, original, schedule, sequential_loops
from polygpu.support.child import patience
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import set_options
from polygpu.support.position import Position

if TYPE_CHECKING:
    from polygpu.verify.verdict import Certificate

T = TypeVar("T")
# Of the loops themselves, not of options.
_ABOUT_LOOPS = frozenset({"PG161", "PG301", "PG302", "PG306", "PG314", "PG316", "PG317"})

Certification: TypeAlias = Literal["full", "quick", "off"]
DEFAULT_DEVICES = {"emulator": "8800gtx", "cuda": "generic", "opencl": "generic"}


@dataclass(frozen=True)
class Options:
    """What a compilation is asked for.

    `decisions` override what the passes would choose; `assume` states parameters' values: "n=4096".
    `certify` is how much `polygpu.compiler` proves of it, and `care` the level of care (an index of
    `decisions.CARE`) of regions by name: it raises this for what is refuted.
    """

    target: str = "cuda"
    device: str = ""
    includes: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    undefines: tuple[str, ...] = ()
    include_files: tuple[str, ...] = ()
    std: str = ""
    assume_no_alias: bool = False
    decisions: tuple[str, ...] = ()
    assume: tuple[str, ...] = ()
    time_budget: float = 10.0
    cc: str | None = None
    certify: Certification = "quick"
    care: tuple[tuple[str, int], ...] = ()

    def frontend(self) -> FrontendOptions:
        return FrontendOptions(
            self.includes,
            self.defines,
            self.undefines,
            self.include_files,
            self.std,
            self.assume_no_alias,
            self.cc,
        )


@dataclass(frozen=True)
class CompiledRegion:
    """One region after all passes: what reports, verification and search look at."""

    scop: Scop
    polyhedra: Polyhedra
    dependences: Dependences
    expansions: tuple[Expansion, ...]
    splits: tuple[Split, ...]
    scheduled: Scheduled
    layouts: dict[str, Layout]
    lowered: tuple[NestLowering, ...]
    padded: tuple[Padded, ...]
    region: Region
    conditions: tuple[Condition, ...]
    overlaps: tuple[str, ...]
    assumed: dict[Scalar, int]
    renamed: dict[str, str]
    dead: frozenset[Place]

    @property
    def in_source(self) -> Region:
        """`region` as the host file sees it: scalars, arrays and sizes in the names of the source."""
        return in_source_names(self.region, self.renamed)


@dataclass(frozen=True)
class Compilation:
    """The result: `files` maps a suffix of the stem to its text. `certificates` are the regions', if any."""

    files: dict[str, str]
    diagnostics: tuple[Diagnostic, ...]
    dependencies: tuple[str, ...]
    system_dependencies: tuple[str, ...]
    sources: dict[str, str]
    unit: Unit
    device: Device
    options: Options
    regions: tuple[CompiledRegion, ...]
    timings: tuple[tuple[str, float], ...]
    certificates: tuple[Certificate, ...] = ()

    @property
    def offloaded(self) -> int:
        return len(self.regions)


@dataclass
class _Clock:
    """Seconds a pass; passes of several regions add up."""

    seconds: dict[str, float] = field(default_factory=dict)

    def run(self, name: str, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        try:
            return work()
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def compile_file(path: str, options: Options) -> Compilation:
    """Compiles the C file at `path`. Raises Diagnosed for errors in it or in the options."""
    clock = _Clock()
    device = devices.load(options.device or DEFAULT_DEVICES[options.target])
    decisions, values = _decisions(options), parse_assumptions(options.assume)
    lifted = clock.run("front end", lambda: lift(path, options.frontend()))
    set_options()
    check_known(values, lifted.scops)
    detected = any(d.id == "PG180" for d in lifted.diagnostics)
    care = dict(options.care)

    def compiled_region(scop: Scop) -> CompiledRegion:
        careful = replace(decisions, care=care.get(scop.name, 0))
        return _compile_region(scop, device, careful, values, options.time_budget, clock)

    work = cache(compiled_region)
    compiled, refused = _compile_regions(lifted.scops, work, detected)
    if refused:  # regions without the nests that are in the way
        lifted = clock.run("front end", lambda: lift(path, options.frontend(), partial(_check, values)))
        compiled, refused = _compile_regions(lifted.scops, work, detected)
    kept = tuple(r for r in compiled if not detected or _has_parallelism(r))
    regions, spaces = clock.run("spaces", lambda: _in_spaces(kept, device, decisions))
    unit = Unit(path, _stem(path), tuple(r.region for r in regions))
    files = clock.run("emit", lambda: _emit(lifted, unit, regions, device, options.target)) if regions else {}
    return Compilation(
        files,
        (
            *(d for d in lifted.diagnostics if d.id != "PG180" or d.position not in refused),
            *refused.values(),
            *_simple_schedules(tuple(r for r in regions if care.get(r.scop.name, 0) < 4)),
            *_left_on_host(compiled, regions),
            *(d for r in regions for d in _in_one_thread(r)),
            *spaces,
        ),
        lifted.dependencies,
        lifted.system_dependencies,
        lifted.sources,
        unit,
        device,
        options,
        regions,
        tuple(clock.seconds.items()),
    )


def _compile_regions(
    scops: tuple[Scop, ...], work: Callable[[Scop], CompiledRegion], detected: bool
) -> tuple[tuple[CompiledRegion, ...], dict[Position, Diagnostic]]:
    """The regions; nests that nobody asked to offload stay on the host, with a warning, if they cannot be."""
    done: list[CompiledRegion] = []
    refused: dict[Position, Diagnostic] = {}
    for scop in scops:
        try:
            done.append(work(scop))
        except Diagnosed as problem:
            first = problem.diagnostics[0]
            if not detected or first.id not in _ABOUT_LOOPS:
                raise
            refused[scop.position] = not_offloaded(first, scop.position)
    return tuple(done), refused


def _check(values: dict[str, int], scop: Scop) -> None:
    """Raises Diagnosed for what polyhedra show to be wrong, or to be out of reach."""
    p = polyhedra.build(with_free_names(assume(scop, values)[0])[0])
    conditions(p)
    layouts(p, compute_dependences(p))


def _in_spaces(
    regions: tuple[CompiledRegion, ...], device: Device, decisions: Decisions
) -> tuple[tuple[CompiledRegion, ...], tuple[Diagnostic, ...]]:
    """The regions with the arrays of their kernels in the memory spaces that decisions ask for."""
    made = put_in_spaces((r.region for r in regions), device, decisions)
    done = (_with_kernels(r, region) for r, region in zip(regions, made.regions, strict=True))
    return tuple(done), made.diagnostics


def _with_kernels(r: CompiledRegion, region: Region) -> CompiledRegion:
    pairs = zip(r.padded, region.kernels, strict=True)
    return replace(r, region=region, padded=tuple(replace(p, kernel=k) for p, k in pairs))


def _decisions(options: Options) -> Decisions:
    try:
        return Decisions(tuple(parse_decision(text) for text in options.decisions))
    except ValueError as error:
        message = str(error)
        raise Diagnosed(Diagnostic("PG303", "error", message, None, "see `polygpu explain PG303`")) from None


def _simple_schedules(regions: tuple[CompiledRegion, ...]) -> Iterator[Diagnostic]:
    for r in regions:
        if r.scheduled.fallback:
            message = "isl finds no code for a better schedule: these loops run in the source's order"
            help_text = "make bounds, tests and strides simpler, or give more time with --time-budget"
            yield Diagnostic("PG315", "warning", message, r.scop.position, help_text)
        elif r.scheduled.unsearched:
            message = "the time budget ended the search for a better schedule"
            help_text = "give more time with --time-budget, or accept a schedule that is legal and simple"
            yield Diagnostic("PG308", "warning", message, r.scop.position, help_text)


def _has_parallelism(r: CompiledRegion) -> bool:
    return any(low.m.nest.parallel for low in r.lowered)


def _left_on_host(
    compiled: tuple[CompiledRegion, ...], regions: tuple[CompiledRegion, ...]
) -> list[Diagnostic]:
    message = "these loops stay on the host: none of them is parallel"
    help_text = "`polygpu inspect` names the dependences; '#pragma scop' offloads them all the same"
    kept = {r.scop.name for r in regions}
    return [
        Diagnostic("PG309", "warning", message, r.scop.position, help_text)
        for r in compiled
        if r.scop.name not in kept
    ]


def _in_one_thread(r: CompiledRegion) -> list[Diagnostic]:
    """A warning for each source loop whose iterations one thread runs."""
    alone = [low.m for low in r.lowered if not low.m.nest.parallel]
    numbers = {k for m in alone for s in m.statements for k in r.polyhedra.statement(s).loops[len(m.outer) :]}
    if not numbers:
        return []
    verdicts = loop_verdicts(r.polyhedra, r.dependences)
    help_text = "see `polygpu explain PG330`"
    return [
        Diagnostic("PG330", "warning", f"this loop runs in one thread: {v.why}", v.position, help_text)
        for k, v in enumerate(verdicts)
        if k in numbers and not v.parallel
    ]


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].removesuffix(".c")


@dataclass(frozen=True)
class _Ordered:
    """A region after the passes that decide the order of its instances."""

    p: Polyhedra
    d: Dependences
    expansions: tuple[Expansion, ...]
    splits: tuple[Split, ...]
    scheduled: Scheduled


def _ordered(p: Polyhedra, d: Dependences, budget: float, clock: _Clock) -> _Ordered:
    """The region with small temporaries, or with large ones where these save host loops."""
    start = time.perf_counter()
    lean = _order(p, d, budget, clock, generous=False)
    if max(sequential_loops(lean.scheduled).values(), default=0) < 2:
        return lean
    if clock.run("expand", lambda: expand(p, d, generous=True))[1] == lean.expansions:
        return lean
    left = budget - (time.perf_counter() - start)
    if left <= 0:
        return lean
    large = _order(p, d, left, clock, generous=True)
    return large if improves(large.scheduled, lean.scheduled) else lean


def _order(p: Polyhedra, d: Dependences, budget: float, clock: _Clock, generous: bool) -> _Ordered:
    end = time.monotonic() + budget
    with patience(budget / 2):
        p, expansions = clock.run("expand", lambda: expand(p, d, generous))
        if expansions:
            d = clock.run("dependences", lambda: compute_dependences(p))
        p, d, splits = clock.run("split", lambda: split(p, d))
    left = end - time.monotonic()
    return _Ordered(p, d, expansions, splits, clock.run("schedule", lambda: schedule(p, d, left)))


@dataclass(frozen=True)
class _Lowered:
    """A region's code, and the tests that its call needs."""

    scheduled: Scheduled
    lowering: RegionLowering
    region: Region
    tests: tuple[Condition, ...]


def _lowered(
    o: _Ordered,
    sizes: dict[str, Layout],
    device: Device,
    decisions: Decisions,
    budget: float,
    tests: tuple[Condition, ...],
) -> _Lowered:
    """The code of the region, in the source's order where that of its schedule takes isl too long, or where
    int does not hold what it computes.

    Raises Diagnosed where that is so of both.
    """
    found: tuple[int, _Lowered] | None = None
    made = False
    for simple in (False, True) if decisions.care < 4 else (True,):
        scheduled = original(o.p, o.d) if simple else o.scheduled
        lowering = RegionLowering(o.p, device, sizes, decisions)
        region = lowering.in_time(scheduled.host, inf if simple else max(budget, 1.0))
        made = made or region is not None
        if region is not None:
            ordered = (*tests, *coordinate_tests(o.p, scheduled.host, tests))
            fitting = fitting_tests(o.p, region, ordered)
            if fitting is not None and (found is None or fitting.limit > found[0]):
                tested = combined(ordered, fitting.tests)
                found = fitting.limit, _Lowered(scheduled, lowering, region, tested)
            if fitting is not None and not fitting.restrictive:
                break
    if found is not None:
        return found[1]
    message = "isl finds no code for these loops in reasonable time"
    if made:
        message = "int does not hold what kernels would compute for these loops"
    raise Diagnosed(Diagnostic("PG314", "error", message, o.p.scop.position, "make bounds and tests simpler"))


def _compile_region(
    scop: Scop,
    device: Device,
    decisions: Decisions,
    values: dict[str, int],
    budget: float,
    clock: _Clock,
) -> CompiledRegion:
    scop, assumed = assume(scop, values)
    free, renamed = with_free_names(scop)
    end = time.monotonic() + budget
    p = clock.run("polyhedra", lambda: polyhedra.build(free))
    tests = clock.run("conditions", lambda: conditions(p))
    with patience(budget / 2):  # the rest is for the schedule
        d = clock.run("dependences", lambda: compute_dependences(p))
        if dead := dead_actions(p, d):
            p = without(p, dead)
            d = clock.run("dependences", lambda: compute_dependences(p))
    ordered = _ordered(p, d, end - time.monotonic(), clock)
    p, d = ordered.p, ordered.d
    sizes = layouts(p, d)
    left = end - time.monotonic()
    made = clock.run("lower", lambda: _lowered(ordered, sizes, device, decisions, left, tests))
    scheduled, lowering, tests = made.scheduled, made.lowering, made.tests
    region = replace(made.region, sized=sized(p, tests))
    padded = tuple(clock.run("pad", lambda: [pad(k, device, decisions) for k in region.kernels]))
    region = replace(region, kernels=tuple(k.kernel for k in padded))
    return CompiledRegion(
        scop,
        p,
        d,
        ordered.expansions,
        ordered.splits,
        scheduled,
        sizes,
        tuple(lowering.lowered),
        padded,
        region,
        tests,
        tuple(o.reason for o in overlap_tests(scop, in_source_names(region, renamed)))
        if not scop.no_alias
        else (),
        assumed,
        renamed,
        dead,
    )


def _emit(
    lifted: Lifted, unit: Unit, regions: tuple[CompiledRegion, ...], device: Device, target: str
) -> dict[str, str]:
    calls = tuple(call_of(r) for r in regions)
    host = emit_host(lifted.text, tuple(r.scop for r in regions), calls)
    return {"_host.c": host, **emit_device(unit, device, target)}


def call_of(r: CompiledRegion) -> HostCall:
    """The call of the region's device function, as it stands in the host file."""
    tests = ((test_of(c.holds, r.polyhedra.context), c) for c in r.conditions)
    texts = [(_host_test(test, r, c.wide), c.reason) for test, c in tests if test is not None]
    assumed = [(f"{s.name} == {value}", f"'{s.name}' is not {value}") for s, value in r.assumed.items()]
    return host_call(r.scop, r.in_source, [*assumed, *_fitting(r.scop), *texts])


def _host_test(test: Expr, r: CompiledRegion, wide: bool) -> str:
    """In the names of the source; unsigned sizes count as signed, and in 64 bits where int may not do."""
    source: dict[str, Expr] = {new: Name(old) for new, old in r.renamed.items()}
    sizes = (s.name for s in r.scop.scalars if s.affine and (wide or not s.fits))
    signed: dict[str, Expr] = {name: Cast("long long", Name(name)) for name in sizes}
    return print_user(substitute(substitute(test, source), signed))


def _fitting(scop: Scop) -> Iterator[tuple[str, str]]:
    """Tests that parameters of wider types are int's: kernels count in these."""
    for s in scop.scalars:
        if s.affine and not s.fits:
            least = "" if s.type.startswith("unsigned") else f" && {s.name} >= -{LARGEST_SIZE}"
            reason = f"'{s.name}' is beyond the range of int, in which kernels count"
            yield f"{s.name} <= {LARGEST_SIZE}{least}", reason
