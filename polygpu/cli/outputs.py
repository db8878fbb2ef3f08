"""Where a compilation's files go."""

from __future__ import annotations

import os
from pathlib import Path

import click

from polygpu.printing.dialects import find
from polygpu.runtime.errors import writing
from polygpu.support.files import write_files

HOST = "_host.c"


def place(source: str, output: str | None, target: str) -> dict[str, Path]:
    """The path of each output file, by suffix.

    `output` is what -o names: a directory (it exists, or ends with a slash), the full name of the device
    or the host file, or a stem that the suffixes are added to. None: the source's name, in the current
    directory.
    """
    suffixes = (HOST, *find(target).files)
    if output is None:
        return _with_suffixes(Path(Path(source).stem), suffixes)
    path = Path(output)
    if output.endswith(("/", os.sep)) or path.is_dir():
        return _with_suffixes(path / Path(source).stem, suffixes)
    if known := next((s for s in suffixes if path.name.endswith(s) and path.name != s), None):
        return _with_suffixes(path.with_name(path.name.removesuffix(known)), suffixes)
    if path.suffix == Path(suffixes[1]).suffix:
        devices = {s: path.with_suffix(Path(s).suffix) for s in suffixes[1:]}
        return {HOST: path.with_name(path.stem + HOST), **devices}
    return _with_suffixes(path, suffixes)


def make_directory(output: str | None) -> None:
    """Makes the directory that -o names, where it names one. Raises Diagnosed (PG901)."""
    if output and output.endswith(("/", os.sep)):
        with writing():
            Path(output).mkdir(parents=True, exist_ok=True)


def _with_suffixes(stem: Path, suffixes: tuple[str, ...]) -> dict[str, Path]:
    return {suffix: stem.with_name(stem.name + suffix) for suffix in suffixes}


def stem_of(files: dict[str, Path]) -> Path:
    """The path without suffixes that the files share."""
    host = files[HOST]
    return host.with_name(host.name.removesuffix(HOST))


def place_all(sources: tuple[str, ...], output: str | None, target: str) -> dict[str, dict[str, Path]]:
    """`place` for several sources, each mapped to its files. Raises UsageError where files would collide."""
    placed = {source: place(source, output, target) for source in sources}
    owners: dict[Path, str] = {Path(source).resolve(): source for source in sources}
    for source, files in placed.items():
        for path in files.values():
            if other := owners.get(path.resolve()):
                raise click.UsageError(f"{path} would overwrite what belongs to {other}; choose another -o")
            owners[path.resolve()] = source
    return placed


def write_all(texts: dict[Path, str]) -> tuple[Path, ...]:
    """Writes the files; returns those that changed. Raises Diagnosed (PG901)."""
    with writing():
        return write_files(texts)
