"""C preprocessing: through `cc -E` where there is a compiler, else through pcpp in pure Python.

Both give text with linemarkers (`# LINE "FILE" FLAGS`), from which `frontend.clean` finds its way back.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory

from polygpu.frontend.options import FrontendOptions
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.position import Position

TIMEOUT = 60.0
BOM = "\ufeff"

_MESSAGE = re.compile(r"^(.+?):(\d+):(?:(\d+):)? (fatal error|error|warning): (.*)$")
_CALLED = "-D__NO_CTYPE"  # `isspace(c)` stays a call: glibc's macro looks into a table
_OPTION = re.compile(r" \[-W[^\]]*\]$")


@dataclass(frozen=True, slots=True)
class Preprocessed:
    """`text` has linemarkers; `system` is False where no system header was read (pcpp)."""

    text: str
    diagnostics: tuple[Diagnostic, ...]
    system: bool


def read_source(path: str) -> str:
    """The file's text, losslessly: invalid UTF-8 becomes surrogates, line ends are kept."""
    try:
        with Path(path).open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read()
    except OSError as error:
        reason = error.strerror or str(error)
        raise Diagnosed(
            Diagnostic("PG001", "error", f"cannot read {path}: {reason}", help="check the file's name")
        ) from None


def preprocess(path: str, text: str, options: FrontendOptions, edited: bool = False) -> Preprocessed:
    """`text` is what the file at `path` holds, or if `edited` what is taken in its place.

    Raises Diagnosed for what the preprocessor calls an error.
    """
    compiler = find_compiler(options.cc)
    if compiler and edited:
        return _edited(compiler, path, text, options)
    if compiler:
        return _with_compiler(compiler, [as_file(path)], options)
    return _with_pcpp(path, text, options)


def find_compiler(wanted: str | None) -> str:
    """The C compiler to preprocess with, "" where there is none or `wanted` is ""."""
    if wanted is not None:
        return wanted
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), "")


def compiler_arguments(options: FrontendOptions) -> list[str]:
    """The options as a C compiler takes them."""
    return [
        *([f"-std={options.standard}"] if options.standard else []),
        *(f"-I{directory}" for directory in options.include_dirs),
        *(f"-D{definition}" for definition in options.defines),
        *(f"-U{name}" for name in options.undefines),
        *(word for file in options.includes for word in ("-include", file)),
    ]


def as_file(path: str) -> str:
    """The path so that no compiler takes it for an option."""
    return f"./{path}" if path.startswith("-") else path


def _edited(compiler: str, path: str, text: str, options: FrontendOptions) -> Preprocessed:
    """Of a file in a directory of its own; headers are found from where the original stands."""
    quoted = path.replace("\\", "\\\\").replace('"', '\\"')
    with TemporaryDirectory(prefix="polygpu-") as directory:
        file = Path(directory) / "edited.c"
        file.write_bytes(f'#line 1 "{quoted}"\n{text.removeprefix(BOM)}'.encode("utf-8", "surrogateescape"))
        return _with_compiler(compiler, ["-iquote", str(Path(path).parent), str(file)], options)


def _with_compiler(compiler: str, file: list[str], options: FrontendOptions) -> Preprocessed:
    command = [*compiler.split(), "-E", _CALLED, *compiler_arguments(options), *file]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=TIMEOUT, check=False, env={**environ, "LC_ALL": "C"}
        )
    except OSError as error:
        raise Diagnosed(_no_compiler(compiler, error.strerror or str(error))) from None
    except subprocess.TimeoutExpired:
        raise Diagnosed(_no_compiler(compiler, f"no answer in {TIMEOUT:.0f} s")) from None
    messages = tuple(_messages(done.stderr.decode("utf-8", "replace")))
    if done.returncode != 0:
        errors = [m for m in messages if m.severity == "error"]
        raise Diagnosed(*(errors or [_no_compiler(compiler, f"exit status {done.returncode}")]))
    return Preprocessed(done.stdout.decode("utf-8", "surrogateescape"), messages, system=True)


def _no_compiler(compiler: str, reason: str) -> Diagnostic:
    help_text = "name a working C compiler with --cc"
    return Diagnostic("PG006", "error", f"cannot preprocess with '{compiler}': {reason}", help=help_text)


def _messages(stderr: str) -> list[Diagnostic]:
    """The compiler's own errors and warnings as diagnostics."""
    found = []
    for line in stderr.splitlines():
        if match := _MESSAGE.match(line):
            file, row, column, kind, message = match.groups()
            position = Position(file, int(row), int(column or 1))
            found.append(_message(position, kind == "warning", _OPTION.sub("", message)))
    return found


def _message(position: Position, warning: bool, message: str) -> Diagnostic:
    if warning:
        return Diagnostic("PG003", "warning", f"preprocessor: {message}", position)
    help_text = "correct the directive"
    if "No such file" in message or "not found" in message:
        help_text = "give the header's directory with -I"
    return Diagnostic("PG002", "error", f"preprocessor: {message}", position, help_text)


def _with_pcpp(path: str, text: str, options: FrontendOptions) -> Preprocessed:
    # pcpp takes 50 ms to import and is only wanted where there is no compiler.
    from polygpu.frontend.text.pure import run  # noqa: PLC0415

    messages: list[Diagnostic] = []
    out = io.StringIO()

    def report(file: str, line: int, warning: bool, message: str) -> None:
        messages.append(_message(Position(file, line, 1), warning, message))

    run(path, text, options, out, report)
    if errors := [m for m in messages if m.severity == "error"]:
        raise Diagnosed(*errors)
    return Preprocessed(out.getvalue(), tuple(messages), system=False)
