"""Programs whose runtime is compiled apart are the programs of whole files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks import programs
from tests.builds import _call
from tests.emulated import FLAGS, compiled
from tests.parts import in_parts, parts

SIZES = (33, 17)


def written(directory: Path) -> list[str]:
    files = compiled("mv", "8800gtx").files
    for suffix, text in files.items():
        (directory / f"mv{suffix}").write_text(text)
    return [f"{directory}/mv{suffix}" for suffix in files]


def test_output_and_counts_are_the_same(tmp_path: Path) -> None:
    words = ("gcc", *FLAGS, "-DPOLYGPU_CHECK=1", *written(tmp_path), "-lm", "-o")
    folder, whole, apart = tmp_path / "parts", tmp_path / "whole", tmp_path / "apart"
    folder.mkdir()
    compiled_apart: list[Sequence[str]] = []

    def call(command: Sequence[str]) -> None:
        compiled_apart.append(command)
        _call(command)

    _call((*words, whole))
    _call(in_parts((*words, str(apart)), folder, call))
    assert len(compiled_apart) == 1
    found = []
    for program in (whole, apart):
        profile = program.with_suffix(".json")
        found.append((programs.run(program, SIZES, POLYGPU_PROFILE=str(profile)), profile.read_text()))
    assert found[0] == found[1]


def test_the_runtime_is_that_of_the_device() -> None:
    made = [parts(compiled(kernel, "8800gtx").files["_emulator.c"]) for kernel in ("mv", "mm")]
    assert made[0] is not None
    assert made[1] is not None
    assert made[0].runtime == made[1].runtime
    assert made[0].kernels != made[1].kernels


def test_what_is_optimised_stays_whole(tmp_path: Path) -> None:
    def call(command: object) -> None:
        raise AssertionError(command)

    for level in (("-O1",), ("-O0", "-O2"), ("-c",)):
        words = ("gcc", *level, *written(tmp_path), "-o", "program")
        assert in_parts(words, tmp_path, call) == words
