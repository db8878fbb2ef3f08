"""Output files that are never half-written, and not touched when they would not change."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def write_files(files: Mapping[Path, str]) -> tuple[Path, ...]:
    """Writes all of `files` or, when one cannot be written, none; returns those that changed.

    Text is UTF-8 with surrogateescape. Each goes to a temporary name beside its file, and the names are
    exchanged once every text is on disk. A file that already holds its text keeps its modification time; a
    symbolic link is followed. Raises OSError, whose `filename` is the file that could not be written.
    """
    contents = {path: text.encode("utf-8", "surrogateescape") for path, text in files.items()}
    changed = {path: content for path, content in contents.items() if _read(path) != content}
    temporaries: dict[Path, Path] = {}
    try:
        for path, content in changed.items():
            temporaries[path] = _write_beside(path, content)
        for path, temporary in temporaries.items():
            _rename(temporary, path)
    finally:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)
    return tuple(changed)


def check_writable(path: Path) -> None:
    """Raises the OSError that writing `path` would raise, as far as that can be known before."""
    if path.is_dir():
        raise IsADirectoryError(21, os.strerror(21), str(path))
    # Permission bits say nothing to root or on a read-only file system: only trying tells.
    _write_beside(path, b"").unlink()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None


def _write_beside(path: Path, content: bytes) -> Path:
    """A new file with `content` in the directory of `path`, with the permissions a new file gets."""
    if path.is_dir():
        raise IsADirectoryError(21, os.strerror(21), str(path))
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
    except OSError as error:
        if temporary.parent.is_dir():
            temporary.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error
    return temporary


def _rename(temporary: Path, path: Path) -> None:
    try:
        temporary.replace(path.resolve())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
