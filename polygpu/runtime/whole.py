"""Runs a whole program on the checking emulator and compares what it prints with the original's output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from polygpu.runtime import build
from polygpu.runtime.compare import compare_outputs
from polygpu.runtime.execute import Execution, run_program
from polygpu.runtime.trial import FAULTS, QUIET
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed

_MAIN = re.compile(r"^[^#/\n]*\bmain\s*\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ProgramTrial:
    """`outcome`: "same", "different", "faults", "failed", "not done" or "silent", with `reason`."""

    outcome: str
    reason: str

    @property
    def faulty(self) -> bool:
        return self.outcome in ("different", "faults", "failed")


@dataclass(frozen=True, slots=True)
class Request:
    """The program's arguments and input, its other source files, and how long and how exact it may be."""

    arguments: tuple[str, ...] = ()
    stdin: Path | None = None
    others: tuple[str, ...] = ()
    seconds: float = 60.0
    tolerance: float = 1e-5


def has_main(texts: Sequence[str]) -> bool:
    return any(_MAIN.search(text) for text in texts)


def try_program(source: Path, files: dict[str, Path], recipe: build.Recipe, request: Request) -> ProgramTrial:
    """`files` are the compilation's by suffix; the programs are built beside them."""
    host = files["_host.c"]
    original, compiled = host.with_name("program_original"), host.with_name("program_compiled")
    flags = (*recipe.language, *QUIET, *recipe.extra)
    try:
        _build(recipe, flags, (str(source),), original, request)
        checked = (*flags, "-DPOLYGPU_CHECK=1")
        _build(recipe, checked, (str(host), str(files["_emulator.c"])), compiled, request)
        expected = _run(original, request)
        found = _run(compiled, request)
    except Diagnosed as problem:
        return ProgramTrial("not done", problem.diagnostics[0].message)
    return _compared(expected, found, request.tolerance)


def _build(
    recipe: build.Recipe, flags: Sequence[str], files: tuple[str, ...], program: Path, request: Request
) -> None:
    build.execute((*recipe.cc, "-O1", *flags, *files, *request.others, "-o", str(program), "-lm"))


def _run(program: Path, request: Request) -> Execution:
    return run_program(
        program, request.arguments, capture=True, stdin=request.stdin, timeout=request.seconds, errors=True
    )


def _compared(expected: Execution, found: Execution, tolerance: float) -> ProgramTrial:
    if found.status == FAULTS != expected.status:
        return ProgramTrial("faults", found.stderr.decode(errors="replace").strip())
    if found.status != expected.status:
        return ProgramTrial("failed", f"exit status {found.status}, but {expected.status} from the original")
    texts = [run.stdout.decode(errors="replace") for run in (expected, found)]
    comparison = compare_outputs(texts[0], texts[1], tolerance)
    if (difference := comparison.difference) is not None:
        return ProgramTrial(
            "different",
            f"line {difference.line} of the output: '{difference.expected}' became '{difference.found}'",
        )
    if not expected.stdout:
        return ProgramTrial("silent", "runs as the original does, and neither prints anything to compare")
    if comparison.identical:
        return ProgramTrial("same", "prints what the original prints, to the bit")
    return ProgramTrial(
        "same", f"agrees with the original, largest relative difference {comparison.largest:.2g}"
    )
