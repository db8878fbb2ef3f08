"""C programs, compiled for the emulator and run beside their originals."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks import programs
from polygpu.compilation import Compilation, Options
from polygpu.pipeline import compile_file


def compiled(folder: Path, text: str) -> Compilation:
    """Writes the program and what it is compiled to for the emulator."""
    (folder / "program.c").write_text(text)
    done = compile_file(str(folder / "program.c"), Options(target="emulator"))
    for suffix, made in done.files.items():
        (folder / f"program{suffix}").write_text(made)
    return done


def built(folder: Path, *files: str, program: str = "program", flags: Sequence[str] = ()) -> Path:
    paths = [folder / file for file in files]
    programs.call(("gcc", "-w", "-ffp-contract=off", *flags, *paths, "-o", folder / program, "-lm"))
    return folder / program


def printed(folder: Path, *files: str, flags: Sequence[str] = ()) -> tuple[str, str]:
    """What the program of these files prints: standard output, and standard error."""
    program = built(folder, *files, flags=flags)
    ran = subprocess.run([program], check=True, capture_output=True, text=True)
    return ran.stdout, ran.stderr


def assert_same(folder: Path) -> str:
    """The compiled program prints what the original does; what it says on standard error."""
    found, said = printed(folder, "program_host.c", "program_emulator.c")
    original, _ = printed(folder, "program.c")
    assert found == original
    return said
