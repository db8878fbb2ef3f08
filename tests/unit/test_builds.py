"""What is built twice is built once, and what fails once fails again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks import programs


def written(directory: Path, text: str) -> Path:
    directory.mkdir()
    (directory / "text.c").write_text(text)
    return directory / "text.c"


def built(source: Path, *flags: str) -> Path:
    """By a shell that also leaves a line in `log`, one directory above."""
    program = source.with_suffix(".o")
    script = 'sleep 0.1; cp "$1" "$3" && echo "$0" >> "$(dirname "$1")/../log"'
    programs.call(("sh", "-c", script, "built", source, "-o", program, *flags))
    return program


def test_equal_files_are_built_once(tmp_path: Path) -> None:
    found = [built(written(tmp_path / name, "int a;")).read_text() for name in ("one", "two")]
    assert found == ["int a;"] * 2
    assert (tmp_path / "log").read_text() == "built\n"


def test_whoever_wants_it_at_the_same_time_waits(tmp_path: Path) -> None:
    sources = [written(tmp_path / str(k), "int at_once;") for k in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = [program.read_text() for program in pool.map(built, sources)]
    assert found == ["int at_once;"] * 4
    assert (tmp_path / "log").read_text() == "built\n"


def test_other_files_and_flags_are_built_again(tmp_path: Path) -> None:
    first = written(tmp_path / "one", "int b;")
    built(first)
    built(first, "-O2")
    assert built(written(tmp_path / "two", "int c;")).read_text() == "int c;"
    assert (tmp_path / "log").read_text() == "built\n" * 3


def test_what_fails_fails_again(tmp_path: Path) -> None:
    for name in ("one", "two"):
        source = written(tmp_path / name, "int wrong = ;")
        with pytest.raises(programs.ProgramError, match=r"gcc: status 1: .*text.c:1:13: error: expected"):
            programs.call(("gcc", "-c", source, "-o", source.with_suffix(".o")))
        assert not source.with_suffix(".o").exists()


def test_a_compilation_that_fails_says_why(tmp_path: Path) -> None:
    source = written(tmp_path / "one", "int a;")
    for _ in range(2):
        with pytest.raises(
            programs.ProgramError, match=r"text\.c:1:1: error: no function of this file has a loop"
        ):
            programs.translate_file(source, "cuda", None, tmp_path)
