"""What one worker does: a batch of random programs, or making one that fails small."""

from __future__ import annotations

import gc
import re
import signal
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from random import Random

from benchmarks.programs import ProgramError
from polygpu.support.diagnostics import Diagnosed, render
from tests.fuzz.compilation import Setup, random_setup
from tests.fuzz.examine import Batch, Failure, Outcome, alone
from tests.fuzz.generate import program
from tests.fuzz.kinds import FORMS, STAYING, SUMS, forms_of
from tests.fuzz.program import Program
from tests.fuzz.shrink import shrink
from tests.fuzz.sizes import tried_at
from tests.fuzz.staying import differs

NOT_EXAMINED = "not examined"  # programs of a batch whose original is no defined program
RUNNING = {"PG903": "build", "PG904": "crash"}  # what errors of building and running a program mean
_ERROR = re.compile(r"error: ([a-z ]+)")
_drawn = lru_cache(maxsize=1000)(program)  # a job asks for its programs more than once
_NAMES = re.compile(r"'[^']*'|\d+")


@dataclass(frozen=True)
class Job:
    """Programs `first` to `first + count` of `seed`, or those of `form` (`tests.fuzz.kinds`), which run on
    the emulator and on `others`, "opencl" and "cuda".

    Some batches have sums only, whose terms may come in another order.
    """

    seed: int
    first: int
    count: int
    others: tuple[str, ...] = ()
    form: str = ""

    def setup(self) -> Setup:
        if self.form == STAYING:
            return Setup("emulator", "", level=0)
        found = random_setup(Random(f"{self.seed}:{self.first}:setup"), self._programs())
        return replace(found, reassociate=self._sums)

    @property
    def _sums(self) -> bool:
        return self.form == SUMS or Random(f"{self.seed}:{self.first}:sums").random() < 0.06

    def programs(self) -> list[Program]:
        """Tried at what the setup assumes, too."""
        assumed = self.setup().assumed
        return [tried_at(p, assumed) for p in self._programs()]

    def forms(self, p: Program) -> tuple[str, ...]:
        """Those of one of its programs."""
        return (*forms_of(p), *((SUMS,) if self._sums else ()))

    def _programs(self) -> list[Program]:
        return [self._program(f"{self.seed}:{self.first + k}") for k in range(self.count)]

    def _program(self, seed: str) -> Program:
        tries = (_drawn(seed if k == 0 else f"{seed}:{k}", self._sums) for k in count())
        return next(filter(self._has_form, tries))

    def _has_form(self, p: Program) -> bool:
        has = FORMS[self.form].has if self.form else None
        return has(p) if has else self.form in ("", SUMS)


def examine(job: Job) -> tuple[Job, Outcome]:
    with tempfile.TemporaryDirectory(prefix="polygpu-fuzz-") as name:
        return job, (_staying if job.form == STAYING else _compared)(job, Path(name))


def _compared(job: Job, directory: Path) -> Outcome:
    programs = job.programs()
    try:
        batch = Batch(programs, directory)
    except ProgramError as problem:
        failure = Failure(0, "invalid", str(problem), Setup("original", ""))
        return Outcome([failure], Counter({NOT_EXAMINED: job.count}))
    if batch.valid:
        batch.examine(job.setup(), *job.others)
    batch.outcome.counts["programs" if batch.valid else NOT_EXAMINED] += job.count
    batch.outcome.forms.update({k: job.forms(p) for k, p in enumerate(programs)})
    return batch.outcome


def _staying(job: Job, directory: Path) -> Outcome:
    found = Outcome(counts=Counter({"programs": job.count}))
    for k in range(job.count):
        found.forms[k] = (STAYING,)
        if failure := _stayed(k, job, directory):
            found.failures.append(failure)
    return found


def _stayed(number: int, job: Job, directory: Path) -> Failure | None:
    """What is wrong with a program whose arrays stay on the device."""
    try:
        text, kind = differs(job.seed * 1_000_000 + job.first + number, directory), "differs"
    except Diagnosed as problem:
        error = next(d for d in problem.diagnostics if d.severity == "error")
        text, kind = render([error], {}), RUNNING.get(error.id, "refused")
    except Exception:  # noqa: BLE001 - any exception is what is looked for
        text, kind = traceback.format_exc(), "traceback"
    return Failure(number, kind, text, job.setup()) if text else None


def start() -> None:
    """Of a worker, which is not what an interrupt is for, and leaves few circles, as `polygpu.cli.main`."""
    gc.set_threshold(100_000)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def describe(job: Job, failure: Failure) -> str:
    size = "" if failure.size is None else f" at n={failure.size[0]} m={failure.size[1]}"
    first = failure.text.strip().splitlines()
    text = first[-1] if failure.kind == "traceback" else first[0] if first else ""
    name = f"{job.seed}:{job.first + failure.number}"
    setup = alone(failure.setup, failure.number).words()
    return f"program {name} {failure.kind}{size}, {setup}: {text}"


def what(kind: str, text: str) -> tuple[str, str]:
    """What fails, without names and numbers: a smaller program that fails in another way is another one."""
    match kind:
        case "traceback" | "verifier":
            said = text.strip().splitlines()[-1].split(":")[0] if text.strip() else ""
        case "certificate":
            said = text.partition(": ")[2].split(";")[0]
        case "crash" | "check":
            error = _ERROR.search(text)
            said = error[1] if error else ""
        case _:
            said = ""
    return kind, _NAMES.sub("", said)


def reduced(job: Job, failure: Failure, seconds: float) -> tuple[Program, Setup, str]:
    """A small program that fails in the same way in a file of its own, how it is compiled, what it says."""
    start = job.programs()[failure.number]
    setup = alone(failure.setup, failure.number)

    wanted = what(failure.kind, failure.text)

    def fails(candidate: Program, setup: Setup = setup) -> bool:
        return any(what(*found) == wanted for found in outcomes(candidate, setup))

    if not fails(start):
        return start, setup, "only in its batch"
    if setup.assume and fails(start, replace(setup, assume=())):
        setup = replace(setup, assume=())
    for fewer in (replace(setup, decisions=()), *(replace(setup, decisions=(d,)) for d in setup.decisions)):
        if fails(start, fewer):
            setup = fewer
            break
    if not setup.pragmas and fails(start, replace(setup, pragmas=True)):
        setup = replace(setup, pragmas=True)
    small = shrink(start, lambda candidate: fails(candidate, setup), seconds)
    texts = [text for kind, text in outcomes(small, setup) if what(kind, text) == wanted]
    return small, setup, texts[0] if texts else "not every time"


def outcomes(candidate: Program, setup: Setup) -> list[tuple[str, str]]:
    """What fails with one program alone: kinds and texts; nothing if it is no valid program."""
    with tempfile.TemporaryDirectory(prefix="polygpu-fuzz-") as name:
        try:
            batch = Batch([candidate], Path(name))
        except (ProgramError, KeyError, ValueError):
            return []
        if not batch.valid:
            return []
        batch.examine(setup)
        return [(f.kind, f.text) for f in batch.outcome.failures]
