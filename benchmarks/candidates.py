"""What a share of the candidates of a program's nests takes on a device by the model: points that an expert
would try first, then random ones.

A candidate is priced by few iterations of its loops first; what takes over `CUT` times as much as the best
known is not looked at any more. Nor is what takes that beside the default at smaller sizes, if it is too much
to look at where others are. What seems the best so far is looked at thoroughly, and counts so. Nests that
together take less than `LITTLE` of their program are left out: it gains no more by them.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks import programs
from benchmarks.experts import points_of
from benchmarks.polybench import Suite, Variant
from polygpu.compilation import Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.decisions import KERNELS, Decision
from polygpu.model.device import Device
from polygpu.offload.seconds import Ledger
from polygpu.offload.typical import typical
from polygpu.perf.effort import THOROUGH, Patience
from polygpu.pipeline import File
from polygpu.search.choose import BRIEF, LEFT, Chooser
from polygpu.search.found import Effort
from polygpu.search.price import Price, alone, price
from polygpu.search.space import Choice, Nest, Space, nests_of
from polygpu.support.diagnostics import Diagnosed

ROUGH = replace(BRIEF, most=4)
SMALLER = 8  # times, of what is too much to look at
LITTLE = 0.02  # of the seconds of all nests
CUT = 2.0  # by ROUGH: it is mostly within 2 % of BRIEF, and was never over 1.8 times that

Decisions: TypeAlias = tuple[Decision, ...]


@dataclass(frozen=True)
class Share:
    """Every `of`-th candidate of each nest of a program, from number `number` on, till there are `candidates`
    of all shares together that the device can run. `polybench`: where PolyBench/C is; "": our kernels.
    """

    program: str
    device: str
    number: int
    of: int
    candidates: int
    seed: int
    polybench: str = ""

    @property
    def name(self) -> str:
        suite = "PolyBench " if self.polybench else ""
        return f"{suite}{self.program} {self.device} {self.number + 1}/{self.of}"

    @property
    def quota(self) -> int:
        return -(-self.candidates // self.of)


@dataclass
class Looked:
    """What was found for a nest, at `sizes`: seconds of what rules choose, of the `default`, and of the best.

    `next` is the number of the candidate that is to be looked at next. `counts` has how many candidates are
    "looked" at, of these "rough"ly only, and how many are "refused", do not fit ("unfit"), take too long to
    look at ("unknown"), or have the "same" code as one before, which are not looked at again; "little" stands
    for a nest that takes too little. `typically` are the seconds of the default and of the best at typical
    sizes, where known. `experts` has the points of an expert with their seconds.
    """

    region: str
    place: str
    axes: str
    sizes: dict[str, int]
    rules: float
    default: float
    best: float
    decisions: str = ""
    next: int = 0
    done: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    typically: tuple[float, float] = (inf, inf)
    experts: list[tuple[str, float]] = field(default_factory=list)
    spent: float = 0.0


@dataclass(frozen=True)
class Subject:
    """A nest, with what rules choose for its region, and the default, `chosen`."""

    region: str
    nest: Nest
    chooser: Chooser
    rules: CompiledRegion
    chosen: CompiledRegion

    @property
    def device(self) -> Device:
        return self.chooser.device

    def start(self) -> Looked:
        """Before any candidate is looked at. Nothing to look at is known where nothing can be priced."""
        looked = self.chooser.looked_at(self.rules, self.nest)
        axes = ", ".join(self.nest.axes)
        found = Looked(self.region, str(self.nest.place), axes, dict(looked.sizes), 0.0, 0.0, 0.0, done=True)
        if looked.seconds == inf:
            return found
        rules, default = (self.seconds(made, found.sizes) for made in (self.rules, self.chosen))
        typically = self.typically(self.chosen)
        return replace(
            found, rules=rules, default=default, best=default, done=False, typically=(typically, typically)
        )

    def seconds(self, made: CompiledRegion, sizes: Mapping[str, int]) -> float:
        return self.price(made, sizes, THOROUGH).seconds

    def price(self, made: CompiledRegion, sizes: Mapping[str, int], patience: Patience) -> Price:
        even = self.chooser.stand_in(sizes)
        return price(made, self.nest.kernel, self.device, sizes, patience, even=even)

    def typically(self, made: CompiledRegion) -> float:
        return self.seconds(made, self.chooser.sizes)

    def candidates(self, seed: int) -> Iterator[tuple[bool, Choice]]:
        """All of them in order, and whether an expert would try it."""
        known = points_of(self.nest)
        yield from ((True, choice) for choice in known)
        space, mine = Space(self.nest, self.device), {*known}
        for number in space.drawn(random.Random(f"{seed}:{self.nest.place}")):
            choice = space[number]
            if not space.why_not(choice) and choice not in mine:
                yield False, choice

    def made(self, decisions: Decisions) -> CompiledRegion | None:
        """None where the compiler refuses them."""
        try:
            return self.chooser.realiser.realise((*decisions, *self.chooser.decisions))
        except Diagnosed:
            return None

    def code(self, made: CompiledRegion) -> int:
        """Which two candidates with the same kernel, launched in the same way, have in common."""
        kernel = made.region.kernels[self.nest.kernel]
        return hash((kernel, alone(made.region, kernel.name).body))

    def look(self, made: CompiledRegion, sizes: Mapping[str, int], least: float) -> tuple[str, float]:
        """How far a candidate was looked at, and its seconds."""
        found = self.price(made, sizes, ROUGH)
        if found.seconds == inf:
            return self.look_elsewhere(made, sizes, least) if found.looked_at else ("unfit", inf)
        if found.seconds > CUT * least:
            return "rough", found.seconds
        seconds = self.price(made, sizes, BRIEF).seconds
        return "looked", self.price(made, sizes, THOROUGH).seconds if seconds < least else seconds

    def look_elsewhere(
        self, made: CompiledRegion, sizes: Mapping[str, int], least: float
    ) -> tuple[str, float]:
        """That of a candidate that is too much to look at roughly: its seconds at smaller sizes, by which it
        is left alone, are scaled.
        """
        smaller = {name: max(size // SMALLER, 1) for name, size in sizes.items()}
        seconds, default = (self.quickly(r, smaller) for r in (made, self.chosen))
        if default < inf and CUT * default < seconds < inf:
            return "rough", seconds / default * least
        thorough = self.seconds(made, sizes) if seconds < inf else inf
        return "unknown" if thorough == inf else "looked", thorough

    def quickly(self, made: CompiledRegion, sizes: Mapping[str, int]) -> float:
        return self.price(made, sizes, ROUGH).seconds


@lru_cache(1)
def subjects(program: str, device: str, polybench: str) -> tuple[Subject, ...]:
    """The nests of all regions of a program that are not there to fill or print its arrays."""
    path, options = _source(program, device, polybench)
    file, found = File(path, options), []
    for r in file.realise((), {}).regions:
        if not r.region.name.startswith("polygpu_kernel"):
            continue
        realiser = next(made for scop, made in file.realisers.items() if scop.name == r.scop.name)
        chooser = Chooser(realiser, typical(Ledger(r, file.device), {}), (), effort=Effort(LEFT))
        chosen = chooser.chosen(r)
        kernels = tuple(d for d in chosen if d.key in KERNELS)
        both = realiser.realise(kernels), realiser.realise(chosen)
        free = replace(chooser, decisions=kernels, effort=Effort())
        found += [Subject(r.region.name, nest, free, *both) for nest in nests_of(both[0])]
    return tuple(found)


def _source(program: str, device: str, polybench: str) -> tuple[str, Options]:
    if not polybench:
        return str(programs.source_of(program)), Options(device=device)
    suite, variant = Suite(Path(polybench)), Variant("EXTRALARGE", "float", True)
    source = suite.sources()[program]
    includes = tuple(path for path in suite.includes(source) if path != "-I")
    defines = tuple(macro.removeprefix("-D") for macro in variant.macros)
    return str(source), Options(device=device, includes=includes, defines=defines)


def look_at(
    share: Share, before: Sequence[Mapping[str, Any]], end: float, again: bool = False
) -> list[dict[str, Any]] | None:
    """What is found for the nests of a program, one after the other, until `end` on the clock of all
    processes; of what was found `before` it goes on with what is not done. None if it is too late to start.
    With `again` the defaults are those of this compiler, which may be another than before.
    """
    if time.monotonic() > end:
        return None
    mine = subjects(share.program, share.device, share.polybench)
    known = [_read(one) for one in before]
    if again or not known:
        known = [_beside(subject.start(), known) for subject in mine]
    little = _little(known)
    for subject, one in zip(mine, known, strict=True):
        if any(one is other for other in little):
            one.done, one.counts = True, one.counts or {"little": 1}
        elif not one.done and time.monotonic() < end:
            _go_on(subject, one, share, end)
    return [asdict(one) for one in known]


def _beside(found: Looked, known: Sequence[Looked]) -> Looked:
    """The rules' choice and the default as `found`, beside candidates of that nest that are `known`."""
    nest = found.region, found.place, found.axes, found.sizes
    one = next((k for k in known if (k.region, k.place, k.axes, k.sizes) == nest), None)
    if one is None or not one.default or one.rules != found.rules:
        return found
    if found.default < one.best:
        one = replace(one, best=found.default, decisions="", typically=found.typically)
    return replace(one, default=found.default, typically=(found.typically[0], one.typically[1]))


