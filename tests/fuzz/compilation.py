"""How a batch is compiled, and what a compilation and its certificates say, from a process of its own."""

from __future__ import annotations

import multiprocessing
import re
import shlex
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import TypeAlias

from polygpu import compiler
from polygpu.compilation import Compilation, Options
from polygpu.lower.realise import CompiledRegion
from polygpu.mapping.check import check_grid
from polygpu.mapping.wanted import RefusedError
from polygpu.model.device import Device
from polygpu.model.kernel_walk import hidden_names
from polygpu.perf.resources import allocated_bytes
from polygpu.pipeline import File, decisions_of
from polygpu.printing.countdown import counted_down
from polygpu.printing.emit import emit_device
from polygpu.support.diagnostics import Diagnosed, Diagnostic, render
from polygpu.verify.certificate import certify
from tests.fuzz.decisions import drawn, spaces
from tests.fuzz.program import Program
from tests.fuzz.sizes import ASSUMED

DEVICES = ("8800gtx", "gtx285", "h100", "generic")
HANG = 120  # seconds of the processor for a batch to compile
PROOF = 2.0  # seconds for the certificate of a region
PATIENCE = 30  # seconds of the processor until a certificate that goes on has not kept to that
STILL = 3600  # seconds until a process that uses no processor ends
FORK = multiprocessing.get_context("fork")
ENOUGH = 20  # seconds of the processor for finding out which decisions are refused
_NUMBER = re.compile(r"p(\d+)_")


@dataclass(frozen=True)
class Setup:
    """How a batch is compiled. `decisions` are for the functions of single programs, each a text."""

    target: str
    device: str
    decisions: tuple[str, ...] = ()
    pragmas: bool = True
    assume: tuple[str, ...] = ()
    level: int = 1
    reassociate: bool = False

    def options(self) -> Options:
        return Options(
            target=self.target,
            device=self.device,
            decisions=self.decisions,
            assume=self.assume,
            level=self.level,
            reassociate=self.reassociate,
        )

    @property
    def assumed(self) -> dict[str, int]:
        return {name: int(value) for name, value in (a.split("=") for a in self.assume)}

    def words(self) -> str:
        """As options of the command line."""
        words = [
            "-O",
            str(self.level),
            "--target",
            self.target,
            *(("--device", self.device) if self.device else ()),
            *(("--reassociate",) if self.reassociate else ()),
        ]
        words += [w for d in self.decisions for w in ("--decide", shlex.quote(d))]
        return " ".join([*words, *(w for a in self.assume for w in ("--assume", a))])


def random_setup(random: Random, programs: Sequence[Program]) -> Setup:
    decisions = [d for k, p in enumerate(programs) for d in drawn(random, k, p)]
    device, pragmas = random.choice(DEVICES), random.random() > 0.15
    cached = random.random() < 0.25
    assume: tuple[str, ...] = ()
    if random.random() < (0.6 if cached else 0.15):  # the constant cache wants sizes that are known
        assume = _assumptions(random)
    if cached:
        decisions += [d for k, p in enumerate(programs) for d in spaces(random, k, p)]
    level = random.choice((0, 1, 1, 1, 2, 2))
    return Setup("emulator", device, tuple(decisions), pragmas, assume, level)


def _assumptions(random: Random) -> tuple[str, ...]:
    n, m = random.choice(ASSUMED)
    return random.choice(((f"n={n}", f"m={m}"),) * 3 + ((f"n={n}",), (f"m={m}",)))


@dataclass(frozen=True)
class Compiled:
    """What is left of a compilation that another process has made; of which program each region is."""

    files: dict[str, str]
    counts: dict[str, int]
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Refused:
    """`lines` are those of the file that errors are about."""

    text: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class Certified:
    """The certificate of a region of program `number`: "holds", "open", "fails", "raises", "no end"."""

    number: int
    verdict: str
    text: str = ""


Answer: TypeAlias = Compiled | Refused | str | None
Message: TypeAlias = Answer | Certified


def compiled(file: Path, setup: Setup, targets: Sequence[str]) -> tuple[Answer, list[Certified]]:
    """Compiles `file` in a process of its own, for all `targets` with the same kernels.

    The answer is the traceback if that raises, None if it does not end in time.
    """
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_send, args=(lambda: _steps(file, setup, targets), sender))
    process.start()
    sender.close()
    try:
        messages = list(_received(receiver))
    finally:
        process.kill()
        process.join()
    if process.exitcode == -signal.SIGPROF:
        messages.append(None)
    match messages:
        case []:
            return f"the compiler ended without a word, status {process.exitcode}", []
        case [None | Refused() | str() as answer, *_]:
            return answer, []
        case [Compiled() as answer, *rest]:
            return answer, [_certified(m, number) for m, number in zip(rest, answer.numbers, strict=False)]
    raise AssertionError(f"unexpected messages {messages}")


def _received(receiver: Connection) -> Iterator[Message]:
    """What the process says until it ends; None in the end if it stands still."""
    while receiver.poll(STILL):
        try:
            yield receiver.recv()
        except EOFError:
            return
    yield None


