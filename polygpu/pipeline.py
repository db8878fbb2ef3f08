"""The compiler as one visible list of passes: C text to host and device files.

lift                                                                      a file
cluster                                                                   a region
polyhedra, conditions, dependences, dead, expand, split, schedule         a region    schedule.prepare
map, lower, pad                                                           a region    lower.realise
choose, and these three again                                             a region    search
price, spaces, emit                                                       a file
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from polygpu import devices
from polygpu.analysis.assume import check_known, parse_assumptions
from polygpu.analysis.straight import clustered
from polygpu.frontend import FrontendOptions, Lifted, lift
from polygpu.lower import remarks
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.mapping.spaces import put_in_spaces
from polygpu.model.decisions import CARE, Decision, Place, diagnosed, parse, ranked, read
from polygpu.model.device import Device
from polygpu.model.kernel import Unit
from polygpu.model.scop import Scop
from polygpu.offload.offers import offers, settled
from polygpu.printing.calls import default_device, emit, emit_original
from polygpu.schedule.prepare import prepare
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import set_options
from polygpu.support.passes import Passes

if TYPE_CHECKING:
    from polygpu.verify.verdict import Certificate

# Of the loops themselves, not of options.
_ABOUT_LOOPS = frozenset({"PG161", "PG301", "PG302", "PG306", "PG314", "PG316", "PG317"})

Certification: TypeAlias = Literal["full", "quick", "off"]
Offload: TypeAlias = Literal["auto", "always", "never"]
Choose: TypeAlias = Callable[
    [CompiledRegion, Realiser, tuple[Decision, ...], Mapping[str, int]], tuple[Decision, ...]
]
"""From a region, what made it, the decisions for it and typical sizes to further decisions."""


@dataclass(frozen=True)
class Options:
    """What a compilation is asked for.

    `decisions` override what the passes would choose, and those of `replayed`, the text of a file of them;
    `assume` states parameters' values: "n=4096", `assume_typical` those at which regions are priced.
    `offload`: "auto" leaves what nobody marked on the host unless the device is faster.
    `certify` is how much `polygpu.compiler` proves of it, and `care` the level of care (an index of
    `decisions.CARE`) of regions by name: it raises this for what is refuted.
    `level` is that of -O: 0 the source's order and nothing staged, 1 what rules choose; `polygpu.compiler`
    has the model choose among few (2) or many (3).
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
    replayed: str = ""
    assume: tuple[str, ...] = ()
    assume_typical: tuple[str, ...] = ()
    offload: Offload = "always"
    time_budget: float = 10.0
    cc: str | None = None
    certify: Certification = "quick"
    care: tuple[tuple[str, int], ...] = ()
    level: int = 2

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
class File:
    """A C file that is prepared once and realised as often as decisions change.

    `choose` finds decisions for a region, beside those of rules and persons. `vetoed` are runs of loops, by
    their first and last character, that were found to be no region, and why.
    """

    path: str
    options: Options
    choose: Choose | None = None
    passes: Passes = field(default_factory=Passes)
    vetoed: dict[tuple[int, int], Diagnostic] = field(default_factory=dict)
    lifted: Lifted | None = None
    realisers: dict[Scop, Realiser] = field(default_factory=dict)
    chosen: dict[tuple[Scop, tuple[Decision, ...]], tuple[Decision, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        set_options()
        self.device = devices.load(self.options.device or default_device(self.options.target))
        self.values = parse_assumptions(self.options.assume)
        self.typical = parse_assumptions(self.options.assume_typical)

    def realise(self, decisions: tuple[Decision, ...], care: Mapping[str, int]) -> Compilation:
        """Raises Diagnosed for errors in the file or in the options.

        Loops that nobody marked stay on the host if they cannot be compiled, alone or with their neighbours.
        """
        while True:
            lifted = self.lifted = self.lifted or self.passes.run("front end", self._lift)
            taken = (*ranked(decided(lifted)), *decisions)
            compiled: list[CompiledRegion] = []
            known = len(self.vetoed)
            for scop in lifted.scops if self.options.offload != "never" else ():
                try:
                    compiled.append(self._region(scop, taken, care.get(scop.name, 0)))
                except Diagnosed as problem:
                    first = problem.diagnostics[0]
                    if not lifted.detected or first.id not in _ABOUT_LOOPS:
                        raise
                    self.vetoed[scop.start, scop.end] = first
            if len(self.vetoed) == known:
                return self._finished(lifted, tuple(compiled), taken, care)
            self.lifted = None

    def _lift(self) -> Lifted:
        lifted = lift(self.path, self.options.frontend(), self.vetoed)
        check_known({**self.values, **self.typical}, lifted.scops)
        return lifted

    def _region(self, scop: Scop, decisions: tuple[Decision, ...], care: int) -> CompiledRegion:
        left = self.options.time_budget
        scop = self.passes.run("cluster", lambda: clustered(scop, decisions))
        realiser = self.realisers.get(scop)
        if realiser is None:
            before = sum(self.passes.seconds.values())
            prepared = prepare(scop, self.values, left, self.passes)
            left -= sum(self.passes.seconds.values()) - before
            realiser = self.realisers[scop] = Realiser(prepared, self.device, self.passes)
        if self.options.level == 0:
            return realiser.realise(decisions, len(CARE) - 1, left)
        if self.choose is None:
            return realiser.realise(decisions, care, left)
        key = scop, decisions
        if key not in self.chosen:
            self.chosen[key] = self._choice(realiser, decisions, left)
        found = self.chosen[key]
        return replace(realiser.realise((*found, *decisions), care, left), chosen=frozenset(found))

    def _choice(
        self, realiser: Realiser, decisions: tuple[Decision, ...], left: float
    ) -> tuple[Decision, ...]:
        assert self.choose is not None
        first, choose = realiser.realise(decisions, 0, left), self.choose
        return self.passes.run("choose", lambda: choose(first, realiser, decisions, self.typical))

    def _finished(
        self,
        lifted: Lifted,
        compiled: tuple[CompiledRegion, ...],
        decisions: tuple[Decision, ...],
        care: Mapping[str, int],
    ) -> Compilation:
        parallel = tuple(r for r in compiled if not lifted.detected or remarks.has_parallelism(r))
        if self.options.offload != "never":
            remarks.check_followed(self.path, decisions, parallel)
        kept, priced = self.passes.run("price", lambda: self._offloaded(parallel, lifted))
        asked = {k.name: a for r in kept for k, a in zip(r.region.kernels, r.asked, strict=True)}
        make = partial(put_in_spaces, (r.region for r in kept), self.device, asked)
        spaced = self.passes.run("spaces", make)
        regions = tuple(r.with_kernels(region) for r, region in zip(kept, spaced.regions, strict=True))
        stem = self.path.rsplit("/", 1)[-1].removesuffix(".c")
        unit = Unit(self.path, stem, tuple(r.region for r in regions))
        write = partial(emit, lifted.text, unit, regions, self.device, self.options.target)
        files = self.passes.run("emit", write) if regions else {}
        if not regions and (parallel or self.options.offload == "never"):
            files = emit_original(lifted.text, unit, self.options.target)
        simple = (r for r in regions if care.get(r.scop.name, 0) < 4 and self.options.level)
        diagnostics = (
            *lifted.diagnostics,
            *remarks.simple_schedules(simple),
            *remarks.left_on_host(r for r in compiled if lifted.detected and not remarks.has_parallelism(r)),
            *priced,
            *(d for r in regions for d in remarks.in_one_thread(r)),
            *spaced.diagnostics,
        )
        return Compilation(
            files,
            diagnostics,
            lifted.dependencies,
            lifted.system_dependencies,
            lifted.sources,
            unit,
            self.device,
            self.options,
            regions,
            tuple(self.passes.seconds.items()),
        )

    def _offloaded(
        self, regions: tuple[CompiledRegion, ...], lifted: Lifted
    ) -> tuple[tuple[CompiledRegion, ...], tuple[Diagnostic, ...]]:
        """Those to offload, with a test of sizes where no pragma marks them, and what is to say of it."""
        if self.options.offload != "auto":
            return regions, ()
        asked = {r.scop.name for r in regions if _is_marked(r.scop, lifted)}
        return settled(offers(regions, self.device, self.typical), asked)


def _is_marked(scop: Scop, lifted: Lifted) -> bool:
    """Whether a pragma asks for the region, be it by decisions about one of its loops."""
    places = {pragma.loop for pragma in lifted.decided}
    return not lifted.detected or any(loop.position in places for loop in scop.loops)


def compile_file(path: str, options: Options) -> Compilation:
    """Compiles the C file at `path`. Raises Diagnosed for errors in it or in the options."""
    decisions = decisions_of(options)
    return File(path, options).realise(decisions, dict(options.care))


def decisions_of(options: Options) -> tuple[Decision, ...]:
    """Raises Diagnosed for what is no decision."""
    own = (d for text in options.decisions for d in diagnosed(parse, text, "--decide"))
    return (*ranked(diagnosed(read, options.replayed, "the file of --decisions")), *ranked(own))


def decided(lifted: Lifted) -> Iterator[Decision]:
    """The decisions of a file's pragmas. Raises Diagnosed for what is none."""
    for pragma in lifted.decided:
        place = Place(pragma.loop.line, "" if pragma.loop.file == lifted.path else pragma.loop.file)
        for d in diagnosed(parse, pragma.text, "#pragma polygpu", pragma.position):
            yield replace(d, place=place)
