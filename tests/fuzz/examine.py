"""Compiles a batch of programs for a target, and compares what it does with the original."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks import programs
from benchmarks.programs import ProgramError
from tests.fuzz.compilation import HANG, Certified, Compiled, Refused, Setup, compiled
from tests.fuzz.program import Program
from tests.fuzz.text import program_at, source

FLAGS = ("-O0", "-w", "-ffp-contract=off")  # a program runs for a moment: compiling it is what takes time
CHECKED = (  # of the emulator: a bound, guard or subscript that int does not hold ends the program
    *FLAGS, "-DPOLYGPU_CHECK=1",
    "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,bounds", "-fno-sanitize-recover=all",
)  # fmt: skip
SANITIZED = (
    "-O0", "-w", "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=undefined",
)  # fmt: skip
PLAIN = ("-O3", "-w", "-fmad=false")
TIMEOUT = 120
LONG = 600  # nvcc takes seconds for each dozen of kernels


@dataclass(frozen=True)
class Failure:
    """`kind`: one of

    "traceback", "hang", "refused", "build"; "crash", "check" (of the emulator), "differs"; "certificate"
    (a counterexample), "verifier" (it raises), "budget" (it goes on for long); "invalid" (the original is
    no defined program).
    """

    number: int
    kind: str
    text: str
    setup: Setup
    size: tuple[int, int] | None = None


@dataclass
class Outcome:
    """`forms` of each program by its number."""

    failures: list[Failure] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    certificates: list[Certified] = field(default_factory=list)
    forms: dict[int, tuple[str, ...]] = field(default_factory=dict)


def gcc(directory: Path, program: str, flags: Sequence[str], files: Sequence[str], *libraries: str) -> None:
    """Raises ProgramError."""
    paths = [directory / file for file in files]
    programs.call(("gcc", *flags, *paths, "-o", directory / program, *libraries, "-lm"), TIMEOUT)


def nvcc(directory: Path, program: str, host: str, device: str) -> None:
    """For the chip that is here, with products and sums rounded as the original's. Raises ProgramError."""
    objects = [directory / "host.o", directory / "device.o"]
    programs.call(("gcc", *FLAGS, "-c", directory / host, "-o", objects[0]), TIMEOUT)
    command = (*programs.nvcc(), "-arch=native")
    programs.call((*command, *PLAIN, "-c", directory / device, "-o", objects[1]), LONG)
    programs.call((*command, *objects, "-o", directory / program, "-lm"), TIMEOUT)


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
    cache = program.parent / "kernels"
    cache.mkdir(exist_ok=True)
    try:
        done = subprocess.run(
            (str(program), *arguments),
            capture_output=True, text=True, errors="replace", check=False, timeout=TIMEOUT,
            env={**os.environ, "POCL_CACHE_DIR": str(cache)},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Run(None, "", f"no end after {TIMEOUT} s")
    return Run(done.returncode, done.stdout, done.stderr)


class Batch:
    """Programs in one file, their original built and run once, for any number of setups."""

    def __init__(self, programs: Sequence[Program], directory: Path) -> None:
        """Raises ProgramError if the original cannot be built."""
        self.programs, self.directory = list(programs), directory
        self.outcome = Outcome()
        self.others: tuple[str, ...] = ()  # targets beside a setup's
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
        if not self.outcome.failures:  # only together: the batch must not count as examined
            self.outcome.failures.append(
                Failure(0, "invalid", _head(self.whole.errors), Setup("original", ""))
            )

    @property
    def valid(self) -> bool:
        return self.whole.fine

    def examine(self, setup: Setup, *others: str) -> None:
        """Adds what goes wrong with `setup`, for its target and `others`, to the outcome."""
        self.others = others
        file = self.directory / "fuzz.c"
        file.write_text(source(self.programs, setup.pragmas))
        answer, certificates = compiled(file, setup, others)
        for made in certificates:
            self._judge(made, setup)
        match answer:
            case Compiled(files, counts):
                self.outcome.counts += Counter(counts)
                for suffix, text in files.items():
                    (self.directory / f"fuzz{suffix}").write_text(text)
                for target in (setup.target, *others) if files else ():
                    self._try(replace(setup, target=target))
            case Refused(text) as refused:
                self._fail_each("refused", text, setup, apart(refused, self.programs, setup))
            case None:
                self._fail_each("hang", f"no end after {HANG} s", setup)
            case text:
                self._fail_each("traceback", text, setup)

    def _judge(self, made: Certified, setup: Setup) -> None:
        self.outcome.certificates.append(made)
        match made.verdict:
            case "fails":
                self.outcome.failures.append(Failure(made.number, "certificate", made.text, setup))
            case "raises":
                self.outcome.failures.append(Failure(made.number, "verifier", made.text, setup))
            case "no end":
                self.outcome.failures.append(Failure(made.number, "budget", made.text, setup))

    def _try(self, setup: Setup) -> None:
        """Builds and runs what is compiled."""
        program = f"program_{setup.target}"
        try:
            match setup.target:
                case "emulator":
                    gcc(self.directory, program, CHECKED, ["fuzz_host.c", "fuzz_emulator.c"])
                case "opencl":
                    gcc(self.directory, program, FLAGS, ["fuzz_host.c", "fuzz_opencl.c"], "-lOpenCL")
                case "cuda":
                    nvcc(self.directory, program, "fuzz_host.c", "fuzz_cuda.cu")
                case other:
                    raise ValueError(other)
        except ProgramError as problem:
            self._fail_each("build", str(problem), setup)
            return
        self.outcome.counts[setup.target] += len(self.programs)
        self._compare(self.directory / program, setup)

    def _compare(self, program: Path, setup: Setup) -> None:
        found = run(program)
        self.outcome.counts["on the host"] += found.errors.count("the loop runs on the host")
        if found.fine and found.output == self.whole.output:
            return
        if not found.fine and "program build" in found.errors and len(self.programs) > 1:
            self._fail_each("build", _head(found.errors), setup)  # one program's kernel, but no other ran
            return
        for k, p in enumerate(self.programs):
            if setup.target == "cuda" and "cabs" in source([p]):
                continue  # hypot of CUDA may be another last bit than the C library's
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

    def _fail_each(self, kind: str, text: str, setup: Setup, parts: Sequence[Sequence[int]] = ()) -> None:
        """A failure of the whole batch: which of its programs fail, in `parts` of it or alone?"""
        if len(self.programs) == 1:
            self.outcome.failures.append(Failure(0, kind, text, setup))
            return
        for part in parts or [[k] for k in range(len(self.programs))]:
            self._examine_part(part, kind, setup)

    def _examine_part(self, part: Sequence[int], kind: str, setup: Setup) -> None:
        directory = self.directory / f"part{'_'.join(map(str, part))}"
        directory.mkdir(exist_ok=True)
        batch = Batch([self.programs[k] for k in part], directory)
        batch.examine(for_part(setup, part), *(() if kind == "build" else self.others))
        found = batch.outcome
        self.outcome.failures += [
            replace(f, number=part[f.number], setup=replace(setup, target=f.setup.target))
            for f in found.failures
        ]
        if kind != "build":  # else they are counted already
            self.outcome.certificates += [replace(c, number=part[c.number]) for c in found.certificates]
            self.outcome.counts += found.counts


def apart(refused: Refused, programs: Sequence[Program], setup: Setup) -> list[list[int]]:
    """In which parts a batch is compiled again: programs that errors are about alone, the others together;
    all alone where errors name none.
    """
    named = {program_at(line, programs, setup.pragmas) for line in refused.lines}
    numbers = range(len(programs))
    others = [k for k in numbers if k not in named]
    if len(others) == len(programs):
        return [[k] for k in numbers]
    return [*([k] for k in numbers if k in named), *([others] if others else [])]


def alone(setup: Setup, number: int) -> Setup:
    """The setup for program `number` of a batch in a file of its own."""
    return for_part(setup, (number,))


def for_part(setup: Setup, numbers: Sequence[int]) -> Setup:
    """The setup for some programs of a batch in a file of their own."""
    new = {str(number): str(k) for k, number in enumerate(numbers)}
    mine = (d for d in setup.decisions if d.split(":")[0][1:] in new)
    named = re.compile(r"\b([pG])(\d+)(?=[:_])")
    renamed = (named.sub(lambda m: m[1] + new.get(m[2], m[2]), d) for d in mine)
    return replace(setup, decisions=tuple(renamed))


def _head(text: str) -> str:
    return "\n".join(text.splitlines()[:12])
