"""Programs whose runtime is compiled apart are the programs of whole files."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks import programs
from tests.emulated import FLAGS, compiled
from tests.parts import in_parts, parts

SIZES = (33, 17)
CHECKED = ("gcc", *FLAGS, "-DPOLYGPU_CHECK=1")


def written(directory: Path) -> tuple[str, str]:
    """The files for the host and the emulator."""
    for suffix, text in compiled("mv", "8800gtx").files.items():
        (directory / f"mv{suffix}").write_text(text)
    return f"{directory}/mv_host.c", f"{directory}/mv_emulator.c"


def commands_of(files: tuple[str, str], program: Path, way: str) -> list[Sequence[str]]:
    """What builds the program: of whole files, of parts, or of an object of parts."""
    commands: list[Sequence[str]] = []
    if way == "whole":
        return [(*CHECKED, *files, "-o", str(program), "-lm")]
    if way == "parts":
        last = in_parts((*CHECKED, *files, "-o", str(program), "-lm"), program.parent, commands.append)
        return [*commands, last]
    made = f"{program}.o"
    last = in_parts((*CHECKED, "-c", files[1], "-o", made), program.parent, commands.append)
    return [*commands, last, (*CHECKED, files[0], made, "-o", str(program), "-lm")]


def test_output_and_counts_are_the_same(tmp_path: Path) -> None:
    found = []
    for way, steps in (("whole", 1), ("parts", 2), ("object", 3)):
        program = tmp_path / way / "program"
        program.parent.mkdir()
        commands = commands_of(written(tmp_path), program, way)
        assert len(commands) == steps
        for command in commands:
            subprocess.run(command, check=True)
        profile = program.with_suffix(".json")
        found.append((programs.run(program, SIZES, POLYGPU_PROFILE=str(profile)), profile.read_text()))
    assert found[0] == found[1] == found[2]


def test_the_runtime_is_that_of_the_device() -> None:
    mv, mm = (parts(compiled(kernel, "8800gtx").files["_emulator.c"]) for kernel in ("mv", "mm"))
    assert mv is not None
    assert mm is not None
    assert mv.runtime == mm.runtime
    assert mv.kernels != mm.kernels


def test_what_is_optimised_or_has_more_to_read_stays_whole(tmp_path: Path) -> None:
    def call(command: object) -> None:
        raise AssertionError(command)

    for flags in (("-O1",), ("-O0", "-O2"), ("-include", "clock.h")):
        words = ("gcc", *flags, *written(tmp_path), "-o", "program")
        assert in_parts(words, tmp_path, call) == words
