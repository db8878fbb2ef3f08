"""Compiles a batch of programs for a target, and compares what it does with the original."""

from __future__ import annotations

import multiprocessing
import subprocess
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import TypeVar

from polygpu.pipeline import Options, compile_file
from polygpu.support.diagnostics import Diagnosed, render
from tests.fuzz.program import Program
from tests.fuzz.text import source

T = TypeVar("T")
DEVICES = ("8800gtx", "gtx285", "h100")
FLAGS = ("-O0", "-w", "-ffp-contract=off")  # a program runs for a moment: compiling it is what takes time
SANITIZED = (
    "-O0", "-w", "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=undefined",
)  # fmt: skip
TIMEOUT = 120
HANG = 40  # seconds for a batch to compile
FORK = multiprocessing.get_context("fork")
HARMLESS = ("no double precision",)  # what a generated program may say


@dataclass(frozen=True)
class Setup:
    """How a batch is compiled. `decisions` name kernels of single programs by their number in the batch."""

    target: str
    device: str
    decisions: tuple[str, ...] = ()
    pragmas: bool = True

    def options(self) -> Options:
        return Options(target=self.target, device=self.device, decisions=self.decisions)

    def words(self) -> str:
        """As options of the command line."""
        words = ["--target", self.target, *(("--device", self.device) if self.device else ())]
        return " ".join([*words, *(w for d in self.decisions for w in ("--decide", d))])


@dataclass(frozen=True)
class Failure:
    """`kind`: "traceback", "hang", "refused", "build", "crash", "check", "differs" or "invalid"."""

    number: int
    kind: str
    text: str
    setup: Setup
    size: tuple[int, int] | None = None


@dataclass
class Outcome:
    failures: list[Failure] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def random_setup(random: Random, count: int, target: str) -> Setup:
    decisions = [d for k in range(count) for d in _decisions(random, k)]
    device = "" if target == "opencl" and random.random() < 0.5 else random.choice(DEVICES)
    return Setup(target, device, tuple(decisions), random.random() > 0.15)


def _decisions(random: Random, number: int) -> list[str]:
    """Sometimes a few for the kernels of program `number`; those that do not fit are dropped later."""
    if random.random() < 0.6:
        return []
    choices = {
        "deal": ("cyclic", "blocked", "grouped"),
        "step": ("4", "8", "16", "5", "32"),
        "buffering": ("none", "prefetch", "ring"),
        "stages": ("2", "3", "4"),
        "stage": ("on", "off"),
        "pad": ("0", "1", "3", "auto"),
    }
    keys = random.sample(list(choices), random.choice((1, 1, 2, 3)))
    picked = {key: random.choice(choices[key]) for key in keys}
    if "tile" in picked and random.random() < 0.5:
        picked["threads"] = {"16x16": "8x8", "8x32": "4x16", "32": "8", "64x16": "16x4"}.get(
            picked["tile"], ""
        )
    kernels = [f"p{number}_{r}_k{k}" for r in range(2) for k in range(3)]
    return [f"{kernel}:{key}={value}" for kernel in kernels for key, value in picked.items() if value]


@dataclass(frozen=True)
class Compiled:
    """What is left of a compilation that another process has made."""

    files: dict[str, str]
    counts: dict[str, int]


@dataclass(frozen=True)
class Refused:
    number: str
    text: str


def _fitting(file: Path, setup: Setup) -> Compiled | Refused:
    """Compiles, without the decisions where a device cannot follow them."""
    try:
        done = compile_file(str(file), setup.options())
    except Diagnosed as refused:
        errors = [d for d in refused.diagnostics if d.severity == "error"]
        if setup.decisions and errors[0].id in ("PG304", "PG305"):
            answer = _fitting(file, replace(setup, decisions=()))
            if isinstance(answer, Refused):
                return answer
            return replace(answer, counts={**answer.counts, "decisions refused": 1})
        return Refused(errors[0].id, render(errors, {}))
    return Compiled(done.files, {"offloaded": done.offloaded})


def in_time(work: Callable[[], T], seconds: float) -> T | str | None:
    """`work()` in a process of its own: the traceback if it raises, None if it does not end in time."""
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_answer, args=(work, sender))
    process.start()
    sender.close()
    try:
        answer: T | str = receiver.recv() if receiver.poll(seconds) else ""
    except EOFError:
        return f"the compiler ended without a word, status {process.exitcode}"
    finally:
        process.kill()
        process.join()
    return answer or None


def _answer(work: Callable[[], T], sender: Connection) -> None:
    try:
        sender.send(work())
    except Exception:  # noqa: BLE001 - any exception is what is looked for
        sender.send(traceback.format_exc())


def gcc(directory: Path, program: str, flags: Sequence[str], files: Sequence[str], *libraries: str) -> None:
    """Raises CalledProcessError."""
    command = ("gcc", *flags, *files, "-o", program, *libraries, "-lm")
    subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True, timeout=TIMEOUT)


@dataclass(frozen=True)
class Run:
    """`status` is None when it did not end in time."""

    status: int | None
    output: str
    errors: str

    @property
    def fine(self) -> bool:
        return self.status == 0


