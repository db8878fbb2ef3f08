"""The compiler as one visible list of passes: C text to host and device files.

lift                                                                      a file
rewritten (separate, search, select, chain, gather), measure              a region
cluster, shareable (part, privatise, fold)                                a region
polyhedra, conditions, dependences, dead, expand, split, schedule         a region    schedule.prepare
share, map, lower, pad                                                    a region    lower.realise
choose, and these three again                                             a region    search
price, spaces, join, emit                                                 a file      output
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from math import inf
from typing import TypeAlias

from polygpu.analysis.rewritten import rewritten, shareable
from polygpu.analysis.straight import clustered
from polygpu.compilation import Compilation, Options
from polygpu.frontend import Lifted, lift
from polygpu.lower.buffers import check_extents
from polygpu.lower.measured import measurable
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.model.decisions import CARE, Decision, Place, diagnosed, parse, ranked, read
from polygpu.model.scop import Scop
from polygpu.output import Output, device_for
from polygpu.schedule.prepare import Prepared, prepare
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import STEPS_A_SECOND, TooLongError, bounded, set_options, steps
from polygpu.support.passes import Passes

# Of the loops themselves, not of options.
_ABOUT_LOOPS = frozenset(
    {"PG102", "PG121", "PG130", "PG161", "PG172", "PG301", "PG302", "PG306", "PG314", "PG316", "PG317"}
)

_PATIENCE, _LEAST = 1.5, 25.0  # times the budget, and seconds: real loops take 6, or 15 with what was lost
_SIMPLER = "make bounds, subscripts and tests simpler, or allow it more"

Choose: TypeAlias = Callable[
    [CompiledRegion, Realiser, tuple[Decision, ...], Mapping[str, int]], tuple[Decision, ...]
]
"""From a region, what made it, the decisions for it and typical sizes to further decisions."""


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
    again: Callable[[Mapping[tuple[int, int], Diagnostic]], Lifted] | None = None
    realisers: dict[Scop, Realiser] = field(default_factory=dict)
    chosen: dict[tuple[Scop, tuple[Decision, ...]], tuple[Decision, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        set_options()
        self.device = device_for(self.options)
        self.values = self.options.values()
        self.typical = self.options.typical()

    def realise(
        self,
        decisions: tuple[Decision, ...],
        care: Mapping[str, int],
        ready: Callable[[CompiledRegion], None] = lambda _: None,
    ) -> Compilation:
        """Raises Diagnosed for errors in the file or in the options.

        Loops that nobody marked stay on the host if they cannot be compiled, alone or with their neighbours.

        `ready` is told of regions before all are compiled, as they are then but for what there is to say of
        them together.
        """
        output = Output(self.path, self.options, self.device, self.typical, self.passes)
        while True:
            lifted = self.lifted = self.lifted or self.passes.run("front end", self._lift)
            taken = (*ranked(decided(lifted)), *decisions)
            compiled: list[CompiledRegion] = []
            known = len(self.vetoed)
            for scop in lifted.scops if self.options.offload != "never" else ():
                try:
                    made = self._region(scop, taken, care.get(scop.name, 0))
                    if (left_out := output.in_vain(made, lifted)) is not None:
                        raise Diagnosed(left_out)
                    compiled.append(made)
                    if len(lifted.scops) > 1 and output.is_kept(compiled[-1], lifted):
                        ready(output.joined(compiled[-1]))
                except Diagnosed as problem:
                    first = problem.diagnostics[0]
                    if not lifted.detected or first.id not in _ABOUT_LOOPS:
                        raise
                    self.vetoed[scop.start, scop.end] = first
            if len(self.vetoed) == known:
                return output.written(lifted, tuple(compiled), taken, care)
            self.again, self.lifted = lifted.again, None

    def _lift(self) -> Lifted:
        read = self.again or partial(lift, self.path, self.options.frontend())
        lifted = read(self.vetoed)
        self.options.check_known(lifted.scops)
        return lifted

    def _region(self, scop: Scop, decisions: tuple[Decision, ...], care: int) -> CompiledRegion:
        scop = rewritten(scop, decisions, self.options.reassociate)
        if self.options.level == 0:
            care = len(CARE) - 1
        choose = self.choose if self.options.level else None
        try:
            with bounded(self._most()):
                realiser, left = self._realiser(scop, decisions)
                first = realiser.realise(decisions, 0 if choose else care, left)
        except TooLongError:
            message = "these loops take isl longer than --time-budget allows"
            raise Diagnosed(Diagnostic("PG314", "error", message, scop.position, _SIMPLER)) from None
        if choose is None:
            return first
        key = scop, tuple(d for d in decisions if not _elsewhere(d, scop))
        try:
            with bounded(self._most() if self.options.level < 3 else inf):
                if key not in self.chosen:
                    chosen = partial(choose, first, realiser, decisions, self.typical)
                    self.chosen[key] = self.passes.run("choose", chosen)
                found = self.chosen[key]
                return replace(realiser.realise((*found, *decisions), care, left), chosen=frozenset(found))
        except TooLongError:
            self.chosen[key] = ()
            return realiser.realise(decisions, care, left)

    def _most(self) -> float:
        """How many steps of isl a region may take, those with a limit of their own in all too."""
        return max(_LEAST, _PATIENCE * self.options.time_budget) * STEPS_A_SECOND

    def _realiser(self, scop: Scop, decisions: tuple[Decision, ...]) -> tuple[Realiser, float]:
        """What makes a region's kernels, and for how many seconds."""
        left = self.options.time_budget
        realiser = self.realisers.get(scop)
        if realiser is None:
            start = steps()
            prepared = self._prepared(scop, decisions, left)
            left -= (steps() - start) / STEPS_A_SECOND
            realiser = self.realisers[scop] = Realiser(prepared, self.device, self.passes, self.typical)
        return realiser, left

    def _prepared(self, scop: Scop, decisions: tuple[Decision, ...], budget: float) -> Prepared:
        """The region with what is one thread's as folds, if threads can share them."""

        def prepared(plain: Scop) -> Prepared:
            scop = self.passes.run("cluster", lambda: clustered(plain, decisions))
            return prepare(scop, self.values, budget, self.passes, check_extents)

        scop = self.passes.run("measure", lambda: measurable(scop))
        first = prepared(scop)
        alone = first.alone if self.options.level else frozenset()
        made = self.passes.run("fold", lambda: shareable(scop, alone))
        return first if made is scop else prepared(made)


def _elsewhere(d: Decision, scop: Scop) -> bool:
    """Whether a decision is for another function, or for a loop of a label that the region does not have."""
    known = ("", scop.function, *(loop.label for loop in scop.loops))
    return d.place is not None and d.place.function not in known


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
