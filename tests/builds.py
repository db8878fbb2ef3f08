"""What tests build with `benchmarks.programs` is built once a run, whichever tests and processes want it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import programs
from benchmarks.programs import Command, ProgramError
from polygpu import cli
from polygpu.runtime import build
from tests.parts import in_parts

DIRECTORY = "POLYGPU_TESTS_BUILDS"  # names the directory of what is built to all processes of the run
COMPILE = (sys.executable, "-m", "polygpu", "compile")
ERROR = "error"  # the file that says why there are no others
_call = programs.call
_execute_all = build.execute


@contextmanager
def shared() -> Iterator[None]:
    """Until it ends, what this process builds is shared with all that it starts."""
    programs.call = call
    if DIRECTORY in os.environ:
        yield
        return
    with TemporaryDirectory(prefix="polygpu-tests-") as os.environ[DIRECTORY]:
        yield
    del os.environ[DIRECTORY]


def call(command: Command, timeout: float = 600, **environment: str) -> subprocess.CompletedProcess[str]:
    """`programs.call`, but a command with `-o` is executed once; then its files are copied.

    What failed fails again. The command reads no files but the system's and those that it names, and
    writes one, or some into a directory, which it names with a slash. Raises ProgramError.
    """
    words = tuple(map(str, command))
    if "-o" not in words:
        return _call(command, timeout, **environment)
    at = words.index("-o") + 1
    folder, name = os.path.split(words[at])
    place = Path(os.environ[DIRECTORY], _digest((*words[:at], name, *words[at + 1 :]), environment))
    with _locked(place):
        if not place.exists():
            new = place.with_suffix(".new")
            new.mkdir(exist_ok=True)
            _execute((*words[:at], f"{new}/{name}", *words[at + 1 :]), new, timeout, environment)
            new.rename(place)
    if (error := place / ERROR).exists():
        raise ProgramError(error.read_text())
    shutil.copytree(place, folder, copy_function=_copy, dirs_exist_ok=True)
    return subprocess.CompletedProcess(words, 0, "", "")


def execute(*commands: tuple[str, ...]) -> None:
    """`build.execute`, with the emulator's runtime compiled once."""
    with ExitStack() as folders:
        parts = [Path(folders.enter_context(TemporaryDirectory(prefix="polygpu-tests-"))) for _ in commands]
        _execute_all(*(in_parts(words, folder, call) for words, folder in zip(commands, parts, strict=True)))


def _copy(source: str, target: str) -> None:
    """In place of what there is, which may be a program that runs still."""
    Path(target).unlink(missing_ok=True)
    shutil.copy2(source, target)


def _digest(words: tuple[str, ...], environment: dict[str, str]) -> str:
    """Of the command and of its files, which are the same wherever they are."""
    files = {word: Path(word) for word in words[1:] if Path(word).is_file()}
    named = [(files[w].name, files[w].read_bytes()) if w in files else w for w in words]
    return hashlib.sha256(repr((named, sorted(environment.items()))).encode()).hexdigest()


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    with place.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _execute(words: tuple[str, ...], directory: Path, timeout: float, environment: dict[str, str]) -> None:
    """Leaves in `directory` what the command writes there, or why it fails."""
    if words[: len(COMPILE)] == COMPILE and _compiles(words[len(COMPILE) - 1 :]):
        return
    try:
        with TemporaryDirectory(prefix="polygpu-tests-") as parts:
            _call(in_parts(words, Path(parts), call), timeout, **environment)
    except ProgramError as error:
        (directory / ERROR).write_text(str(error))


def _compiles(arguments: tuple[str, ...]) -> bool:
    """Runs polygpu here: to import it takes longer than most compilations."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        return cli.invoke(arguments) == 0
