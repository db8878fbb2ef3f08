"""What choices take when the program runs: built side by side, run one after another, outputs compared.

The seconds of a choice are those of its kernel's launches in one run, the median of several: measured, or, on
the emulator, modelled of what it counts, with what launching takes.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

from polygpu.compilation import Compilation
from polygpu.model.device import Device
from polygpu.perf.profile_time import from_profile
from polygpu.perf.resources import resident
from polygpu.runtime.build import build_original, build_program
from polygpu.runtime.compare import compare_outputs
from polygpu.runtime.errors import error
from polygpu.runtime.execute import Execution, run_program
from polygpu.runtime.profile import read_profile
from polygpu.runtime.whole import has_main
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.files import write_files
from polygpu.tune.evaluate import Evaluate, Evaluation, realised, text_of, without_numbers
from polygpu.tune.plan import Runs, Task
from polygpu.tune.subjects import Subject, compiled
from polygpu.tune.workers import Spread

_SLOWER, _SOON = 10, 10.0  # what takes so many times as long as rules' program, and these seconds, is ended
_ERROR = re.compile(r"\berror\s*:\s*(.*)")
_SAID = re.compile(r"^polygpu: (?!warning: )(.*)", re.MULTILINE)
_PLACE = re.compile(r" \([^()]*\)$")  # in the source, at the end of what a generated program says


@dataclass(frozen=True, slots=True)
class Built:
    """A program, the kernel of it that is looked at, and how many blocks of that a multiprocessor holds."""

    program: Path
    kernel: str
    blocks: int


@dataclass(frozen=True)
class Runner:
    """Runs programs for `limit` seconds each, and compares what they do with what the `original` does.

    `hardware` is the name of what they run on; where they are emulated, that is the `device`.
    """

    runs: Runs
    original: Execution
    limit: float | None
    device: Device
    hardware: str = ""

    def profiles(self, program: Path) -> list[Mapping[str, Any]] | str:
        """Those of several runs, or what is wrong with one."""
        found = []
        for _ in range(self.runs.times):
            profile = self._profile(program)
            if isinstance(profile, str):
                return profile
            found.append(profile)
        return found

    def _profile(self, program: Path) -> Mapping[str, Any] | str:
        place = program.with_suffix(".json")
        place.unlink(missing_ok=True)
        asked = {"POLYGPU_PROFILE": str(place), "CUDA_MODULE_LOADING": "EAGER"}
        try:
            ran = _run(program, self.runs, self.limit, asked)
        except Diagnosed:
            return "it does not end in time"
        if ran.status != self.original.status:
            said = _SAID.findall(ran.stderr.decode(errors="replace"))
            why = without_numbers(_PLACE.sub("", said[-1])) if said else f"exit status {ran.status}"
            return f"it fails: {why}"
        expected, found = (execution.stdout.decode(errors="replace") for execution in (self.original, ran))
        if not compare_outputs(expected, found, self.runs.tolerance).agrees:
            return "it prints something else than the original"
        return read_profile(place) if place.exists() else "it launches no kernel"

    def seconds(self, profiles: Sequence[Mapping[str, Any]], built: Built) -> float:
        """Of all launches of the kernel in a run; inf where there are none."""
        return median(self._seconds(profile, built) for profile in profiles)

    def _seconds(self, profile: Mapping[str, Any], built: Built) -> float:
        kernels = (k for region in profile["regions"] for k in region["kernels"])
        record = next((k for k in kernels if k["name"] == built.kernel and k["launches"]), None)
        if record is None:
            return inf
        if "ms" in record:
            return float(record["ms"]) / 1e3
        each = from_profile(record, self.device, built.blocks).seconds + self.device.costs["launch"]
        return each * float(record["launches"])

    def evaluate(self, spread: Spread, directory: Path, together: int) -> Evaluate:
        """Builds so many programs `together`, runs them, and goes on with the next ones."""

        def each(s: Subject, numbers: list[int]) -> Iterator[Evaluation]:
            for start in range(0, len(numbers), together):
                some = numbers[start : start + together]
                for made, built in list(spread(partial(_built, directory), s, some)):
                    yield self._evaluated(made, built) if built else made

        return each

    def _evaluated(self, made: Evaluation, built: Built) -> Evaluation:
        found = self.profiles(built.program)
        shutil.rmtree(built.program.parent)
        if isinstance(found, str):
            return replace(made, pruned=found)
        seconds = self.seconds(found, built)
        return replace(made, seconds=seconds, pruned="" if seconds < inf else "its kernel is not launched")


def runner(runs: Runs, found: Sequence[Subject], directory: Path) -> tuple[Runner, tuple[Subject, ...]]:
    """What runs the program of these subjects, and those of them that it launches, each with the seconds that
    it takes as rules choose.

    Raises Diagnosed where the program cannot be built, or does not do what the original does.
    """
    file = found[0].file
    path = Path(file.path)
    if not has_main([path.read_text(encoding="utf-8", errors="replace")]):
        raise _unfit(f"{path} has no main: there is no program to run")
    build_original(path, directory / "original", runs.recipe)
    first = Runner(runs, _run(directory / "original", runs, None, {}), runs.timeout, file.device)
    made = compiled(file, {})
    program = _program(made, directory / "rules", runs)
    start = time.monotonic()
    profiles = first.profiles(program)
    if isinstance(profiles, str):
        raise _unfit(f"{path.stem} cannot be measured as rules choose its kernels: {profiles}")
    longest = _SOON + _SLOWER * (time.monotonic() - start) / runs.times
    seconds = [first.seconds(profiles, _kernel(made, s, program)) for s in found]
    launched = tuple(replace(s, rules=took) for s, took in zip(found, seconds, strict=True) if took < inf)
    if not launched:
        raise _unfit(f"{path.stem} launches no kernel that has choices")
    return replace(first, limit=runs.timeout or longest, hardware=profiles[0].get("device", "")), launched


def _unfit(said: str) -> Diagnosed:
    advice = "pass it arguments behind --, or let the model evaluate choices; see `polygpu explain PG916`"
    return Diagnosed(error("PG916", said, advice))


def _built(directory: Path, task: Task, s: Subject, number: int) -> tuple[Evaluation, Built | None]:
    """The program with a choice for one nest, others as rules choose; or why there is none."""
    assert task.runs is not None
    decisions = s.decisions(number)
    made, fits = Evaluation(number, text_of(decisions), inf), realised(s, number, task.limits)
    if isinstance(fits, str):
        return replace(made, pruned=fits), None
    try:
        whole = compiled(s.file, {s.region: decisions})
        program = _program(whole, directory / f"{s.kernel}_{number}", task.runs)
    except Diagnosed as problem:
        return replace(made, pruned=f"it does not build: {_compilers_error(problem)}"), None
    return made, _kernel(whole, s, program)


def _compilers_error(problem: Diagnosed) -> str:
    """What a compiler says of all choices alike."""
    said = problem.diagnostics[0].message
    return without_numbers(_ERROR.findall(said)[0] if _ERROR.search(said) else said.partition("\n")[0])


def _program(made: Compilation, directory: Path, runs: Runs) -> Path:
    """Writes the files of a compilation into a new directory, and builds them."""
    directory.mkdir()
    files = {suffix: directory / f"{made.unit.stem}{suffix}" for suffix in made.files}
    write_files({files[suffix]: text for suffix, text in made.files.items()})
    build_program(files, directory / made.unit.stem, runs.recipe)
    return directory / made.unit.stem


def _kernel(made: Compilation, s: Subject, program: Path) -> Built:
    (region,) = (r.region for r in made.regions if r.scop.name == s.region)
    kernel = region.kernels[s.nest.kernel]
    return Built(program, kernel.name, resident(kernel, made.device).blocks)


def _run(program: Path, runs: Runs, limit: float | None, environment: Mapping[str, str]) -> Execution:
    return run_program(
        program,
        runs.arguments,
        capture=True,
        stdin=runs.stdin,
        environment=environment,
        timeout=limit,
        errors=True,
    )
