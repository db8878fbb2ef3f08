"""Whether a mutant behaves differently, and who notices: the certificate, or the checking emulator."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from benchmarks import programs
from polygpu import pipeline
from polygpu.compilation import Compilation, Options
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import is_floating
from polygpu.model.kernel import Region, Unit
from polygpu.printing.emit import emit_device
from polygpu.runtime import trial
from polygpu.runtime.region_driver import Driver, driver
from polygpu.verify.certificate import certify

LINE = (0, 1, 2, 3, 5, 16, 17, 31, 33, 63, 64, 65, 100, 129)
SECONDS = 10.0
MOST_INSTANCES = 300_000
_GCC = ("gcc", "-O0", "-ffp-contract=off", "-w")


@dataclass(frozen=True)
class Verdict:
    """`changes` says how the mutant differs from the original where nobody checks ("" where it does not).

    `static` and `dynamic` are the first complaint of the certificate and of the checked runs ("" for none);
    `unproved` is what the certificate leaves open.
    """

    changes: str
    static: str
    unproved: str
    dynamic: str

    @property
    def missed(self) -> bool:
        return bool(self.changes) and not self.static and not self.dynamic


@dataclass(frozen=True)
class Bench:
    """A source file compiled for a device, to run changes of its first region in `directory`."""

    source: Path
    device: str
    directory: Path
    decisions: tuple[str, ...] = ()

    @cached_property
    def compilation(self) -> Compilation:
        return compiled(self.source, self.device, self.decisions)

    @property
    def region(self) -> CompiledRegion:
        return self.compilation.regions[0]

    @cached_property
    def text(self) -> str:
        return self.source.read_text()

    @cached_property
    def driver(self) -> Driver:
        return driver(self.region, self.text)

    @cached_property
    def original(self) -> Path:
        file = self.directory / "original.c"
        file.write_text(self.driver.original)
        return self._built("original", (file,), *trial.SANITIZERS)

    @cached_property
    def expected(self) -> dict[tuple[str, ...], list[bytes]]:
        """The original's results for the arguments that the mutants are run with."""
        found = {arguments: _results(self.original, arguments) for arguments in self._arguments()}
        assert sum(isinstance(r, list) for r in found.values()) >= 5, found
        return {arguments: r for arguments, r in found.items() if isinstance(r, list)}

    def _arguments(self) -> Iterator[tuple[str, ...]]:
        """Small, odd and boundary values of all sizes, and some that differ."""
        types = [ctype for _, ctype in self.driver.scalars]
        sizes = [(n,) * len(types) for n in LINE if n**self._depth <= MOST_INSTANCES]
        sizes += [tuple(first - 6 * k for k in range(len(types))) for first in (37, 70)]
        for values in sizes:
            yield tuple("1.25" if is_floating(t) else str(n) for t, n in zip(types, values, strict=True))

    @property
    def _depth(self) -> int:
        return max(len(s.iterators) for s in self.region.scop.statements)

    def judge(self, mutant: CompiledRegion) -> Verdict:
        certificate = certify(mutant)
        static = str(certificate.failures[0]) if certificate.failures else ""
        unproved = certificate.unproved[0].reason if certificate.unproved else ""
        return Verdict(self.changes(mutant), static, unproved, self._noticed(mutant))

    def with_region(self, region: Region) -> CompiledRegion:
        return replace(self.region, region=region)

    def _files(self, mutant: CompiledRegion) -> tuple[Path, Path]:
        unit = Unit(str(self.source), self.source.stem, (mutant.region,))
        device, caller = self.directory / "mutant_emulator.c", self.directory / "mutant.c"
        device.write_text(emit_device(unit, self.compilation.device, "emulator")["_emulator.c"])
        caller.write_text(self._caller(mutant))
        return caller, device

    def _caller(self, mutant: CompiledRegion) -> str:
        """The program that calls the mutant, with arrays as the source has them."""
        names = [[b.name for b in r.region.buffers] for r in (self.region, mutant)]
        return self.driver.compiled if names[0] == names[1] else driver(mutant, self.text).compiled

    def _built(self, name: str, files: tuple[Path, ...], *flags: str) -> Path:
        program = self.directory / name
        programs.call((*_GCC, *flags, *files, "-o", program, "-lm"))
        return program

    def changes(self, mutant: CompiledRegion) -> str:
        """How the results differ, bit by bit, from those of the original, without any checks."""
        program = self._built("mutant", self._files(mutant))
        for arguments, expected in self.expected.items():
            found = _results(program, arguments)
            if found != expected:
                return f"{found if isinstance(found, str) else 'other results'} at {' '.join(arguments)}"
        return ""

    def _noticed(self, mutant: CompiledRegion) -> str:
        """What `polygpu verify` says of its runs."""
        checked = self._built("mutant_checked", self._files(mutant), "-DPOLYGPU_CHECK=1")
        drivers = trial.Programs(self.driver, self.original, checked)
        for attempt in trial.attempts(drivers, mutant, trial.Limits(SECONDS)):
            if attempt.outcome in ("different", "faults", "failed"):
                return f"{attempt.outcome} at {attempt.sizes}: {attempt.reason}"
            if attempt.outcome == "not done" and attempt.reason.startswith("no end"):
                return attempt.reason
        return ""


def compiled(source: Path, device: str, decisions: tuple[str, ...] = ()) -> Compilation:
    asked = Options(target="emulator", device=device, decisions=decisions)
    return pipeline.compile_file(str(source), asked)


def _results(program: Path, arguments: tuple[str, ...]) -> list[bytes] | str:
    """The bytes of each array, or why there are none."""
    output = program.with_suffix(".out")
    output.unlink(missing_ok=True)
    try:
        done = subprocess.run(
            (program, output, *arguments),
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
        )
    except subprocess.TimeoutExpired:
        return "no end"
    if done.returncode:
        return f"status {done.returncode}"
    return [b.data for b in trial.blocks(output.read_bytes()) if b.type != "guard"]