def run(program: Path, *arguments: str) -> Run:
    try:
        done = subprocess.run(
            (str(program), *arguments),
            capture_output=True, text=True, errors="replace", check=False, timeout=TIMEOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Run(None, "", f"no end after {TIMEOUT} s")
    return Run(done.returncode, done.stdout, done.stderr)


class Batch:
    """Programs in one file, their original built and run once, for any number of setups."""

    def __init__(self, programs: Sequence[Program], directory: Path) -> None:
        """Raises CalledProcessError if the original cannot be built."""
        self.programs, self.directory = list(programs), directory
        self.outcome = Outcome()
        (directory / "original.c").write_text(source(self.programs))
        gcc(directory, "original", SANITIZED, ["original.c"])
        self.expected = {k: Run(0, "", "") for k in range(len(self.programs))}
        self.whole = run(directory / "original")
        if not self.whole.fine:
            self._find_invalid()

    def _find_invalid(self) -> None:
        """A program whose original has undefined behaviour is the generator's mistake."""
        for k in range(len(self.programs)):
            alone = run(self.directory / "original", str(k))
            if not alone.fine:
                self.outcome.failures.append(
                    Failure(k, "invalid", _head(alone.errors), Setup("original", ""))
                )

    @property
    def valid(self) -> bool:
        return self.whole.fine

    def examine(self, setup: Setup) -> None:
        """Adds what goes wrong with `setup` to the outcome."""
        compilation = self._compile(setup)
        if compilation is None:
            return
        if not compilation.files:
            self.outcome.counts["nothing offloaded"] += 1
            return
        program = f"program_{setup.target}"
        try:
            self._build(compilation, setup.target, program)
        except subprocess.CalledProcessError as problem:
            self._fail_each("build", _head(problem.stderr), setup)
            return
        self._compare(self.directory / program, setup)

    def _compile(self, setup: Setup) -> Compiled | None:
        file = self.directory / "fuzz.c"
        file.write_text(source(self.programs, setup.pragmas))
        answer = in_time(lambda: _fitting(file, setup), HANG)
        match answer:
            case Compiled():
                self.outcome.counts += Counter(answer.counts)
                return answer
            case Refused(number, text):
                self.outcome.counts[f"refused {number}"] += 1
                self._fail_each("refused", text, setup)
            case None:
                self._fail_each("hang", f"no end after {HANG} s", setup)
            case text:
                self._fail_each("traceback", text, setup)
        return None

    def _build(self, compilation: Compiled, target: str, program: str) -> None:
        for suffix, text in compilation.files.items():
            (self.directory / f"fuzz{suffix}").write_text(text)
        if target == "emulator":
            gcc(self.directory, program, (*FLAGS, "-DPOLYGPU_CHECK=1"), ["fuzz_host.c", "fuzz_emulator.c"])
        else:
            gcc(self.directory, program, FLAGS, ["fuzz_host.c", "fuzz_opencl.c"], "-lOpenCL")

    def _compare(self, program: Path, setup: Setup) -> None:
        found = run(program)
        self.outcome.counts["on the host"] += found.errors.count("the loop runs on the host")
        if found.fine and found.output == self.whole.output:
            return
        if not found.fine and "program build" in found.errors and len(self.programs) > 1:
            self._fail_each("build", _head(found.errors), setup)  # one program's kernel, but no other ran
            return
        for k, p in enumerate(self.programs):
            for size in p.sizes:
                if failure := self._difference(program, k, size, setup):
                    self.outcome.failures.append(failure)
                    break

    def _difference(self, program: Path, k: int, size: tuple[int, int], setup: Setup) -> Failure | None:
        arguments = (str(k), *map(str, size))
        found, expected = run(program, *arguments), run(self.directory / "original", *arguments)
        if found.status == 3:
            return Failure(k, "check", _head(found.errors), setup, size)
        if not found.fine:
            kind = "build" if "program build" in found.errors else "crash"
            return Failure(k, kind, f"status {found.status}: {_head(found.errors)}", setup, size)
        if found.output != expected.output:
            pairs = zip(expected.output.splitlines(), found.output.splitlines(), strict=False)
            wrong = [a.split()[0] for a, b in pairs if a != b]
            return Failure(k, "differs", " ".join(wrong) or "(output)", setup, size)
        return None

    def _fail_each(self, kind: str, text: str, setup: Setup) -> None:
        """A failure of the whole batch: which of its programs fail alone?"""
        if len(self.programs) == 1:
            self.outcome.failures.append(Failure(0, kind, text, setup))
            return
        for k, p in enumerate(self.programs):
            single = self.directory / f"single{k}"
            single.mkdir(exist_ok=True)
            batch = Batch([p], single)
            batch.examine(alone(setup, k))
            self.outcome.failures += [replace(f, number=k) for f in batch.outcome.failures]
            self.outcome.counts += Counter(
                {key: n for key, n in batch.outcome.counts.items() if key != "offloaded"}
            )


def alone(setup: Setup, number: int) -> Setup:
    """The setup for program `number` of a batch in a file of its own."""
    mine = [d for d in setup.decisions if d.startswith(f"p{number}_")]
    return replace(setup, decisions=tuple(d.replace(f"p{number}_", "p0_", 1) for d in mine))


def _head(text: str) -> str:
    return "\n".join(line for line in text.splitlines()[:12] if not any(h in line for h in HARMLESS))
