"""What can go wrong around a compilation: outputs, toolchains, builds and runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polygpu.support.diagnostics import Diagnosed, Diagnostic


def error(identity: str, message: str, help_text: str = "") -> Diagnostic:
    return Diagnostic(identity, "error", message, help=help_text)


_ELSEWHERE = "choose a place that you may write to with -o"
_ADVICE = {
    "NotADirectoryError": "{parent} is not a directory: choose another place with -o",
    "IsADirectoryError": "{path} is a directory: write `-o {path}/` to put the files into it",
    "PermissionError": _ELSEWHERE,
}


@contextmanager
def writing() -> Iterator[None]:
    """Raises Diagnosed (PG901) for an OSError inside."""
    try:
        yield
    except OSError as problem:
        raise _unwritable(problem) from None


def _unwritable(problem: OSError) -> Diagnosed:
    path = Path(str(problem.filename))
    advice = _ADVICE.get(type(problem).__name__, "free the place, or choose another with -o")
    if isinstance(problem, FileNotFoundError):
        advice = _ELSEWHERE if path.parent.is_dir() else "create the directory first: mkdir -p {parent}"
    reason = problem.strerror or os.strerror(problem.errno or 5)
    help_text = advice.format(path=path, parent=path.parent)
    return Diagnosed(error("PG901", f"cannot write {path}: {reason}", help_text))