def _certified(message: Message, number: int) -> Certified:
    match message:
        case Certified():
            return message
        case None:
            return Certified(number, "no end", f"no certificate after {PATIENCE} s, where it has {PROOF} s")
        case text:
            return Certified(number, "raises", str(text))


def _send(work: Callable[[], Iterator[Message]], sender: Connection) -> None:
    """Ends by the clock of the processor, which other processes do not move on, where there is no answer."""
    signal.setitimer(signal.ITIMER_PROF, HANG)
    try:
        for message in work():
            sender.send(message)
            signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    except Exception:  # noqa: BLE001 - any exception is what is looked for
        sender.send(traceback.format_exc())


def _steps(file: Path, setup: Setup, targets: Sequence[str]) -> Iterator[Message]:
    done, refused = fitting(file, setup)
    if isinstance(done, Refused):
        yield done
        return
    files = dict(done.files)
    for target in targets if files else ():
        files.update(emit_device(done.unit, done.device, target))
    are_well_formed(done.regions)
    fit(done.regions, done.device)
    numbers = tuple(map(_number, done.regions))
    yield Compiled(files, {"regions": done.offloaded, "decisions refused": refused}, numbers)
    for region in done.regions:
        yield certificate(region, PROOF)


def are_well_formed(regions: Iterable[CompiledRegion]) -> None:
    """Raises AssertionError where the checker of grids finds something, a kernel declares what is known
    there (see `hidden_names`), a statement has no instance, or one of it has no place in the order, or
    several.
    """
    problems = [problem for r in regions for grid in r.grids for problem in check_grid(grid)]
    assert not problems, problems
    for kernel in (kernel for r in regions for kernel in r.region.kernels):
        for body in (kernel.body, counted_down(kernel.body)):
            hidden = [*hidden_names(body, frozenset(s.name for s in kernel.scalars))]
            assert not hidden, f"{kernel.name} hides {hidden}"
    for statement in (s for r in regions for s in r.polyhedra.statements):
        order = statement.schedule
        placed = statement.domain.is_subset(order.domain()) and order.is_single_valued()
        assert placed, f"instances of {statement.name} have no place"
        assert not statement.domain.is_empty(), f"{statement.name} has no instances"


def fit(regions: Iterable[CompiledRegion], device: Device) -> None:
    """Raises AssertionError where a kernel's arrays have no room in shared memory."""
    for kernel in (kernel for r in regions for kernel in r.region.kernels):
        size = allocated_bytes(kernel, device)
        assert size <= device.shared_per_block, f"{kernel.name} takes {size} bytes of shared memory"


def fitting(file: Path, setup: Setup) -> tuple[Compilation | Refused, int]:
    """Compiles, without the decisions that a kernel cannot follow, or nothing assumed where no program has
    the parameter; how many refusals that took.
    """
    start, count = time.process_time(), 0
    opened: dict[tuple[str, ...], File] = {}  # by what is assumed; prepared once, decisions come and go
    while True:
        try:
            options = setup.options()
            if setup.assume not in opened:
                opened[setup.assume] = compiler.opened(str(file), options)
            return opened[setup.assume].realise(decisions_of(options), dict(options.care)), count
        except Diagnosed as problem:
            errors = [d for d in problem.diagnostics if d.severity == "error"]
            fewer = _fewer(setup, problem, errors[0], time.process_time() - start)
            if fewer == setup:
                return Refused(
                    render(errors, {}), tuple(d.position.line for d in errors if d.position)
                ), count
            setup, count = fewer, count + 1


def _fewer(setup: Setup, problem: Diagnosed, error: Diagnostic, seconds: float) -> Setup:
    """The setup without what is refused; without any decision where it takes long to find out."""
    if error.id == "PG312":
        return replace(setup, assume=())
    said = str(problem.decision) if isinstance(problem, RefusedError) else error.message
    left = tuple(d for d in setup.decisions if d not in said)
    if left == setup.decisions:
        return setup
    return replace(setup, decisions=left if seconds < ENOUGH else ())


def _number(region: CompiledRegion) -> int:
    """Of which program of the batch it is."""
    found = _NUMBER.search(region.scop.name)
    return int(found[1]) if found else 0


def certificate(region: CompiledRegion, budget: float) -> Certified:
    number = _number(region)
    try:
        made = certify(region, budget)
    except Exception:  # noqa: BLE001 - any exception is what is looked for
        return Certified(number, "raises", traceback.format_exc())
    if made.failures:
        return Certified(number, "fails", "\n".join(str(f) for f in made.failures))
    if misused := [u for u in made.unproved if u.reason.startswith("isl:") and "Assertion" not in u.reason]:
        return Certified(
            number, "raises", str(misused[0])
        )  # isl refuses what it was asked: a mistake of the verifier
    if made.unproved:
        return Certified(number, "open", "; ".join(f"{u.property}: {u.reason}" for u in made.unproved))
    return Certified(number, "holds")