def _little(known: Sequence[Looked]) -> list[Looked]:
    """Those that together take less than `LITTLE` of what all nests take by default, where that is known."""
    seconds = [one.typically[0] if one.default else 0.0 for one in known]
    found, left = [], LITTLE * sum(seconds)
    for each, one in sorted(zip(seconds, known, strict=True), key=lambda pair: pair[0]):
        left -= each
        if left < 0 or sum(seconds) == inf:
            break
        found.append(one)
    return found


def _read(found: Mapping[str, Any]) -> Looked:
    made = Looked(**found)
    made.typically = made.typically[0], made.typically[1]
    return made


def _go_on(subject: Subject, found: Looked, share: Share, end: float) -> None:
    """Looks at candidates till there are enough, none is left, or it is too late."""
    start, known = time.process_time(), {subject.code(subject.chosen): found.default}
    counts, late = Counter(found.counts), False
    best: CompiledRegion | None = None
    for number, (expert, choice) in enumerate(subject.candidates(share.seed)):
        if number % share.of != share.number or number < found.next:
            continue
        late = time.monotonic() > end
        if late or counts["looked"] >= share.quota:
            break
        found.next = number + 1
        decisions = choice.decisions(subject.nest)
        made = subject.made(decisions)
        how, seconds = "refused", inf
        if made is not None and (code := subject.code(made)) in known:
            how, seconds = "same", known[code]
        elif made is not None:
            how, seconds = subject.look(made, found.sizes, min(found.best, found.rules))
            known[code] = seconds
        counts[how] += 1
        counts["looked"] += how == "rough"
        if expert:
            found.experts.append((named(choice), float(f"{seconds:.4g}")))
        if seconds < found.best:
            best, found.best = made, seconds
            found.decisions = "; ".join(map(str, decisions))
    found.counts, found.done = dict(counts), not late
    if best is not None:
        found.typically = found.typically[0], subject.typically(best)
    found.spent += time.process_time() - start


def named(choice: Choice) -> str:
    """A choice in a few words: `i j 16x16 1x4 8 A,B prefetch full`."""
    shapes = ("x".join(map(str, shape)) for shape in (choice.threads, choice.points))
    deal = "blocked" if choice.deal[0] == "blocked" else ""
    words = (*choice.order, *shapes, deal, choice.width or "", ",".join(choice.staged) or "unstaged")
    return " ".join(str(word) for word in (*words, choice.buffer, choice.unroll) if word not in ("", "none"))
